"""The report says of every memory where it lies, when it is needed and what lies in it."""

from __future__ import annotations

from neuralart_reference.emit.emission import Emission
from neuralart_reference.emit.report import lifetimes
from neuralart_reference.ir import Program
from neuralart_reference.model.graph import Model
from neuralart_reference.planning.planner import plan
from neuralart_reference.planning.sharing import share
from support.servers.programs import RAM, chain, pool_file, tensor

POOL = pool_file(("RAM", 0x1000, 4096, RAM))


def emission(program: Program) -> Emission:
    model = Model("m.tflite", "m", tuple(program.tensors), (), program.inputs, program.outputs)
    return Emission("net", "stm32n6", model, program, plan(program, POOL), POOL)


def test_ranges_spans_and_names() -> None:
    lines = lifetimes(emission(chain(64, 128, 64, scratch={1: 100})))
    assert lines[0].split() == ["range", "bytes", "epochs", "tensors"]
    rows = [line.split("  ") for line in lines[1:]]
    found = {tuple(word.strip() for word in row if word.strip())[1:] for row in rows}
    assert found == {
        ("64", "start - 0", "t0"),
        ("128", "0 - 1", "t1"),
        ("64", "1 - end", "t2"),
        ("100", "1 - 1", "working memory of epoch 1 (RELU)"),
    }
    starts = [int(line.split("-")[0], 16) for line in lines[1:]]
    assert starts == sorted(starts)


def test_what_shares_a_memory_stands_together() -> None:
    program = chain(64, 128, 64)
    program.tensors += [tensor(3, "flat", (128,)), tensor(4, "part", (64,)), tensor(5, "a\nb", (16,))]
    program.aliases.update({3: 1, 4: 3, 5: 1})
    program.offsets[4] = 64
    (line,) = [line for line in lifetimes(emission(share(program))) if "t1" in line]
    assert line.endswith("t1, flat, part (+64), a\\nb")
