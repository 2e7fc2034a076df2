"""Tensors that lie in one another's memory, so that less is needed and less is copied.

Three things are done to a lowered program, in this order:

* an elementwise kernel writes its result over an input that is not read later;
* what would be copied into a part of another tensor (a CONCATENATION along the slowest dimension) is computed there;
* a copy of a part of another tensor (a SPLIT along the slowest dimension) is that part.

The last two save the copy, but keep the whole tensor alive as long as any part: they are done only where the largest
sum of what is live at once does not grow.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuralart_reference.ir import Call, Program, StructArg, TensorArg
from neuralart_reference.planning.lifetimes import blocks, live_bytes

# Who reads and writes what, memory by memory: what sharing has to know of a program ---------------------------------


def copied(call: Call) -> int | None:
    """How many bytes a call copies; None if it does something else."""
    parameters = call.args[-1] if call.args else None
    if call.kernel != "na_copy_8" or not isinstance(parameters, StructArg):
        return None
    return int(dict(parameters.fields)["count"])


class Memories:
    """The memories of a program: its tensors by owner, with their accesses; changes are told by :meth:`join`.

    A copy touches the bytes that it copies. Any other call is taken to touch the whole of a tensor, wherever in it the
    address that it is given lies.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._reads: dict[int, list[tuple[int, range]]] = {}
        self._writes: dict[int, list[tuple[int, range]]] = {}
        for epoch, call in enumerate(program.calls):
            args = [arg for arg in call.args if isinstance(arg, TensorArg)]
            count = copied(call)
            for arg in args:
                self._touch(arg.tensor, epoch, arg.written, None if count is None else (arg.offset, count))
            rest = {*((tensor, False) for tensor in call.reads), *((tensor, True) for tensor in call.writes)}
            for tensor, written in rest - {(arg.tensor, arg.written) for arg in args}:
                self._touch(tensor, epoch, written, None)
        self.sizes: dict[int, int] = {}  # bytes of each memory
        for tensor in (*range(len(program.tensors)), *program.aliases):
            root = program.root(tensor)
            if root in self._reads or root in self._writes:
                end = program.offset(tensor) + program.tensors[tensor].bytes
                self.sizes[root] = max(self.sizes.get(root, 0), end)
        # Memories that hold one; those that keep their value for the next inference are both
        self.inputs = {program.root(tensor) for tensor in (*program.inputs, *program.states)}
        self.outputs = {program.root(tensor) for tensor in (*program.outputs, *program.states)}

    def _touch(self, tensor: int, epoch: int, written: bool, part: tuple[int, int] | None) -> None:
        root, start = self._program.root(tensor), self._program.offset(tensor)
        first, count = part or (0, self._program.tensors[tensor].bytes)
        table = self._writes if written else self._reads
        table.setdefault(root, []).append((epoch, range(start + first, start + first + count)))

    def join(self, owner: int, joined: int) -> None:
        """A memory has become another, byte for byte."""
        for table in (self._reads, self._writes):
            table.setdefault(owner, []).extend(table.pop(joined, []))
        for border in (self.inputs, self.outputs):
            if joined in border:
                border.remove(joined)
                border.add(owner)

    def _epochs(self, root: int) -> list[int]:
        return [epoch for table in (self._reads, self._writes) for epoch, _ in table.get(root, [])]

    def first(self, root: int) -> int:
        """First epoch that touches it; -1 for an input."""
        return -1 if root in self.inputs else min(self._epochs(root))

    def last(self, root: int) -> int:
        """Last epoch that touches it; beyond every epoch for an output."""
        return len(self._program.calls) if root in self.outputs else max(self._epochs(root))

    def writers(self, root: int, region: range | None = None) -> set[int]:
        """The epochs that write a memory, or a part of it."""
        return {
            epoch
            for epoch, part in self._writes.get(root, [])
            if region is None or (part.start < region.stop and region.start < part.stop)
        }


# ---------------------------------------------------------------------------------------------------------------------

_OF_EITHER = """
na_add_s8 na_sub_s8 na_squared_difference_s8 na_mul_s8 na_maximum_s8 na_minimum_s8 na_add_s16 na_sub_s16 na_mul_s16
na_maximum_s16 na_minimum_s16
"""
_OF_FIRST = """
na_prelu_s8 na_table_s8 na_requantize_s8_s8 na_requantize_s8_u8 na_requantize_u8_s8 na_requantize_u8_u8 na_flip_sign_8
na_logistic_s16 na_tanh_s16 na_requantize_s16_s16 na_leaky_relu_s16 na_window_s16
"""
IN_PLACE = {**dict.fromkeys(_OF_EITHER.split(), (0, 1)), **dict.fromkeys(_OF_FIRST.split(), (0,))}
"""Kernels that read each element of these arguments before they write the element of the output at its place, and
never again: argument and output of equal size may be the same memory."""


def share(program: Program, *, inputs_writable: bool = False) -> Program:
    """Let tensors share memory: the same computation with fewer copies, as a program of its own.

    Inputs and outputs never share memory with each other. An output is not moved into another tensor. The memory of an
    input may be written once it is read for the last time, if inputs are writable.
    """
    made = program.copy()
    memories = Memories(made)
    for epoch, call in enumerate(made.calls):
        _in_place(made, memories, epoch, call, inputs_writable)
    return _without_copies(made)


