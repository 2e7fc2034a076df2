"""Checks whether an image is where the core finds it at reset, and whether the boot loader copies all of it."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.boards.types import Board, Boot, MemoryRegion
from neuralart.findings import Finding, error, warning
from neuralart.memory.image.image_facts import ImageFacts, Part, expected_table
from neuralart.memory.regions import fold, is_on, pieces, turned_on_by
from neuralart.text.image_header import VECTOR_TABLE, problems

_TABLE_SECTIONS = {".vectors", ".isr_vector", ".isr_vectors", ".intvec"}
_TABLE_SYMBOLS = ("vector_table", "g_pfnVectors", "__Vectors", "__isr_vector", "__vectors_start")
_STACK_LIMITS = ("__stack_limit", "__StackLimit", "_sstack")
# What start-up code clears or copies, under the names that linker scripts give the range.
_STARTUP = (
    *(("__bss_start", "__bss_end"), ("__bss_start__", "__bss_end__"), ("_sbss", "_ebss")),
    *(("__data_start", "__data_end"), ("__data_start__", "__data_end__"), ("_sdata", "_edata")),
)
_SMALLEST_TABLE = 128  # VTOR has no bits below: Armv7-M and Armv8-M architecture manuals


def table_address(board: Board, image: ImageFacts) -> int | None:
    """Where the image's vector table is: by its name, else where it is expected, else at the image's start."""
    for part in image.loaded:
        if part.name in _TABLE_SECTIONS:
            return part.load
    for name in _TABLE_SYMBOLS:
        if name in image.symbols:
            return fold(board, image.symbols[name])
    expected = expected_table(board)
    if image.kind == "elf" and expected is not None and image.read(expected, 8) is not None:
        return expected
    return min((part.load for part in image.loaded), default=None)


def vector(board: Board, image: ImageFacts, number: int) -> int | None:
    """Read a word of the vector table: 0 the initial stack pointer, 1 the reset handler."""
    table = table_address(board, image)
    return image.word(table + 4 * number) if table is not None else None


def _table_size(board: Board, image: ImageFacts, table: int) -> int:
    for part in image.loaded:
        if part.name in _TABLE_SECTIONS and part.load == table:
            return part.size
    return max([8, *(image.sizes[name] for name in _TABLE_SYMBOLS if name in image.sizes)])


def vectors(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that the vector table is where the core takes it from, and that VTOR can point to it."""
    table, expected = table_address(board, image), expected_table(board)
    if table is None:
        return
    if expected is not None and table != expected:
        who, behind = board.name, ""
        if board.boot is not None:
            who, behind = f"the boot loader of {who}", f", behind {board.boot.header} bytes for the header"
        what = f"the vector table is at 0x{table:08x}, {who} takes it from 0x{expected:08x}"
        yield error("vector-table", what, f"link it to 0x{expected:08x}{behind}")
    if image.read(table, 8) is None:
        yield error("vector-table", f"the image has no bytes at its vector table 0x{table:08x}", "keep it when linking")
    size = _table_size(board, image, table)
    alignment = max(_SMALLEST_TABLE, 1 << (size - 1).bit_length())
    if table % alignment:
        what = f"the vector table of {size} bytes" if size > 8 else "the vector table"
        text = f"{what} at 0x{table:08x} is not aligned to {alignment} bytes: VTOR cannot point to it"
        yield error("vector-table", text, f"align it to {alignment} in the linker script")


def _range(start: int, end: int) -> str:
    return f"[0x{start:08x}, 0x{end:08x})"


def _other_alias(board: Board, what: str, address: int, probe: int) -> Iterator[Finding]:
    region = board.region_at(probe)
    if region is not None and fold(board, probe) != probe:
        what += f" 0x{address:08x} is written in the other security state's alias of {region.name}"
        remedy = f"link for 0x{fold(board, probe) + address - probe:08x}"
        yield warning("alias", f"{what}, this board runs {board.security}", remedy)


def stack_range(board: Board, image: ImageFacts) -> tuple[int, int] | None:
    """Find the stack: down to the linker script's symbol, or only the first push; None without a stack pointer."""
    pointer = vector(board, image, 0)
    if pointer is None or pointer < 8:
        return None
    # What counts is where a push goes: the end of a memory is a fine place to begin at.
    top = fold(board, pointer - 4) + 4
    limits = [fold(board, image.symbols[name]) for name in _STACK_LIMITS if name in image.symbols]
    return next((limit for limit in limits if limit < top - 4), top - 4), top


