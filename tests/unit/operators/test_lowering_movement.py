"""Operators that move values: what they become, and what is refused in which words."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart_reference.context import Operand
from neuralart_reference.data_movement import Move, apply, dense
from neuralart_reference.ir import Call, ConstArg, Null, TensorArg
from neuralart_reference.model.graph import Quantization, Tensor
from neuralart_reference.operators import registry
from neuralart_reference.operators.concatenation import rescaled
from support.cases.lowering import Graph, lowered, one, parameters, refusal

Described = tuple[Any, ...]


def ints(*values: int, shape: tuple[int, ...] | None = None) -> Described:
    """A constant int32 tensor, by default a vector."""
    data = struct.pack(f"<{len(values)}i", *values)
    return ((len(values),) if shape is None else shape, "int32", None, 0, data)


def calls(make: Callable[[Graph], None]) -> list[Call]:
    graph = Graph()
    make(graph)
    outputs = [i for op in graph.operators for i in op.outputs]
    inputs = [t.index for t in graph.tensors if t.index not in outputs and t.data is None]
    return lowered(graph, inputs, outputs).calls


def several(kind: str, inputs: list[Described], outputs: list[Described], **options: Any) -> Callable[[Graph], None]:
    def make(graph: Graph) -> None:
        sources = [graph.tensor(f"x{n}", *described) for n, described in enumerate(inputs)]
        targets = [graph.tensor(f"y{n}", *described) for n, described in enumerate(outputs)]
        graph.op(kind, sources, targets, **options)

    return make


def row(*values: int, fill: int) -> str:
    return "{" + ", ".join(map(str, [fill] * (6 - len(values)) + list(values))) + "}"


# ---- moves


@pytest.mark.parametrize(
    ("move", "joined"),
    [
        (Move((2, 3, 4), (12, 4, 1), (12, 4, 1)), Move((24,), (1,), (1,))),
        (Move((2, 1, 4), (4, 9, 1), (8, 7, 1), 3, 5), Move((2, 4), (4, 1), (8, 1), 3, 5)),
        (Move((2, 3), (1, 2), (3, 1)), Move((2, 3), (1, 2), (3, 1))),
        (Move((3, 4), (-4, -1), (4, 1), 11), Move((12,), (-1,), (1,), 11)),
        (Move((1, 1), (0, 0), (1, 1), 2), Move((), (), (), 2)),
    ],
)
def test_dimensions_are_joined(move: Move, joined: Move) -> None:
    assert move.joined() == joined


def test_a_move_is_carried_out() -> None:
    target = bytearray(b"......")
    apply(Move((3, 2), (1, 3), (2, 1)), 1, b"abcdef", target)
    assert target == b"adbecf"
    target = bytearray(8)
    apply(Move((2,), (-1,), (1,), 3, 1), 2, b"aabbccdd", target)
    assert target == b"\0\0ddcc\0\0"
    target = bytearray(2)
    apply(Move((), (), (), 1, 0), 2, b"aabb", target)
    assert target == b"bb"
    assert dense((2, 3, 4)) == (12, 4, 1) and dense(()) == ()


# ---- what they become


def test_what_lies_together_is_a_copy_with_offsets() -> None:
    """The planner can let both tensors share their memory."""
    first, second = calls(several("CONCATENATION", [((2, 3),), ((1, 3),)], [((3, 3),)], axis=0))
    assert (first.kernel, second.kernel) == ("na_copy_8", "na_copy_8")
    assert first.args[:2] == (TensorArg(0, "uint8_t"), TensorArg(2, "uint8_t", written=True))
    assert second.args[:2] == (TensorArg(1, "uint8_t"), TensorArg(2, "uint8_t", written=True, offset=6))
    assert (parameters(first), parameters(second)) == ({"count": "6"}, {"count": "3"})
    parts = calls(several("SPLIT", [ints(0), ((4, 5), "float32")], [((2, 5), "float32")] * 2, num_splits=2))
    assert [call.args[0] for call in parts] == [TensorArg(1, "uint8_t"), TensorArg(1, "uint8_t", offset=40)]
    assert {call.kernel for call in parts} == {"na_copy_8"}
    (part,) = calls(one("SLICE", x=((4, 5),), b=ints(1, 0), s=ints(2, -1), y=((2, 5),)))
    assert part.args[0] == TensorArg(0, "uint8_t", offset=5) and parameters(part) == {"count": "10"}


def test_rows_that_lie_apart_are_moved() -> None:
    first, second = calls(several("CONCATENATION", [((2, 2, 3),), ((2, 2, 1),)], [((2, 2, 4),)], axis=-1))
    assert (first.kernel, second.kernel) == ("na_move_8", "na_move_8")
    steps = {"input_step": row(3, fill=0), "output_step": row(4, fill=0)}
    assert parameters(first) == {"block": "3", "shape": row(4, fill=1)} | steps
    assert second.args[1] == TensorArg(2, "uint8_t", written=True, offset=3)
    assert parameters(second)["block"] == "1"


def test_transposition_of_words() -> None:
    (call,) = calls(one("TRANSPOSE", x=((2, 3, 4), "int32"), p=ints(1, 0, 2), y=((3, 2, 4), "int32")))
    steps = {"input_step": row(16, 48, fill=0), "output_step": row(32, 16, fill=0)}
    assert parameters(call) == {"block": "16", "shape": row(3, 2, fill=1)} | steps


def test_tiles_are_walked_again_and_again() -> None:
    (call,) = calls(one("TILE", x=((2, 3), "int32"), t=ints(1, 4), y=((2, 12), "int32")))
    steps = {"input_step": row(12, 0, fill=0), "output_step": row(48, 12, fill=0)}
    assert parameters(call) == {"block": "12", "shape": row(2, 4, fill=1)} | steps
    (call,) = calls(one("TILE", x=((2, 3), "int32"), t=ints(4, 1), y=((8, 3), "int32")))
    steps = {"input_step": row(0, fill=0), "output_step": row(24, fill=0)}
    assert parameters(call) == {"block": "24", "shape": row(4, fill=1)} | steps


def test_steps_back_start_at_the_end() -> None:
    tensors = {"b": ints(0, 0), "e": ints(0, 0), "s": ints(-1, 1)}
    (call,) = calls(one("STRIDED_SLICE", options={"begin_mask": 3, "end_mask": 3}, x=((3, 2),), **tensors, y=((3, 2),)))
    assert call.args[0] == TensorArg(0, "uint8_t", offset=4)
    assert (parameters(call)["block"], parameters(call)["input_step"]) == ("2", row(-2, fill=0))


@pytest.mark.parametrize(
    ("kind", "more", "shape", "options"),
    [
        ("SQUEEZE", {}, (2, 3), {"squeeze_dims": [0]}),
        ("SQUEEZE", {}, (2, 3), {}),
        ("TILE", {"t": ints(1, 1, 1)}, (1, 2, 3), {}),
        ("EXPAND_DIMS", {"d": ints(1)}, (1, 1, 2, 3), {}),
        ("TRANSPOSE", {"p": ints(1, 0, 2)}, (2, 1, 3), {}),
        ("SLICE", {"b": ints(0, 0, 0), "s": ints(-1, -1, 3)}, (1, 2, 3), {}),
        ("PACK", {}, (1, 2, 1, 3), {"axis": -2, "values_count": 1}),
        ("UNPACK", {}, (2, 3), {"axis": 0, "num": 1}),
    ],
)
def test_the_same_elements_in_order_are_the_same_memory(
    kind: str, more: dict[str, Described], shape: tuple[int, ...], options: dict[str, Any]
) -> None:
    graph = Graph()
    x, t, z = graph.tensor("x", (1, 2, 3)), graph.tensor("t", (1, 2, 3)), graph.tensor("z", shape)
    graph.op("RELU", (x,), (t,))
    y = graph.tensor("y", shape)
    graph.op(kind, (t, *(graph.tensor(name, *described) for name, described in more.items())), (z,), **options)
    graph.op("RELU", (z,), (y,))
    program = lowered(graph, [x], [y])
    assert [call.kind for call in program.calls] == ["RELU", "RELU"]
    assert program.aliases == {z: t}


def test_padding() -> None:
    (call,) = calls(
        one("PAD", x=((1, 4, 5, 3),), p=ints(0, 0, 1, 2, 0, 1, 0, 0, shape=(4, 2)), y=((1, 7, 6, 3), "int8", 0.5, -9))
    )
    assert call.kernel == "na_pad_8"
    assert call.args[1] == Null()
    around = {"before": row(0, 1, 0, fill=0), "after": row(0, 2, 3, fill=0)}
    assert parameters(call) == {"element": "1", "fill": str(256 - 9), "shape": row(1, 4, 15, fill=1)} | around


def test_padding_with_a_value_keeps_it_out_of_the_code() -> None:
    made = []
    for value in (3, 77):
        tensors = {"p": ints(1, 0, shape=(1, 2)), "v": ((), "int8", 0.5, 0, bytes([value]))}
        (call,) = calls(one("PADV2", x=((4,),), **tensors, y=((5,),)))
        assert call.args[1] == TensorArg(2, "uint8_t")
        made.append(parameters(call))
    assert made[0] == made[1]


def test_concatenation_that_rescales() -> None:
    same, other = calls(several("CONCATENATION", [((2, 3),), ((2, 1), "int8", 0.25, 7)], [((2, 4),)], axis=1))
    assert same.kernel == "na_move_8" and other.kernel == "na_map_rows_s8"
    assert other.args[2] == TensorArg(2, "int8_t", written=True, offset=3)
    table = other.args[1]
    assert isinstance(table, ConstArg) and (table.label, len(table.data)) == ("concatenation_0_table1", 256)
    values = struct.unpack("<256b", table.data)
    assert (values[128 + 7], values[128 + 9], values[0]) == (0, 1, -68)  # half of -135, away from zero
    assert parameters(other) == {"rows": "2", "count": "1", "output_step": "4"}


def test_rescaling_saturates() -> None:
    def operand(scale: float, zero: int) -> Operand:
        return Operand(Tensor(0, "t", (1,), "int8", Quantization((scale,), (zero,))), scale, zero)

    values = struct.unpack("<256b", rescaled(operand(4.0, 0), operand(0.5, 10)))
    assert (values[0], values[127], values[128], values[129], values[255]) == (-128, 2, 10, 18, 127)


def test_arg_max() -> None:
    (call,) = calls(one("ARG_MAX", x=((2, 3, 4),), a=ints(-2, shape=()), y=((2, 4), "int32")))
    assert (call.kernel, call.macc) == ("na_arg_max_s8", 24)
    assert parameters(call) == {"outer": "2", "count": "3", "inner": "4", "smallest": "0"}


def test_gather_with_computed_indices() -> None:
    (call,) = calls(one("GATHER", options={"axis": 1}, x=((2, 5, 3),), i=((4,), "int32"), y=((2, 4, 3),)))
    assert call.reads == (0, 1)
    assert parameters(call) == {"batches": "1", "outer": "2", "size": "5", "count": "4", "block": "3"}


# ---- refusals

X = ((2, 3, 4),)
REFUSALS: list[tuple[str, Callable[[Graph], None], str]] = [
    (
        "computed order",
        one("TRANSPOSE", x=X, p=((3,), "int32"), y=X),
        "(TRANSPOSE): dimensions must be constant: 'p' int32[3] is computed while the network runs",
    ),
    (
        "computed multiples",
        one("TILE", x=X, p=((3,), "int32"), y=X),
        "(TILE): multiples must be constant: 'p' int32[3] is computed while the network runs",
    ),
    (
        "multiples of nothing",
        one("TILE", x=X, p=ints(1, 0, 1), y=X),
        "(TILE): 'y' int8[2, 3, 4] does not fit its inputs, which give [2, 0, 4]",
    ),
    (
        "tiles of too many dimensions",
        one("TILE", x=((2, 2, 2, 2),), p=ints(2, 2, 2, 2), y=((4, 4, 4, 4),)),
        "(TILE): 7 dimensions that cannot be joined are not supported (at most 6)",
    ),
    (
        "order of floats",
        one("TRANSPOSE", x=X, p=((3,), "uint8", None, 0, bytes(3)), y=X),
        "(TRANSPOSE): dimensions of type uint8 are not supported: 'p' uint8[3] (supported: int32 and int64)",
    ),
    (
        "order of too few",
        one("TRANSPOSE", x=X, p=ints(0, 1), y=X),
        "(TRANSPOSE): 2 dimensions for 3 dimensions of 'x' int8[2, 3, 4]",
    ),
    (
        "order with one twice",
        one("TRANSPOSE", x=X, p=ints(0, 1, -2), y=X),
        "(TRANSPOSE): the order [0, 1, -2] of the dimensions of 'x' int8[2, 3, 4] has one twice",
    ),
    (
        "dimension that does not exist",
        one("TRANSPOSE", x=X, p=ints(0, 1, 3), y=X),
        "(TRANSPOSE): dimension 3 of 'x' int8[2, 3, 4] does not exist (it is one of -3 to 2)",
    ),
    (
        "output of another shape",
        one("TRANSPOSE", x=X, p=ints(2, 1, 0), y=X),
        "(TRANSPOSE): 'y' int8[2, 3, 4] does not fit its inputs, which give [4, 3, 2]",
    ),
    (
        "too many dimensions",
        one("TRANSPOSE", x=((2,) * 8,), p=ints(*range(7, -1, -1)), y=((2,) * 8,)),
        "(TRANSPOSE): 8 dimensions that cannot be joined are not supported (at most 6)",
    ),
    (
        "blocks that do not fit",
        one(
            "SPACE_TO_BATCH_ND",
            x=((1, 4, 3, 1), "float32"),
            b=ints(2, 2),
            p=ints(0, 0, 0, 0),
            y=((4, 2, 2, 1), "float32"),
        ),
        "(SPACE_TO_BATCH_ND): paddings [0, 0, 0, 0] of 'x' float32[1, 4, 3, 1] make no whole blocks of [2, 2]",
    ),
    (
        "crops without end",
        one("BATCH_TO_SPACE_ND", x=((4, 1, 1, 1),), b=ints(2, 2), p=ints(0, -1, 0, 0), y=((1, 3, 2, 1),)),
        "(BATCH_TO_SPACE_ND): crops [0, -1, 0, 0] of 'y' int8[1, 3, 2, 1] make no whole blocks of [2, 2]",
    ),
    (
        "a shape that does not broadcast",
        one("BROADCAST_TO", x=((3,),), s=ints(2, 4), y=((2, 4),)),
        "(BROADCAST_TO): 'x' int8[3] does not broadcast to [2, 4]",
    ),
    (
        "64 bits",
        one("TRANSPOSE", x=((4,), "uint64"), p=ints(0), y=((4,), "uint64")),
        "(TRANSPOSE): element type uint64 is not supported: 'x' uint64[4] "
        "(supported: int8, uint8, int16, int32, int64, float32, bool)",
    ),
    (
        "another type",
        one("SLICE", x=((4,),), b=ints(0), s=ints(4), y=((4,), "int32")),
        "(SLICE): 'x' int8[4] and 'y' int32[4] have different types",
    ),
    (
        "slice beyond the end",
        one("SLICE", x=((4,),), b=ints(2), s=ints(3), y=((3,),)),
        "(SLICE): 3 elements from 2 are outside of dimension 0 of 'x' int8[4]",
    ),
    (
        "slice of nothing",
        one("SLICE", x=((4,),), b=ints(4), s=ints(-1), y=((3,),)),
        "(SLICE): 0 elements from 4 are outside of dimension 0 of 'x' int8[4]",
    ),
    (
        "stride 0",
        one("STRIDED_SLICE", x=((4,),), b=ints(0), e=ints(4), s=ints(0), y=((4,),)),
        "(STRIDED_SLICE): stride 0 is 0",
    ),
    (
        "empty slice",
        one("STRIDED_SLICE", x=((4,),), b=ints(3), e=ints(1), s=ints(1), y=((4,),)),
        "(STRIDED_SLICE): nothing of dimension 0 of 'x' int8[4] is taken",
    ),
    (
        "index outside",
        one("STRIDED_SLICE", options={"shrink_axis_mask": 1}, x=X, b=ints(2), e=ints(3), s=ints(1), y=((3, 4),)),
        "(STRIDED_SLICE): index 2 is outside of dimension 0 of 'x' int8[2, 3, 4]",
    ),
    (
        "index with a stride back",
        one("STRIDED_SLICE", options={"shrink_axis_mask": 1}, x=X, b=ints(1), e=ints(0), s=ints(-1), y=((3, 4),)),
        "(STRIDED_SLICE): stride -1 for the single index 1 of dimension 0 (it must be above 0)",
    ),
    (
        "too many slices",
        one("STRIDED_SLICE", x=((4,),), b=ints(0, 0), e=ints(4, 4), s=ints(1, 1), y=((4,),)),
        "(STRIDED_SLICE): 2 dimensions are sliced, 'x' int8[4] has 1",
    ),
    (
        "uneven slices",
        one("STRIDED_SLICE", x=((4,),), b=ints(0), e=ints(4, 4), s=ints(1), y=((4,),)),
        "(STRIDED_SLICE): 1 begins, 2 ends and 1 strides",
    ),
    (
        "two ellipses",
        one("STRIDED_SLICE", options={"ellipsis_mask": 3}, x=X, b=ints(0, 0), e=ints(0, 0), s=ints(1, 1), y=X),
        "(STRIDED_SLICE): ellipsis_mask 0b11 has more than one bit",
    ),
    (
        "ends that count from the begins",
        one("STRIDED_SLICE", options={"offset": True}, x=((4,),), b=ints(1), e=ints(2), s=ints(1), y=((2,),)),
        "(STRIDED_SLICE): ends that count from the begins (option offset) are not supported (give ends as indices)",
    ),
    (
        "uneven split",
        several("SPLIT", [ints(1), X], [((2, 1, 4),), ((2, 2, 4),)], num_splits=2),
        "(SPLIT): dimension 1 of 'x1' int8[2, 3, 4] cannot be split into 2 equal parts",
    ),
    (
        "split into another number",
        several("SPLIT", [ints(1), X], [X], num_splits=2),
        "(SPLIT): 1 outputs, num_splits is 2",
    ),
    (
        "sizes that are too small",
        several("SPLIT_V", [X, ints(1, 1), ints(1)], [((2, 1, 4),)] * 2),
        "(SPLIT_V): sizes [1, 1] do not make up dimension 1 of 'x0' int8[2, 3, 4]",
    ),
    (
        "sizes of nothing",
        several("SPLIT_V", [X, ints(3, -1), ints(1)], [((2, 1, 4),)] * 2),
        "(SPLIT_V): sizes [3, -1] do not make up dimension 1 of 'x0' int8[2, 3, 4]",
    ),
    (
        "two dimensions to split along",
        several("SPLIT_V", [X, ints(1, 2), ints(1, 2)], [((2, 1, 4),)] * 2),
        "(SPLIT_V): 2 dimensions in 'x2' int32[2], expected 1",
    ),
    (
        "concatenation of unlike",
        several("CONCATENATION", [((2, 3),), ((2, 4),)], [((4, 3),)], axis=0),
        "(CONCATENATION): 'x0' int8[2, 3] and 'x1' int8[2, 4] differ in more than dimension 0",
    ),
    (
        "fused activation",
        several("CONCATENATION", [X, X], [((4, 3, 4),)], axis=0, fused_activation_function="RELU"),
        "(CONCATENATION): fused activation RELU is not supported (supported: NONE)",
    ),
    (
        "concatenation of far scales",
        several("CONCATENATION", [((4,), "int8", 1e6)], [((4,), "int8", 0.125)], axis=0),
        "(CONCATENATION): input scale 1e+06 is more than 4194304 times the output scale 0.125",
    ),
    (
        "packs of unlike",
        several("PACK", [((2,),), ((3,),)], [((2, 2),)], axis=0, values_count=2),
        "(PACK): 'x0' int8[2] and 'x1' int8[3] have different shapes",
    ),
    (
        "packs that rescale",
        several("PACK", [((2,),), ((2,), "int8", 0.25)], [((2, 2),)], axis=0, values_count=2),
        "(PACK): the quantizations of 'x0' int8[2] and 'x1' int8[2] differ (all inputs and outputs must have the same)",
    ),
    (
        "unpacked by another number",
        several("UNPACK", [((2, 3),)], [((2,),)], axis=1, num=1),
        "(UNPACK): 1 outputs for dimension 1 of 'x0' int8[2, 3]",
    ),
    (
        "squeezed by more than nothing",
        one("SQUEEZE", options={"squeeze_dims": [1]}, x=X, y=((2, 4),)),
        "(SQUEEZE): dimension 1 of 'x' int8[2, 3, 4] cannot be squeezed: it is not 1",
    ),
    (
        "expanded too far",
        one("EXPAND_DIMS", x=X, d=ints(4), y=((2, 3, 4, 1),)),
        "(EXPAND_DIMS): dimension 4 of 'x' int8[2, 3, 4] does not exist (it is one of -4 to 3)",
    ),
    (
        "depth that is no square",
        one("DEPTH_TO_SPACE", options={"block_size": 2}, x=((1, 2, 2, 6),), y=((1, 4, 4, 1),)),
        "(DEPTH_TO_SPACE): 6 channels cannot be 2 x 2 pixels",
    ),
    (
        "depth without blocks",
        one("DEPTH_TO_SPACE", options={"block_size": 0}, x=((1, 2, 2, 6),), y=((1, 2, 2, 6),)),
        "(DEPTH_TO_SPACE): block_size 0 is not above 0",
    ),
    (
        "space that is no block",
        one("SPACE_TO_DEPTH", options={"block_size": 2}, x=((1, 4, 3, 1),), y=((1, 2, 1, 4),)),
        "(SPACE_TO_DEPTH): 4 x 3 pixels are not made of squares of 2 x 2",
    ),
    (
        "space of three dimensions",
        one("SPACE_TO_DEPTH", options={"block_size": 2}, x=X, y=X),
        "(SPACE_TO_DEPTH): 'x' int8[2, 3, 4] has 3 dimensions (it must have 4: N, H, W, C)",
    ),
    (
        "computed paddings",
        one("PAD", x=((4,),), p=((1, 2), "int32"), y=((4,),)),
        "(PAD): paddings must be constant: 'p' int32[1, 2] is computed while the network runs",
    ),
    (
        "too few paddings",
        one("PAD", x=X, p=ints(0, 0, shape=(1, 2)), y=X),
        "(PAD): 2 paddings for 3 dimensions of 'x' int8[2, 3, 4]",
    ),
    (
        "negative paddings",
        one("PAD", x=((4,),), p=ints(2, -1, shape=(1, 2)), y=((5,),)),
        "(PAD): paddings [2, -1] of dimension 0 of 'x' int8[4] are negative",
    ),
    (
        "padding of six dimensions",
        one("PAD", x=((1,) * 6,), p=ints(*[0] * 12, shape=(6, 2)), y=((1,) * 6,)),
        "(PAD): padding over 6 dimensions is not supported (at most 5)",
    ),
    (
        "padding without a zero point",
        one("PAD", x=((4,), "int8", None), p=ints(1, 0, shape=(1, 2)), y=((5,), "int8", None)),
        "(PAD): 'y' int8[5] has no scale (only quantized models are supported)",
    ),
    (
        "padding without its value",
        one("PADV2", x=((4,),), p=ints(1, 0, shape=(1, 2)), y=((5,),)),
        "(PADV2): the value is absent",
    ),
    (
        "padding with two values",
        one("PADV2", x=((4,),), p=ints(1, 0, shape=(1, 2)), v=((2,),), y=((5,),)),
        "(PADV2): 'v' int8[2] is not one value for 'y' int8[5]",
    ),
    (
        "padding with a value of another scale",
        one("PADV2", x=((4,),), p=ints(1, 0, shape=(1, 2)), v=((1,), "int8", 0.25), y=((5,),)),
        "(PADV2): the quantizations of 'y' int8[5] and 'v' int8[1] differ (all inputs and outputs must have the same)",
    ),
    (
        "mirror that is too small",
        one("MIRROR_PAD", options={"mode": "REFLECT"}, x=((4,),), p=ints(4, 0, shape=(1, 2)), y=((8,),)),
        "(MIRROR_PAD): padding 4 of dimension 0 of 'x' int8[4] is more than there is (REFLECT takes at most 3 here)",
    ),
    (
        "mirror with its border that is too small",
        one("MIRROR_PAD", options={"mode": "SYMMETRIC"}, x=((4,),), p=ints(0, 5, shape=(1, 2)), y=((9,),)),
        "(MIRROR_PAD): padding 5 of dimension 0 of 'x' int8[4] is more than there is (SYMMETRIC takes at most 4 here)",
    ),
    (
        "wide index",
        one("ARG_MAX", x=X, a=ints(0), y=((3, 4), "uint32")),
        "(ARG_MAX): an index of type uint32 is not supported: 'y' uint32[3, 4] "
        "(make it int32 in the model: output_type=tf.int32)",
    ),
    (
        "index of truths",
        one("ARG_MIN", x=((4,), "bool"), a=ints(0), y=((), "int32")),
        "(ARG_MIN): element type bool is not supported: 'x' bool[4] (supported: int8, int32, float32)",
    ),
    (
        "index outside of the table",
        one("GATHER", x=((4,),), i=ints(0, 4), y=((2,),)),
        "(GATHER): index 4 is outside of dimension 0 of 'x' int8[4]",
    ),
    (
        "indices of 64 bits",
        one("GATHER", x=((4,),), i=((2,), "int64"), y=((2,),)),
        "(GATHER): indices of type int64 are not supported: 'i' int64[2] (supported: int32)",
    ),
    (
        "batches that differ",
        one("GATHER", options={"axis": 1, "batch_dims": 1}, x=X, i=((3, 1), "int32"), y=((2, 1, 4),)),
        "(GATHER): batch_dims 1 does not fit 'x' int8[2, 3, 4] and 'i' int32[3, 1]",
    ),
]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refusals(make: Callable[[Graph], None], message: str) -> None:
    assert refusal(make) == f"m.tflite: operator 0 {message}"


def test_16_bits_are_refused_by_name() -> None:
    make = one("TRANSPOSE", x=((4,), "uint16"), p=ints(0), y=((4,), "uint16"))
    assert "(TRANSPOSE): element type uint16 is not supported: 'x' uint16[4] (" in refusal(make)


@pytest.mark.parametrize("kind", ["ARG_MAX", "CONCATENATION", "GATHER", "MIRROR_PAD", "PAD", "SPLIT", "TRANSPOSE"])
def test_an_operator_without_inputs(kind: str) -> None:
    graph = Graph()
    x, y, z = graph.tensor("x", (4,)), graph.tensor("y", (4,)), graph.tensor("z", (4,))
    graph.op("RELU", (x,), (z,))
    graph.op(kind, (-1, -1, -1), (y,), num_splits=1)
    assert kind in registry()
    with pytest.raises(NeuralArtError, match=rf"^m\.tflite: operator 1 \({kind}\): "):
        lowered(graph, [x], [y, z])
