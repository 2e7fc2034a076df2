"""The operators of a TensorFlow Lite file: numbers, names, slots and defaults of the schema, version 3. Source: the
published schema (tensorflow/lite/schema/schema.fbs), as PyPI ``tflite`` 2.18 and ``ai-edge-litert`` 2.3 carry it. Only
what a compiler needs is here; a further options table is one line of ``_TABLES``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralart_reference.model.flatbuffer import Table
from neuralart_reference.model.graph import Operator

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
_ENUMERATIONS = {
    "padding": PADDINGS,
    "activation": ACTIVATIONS,
    "type": TENSOR_TYPES,
    "mode": MIRROR_PAD_MODES,
    "format": WEIGHTS_FORMATS,
}
# Number in the union, name, operators, and the fields by their vtable slots ("-": not read): an int32 with default 0
# unless a kind or another default is given.
_TABLES = """
1 Conv2DOptions CONV_2D padding:padding stride_w stride_h fused_activation_function:activation dilation_w_factor=1 \
dilation_h_factor=1 quantized_bias_type:type
2 DepthwiseConv2DOptions DEPTHWISE_CONV_2D padding:padding stride_w stride_h depth_multiplier \
fused_activation_function:activation dilation_w_factor=1 dilation_h_factor=1
5 Pool2DOptions AVERAGE_POOL_2D,L2_POOL_2D,MAX_POOL_2D padding:padding stride_w stride_h filter_width filter_height \
fused_activation_function:activation
6 SVDFOptions SVDF rank fused_activation_function:activation
7 RNNOptions RNN fused_activation_function:activation asymmetric_quantize_inputs:bool
8 FullyConnectedOptions FULLY_CONNECTED fused_activation_function:activation weights_format:format keep_num_dims:bool \
asymmetric_quantize_inputs:bool quantized_bias_type:type
9 SoftmaxOptions SOFTMAX beta:float32
10 ConcatenationOptions CONCATENATION axis fused_activation_function:activation
11 AddOptions ADD fused_activation_function:activation pot_scale_int16:bool=1
12 L2NormOptions L2_NORMALIZATION fused_activation_function:activation
14 LSTMOptions LSTM fused_activation_function:activation cell_clip:float32 proj_clip:float32
15 ResizeBilinearOptions RESIZE_BILINEAR - - align_corners:bool half_pixel_centers:bool
17 ReshapeOptions RESHAPE new_shape:int32[]
19 SpaceToDepthOptions SPACE_TO_DEPTH block_size
21 MulOptions MUL fused_activation_function:activation
23 GatherOptions GATHER axis batch_dims
27 ReducerOptions MEAN,SUM,REDUCE_PROD,REDUCE_MAX,REDUCE_MIN,REDUCE_ANY,REDUCE_ALL keep_dims:bool
28 SubOptions SUB fused_activation_function:activation pot_scale_int16:bool=1
29 DivOptions DIV fused_activation_function:activation
30 SqueezeOptions SQUEEZE squeeze_dims:int32[]
31 SequenceRNNOptions UNIDIRECTIONAL_SEQUENCE_RNN time_major:bool fused_activation_function:activation \
asymmetric_quantize_inputs:bool
32 StridedSliceOptions STRIDED_SLICE begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask offset:bool
35 SplitOptions SPLIT num_splits
37 CastOptions CAST in_data_type:type out_data_type:type
38 DequantizeOptions DEQUANTIZE
40 ArgMaxOptions ARG_MAX output_type:type
49 TransposeConvOptions TRANSPOSE_CONV padding:padding stride_w stride_h fused_activation_function:activation \
quantized_bias_type:type
55 ShapeOptions SHAPE out_type:type
57 ArgMinOptions ARG_MIN output_type:type
59 PackOptions PACK values_count axis
64 UnpackOptions UNPACK num axis
71 UnidirectionalSequenceLSTMOptions UNIDIRECTIONAL_SEQUENCE_LSTM fused_activation_function:activation \
cell_clip:float32 proj_clip:float32 time_major:bool
74 ResizeNearestNeighborOptions RESIZE_NEAREST_NEIGHBOR align_corners:bool half_pixel_centers:bool
75 LeakyReluOptions LEAKY_RELU alpha:float32
77 MirrorPadOptions MIRROR_PAD mode:mode
79 SplitVOptions SPLIT_V num_splits
89 QuantizeOptions QUANTIZE
94 DepthToSpaceOptions DEPTH_TO_SPACE block_size
101 BatchMatMulOptions BATCH_MATMUL adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool
103 CallOnceOptions CALL_ONCE init_subgraph_index
111 VarHandleOptions VAR_HANDLE container:text shared_name:text
112 ReadVariableOptions READ_VARIABLE
113 AssignVariableOptions ASSIGN_VARIABLE
116 GeluOptions GELU approximate:bool
"""
_PLAIN: Mapping[str, Any] = {"int32": 0, "bool": False, "float32": 0.0, "int32[]": (), "text": ""}


@dataclass(frozen=True)
class Field:
    """A field of a table."""

    name: str  # Its schema name
    slot: int  # Its vtable slot
    kind: str  # ``int32``, ``bool``, ``float32``, ``int32[]``, ``text`` or ``int8`` (an enumeration)
    default: Any  # Its value when it is absent: a number, a truth value, a name of the enumeration, ``()``
    names: tuple[str, ...] = ()  # The enumeration, by number


@dataclass(frozen=True)
class OptionsTable:
    """A member of the union BuiltinOptions: its number there, schema name and fields."""

    number: int
    name: str
    fields: tuple[Field, ...]

    @property
    def defaults(self) -> dict[str, Any]:
        """Options of an operator without the table."""
        return {field.name: field.default for field in self.fields}


def _field(slot: int, word: str) -> Field:
    said, _, default = word.partition("=")
    name, _, kind = said.partition(":")
    if kind in _ENUMERATIONS:
        return Field(name, slot, "int8", _ENUMERATIONS[kind][0], _ENUMERATIONS[kind])
    absent = _PLAIN[kind or "int32"]
    return Field(name, slot, kind or "int32", type(absent)(int(default)) if default else absent)


def _options_tables() -> dict[str, OptionsTable]:
    found: dict[str, OptionsTable] = {}
    for line in _TABLES.strip().split("\n"):
        number, name, operators, *words = line.split()
        fields = tuple(_field(slot, word) for slot, word in enumerate(words) if word != "-")
        found |= dict.fromkeys(operators.split(","), OptionsTable(int(number), name, fields))
    return found


OPTIONS_TABLES: Mapping[str, OptionsTable] = _options_tables()
"""Operator -> its options. Operators that are not here are read without options."""


def quoted(name: str) -> str:
    """A name from a file for a message: in quotes, printable, not longer than 60 characters."""
    short = name if len(name) <= 60 else f"{name[:57]}..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short) + "'"


@dataclass(frozen=True)
class OperatorCode:
    """An entry of the file's list of operators in use."""

    kind: str | None  # The operator's name; None when its number is unknown
    number: int  # Its number
    version: int  # Its version


