"""Boot modes (``boot:`` of a variant): other ways to start an image than the board's usual one. A board in such a mode
is a board of its own, ``BOARD+MODE``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from neuralart.boards.types import Board, BoardSection
from neuralart.errors import NeuralArtError, nearest

LOAD_AND_RUN, XIP, RAM = "load-and-run", "xip", "ram"
MODES = (LOAD_AND_RUN, XIP, RAM)
MARK = "+"


def in_mode(board: Board, mode: str, where: str) -> Board:
    """Make the board with another boot mode. ``load-and-run``: the boot chain copies the image; ``xip``: the image is
    executed in its slot of the mapped flash (``xip-0x70080000``: in that slot); ``ram``: a debugger loads it.
    NeuralArtError: no such mode, boot chain or memory.
    """
    moved = re.fullmatch(r"xip-(0x[0-9a-f]{8})", mode)
    if mode not in MODES and moved is None:
        raise NeuralArtError(f"no boot mode '{mode}'", where=where, hint=nearest(mode, MODES))
    boot = board.boot
    if boot is None or board.code is None:
        what = f"boot: board {board.name} has no boot chain: its images are loaded in place"
        raise NeuralArtError(what, where=where, hint="leave the key out")
    if mode == LOAD_AND_RUN:
        return board
    made = replace(board, name=f"{board.name}{MARK}{mode}", firmware=board.firmware or board.name)
    if mode == RAM:
        # What is in its slots stays: the flash may hold another firmware.
        windows = tuple(replace(window, mapped_by_boot=False) for window in board.windows)
        return replace(made, boot=None, windows=windows)
    slot = int(moved[1], 16) if moved is not None else board.slots[boot.slot]
    region = board.region_at(slot)
    if region is None:
        raise NeuralArtError(f"slot {boot.slot} at 0x{slot:08x} is in no memory of board {board.name}", where=where)
    room = min((each for each in board.slots.values() if each > slot), default=region.end) - slot
    code = BoardSection(region.name, slot + boot.header - region.base, room - boot.header)
    slots = {**board.slots, boot.slot: slot}
    return replace(made, code=code, slots=slots, boot=replace(boot, copy_to=slot, copy_size=room, in_place=True))
