"""What goes into flash: the application behind its header, and the plan of all writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.memory.layout.loader_places import placed_in
from neuralart.memory.layout.placements import Layout, LoadPlaces
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.layout import layout_value
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, identity


@dataclass(frozen=True)
class ModelNodes:
    """A relocatable model as a variant has it.

    Attributes:
        image: ``network_rel.bin``.
        params: ``network_rel_params.bin`` of a split model, else None.
        results: What the builder says of it (JSON).
    """

    image: Any
    params: Any
    results: Any

    @property
    def binaries(self) -> list[Any]:
        """What is loaded: the image, and the constants of a split model."""
        return [self.image] if self.params is None else [self.image, self.params]

    @property
    def files(self) -> list[Any]:
        """All that there are."""
        return [*self.binaries, self.results]


@dataclass(frozen=True)
class FlashNodes:
    """What a variant has for the flash.

    Attributes:
        application: ``application.bin``: the image as its slot holds it; None where images are loaded in place.
        plan: ``flash_plan.json``.
        addresses: ``plan.json``: everybody's address.
        plans: The plan of each way to load a relocatable model, by mode; the first is :attr:`plan`.
        tables: The load tables, likewise.
    """

    application: Any
    plan: Any
    addresses: Any
    plans: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> list[Any]:
        """Nodes of all of them."""
        single = [node for node in (self.application, self.plan, self.addresses) if node is not None]
        return [*single, *self.tables.values(), *(node for node in self.plans.values() if node is not self.plan)]


def _write_application(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import read_bytes, write_bytes

    def work() -> None:
        # Room for the signed header; erased flash until an image is signed.
        header = b"\xff" * int(env["NEURALART_HEADER"])
        write_bytes(Path(str(target[0])), header + read_bytes(Path(str(source[0]))))

    in_action(work, target, env)


def _write_plan(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.flashing import plan

    def work() -> None:
        writes = [
            plan.write_of(name, kind, Path(str(node)), address)
            for (name, kind, address), node in zip(env["NEURALART_WRITES"], source, strict=True)
        ]
        write_text(Path(str(target[0])), plan.make(env["NEURALART_BOARD"], writes))

    in_action(work, target, env)


def _check_exec_ram(path: Path, available: int, modes: str, where: str) -> None:
    """The firmware keeps enough memory for the code and data of its model."""
    from neuralart.files import read_bytes
    from neuralart.relocatable.format import container

    # A split model's constants are elsewhere; the sizes are in the header.
    image = container.parse(read_bytes(path), str(path))
    needed = max((image.xip_size if mode == "xip" else image.copy_size, mode) for mode in modes.split())
    if needed[0] > available:
        raise NeuralArtError(
            f"exec_ram: the firmware keeps {available} bytes for the model, which needs {needed[0]} in "
            f"mode {needed[1]}",
            where=where,
            hint=f"exec_ram: {-(-needed[0] // 4096) * 4}K, or another mode",
        )


def _write_addresses(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.memory.plan import plan, plan_report
    from neuralart.memory.plan.firmware_use import firmware_sizes
    from neuralart.network import facts
    from neuralart.report import summary

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board = registry.board(env["NEURALART_BOARD"])
        networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
        networks = placed_in(env["NEURALART_LAYOUT"], networks)
        used = {name: bytes_ for name, (bytes_, _) in summary.region_use(Path(str(source[0])), board).items()}
        sizes = firmware_sizes(board, used)
        if str(source[1]).endswith("/application.bin"):
            sizes[plan.APPLICATION] = Path(str(source[1])).stat().st_size
        for slot, name in env["NEURALART_SLOT_FILES"].items():
            sizes[slot] = Path(name).stat().st_size
        if env["NEURALART_EXEC_RAM"]:
            _check_exec_ram(Path(env["NEURALART_SLOT_FILES"]["relocatable"]), *env["NEURALART_EXEC_RAM"])
        made = plan.make_plan(env["NEURALART_LAYOUT"], board, networks, sizes)
        plan.check(made)
        write_text(Path(str(target[0])), plan_report.to_json(made, env["NEURALART_VARIANT"]))

    in_action(work, target, env)


def _write_table(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_bytes
    from neuralart.relocatable.format import load_table

    def work() -> None:
        models = [(int(model), int(params)) for model, params in env["NEURALART_MODELS"]]
        write_bytes(Path(str(target[0])), load_table.make(env["NEURALART_LOAD_MODE"].split(), models))

    in_action(work, target, env)


def _load_tables(base: Any, folder: str, places: LoadPlaces, config: RelocatableConfig) -> dict[str, Any]:
    """The table that tells the loader of the firmware what to load, for each mode."""
    tables = {}
    for mode in config.modes:
        words = f"{mode} clear" if config.clear else mode
        table = base.Command(
            f"#{folder}/load_table.{mode}.bin",
            [],
            messages.function(_write_table, "TABLE    $TARGET", "NEURALART_LOAD_MODE", "NEURALART_MODELS"),
            NEURALART_LOAD_MODE=words,
            NEURALART_MODELS=[[str(places.model), str(places.params or 0)]],
        )
        base.Depends(table, base.Value(fingerprint("relocatable/format/load_table.py", "files.py"), name="load-table"))
        tables[mode] = table[0]
    return tables


def make_images(
    env: Any,
    variant: VariantConfig,
    board: Board,
    firmware: FirmwareNodes,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    model: ModelNodes | None = None,
) -> FlashNodes:
    """Declare the application's flash image, the flash plan and the address plan of a variant.

    Args:
        env: Any environment of the tool.
        variant: The variant.
        board: Where it runs.
        firmware: Its image.
        networks: Its networks.
        initializers: What they need loaded.
        model: The relocatable model that the firmware loads.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    layout = initializers.layout
    folder = f"{build_dir(env)}/{variant.name}"
    application = None
    writes: list[tuple[str, str, int]] = []
    sources: list[Any] = []
    if board.boot is not None and layout.application is not None:
        application = base.Command(
            f"#{folder}/application.bin",
            firmware.binary,
            messages.function(_write_application, "IMAGE    $TARGET", "NEURALART_HEADER"),
            NEURALART_HEADER=str(board.boot.header),
        )[0]
        writes.append(("application", "application", layout.application))
        sources.append(application)
    for image in initializers.images:
        name = f"{image.network}.{image.pool}" if image.network else "descriptor"
        writes.append((name, "model" if image.network else "descriptor", image.address))
        sources.append(image.binary)
    slots, tables = _model_writes(base, folder, layout, variant, model)
    plans: dict[str, Any] = {}
    for mode in tables or [""]:
        name = f"flash_plan.{mode}.json" if plans else "flash_plan.json"
        mine = [*slots.items(), *([("load_table", tables[mode])] if tables else [])]
        at = {f"slot {slot}": _slot_address(layout, slot) for slot, _ in mine}
        plans[mode] = _plan(
            base,
            f"{folder}/{name}",
            board,
            [*writes, *((slot, "model", at[f"slot {slot}"]) for slot, _ in mine)],
            [*sources, *(node for _, node in mine)],
        )
    plan = next(iter(plans.values()))
    addresses = base.Command(
        f"#{folder}/plan.json",
        [
            firmware.elf,
            *([application] if application else []),
            *(network.facts for network in networks),
            *slots.values(),
            *tables.values(),
        ],
        messages.function(
            _write_addresses,
            "PLAN     $TARGET",
            "NEURALART_BOARD",
            "NEURALART_VARIANT",
            "NEURALART_SLOT_FILES",
            "NEURALART_EXEC_RAM",
        ),
        NEURALART_EXEC_RAM=_exec_ram(variant) if model is not None else [],
        NEURALART_SLOT_FILES={slot: str(node) for slot, node in (*slots.items(), *_first_table(tables))},
        NEURALART_BOARD=board.name,
        NEURALART_VARIANT=variant.name,
        NEURALART_LAYOUT=layout,
    )
    rooms = base.Value(
        fingerprint("memory/plan/plan_report.py", "memory/plan/firmware_use.py", "report/summary.py"),
        name="address-plan",
    )
    base.Depends(addresses, [rooms, layout_value(base, layout, lines=True)])
    base.Depends(addresses, base.Value(identity(board), name=f"board {board.name}"))
    # Nothing is flashed that does not fit where it goes.
    base.Requires(list(plans.values()), addresses)
    return FlashNodes(application, plan, addresses[0], plans if tables else {}, tables)


