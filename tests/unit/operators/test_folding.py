"""What is constant in a model is computed when it is compiled."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart_reference.folding import FOLDED, fold
from neuralart_reference.model.graph import Model
from support.cases.lowering import Graph, lowered

INT32 = "int32"


def numbers(
    graph: Graph, name: str, values: Sequence[int], shape: Sequence[int] | None = None, dtype: str = INT32
) -> int:
    data = struct.pack(f"<{len(values)}{'i' if dtype == INT32 else 'q'}", *values)
    return graph.tensor(name, (len(values),) if shape is None else shape, dtype, None, 0, data)


def folded(
    kind: str,
    inputs: Sequence[tuple[Sequence[int], Sequence[int]]],
    shape: Sequence[int],
    dtype: str = INT32,
    **options: Any,
) -> list[int]:
    """The values of the output of an operator on constants, each (values, shape)."""
    graph = Graph()
    sources = [numbers(graph, f"c{n}", values, dims) for n, (values, dims) in enumerate(inputs)]
    target = graph.tensor("y", shape, dtype)
    graph.op(kind, sources, (target,), **options)
    made = fold(model(graph))
    assert not made.operators
    data = made.tensors[target].data
    assert data is not None
    letter = "i" if dtype == INT32 else "q"
    return list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data))


def model(graph: Graph) -> Model:
    return graph.model([], [])


def vector(*values: int) -> tuple[Sequence[int], Sequence[int]]:
    return values, (len(values),)


def scalar(value: int) -> tuple[Sequence[int], Sequence[int]]:
    return (value,), ()


@pytest.mark.parametrize(
    ("kind", "inputs", "shape", "options", "values"),
    [
        ("PACK", [scalar(1), scalar(-1), scalar(6)], (3,), {"axis": 0, "values_count": 3}, [1, -1, 6]),
        ("CONCATENATION", [vector(1), vector(2, 3)], (3,), {"axis": 0}, [1, 2, 3]),
        ("STRIDED_SLICE", [vector(7, 8, 9), vector(-1), vector(0), vector(-2)], (1,), {}, [9]),
        ("STRIDED_SLICE", [vector(7, 8, 9), vector(1), vector(2), vector(1)], (), {"shrink_axis_mask": 1}, [8]),
        ("SLICE", [vector(7, 8, 9), vector(1), vector(-1)], (2,), {}, [8, 9]),
        ("RESHAPE", [vector(1, 2), vector(1, 2)], (1, 2), {}, [1, 2]),
        ("EXPAND_DIMS", [scalar(4), scalar(0)], (1,), {}, [4]),
        ("SQUEEZE", [((4,), (1, 1))], (), {}, [4]),
        ("TRANSPOSE", [((1, 2, 3, 4, 5, 6), (2, 3)), vector(1, 0)], (3, 2), {}, [1, 4, 2, 5, 3, 6]),
        ("GATHER", [vector(7, 8, 9), vector(2, 0)], (2,), {"axis": 0}, [9, 7]),
        ("GATHER", [((1, 2, 3, 4), (2, 2)), scalar(1)], (2,), {"axis": -1}, [2, 4]),
        ("ADD", [vector(1, 2), scalar(10)], (2,), {}, [11, 12]),
        ("SUB", [vector(1, 2), vector(3, 5)], (2,), {}, [-2, -3]),
        ("MUL", [((1, 2), (2, 1)), vector(3, 4)], (2, 2), {}, [3, 4, 6, 8]),
        ("MUL", [vector(1 << 30), vector(6)], (1,), {}, [-(1 << 31)]),
        ("DIV", [vector(7, -7, 7, -7), vector(2, 2, -2, -2)], (4,), {}, [3, -3, -3, 3]),
        ("FLOOR_DIV", [vector(7, -7, 7, -7), vector(2, 2, -2, -2)], (4,), {}, [3, -4, -4, 3]),
        ("FLOOR_MOD", [vector(7, -7, 7, -7), vector(2, 2, -2, -2)], (4,), {}, [1, 1, -1, -1]),
        ("MAXIMUM", [vector(1, 9), scalar(4)], (2,), {}, [4, 9]),
        ("MINIMUM", [vector(1, 9), scalar(4)], (2,), {}, [1, 4]),
        ("REDUCE_PROD", [vector(2, 3, 4), vector(0)], (), {}, [24]),
        ("REDUCE_MAX", [((1, 5, 3, 2), (2, 2)), vector(0)], (1, 2), {"keep_dims": True}, [3, 5]),
        ("REDUCE_MIN", [((1, 5, 3, 2), (2, 2)), vector(-1)], (2,), {}, [1, 2]),
        ("SUM", [((1, 5, 3, 2), (2, 2)), vector(0, 1)], (), {}, [11]),
        ("FILL", [vector(2, 2), scalar(7)], (2, 2), {}, [7, 7, 7, 7]),
        ("RANGE", [scalar(1), scalar(8), scalar(3)], (3,), {}, [1, 4, 7]),
        ("RANGE", [scalar(3), scalar(0), scalar(-1)], (3,), {}, [3, 2, 1]),
    ],
)
def test_values(kind: str, inputs: Any, shape: Any, options: dict[str, Any], values: list[int]) -> None:
    assert folded(kind, inputs, shape, **options) == values
    assert kind in FOLDED


def test_casts() -> None:
    assert folded("CAST", [vector(1, -2)], (2,), "int64") == [1, -2]


def test_several_outputs() -> None:
    graph = Graph()
    shape, axis = numbers(graph, "s", (4, 5, 6)), numbers(graph, "a", (0,), ())
    parts = [graph.tensor(f"p{n}", (1,), INT32) for n in range(3)]
    graph.op("SPLIT", (axis, shape), parts, num_splits=3)
    loose = [graph.tensor(f"q{n}", (), INT32) for n in range(3)]
    graph.op("UNPACK", (shape,), loose, num=3, axis=0)
    made = fold(model(graph))
    assert [made.tensors[n].data for n in (*parts, *loose)] == [struct.pack("<i", n) for n in (4, 5, 6)] * 2


def open_batch() -> tuple[Graph, int, int]:
    """What Keras makes of a reshape when the batch is open."""
    graph = Graph()
    x, y = graph.tensor("x", (1, 4, 6)), graph.tensor("y", (1, 24))
    size, first, wanted = (
        graph.tensor("size", (3,), INT32),
        graph.tensor("first", (), INT32),
        graph.tensor("w", (2,), INT32),
    )
    bounds = [numbers(graph, f"b{n}", (n,)) for n in (0, 1)]
    graph.op("SHAPE", (x,), (size,))
    graph.op("STRIDED_SLICE", (size, *bounds, bounds[1]), (first,), shrink_axis_mask=1)
    graph.op("PACK", (first, numbers(graph, "rest", (-1,), ())), (wanted,), values_count=2, axis=0)
    graph.op("RESHAPE", (x, wanted), (y,))
    return graph, x, y


def test_a_reshape_with_an_open_batch() -> None:
    graph, x, y = open_batch()
    z = graph.tensor("z", (1, 24))
    graph.op("RELU", (y,), (z,))
    before = graph.model([x], [z])
    after = fold(before)
    assert [(op.index, op.kind) for op in after.operators] == [(3, "RESHAPE"), (4, "RELU")]
    assert after.tensors[4].data == struct.pack("<2i", 1, -1)
    assert (after.inputs, after.outputs, len(after.tensors)) == (before.inputs, before.outputs, len(before.tensors))
    program = lowered(graph, [x], [z])
    assert [(call.operator, call.kind) for call in program.calls] == [(4, "RELU")]
    assert program.aliases == {y: x}


def test_bytes_of_any_type_are_moved() -> None:
    graph = Graph()
    weights = graph.tensor("w", (2, 3), "int8", 0.5, 0, b"abcdef")
    turned = graph.tensor("t", (3, 2))
    graph.op("TRANSPOSE", (weights, numbers(graph, "p", (1, 0))), (turned,))
    assert fold(model(graph)).tensors[turned].data == b"adbecf"


def test_nothing_to_compute_is_the_model_itself() -> None:
    graph = Graph()
    x, y = graph.tensor("x", (4,)), graph.tensor("y", (4,))
    graph.op("RELU", (x,), (y,))
    made = graph.model([x], [y])
    assert fold(made) is made


@pytest.mark.parametrize(
    ("kind", "dtype"), [("ADD", "int8"), ("MUL", "float32"), ("SOFTMAX", "int8"), ("CAST", "float32")]
)
def test_no_arithmetic_on_other_types(kind: str, dtype: str) -> None:
    graph = Graph()
    sources = [graph.tensor(f"c{n}", (4,), dtype, 0.5, 0, bytes(16 if dtype == "float32" else 4)) for n in range(2)]
    graph.op(kind, sources[:1] if kind in ("SOFTMAX", "CAST") else sources, (graph.tensor("y", (4,), dtype),))
    made = model(graph)
    assert fold(made) is made


def test_an_output_of_the_model_may_be_computed() -> None:
    graph = Graph()
    x, size, y = graph.tensor("x", (4,)), graph.tensor("size", (1,), INT32), graph.tensor("y", (4,))
    graph.op("SHAPE", (x,), (size,))
    graph.op("RELU", (x,), (y,))
    program = lowered(graph, [x], [size, y])
    assert program.tensors[size].data == bytes([4, 0, 0, 0])
    assert [call.kernel for call in program.calls] == ["na_requantize_s8_s8", "na_copy_8"]


BIG = 1 << 21
REFUSALS: list[tuple[str, list[tuple[Sequence[int], Sequence[int]]], Sequence[int], dict[str, Any], str]] = [
    ("DIV", [vector(4), vector(0)], (1,), {}, "(DIV): division by 0: 'c1' int32[1]"),
    ("ADD", [vector(1, 2), vector(1, 2, 3)], (3,), {}, "(ADD): shapes [2] and [3] do not broadcast"),
    ("ADD", [vector(1), vector(1)], (2,), {}, "(ADD): 'y' int32[2] does not fit its inputs, which give [1]"),
    (
        "ADD",
        [vector(1), vector(1)],
        (1,),
        {"fused_activation_function": "RELU"},
        "(ADD): fused activation RELU on constants is not supported (supported: NONE)",
    ),
    ("ADD", [vector(1)], (1,), {}, "(ADD): input 1 is absent"),
    ("GATHER", [vector(1, 2), vector(2)], (1,), {}, "(GATHER): index 2 is outside of dimension 0 of 'c0' int32[2]"),
    (
        "GATHER",
        [vector(1), vector(0)],
        (1,),
        {"batch_dims": 1},
        "(GATHER): batch_dims 1 on constants is not supported (supported: 0)",
    ),
    (
        "FILL",
        [vector(BIG), scalar(0)],
        (BIG,),
        {},
        f"(FILL): {BIG} constant elements for 'y' int32[{BIG}] (at most 1048576)",
    ),
    ("FILL", [vector(-1), scalar(0)], (1,), {}, "(FILL): 'y' int32[1] cannot be filled: sizes [-1], 1 values"),
    ("RANGE", [scalar(0), scalar(1), scalar(0)], (1,), {}, "(RANGE): no range from (0,) to (1,) in steps of (0,)"),
    (
        "RANGE",
        [scalar(-(1 << 31)), scalar((1 << 31) - 1), scalar(1)],
        (1,),
        {},
        "(RANGE): 4294967295 constant elements for 'y' int32[1] (at most 1048576)",
    ),
    (
        "REDUCE_PROD",
        [vector(1), vector(1)],
        (),
        {},
        "(REDUCE_PROD): dimension 1 of 'c0' int32[1] does not exist (it is one of -1 to 0)",
    ),
    ("PACK", [scalar(1), vector(1)], (2,), {}, "(PACK): 'c0' int32[] and 'c1' int32[1] have different shapes"),
]


@pytest.mark.parametrize(("kind", "inputs", "shape", "options", "message"), REFUSALS)
def test_refusals(kind: str, inputs: Any, shape: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(NeuralArtError) as error:
        folded(kind, inputs, shape, **options)
    assert str(error.value) == f"m.tflite: operator 0 {message}"


def test_constants_that_double_do_not_fill_the_memory() -> None:
    graph = Graph()
    last, size = graph.tensor("c", (1 << 18,), "int8", 0.5, 0, bytes(1 << 18)), 1 << 18
    for step in range(12):
        size *= 2
        made = graph.tensor(f"d{step}", (size,))
        graph.op("CONCATENATION", (last, last), (made,), axis=0)
        last = made
    with pytest.raises(NeuralArtError) as error:
        fold(model(graph))
    assert str(error.value) == (
        "m.tflite: operator 2 (CONCATENATION): 'd2' int8[2097152] is constant and too large (at most 1048576 elements)"
    )


def test_constants_that_are_damaged() -> None:
    graph = Graph()
    c, y = graph.tensor("c", (2, 3), "int8", 0.5, 0, b"abc"), graph.tensor("y", (3, 2))
    graph.op("TRANSPOSE", (c, numbers(graph, "p", (1, 0))), (y,))
    with pytest.raises(NeuralArtError, match=r"'c' int8\[2, 3\] holds 3 bytes, its shape asks for 6$"):
        fold(model(graph))


def test_numbers_that_are_damaged() -> None:
    graph = Graph()
    c, p = numbers(graph, "c", (1, 2)), graph.tensor("p", (1,), INT32, None, 0, b"abc")
    graph.op("TRANSPOSE", (c, p), (graph.tensor("y", (2,), INT32),))
    with pytest.raises(NeuralArtError, match=r"'p' int32\[1\] holds 3 bytes, its shape asks for 4$"):
        fold(model(graph))


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", b"\x80"), ("int32", b"\x01\x02\x03\x04"), ("float32", b"\0\0\x80?")]
)
def test_filling_repeats_bytes_of_any_type(dtype: str, value: bytes) -> None:
    """Padding before a concatenation, in a quantized model: zeros are the zero point."""
    graph = Graph()
    sizes = graph.tensor("sizes", (2,), "int32", None, data=struct.pack("<2i", 2, 3))
    one = graph.tensor("value", (), dtype, 0.5 if dtype == "int8" else None, data=value)
    y = graph.tensor("y", (2, 3), dtype, 0.5 if dtype == "int8" else None)
    x, z = graph.tensor("x", (2, 3), dtype), graph.tensor("z", (4, 3), dtype)
    graph.op("FILL", (sizes, one), (y,))
    graph.op("CONCATENATION", (x, y), (z,), axis=0)
    folded = fold(graph.model([x], [z]))
    assert [op.kind for op in folded.operators] == ["CONCATENATION"]
    assert folded.tensors[y].data == value * 6


def test_filling_that_does_not_fit() -> None:
    graph = Graph()
    sizes = graph.tensor("sizes", (2,), "int32", None, data=struct.pack("<2i", 2, 2))
    one, y = graph.tensor("value", (), data=b"\x01"), graph.tensor("y", (2, 3))
    graph.op("FILL", (sizes, one), (y,))
    graph.op("RELU", (y,), (graph.tensor("z", (2, 3)),))
    with pytest.raises(NeuralArtError, match=r"'y' int8\[2, 3\] cannot be filled: sizes \[2, 2\], 1 values"):
        fold(graph.model([sizes], [3]))
