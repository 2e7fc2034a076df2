"""What goes into flash: the application behind its header, and the plan of all writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.layout import layout_value
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, identity


@dataclass(frozen=True)
class FlashNodes:
    """What a variant has for the flash.

    Attributes:
        application: ``application.bin``: the image as its slot holds it; None where images are loaded in place.
        plan: ``flash_plan.json``.
        addresses: ``plan.json``: everybody's address.
    """

    application: Any
    plan: Any
    addresses: Any

    @property
    def files(self) -> list[Any]:
        """Nodes of all of them."""
        return [node for node in (self.application, self.plan, self.addresses) if node is not None]


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


def _write_addresses(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.memory import plan, plan_report
    from neuralart.memory.firmware_use import firmware_sizes
    from neuralart.network import facts
    from neuralart.report import summary

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board = registry.board(env["NEURALART_BOARD"])
        networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
        used = {name: bytes_ for name, (bytes_, _) in summary.region_use(Path(str(source[0])), board).items()}
        sizes = firmware_sizes(board, used)
        if str(source[1]).endswith(".bin"):
            sizes[plan.APPLICATION] = Path(str(source[1])).stat().st_size
        made = plan.make_plan(env["NEURALART_LAYOUT"], board, networks, sizes)
        plan.check(made)
        write_text(Path(str(target[0])), plan_report.to_json(made, env["NEURALART_VARIANT"]))

    in_action(work, target, env)


def make_images(
    env: Any,
    variant: VariantConfig,
    board: Board,
    firmware: FirmwareNodes,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> FlashNodes:
    """Declare the application's flash image, the flash plan and the address plan of a variant."""
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
    plan = base.Command(
        f"#{folder}/flash_plan.json",
        sources,
        messages.function(_write_plan, "PLAN     $TARGET", "NEURALART_BOARD", "NEURALART_WRITES"),
        NEURALART_BOARD=board.name,
        NEURALART_WRITES=writes,
    )
    base.Depends(plan, base.Value(fingerprint("flashing/plan.py"), name="flash-plan"))
    addresses = base.Command(
        f"#{folder}/plan.json",
        [firmware.elf, *([application] if application else []), *(network.facts for network in networks)],
        messages.function(_write_addresses, "PLAN     $TARGET", "NEURALART_BOARD", "NEURALART_VARIANT"),
        NEURALART_BOARD=board.name,
        NEURALART_VARIANT=variant.name,
        NEURALART_LAYOUT=layout,
    )
    rooms = base.Value(
        fingerprint("memory/plan_report.py", "memory/firmware_use.py", "report/summary.py"), name="address-plan"
    )
    base.Depends(addresses, [rooms, layout_value(base, layout, lines=True)])
    base.Depends(addresses, base.Value(identity(board), name=f"board {board.name}"))
    # Nothing is flashed that does not fit where it goes.
    base.Requires(plan, addresses)
    return FlashNodes(application, plan[0], addresses[0])