def read_code(table: Table) -> OperatorCode:
    """One entry of the list of operators in use. Raises NeuralArtError: it is damaged."""
    # Old files have the first field alone; new ones put numbers over 126 only into the last. The larger counts.
    number = max(table.integer(0, "deprecated_builtin_code", "int8"), table.integer(3, "builtin_code"))
    version = table.integer(2, "version", default=1)
    if number == CUSTOM:
        # A name is any text: keep it on one line and short, it is going to be a part of messages.
        return OperatorCode(f"CUSTOM:{quoted(table.text(1, 'custom_code'))[1:-1]}", number, version)
    return OperatorCode(OPERATORS[number] if 0 <= number < len(OPERATORS) else None, number, version)


def read_operator(table: Table, index: int, codes: Sequence[OperatorCode]) -> Operator:
    """One operator; its table gets the name for messages. NeuralArtError: it is damaged, or of an unknown number."""
    position = table.integer(0, "opcode_index", "uint32")
    if position >= len(codes):
        table.damaged(f"operator {index} is number {position} of {len(codes)} operator codes")
    code = codes[position]
    if code.kind is None:
        what = f"operator {index} has the unknown number {code.number}, known are 0 to {len(OPERATORS) - 1}"
        table.fail(what, "is the file damaged, or written by a newer TensorFlow Lite?")
    table.what = f"operator {index} {code.kind}"
    if code.version < 1:
        table.damaged(f"{table.what} has version {code.version}")
    return Operator(
        index=index,
        kind=code.kind,
        inputs=table.integers(1, "inputs"),
        outputs=table.integers(2, "outputs"),
        options=_options(table, code.kind),
        version=code.version,
        intermediates=table.integers(8, "intermediates"),
    )


def _options(table: Table, kind: str) -> dict[str, Any]:
    if kind.startswith("CUSTOM:"):
        custom = table.blob(5, "custom_options")
        return {} if custom is None else {"custom_options": bytes(custom)}
    described = OPTIONS_TABLES.get(kind)
    if described is None:
        return {}
    number = table.integer(3, "builtin_options_type", "uint8")
    options = table.table(4, described.name) if number else None
    if options is None:
        return described.defaults
    if number != described.number:
        table.damaged(f"{table.what} has options of type {number}, {described.name} is {described.number}")
    return {field.name: _value(options, field) for field in described.fields}


def _value(options: Table, field: Field) -> Any:
    if field.kind == "int32":
        return options.integer(field.slot, field.name, default=field.default)
    if field.kind == "bool":
        return options.flag(field.slot, field.name, field.default)
    if field.kind == "text":
        return options.text(field.slot, field.name)
    if field.kind == "int32[]":
        return options.integers(field.slot, field.name)
    if field.kind == "float32":
        real = options.real(field.slot, field.name, field.default)
        if not math.isfinite(real):
            options.damaged(f"{field.name} of {options.what} is {real:g}")
        return real
    number = options.integer(field.slot, field.name, "int8")
    if not 0 <= number < len(field.names):
        options.damaged(f"{field.name} of {options.what} is number {number}, known are 0 to {len(field.names) - 1}")
    return field.names[number]
