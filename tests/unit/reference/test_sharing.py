"""Tensors that share memory: whatever is shared and wherever it is placed, the outputs are the same bytes."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart_reference.ir import Call, Program, StructArg, TensorArg
from neuralart_reference.planning.lifetimes import blocks, live_bytes
from neuralart_reference.planning.planner import plan
from neuralart_reference.planning.sharing import IN_PLACE, Memories, share
from support.servers.programs import RAM, pool_file, tensor

HEADERS = Path(__file__).parents[3] / "firmware" / "runtime" / "include"
BASE = 0x1000
POOL = pool_file(("RAM", BASE, 1 << 16, RAM))


def run(program: Program, address: Callable[[int], int], memory: bytearray) -> list[bytes]:
    """Carry out a program as its kernels do, and return the outputs.

    A kernel that works in place goes element by element. Of any other kernel nothing may be assumed: it leaves garbage
    in its output before it reads its inputs.
    """

    def at(arg: TensorArg) -> slice:
        start = address(arg.tensor) + arg.offset
        return slice(start, start + program.tensors[arg.tensor].bytes - arg.offset)

    for number in program.inputs:
        here = at(TensorArg(number, "int8_t"))
        memory[here] = random.Random(number).randbytes(program.tensors[number].bytes)
    for call in program.calls:
        reads = [arg for arg in call.args if isinstance(arg, TensorArg) and not arg.written]
        (write,) = [arg for arg in call.args if isinstance(arg, TensorArg) and arg.written]
        if call.kernel == "na_copy_8":
            count = int(dict(call.args[-1].fields)["count"])
            source, target = at(reads[0]).start, at(write).start
            memory[target : target + count] = memory[source : source + count]
        elif call.kernel in IN_PLACE:
            target = at(write)
            for index in range(target.stop - target.start):
                values = []
                for arg in reads:
                    source = at(arg)
                    values.append(memory[source.start + index % (source.stop - source.start)])
                memory[target.start + index] = (sum((k + 3) * value for k, value in enumerate(values)) + 1) & 0xFF
        else:
            memory[at(write)] = b"\xa5" * (at(write).stop - at(write).start)
            seed = zlib.crc32(b"".join(bytes(memory[at(arg)]) for arg in reads))
            memory[at(write)] = random.Random(seed).randbytes(at(write).stop - at(write).start)
    return [bytes(memory[at(TensorArg(number, "int8_t"))]) for number in program.outputs]


def apart(program: Program) -> list[bytes]:
    """The outputs when every tensor has a memory of its own, aliases excepted."""
    where, free = {}, 0
    for number, each in enumerate(program.tensors):
        where[number] = free
        free += each.bytes
    return run(program, lambda number: where[program.root(number)], bytearray(free))


def placed(program: Program, *, keep_inputs: bool = False) -> list[bytes]:
    """The outputs at the planned addresses."""
    tensors = plan(program, POOL, keep_inputs=keep_inputs).tensors
    memory = bytearray(b"\x5a" * (1 << 16))
    return run(program, lambda number: tensors[program.root(number)] + program.offset(number) - BASE, memory)


class Builder:
    """Calls over byte tensors, in order."""

    def __init__(self, *inputs: int) -> None:
        self.tensors = [tensor(number, f"in{number}", (size,)) for number, size in enumerate(inputs)]
        self.inputs = tuple(range(len(inputs)))
        self.calls: list[Call] = []
        self.aliases: dict[int, int] = {}

    def new(self, size: int) -> int:
        self.tensors.append(tensor(len(self.tensors), f"t{len(self.tensors)}", (size,)))
        return len(self.tensors) - 1

    def call(self, kernel: str, reads: list[int], size: int) -> int:
        target = self.new(size)
        args = [*(TensorArg(number, "int8_t") for number in reads), TensorArg(target, "int8_t", written=True)]
        self.add(kernel, args)
        return target

    def add(self, kernel: str, args: list[TensorArg | StructArg]) -> None:
        tensors = [arg for arg in args if isinstance(arg, TensorArg)]
        reads = tuple(dict.fromkeys(arg.tensor for arg in tensors if not arg.written))
        writes = tuple(arg.tensor for arg in tensors if arg.written)
        self.calls.append(Call(len(self.calls), kernel, kernel, tuple(args), reads, writes))

    def copy(self, source: int, start: int, target: int, at: int, count: int) -> None:
        self.add(
            "na_copy_8",
            [
                TensorArg(source, "uint8_t", offset=start),
                TensorArg(target, "uint8_t", written=True, offset=at),
                StructArg("na_bytes_t", (("count", str(count)),)),
            ],
        )

    def concatenation(self, parts: list[int]) -> int:
        target, at = self.new(sum(self.tensors[part].bytes for part in parts)), 0
        for part in parts:
            self.copy(part, 0, target, at, self.tensors[part].bytes)
            at += self.tensors[part].bytes
        return target

    def split(self, source: int, count: int) -> list[int]:
        size = self.tensors[source].bytes // count
        targets = [self.new(size) for _ in range(count)]
        for number, target in enumerate(targets):
            self.copy(source, number * size, target, 0, size)
        return targets

    def alias(self, source: int) -> int:
        target = self.new(self.tensors[source].bytes)
        self.aliases[target] = source
        return target

    def program(self, *outputs: int) -> Program:
        return Program(self.tensors, self.calls, self.inputs, outputs, self.aliases)


@st.composite
def programs(draw) -> Program:
    """Anything of elementwise calls, opaque calls, concatenations, splits and reshapes over tensors of few sizes."""
    sizes = (8, 16, 16, 32)
    made = Builder(*(draw(st.sampled_from(sizes)) for _ in range(draw(st.integers(1, 2)))))
    alive = list(made.inputs)
    for _ in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from(["add", "table", "table", "opaque", "concatenation", "split", "alias"]))
        one, other = draw(st.sampled_from(alive)), draw(st.sampled_from(alive))
        size = made.tensors[one].bytes
        if kind == "add" and size % made.tensors[other].bytes == 0:
            alive.append(made.call("na_add_s8", draw(st.permutations([one, other])), size))
        elif kind == "table":
            alive.append(made.call("na_table_s8", [one], size))
        elif kind == "opaque":
            alive.append(made.call("f", [one, other], draw(st.sampled_from(sizes))))
        elif kind == "concatenation" and size < 100:
            parts = draw(st.lists(st.sampled_from(alive), min_size=2, max_size=3))
            alive.append(made.concatenation(parts))
        elif kind == "split" and size % 16 == 0:
            alive += made.split(one, 2)
        elif kind == "alias" and one not in made.inputs:
            alive.append(made.alias(one))
    last = made.call("f", [alive[-1]], 8)  # something that is not an input
    roots, outputs = set(), [last]
    for number in draw(st.lists(st.sampled_from(alive), max_size=2)):
        root = made.program().root(number)
        if root not in roots | set(made.inputs):
            roots.add(root)
            outputs.append(number)
    return made.program(*outputs)


@pytest.mark.long
@settings(max_examples=1500)
@given(programs(), st.booleans(), st.booleans())
def test_sharing_changes_no_output(program: Program, writable: bool, keep: bool) -> None:
    shared = share(program, inputs_writable=writable and not keep)
    want = apart(program)
    assert placed(program, keep_inputs=keep) == want
    assert placed(shared, keep_inputs=keep) == want
    before, after = (max(live_bytes(blocks(p), len(p.calls))) for p in (program, shared))
    # Whatever lies in the memory of an input or output is rounded up with it.
    assert after <= before + 31 * (len(program.inputs) + len(program.outputs))
    border = [shared.root(number) for number in (*shared.inputs, *shared.outputs)]
    assert len(set(border)) == len(border)
    if not writable or keep:
        written = {shared.root(number) for call in shared.calls for number in call.writes}
        assert not written & set(shared.inputs)


def test_an_elementwise_chain_needs_one_memory() -> None:
    made = Builder(64)
    x = made.call("f", [0], 64)
    y = made.call("na_table_s8", [x], 64)
    z = made.call("na_add_s8", [y, y], 64)
    shared = share(made.program(z))
    assert shared.root(z) == shared.root(y) == x
    assert max(live_bytes(blocks(shared), 3)) == 128  # the input and x
    assert share(made.program(z), inputs_writable=True).root(z) == x


def test_a_residual_addition_goes_over_the_branch_that_ends() -> None:
    made = Builder(64)
    x = made.call("f", [0], 64)
    y = made.call("f", [x], 64)
    z = made.call("na_add_s8", [x, y], 64)
    w = made.call("f", [z, x], 64)  # x is read again: only y can go
    assert share(made.program(w)).root(z) == y


def test_a_broadcast_operand_is_not_written() -> None:
    made = Builder(64)
    x = made.call("f", [0], 8)
    y = made.call("f", [0], 64)
    z = made.call("na_mul_s8", [x, y], 64)
    assert share(made.program(z)).root(z) == y
    made = Builder(64)
    x = made.call("f", [0], 8)
    z = made.call("na_mul_s8", [x, 0], 64)
    assert share(made.program(z)).aliases == {}


def test_inputs_are_written_only_where_allowed_and_never_become_outputs() -> None:
    made = Builder(64)
    x = made.call("na_flip_sign_8", [0], 64)
    y = made.call("f", [x], 64)
    assert share(made.program(y)).aliases == {}
    assert share(made.program(y), inputs_writable=True).aliases == {x: 0}
    assert share(made.program(x), inputs_writable=True).aliases == {}


def test_a_concatenation_is_computed_in_its_place() -> None:
    made = Builder(64)
    parts = [made.call("f", [0], size) for size in (16, 32, 8)]
    shared = share(made.program(made.call("f", [made.concatenation(parts)], 8)))
    assert [call.kernel for call in shared.calls] == ["f"] * 4
    assert [shared.offset(part) for part in parts] == [0, 16, 48]
    assert {shared.root(part) for part in parts} == {4}


def test_a_part_that_occurs_twice_is_copied_once() -> None:
    made = Builder(8)
    part = made.call("f", [0], 32)
    shared = share(made.program(made.concatenation([part, part])))
    assert [call.kernel for call in shared.calls] == ["f", "na_copy_8"]


def test_a_concatenation_of_what_lives_long_is_not_worth_more_memory() -> None:
    """The early part would keep the whole output alive through the widest place."""
    made = Builder(16)
    early = made.call("f", [0], 16)
    wide = made.call("f", [early], 512)
    wider = made.call("f", [wide], 512)
    late = made.call("f", [wider], 256)
    program = made.program(made.concatenation([early, late]))
    shared = share(program)
    assert max(live_bytes(blocks(shared), len(shared.calls))) <= max(live_bytes(blocks(program), len(program.calls)))
    assert shared.root(early) == early
    assert shared.root(late) == program.outputs[0]


def test_an_input_or_an_output_is_copied_into_a_concatenation() -> None:
    made = Builder(16)
    x = made.call("f", [0], 16)
    whole = made.concatenation([0, x])
    shared = share(made.program(whole, x))
    assert [call.kernel for call in shared.calls] == ["f", "na_copy_8", "na_copy_8"]


def test_a_split_is_seen_in_place_unless_somebody_writes() -> None:
    made = Builder(64)
    x = made.call("f", [0], 64)
    one, two = made.split(x, 2)
    y = made.call("f", [one, two], 8)
    shared = share(made.program(y))
    assert (shared.root(one), shared.offset(one), shared.root(two), shared.offset(two)) == (x, 0, x, 32)
    assert len(shared.calls) == 2
    z = made.call("na_table_s8", [x], 64)  # in place, after the split
    w = made.call("f", [one, z], 8)
    assert placed(share(made.program(w, y))) == apart(made.program(w, y))


def test_a_part_that_is_read_before_it_is_there_is_copied() -> None:
    made = Builder(8)
    one, two = made.call("f", [0], 16), made.call("f", [0], 16)
    whole = made.new(32)
    made.copy(one, 0, whole, 0, 16)
    made.copy(one, 0, whole, 16, 16)
    early = made.call("f", [whole], 8)
    made.copy(two, 0, whole, 16, 16)
    program = made.program(early, made.call("f", [whole], 8))
    assert placed(share(program)) == apart(program)


def test_an_output_that_was_there_before_goes_over_nothing() -> None:
    made = Builder(16)
    x, y = made.call("f", [0], 16), made.call("f", [0], 16)
    early = made.call("f", [x, y], 8)
    made.add("na_table_s8", [TensorArg(x, "int8_t"), TensorArg(y, "int8_t", written=True)])
    program = made.program(early, made.call("f", [y], 8))
    assert share(program).aliases == {}
    assert placed(share(program)) == apart(program)


def test_the_program_given_is_not_changed() -> None:
    made = Builder(64)
    x = made.call("f", [0], 64)
    program = made.program(made.call("f", [made.concatenation([made.call("na_table_s8", [x], 64)])], 8))
    before = (list(program.calls), dict(program.aliases), dict(program.offsets))
    share(program)
    assert (program.calls, program.aliases, program.offsets) == before


def test_accesses_by_parts() -> None:
    made = Builder(64)
    one, two = made.split(0, 2)
    made.copy(one, 0, two, 16, 16)
    memories = Memories(made.program(two))
    assert 2 in memories.writers(two, range(16, 32)) and 2 not in memories.writers(two, range(16))
    assert 0 in memories.writers(one) and 0 not in memories.writers(two)
    assert (memories.first(0), memories.last(0), memories.last(two)) == (-1, 1, 3)


@pytest.mark.parametrize("kernel", IN_PLACE)
def test_kernels_that_work_in_place_exist_with_these_arguments(kernel: str) -> None:
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("neuralart_kernels*.h")))
    found = re.search(rf"\nvoid {kernel}\(([^)]*)\);", headers)
    assert found is not None
    words = [word.strip() for word in found[1].split(",")]
    assert all(words[position].startswith("const ") for position in IN_PLACE[kernel])
