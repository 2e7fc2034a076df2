"""``neuralart validate`` without a run: labels, figures of a classifier, references, bounds, and what is refused."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import cli, config
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_virtual.emulator import Difference
from neuralart_virtual.validation import figures, layers, reference
from neuralart_virtual.validation.figures import classify, compare_outputs, read_labels
from neuralart_virtual.vectors import expected
from support.cases.small_models import one_op

REPO = Path(__file__).resolve().parents[3]
DIGITS = REPO / "models" / "digits" / "digits.tflite"
OUT = Port("digit", "", 0, 3, (1, 3), "int8", 0.5, -2)


def written(path: Path, content: Any) -> Path:
    if isinstance(content, str):
        path.write_text(content, "utf-8")
    elif isinstance(content, dict):
        np.savez(path, **content)
    else:
        np.save(path, content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "class\n2\n0\n1\n1\n"),
        ("a.txt", "2\n0\n1.0\n\n1"),
        ("a.csv", "0,0,1\n1,0,0\n0,1,0\n0,1,0\n"),
        ("a.npy", np.array([2, 0, 1, 1])),
        ("a.npy", np.array([[2], [0], [1], [1]], np.uint8)),
        ("a.npy", np.eye(3)[[2, 0, 1, 1]]),
        ("a.npz", {"x": np.eye(3, dtype=bool)[[2, 0, 1, 1]]}),
    ],
)
def test_labels(tmp_path: Path, name: str, content: Any) -> None:
    assert read_labels(written(tmp_path / name, content), 3, 4) == (2, 0, 1, 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "0\n1\n", "a.csv: 2 labels, but 4 samples (one label for each sample, in the same order)"),
        ("a.csv", "", "a.csv: 0 labels, but 4 samples"),
        ("a.csv", "0\n3\n", "a.csv:2: '3' is no label (a class number, 0 to 2, or one-hot: 3 numbers, 1"),
        ("a.csv", "-1\n", "a.csv:1: '-1' is no label"),
        ("a.csv", "0.5\n", "a.csv:1: '0.5' is no label"),
        ("a.csv", "1\nnan\n", "a.csv:2: 'nan' is no label"),
        ("a.csv", "0\ncat\n", "a.csv:2: 'cat' is no label"),
        ("a.csv", "0,1\n", "a.csv:1: '0,1' is no label"),
        ("a.csv", "0.2,0.8,0\n", "a.csv:1: '0.2,0.8,0' is no label"),
        ("a.npy", np.array([[0, 1, 1]]), "a.npy: label 0: '0,1,1' is no label"),
        ("a.npy", np.array(["a"]), "a.npy: holds no list of numbers"),
        ("a.npy", np.array(1), "a.npy: holds no list of numbers"),
        ("a.npy", np.zeros((0, 3)), "a.npy: holds no list of numbers"),
        ("a.npz", {"a": np.zeros(4), "b": np.zeros(4)}, "a.npz: holds no list of numbers"),
        ("a.npz", {}, "a.npz: holds no list of numbers"),
        ("a.npy", "no array", "a.npy: not a file of NumPy"),
    ],
)
def test_labels_that_are_none(tmp_path: Path, name: str, content: Any, said: str) -> None:
    with pytest.raises(NeuralArtError) as error:
        read_labels(written(tmp_path / name, content), 3, 4)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_accuracy_top_and_confusion() -> None:
    scores = [[0.1, 0.7, 0.2], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.3, 0.5, 0.2]]
    found = classify([1, 0, 1, 2], scores)
    assert found.accuracy == 0.5 and found.top == (0.5, 0.75, 1.0)
    assert found.confusion == ((1, 0, 0), (1, 1, 0), (0, 1, 0))
    wide = classify([7, 3], [[float(n == 8) + n / 100 for n in range(30)]] * 2)
    assert len(wide.top) == 5 and wide.top == (0.0,) * 5
    said = figures.lines(validation(classifier=wide, classes=tuple(f"the {n}" for n in range(30))))
    assert said[-2:] == ["  mistake    the 3 taken for the 8: 1 time", "  mistake    the 7 taken for the 8: 1 time"]


def validation(**more: Any) -> figures.ValidationFigures:
    outputs = {"digit": compare_outputs([[1.0, 0.0]], [[0.0, 1.0]], classifier=True)}
    plain = figures.ValidationFigures("v", "n", "unicorn (a core)", 1, "x.npy", "golden vectors", outputs)
    return replace(plain, **more)


@pytest.mark.parametrize(
    ("bounds", "more", "said"),
    [
        ({}, {}, []),
        ({"min_cos": 0.0, "min_accuracy": 0.0}, {}, []),
        ({"min_cos": 0.25}, {}, ["output 'digit': cos 0.0 is below 0.25 (network n: min_cos)"]),
        ({"min_accuracy": 0.5}, {}, ["output 'digit': accuracy 0.0 is below 0.5 (network n: min_accuracy)"]),
        ({"min_accuracy": 1.0}, {"labels": "l.csv", "classifier": classify([1], [[0.0, 1.0]])}, []),
        (
            {"min_accuracy": 0.9},
            {"labels": "l.csv", "classifier": classify([1, 1], [[0.0, 1.0], [1.0, 0.0]])},
            ["l.csv: accuracy 0.5 is below 0.9 (network n: min_accuracy)"],
        ),
        # The product of two roots is not exact, and zeros have no direction.
        ({"min_cos": 1.0}, {"outputs": {"a": compare_outputs([[0.1, 0.7, 0.3]], [[0.1, 0.7, 0.3]])}}, []),
        ({"min_cos": 1.0}, {"outputs": {"a": compare_outputs([[0.0]], [[0.0]])}}, []),
    ],
)
def test_bounds(bounds: dict[str, float], more: dict[str, Any], said: list[str]) -> None:
    assert figures.below(validation(**more), NetworkConfig("n", "n.tflite", **bounds)) == said


@pytest.mark.parametrize(("key", "value"), [("min_cos", "1.5"), ("min_accuracy", "-0.1"), ("min_accuracy", "95%")])
def test_bounds_that_are_none(tmp_path: Path, key: str, value: str) -> None:
    text = f"schema: 1\nnetworks:\n  a:\n    model: a.tflite\n    {key}: {value}\n"
    with pytest.raises(NeuralArtError, match=rf"a.yaml:5: networks.a.{key}: .*{value}"):
        config.read(written(tmp_path / "a.yaml", f"{text}variants:\n  v: {{board: b, network: a}}\n"))


def test_the_record_and_the_table() -> None:
    found = validation(labels="l.csv", classifier=classify([1], [[0.0, 1.0]]))
    record = json.loads(json.dumps(figures.to_record(found, ["bad"]), allow_nan=False))
    assert (record["kind"], record["schema"], record["below"]) == ("neuralart-validation", 1, ["bad"])
    assert record["outputs"]["digit"]["rmse"] == 1.0 and record["classifier"]["confusion"] == [[0, 0], [0, 1]]
    said = figures.lines(found)
    assert said[3].split() == ["output", "acc", "rmse", "mae", "l2r", "mean", "std", "nse", "cos"]
    assert said[4].split()[:4] == ["digit", "0.00%", "1.000000000", "1.000000000"]
    assert said[5] == "  labels     l.csv: top-1 100.00%, top-2 100.00%" and said[-1].split() == ["1", "0", "1"]


@pytest.mark.parametrize(
    ("name", "content", "first"),
    [
        ("a.npy", np.array([[0.5, 1, 2], [3, 4, 5]]), [0.5, 1, 2]),
        ("a.npy", np.array([[-1, 0, 1], [3, 4, 5]], np.int8), [0.5, 1, 1.5]),
        ("a.npy", np.array([[-1, 0, 1], [3, 4, 5]], np.int16), [-1, 0, 1]),
        ("a.npz", {"digit": np.ones((2, 1, 3), np.float32), "other": np.zeros(5)}, [1, 1, 1]),
    ],
)
def test_stored_outputs(tmp_path: Path, name: str, content: Any, first: list[float]) -> None:
    """Elements of the output's own type are stored ones: scale and zero point make them real."""
    path = written(tmp_path / name, content)
    origin, (rows,) = reference.of_file(path, [OUT], 2)
    assert origin == path.as_posix() and rows[0] == first and len(rows) == 2