def stack(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that the whole stack lies in memory that can be written at the start."""
    pointer = vector(board, image, 0)
    if pointer is None:
        return
    what = f"initial stack pointer 0x{pointer:08x}"
    found = stack_range(board, image)
    if found is None:
        yield error("stack", f"{what}: there is nothing below it", "the vector table begins with the end of the stack")
        return
    if pointer % 8:
        yield error("stack", f"{what} is no multiple of 8", "align the end of the stack")
    yield from _other_alias(board, "initial stack pointer", pointer, pointer - 4)
    if found[1] - found[0] > 4:
        what += f", stack {_range(*found)}"
    for region, start, end in pieces(board, *found):
        if region is None:
            yield error("stack", f"{what}: no memory of {board.name} is at 0x{start:08x}", "link for this board")
        elif region.kind not in ("ram", "psram"):
            yield error("stack", f"{what}: a push to {region.name} ({region.kind}) is lost", "put the stack in RAM")
        elif not is_on(board, region):
            text = f"{what}: {_range(start, end)} is in {region.name}, which is off at reset"
            yield error("stack", text, f"put the stack in a memory that is on; {turned_on_by(board, region)}")


def reset(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that the reset handler is Thumb code and is loaded to where it runs."""
    handler = vector(board, image, 1)
    if handler is None:
        return
    at = fold(board, handler & ~1)
    place = image.place(at)
    if not handler & 1:
        what = f"reset handler 0x{handler:08x} has no Thumb bit: the core faults at once"
        yield error("reset", what, "set bit 0 of the vector")
    yield from _other_alias(board, "reset handler", handler, handler & ~1)
    home = next((part for part in image.loaded if part.run <= at < part.run + len(part.data)), None)
    if home is None:
        yield error("reset", f"reset handler {place} is not inside the image's code", "is the vector table right?")
    elif not home.executable:
        what = f"reset handler {place} is in {home.name}, which holds no code"
        yield error("reset", what, "is the vector table right?")
    elif home.load != home.run:
        what = f"reset handler {place} is in {home.name}, loaded to 0x{home.load:08x}: nothing has copied it yet"
        yield error("reset", what, "let the reset handler run where it is loaded")
    region = board.region_at(at)
    if region is None:
        yield error("reset", f"reset handler {place} is in no memory of {board.name}", "link for this board")
    elif not is_on(board, region):
        what = f"reset handler {place} is in {region.name}, which is off at reset"
        yield error("reset", what, turned_on_by(board, region))
    # ELF files may leave the Thumb bit out; who boots by a header jumps where it says.
    thumb = 1 if image.kind != "signed" else (image.entry or 0) & 1
    if image.entry is not None and (fold(board, image.entry & ~1) | thumb) != at | 1:
        what = f"enters at 0x{image.entry:08x}, the vector table at 0x{handler:08x}"
        if image.kind == "signed":
            yield error("reset", f"the signed header {what}", "sign it again")
        else:
            yield warning("reset", f"the ELF file {what}", "ENTRY() in the linker script")


def memory(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that every byte that is loaded, copied or cleared lies in a memory that can take it at that time."""
    known = [pair for pair in _STARTUP if pair[0] in image.symbols and pair[1] in image.symbols]
    ranges = [(fold(board, image.symbols[first]), fold(board, image.symbols[last])) for first, last in known]
    for part in image.parts:
        for region, start, end in pieces(board, part.load, part.load_end):
            yield from _loaded(board, part, region, start, end)
        if not part.data or part.run != part.load:
            by_startup = any(start < part.run + part.size and part.run < end for start, end in ranges) or (
                not ranges and part.name.startswith((".bss", ".data"))
            )
            for region, start, end in pieces(board, part.run, part.run + part.size):
                yield from _used(board, part, region, start, end, by_startup)


def _loaded(board: Board, part: Part, region: MemoryRegion | None, start: int, end: int) -> Iterator[Finding]:
    what = f"{part.name}: {end - start} bytes are loaded to {_range(start, end)}"
    if region is None:
        yield error("memory", f"{what}, where {board.name} has no memory", "link for this board")
    elif region.kind == "rom":
        yield error("memory", f"{what} in {region.name}, which is read-only", "link for RAM or flash")
    elif region.kind == "flash" and not is_on(board, region):
        remedy = f"an external loader programs it; {turned_on_by(board, region)}"
        yield warning("memory", f"{what} in {region.name}, which does not answer at reset", remedy)
    elif not is_on(board, region):
        remedy = f"load them elsewhere and copy them later; {turned_on_by(board, region)}"
        yield error("memory", f"{what} in {region.name}, which is off at reset", remedy)


def _used(
    board: Board, part: Part, region: MemoryRegion | None, start: int, end: int, by_startup: bool
) -> Iterator[Finding]:
    what = f"{part.name}: {end - start} bytes at {_range(start, end)}"
    if region is None:
        yield error("memory", f"{what} are in no memory of {board.name}", "link for this board")
    elif region.kind in ("rom", "flash"):
        yield error("memory", f"{what} are variables in {region.name} ({region.kind})", "put them in RAM")
    elif not is_on(board, region):
        what, on = f"{what} are in {region.name}, which is off at reset", turned_on_by(board, region)
        if by_startup:
            yield error("memory", what, f"start-up code writes them before main(): move them; {on}")
        else:
            yield warning("memory", what, f"use them only after that: {on}")


def copied(boot: Boot, image: ImageFacts) -> tuple[list[Part], list[Part]]:
    """Split the loaded parts into those of the binary behind the header, and others: a gap larger than what the boot
    loader copies separates them.
    """
    inside: list[Part] = []
    others: list[Part] = []
    end = boot.copy_to
    for part in sorted(image.loaded, key=lambda part: part.load):
        if boot.copy_to <= part.load < end + boot.copy_size:
            inside.append(part)
            end = max(end, part.load_end)
        else:
            others.append(part)
    return inside, others


def slot_bytes(board: Board, image: ImageFacts) -> int:
    """Bytes of the image in its slot, header included (of the image alone on a board without boot chain)."""
    boot = board.boot
    if image.slot_bytes:
        return image.slot_bytes
    inside = copied(boot, image)[0] if boot is not None else []
    parts = inside or list(image.loaded)
    first = boot.copy_to if boot is not None and inside else min(part.load for part in parts)
    return max(part.load_end for part in parts) - first


def size(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that the image is not larger than what the boot loader copies."""
    boot = board.boot
    if boot is None:
        return
    inside, others = copied(boot, image)
    target = _range(boot.copy_to, boot.copy_to + boot.copy_size)
    link = f"link the image to 0x{boot.copy_to + boot.header:08x}"
    if not inside:
        what = f"no byte of the image is in {target}, where the boot loader "
        what += "takes it from" if boot.in_place else "copies to"
        yield error("size", what, link)
        return
    if inside[0].load < boot.copy_to + boot.header:
        what = f"{inside[0].name} is loaded to 0x{inside[0].load:08x}"
        yield error("size", f"{what}, into the {boot.header} bytes that the header takes", link)
    has = slot_bytes(board, image)
    if has > boot.copy_size and boot.in_place:
        what = f"header and image have {has} bytes, slot {boot.slot} has {boot.copy_size}"
        yield error("size", what, "move constants out of it, or what is behind the slot")
    elif has > boot.copy_size:
        yield error(
            "size",
            f"header and image have {has} bytes ({boot.header} + {has - boot.header}), the boot loader copies exactly "
            f"{boot.copy_size} bytes: {has - boot.copy_size} bytes are cut off",
            "move constants to flash, or use a boot loader that copies more and say so in the board's file",
        )
    for part in others:
        done = "in the slot of the image" if boot.in_place else "copied"
        what = f"{part.name}: {len(part.data)} bytes at 0x{part.load:08x} are not {done}"
        remedy = "program them on their own, or link them behind the code"
        yield error("size", f"{what}: {'it has' if boot.in_place else 'the boot loader writes'} {target}", remedy)


def header(image: ImageFacts) -> Iterator[Finding]:
    """Check that a signed header describes the bytes behind it. :func:`reset` checks its entry point."""
    if image.header is None:
        return
    table = image.header.vector_table
    # The one mistake that an option of the vendor's tool avoids.
    padded = "; the header must be padded to its full length (option -align of the signing tool)"
    remedy = "sign it again" + (padded if table is not None and table != VECTOR_TABLE else "")
    for problem in problems(image.header):
        if problem.startswith("entry "):
            continue
        say = warning if image.header.counts_padding and problem.startswith("truncated") else error
        yield say("header", f"the signed header: {problem}", remedy)
