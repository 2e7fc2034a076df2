"""SVDF and LSTM: what they become, how their states begin, and what is refused in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuralart.compilers.request import CompileRequest
from neuralart.errors import NeuralArtError
from neuralart_reference.compile import compile_network
from neuralart_reference.ir import Null
from neuralart_reference.lower import lower
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from support.cases.cases_recurrent import lstm, svdf
from support.cases.lowering import parameters
from support.cases.operator_draws import Draw
from tflite_writer import ModelWriter

MPOOL = Path(__file__).parents[3] / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
Change = Callable[[ModelWriter], None]


def one(draw: Draw, change: Change | None = None) -> bytes:
    """A model of a single operator, changed before it is written."""
    writer = ModelWriter()
    case = draw(np.random.default_rng(5), writer)
    if change is not None:
        change(writer)
    return writer.finish(case.inputs, case.outputs)


def read(data: bytes) -> Model:
    return tflite.parse(data, "m.tflite", "m")


def test_states_begin_at_zero() -> None:
    """The bytes of an interpreter that has just begun: the zero point for int8, zeros for int16."""
    model = read(one(lstm("projection")))
    (op,) = model.operators
    output, cell = op.inputs[18:20]
    points = model.tensors[output].quantization
    assert points is not None and points.zero_point < 0
    assert model.states == {output: points.zero_point + 256, cell: 0}
    program = lower(model)
    assert dict(program.states) == model.states
    (call,) = program.calls
    assert {output, cell} <= {*call.writes}
    assert call.scratch == int(parameters(call)["cells"]) * (2 * 4 + 1)


def test_what_a_gate_has_not_is_null() -> None:
    (call,) = lower(read(one(lstm("cifg")))).calls
    assert [isinstance(arg, Null) for arg in call.args] == [False] * 4 + [True] * 5 + [False] * 4
    assert parameters(call)["gates"] == "3"
    (call,) = lower(read(one(lstm("peephole", "projection", "norm")))).calls
    assert not any(isinstance(arg, Null) for arg in call.args)
    assert parameters(call)["gate"].count("{") == 5


def test_generated_code_resets(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(one(svdf))
    (size,) = [each.bytes for each in read(path.read_bytes()).tensors if each.variable]
    made = compile_network(CompileRequest(model=path, mpool=MPOOL, name="n", report=False)).files
    reset = made["n.c"].decode().partition("void LL_ATON_Reset_State_n(void)\n")[2].partition("}\n")[0]
    assert f"*end = at + {size}; at < end;) {{\n    *at++ = 0x00;\n" in reset


def test_shape_of_an_intermediate_is_not_looked_at() -> None:
    """Converters leave it open."""

    def empty(writer: ModelWriter) -> None:
        for number in writer.operators[0].intermediates:
            writer.tensors[number] = replace(writer.tensors[number], shape=(0,))

    assert len(lower(read(one(lstm(), empty))).calls) == 1


def option(**options: object) -> Change:
    def change(writer: ModelWriter) -> None:
        writer.operators[0] = replace(writer.operators[0], options={**writer.operators[0].options, **options})

    return change


def inputs(changed: dict[int, int] | None = None, count: int = 24) -> Change:
    """Other inputs of the operator: -1 for none, otherwise the number of the input whose tensor is taken."""

    def change(writer: ModelWriter) -> None:
        op = writer.operators[0]
        given = [*op.inputs]
        for position, number in (changed or {}).items():
            given[position] = op.inputs[number] if number >= 0 else -1
        writer.operators[0] = replace(op, inputs=tuple(given[:count]))

    return change


def one_more(writer: ModelWriter) -> None:
    op = writer.operators[0]
    writer.operators[0] = replace(op, inputs=(*op.inputs, op.inputs[0]))


def tensor(position: int, **fields: object) -> Change:
    def change(writer: ModelWriter) -> None:
        number = writer.operators[0].inputs[position]
        writer.tensors[number] = replace(writer.tensors[number], **fields)

    return change


def inner(*numbers: int) -> Change:
    def change(writer: ModelWriter) -> None:
        writer.operators[0] = replace(writer.operators[0], intermediates=numbers)

    return change


def hybrid(writer: ModelWriter) -> None:
    """Floats around int8 weights, beside a part of the model that is quantized."""
    op = writer.operators[0]
    for number in (op.inputs[0], op.outputs[0], *op.inputs[18:20]):
        writer.tensors[number] = replace(writer.tensors[number], dtype="float32", scales=None)
    writer.op("QUANTIZE", [op.outputs[0]], [writer.tensor("q", writer.tensors[op.outputs[0]].shape, "int8", 0.5)])


LSTM, SMALLER = lstm(), lstm("projection")
REFUSALS: list[tuple[Draw, Change, str]] = [
    (svdf, option(fused_activation_function="NONE"), "fused activation NONE is not supported (supported: RELU, as in"),
    (svdf, one_more, "it has 6 inputs, not 5"),
    (svdf, option(rank=0), " filters of rank 0 are no whole number of units"),
    (svdf, tensor(2, zero_points=(3,)), " must have one scale, and zero point 0"),
    (svdf, tensor(4, variable=False), "tensor 4 's0', which nothing writes"),
    (svdf, inputs({4: 1}, 5), " is no variable tensor of "),
    (LSTM, option(fused_activation_function="RELU"), "fused activation RELU is not supported (supported: TANH)"),
    (LSTM, option(cell_clip=-2.0), "cell_clip -2 is negative"),
    (LSTM, inputs(count=19), "19 inputs and 5 intermediates, expected 20 or 24 and 5"),
    (
        LSTM,
        inner(),
        " inputs and 0 intermediates, expected 20 or 24 and 5 (quantize the model to int8 with int16 cells",
    ),
    (LSTM, inner(0, 1, 2, 3, 900), "has as an intermediate tensor 900, the graph has"),
    (LSTM, tensor(19, scales=(0.0003,)), "scale 0.0003 of 'c0' int16"),
    (LSTM, tensor(19, scales=(2.0**-8,)), "is not supported (supported: powers of two from 2**-15 to 2**-9)"),
    (LSTM, inputs({13: -1}), "input 13 is absent"),
    (LSTM, inputs({1: -1}), "input 5 'w5_0' int8"),
    (LSTM, inputs({10: 13}), " is there, but not all that belongs to it"),
    (SMALLER, inputs({16: -1, 17: -1}), " needs a projection: there are "),
    (SMALLER, inputs({9: 13, 10: 13, 11: 13}), "a peephole and a projection to another size: LiteRT confuses the"),
    (LSTM, inputs({0: 18}), "input 'h0' int8"),
    (LSTM, hybrid, "bias of type int32 are not supported: 'b1_0' int32[11] (supported: float32)"),
]


@pytest.mark.parametrize(("draw", "change", "message"), REFUSALS, ids=[message[:40] for _, _, message in REFUSALS])
def test_refusals(draw: Draw, change: Change, message: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        lower(read(one(draw, change)))
    assert message in str(caught.value) and "\n" not in str(caught.value)
