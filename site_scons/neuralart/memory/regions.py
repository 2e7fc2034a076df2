"""Which memories of a board a network uses, which answer at the start, and which ranges overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART, Network, PoolUse
from neuralart.quick import dataclass


@dataclass(frozen=True)
class Span:
    """A used range of addresses, in the alias the firmware uses."""

    owner: str  # who uses it, for messages
    group: str  # ranges of one group may overlap: a virtual pool and the pools it is made of
    start: int  # first address
    end: int  # first address behind it
    place: str = ""  # file:line that decided the address; empty if that is not known

    def __str__(self) -> str:
        return f"{self.owner} [0x{self.start:08x}, 0x{self.end:08x})"


def fold(board: Board, address: int) -> int:
    """Translate an address to the alias of the firmware's security state; an address without a memory stays."""
    region = board.region_at(address)
    if region is None or region.alias is None or region.base <= address < region.end:
        return address
    return address - region.alias + region.base


def memory_list(board: Board) -> str:
    """List the memories of a board, for a hint."""
    return "memories: " + ", ".join(f"{r.name} 0x{r.base:08x}-0x{r.end:08x}" for r in board.memory)


def fold_alias(board: Board, address: int, what: str = "") -> int:
    """As :func:`fold`, for an address that must be in a memory. ``what``: whose it is, for the message. NeuralArtError:
    it is in none.
    """
    if board.region_at(address) is None:
        text = f"{what + ': ' if what else ''}there is no memory at 0x{address:08x}"
        raise NeuralArtError(text, where=f"board {board.name}", hint=memory_list(board))
    return fold(board, address)


def group_of(network: Network, pool: PoolUse) -> str:
    """Name the group of a range; ranges of one group may overlap: those of a network, or activations of networks that a
    user's application runs one after the other.
    """
    own = network.runtime == NEURALART or pool.weights
    return f"network {network.name}" if own else "activations"


def network_spans(board: Board, network: Network) -> list[Span]:
    """What a network uses. A virtual pool says nothing new when its parts are listed too: what lies across them counts
    in each of them, and its own high-water mark would claim the unused parts below it. NeuralArtError: a pool lies
    where the board has no memory, or runs over its end.
    """
    spans = []
    for pool in used_pools(network):
        owner = f"pool {pool.fname} of network {network.name}"
        start = fold_alias(board, pool.address, owner)
        span = Span(owner, group_of(network, pool), start, start + pool.used)
        touched_regions(board, [span])
        spans.append(span)
    return spans


def alias_warnings(board: Board, network: Network) -> list[str]:
    """Pools that a network uses through the other alias of a memory than the firmware's security state has. Both are
    the same bytes, and the code that the compiler made uses the addresses of the pool file: what the firewall of the
    chip makes of an access through that alias is a matter of its configuration.
    """
    if board.security != "secure":
        return []
    return [
        f"pool {pool.fname} of network {network.name} is at 0x{pool.address:08x}, the non-secure alias of "
        f"{region.name}: the firmware is secure, and so is the NPU as start-up code sets it up; "
        f"their address is 0x{fold(board, pool.address):08x}"
        for pool in used_pools(network)
        if (region := board.region_at(pool.address)) is not None and fold(board, pool.address) != pool.address
    ]


def used_pools(network: Network) -> list[PoolUse]:
    """List used pools, without virtual ones whose parts are listed, and without pools of the application, which are
    checked with its image.
    """
    listed = {pool.fname for pool in network.pools if not pool.virtual}
    used = (pool for pool in network.pools if pool.used and not pool.of_application)
    return [pool for pool in used if not (pool.virtual and pool.parts and listed >= set(pool.parts))]


def memory_end(board: Board, address: int) -> int:
    """First address behind the memory at an address (in the firmware's alias) and those that adjoin it."""
    end = address
    while True:
        region = next((r for r in board.memory if r.base <= end < r.end), None)
        if region is None:
            return end
        end = region.end


