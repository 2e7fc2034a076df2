"""The images of a variant for its flash: the application behind its header, and the plan of all writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.config.application import REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file, read_bytes, write_bytes, write_text
from neuralart.fingerprint import fingerprint
from neuralart.memory.layout.relative_pools import placed_in
from neuralart.memory.layout.strategies import Layout
from neuralart.network import facts
from neuralart.quick import dataclass, field
from neuralart.scons import commands, node_plans
from neuralart.scons.failures import in_action
from neuralart.scons.firmware.firmware import FirmwareNodes
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.memory_builder import LoadedImage
from neuralart.scons.firmware.memory_files import layout_value
from neuralart.scons.flash import flash_plan
from neuralart.scons.flash.flash_plan import FlashWrite, WritesPlan
from neuralart.scons.network.nodes import LL_ATON, Compiled, NetworkNodes
from neuralart.scons.paths import build_dir, top
from neuralart.scons.registry import board_value, code_value, fact, registry_of

# The slot, the write and its kind.
FSBL = "fsbl"


@dataclass(frozen=True)
class ModelNodes:
    """The nodes of a variant's relocatable model."""

    image: Any  # ``network_rel.bin``
    params: Any  # ``network_rel_params.bin`` of a split model, else None
    results: Any  # What the builder says of it (JSON)
    c: tuple[Any, ...] = ()  # It as C, and its header; empty: not asked for

    @property
    def binaries(self) -> list[Any]:
        """What is loaded: the image, and the constants of a split model."""
        return [self.image] if self.params is None else [self.image, self.params]

    @property
    def files(self) -> list[Any]:
        """All files."""
        return [*self.binaries, self.results, *self.c]


@dataclass(frozen=True)
class FlashNodes:
    """The nodes of a variant's flash images."""

    application: Any  # ``application.bin``: the image as its slot holds it; None where images are loaded in place
    plan: Any  # ``flash_plan.json``; None where a debugger loads all that there is
    addresses: Any  # ``plan.json``: everybody's address; None for a network on a core
    # The plan of each way to load a relocatable model, by mode; the first is :attr:`plan`
    plans: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)  # The load tables, likewise
    weights: Any = None  # ``N_data.bin``: constants of a network on a core; None: they are in the image, or elsewhere

    @property
    def files(self) -> list[Any]:
        """All nodes."""
        single = [node for node in (self.application, self.weights, self.plan, self.addresses) if node is not None]
        return [*single, *self.tables.values(), *(node for node in self.plans.values() if node is not self.plan)]


@dataclass(frozen=True)
class VariantProgram:
    """The nodes that the targets of a variant need."""

    variant: VariantConfig  # The variant
    board: Board  # Where it runs
    machine: Machine  # On what
    networks: Sequence[Compiled]  # What is in it
    initializers: InitializerNodes | None  # What must be loaded beside the image; None: everything is in the image
    firmware: FirmwareNodes | None  # The image; None: it is built elsewhere
    flash: FlashNodes | None  # What goes into external flash; None: nothing does
    model: ModelNodes | None = None  # The relocatable model that the firmware loads

    @property
    def external(self) -> list[LoadedImage]:
        """What another program (a debugger) loads into RAM while this one waits."""
        return self.initializers.external if self.initializers is not None else []


def _check_exec_ram(path: Path, available: int, modes: str, where: str) -> None:
    """The firmware keeps enough memory for the code and data of its model."""
    from neuralart.relocatable.format import container

    # A split model's constants are elsewhere; the sizes are in the header.
    image = container.parse(read_bytes(path), str(path))
    needed = max((image.xip_size if mode == "xip" else image.copy_size, mode) for mode in modes.split())
    if needed[0] > available:
        room = f"the firmware keeps {available} bytes for the model"
        what = f"exec_ram: {room}, which needs {needed[0]} in mode {needed[1]}"
        raise NeuralArtError(what, where=where, hint=f"exec_ram: {-(-needed[0] // 4096) * 4}K, or another mode")


