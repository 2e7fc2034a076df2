"""Operators of ONNX models against onnxruntime with its optimizations off: random ones, run natively; our own ones."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write
from support.host_c import native

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
from onnx import helper, numpy_helper

import vectors
from support.cases.onnx_draws import OPERATORS, Drawn, Writer
from support.cases.onnx_small import SMALL
from support.models import onnx_oracle
from support.models.onnx_twins import channels_first, twin

ROOT = Path(__file__).parents[3]
MPOOL = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
SEED = 19
# Of each operator; how many the environment asks for, in one model for each hundred.
COUNT = int(os.environ.get("NEURALART_ONNX_CASES", "3"))
OPSETS = (17, 13, 21, 11)

pytestmark = [
    pytest.mark.hostcc,
    pytest.mark.long,
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


def drawn(number: int) -> tuple[bytes, list[Drawn]]:
    """A model with cases of every operator side by side."""
    cases, opset = [], OPSETS[number % len(OPSETS)]
    writer = Writer(np.random.default_rng(SEED), opset)
    for name, draw in OPERATORS.items():
        if (opset < 14 and name in ("HardSwish",)) or (opset < 13 and name in ("ReduceMean", "Resize")):
            continue
        writer.rng = np.random.default_rng([SEED, zlib.crc32(name.encode()), number])
        cases += [draw(writer) for _ in range(min(COUNT, 20) if number else COUNT if COUNT < 20 else 20)]
    return writer.finish(cases), cases


def compiled(folder: Path, name: str, model: bytes) -> Path:
    path = folder / f"{name}.onnx"
    path.write_bytes(model)
    write(compile_network(CompileRequest(model=path, mpool=MPOOL, name=name, report=False)), folder / name)
    return folder / name


def test_results_are_those_of_onnxruntime(tmp_path: Path) -> None:
    models = [drawn(number) for number in range(max(1, COUNT // 20) if COUNT >= 20 else 1)]
    folders = [compiled(tmp_path, f"case{number}", model) for number, (model, _) in enumerate(models)]
    found, varied = [], 0
    for (model, cases), network in zip(models, native.build(folders, tmp_path), strict=True):
        inputs = [value for case in cases for value in case.values]
        (want,), (got,) = onnx_oracle.run(model, [inputs]), network.run([inputs])
        for case, expected, actual in zip(cases, want, got, strict=True):
            varied += len(np.unique(expected)) > 2
            assert expected.shape == actual.shape, case.text
            most = int(np.abs(expected.astype(int) - actual.astype(int)).max())
            if most > case.steps:
                found.append(f"{case.text}: {most} steps")
    assert not found, f"{len(found)}: " + "\n".join(found[:20])
    assert varied > 0.6 * sum(len(cases) for _, cases in models)


def test_ends_in_float(tmp_path: Path) -> None:
    """Behind the last DequantizeLinear: what it means is taken from a table, or computed."""
    names = [f"norm_{each}" for each in ("gain", "offset", "mean", "variance")]
    tails = {
        "sigmoid": [helper.make_node("Sigmoid", ["last"], ["y"])],
        "table": [helper.make_node("Exp", ["last"], ["e"]), helper.make_node("Sqrt", ["e"], ["y"])],
        "normalized": [helper.make_node("BatchNormalization", ["last", *names], ["y"])],
    }
    models = {}
    for name, nodes in tails.items():
        model = onnx.ModelProto.FromString(SMALL)
        model.graph.node[-1].output[0] = "last"
        model.graph.node.extend(nodes)
        for each in names:
            values = np.float32([0.3, 2.0] if each in names[::3] else [-0.7, 0.1])
            model.graph.initializer.append(numpy_helper.from_array(values, each))
        models[name] = model.SerializeToString()
    folders = [compiled(tmp_path, name, data) for name, data in models.items()]
    inputs = [np.random.default_rng(SEED).normal(0, 3, (1, 2, 4, 4)).astype(np.float32)]
    for (name, data), network in zip(models.items(), native.build(folders, tmp_path), strict=True):
        (want,), (got,) = onnx_oracle.run(data, [inputs]), network.run([inputs])
        np.testing.assert_allclose(got[0], want[0], rtol=2e-6, atol=1e-6, err_msg=name)
        assert len(np.unique(want[0])) > 5


def test_twins_of_our_models_give_the_bytes_of_the_tflite(tmp_path: Path) -> None:
    names = ("detector", "digits", "heatmap", "mobilenet")
    models = {name: ROOT / "models" / name / f"{name}.tflite" for name in names}
    folders = [compiled(tmp_path, name, twin(path)) for name, path in models.items()]
    for path, network in zip(models.values(), native.build(folders, tmp_path), strict=True):
        inputs, outputs, _ = vectors.read(path.parent / "vectors")
        found = network.run([[channels_first(value) for value in vector] for vector in inputs[:2]])
        for want, got in zip(outputs, found, strict=False):
            assert [channels_first(value).tobytes() for value in want] == [value.tobytes() for value in got], path