def test_references_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "has_litert", lambda: True)
    for name, content, said in (
        ("a.npy", np.zeros((3, 3)), "a.npy: 3 outputs 'digit', but 2 samples"),
        ("a.npy", np.zeros((2, 4)), "a.npy: an array of 2x4, tensor 'digit' is 1x3"),
        ("a.npy", np.full((2, 3), np.nan), "a.npy: holds values that are no numbers"),
        ("a.npz", {"a": np.zeros(3), "b": np.zeros(3)}, "a.npz: no array 'digit' (known: a, b)"),
    ):
        with pytest.raises(NeuralArtError) as error:
            reference.of_file(written(tmp_path / name, content), [OUT], 2)
        assert said in str(error.value)
    picture = Port("image", "", 0, 256, (1, 16, 16, 1), "int8", 0.5, 0)
    for ports, said in (
        (([picture, picture], [OUT]), "digits.tflite: has 1 inputs, the network 2"),
        (([replace(picture, shape=(1, 8, 32, 1))], [OUT]), "input 0 is 1x16x16x1, that of the network 1x8x32x1"),
        (([picture], [OUT]), "output 0 is 1x10, that of the network 1x3"),
    ):
        with pytest.raises(NeuralArtError) as error:
            reference.by_model(DIGITS, *ports, [bytes(256)])
        assert said in str(error.value)