def _plan(base: Any, target: str, board: Board, writes: list[tuple[str, str, int]], sources: list[Any]) -> Any:
    plan = base.Command(
        f"#{target}",
        sources,
        messages.function(_write_plan, "PLAN     $TARGET", "NEURALART_BOARD", "NEURALART_WRITES"),
        NEURALART_BOARD=board.name,
        NEURALART_WRITES=writes,
    )
    base.Depends(plan, base.Value(fingerprint("flashing/plan.py"), name="flash-plan"))
    return plan[0]


def _exec_ram(variant: VariantConfig) -> list[Any]:
    assert variant.relocatable is not None
    return [variant.relocatable.exec_ram, " ".join(variant.relocatable.modes), variant.said("relocatable")]


def _first_table(tables: dict[str, Any]) -> list[tuple[str, Any]]:
    return [("load_table", node) for node in tables.values()][:1]


def _model_writes(
    base: Any, folder: str, layout: Layout, variant: VariantConfig, model: ModelNodes | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a relocatable model has in flash: file of each slot, and the load table of each mode."""
    if model is None:
        return {}, {}
    assert layout.loaded is not None and variant.relocatable is not None
    slots = {"relocatable": model.image}
    if model.params is not None:
        slots["relocatable_params"] = model.params
    return slots, _load_tables(base, folder, layout.loaded, variant.relocatable)


def _slot_address(layout: Layout, slot: str) -> int:
    return next(placement.start for placement in layout.placements if placement.owner == f"slot {slot}")
