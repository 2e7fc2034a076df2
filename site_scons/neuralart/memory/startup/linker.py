"""The part of the linker script that a board decides, and the header its drivers read."""

from __future__ import annotations

from neuralart.boards.types import Board, BoardSection
from neuralart.errors import NeuralArtError


def _section(board: Board, name: str, section: BoardSection | None, access: str) -> str:
    if section is None:
        what = f"the board has no '{name.lower()}' section"
        raise NeuralArtError(what, where=f"board {board.name}", hint="its YAML must say where firmware goes")
    origin = board.region(section.region).base + section.offset
    return f"  {name} ({access}) : ORIGIN = 0x{origin:08x}, LENGTH = 0x{section.size:x}\n"


def memory_ld(board: Board) -> str:
    """``memory.ld`` for firmware/boards/sections.ld. NeuralArtError: the board does not say where code and data go."""
    head = f"/* {board.name}: where the firmware's code and data are. Generated. */\nMEMORY\n{{\n"
    return head + _section(board, "CODE", board.code, "rx") + _section(board, "DATA", board.data, "rw") + "}\n"


def board_config_h(board: Board) -> str:
    """Text of ``board_config.h``: what firmware/boards/drivers must know. NeuralArtError: the board has no console."""
    console = board.console
    if console is None:
        raise NeuralArtError("the board has no console", where=f"board {board.name}", hint="its YAML needs 'console:'")
    lines = [
        f"/* {board.name}: generated. */",
        "#ifndef BOARD_CONFIG_H",
        "#define BOARD_CONFIG_H",
        "",
        f'#define BOARD_NAME "{board.name}"',
        f"#define CONSOLE_BASE 0x{console.base:08x}u",
    ]
    if console.clock_register is not None and console.clock_bit is not None:
        lines.append(f"#define CONSOLE_CLOCK_REGISTER 0x{console.clock_register:08x}u")
        lines.append(f"#define CONSOLE_CLOCK_BIT {console.clock_bit}u")
    return "\n".join([*lines, "", "#endif", ""])
