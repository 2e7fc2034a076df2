"""What must be in memory, and when: tensors and working memories of a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart_reference.ir import Call, ConstArg, Program, TensorArg
from neuralart_reference.planning.overlap import distance

IO_ALIGN = 32
"""Inputs and outputs: a cache line, so that cache maintenance by the application touches nothing else."""
ALIGN = 16
Key = tuple[str, int]
"""``("tensor", number)`` (of the owner of the memory), ``("scratch", epoch)`` or ``("const", running number)``."""


class Over(NamedTuple):
    """What a block may lie over in the epoch that the former ends and the latter begins with."""

    key: Key  # the block of the input
    distance: int  # bytes that the output begins below it, at least
    saved: int  # bytes that both together need less, at most


@dataclass(frozen=True)
class Block:
    """Memory that is needed from one epoch to another."""

    key: Key
    name: str  # for messages
    size: int  # bytes, rounded up to the alignment for inputs and outputs
    align: int  # alignment in bytes
    first: int  # first epoch that needs it; -1: from before the first
    last: int  # last epoch that needs it; the number of epochs: until after the last
    over: Over | None = None  # the input that may be overwritten while this is computed

    def span(self, epochs: int) -> tuple[str, str]:
        """First and last epoch in words; a memory is needed in both."""
        return "start" if self.first < 0 else str(self.first), "end" if self.last >= epochs else str(self.last)


@dataclass(frozen=True)
class Constant:
    """Bytes of an initializer."""

    key: Key  # of a tensor when it is one of the model
    label: str  # for listings
    data: bytes
    ctype: str  # C element type
    align: int  # alignment in bytes
    tensor: int | None  # number of the model's tensor; None if the compiler made it
    epoch: int  # last epoch that reads it
    operator: int  # operator of the model whose call uses it first


def user_allocated(program: Program, *, inputs: bool, outputs: bool) -> dict[int, tuple[str, int]]:
    """Tensors whose memory the application provides: owner -> (``input`` | ``output``, index).

    What the compiler allocates itself is none of them. Raises NeuralArtError when two ports share one memory, so that
    the application cannot provide it twice.
    """
    owners: dict[int, tuple[str, int]] = {}
    ports = [("input", index, tensor, inputs) for index, tensor in enumerate(program.inputs)]
    ports += [("output", index, tensor, outputs) for index, tensor in enumerate(program.outputs)]
    roots: dict[int, str] = {}
    for kind, index, tensor, allocated in ports:
        root = program.root(tensor)
        name = f"{kind} {index} '{program.tensors[tensor].name}'"
        if root in roots and (not allocated or root in owners):
            what = f"{name} is the same memory as {roots[root]}: no kernel lies between them"
            hint = "let the compiler allocate inputs and outputs of this model"
            raise NeuralArtError(what, where=f"--no-{kind}s-allocation", hint=hint)
        roots[root] = name
        if not allocated:
            owners[root] = (kind, index)
    return owners


def blocks(program: Program, owned_by_user: Iterable[int] = (), *, keep_inputs: bool = False) -> list[Block]:
    """Everything that must be placed but what the application provides, in the order of the program.

    An input is intact until its last reader (until the end with ``keep_inputs``), an output from its writer until after
    the last epoch. What is kept for the next inference is never given to others.
    """
    end = len(program.calls)
    spans: dict[int, list[int]] = {}

    def touch(tensor: int, epoch: int) -> None:
        root = program.root(tensor)
        if program.tensors[root].data is None:
            span = spans.setdefault(root, [epoch, epoch])
            span[0], span[1] = min(span[0], epoch), max(span[1], epoch)

    for tensor in program.inputs:
        touch(tensor, -1)
        if keep_inputs:
            touch(tensor, end)
    for epoch, call in enumerate(program.calls):
        for tensor in (*call.reads, *call.writes):
            touch(tensor, epoch)
        for arg in call.args:
            if isinstance(arg, TensorArg):
                touch(arg.tensor, epoch)
    for tensor in program.states:
        touch(tensor, -1)
    for tensor in (*program.outputs, *program.states):
        touch(tensor, end)
    border, taken = program.border, set(owned_by_user)
    extents: dict[int, int] = {}
    for alias in program.aliases:
        root = program.root(alias)
        extents[root] = max(extents.get(root, 0), program.offset(alias) + program.tensors[alias].bytes)
    result = []
    for root, (first, last) in spans.items():
        if root in taken:
            continue
        # An alias reaches over its owner's end only by an error of the lowering; take what is needed.
        size, align = max(program.tensors[root].bytes, extents.get(root, 0)), ALIGN
        if root in border:
            size, align = -(-size // IO_ALIGN) * IO_ALIGN, IO_ALIGN
        result.append(Block(("tensor", root), program.tensors[root].name, size, align, first, last))
    for epoch, call in enumerate(program.calls):
        if call.scratch:
            name = f"working memory of epoch {epoch} ({call.kind})"
            result.append(Block(("scratch", epoch), name, call.scratch, ALIGN, epoch, epoch))
    return _overlapping(program, result) if program.overlap else result


def _overlapping(program: Program, items: list[Block]) -> list[Block]:
    """The same blocks, and over which others they may lie."""
    found = {block.key: block for block in items}
    for epoch, call in enumerate(program.calls):
        ends = _ends(program, call)
        source, target = (found.get(("tensor", program.root(arg.tensor))) for arg in ends) if ends else (None, None)
        trailing = distance(call) if source and target and (source.last, target.first) == (epoch, epoch) else None
        if source and target and trailing is not None:
            starts = [program.offset(arg.tensor) + arg.offset for arg in ends]
            trailing = max(1, trailing + starts[1] - starts[0])
            if trailing < target.size:
                over = Over(source.key, trailing, min(target.size - trailing, source.size))
                found[target.key] = replace(target, over=over)
    return list(found.values())


def _ends(program: Program, call: Call) -> list[TensorArg]:
    """What a call reads and what it writes, if it does no more than that."""
    args = [arg for arg in call.args if isinstance(arg, TensorArg)]
    if [arg.written for arg in args] != [False, True]:
        return []
    # The application fills the next input while it still reads the output of the last one.
    inputs, outputs = ({program.root(each) for each in side} for side in (program.inputs, program.outputs))
    alone = program.root(args[0].tensor) in inputs and program.root(args[1].tensor) in outputs
    return [] if alone else args


def constants(program: Program) -> tuple[list[Constant], dict[tuple[int, int], Key]]:
    """Constants in the order of their first use, and (epoch, argument number) -> key of each use.

    A tensor that several calls use is one constant. Equal bytes of different tensors stay two: whether they are equal
    may change with the weights, and then addresses would change with them.
    """
    found: dict[Key, Constant] = {}
    places: dict[tuple[int, int], Key] = {}
    known: dict[tuple[int, int], Key] = {}  # the same of all stripes of an operator is one constant
    for epoch, call in enumerate(program.calls):
        for number, arg in enumerate(call.args):
            made = _constant(program, arg, epoch, call.operator, len(found))
            if made is None:
                continue
            made = replace(made, key=known.setdefault((call.operator, id(arg)), made.key))
            earlier = found.get(made.key)
            if earlier is not None:
                made = replace(earlier, align=max(earlier.align, made.align), epoch=epoch)
            found[made.key] = made
            places[epoch, number] = made.key
    return list(found.values()), places


def _constant(program: Program, arg: object, epoch: int, operator: int, count: int) -> Constant | None:
    if isinstance(arg, ConstArg):
        key = ("tensor", arg.tensor) if arg.tensor is not None else ("const", count)
        return Constant(key, arg.label, arg.data, arg.ctype, arg.align, arg.tensor, epoch, operator)
    if isinstance(arg, TensorArg):
        root = program.root(arg.tensor)
        tensor = program.tensors[root]
        if tensor.data is not None:
            return Constant(("tensor", root), tensor.name, tensor.data, arg.ctype, ALIGN, root, epoch, operator)
    return None


def live_bytes(items: Iterable[Block], epochs: int) -> list[int]:
    """Sum of the sizes that are needed at each point of time: before the first epoch, in each epoch, after the last.

    Where an output may lie over an input, the sum is that of both as near to each other as they may be.
    """
    change = [0] * (epochs + 3)
    for block in items:
        change[block.first + 1] += block.size
        change[block.last + 2] -= block.size
        if block.over is not None:
            change[block.first + 1] -= block.over.saved
            change[block.first + 2] += block.over.saved
    return list(accumulate(change[: epochs + 2]))
