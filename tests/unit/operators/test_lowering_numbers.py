"""Plain numbers, reductions, products of matrices: what they become, and what is refused in which words."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from neuralart_reference.ir import Call
from support.cases.lowering import Graph, lowered, one, parameters, refusal

F = ((2, 3), "float32")
EIGHT = ((1,), "int8")


def ints(*values: int, shape: tuple[int, ...] | None = None) -> tuple[Any, ...]:
    """A constant int32 tensor, by default a vector."""
    return (shape or (len(values),), "int32", None, 0, struct.pack(f"<{len(values)}i", *values))


def mixed(kind: str, *, options: dict[str, Any] | None = None, **tensors: tuple[Any, ...]) -> Callable[[Graph], None]:
    """An operator on plain numbers in a model that has an int8 part, too."""

    def make(graph: Graph) -> None:
        one(kind, options=options, **tensors)(graph)
        graph.op("RELU", [graph.tensor("e", *EIGHT)], [graph.tensor("r", *EIGHT)])

    return make


def call_of(kind: str, options: dict[str, Any] | None = None, **tensors: tuple[Any, ...]) -> Call:
    graph = Graph()
    mixed(kind, options=options, **tensors)(graph)
    outputs = [i for op in graph.operators for i in op.outputs]
    inputs = [t.index for t in graph.tensors if t.index not in outputs and t.data is None]
    return lowered(graph, inputs, outputs).calls[0]


def test_bounds_of_plain_numbers() -> None:
    call = call_of("ADD", {"fused_activation_function": "RELU6"}, x=F, z=F, y=F)
    assert (call.kernel, call.macc) == ("na_add_f32", 6)
    assert parameters(call).items() >= {"low": "0x0.0p+0f", "high": "0x1.8000000000000p+2f"}.items()
    whole = ((4,), "int32")
    call = call_of("MUL", {"fused_activation_function": "RELU"}, x=whole, z=whole, y=whole)
    assert call.kernel == "na_mul_i32"
    assert parameters(call).items() >= {"low": "0", "high": "INT32_MAX"}.items()


@pytest.mark.parametrize("turned", [False, True])
def test_matrices_in_either_order(turned: bool) -> None:
    shapes = ((2, 5, 3), (5, 4)) if turned else ((2, 3, 5), (4, 5))
    call = call_of(
        "BATCH_MATMUL",
        {"adj_x": turned, "adj_y": not turned},
        x=(shapes[0], "int8", 0.5, 3),
        z=(shapes[1], "int8", 0.25, -4),
        y=((2, 3, 4), "int8", 1.0, 7),
    )
    found = parameters(call)
    assert (call.kernel, call.macc) == ("na_batch_matmul_s8", 2 * 3 * 4 * 5)
    assert [found[name] for name in ("rows", "columns", "depth", "size1", "size2")] == ["3", "4", "5", "15", "20"]
    strides = [found[name] for name in ("row1", "depth1", "column2", "depth2")]
    assert strides == (["1", "3", "1", "4"] if turned else ["5", "1", "5", "1"])
    assert found["batches"].startswith("{.shape = {1, 1, 1, 1, 1, 2}, .stride1 = {0, 0, 0, 0, 0, 1}, .stride2 = {0,")


def test_indices_of_several_dimensions() -> None:
    call = call_of("GATHER_ND", x=((4, 3, 2), "int32"), i=ints(1, 2, 3, 0, shape=(2, 2)), y=((2, 2), "int32"))
    wanted = {"count": "2", "depth": "2", "block": "8", "size": "{4, 3}", "step": "{24, 8}"}
    assert (call.kernel, parameters(call)) == ("na_gather_nd_8", wanted)


REFUSALS: list[tuple[str, Callable[[Graph], None], str]] = [
    (
        "a scale that LiteRT cannot compare",
        one("LESS", x=((4,), "int8", 1.5), z=((4,), "int8", 0.5), y=((4,), "bool")),
        "(LESS): scale 1.5 of 'x' int8[4] is not supported (less than 1)",
    ),
    (
        "an order of truths",
        one("LESS", x=((4,), "bool"), z=((4,), "bool"), y=((4,), "bool")),
        "(LESS): element type bool is not supported: 'x' bool[4] (supported: int8, int32, int64, float32)",
    ),
    (
        "a condition of numbers",
        one("SELECT_V2", c=((4,), "int8"), x=F, z=F, y=F),
        "(SELECT_V2): element type int8 is not supported: 'c' int8[4] (supported: bool)",
    ),
    (
        "a condition of another size",
        one("SELECT_V2", c=((4,), "bool"), x=F, z=F, y=F),
        "(SELECT_V2): shape [4] does not broadcast to [2, 3]",
    ),
    (
        "choice of values that mean different things",
        one("SELECT", c=((4,), "bool"), x=((4,), "int8", 0.5), z=((4,), "int8", 0.25), y=((4,), "int8", 0.5)),
        "(SELECT): the quantizations of 'x' int8[4] and 'z' int8[4] differ (all inputs and outputs must have the same)",
    ),
    (
        "int16 as truths",
        one("CAST", x=((4,), "int16"), y=((4,), "bool")),
        "(CAST): int16 to bool is not supported: 'x' int16[4]",
    ),
    (
        "sines of stored values",
        one("SIN", x=((4,),), y=((4,),)),
        "(SIN): element type int8 is not supported: 'x' int8[4] (supported: float32)",
    ),
    (
        "rows of stored values",
        one("LOG_SOFTMAX", x=((1, 4),), y=((1, 4),)),
        "(LOG_SOFTMAX): element type int8 is not supported: 'x' int8[1, 4] (supported: float32)",
    ),
    (
        "rows with an activation",
        one("L2_NORMALIZATION", options={"fused_activation_function": "RELU"}, x=F, y=F),
        "(L2_NORMALIZATION): fused activation RELU is not supported (supported: NONE)",
    ),
    (
        "two types",
        mixed("ADD", x=F, z=((2, 3), "int32"), y=F),
        "(ADD): 'x' float32[2, 3] and 'z' int32[2, 3] have different types",
    ),
    (
        "shapes of plain numbers",
        mixed("DIV", x=F, z=((2,), "float32"), y=F),
        "(DIV): shapes [2, 3] and [2] do not broadcast",
    ),
    (
        "plain slopes",
        mixed("PRELU", x=((1, 3), "float32"), z=F, y=F),
        "(PRELU): slopes 'z' float32[2, 3] do not broadcast to 'x' float32[1, 3]",
    ),
    (
        "integers that have no such function",
        mixed("EXP", x=((4,), "int32"), y=((4,), "int32")),
        "(EXP): element type int32 is not supported: 'x' int32[4] (supported: int8)",
    ),
    (
        "what only float32 has",
        one("FLOOR", x=((4,),), y=((4,),)),
        "(FLOOR): element type int8 is not supported: 'x' int8[4] (supported: float32)",
    ),
    (
        "quotient out of range",
        one("DIV", x=((4,), "int8", 1e4), z=((4,), "int8", 1e-4), y=((4,), "int8", 1.0)),
        "(DIV): the scale factor 1e+08 is too large (less than 8388608)",
    ),
    (
        "bytes of uint8",
        one("FLOOR_DIV", x=((4,), "uint8"), z=((4,), "uint8"), y=((4,), "uint8")),
        "(FLOOR_DIV): quantized uint8 is not supported (supported: int8)",
    ),
    (
        "bytes of uint8 as another type",
        one("CAST", x=((4,), "uint8"), y=((4,), "float32")),
        "(CAST): quantized uint8 is not supported (supported: int8)",
    ),
    (
        "truths",
        one("CAST", x=((4,), "uint16"), y=((4,), "float32")),
        "(CAST): element type uint16 is not supported: 'x' uint16[4] "
        "(supported: int8, uint8, int16, int32, int64, float32, bool)",
    ),
    (
        "another shape",
        one("CAST", x=((4,),), y=((5,), "float32")),
        "(CAST): 'y' float32[5] does not fit its inputs, which give [4]",
    ),
    (
        "largest of other scales",
        one("REDUCE_MAX", x=((4,), "int8", 0.5), a=ints(0), y=((), "int8", 0.25)),
        "(REDUCE_MAX): input scale 0.5 zero point 0 and output scale 0.25 zero point 0 differ (both must be equal)",
    ),
    (
        "axis that is not there",
        mixed("SUM", x=F, a=ints(2), y=((2,), "float32")),
        "(SUM): axis 2 of 'x' float32[2, 3] (expected -2 to 1)",
    ),
    (
        "product out of range",
        one("REDUCE_PROD", x=((4,), "int8", 256.0), a=ints(0), y=((), "int8", 0.5)),
        "(REDUCE_PROD): the scale factor 304.437 is too large (less than 128)",
    ),
    ("no matrix", one("BATCH_MATMUL", x=((4,),), z=((4, 2),), y=((2,),)), "(BATCH_MATMUL): 'x' int8[4] is no matrix"),
    (
        "matrices that do not fit",
        one("BATCH_MATMUL", x=((2, 3),), z=((4, 2),), y=((2, 2),)),
        "(BATCH_MATMUL): 'x' int8[2, 3] has 3 terms per sum, 'z' int8[4, 2] 4",
    ),
    (
        "batches that do not fit",
        one("BATCH_MATMUL", x=((2, 2, 3),), z=((3, 3, 2),), y=((2, 2, 2),)),
        "(BATCH_MATMUL): shapes [2] and [3] do not broadcast",
    ),
    (
        "more indices than dimensions",
        one("GATHER_ND", x=((4,),), i=ints(0, 0, shape=(1, 2)), y=((1,),)),
        "(GATHER_ND): 'i' int32[1, 2] has 2 indices into 'x' int8[4] (1 to 1)",
    ),
    (
        "index outside of a dimension",
        one("GATHER_ND", x=((4, 2),), i=ints(0, 2, shape=(1, 2)), y=((1,),)),
        "(GATHER_ND): index 2 is outside of dimension 1 of 'x' int8[4, 2]",
    ),
]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refusals(make: Callable[[Graph], None], message: str) -> None:
    assert refusal(make) == f"m.tflite: operator 0 {message}"