@pytest.mark.needs("ai_edge_litert")
def test_a_reference_with_other_types() -> None:
    """The network takes the same picture as floats and as quantized elements."""
    from neuralart_reference.model import tflite

    model = tflite.read(DIGITS)
    (image,), (digit,) = (expected.ports(model, tensors) for tensors in (model.inputs, model.outputs))
    elements = (DIGITS.parent / "vectors" / "inputs.bin").read_bytes()[:256]
    real = [image.scale * (value - image.zero_point) for value in struct.unpack("256b", elements)]
    floats = replace(image, dtype="float32", bytes=1024, scale=0.0, zero_point=0)
    found = [
        reference.by_model(DIGITS, [port], [digit], [data])[1]
        for port, data in ((image, elements), (floats, struct.pack("<256f", *real)))
    ]
    golden = (DIGITS.parent / "vectors" / "outputs.bin").read_bytes()[:10]
    assert found[0] == found[1] == reference.split([digit], [golden], "")


@pytest.mark.needs("ai_edge_litert")
def test_a_model_of_floats(tmp_path: Path) -> None:
    """It gets the real values that the network's elements stand for, and its outputs are real values."""
    shape = (1, 2, 2, 1)
    path = tmp_path / "float.tflite"
    path.write_bytes(one_op("DIV", [shape, shape], [shape], dtype="float32"))
    ports = [Port(name, "", 0, 4, shape, "int8", scale, zero) for name, scale, zero in (("a", 0.5, -2), ("b", 2.0, 0))]
    elements = struct.pack("8b", -2, 0, 2, 6, 1, 2, -1, 4)
    origin, (rows,) = reference.by_model(path, ports, [replace(ports[0], name="out")], [elements])
    assert rows == [[0.0, 0.25, -1.0, 0.5]] and origin.startswith(f"{path.as_posix()}, computed by ai-edge-litert")


