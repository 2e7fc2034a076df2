"""Which runner writes a device when no name is given."""

from __future__ import annotations

from neuralart.boards.types import Board, Machine
from neuralart.flashing.runners import DEFAULT, Runner, find

# By preference; gdb is not among them: with a server that runs, it has to be named.
_OF_SILICON = ("cubeprogrammer", "openocd", "pyocd")


def fitting(board: Board, machine: Machine) -> Runner:
    """The virtual flash of a virtual machine; of silicon the first whose program is here and that knows the board.
    If none is, the first that knows it: it says what to install.
    """
    from neuralart.flashing.runners.programmer import Programmer

    if machine.kind != "silicon":
        return find(DEFAULT)
    known = [each for each in map(find, _OF_SILICON) if not each.refusal("write", board, machine)[0]]
    here = [each for each in known if isinstance(each, Programmer) and each.found() is not None]
    return next(iter([*here, *known]), find(_OF_SILICON[0]))
