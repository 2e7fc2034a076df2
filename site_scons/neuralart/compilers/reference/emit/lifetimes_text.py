"""The report's table of memories: where each lies, from when to when it is needed, and what lies in it."""

from __future__ import annotations

from neuralart.compilers.reference.emit.emission import Emission
from neuralart.compilers.reference.planning.lifetimes import Block

_SHOWN = 60


def _span(block: Block, epochs: int) -> str:
    first = "start" if block.first < 0 else str(block.first)
    last = "end" if block.last >= epochs else str(block.last)
    return f"{first} - {last}"


def _contents(emission: Emission, block: Block) -> str:
    """The tensors of a memory in the order of their numbers, with where they begin in it."""
    kind, number = block.key
    if kind != "tensor":
        return block.name
    program = emission.program
    inside = [number, *(alias for alias in sorted(program.aliases) if program.root(alias) == number)]
    words = []
    for tensor in inside:
        name = "".join(char if char.isprintable() else "?" for char in emission.tensor(tensor).name)
        offset = program.offset(tensor)
        words.append(f"{name} (+{offset})" if offset else name)
    text = ", ".join(words)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.."


def lifetimes(emission: Emission) -> list[str]:
    """Lines of the table, by address and then by time; a memory is needed in its first and last epoch too."""
    epochs = len(emission.program.calls)
    rows = []
    for block in emission.plan.blocks:
        kind, number = block.key
        address = emission.plan.tensors[number] if kind == "tensor" else emission.plan.scratch[number]
        rows.append((address, block.first, block))
    rows.sort(key=lambda row: row[:2])
    spans = [_span(block, epochs) for _, _, block in rows]
    width = max([len("epochs"), *map(len, spans)])
    sizes = max([len("bytes"), *(len(str(block.size)) for _, _, block in rows)])
    lines = [f"\t{'range':<21}  {'bytes':>{sizes}}  {'epochs':<{width}}  tensors"]
    for (address, _, block), span in zip(rows, spans, strict=True):
        place = f"0x{address:08X}-0x{address + block.size:08X}"
        lines.append(f"\t{place:<21}  {block.size:>{sizes}}  {span:<{width}}  {_contents(emission, block)}")
    return lines
