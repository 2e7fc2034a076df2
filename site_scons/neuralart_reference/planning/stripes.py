"""Chains of layers in stripes: some rows of one are computed and used up before its next rows are made.

The largest tensors of a network lie between its first layers. A chain of layers, each of which reads what the one
before wrote, is carried out for some rows of its last output, then for the rows below, and so on. Of a tensor between
two of them only those rows are in memory that a stripe needs. What two stripes need is computed twice.

A stripe of a layer is a call of the same kernel for fewer rows, whose window begins further down. Every value is made
of the same bytes in the same way, so that results do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart_reference.ir import Arg, Call, Program, StructArg, TensorArg
from neuralart_reference.planning.lifetimes import blocks, live_bytes
from neuralart_reference.planning.overlap import WINDOWED
from neuralart_reference.planning.planner import MemoryPlan

_BYTES = "s8", "u8"
ELEMENTWISE = ("na_table_s8", "na_flip_sign_8", *(f"na_requantize_{a}_{b}" for a in _BYTES for b in _BYTES))
"""Kernels that make each of ``count`` elements of the one in its place."""
ROWS = (128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
"""Rows of a stripe that are tried."""
LONGEST = 8
"""Layers in a chain."""
_ROUNDS = 16  # chains at most
_MORE_WORK = 2  # at most half of a network's multiply-accumulates may be computed again
_WORTH = 50  # what saves less than one part in so many is not worth any
NOTHING = "none, no layers need less memory so"


class Rows(NamedTuple):
    """A picture in memory."""

    root: int  # the tensor that owns the memory
    start: int  # byte of that
    height: int  # rows
    size: int  # bytes of a row


class ChainLayer(NamedTuple):
    """A call that computes rows of a picture from rows of another one."""

    call: Call
    source: TensorArg
    target: TensorArg
    taken: Rows
    made: Rows
    fields: Mapping[str, int]  # of the window, or ``count``

    def _down(self) -> tuple[int, int, int]:
        """Stride, padding above, and how many rows below its first one a window reaches."""
        value = self.fields.get
        reach = (value("kernel_height", 1) - 1) * value("dilation_height", 1)
        return value("stride_height", 1), value("pad_top", 0), reach

    def needed(self, rows: range) -> range:
        """The rows of the input under the windows of some rows of the output: one at least."""
        (stride, pad, reach), bottom = self._down(), self.taken.height - 1
        first = min(max(0, rows.start * stride - pad), bottom)
        return range(first, max(first, min(rows[-1] * stride - pad + reach, bottom)) + 1)

    def part(self, rows: range, source: TensorArg, target: TensorArg) -> Call:
        """The call for some rows of the output; the arguments are where the first row of input and output is."""
        needed, (stride, pad, _) = self.needed(rows), self._down()
        changed = {
            "input_height": len(needed),
            "output_height": len(rows),
            "pad_top": pad + needed.start - rows.start * stride,
            "count": self.fields.get("count", 0) // self.made.height * len(rows),
        }
        parameters = self.call.args[-1]
        assert isinstance(parameters, StructArg)
        fields = [(name, str(changed.get(name.removeprefix("window."), text))) for name, text in parameters.fields]
        struct = replace(parameters, fields=tuple(fields))
        new: dict[int, Arg] = {id(self.source): source, id(self.target): target, id(parameters): struct}
        args = tuple(new.get(id(arg), arg) for arg in self.call.args)
        macc = self.call.macc * len(rows) // self.made.height
        return replace(self.call, args=args, reads=(source.tensor,), writes=(target.tensor,), macc=macc)


def layer_of(program: Program, call: Call) -> ChainLayer | None:
    """A call as a layer of a chain; None if it cannot be computed row by row."""
    ends = [arg for arg in call.args if isinstance(arg, TensorArg)]
    parameters = call.args[-1] if call.args else None
    if [arg.written for arg in ends] != [False, True] or not isinstance(parameters, StructArg) or call.scratch:
        return None
    tensors = [program.tensors[arg.tensor] for arg in ends]
    if call.kernel not in (*WINDOWED, *ELEMENTWISE) or any(len(t.shape) != 4 or t.shape[0] != 1 for t in tensors):
        return None
    taken, made = (
        Rows(program.root(a.tensor), program.offset(a.tensor) + a.offset, t.shape[1], t.bytes // t.shape[1])
        for a, t in zip(ends, tensors, strict=True)
    )
    numbers = (field for field in parameters.fields if field[0] not in ("low", "high"))  # but bounds in float
    fields = {name.removeprefix("window."): int(text) for name, text in numbers}
    rows = fields.get("input_height", taken.height), fields.get("output_height", taken.height)
    whole = rows == (taken.height, made.height) and fields.get("count", tensors[0].elements) == tensors[0].elements
    return ChainLayer(call, ends[0], ends[1], taken, made, fields) if whole else None


def chains(program: Program, epoch: int, among: Sequence[Call]) -> Iterator[tuple[int, list[ChainLayer]]]:
    """Every chain of two or more of these layers with that of an epoch among them, and the epoch of its first layer.

    Nothing else reads what lies between its layers, and its input and output are in different memories.
    """
    near = range(max(0, epoch - LONGEST), min(len(program.calls), epoch + LONGEST))
    known = {id(call) for call in among}
    found = ((each, layer_of(program, program.calls[each])) for each in near if id(program.calls[each]) in known)
    layers = {each: layer for each, layer in found if layer is not None}
    uses: dict[int, set[int]] = {}
    for number, call in enumerate(program.calls):
        for tensor in (*call.reads, *call.writes):
            uses.setdefault(program.root(tensor), set()).add(number)
    kept = {program.root(tensor) for tensor in (*program.inputs, *program.outputs, *program.states)}
    for start in range(epoch, near.start - 1, -1):
        chain: list[ChainLayer] = []
        for at in range(start, min(near.stop, start + LONGEST)):
            if at not in layers or (chain and layers[at].taken != chain[-1].made):
                break
            chain.append(layers[at])
            *inner, last = (each.made for each in chain)
            # What the last layer overwrites in place is not there afterwards either.
            between = {rows.root for rows in inner if rows != last}
            alone = all(uses[root] <= set(range(start, at + 1)) for root in between) and not between & kept
            if inner and at >= epoch and alone and chain[0].taken.root not in between | {last.root}:
                yield start, list(chain)


def striped(program: Program, start: int, chain: Sequence[ChainLayer], count: int) -> Program:
    """The program with a chain, which begins in an epoch, carried out in so many stripes."""
    made = replace(program.copy(), tensors=list(program.tensors))
    height, calls = chain[-1].made.height, list[Call]()
    for number in range(count):
        wanted = [range(height * number // count, height * (number + 1) // count)]
        for layer in chain[::-1]:
            wanted.insert(0, layer.needed(wanted[0]))
        source = _further(chain[0].source, wanted[0].start * chain[0].taken.size)
        for at, (layer, rows) in enumerate(zip(chain, wanted[1:], strict=True)):
            target = _further(layer.target, rows.start * layer.made.size)
            if layer is not chain[-1]:
                target = replace(target, tensor=len(made.tensors), offset=0)
                whole = program.tensors[layer.target.tensor]
                name, shape = f"{whole.name} rows {rows.start} to {rows[-1]}", (1, len(rows), *whole.shape[2:])
                made.tensors.append(replace(whole, index=target.tensor, name=name, shape=shape, signature=None))
                if at and layer.taken == layer.made:
                    made.aliases[target.tensor] = source.tensor  # in place, as before
            calls.append(layer.part(rows, source, target))
            if layer is not chain[-1]:
                source = replace(chain[at + 1].source, tensor=target.tensor, offset=0)
    made.calls[start : start + len(chain)] = calls
    ends = (f"'{program.tensors[each.target.tensor].name}' ({each.call.kind})" for each in (chain[0], chain[-1]))
    more = f"{_work(made) - _work(program):,} multiply-accumulates are computed again"
    return replace(made, stripes=(*program.stripes, f"{' to '.join(ends)}, {count} stripes, {more}"))


def _further(arg: TensorArg, count: int) -> TensorArg:
    return replace(arg, offset=arg.offset + count)


def _work(program: Program) -> int:
    return sum(call.macc for call in program.calls)


def in_stripes(program: Program, user_owned: Sequence[int] = (), *, keep_inputs: bool = False) -> Program:
    """The program with the least largest sum of what is live at once, of those that are tried; itself if none has less.

    Where that sum is largest every chain is tried in several numbers of stripes, and the best is taken: of equal ones
    the one with the least work. Then comes the place where it is largest now, as long as something gains.
    """

    def crowded(tried: Program) -> tuple[int, int, int]:
        """The largest sum, in how many epochs it is reached, and the first of them."""
        live = live_bytes(blocks(tried, user_owned, keep_inputs=keep_inputs), len(tried.calls))
        return max(live), live.count(max(live)), live.index(max(live)) - 1

    most = _work(program) + _work(program) // _MORE_WORK
    best, current = program, program
    now = crowded(program)
    lowest = now[0]
    for _ in range(_ROUNDS):
        found: list[tuple[tuple[int, ...], Program]] = []
        for start, chain in chains(current, now[2], program.calls):
            height = chain[-1].made.height
            for count in dict.fromkeys(-(-height // rows) for rows in ROWS if rows < height):
                tried = striped(current, start, chain, count)
                if _work(tried) > most:
                    break
                rank = crowded(tried)[:2]
                if rank < now[:2]:
                    found.append(((*rank, _work(tried), len(tried.calls)), tried))
        if not found:
            break
        current = min(found, key=lambda each: each[0])[1]
        now = crowded(current)
        if now[0] < lowest - lowest // _WORTH:
            best, lowest = current, now[0]
    return best


def smallest(
    program: Program, place: Callable[[Program], MemoryPlan], user_owned: Sequence[int], *, keep_inputs: bool = False
) -> Program:
    """The program as it is, or in stripes if it takes less memory so when it is placed, or fits only so."""

    def taken(tried: Program) -> float:
        try:
            return sum(pool.used for pool in place(tried).pools if pool.activations and not pool.parts)
        except NeuralArtError:
            return math.inf

    made = in_stripes(program, user_owned, keep_inputs=keep_inputs)
    gains = bool(made.stripes) and taken(made) < taken(program)
    return made if gains else replace(program, stripes=(NOTHING,))
