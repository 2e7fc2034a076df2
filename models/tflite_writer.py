"""Writes TensorFlow Lite files, operator by operator, for the generators of our models and for tests.

The bytes come from PyPI ``flatbuffers`` and ``tflite``, hence from the published schema and not from the
reader of this project: what both agree on is agreed with a third party. The same calls give the same bytes.

Nothing is checked here beyond what the encoding needs: tests write wrong models with it on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

OPTIONS = {
    "ADD": "AddOptions",
    "ARG_MAX": "ArgMaxOptions",
    "ARG_MIN": "ArgMinOptions",
    "ASSIGN_VARIABLE": "AssignVariableOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "CALL_ONCE": "CallOnceOptions",
    "CAST": "CastOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "DEQUANTIZE": "DequantizeOptions",
    "DIV": "DivOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "GATHER": "GatherOptions",
    "GELU": "GeluOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "LSTM": "LSTMOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "MUL": "MulOptions",
    "PACK": "PackOptions",
    "QUANTIZE": "QuantizeOptions",
    "READ_VARIABLE": "ReadVariableOptions",
    "REDUCE_ALL": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "RESHAPE": "ReshapeOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "RNN": "RNNOptions",
    "SHAPE": "ShapeOptions",
    "SOFTMAX": "SoftmaxOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions",
    "SQUEEZE": "SqueezeOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "SUB": "SubOptions",
    "SUM": "ReducerOptions",
    "SVDF": "SVDFOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "UNPACK": "UnpackOptions",
    "VAR_HANDLE": "VarHandleOptions",
}
"""Operator -> options table; operators that are not here are written without one."""
_TEXTS = ("container", "shared_name")

_ENUMS: Mapping[str, Any] = {
    "padding": tflite.Padding,
    "fused_activation_function": tflite.ActivationFunctionType,
    "weights_format": tflite.FullyConnectedOptionsWeightsFormat,
    "mode": tflite.MirrorPadMode,
    "quantized_bias_type": tflite.TensorType,
    "in_data_type": tflite.TensorType,
    "out_data_type": tflite.TensorType,
    "output_type": tflite.TensorType,
    "out_type": tflite.TensorType,
}

# What a converter would write where the schema's own default makes no sense.
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "Conv2DOptions": {"stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1},
    "DepthwiseConv2DOptions": {"stride_w": 1, "stride_h": 1, "dilation_w_factor": 1, "dilation_h_factor": 1},
    "Pool2DOptions": {"stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2, "padding": "VALID"},
    "SoftmaxOptions": {"beta": 1.0},
    "TransposeConvOptions": {"stride_w": 1, "stride_h": 1},
    "ArgMaxOptions": {"output_type": "INT32"},
    "ArgMinOptions": {"output_type": "INT32"},
    "ShapeOptions": {"out_type": "INT32"},
    "DepthToSpaceOptions": {"block_size": 2},
    "SpaceToDepthOptions": {"block_size": 2},
}

# The first operator version that takes the type of the first input; 1 where nothing is said.
_VERSIONS_INT8 = {
    "ADD": 2,
    "ARG_MAX": 2,
    "ARG_MIN": 2,
    "AVERAGE_POOL_2D": 2,
    "BATCH_MATMUL": 2,
    "CONCATENATION": 2,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "DEQUANTIZE": 2,
    "EQUAL": 2,
    "FULLY_CONNECTED": 4,
    "GATHER": 2,
    "L2_NORMALIZATION": 2,
    "LEAKY_RELU": 2,
    "LOGISTIC": 2,
    "LOG_SOFTMAX": 2,
    "MAXIMUM": 2,
    "MAX_POOL_2D": 2,
    "MEAN": 2,
    "MINIMUM": 2,
    "MIRROR_PAD": 2,
    "MUL": 2,
    "PACK": 2,
    "PAD": 2,
    "PADV2": 2,
    "QUANTIZE": 2,
    "REDUCE_MAX": 2,
    "REDUCE_MIN": 2,
    "RELU": 2,
    "RELU6": 2,
    "RESIZE_BILINEAR": 2,
    "RESIZE_NEAREST_NEIGHBOR": 2,
    "SLICE": 2,
    "SOFTMAX": 2,
    "SPACE_TO_DEPTH": 2,
    "SPLIT": 2,
    "SPLIT_V": 2,
    "STRIDED_SLICE": 2,
    "SUB": 2,
    "SUM": 2,
    "TANH": 2,
    "TRANSPOSE": 2,
    "TRANSPOSE_CONV": 2,
    "UNPACK": 2,
}
_VERSIONS_INT16 = {
    "ADD": 2,
    "AVERAGE_POOL_2D": 3,
    "BATCH_MATMUL": 3,
    "CONCATENATION": 3,
    "CONV_2D": 4,
    "DEPTHWISE_CONV_2D": 5,
    "DEQUANTIZE": 3,
    "FULLY_CONNECTED": 7,
    "LEAKY_RELU": 2,
    "LOGISTIC": 3,
    "MAX_POOL_2D": 3,
    "MEAN": 3,
    "MUL": 4,
    "PAD": 3,
    "QUANTIZE": 2,
    "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 4,
    "SOFTMAX": 3,
    "STRIDED_SLICE": 4,
    "SUB": 3,
    "TANH": 3,
    "TRANSPOSE": 4,
    "TRANSPOSE_CONV": 3,
}
_VERSIONS = {"int8": _VERSIONS_INT8, "int16": _VERSIONS_INT16}


@dataclass(frozen=True)
class _Tensor:
    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: tuple[float, ...] | None
    zero_points: tuple[int, ...]
    axis: int
    buffer: int
    signature: tuple[int, ...] | None
    variable: bool
    sparse: bool


@dataclass(frozen=True)
class _Op:
    kind: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    intermediates: tuple[int, ...] = ()


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _number(name: str, value: Any) -> Any:
    if isinstance(value, str):
        # Without regard to case: the types are upper case there and lower case everywhere else.
        return {key.upper(): number for key, number in vars(_ENUMS[name]).items()}[value.upper()]
    return value


class ModelWriter:
    """Collects tensors and operators of one graph and writes them as a .tflite file.

    Attributes:
        tensors: What :meth:`tensor` was given, by tensor number.
        operators: What :meth:`op` was given, in execution order.
    """

    def __init__(self) -> None:
        self.tensors: list[_Tensor] = []
        self.operators: list[_Op] = []
        # Buffer 0 is empty by the convention of the format and shared by all activations.
        self._buffers: list[bytes] = [b""]
        self._once: ModelWriter | None = None

    def once(self) -> ModelWriter:
        """The second graph of the file, for CALL_ONCE: a writer with tensors and operators of its own."""
        if self._once is None:
            self._once = ModelWriter()
            self._once._buffers = self._buffers
        return self._once

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | np.ndarray | None = None,
        zero_point: int | Sequence[int] | np.ndarray = 0,
        data: Any = None,
        axis: int = 0,
        signature: Sequence[int] | None = None,
        *,
        variable: bool = False,
        sparse: bool = False,
    ) -> int:
        """Add a tensor.

        Args:
            name: Any text.
            shape: Dimensions; ``()`` for a scalar.
            dtype: TFLite type name in lower case (``int8``, ``float32``, ``int4``, ...).
            scale: None: not quantized. One value, or one per slice of ``axis``.
            zero_point: One value for all scales, or as many as scales.
            data: Constant: an array (converted to ``dtype``, little endian) or the bytes themselves.
            axis: The quantized dimension.
            signature: Shape with -1 for dynamic dimensions.
            variable: Mark it as a variable tensor.
            sparse: Mark it as sparse (with empty sparsity parameters).

        Returns:
            Its number.
        """
        scales = None if scale is None else tuple(float(s) for s in np.atleast_1d(np.asarray(scale, np.float64)))
        points = np.atleast_1d(np.asarray(zero_point, np.int64))
        if scales is not None and len(points) == 1:
            points = np.repeat(points, len(scales))
        buffer = 0
        if data is not None:
            little = np.dtype(dtype).newbyteorder("<") if not isinstance(data, bytes) else None
            raw = data if little is None else np.asarray(data).astype(little).tobytes()
            buffer = len(self._buffers)
            self._buffers.append(raw)
        self.tensors.append(
            _Tensor(
                name=name,
                shape=tuple(int(d) for d in shape),
                dtype=dtype,
                scales=scales,
                zero_points=tuple(int(z) for z in points),
                axis=axis,
                buffer=buffer,
                signature=None if signature is None else tuple(int(d) for d in signature),
                variable=variable,
                sparse=sparse,
            )
        )
        return len(self.tensors) - 1

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        version: int | None = None,
        intermediates: Sequence[int] = (),
        **options: Any,
    ) -> int:
        """Add an operator.

        Args:
            kind: TFLite name in upper case, or ``CUSTOM:<code>``.
            inputs: Tensor numbers; -1 for an optional input that is absent.
            outputs: Tensor numbers.
            version: Operator version; by default the first one for the type of the first input.
            intermediates: Numbers of tensors that say how values inside of it are quantized.
            **options: Fields of the options table in lower snake case; enumerations by name. A custom operator
                takes ``custom_options`` (bytes).

        Returns:
            Its position.
        """
        table = OPTIONS.get(kind)
        if table is None and options and not kind.startswith("CUSTOM:"):
            raise ValueError(f"{kind} is written without options, {sorted(options)} given")
        usual = dict(_USUAL.get(table or "", {}))
        if kind == "DEPTHWISE_CONV_2D":
            usual["depth_multiplier"] = self.tensors[inputs[1]].shape[-1] // self.tensors[inputs[0]].shape[-1]
        elif kind == "PACK":
            usual["values_count"] = len(inputs)
        elif kind == "UNPACK":
            usual["num"] = len(outputs)
        elif kind in ("SPLIT", "SPLIT_V"):
            usual["num_splits"] = len(outputs)
        elif kind == "CAST":
            usual |= {"in_data_type": self.tensors[inputs[0]].dtype, "out_data_type": self.tensors[outputs[0]].dtype}
        merged = {**usual, **options}
        if version is None:
            version = self._version(kind, inputs, outputs, merged)
        ends = tuple(map(int, inputs)), tuple(map(int, outputs))
        self.operators.append(_Op(kind, version, *ends, merged, tuple(map(int, intermediates))))
        return len(self.operators) - 1

    def _version(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], options: Mapping[str, Any]) -> int:
        used = [self.tensors[i].dtype for i in (*inputs, *outputs) if 0 <= i < len(self.tensors)]
        dtype = next((d for d in ("int16", "int8") if d in used), "")
        version = _VERSIONS.get(dtype, {}).get(kind, 1)
        if kind == "QUANTIZE" and inputs and self.tensors[inputs[0]].dtype == "float32":
            version = 1
        if kind == "FULLY_CONNECTED" and options.get("keep_num_dims"):
            version = max(version, 5)
        if kind == "FULLY_CONNECTED" and inputs and len(self.tensors[inputs[1]].scales or ()) > 1:
            version = 12
        if kind.startswith("RESIZE_") and (options.get("half_pixel_centers") or options.get("align_corners")):
            version = max(version, 3)
        if kind == "TRANSPOSE_CONV" and len(inputs) > 3:
            version = max(version, 3)
        if kind == "TRANSPOSE_CONV" and options.get("fused_activation_function", "NONE") not in ("NONE", 0):
            version = max(version, 4)
        if kind == "GATHER" and options.get("batch_dims"):
            version = max(version, 5)
        return version

    def finish(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        description: str = "",
        *,
        metadata: Mapping[str, bytes] | None = None,
        outside_buffers: bool = False,
        subgraphs: int = 1,
    ) -> bytes:
        """Write the file.

        Args:
            inputs: Tensor numbers.
            outputs: Tensor numbers.
            description: The model's description.
            metadata: Name -> bytes.
            outside_buffers: Put the constants behind the FlatBuffer, as files over 2 GB do.
            subgraphs: List the graph so many times.

        Returns:
            The bytes of the file.
        """
        metadata = metadata or {}
        if not outside_buffers:
            return self._encode(inputs, outputs, description, metadata, None, subgraphs)
        # Offsets are scalars that are never default: the size of the FlatBuffer does not depend on them.
        data = [*self._buffers, *metadata.values()]
        sizes = [len(raw) for raw in data]
        start = len(self._encode(inputs, outputs, description, metadata, [1 << 20] * len(sizes), subgraphs))
        offsets, position = [], start
        for size in sizes:
            position += -position % 16
            offsets.append(position)
            position += size
        out = bytearray(self._encode(inputs, outputs, description, metadata, offsets, subgraphs))
        for offset, raw in zip(offsets, data, strict=True):
            out += bytes(max(0, offset - len(out))) + raw if raw else b""
        return bytes(out)

    def _encode(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        description: str,
        metadata: Mapping[str, bytes],
        offsets: Sequence[int] | None,
        subgraphs: int,
    ) -> bytes:
        builder = flatbuffers.Builder(1024)
        buffers = [
            self._encode_buffer(builder, raw, None if offsets is None else offsets[index])
            for index, raw in enumerate([*self._buffers, *metadata.values()])
        ]
        further = [] if self._once is None else [self._once]
        codes = list(dict.fromkeys((op.kind, op.version) for each in (self, *further) for op in each.operators))
        graph = self._encode_graph(builder, codes, inputs, outputs, "main")
        more = [each._encode_graph(builder, codes, (), (), "once") for each in further]
        graph_vector = _offsets(builder, [graph] * subgraphs + more)
        code_vector = _offsets(builder, [_encode_code(builder, kind, version) for kind, version in codes])
        buffer_vector = _offsets(builder, buffers)
        metadata_vector = 0
        if metadata:
            entries = []
            for number, key in enumerate(metadata, start=len(self._buffers)):
                text = builder.CreateString(key)
                tflite.MetadataStart(builder)
                tflite.MetadataAddName(builder, text)
                tflite.MetadataAddBuffer(builder, number)
                entries.append(tflite.MetadataEnd(builder))
            metadata_vector = _offsets(builder, entries)
        text = builder.CreateString(description)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, code_vector)
        tflite.ModelAddSubgraphs(builder, graph_vector)
        tflite.ModelAddDescription(builder, text)
        tflite.ModelAddBuffers(builder, buffer_vector)
        if metadata_vector:
            tflite.ModelAddMetadata(builder, metadata_vector)
        builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
        return bytes(builder.Output())

    def _encode_graph(
        self,
        builder: flatbuffers.Builder,
        codes: Sequence[tuple[str, int]],
        inputs: Sequence[int],
        outputs: Sequence[int],
        title: str,
    ) -> int:
        tensors = [_encode_tensor(builder, tensor) for tensor in self.tensors]
        operators = [_encode_operator(builder, op, codes.index((op.kind, op.version))) for op in self.operators]
        name = builder.CreateString(title)
        tensor_vector = _offsets(builder, tensors)
        input_vector = _ints(builder, inputs)
        output_vector = _ints(builder, outputs)
        operator_vector = _offsets(builder, operators)
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, tensor_vector)
        tflite.SubGraphAddInputs(builder, input_vector)
        tflite.SubGraphAddOutputs(builder, output_vector)
        tflite.SubGraphAddOperators(builder, operator_vector)
        tflite.SubGraphAddName(builder, name)
        return int(tflite.SubGraphEnd(builder))

    @staticmethod
    def _encode_buffer(builder: flatbuffers.Builder, raw: bytes, offset: int | None) -> int:
        vector = None
        if raw and offset is None:
            # 16: the alignment that the schema asks for, and that LiteRT's kernels rely on.
            builder.StartVector(1, len(raw), 16)
            builder.head = builder.Head() - len(raw)
            builder.Bytes[builder.Head() : builder.Head() + len(raw)] = raw
            vector = builder.EndVector()
        tflite.BufferStart(builder)
        if vector is not None:
            tflite.BufferAddData(builder, vector)
        elif raw and offset is not None:
            tflite.BufferAddOffset(builder, offset)
            tflite.BufferAddSize(builder, len(raw))
        return tflite.BufferEnd(builder)


def _ints(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependInt32(int(value))
    return builder.EndVector()


def _offsets(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependUOffsetTRelative(value)
    return builder.EndVector()


def _encode_quantization(builder: flatbuffers.Builder, tensor: _Tensor) -> int:
    assert tensor.scales is not None
    builder.StartVector(4, len(tensor.scales), 4)
    for scale in reversed(tensor.scales):
        builder.PrependFloat32(scale)
    scales = builder.EndVector()
    builder.StartVector(8, len(tensor.zero_points), 8)
    for zero_point in reversed(tensor.zero_points):
        builder.PrependInt64(zero_point)
    zero_points = builder.EndVector()
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scales)
    tflite.QuantizationParametersAddZeroPoint(builder, zero_points)
    tflite.QuantizationParametersAddQuantizedDimension(builder, tensor.axis)
    return tflite.QuantizationParametersEnd(builder)


def _encode_tensor(builder: flatbuffers.Builder, tensor: _Tensor) -> int:
    name = builder.CreateString(tensor.name)
    shape = _ints(builder, tensor.shape)
    signature = None if tensor.signature is None else _ints(builder, tensor.signature)
    quantization = None if tensor.scales is None else _encode_quantization(builder, tensor)
    sparsity = None
    if tensor.sparse:
        tflite.SparsityParametersStart(builder)
        sparsity = tflite.SparsityParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, getattr(tflite.TensorType, tensor.dtype.upper()))
    tflite.TensorAddBuffer(builder, tensor.buffer)
    tflite.TensorAddName(builder, name)
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    tflite.TensorAddIsVariable(builder, tensor.variable)
    if sparsity is not None:
        tflite.TensorAddSparsity(builder, sparsity)
    if signature is not None:
        tflite.TensorAddShapeSignature(builder, signature)
    # Without it a scalar cannot be told from a tensor of unknown rank.
    tflite.TensorAddHasRank(builder, True)
    return tflite.TensorEnd(builder)


def _encode_options(builder: flatbuffers.Builder, table: str, options: Mapping[str, Any]) -> int:
    values = {
        name: _ints(builder, value)
        if isinstance(value, (list, tuple, np.ndarray))
        else builder.CreateString(value)
        if name in _TEXTS
        else _number(name, value)
        for name, value in options.items()
    }
    getattr(tflite, f"{table}Start")(builder)
    for name in sorted(values):
        getattr(tflite, f"{table}Add{_camel(name)}")(builder, values[name])
    return getattr(tflite, f"{table}End")(builder)


def _encode_operator(builder: flatbuffers.Builder, op: _Op, code: int) -> int:
    table = OPTIONS.get(op.kind)
    custom = op.options.get("custom_options", b"") if op.kind.startswith("CUSTOM:") else b""
    options = _encode_options(builder, table, op.options) if table else None
    custom_vector = builder.CreateByteVector(custom) if custom else None
    inputs = _ints(builder, op.inputs)
    outputs = _ints(builder, op.outputs)
    intermediates = _ints(builder, op.intermediates) if op.intermediates else None
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, code)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if intermediates is not None:
        tflite.OperatorAddIntermediates(builder, intermediates)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(builder, getattr(tflite.BuiltinOptions, table))
        tflite.OperatorAddBuiltinOptions(builder, options)
    if custom_vector is not None:
        tflite.OperatorAddCustomOptions(builder, custom_vector)
    return tflite.OperatorEnd(builder)


def _encode_code(builder: flatbuffers.Builder, kind: str, version: int) -> int:
    name, _, custom = kind.partition(":")
    number = getattr(tflite.BuiltinOperator, name)
    text = builder.CreateString(custom) if custom else None
    tflite.OperatorCodeStart(builder)
    # The first field has eight bits; numbers above 126 are in the second alone.
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, min(number, 127))
    if text is not None:
        tflite.OperatorCodeAddCustomCode(builder, text)
    tflite.OperatorCodeAddVersion(builder, version)
    tflite.OperatorCodeAddBuiltinCode(builder, number)
    return tflite.OperatorCodeEnd(builder)
