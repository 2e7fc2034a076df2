"""Flash slots of a variant: where the board puts them, what the variant moves, how much room each has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout.flash_areas import Area, area_at
from neuralart.memory.layout.placements import Placement

# Places that this package finds unless the variant names an address, and the one it only keeps free.
FOUND = ("descriptor", "staging")
_KNOWN = (*FOUND, "relocatable")
# Of variants whose firmware loads its model: board data unless the variant names an address.
LOADED = ("load_table", "relocatable", "relocatable_params")
# Advice for those who write pool files; the pool file decides.
ADVICE = "weights"


def place_of(variant: VariantConfig, key: str) -> str:
    """``file:line`` of a key of the variant, or what comes nearest to it."""
    place = variant.place(key)
    return str(place) if place.file else f"variant {variant.name}"


def addresses(board: Board, variant: VariantConfig, found: Sequence[Area]) -> dict[str, tuple[int, str]]:
    """Address and ``file:line`` of each slot, the variant's own before the board's.

    Raises:
        NeuralArtError: The variant moves a slot that there is not, moves weights, or an address is not in flash or
            not at the start of a sector.
    """
    merged = {name: (address, board.place(f"slots.{name}")) for name, address in board.slots.items()}
    loaded = _loaded(board, variant)
    merged.update(loaded)
    known = tuple(name for name in dict.fromkeys((*merged, *_KNOWN)) if name != ADVICE)
    for name, address in variant.slots:
        where = place_of(variant, f"slots.{name}")
        if name == ADVICE:
            raise NeuralArtError(
                f"slots: weights cannot be moved to 0x{address:08x} here: the pool file decides where weights are",
                where=where,
                hint="change the offset of the flash pool in the network's pool file",
            )
        if name not in known:
            what = f"slots: no slot '{name}' on board {board.name}"
            raise NeuralArtError(what, where=where, hint=nearest(name, known))
        merged[name] = (address, where)
    merged.pop(ADVICE, None)
    for name, (address, where) in merged.items():
        _check(board, found, name, address, where)
    return merged


def _loaded(board: Board, variant: VariantConfig) -> dict[str, tuple[int, str]]:
    """Slots of the relocatable model."""
    if variant.relocatable is None or board.relocatable is None:
        return {}
    places = board.relocatable
    addresses = dict(zip(LOADED, (places.table, places.model, places.params), strict=True))
    keys = dict(zip(LOADED, ("table", "model", "params"), strict=True))
    wanted = LOADED if variant.relocatable.split else LOADED[:2]
    return {name: (addresses[name], board.place(f"relocatable.{keys[name]}")) for name in wanted}


def _check(board: Board, found: Sequence[Area], name: str, address: int, where: str) -> None:
    area = area_at(found, address)
    if area is None:
        raise NeuralArtError(
            f"slot {name} at 0x{address:08x} is not in a flash with known sectors",
            where=where,
            hint="; ".join(f"{a.name} [0x{a.start:08x}, 0x{a.end:08x})" for a in found)
            or f"board {board.name} has no 'flash:'",
        )
    if address % area.sector:
        below = address // area.sector * area.sector
        raise NeuralArtError(
            f"slot {name} at 0x{address:08x} is not at the start of an erase sector of {area.sector} bytes",
            where=where,
            hint=f"0x{below:08x} or 0x{below + area.sector:08x}",
        )


def placements(
    board: Board,
    merged: dict[str, tuple[int, str]],
    found: Sequence[Area],
    borders: Iterable[int],
    loaded: str = "",
) -> list[Placement]:
    """Slots with the room they have.

    The application has what the boot chain copies, or less if a pool begins before that; any other slot all that is
    free up to the next owner, because nobody says how large it is.

    Args:
        board: The board.
        merged: From :func:`addresses`; without those that this package finds.
        found: Flash of the board.
        borders: First addresses of everybody else: pools, reserved ranges, the descriptor and staging of the variant.
        loaded: Group of the network that is loaded from a slot: its constants are in there, or in that of the params.
    """
    holder = next((name for name in reversed(LOADED) if name in merged), "")
    starts = sorted({*borders, *(address for address, _ in merged.values())})
    made = []
    for name, (address, where) in merged.items():
        if name in FOUND:
            continue
        area = area_at(found, address)
        assert area is not None
        end = next((start for start in starts if start > address), area.end)
        end = min(end, area.end)
        # Whole sectors: the one that somebody else begins in is theirs.
        end = max(end // area.sector * area.sector, address + area.sector)
        if board.boot is not None and name == board.boot.slot:
            end = min(end, address + board.boot.copy_size)
        group = loaded if loaded and name == holder else f"slot {name}"
        made.append(Placement(f"slot {name}", "slot", address, end - address, where, group))
    return made
