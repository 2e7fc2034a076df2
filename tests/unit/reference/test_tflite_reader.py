from __future__ import annotations

import re
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import tflite as pypi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from neuralart_reference.model.tflite_operators import (
    ACTIVATIONS,
    MIRROR_PAD_MODES,
    OPERATORS,
    OPTIONS_TABLES,
    PADDINGS,
    TENSOR_TYPES,
    WEIGHTS_FORMATS,
)
from support.cases.small_models import CASES
from tflite_writer import OPTIONS, ModelWriter

DIGITS = Path(__file__).resolve().parents[3] / "models" / "digits" / "digits.tflite"
DATA = DIGITS.read_bytes()


def parse(data: bytes) -> Model:
    return tflite.parse(data, "m.tflite", "m")


def refused(data: bytes) -> str:
    with pytest.raises(NeuralArtError) as caught:
        parse(data)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if not name.startswith("_")}


# --- the schema, against the published one -------------------------------------------------------------------------


def test_operator_numbers() -> None:
    published = names(pypi.BuiltinOperator)
    assert {number: OPERATORS[number] for number in published} == published


@pytest.mark.parametrize(
    ("ours", "published"),
    [
        (TENSOR_TYPES, pypi.TensorType),
        (PADDINGS, pypi.Padding),
        (ACTIVATIONS, pypi.ActivationFunctionType),
        (MIRROR_PAD_MODES, pypi.MirrorPadMode),
        (WEIGHTS_FORMATS, pypi.FullyConnectedOptionsWeightsFormat),
    ],
    ids=["types", "padding", "activation", "mirror", "weights"],
)
def test_enumerations(ours: tuple[str, ...], published: type) -> None:
    expected = names(published)
    assert {number: ours[number].upper() for number in expected} == {n: name.upper() for n, name in expected.items()}