def test_a_model_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "has_litert", lambda: False)
    with pytest.raises(NeuralArtError, match=r"digits.tflite: a reference model needs LiteRT, .*--reference OUTPUTS"):
        reference.by_model(DIGITS, [], [OUT], [])


def port(name: str, dtype: str, values: int, scale: float = 0.0) -> Port:
    return Port(name, "", 0, values * np.dtype(dtype).itemsize, (1, values), dtype, scale, 0)


def test_layers_that_differ_or_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    nan = np.nan
    reference_has = [
        {
            "a": (np.int8([1, 2, 3]), 0.5, 0),
            "real": (np.float32([0.5, 1, 1.5]), 0.0, 0),
            "nan": (np.float32([nan]), 0, 0),
        },
        {
            "a": (np.int8([1, 2, 3]), 0.5, 0),
            "real": (np.float32([0.5, 1, 2.5]), 0.0, 0),
            "nan": (np.float32([1]), 0, 0),
        },
    ]
    for each in reference_has:
        each["wide"] = (np.zeros(4, np.int8), 0.5, 0)
    monkeypatch.setattr(layers, "_reference", lambda *given: iter(reference_has))
    tensors = layers.EpochTensors.__new__(layers.EpochTensors)
    quantized = [port(name, "int8", 3, 0.5) for name in ("a", "real", "wide", "gone")]
    tensors.written = [(0, (quantized[0],)), (3, (*quantized[1:], port("nan", "float32", 1)))]
    ours = {"a": b"\1\2\3", "real": b"\1\2\3", "wide": bytes(3), "gone": bytes(3), "nan": np.float32([nan]).tobytes()}
    tensors.samples = [ours, ours]
    found = layers.compare_layers(tensors, DIGITS, [], [])
    assert [(layer.name, layer.steps, layer.difference, layer.samples) for layer in found] == [
        ("a", 0.0, 0.0, ()),
        ("real", 2.0, 1.0, (1,)),
        ("wide", None, None, ()),
        ("gone", None, None, ()),
        ("nan", None, None, (1,)),
    ]
    assert [layer.note for layer in found[2:]] == ["the model has int8[4]", "the model has no tensor of this name", ""]
    said = layers.layer_lines(found)
    assert said[0] == "  layers     the first that differs: 'real' of epoch 3, by up to 2 steps, in sample 1"
    assert said[3].split() == ["3", "real", "int8", "1x3", "2", "1", "1"] and "no tensor of this name" in said[5]


def test_outputs_that_are_no_numbers() -> None:
    with pytest.raises(Difference, match="net: output 'x' has values that are no numbers"):
        reference.split([Port("x", "", 0, 4, (1,), "float32", 0.0, 0)], [struct.pack("<f", float("nan"))], "net")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digits-n6", "--on", "native", "--build", "none"], "(scons digits-n6 builds it)"),
        (["digits-n6-two", "--network", "digit", "--per-layer"], "variant digits-n6-two: no network 'digit'"),
        (["digits-n6", "--on", "board"], "--on board: which port? (--on board --port /dev/ttyACM0)"),
        (["digits-n6", "--port", "COM4"], "--on virtual: a port is for a board (--on board --port"),
        (["digit-n6"], "no variant 'digit-n6'"),
        (
            ["digits-n6", "--network", "digit"],
            "variant digits-n6: no network 'digit' (--network: did you mean 'digits'?",
        ),
        (["digits-n6-two"], "variant digits-n6-two: 2 networks (--network: known: digits, digits_b)"),
        (["digits-n6-external"], "pool AXISRAM5 is loaded by a debugger (run-digits-n6-external stands in for one)"),
        (["digits-n6", "--build", "none"], "(scons digits-n6 builds it)"),
    ],
)
def test_what_is_refused(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert cli.main(["validate", *words, "--file", str(REPO / "variants.yaml")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("neuralart validate: error: ") and said in error, error
