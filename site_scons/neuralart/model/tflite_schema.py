"""Facts of the TensorFlow Lite schema, version 3: numbers, names, slots, defaults.

Source: the published schema (tensorflow/lite/schema/schema.fbs), as PyPI ``tflite`` 2.18 and ``ai-edge-litert`` 2.3
carry it. Only what a compiler needs is here; a further options table is one entry of :data:`OPTIONS_TABLES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

IDENTIFIER = b"TFL3"
VERSION = 3

# In the order of their numbers.
_OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM
MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN
EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2
GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG
SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT
UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE
MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO
RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE
RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD
STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE
STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE
STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH
STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE
STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW STABLEHLO_COMPOSITE
STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""
OPERATORS = tuple(_OPERATORS.split())
CUSTOM = OPERATORS.index("CUSTOM")

_TENSOR_TYPES = """
float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64 resource variant uint32
uint16 int4 bfloat16 int2 uint4 float8_e4m3fn float8_e5m2
"""
TENSOR_TYPES = tuple(_TENSOR_TYPES.split())
PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
MIRROR_PAD_MODES = ("REFLECT", "SYMMETRIC")
WEIGHTS_FORMATS = ("DEFAULT", "SHUFFLED4x16INT8")


@dataclass(frozen=True)
class Field:
    """A field of a table."""

    name: str  # Its schema name
    slot: int  # Its vtable slot
    kind: str  # ``int32``, ``bool``, ``float32``, ``int32[]`` or ``int8`` (an enumeration)
    default: Any  # Its value when it is absent: a number, a truth value, a name of the enumeration, ``()``
    names: tuple[str, ...] = ()  # The enumeration, by number


@dataclass(frozen=True)
class OptionsTable:
    """A member of the union BuiltinOptions."""

    number: int  # Its number in the union
    name: str  # Its schema name
    operators: tuple[str, ...]  # Operators that have it
    fields: tuple[Field, ...] = ()  # Its fields

    @property
    def defaults(self) -> dict[str, Any]:
        """Options of an operator without the table."""
        return {field.name: field.default for field in self.fields}


def _int(name: str, slot: int, default: int = 0) -> Field:
    return Field(name, slot, "int32", default)


def _flag(name: str, slot: int, default: bool = False) -> Field:
    return Field(name, slot, "bool", default)


def _enum(name: str, slot: int, names: tuple[str, ...]) -> Field:
    return Field(name, slot, "int8", names[0], names)


def _padding(slot: int) -> Field:
    return _enum("padding", slot, PADDINGS)


def _activation(slot: int) -> Field:
    return _enum("fused_activation_function", slot, ACTIVATIONS)


def _dtype(name: str, slot: int) -> Field:
    return _enum(name, slot, TENSOR_TYPES)


_STRIDES = (_int("stride_w", 1), _int("stride_h", 2))
_REDUCERS = ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL")
_RESIZE = ("align_corners", "half_pixel_centers")

_TABLES = (
    OptionsTable(
        1,
        "Conv2DOptions",
        ("CONV_2D",),
        (
            _padding(0),
            *_STRIDES,
            _activation(3),
            _int("dilation_w_factor", 4, 1),
            _int("dilation_h_factor", 5, 1),
            _dtype("quantized_bias_type", 6),
        ),
    ),
    OptionsTable(
        2,
        "DepthwiseConv2DOptions",
        ("DEPTHWISE_CONV_2D",),
        (
            _padding(0),
            *_STRIDES,
            _int("depth_multiplier", 3),
            _activation(4),
            _int("dilation_w_factor", 5, 1),
            _int("dilation_h_factor", 6, 1),
        ),
    ),
    OptionsTable(
        5,
        "Pool2DOptions",
        ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"),
        (_padding(0), *_STRIDES, _int("filter_width", 3), _int("filter_height", 4), _activation(5)),
    ),
    OptionsTable(
        8,
        "FullyConnectedOptions",
        ("FULLY_CONNECTED",),
        (
            _activation(0),
            _enum("weights_format", 1, WEIGHTS_FORMATS),
            _flag("keep_num_dims", 2),
            _flag("asymmetric_quantize_inputs", 3),
            _dtype("quantized_bias_type", 4),
        ),
    ),
    OptionsTable(9, "SoftmaxOptions", ("SOFTMAX",), (Field("beta", 0, "float32", 0.0),)),
    OptionsTable(10, "ConcatenationOptions", ("CONCATENATION",), (_int("axis", 0), _activation(1))),
    OptionsTable(11, "AddOptions", ("ADD",), (_activation(0), _flag("pot_scale_int16", 1, True))),
    OptionsTable(
        15, "ResizeBilinearOptions", ("RESIZE_BILINEAR",), tuple(_flag(name, 2 + i) for i, name in enumerate(_RESIZE))
    ),
    OptionsTable(17, "ReshapeOptions", ("RESHAPE",), (Field("new_shape", 0, "int32[]", ()),)),
    OptionsTable(19, "SpaceToDepthOptions", ("SPACE_TO_DEPTH",), (_int("block_size", 0),)),
    OptionsTable(21, "MulOptions", ("MUL",), (_activation(0),)),
    OptionsTable(23, "GatherOptions", ("GATHER",), (_int("axis", 0), _int("batch_dims", 1))),
    OptionsTable(27, "ReducerOptions", _REDUCERS, (_flag("keep_dims", 0),)),
    OptionsTable(28, "SubOptions", ("SUB",), (_activation(0), _flag("pot_scale_int16", 1, True))),
    OptionsTable(29, "DivOptions", ("DIV",), (_activation(0),)),
    OptionsTable(30, "SqueezeOptions", ("SQUEEZE",), (Field("squeeze_dims", 0, "int32[]", ()),)),
    OptionsTable(
        32,
        "StridedSliceOptions",
        ("STRIDED_SLICE",),
        (
            _int("begin_mask", 0),
            _int("end_mask", 1),
            _int("ellipsis_mask", 2),
            _int("new_axis_mask", 3),
            _int("shrink_axis_mask", 4),
            _flag("offset", 5),
        ),
    ),
    OptionsTable(35, "SplitOptions", ("SPLIT",), (_int("num_splits", 0),)),
    OptionsTable(37, "CastOptions", ("CAST",), (_dtype("in_data_type", 0), _dtype("out_data_type", 1))),
    OptionsTable(38, "DequantizeOptions", ("DEQUANTIZE",)),
    OptionsTable(40, "ArgMaxOptions", ("ARG_MAX",), (_dtype("output_type", 0),)),
    OptionsTable(
        49,
        "TransposeConvOptions",
        ("TRANSPOSE_CONV",),
        (_padding(0), *_STRIDES, _activation(3), _dtype("quantized_bias_type", 4)),
    ),
    OptionsTable(55, "ShapeOptions", ("SHAPE",), (_dtype("out_type", 0),)),
    OptionsTable(57, "ArgMinOptions", ("ARG_MIN",), (_dtype("output_type", 0),)),
    OptionsTable(59, "PackOptions", ("PACK",), (_int("values_count", 0), _int("axis", 1))),
    OptionsTable(64, "UnpackOptions", ("UNPACK",), (_int("num", 0), _int("axis", 1))),
    OptionsTable(
        74,
        "ResizeNearestNeighborOptions",
        ("RESIZE_NEAREST_NEIGHBOR",),
        tuple(_flag(name, i) for i, name in enumerate(_RESIZE)),
    ),
    OptionsTable(75, "LeakyReluOptions", ("LEAKY_RELU",), (Field("alpha", 0, "float32", 0.0),)),
    OptionsTable(77, "MirrorPadOptions", ("MIRROR_PAD",), (_enum("mode", 0, MIRROR_PAD_MODES),)),
    OptionsTable(79, "SplitVOptions", ("SPLIT_V",), (_int("num_splits", 0),)),
    OptionsTable(89, "QuantizeOptions", ("QUANTIZE",)),
    OptionsTable(94, "DepthToSpaceOptions", ("DEPTH_TO_SPACE",), (_int("block_size", 0),)),
    OptionsTable(
        101,
        "BatchMatMulOptions",
        ("BATCH_MATMUL",),
        (_flag("adj_x", 0), _flag("adj_y", 1), _flag("asymmetric_quantize_inputs", 2)),
    ),
    OptionsTable(116, "GeluOptions", ("GELU",), (_flag("approximate", 0),)),
)

OPTIONS_TABLES: Mapping[str, OptionsTable] = {operator: table for table in _TABLES for operator in table.operators}
"""Operator -> its options. Operators that are not here are read without options."""
