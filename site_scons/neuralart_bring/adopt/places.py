"""Where program and constants of a repository lie in flash: its slot, its boot mode, and what contradicts it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from neuralart.boards.boot_modes import XIP
from neuralart.boards.types import Board
from neuralart.network.targets import CPU
from neuralart_bring.adopt.builds import FoundBuild
from neuralart_bring.adopt.flash import FlashCommand
from neuralart_bring.adopt.networks import FoundNetwork
from neuralart_bring.adopt.tree import Repository

_FSBL = re.compile(r"fsbl|bootloader", re.I)
_WEIGHTS = re.compile(r"network|weight|model|atonbuf|param", re.I)
_ORIGIN = re.compile(r"\bORIGIN\s*=\s*(0x[0-9A-Fa-f]+)")
# As ST's tools and projects call a file with the header.
_SIGNED = re.compile(r"(?:^|[/_.-])(?:sign|signed|trusted)[_.-][^/]*$", re.I)
# As STM32CubeMX calls the linker script of a program that is executed in flash.
_IN_PLACE = re.compile(r"ROMxspi\d", re.I)


class _Address(int):
    """Written as people write addresses."""

    def __repr__(self) -> str:
        return f"0x{self:08x}"


def vectors(build: FoundBuild, repository: Repository) -> set[int]:
    """Where the memories of the linker script of a build begin: its vectors are at one of these addresses."""
    return {int(each, 0) for script in build.scripts[:1] for each in _ORIGIN.findall(repository.text(script))}


def _bare(address: int, board: Board, begins: Collection[int]) -> bool:
    """A program without the header is flashed there: its vectors stand behind the place of the header."""
    boot = board.boot
    if boot is None or not boot.header or address + boot.header in begins:
        return False
    return address in begins or address - boot.header == board.slots.get(boot.slot)


def _flashed(
    flash: Sequence[FlashCommand], board: Board, pools: Collection[int], begins: Collection[int]
) -> dict[int, FlashCommand]:
    """Commands that flash an application, by the slot that they mean."""
    found: dict[int, FlashCommand] = {}
    for each in flash:
        if (
            each.address is not None
            and each.address not in pools
            and not _FSBL.search(each.file)
            and not _WEIGHTS.search(each.file.rpartition("/")[2])
            and board.region_at(each.address) is not None
        ):
            # A signed file begins with the header, unless its program is linked for the address itself.
            bare = _bare(each.address, board, begins) and (each.address in begins or not _SIGNED.search(each.file))
            header = board.boot.header if board.boot is not None and bare else 0
            found.setdefault(each.address - header, each)
    return found


def moved_slots(
    flash: Sequence[FlashCommand], board: Board, pools: Collection[int], begins: Collection[int] = ()
) -> dict[str, dict[str, int]]:
    """The application's slot, where the tree flashes it elsewhere than the board has it.

    Args:
        flash: Commands of the tree.
        board: The board.
        pools: Addresses of memory pools: what is flashed there are constants.
        begins: Addresses at which the vectors of the program can be (:func:`vectors`).
    """
    places = _flashed(flash, board, pools, begins)
    slot = board.boot.slot if board.boot is not None else ""
    if len(places) != 1 or slot not in board.slots or board.slots[slot] in places:
        return {}
    return {"slots": {slot: _Address(next(iter(places)))}}


def header_notes(
    flash: Sequence[FlashCommand], board: Board, pools: Collection[int], begins: Collection[int]
) -> list[str]:
    """What the tree flashes where a program without a header belongs; the flash plan has one in front of it."""
    return [
        f"{each.said_in} writes {each.file}"
        f"{', signed by its name, behind the place of a header' if _SIGNED.search(each.file) else ' without a header'}"
        f" to 0x{each.address or 0:08x}: the flash plan writes application.bin to 0x{slot:08x}, its program behind the "
        f"header{' to the same address' if slot != each.address else ''}"
        for slot, each in _flashed(flash, board, pools, begins).items()
        if _bare(each.address or 0, board, begins)
    ]


def boot_mode(build: FoundBuild, repository: Repository, board: Board, slots: Mapping[str, int]) -> dict[str, object]:
    """The mode in which the program of a build is executed in its slot: its linker script says so."""
    boot = board.boot
    if boot is None or boot.in_place or not build.scripts:
        return {}
    slot = slots.get(boot.slot, board.slots[boot.slot])
    in_slot = slot + boot.header in vectors(build, repository)
    return {"boot": XIP} if in_slot or _IN_PLACE.search(build.scripts[0].rpartition("/")[2]) else {}


def flash_notes(networks: Sequence[FoundNetwork], flash: Sequence[FlashCommand]) -> list[str]:
    """Constants that a command flashes elsewhere than where the network reads them."""
    notes = []
    for network in networks:
        if network.generated is None or network.generated.flow == CPU:
            continue
        pools = {pool.fname: pool.address for pool in network.generated.pools.pools}
        for fname in network.generated.needed:
            mine = {network.initializers.get(fname, ""), f"{network.folder}/network_data.hex"}
            for each in flash:
                if each.file in mine and each.address not in (None, pools.get(fname)):
                    notes.append(
                        f"{each.said_in} writes {each.file} to 0x{each.address or 0:08x}, {network.c_file} reads pool "
                        f"{fname} at 0x{pools.get(fname, 0):08x}"
                    )
    return notes
