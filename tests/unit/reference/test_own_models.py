"""The larger models of this repository: what is committed is what their generators make, and what LiteRT computes."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import layers
import oracle
import readout
import shapes
import vectors
from detector import generate as detector
from detector import scenes
from heatmap import figures
from heatmap import generate as heatmap
from mobilenet import generate as mobilenet
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from quantized import Network

MODELS = {"mobilenet": mobilenet, "heatmap": heatmap, "detector": detector}
ROOT = Path(mobilenet.__file__).resolve().parents[1]
each = pytest.mark.parametrize("name", MODELS)


def path_of(name: str) -> Path:
    return ROOT / name / f"{name}.tflite"


@cache
def generated(name: str) -> dict[str, bytes]:
    made: dict[str, bytes] = MODELS[name].generate()
    return made


@pytest.mark.long
@each
def test_generator_makes_the_committed_bytes(name: str) -> None:
    made = generated(name)
    golden = [f"vectors/{file}" for file in ("inputs.bin", "outputs.bin", "vectors.json")]
    assert sorted(made) == [f"{name}.tflite", *golden]
    for file, data in made.items():
        assert (ROOT / name / file).read_bytes() == data, f"{name}/{file} is not what generate.py makes"
        assert len(data) < 400_000


@pytest.mark.long
@each
def test_command_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In another folder: --check notices a changed and a missing file and repairs nothing."""
    module, folder = MODELS[name], shutil.copytree(ROOT / name, tmp_path / "a folder")
    monkeypatch.setattr(module, "HERE", folder)
    monkeypatch.setattr(module, "generate", lambda: generated(name))
    # How good they are, test_they_do_what_the_readme_says knows.
    for function, found in (("accuracy", 1), ("hits", (1, 2) if name == "heatmap" else (1, 2, 0.5))):
        monkeypatch.setattr(module, function, lambda _content, found=found: found, raising=False)
    (folder / "vectors" / "outputs.bin").write_bytes(b"")
    (folder / "vectors" / "inputs.bin").unlink()
    assert module.main(["--check"]) == 1
    assert "not as generated: vectors/inputs.bin, vectors/outputs.bin" in capfd.readouterr().err
    assert not (folder / "vectors" / "inputs.bin").exists()
    assert module.main([]) == 0
    for file, data in generated(name).items():
        assert (folder / file).read_bytes() == data
    done = subprocess.run([sys.executable, ROOT / name / "generate.py", "--chekc"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: generate.py [--check]\n")


@pytest.mark.needs("ai_edge_litert")
@each
def test_golden_outputs_are_those_of_litert(name: str) -> None:
    inputs, outputs, described = vectors.read(ROOT / name / "vectors")
    assert described["oracle"] == oracle.identity() == "ai-edge-litert 2.3.0 BUILTIN_REF"
    assert len(inputs) == len(outputs) == described["count"] == MODELS[name].GOLDEN
    for expected, got in zip(outputs, oracle.run(path_of(name), inputs), strict=True):
        assert [value.tobytes() for value in expected] == [value.tobytes() for value in got]


@each
def test_vectors_agree_with_the_model(name: str) -> None:
    described = json.loads((ROOT / name / "vectors" / "vectors.json").read_text(encoding="utf-8"))
    model = tflite.read(path_of(name))
    for key, numbers in (("inputs", model.inputs), ("outputs", model.outputs)):
        assert described[key] == [
            {"name": t.name, "dtype": t.dtype, "shape": list(t.shape), "bytes": t.bytes}
            for t in (model.tensors[number] for number in numbers)
        ]


@each
def test_golden_vectors_tell_things_apart(name: str) -> None:
    inputs, outputs, _ = vectors.read(ROOT / name / "vectors")
    assert len({one[0].tobytes() for one in inputs}) == len(inputs)
    for number in range(len(outputs[0])):
        assert len({one[number].tobytes() for one in outputs}) == len(outputs)
        assert len(np.unique([one[number] for one in outputs])) > 20


@pytest.mark.needs("ai_edge_litert")
@each
def test_values_spread_in_every_layer(name: str) -> None:
    """Where values are constant or saturated, a wrong kernel goes unnoticed."""
    model = tflite.read(path_of(name))
    inputs, _, _ = vectors.read(ROOT / name / "vectors")
    traced = oracle.trace(path_of(name), inputs[:3])
    for operator in model.operators:
        tensor = model.tensors[operator.outputs[0]]
        if tensor.dtype != "int8" or tensor.name in ("colour", "scores", "probabilities"):
            continue
        values = np.stack([one[operator.outputs[0]] for one in traced])
        assert len(np.unique(values)) > min(40, values.size // 3), tensor.name
        assert values.std() > 8, tensor.name
        saturated = np.isin(values, (-128, 127)).mean()
        assert saturated < 0.6, f"{tensor.name}: {saturated:.2f}"


def multiplications(model: Model) -> int:
    """Products of convolutions and fully connected layers."""
    total = 0
    for operator in model.operators:
        if operator.kind in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            weights, out = (model.tensors[n].shape for n in (operator.inputs[1], operator.outputs[0]))
            total += math.prod(weights) * math.prod(out[1:-1])
    return total


LAYERS: dict[str, dict[str, int]] = {
    "mobilenet": {
        **{"PAD": 4, "CONV_2D": 17, "DEPTHWISE_CONV_2D": 8, "ADD": 4},
        **{"MEAN": 1, "FULLY_CONNECTED": 1, "SOFTMAX": 1},
    },
    "heatmap": {
        **{"CONV_2D": 13, "DEPTHWISE_CONV_2D": 8, "ADD": 1, "RESIZE_BILINEAR": 3},
        **{"QUANTIZE": 3, "CONCATENATION": 4, "LOGISTIC": 1, "DEQUANTIZE": 1},
    },
    "detector": {
        **{"CONV_2D": 13, "LEAKY_RELU": 7, "MAX_POOL_2D": 3, "ADD": 2, "DEPTHWISE_CONV_2D": 2},
        **{"RESIZE_NEAREST_NEIGHBOR": 1, "QUANTIZE": 5, "CONCATENATION": 4, "RESHAPE": 4, "LOGISTIC": 1},
    },
}


@each
def test_layers(name: str) -> None:
    model = tflite.read(path_of(name))
    assert Counter(operator.kind for operator in model.operators) == LAYERS[name]
    readme = (ROOT / name / "README.md").read_text(encoding="utf-8")
    for kind in LAYERS[name]:
        assert kind in readme
    assert f"{path_of(name).stat().st_size} bytes" in readme
    assert f"{multiplications(model) / 1e6:.1f} million" in readme
    for number in model.outputs:
        tensor = model.tensors[number]
        assert f"`{tensor.name}`, {tensor.dtype} {'x'.join(map(str, tensor.shape))}" in readme


def test_sizes() -> None:
    assert 10e6 <= multiplications(tflite.read(path_of("mobilenet"))) <= 20e6
    outputs = tflite.read(path_of("heatmap")).outputs
    assert [tflite.read(path_of("heatmap")).tensors[n].dtype for n in outputs] == ["float32"]
    assert len(tflite.read(path_of("detector")).outputs) == 2


@pytest.mark.long
def test_they_do_what_the_readme_says() -> None:
    """Far more often than chance, and as often as written there."""
    readmes = {name: (ROOT / name / "README.md").read_text(encoding="utf-8") for name in MODELS}
    correct = mobilenet.accuracy(path_of("mobilenet").read_bytes())
    assert correct >= 70
    assert f"{correct} of {mobilenet.HELD_OUT} held-out" in readmes["mobilenet"]
    found, joints = heatmap.hits(path_of("heatmap").read_bytes())
    assert found >= 0.9 * joints
    assert f"{found} of {joints} held-out" in readmes["heatmap"]
    right, pictures, error = detector.hits(path_of("detector").read_bytes())
    assert right >= 0.8 * pictures
    assert f"{right} of {pictures} held-out" in readmes["detector"]
    assert f"{error:.1f} pixels" in readmes["detector"]


@pytest.mark.parametrize(
    ("module", "source"), [(mobilenet, mobilenet.dataset), (heatmap, figures.dataset), (detector, scenes.dataset)]
)
def test_held_out_pictures_are_not_the_training_ones(module: ModuleType, source: object) -> None:
    training, held_out, golden = (
        {picture.tobytes() for picture in source(50, seed)[0]}
        for seed in (module.SEED_TRAINING, module.SEED_HELD_OUT, module.SEED_GOLDEN)
    )
    assert len(training | held_out | golden) == 150


@pytest.mark.needs("ai_edge_litert")
@each
def test_calibration_computes_nearly_what_litert_does(name: str) -> None:
    """One rounding in place of two: errors of a step, which grow a little from layer to layer."""
    net: Network = MODELS[name].backbone()[0]
    model = tflite.read(path_of(name))
    numbers = {tensor.name: tensor.index for tensor in model.tensors}
    pictures = (net.values[net.input][:2] + net.zero(net.input)).astype(np.int8)
    traced = oracle.trace(path_of(name), [[picture[np.newaxis]] for picture in pictures])
    for layer, value in net.values.items():
        title = net.writer.tensors[layer].name
        real = np.concatenate([one[numbers[title]] for one in traced]).astype(np.int64) - net.zero(layer)
        assert np.abs(real - value[:2]).mean() < 3, title
        assert np.array_equal(net.run(pictures, layer), value[:2]), title


def test_solve() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(-50, 51, (40, 9))
    matrix = rows.T @ rows
    wanted = rng.integers(-9, 10, (9, 3))
    assert np.allclose(readout.solve(matrix, matrix @ wanted), wanted, atol=1e-9)


def test_ridge_finds_a_line_and_heeds_weights() -> None:
    features = np.arange(20, dtype=np.int64)[:, np.newaxis]
    targets = 3 * features - 7
    weights, bias = readout.ridge(features, targets, np.ones(20, np.int64), damping=0)
    assert np.allclose([weights[0, 0], bias[0]], [3, -7])
    targets[-1] = 1000
    weights, bias = readout.ridge(features, targets, np.array([1] * 19 + [0]), damping=0)
    assert np.allclose([weights[0, 0], bias[0]], [3, -7])


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_same_padding_covers_the_picture(size: int, kernel: int, stride: int) -> None:
    before, behind = layers.same_padding(size, kernel, stride)
    assert 0 <= behind - before <= 1
    out = -(-size // stride)
    assert (size + before + behind - kernel) // stride + 1 == out or kernel < stride


def test_bilinear_of_a_ramp() -> None:
    ramp = np.arange(4, dtype=np.float64).reshape(1, 4, 1, 1) * 4
    assert layers.bilinear_twice(ramp)[0, :, 0, 0].tolist() == [0, 1, 3, 5, 7, 9, 11, 12]


@pytest.mark.parametrize("kind", shapes.KINDS)
def test_shapes_fill_their_box_and_nothing_else(kind: str) -> None:
    lines = np.arange(-15, 16)
    inside = shapes.mask(kind, lines[np.newaxis, :], lines[:, np.newaxis], 10)
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (5, 25, 5, 25)
    assert 0.2 < inside.sum() / 441 <= 1


def test_scenes_have_objects_that_do_not_touch() -> None:
    _, things = scenes.dataset(200, 5)
    assert {len(some) for some in things} >= {1, 2, 3}
    assert {thing.kind for some in things for thing in some} == {0, 1, 2}
    for some in things:
        for number, thing in enumerate(some):
            assert thing.radius <= min(thing.row, thing.column)
            assert max(thing.row, thing.column) + thing.radius < scenes.SIZE + 1
            for other in some[:number]:
                apart = max(abs(thing.row - other.row), abs(thing.column - other.column))
                assert apart > thing.radius + other.radius