def accessor_options(operator: Any, kind: str) -> dict[str, Any]:
    """The options as the published accessors read them."""
    described = OPTIONS_TABLES[kind]
    options = getattr(pypi, described.name)()
    union = operator.BuiltinOptions()
    options.Init(union.Bytes, union.Pos)
    found: dict[str, Any] = {}
    for field in described.fields:
        camel = "".join(part.capitalize() for part in field.name.split("_"))
        if field.kind == "int32[]":
            found[field.name] = tuple(getattr(options, camel)(i) for i in range(getattr(options, f"{camel}Length")()))
        else:
            value = getattr(options, camel)()
            if field.kind == "text":
                value = (value or b"").decode()
            found[field.name] = field.names[value] if field.names else value
    return found


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables stay handles, and their operators what they are in the file."""
    monkeypatch.setattr(tflite, "with_variables", lambda model, graph: model)


@pytest.mark.usefixtures("handles")
@pytest.mark.parametrize("kind", sorted(CASES))
def test_options(kind: str) -> None:
    make, expected = CASES[kind]
    data = make()
    operator = parse(data).operators[0]
    assert operator.kind == kind
    assert operator.options == OPTIONS_TABLES[kind].defaults | expected
    published = pypi.Model.GetRootAs(data, 0).Subgraphs(0).Operators(0)
    assert published.BuiltinOptionsType() == getattr(pypi.BuiltinOptions, OPTIONS_TABLES[kind].name)
    assert operator.options == accessor_options(published, kind)


_OTHER = {"int32": 7, "bool": True, "float32": 0.75, "int32[]": [5, -1, 3], "text": "ring"}


@pytest.mark.usefixtures("handles")
@pytest.mark.parametrize("kind", sorted(OPTIONS_TABLES))
def test_every_field_alone(kind: str) -> None:
    """A field in the wrong slot, or of the wrong width, is found when the others are absent."""
    for field in OPTIONS_TABLES[kind].fields:
        value = _OTHER.get(field.kind, field.names[1] if field.names else None)
        value = not field.default if field.kind == "bool" else value
        writer = ModelWriter()
        x, y = (writer.tensor(name, (1, 1), "float32") for name in "xy")
        writer.op(kind, [x, x], [y], **{field.name: value})
        data = writer.finish([x], [y])
        options = parse(data).operators[0].options
        assert options == accessor_options(pypi.Model.GetRootAs(data, 0).Subgraphs(0).Operators(0), kind)
        assert options[field.name] == (tuple(value) if isinstance(value, list) else value)


def test_every_options_table_is_covered() -> None:
    assert set(CASES) == set(OPTIONS_TABLES) == set(OPTIONS)


def test_operator_without_options_table_has_the_defaults() -> None:
    data = patch_options_type(small(kind="MUL"), 0)
    assert parse(data).operators[0].options == {"fused_activation_function": "NONE"}


# --- a whole model, against the published accessors ----------------------------------------------------------------


def test_digits() -> None:
    model = tflite.read(DIGITS, "models/digits.tflite")
    published = pypi.Model.GetRootAs(DATA, 0)
    graph = published.Subgraphs(0)
    assert (model.path, model.stem) == ("models/digits.tflite", "digits")
    assert model.inputs == tuple(graph.InputsAsNumpy())
    assert model.outputs == tuple(graph.OutputsAsNumpy())
    assert len(model.tensors) == graph.TensorsLength() > 10
    for index, tensor in enumerate(model.tensors):
        other = graph.Tensors(index)
        assert tensor.index == index
        assert tensor.name == other.Name().decode()
        assert tensor.shape == tuple(other.ShapeAsNumpy())
        assert tensor.dtype == names(pypi.TensorType)[other.Type()].lower()
        assert tensor.signature is None
        buffer = published.Buffers(other.Buffer())
        assert tensor.data == (buffer.DataAsNumpy().tobytes() if buffer.DataLength() else None)
        quantization = other.Quantization()
        if quantization is None:
            assert tensor.quantization is None
            continue
        assert tensor.quantization is not None
        assert tensor.quantization.scales == tuple(float(s) for s in quantization.ScaleAsNumpy())
        assert tensor.quantization.zero_points == tuple(quantization.ZeroPointAsNumpy())
        assert tensor.quantization.axis == quantization.QuantizedDimension()
    assert len(model.operators) == graph.OperatorsLength() == 7
    for index, operator in enumerate(model.operators):
        other = graph.Operators(index)
        code = published.OperatorCodes(other.OpcodeIndex())
        assert (operator.index, operator.version) == (index, code.Version())
        assert operator.kind == names(pypi.BuiltinOperator)[code.BuiltinCode()]
        assert operator.inputs == tuple(other.InputsAsNumpy())
        assert operator.outputs == tuple(other.OutputsAsNumpy())
        assert operator.options == accessor_options(other, operator.kind)
    assert [o.kind for o in model.operators].count("CONV_2D") == 2
    assert sum(t.quantization is not None and t.quantization.per_channel for t in model.tensors) == 4


def small(
    kind: str = "RELU",
    *,
    tensor: dict[str, Any] | None = None,
    inputs: tuple[int, ...] | None = None,
    outputs: tuple[int, ...] | None = None,
    reads: tuple[int, ...] | None = None,
    **words: Any,
) -> bytes:
    """x -> kind -> y, with a constant c beside; ``tensor`` changes x."""
    writer = ModelWriter()
    x = writer.tensor(**{"name": "x", "shape": (1, 4), "dtype": "int8", "scale": 0.5, **(tensor or {})})
    y = writer.tensor("y", (1, 4), "int8", 0.5)
    writer.tensor("c", (1, 4), "int8", 0.5, data=[[1, 2, 3, 4]])
    writer.op(kind, (x,) if reads is None else reads, [y])
    return writer.finish((x,) if inputs is None else inputs, (y,) if outputs is None else outputs, **words)


def test_constants_behind_the_flatbuffer_as_in_files_over_2_gb() -> None:
    inside, outside = (small("ADD", reads=(0, 2), outside_buffers=outside) for outside in (False, True))
    assert outside != inside
    assert parse(outside) == parse(inside)
    assert parse(outside).tensors[2].data == bytes([1, 2, 3, 4])
    assert "4 bytes lie outside of the file" in refused(outside[:-1])


def test_open_batch_of_one_is_batch_one() -> None:
    tensor = parse(small(tensor={"signature": (-1, 4)})).tensors[0]
    assert (tensor.shape, tensor.signature) == ((1, 4), (-1, 4))


def test_scalars_without_rank_are_read_inside() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", 0.5)
    y = writer.tensor("y", (), "int8", 0.5)
    writer.op("RELU", [x], [y])
    assert parse(writer.finish([x], [y])).tensors[1].shape == ()


def test_description_and_metadata_change_nothing() -> None:
    assert parse(small(description="a", metadata={"m": b"12"})) == parse(small(description="other"))


def test_old_and_new_operator_numbers() -> None:
    """Numbers above 126 are only in the new field, files before 2020 have only the old one."""
    assert parse(small(kind="GELU")).operators[0].kind == "GELU"
    data = small(kind="RELU6")
    code = pypi.Model.GetRootAs(data, 0).OperatorCodes(0)
    old = bytearray(data)
    old[code._tab.Pos + code._tab.Offset(10) : code._tab.Pos + code._tab.Offset(10) + 4] = bytes(4)
    assert parse(bytes(old)).operators[0].kind == "RELU6"


def test_custom_operator_is_named() -> None:
    assert parse(small(kind="CUSTOM:TFLite_Detection")).operators[0].kind == "CUSTOM:TFLite_Detection"
    assert parse(small(kind="CUSTOM:a\nb\x1b" + "x" * 80)).operators[0].kind == r"CUSTOM:a\nb\x1b" + "x" * 53 + "..."


def test_zero_points_may_be_absent() -> None:
    tensor = parse(small(tensor={"zero_point": []})).tensors[0]
    assert tensor.quantization is not None
    assert tensor.quantization.zero_points == (0,)


def test_quantization_of_floats_is_none() -> None:
    assert parse(small(tensor={"dtype": "float32"})).tensors[0].quantization is None


def test_optional_input() -> None:
    assert parse(small(reads=(0, -1))).operators[0].inputs == (0, -1)


def test_strange_name_stays_on_one_line() -> None:
    text = refused(small(tensor={"name": "a\nb\x1b[31m\u2028" + "é" * 100, "dtype": "string"}))
    assert r"tensor 0 'a\nb\x1b[31m\u2028" in text
    assert len(text) < 300


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        ({"dtype": "int4"}, "tensor 0 'x' is of type int4, which is not supported"),
        ({"dtype": "string", "scale": None}, "tensor 0 'x' is of type string, which is not supported"),
        ({"dtype": "bfloat16"}, "tensor 0 'x' is of type bfloat16, which is not supported"),
        ({"sparse": True}, "tensor 0 'x' is sparse"),
        ({"shape": (1, -1)}, "tensor 0 'x' has a dynamic shape 1x-1 (convert the model with a fixed input shape"),
        ({"signature": (1, -1)}, "tensor 0 'x' has a dynamic shape 1x-1: dimension 1 is open (input_shapes"),
        ({"signature": (-1, -1)}, "tensor 0 'x' has a dynamic shape -1x-1: dimension 1 is open (input_shapes"),
        ({"shape": (2, 4), "signature": (-1, 4)}, "tensor 0 'x' has a dynamic shape -1x4: dimension 0 is open"),
        ({"signature": (1, 5)}, "tensor 0 'x' has shape 1x4 and signature 1x5"),
        ({"signature": (1, 4, 1)}, "tensor 0 'x' has 2 dimensions, its signature 3"),
        ({"shape": (1, 0)}, "tensor 0 'x' has no elements: its shape is 1x0"),
        ({"shape": (1,) * 9}, "tensor 0 'x' has 9 dimensions, the most is 8"),
        ({"shape": (2**31 - 1, 4)}, "tensor 0 'x' (int8 2147483647x4) needs 8589934588 bytes, the most is 2147483647"),
        ({"scale": float("nan")}, "the quantization of tensor 0 'x': scale 0 is nan, it must be finite and above 0"),
        ({"scale": float("inf")}, "scale 0 is inf"),
        ({"scale": 0.0}, "scale 0 is 0,"),
        ({"scale": [0.5, 0.5, -0.25, 1.0], "axis": 1}, "scale 2 is -0.25,"),
        ({"scale": [1, 2], "zero_point": [0, 0, 0], "axis": 1}, "2 scales but 3 zero points"),
        ({"scale": [1, 2, 3, 4], "axis": 2}, "dimension 2 is quantized, the tensor has 2"),
        ({"scale": [1, 2, 3, 4], "axis": -1}, "dimension -1 is quantized, the tensor has 2"),
        ({"scale": [1, 2, 3], "axis": 1}, "3 scales for the 4 slices of dimension 1 of 1x4"),
        ({"zero_point": 128}, "zero point 0 is 128, int8 allows -128 to 127"),
        ({"zero_point": -1, "dtype": "uint8"}, "zero point 0 is -1, uint8 allows 0 to 255"),
        ({"zero_point": 2**40, "dtype": "int32"}, "zero point 0 is 1099511627776, int32 allows"),
        ({"data": [[1, 2, 3, 4]]}, "tensor 0 'x' is an input of the model and a constant"),
        ({"data": b"123"}, "tensor 0 'x' (int8 1x4) needs 4 bytes, its constant has 3"),
        ({"data": b"12345"}, "tensor 0 'x' (int8 1x4) needs 4 bytes, its constant has 5"),
    ],
)
def test_refused_tensors(tensor: dict[str, Any], message: str) -> None:
    text = refused(small(tensor=tensor))
    assert message in text
    assert re.match(r"m\.tflite@0x[0-9a-f]+: ", text)


def connected(*operators: tuple[list[int], list[int]], inputs: list[int], outputs: list[int]) -> bytes:
    """Tensors 0..4 (4 is a constant) and the operators RELU that are said."""
    writer = ModelWriter()
    for index in range(5):
        writer.tensor(f"t{index}", (1, 2), "int8", 0.5, data=[[1, 2]] if index == 4 else None)
    for reads, writes in operators:
        writer.op("RELU", reads, writes)
    return writer.finish(inputs, outputs)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (connected(([0], [1]), ([5], [2]), inputs=[0], outputs=[2]), "operator 1 RELU reads tensor 5, the graph has 5"),
        (connected(([-2], [1]), inputs=[0], outputs=[1]), "operator 0 RELU reads tensor -2, the graph has 5 tensors"),
        (connected(([0], [9]), inputs=[0], outputs=[1]), "operator 0 RELU writes tensor 9, the graph has 5 tensors"),
        (connected(([0], [-1]), inputs=[0], outputs=[1]), "operator 0 RELU writes tensor -1, the graph has 5 tensors"),
        (connected(([3], [1]), inputs=[0], outputs=[1]), "operator 0 RELU reads tensor 3 't3', which nothing writes"),
        (
            connected(([2], [1]), ([0], [2]), inputs=[0], outputs=[1]),
            "operator 0 RELU reads tensor 2 't2' before operator 1 RELU writes it",
        ),
        (connected(([1], [1]), inputs=[0], outputs=[1]), "operator 0 RELU reads tensor 1 't1' before itself writes it"),
        (
            connected(([0], [1]), ([0], [1]), inputs=[0], outputs=[1]),
            "operator 1 RELU writes tensor 1 't1', operator 0 RELU too",
        ),
        (
            connected(([0], [1, 1]), inputs=[0], outputs=[1]),
            "operator 0 RELU writes tensor 1 't1', operator 0 RELU too",
        ),
        (connected(([0], [4]), inputs=[0], outputs=[4]), "operator 0 RELU writes the constant tensor 4 't4'"),
        (
            connected(([0], [1]), ([1], [0]), inputs=[0], outputs=[1]),
            "tensor 0 't0' is an input of the model, operator 1 RELU writes it",
        ),
        (connected(([0], [1]), inputs=[], outputs=[1]), "the model has no inputs"),
        (connected(([0], [1]), inputs=[0], outputs=[]), "the model has no outputs"),
        (connected(([0], [1]), inputs=[7], outputs=[1]), "input 0 of the model is tensor 7, the graph has 5 tensors"),
        (
            connected(([0], [1]), inputs=[0], outputs=[-1]),
            "output 0 of the model is tensor -1, the graph has 5 tensors",
        ),
        (connected(([0], [1]), inputs=[0, 0], outputs=[1]), "tensor 0 't0' is listed twice among the inputs"),
        (connected(([0], [1]), inputs=[0], outputs=[1, 1]), "tensor 1 't1' is listed twice among the outputs"),
        (connected(([0], [1]), inputs=[0], outputs=[2]), "is an output of the model, but one that nothing writes"),
        (small(subgraphs=2), "the model has 2 graphs, only models with one are read"),
        (small(subgraphs=0), "the model has 0 graphs, only models with one are read"),
    ],
)
def test_refused_graphs(data: bytes, message: str) -> None:
    text = refused(data)
    assert message in text
    assert re.match(r"m\.tflite@0x[0-9a-f]+: ", text)


# --- damage, with the place of it ----------------------------------------------------------------------------------


def tensor_at(data: bytes, index: int) -> Any:
    return pypi.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(index)._tab


def operator_at(data: bytes, index: int) -> Any:
    return pypi.Model.GetRootAs(data, 0).Subgraphs(0).Operators(index)._tab


def put(data: bytes, offset: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


def field(table: Any, slot: int) -> int:
    offset = table.Offset(4 + 2 * slot)
    assert offset, "the field is absent"
    return int(table.Pos + offset)


def patch_options_type(data: bytes, number: int) -> bytes:
    return put(data, field(operator_at(data, 0), 3), "<B", number)


def damaged_version() -> tuple[bytes, int, str]:
    root = pypi.Model.GetRootAs(DATA, 0)._tab
    return put(DATA, field(root, 0), "<I", 2), root.Pos, "schema version 2 of TensorFlow Lite, only version 3 is read"


def damaged_type() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 0)
    return put(DATA, field(table, 1), "<b", 99), table.Pos, "tensor 0 'image' has type number 99, known are 0 to 22"


def damaged_buffer() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 1)
    return put(DATA, field(table, 2), "<I", 500), table.Pos, "tensor 1 'conv1/weights' has buffer 500, the file has 8"


def damaged_shape_length() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 1)
    vector = table.Indirect(field(table, 0))
    return (
        put(DATA, vector, "<I", 0x40000000),
        vector,
        f"shape of tensor 1 'conv1/weights': 1073741824 elements of 4 bytes do not fit into the file, "
        f"which has {len(DATA)} bytes",
    )


def damaged_name_offset() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 2)
    place = field(table, 3)
    return put(DATA, place, "<I", 0x7FFFFFFF), place, "name of tensor 2: offset 0x7fffffff leads outside of the file"


def damaged_vtable() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 2)
    return put(DATA, table.Pos, "<i", -len(DATA)), table.Pos, "tensor 2: its vtable would be at 0x"


def damaged_constant() -> tuple[bytes, int, str]:
    table = tensor_at(DATA, 1)
    shape = table.Indirect(field(table, 0)) + 4
    buffer = pypi.Model.GetRootAs(DATA, 0).Buffers(1)._tab
    return (
        put(DATA, shape, "<i", 16),
        buffer.Indirect(field(buffer, 0)) + 4,
        "tensor 1 'conv1/weights' (int8 16x3x3x1) needs 144 bytes, its constant has 72",
    )


def damaged_opcode() -> tuple[bytes, int, str]:
    table = operator_at(DATA, 1)
    return put(DATA, field(table, 0), "<I", 9), table.Pos, "operator 1 is number 9 of 5 operator codes"


def damaged_options_type() -> tuple[bytes, int, str]:
    table = operator_at(DATA, 0)
    return put(DATA, field(table, 3), "<B", 5), table.Pos, "operator 0 CONV_2D has options of type 5, Conv2DOptions is"


def damaged_activation() -> tuple[bytes, int, str]:
    options = pypi.Model.GetRootAs(DATA, 0).Subgraphs(0).Operators(0).BuiltinOptions()
    return (
        put(DATA, field(options, 3), "<b", 17),
        options.Pos,
        "fused_activation_function of Conv2DOptions of operator 0 CONV_2D is number 17, known are 0 to 5",
    )


def damaged_beta() -> tuple[bytes, int, str]:
    options = pypi.Model.GetRootAs(DATA, 0).Subgraphs(0).Operators(6).BuiltinOptions()
    nan = put(DATA, field(options, 0), "<I", 0x7FC00000)
    return nan, options.Pos, "beta of SoftmaxOptions of operator 6 SOFTMAX is nan"


def damaged_code() -> tuple[bytes, int, str]:
    code = pypi.Model.GetRootAs(DATA, 0).OperatorCodes(0)._tab
    return (
        put(DATA, field(code, 3), "<i", 1234),
        operator_at(DATA, 0).Pos,
        "operator 0 has the unknown number 1234, known are 0 to 209",
    )


def damaged_code_version() -> tuple[bytes, int, str]:
    code = pypi.Model.GetRootAs(DATA, 0).OperatorCodes(0)._tab
    return put(DATA, field(code, 2), "<i", -3), operator_at(DATA, 0).Pos, "operator 0 CONV_2D has version -3"


def damaged_details() -> tuple[bytes, int, str]:
    """The slot of the details' type, 0 in the vtable, is made to say where the offset of the scales is."""
    data = small(tensor={"scale": [1, 2, 3, 4], "axis": 1})
    quantization = pypi.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(0).Quantization()._tab
    (distance,) = struct.unpack_from("<i", data, quantization.Pos)
    slot = quantization.Pos - distance + 4 + 2 * 4
    return (
        put(data, slot, "<H", quantization.Offset(4 + 2 * 2)),
        quantization.Pos,
        "the quantization of tensor 0 'x': not one scale per tensor or per slice",
    )


