"""The flash plan of a program that lies in several flashes: a file with what each of them holds of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.memory.layout.flash_areas import areas
from neuralart.scons import commands
from neuralart.scons.failures import in_action
from neuralart.scons.flash.images import FlashNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import board_value, code_value, registry_of


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.flashing import plan
    from neuralart.memory.image import elf_facts

    board = registry_of(env).board(env["NEURALART_BOARD"])
    path = Path(str(source[0]))
    program = elf_facts.read(path, read_bytes(path))
    rows = []
    for node, area in zip(target[1:], areas(board), strict=True):
        start, data = program.span(area.start, area.end)
        write_bytes(Path(str(node)), data)
        kind = "model" if area.start == board.flash.get("base") else "application"
        rows.append(plan.write_of(f"{kind}.{area.name}", kind, Path(str(node)), start))
    write_text(Path(str(target[0])), plan.make(board.name, rows))


def make_places(env: Any, variant: VariantConfig, board: Board, program: Any) -> FlashNodes:
    """Declare the files and their plan. ``program``: node of the ELF file, whose addresses say what goes where."""
    base, folder = registry_of(env).base, f"#{build_dir(env)}/{variant.name}"
    action = commands.function(_write, "PLAN     $TARGET", "NEURALART_BOARD")
    files = [f"{folder}/{name}" for name in ("flash_plan.json", *(f"{area.name}.bin" for area in areas(board)))]
    made = base.Command(files, program, action, NEURALART_BOARD=board.name, source_scanner=commands.NO_INCLUDES)
    base.Depends(made, [code_value(base, "flash-places", "flashing/plan.py"), board_value(base, board)])
    held = {area.start: node for area, node in zip(areas(board), made[1:], strict=True)}
    outside = held.pop(int(board.flash.get("base", -1)), None)
    return FlashNodes(next(iter(held.values()), None), made[0], None, weights=outside)