def touched_regions(board: Board, spans: Sequence[Span]) -> list[MemoryRegion]:
    """Memories under some ranges, in the board's order. NeuralArtError: part of a range lies in no memory."""
    touched: set[str] = set()
    for span in spans:
        at = span.start
        while at < span.end:
            region = board.region_at(at)
            if region is None:
                hint = "make the pool smaller or move it into a memory of the board"
                raise NeuralArtError(f"{span} runs out of memory at 0x{at:08x}", where=f"board {board.name}", hint=hint)
            touched.add(region.name)
            at = region.end
    return [region for region in board.memory if region.name in touched]


def firmware_spans(board: Board) -> list[Span]:
    """The ranges of the reference application's code and data."""
    spans = []
    for name, section in (("code", board.code), ("data", board.data)):
        # What is executed in its slot has what the pools leave of that.
        in_slot = name == "code" and board.boot is not None and board.boot.in_place
        if section is not None and not in_slot:
            start = board.region(section.region).base + section.offset
            spans.append(Span(f"firmware {name}", f"firmware {name}", start, start + section.size))
    return spans


def overlapping(spans: Iterable[Span]) -> list[tuple[Span, Span]]:
    """List pairs of ranges of different groups that share a byte, by address. Empty ranges overlap none."""
    pairs: list[tuple[Span, Span]] = []
    open_: list[Span] = []
    for span in sorted((s for s in spans if s.end > s.start), key=lambda s: (s.start, s.end, s.owner)):
        open_ = [before for before in open_ if before.end > span.start]
        pairs += [(before, span) for before in open_ if before.group != span.group]
        open_.append(span)
    return pairs


def gaps(start: int, end: int, taken: Iterable[Span]) -> list[tuple[int, int]]:
    """List the gaps [start, end) between ``taken`` ranges, by address."""
    found = []
    at = start
    for span in sorted(taken, key=lambda s: (s.start, s.end)):
        if span.end <= at or span.start >= end or span.end <= span.start:
            continue
        if span.start > at:
            found.append((at, span.start))
        at = span.end
    if at < end:
        found.append((at, end))
    return found


def check_disjoint(spans: Sequence[Span], where: str) -> None:
    """Refuse two ranges of different groups that share a byte. NeuralArtError: two do; names both."""
    for before, after in overlapping(spans):
        what = f"{after} overlaps {before} by {min(before.end, after.end) - after.start} bytes"
        raise NeuralArtError(what, where=where, hint="give one of them another pool file, or move the pool")


def is_on(board: Board, region: MemoryRegion) -> bool:
    """Whether the memory answers after reset and boot chain."""
    mapped = (window.mapped_by_boot for window in board.windows if window.region == region.name)
    return next(mapped, region.on_at_reset)


def turned_on_by(board: Board, region: MemoryRegion) -> str:
    """Name the registers and bits that turn a memory on."""
    registers, enable = board.registers, region.enable
    for window in board.windows:
        if window.region == region.name:
            answers = f"answers when 0x{window.control:08x} & 0x{window.mask:x} == 0x{window.value:x}"
            return f"{region.name} {answers}, with clock bit {window.clock_bit} of 0x{window.clock_register:08x}"
    steps = []
    if enable is not None and enable.clock_bit is not None and registers.memory_clock is not None:
        steps.append(f"set bit {enable.clock_bit} of 0x{registers.memory_clock:08x} (memory clock)")
    if enable is not None and enable.ramcfg_offset is not None and registers.ramcfg is not None:
        place = registers.ramcfg + enable.ramcfg_offset
        steps.append(f"clear bit {registers.shutdown_bit} of 0x{place:08x} (shutdown)")
    if steps:
        return f"{region.name} is turned on by the firmware: {', '.join(steps)}"
    return region.note or f"nothing in the board's file says what turns {region.name} on"


def pieces(board: Board, start: int, end: int) -> Iterator[tuple[MemoryRegion | None, int, int]]:
    """Cut a range where memories end: (memory or None, start, end)."""
    at = fold(board, start)
    stop = at + end - start
    bounds = sorted({region.base for region in board.memory} | {r.alias for r in board.memory if r.alias is not None})
    while at < stop:
        region = board.region_at(at)
        if region is None:
            after = min([bound for bound in bounds if at < bound < stop and board.region_at(bound)], default=stop)
        else:
            base = region.base if region.base <= at < region.end else region.alias or 0
            after = min(stop, base + region.size)
        yield region, at, after
        at = after