@in_action
def _write_addresses(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart import summary
    from neuralart.memory.plan import plan, plan_report
    from neuralart.memory.plan.plan import firmware_sizes

    board = registry_of(env).board(env["NEURALART_BOARD"])
    networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
    networks = placed_in(env["NEURALART_LAYOUT"], networks)
    sizes: dict[Any, int] = {}
    if str(source[0]).endswith(".elf"):
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


@in_action
def _write_boot_loader(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.memory.image import boot_loader as fsbl

    board = registry_of(env).board(env["NEURALART_BOARD"])
    slot, room = env["NEURALART_FSBL_SLOT"]
    data = fsbl.boot_loader(read_bytes(Path(str(source[0]))), board, slot, room, str(source[0]))
    write_bytes(Path(str(target[0])), data)


def _boot_loader(env: Any, variant: VariantConfig, board: Board, layout: Layout) -> tuple[int, Any]:
    """Address and node of the first-stage boot loader. NeuralArtError: The board starts without one, or no file."""
    slot = next((each for each in layout.placements if each.owner == f"slot {FSBL}"), None)
    if board.boot is None or slot is None:
        what = f"fsbl: board {board.name} starts without a first-stage boot loader"
        raise NeuralArtError(what, where=variant.said("fsbl"), hint="leave the key out")
    base = registry_of(env).base
    path = top(env) / variant.folder / variant.fsbl
    if not path.is_file():
        hint = nearest_file(Path(variant.folder, variant.fsbl))
        raise NeuralArtError(f"no file '{variant.fsbl}'", where=variant.said("fsbl"), hint=hint)
    (node,) = base.Command(
        f"#{build_dir(env)}/{variant.name}/fsbl.bin",
        base.File(str(path)),
        commands.function(_write_boot_loader, "FSBL     $TARGET", "NEURALART_BOARD", "NEURALART_FSBL_SLOT"),
        NEURALART_BOARD=board.name,
        NEURALART_FSBL_SLOT=(slot.start, slot.end - slot.start),
    )
    base.Depends(node, [code_value(base, "fsbl", "memory/image/boot_loader.py"), board_value(base, board)])
    return slot.start, node


def make_images(
    env: Any,
    variant: VariantConfig,
    board: Board,
    firmware: FirmwareNodes | None,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes | Layout,
    model: ModelNodes | None = None,
) -> FlashNodes:
    """Declare the application's flash image, the flash plan and the address plan of a variant.
    ``firmware``: None: it is not made here. ``initializers``: the layout alone if nothing but the model is loaded.
    """
    base = registry_of(env).base
    # Other firmware than ours has its own memory for what it loads.
    loads = firmware is not None and variant.application.kind == REFERENCE
    layout, images = (
        (initializers, []) if isinstance(initializers, Layout) else (initializers.layout, initializers.images)
    )
    folder = f"{build_dir(env)}/{variant.name}"
    application = firmware.application if firmware is not None else None
    writes: list[FlashWrite] = []
    if variant.fsbl:
        writes.append(FlashWrite(FSBL, FSBL, *_boot_loader(env, variant, board, layout)))
    if application is not None and layout.application is not None:
        writes.append(FlashWrite("application", "application", layout.application, application))
    for image in images:
        name = f"{image.network}.{image.pool}" if image.network else "descriptor"
        kind = "model" if image.network else "descriptor"
        own = firmware.elf if firmware is not None and variant.application.kind != REFERENCE else None
        reader = own if kind == "descriptor" else None
        writes.append(FlashWrite(name, kind, image.address, image.binary, reader))
    slots = _model_slots(model)
    writes += [FlashWrite(slot, "model", _slot_address(layout, slot), node) for slot, node in slots.items()]
    vendor = model is not None and networks[0].runtime == LL_ATON
    plan = _writes_plan(board, layout, variant, model, writes, vendor=vendor)
    target = f"#{folder}/flash_plan.json"
    made = node_plans.make(env, flash_plan.NAME, flash_plan.VARIABLES, plan, target, []) if writes else []
    # A plan for each mode, then a load table for each.
    of_modes = dict(zip(plan.modes, made, strict=False))
    tables = dict(zip(plan.modes, made[len(plan.modes) :], strict=False))
    first = [("load_table", node) for node in tables.values()][:1]
    addresses = base.Command(
        f"#{folder}/plan.json",
        [
            *([firmware.elf] if firmware is not None else []),
            *([application] if application else []),
            *(network.facts for network in networks),
            *slots.values(),
            *tables.values(),
        ],
        commands.function(
            _write_addresses,
            "PLAN     $TARGET",
            "NEURALART_BOARD",
            "NEURALART_VARIANT",
            "NEURALART_SLOT_FILES",
            "NEURALART_EXEC_RAM",
        ),
        NEURALART_EXEC_RAM=_exec_ram(variant) if model is not None and loads else [],
        NEURALART_SLOT_FILES={slot: str(node) for slot, node in (*slots.items(), *first)},
        NEURALART_BOARD=board.name,
        NEURALART_VARIANT=variant.name,
        NEURALART_LAYOUT=layout,
    )
    code = fingerprint("memory/plan/plan_report.py", "memory/plan/plan.py", "summary.py")
    rooms = fact(code, name="address-plan")
    base.Depends(addresses, [rooms, layout_value(base, layout, lines=True)])
    base.Depends(addresses, board_value(base, board))
    # Nothing is flashed that does not fit where it goes.
    base.Requires(list(of_modes.values()) or made, addresses)
    return FlashNodes(application, made[0] if made else None, addresses[0], of_modes, tables)


def _exec_ram(variant: VariantConfig) -> list[Any]:
    assert variant.relocatable is not None
    return [variant.relocatable.exec_ram, " ".join(variant.relocatable.modes), variant.said("relocatable")]


def _model_slots(model: ModelNodes | None) -> dict[str, Any]:
    """What a relocatable model has in flash: file of each slot."""
    if model is None:
        return {}
    params = {"relocatable_params": model.params} if model.params is not None else {}
    return {"relocatable": model.image, **params}


def _writes_plan(
    board: Board,
    layout: Layout,
    variant: VariantConfig,
    model: ModelNodes | None,
    writes: list[FlashWrite],
    *,
    vendor: bool,
) -> WritesPlan:
    if model is None:
        return WritesPlan(board.name, writes)
    config, places = variant.relocatable, layout.loaded
    assert config is not None and places is not None
    modes = {mode: f"{mode} clear" if config.clear else mode for mode in config.modes}
    table = _slot_address(layout, "load_table")
    if vendor:
        from neuralart.relocatable.format import load_table

        table = load_table.place(table, int(board.flash["sector"]))
    return WritesPlan(board.name, writes, modes, table, (places.model, places.params or 0))


def _slot_address(layout: Layout, slot: str) -> int:
    return next(placement.start for placement in layout.placements if placement.owner == f"slot {slot}")