@pytest.mark.parametrize(
    "damage",
    [
        damaged_version,
        damaged_type,
        damaged_buffer,
        damaged_shape_length,
        damaged_name_offset,
        damaged_vtable,
        damaged_constant,
        damaged_opcode,
        damaged_options_type,
        damaged_activation,
        damaged_beta,
        damaged_code,
        damaged_code_version,
        damaged_details,
    ],
    ids=lambda damage: damage.__name__,
)
def test_damage_is_located(damage: Callable[[], tuple[bytes, int, str]]) -> None:
    data, offset, message = damage()
    text = refused(data)
    assert message in text
    assert text.startswith(f"m.tflite@{offset:#x}: ")


def test_every_truncation_is_refused() -> None:
    """Soon, too: by the calls of functions that it takes, which no loaded machine changes."""
    lengths, calls = [*range(0, 64), *range(64, len(DATA), 11), len(DATA) - 1], 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for length in lengths:
            refused(DATA[:length])
    finally:
        sys.setprofile(before)
    assert calls < 400 * len(lengths), calls / len(lengths)


# --- files that are something else ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tflite", b"", "the file is empty, not a TensorFlow Lite model"),
        ("a.tflite", DATA[:6], "the file has 6 bytes, too few for a TensorFlow Lite model (is the file truncated?)"),
        ("a.tflite", b"hello, I am text\n", "not a TensorFlow Lite model but text, beginning with 'hello, I am text'"),
        ("a.tflite", b"hi", "not a TensorFlow Lite model but text, beginning with 'hi'"),
        ("a.tflite", b"PK\x03\x04" + bytes(40), "not a TensorFlow Lite model but a ZIP archive"),
        ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(40), "not a TensorFlow Lite model but an HDF5 file"),
        ("a.tflite", b"\x08\x07\x12\x07pytorch\x1a\x031.9", "not a TensorFlow Lite model but an ONNX model"),
        ("saved_model.pb", b"\x08\x01\x12\xa0\x90\x01\x0a", "not a TensorFlow Lite model but a TensorFlow SavedModel"),
        ("a.tflite", b"version https://git-lfs.github.com/spec/v1\noid", "but a Git LFS pointer"),
        ("a.tflite", b"\x1f\x8b\x08" + bytes(20), "but a gzip file"),
        ("a.tflite", bytes(64), "but no known kind of file, beginning with bytes 00 00 00 00 00 00 00 00"),
    ],
)
def test_other_files(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(NeuralArtError) as caught:
        tflite.read(path, f"models/{name}")
    text = str(caught.value)
    assert text.startswith(f"models/{name}: ")
    assert message in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("name", ["missing.tflite", "missing.onnx"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(NeuralArtError, match=rf"^m/{name}: cannot read: No such file"):
        tflite.read(tmp_path / name, f"m/{name}")


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match=r"^d: a folder, not a \.tflite file$"):
        tflite.read(tmp_path, "d")
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    with pytest.raises(NeuralArtError, match=r"^d: a TensorFlow SavedModel folder"):
        tflite.read(tmp_path, "d")


def test_display_is_the_path_by_default() -> None:
    assert tflite.read(DIGITS).path == str(DIGITS)


# --- large, and random ---------------------------------------------------------------------------------------------


def test_five_million_parameters_are_read_at_once(tmp_path: Path) -> None:
    weights = np.arange(5_000_000, dtype=np.int64).astype(np.int8).reshape(1000, 5000)
    writer = ModelWriter()
    x = writer.tensor("x", (1, 5000), "int8", 0.5)
    w = writer.tensor("w", weights.shape, "int8", 0.5, data=weights)
    y = writer.tensor("y", (1, 1000), "int8", 0.5)
    writer.op("FULLY_CONNECTED", [x, w], [y])
    path = tmp_path / "large.tflite"
    path.write_bytes(writer.finish([x], [y]))
    start = time.process_time()
    model = tflite.read(path)
    assert time.process_time() - start < 0.3
    assert model.tensors[w].data == weights.tobytes()


def read_or_refuse(data: bytes) -> None:
    """Whatever the bytes are: a model, or one line; and soon."""
    start = time.process_time()
    try:
        model = parse(data)
    except NeuralArtError as error:
        assert str(error).startswith("m.tflite")
        _, *more = str(error).splitlines()
        # What to do may stand in a line of its own.
        assert len(more) <= 1 and all(line.startswith("  ") for line in more)
        assert len(str(error)) < 500
    else:
        for tensor in model.tensors:
            assert tensor.data is None or len(tensor.data) == tensor.bytes
        assert all(0 <= number < len(model.tensors) for number in (*model.inputs, *model.outputs))
    assert time.process_time() - start < 2


RANDOM = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLACES = st.integers(0, len(DATA) - 1)


@RANDOM
@given(st.lists(st.tuples(PLACES, st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for place, value in changes:
        data[place] = value
    read_or_refuse(bytes(data))


@RANDOM
@given(st.lists(st.tuples(PLACES, st.sampled_from([0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])), max_size=4))
def test_changed_words(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for place, value in changes:
        place = min(place & ~3, len(data) - 4)
        struct.pack_into("<I", data, place, value)
    read_or_refuse(bytes(data))


@RANDOM
@given(PLACES, PLACES, st.binary(max_size=40))
def test_cut_and_pasted(first: int, second: int, middle: bytes) -> None:
    read_or_refuse(DATA[: min(first, second)] + middle + DATA[max(first, second) :])


@RANDOM
@given(st.binary(max_size=200))
def test_anything(data: bytes) -> None:
    read_or_refuse(data[:4] + b"TFL3" + data[4:])


def test_every_byte_outside_of_the_weights_flipped() -> None:
    """Structure is where one wrong bit matters: all of it, one byte at a time."""
    model = parse(DATA)
    weights = {DATA.index(t.data): len(t.data) for t in model.tensors if t.data and len(t.data) > 200}
    inside = {place for start, count in weights.items() for place in range(start, start + count)}
    for place in range(len(DATA)):
        if place not in inside and place % 3 == 0:
            data = bytearray(DATA)
            data[place] ^= 0xFF
            read_or_refuse(bytes(data))