# ---- elementwise


def _in_place(program: Program, memories: Memories, epoch: int, call: Call, inputs_writable: bool) -> None:
    """Put the output of an elementwise call over one of its inputs."""
    written = [arg for arg in call.args if isinstance(arg, TensorArg) and arg.written]
    if call.kernel not in IN_PLACE or len(written) != 1:
        return
    target = program.root(written[0].tensor)
    if not _whole(program, memories, written[0]) or memories.first(target) != epoch:
        return
    size = memories.sizes[target]
    for position in IN_PLACE[call.kernel]:
        arg = call.args[position]
        if not isinstance(arg, TensorArg):
            continue
        source = program.root(arg.tensor)
        usable = (
            source != target
            and program.tensors[source].data is None
            and memories.sizes[source] == size
            and _whole(program, memories, arg)
            and memories.last(source) == epoch
            and not (source in memories.inputs and (target in memories.outputs or not inputs_writable))
            # Another argument that lies in the same memory must be walked in the same way.
            and all(
                _whole(program, memories, other)
                for other in call.args
                if isinstance(other, TensorArg) and program.root(other.tensor) == source
            )
        )
        if usable:
            program.aliases[target] = source
            memories.join(source, target)
            return


def _whole(program: Program, memories: Memories, arg: TensorArg) -> bool:
    """An argument is all of its memory."""
    root = program.root(arg.tensor)
    start = program.offset(arg.tensor) + arg.offset
    return start == 0 and program.tensors[arg.tensor].bytes == memories.sizes[root]


# ---- copies


def _without_copies(program: Program) -> Program:
    """Try every copy, those into one memory (then those out of one memory) together and then one by one."""
    peak, memories = _peak(program), Memories(program)
    for into in (True, False):
        batches: dict[int, list[Call]] = {}
        for call in program.calls:
            ends = _ends(call)
            if ends is not None:
                source, target = ends
                batches.setdefault(program.root((target if into else source).tensor), []).append(call)
        for batch in batches.values():
            for attempt in ([batch, *([call] for call in batch)]) if len(batch) > 1 else [batch]:
                tried = _removed(program, memories, attempt, into=into)
                if tried is not None and (height := _peak(tried[0])) <= peak:
                    (program, memories), peak = tried, height
    return program


def _peak(program: Program) -> int:
    return max(live_bytes(blocks(program), len(program.calls)), default=0)


def _ends(call: Call) -> tuple[TensorArg, TensorArg] | None:
    """Source and target of a copy between activations; None if a call does something else."""
    tensors = [arg for arg in call.args if isinstance(arg, TensorArg)]
    if copied(call) is None or [arg.written for arg in tensors] != [False, True]:
        return None
    return tensors[0], tensors[1]


def _removed(
    program: Program, memories: Memories, copies: Sequence[Call], *, into: bool
) -> tuple[Program, Memories] | None:
    """The program, and its memories, without those of the copies that can go; None if none can.

    ``into``: the source moves into the target; otherwise the target becomes a part of the source.
    """
    made = program.copy()
    for copy in copies:
        epoch = next((number for number, call in enumerate(made.calls) if call is copy), None)
        if epoch is None:
            continue
        moved = _moved(made, memories, epoch, copy, into=into)
        if moved is not None:
            child, parent, start = moved
            made.aliases[child], made.offsets[child] = parent, start
            del made.calls[epoch]
            memories = Memories(made)
    return (made, memories) if len(made.calls) < len(program.calls) else None


def _moved(program: Program, memories: Memories, epoch: int, copy: Call, *, into: bool) -> tuple[int, int, int] | None:
    """The memory that can move, the one that it can move into, and where it would begin; None if it cannot."""
    ends, count = _ends(copy), copied(copy)
    if ends is None or count is None:
        return None
    source, target = ends
    child, parent = (source, target) if into else (target, source)
    inner, outer = program.root(child.tensor), program.root(parent.tensor)
    if (
        inner == outer
        or program.tensors[inner].data is not None
        or program.tensors[outer].data is not None
        or program.offset(child.tensor) + child.offset != 0
        or memories.sizes[inner] != count
        or inner in memories.inputs
        or inner in memories.outputs
    ):
        return None
    start = program.offset(parent.tensor) + parent.offset
    into_part = memories.writers(outer, range(start, start + count)) - {epoch}
    writers = memories.writers(inner) - {epoch}
    if into:
        # The source is computed in its place in the target. It is not written after the copy; the target's part is not
        # written before the source is used for the last time, so it is not read before the copy either.
        last = max(epoch, memories.last(inner))
        possible = outer not in memories.inputs and max(writers, default=-1) < epoch
        possible = possible and min(into_part, default=last + 1) > last
    else:
        # The target is a part of the source: neither is written from the copy on, nor the target before.
        possible = not writers and max(into_part, default=-1) < epoch
    return (inner, outer, start) if possible else None
