"""One small model per operator that has an options table, as a converter would write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support.cases.cases_recurrent import lstm, lstm_f32, rnn_f32, svdf
from support.cases.operator_draws import Draw
from tflite_writer import ModelWriter

Shape = tuple[int, ...]
_PLAIN = ("float32", "int32", "bool")


def one_op(
    kind: str,
    shapes: list[Shape],
    outputs: list[Shape],
    *,
    constants: dict[int, np.ndarray] | None = None,
    dtype: str = "int8",
    out_dtype: str | None = None,
    out_scale: float = 0.5,
    out_zero: int = 0,
    **options: Any,
) -> bytes:
    """A model of one operator.

    Args:
        kind: TFLite name.
        shapes: Of the inputs.
        outputs: Shapes of the outputs.
        constants: Input number -> value; the other inputs are the model's.
        dtype: Of the model's inputs.
        out_dtype: Of the outputs; by default as the inputs.
        out_scale: Of the outputs, when they are quantized.
        out_zero: Zero point of the outputs.
        **options: Of the operator.
    """
    writer = ModelWriter()
    constants = constants or {}
    numbers, inputs = [], []
    for position, shape in enumerate(shapes):
        value = constants.get(position)
        if value is None:
            scale = None if dtype in _PLAIN else 0.5
            numbers.append(writer.tensor(f"in{position}", shape, dtype, scale))
            inputs.append(numbers[-1])
        else:
            scale = {"int8": 0.5, "int32": None}[value.dtype.name]
            if position == 2 and kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
                scale = 0.25
            numbers.append(writer.tensor(f"const{position}", shape, value.dtype.name, scale, 0, value))
    out = out_dtype or dtype
    results = [
        writer.tensor(f"out{position}", shape, out, None if out in _PLAIN else out_scale, out_zero)
        for position, shape in enumerate(outputs)
    ]
    writer.op(kind, numbers, results, **options)
    return writer.finish(inputs, results, kind)


def _weights(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 7 - 3).reshape(shape).astype(np.int8)


def _ints(*values: int | list[int]) -> np.ndarray:
    return np.array(values, np.int32)


_IMAGE = (1, 4, 4, 2)
_HALF = (1, 2, 2, 2)

# Operator -> (model, its options as they are to be read; what is not named has the schema's default).
CASES: dict[str, tuple[Callable[[], bytes], dict[str, Any]]] = {}


def _case(
    kind: str,
    shapes: list[Shape],
    outputs: list[Shape],
    *,
    expected: dict[str, Any] | None = None,
    constants: dict[int, np.ndarray] | None = None,
    **words: Any,
) -> None:
    plain = {"dtype", "out_dtype", "out_scale", "out_zero"}
    options = {name: value for name, value in words.items() if name not in plain}
    CASES[kind] = (
        lambda: one_op(kind, shapes, outputs, constants=constants, **words),
        (expected or {})
        | {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()},
    )


_case(
    "CONV_2D",
    [_IMAGE, (3, 3, 3, 2), (3,)],
    [(1, 2, 1, 3)],
    constants={1: _weights(3, 3, 3, 2), 2: _ints(1, -2, 3)},
    padding="VALID",
    stride_w=2,
    stride_h=1,
    fused_activation_function="RELU6",
    expected={"dilation_w_factor": 1, "dilation_h_factor": 1},
)
_case(
    "DEPTHWISE_CONV_2D",
    [_IMAGE, (1, 3, 3, 4), (4,)],
    [(1, 4, 4, 4)],
    constants={1: _weights(1, 3, 3, 4), 2: _ints(1, 2, 3, 4)},
    padding="SAME",
    dilation_w_factor=1,
    dilation_h_factor=2,
    fused_activation_function="RELU",
    expected={"depth_multiplier": 2, "stride_w": 1, "stride_h": 1},
)
_case(
    "FULLY_CONNECTED",
    [(1, 2, 6), (3, 6), (3,)],
    [(1, 2, 3)],
    constants={1: _weights(3, 6), 2: _ints(1, 2, 3)},
    keep_num_dims=True,
    fused_activation_function="RELU",
)
_POOL = {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
_case("MAX_POOL_2D", [_IMAGE], [(1, 3, 1, 2)], filter_width=3, stride_h=1, expected={**_POOL, "padding": "VALID"})
_case("AVERAGE_POOL_2D", [_IMAGE], [_HALF], padding="SAME", expected=_POOL)
_case("L2_POOL_2D", [_IMAGE], [_HALF], dtype="float32", expected={**_POOL, "padding": "VALID"})
_case("ADD", [_IMAGE, _IMAGE], [_IMAGE], fused_activation_function="RELU", expected={"pot_scale_int16": True})
_case("SUB", [_IMAGE, _IMAGE], [_IMAGE], fused_activation_function="RELU6", pot_scale_int16=False)
_case("MUL", [_IMAGE, _IMAGE], [_IMAGE], fused_activation_function="RELU")
_case("DIV", [_IMAGE, _IMAGE], [_IMAGE], dtype="float32", fused_activation_function="RELU")
_case("SOFTMAX", [(1, 5)], [(1, 5)], beta=1.5, out_scale=1 / 256, out_zero=-128)
_case("RESHAPE", [_IMAGE, (2,)], [(4, 8)], constants={1: _ints(4, 8)}, new_shape=[4, 8])
_case("CONCATENATION", [_IMAGE, _IMAGE], [(1, 4, 4, 4)], axis=-1)
_case("RESIZE_BILINEAR", [_IMAGE, (2,)], [(1, 8, 8, 2)], constants={1: _ints(8, 8)}, half_pixel_centers=True)
_case("RESIZE_NEAREST_NEIGHBOR", [_IMAGE, (2,)], [(1, 8, 8, 2)], constants={1: _ints(8, 8)}, align_corners=True)
_case("MEAN", [_IMAGE, (2,)], [(1, 1, 1, 2)], constants={1: _ints(1, 2)}, keep_dims=True)
_case("SUM", [_IMAGE, (2,)], [(1, 2)], constants={1: _ints(1, 2)}, keep_dims=False)
_case("REDUCE_MAX", [_IMAGE, (1,)], [(1, 4, 2)], constants={1: _ints(2)}, keep_dims=False)
_case("REDUCE_MIN", [_IMAGE, (1,)], [(1, 1, 4, 2)], constants={1: _ints(1)}, keep_dims=True)
_case("REDUCE_PROD", [_IMAGE, (1,)], [(4, 4, 2)], constants={1: _ints(0)}, dtype="float32")
_case("REDUCE_ANY", [_IMAGE, (1,)], [(1, 4, 2)], constants={1: _ints(1)}, dtype="bool")
_case("REDUCE_ALL", [_IMAGE, (1,)], [(1, 4, 4, 1)], constants={1: _ints(-1)}, dtype="bool", keep_dims=True)
_case(
    "STRIDED_SLICE",
    [_IMAGE, (4,), (4,), (4,)],
    [(1, 2, 2)],
    constants={1: _ints(0, 1, 1, 0), 2: _ints(0, 3, 2, 0), 3: _ints(1, 1, 1, 1)},
    begin_mask=9,
    end_mask=9,
    shrink_axis_mask=4,
)
_case("SPLIT", [(), _IMAGE], [(1, 4, 4, 1)] * 2, constants={0: np.array(3, np.int32)}, expected={"num_splits": 2})
_case(
    "SPLIT_V",
    [_IMAGE, (2,), ()],
    [(1, 1, 4, 2), (1, 3, 4, 2)],
    constants={1: _ints(1, 3), 2: np.array(1, np.int32)},
    expected={"num_splits": 2},
)
_case("SQUEEZE", [(1, 3, 1, 2)], [(3, 2)], squeeze_dims=[0, 2])
_case(
    "TRANSPOSE_CONV",
    [(4,), (3, 3, 3, 2), _HALF],
    [(1, 4, 4, 3)],
    constants={0: _ints(1, 4, 4, 3), 1: _weights(3, 3, 3, 2)},
    padding="SAME",
    stride_w=2,
    stride_h=2,
)
_case("L2_NORMALIZATION", [_IMAGE], [_IMAGE], fused_activation_function="RELU")
_case("LEAKY_RELU", [_IMAGE], [_IMAGE], alpha=0.25)
_case(
    "ARG_MAX", [_IMAGE, ()], [(1, 4, 4)], constants={1: np.array(3, np.int32)}, out_dtype="int32", output_type="int32"
)
_case(
    "ARG_MIN", [_IMAGE, ()], [(1, 4, 2)], constants={1: np.array(2, np.int32)}, out_dtype="int32", output_type="int32"
)
_case("PACK", [(3,), (3,)], [(3, 2)], axis=1, expected={"values_count": 2})
_case("UNPACK", [(3, 2)], [(3,), (3,)], axis=1, expected={"num": 2})
_case("DEPTH_TO_SPACE", [(1, 2, 2, 4)], [(1, 4, 4, 1)], block_size=2)
_case("SPACE_TO_DEPTH", [(1, 4, 4, 1)], [(1, 2, 2, 4)], block_size=2)
_case("SHAPE", [_IMAGE], [(4,)], out_dtype="int32", out_type="int32")
_case("CAST", [_IMAGE], [_IMAGE], out_dtype="int32", expected={"in_data_type": "int8", "out_data_type": "int32"})
_case("GATHER", [_IMAGE, (1, 3)], [(1, 4, 3, 2)], constants={1: _ints([3, 0, 3])}, axis=2, batch_dims=1)
_case("QUANTIZE", [_IMAGE], [_IMAGE], dtype="float32", out_dtype="int8")
_case("DEQUANTIZE", [_IMAGE], [_IMAGE], out_dtype="float32")
_case("MIRROR_PAD", [(1, 4), (2, 2)], [(1, 6)], constants={1: np.array([[0, 0], [1, 1]], np.int32)}, mode="SYMMETRIC")
_case("GELU", [_IMAGE], [_IMAGE], approximate=True)
_case("BATCH_MATMUL", [(1, 2, 3), (1, 4, 3)], [(1, 2, 4)], adj_y=True)
HANDLES = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
"""Operators that mean something only together: here their options count alone."""
_case("CALL_ONCE", [_IMAGE], [_IMAGE], init_subgraph_index=1)
_case("VAR_HANDLE", [_IMAGE], [_IMAGE], container="c", shared_name="ring")
_case("READ_VARIABLE", [_IMAGE], [_IMAGE])
_case("ASSIGN_VARIABLE", [_IMAGE, _IMAGE], [_IMAGE])


def _drawn(kind: str, draw: Draw) -> None:
    """A case of an operator that takes too many tensors to write them down."""
    writer = ModelWriter()
    case = draw(np.random.default_rng(2), writer)
    CASES[kind] = (lambda: writer.finish(case.inputs, case.outputs), dict(writer.operators[0].options))


_drawn("SVDF", svdf)
_drawn("LSTM", lstm_f32("LSTM"))
_drawn("RNN", rnn_f32("RNN"))
_drawn("UNIDIRECTIONAL_SEQUENCE_RNN", rnn_f32("UNIDIRECTIONAL_SEQUENCE_RNN"))
_drawn("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm("projection"))
