"""``neuralart npu`` as users call it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.npu.run import load
from neuralart_virtual.validation.onnx_reference import OnnxReference
from neuralart_virtual.vectors import expected
from neuralart_virtual.virtual_npu import NO_REFERENCE, within
from support.cases.small_models import one_op
from support.npu import npu_network as made

SAYS = "the virtual NPU executes the compiled network; {}; a model, not the chip; no time"


def call(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """Output of a call; of one that is refused its message."""
    assert cli.main(["npu", *map(str, words)]) == code
    out, err = capsys.readouterr()
    return err if code else out


@pytest.mark.parametrize("controller", [False, True])
def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], controller: bool) -> None:
    path = made.write(tmp_path, controller=controller)
    (tmp_path / "image.bin").write_bytes(made.image())
    out = call(capsys, path, "--input", f"image={tmp_path}/image.bin", "-o", tmp_path / "out")
    lines = out.splitlines()
    assert lines[0] == "made: 4 epochs on the NPU, 2 in software, 10944 products"
    assert lines[1].startswith("output scores: float32 1x1x1x8: ") and lines[2:] == [SAYS.format(NO_REFERENCE)]
    scores = np.load(tmp_path / "out" / "scores.npy")
    assert scores.shape == (1, 1, 1, 8) and abs(scores.sum() - 1) < 1e-6


def test_how_far_from_litert_is_said() -> None:
    assert within("ai-edge-litert 2.20 BUILTIN_REF", 1, None) == "within 1 step of LiteRT"
    assert within("model.tflite, computed by ai-edge-litert 2.20", 0, 0.25) == (
        "within 0 steps and 0.25 of LiteRT, in real numbers"
    )
    assert within("onnxruntime 1.22.0", 2, None) == "within 2 steps of onnxruntime"
    others = "within 3 steps of outputs by virtual NPU of scons-neuralart 1; not compared with LiteRT: no reference"
    assert within("virtual NPU of scons-neuralart 1, compile 00", 3, None) == others
    assert within("", 3, None).startswith("within 3 steps of outputs by an unknown source; not compared with LiteRT")


def test_a_model_beside_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only one, if its inputs and outputs are those of the network; others are of another network."""
    path = made.write(tmp_path, controller=False)
    shape = (1, made.SIDE, made.SIDE, made.DEPTH)
    (tmp_path / "model.tflite").write_bytes(one_op("RELU", [shape], [shape], out_zero=-128))
    assert SAYS.format(NO_REFERENCE) in call(capsys, path)
    ours = np.load(written(tmp_path, path, capsys))
    given = Port("in", "", 0, made.IN_ELEMENTS, shape, "int8", 1.0, 0)
    results = Port("out", "", 0, 4 * made.COUNT, (1, made.COUNT), "float32", 0.0, 0)
    monkeypatch.setattr(expected, "has_litert", lambda: True)
    monkeypatch.setattr(expected, "ports", lambda graph, tensors: (given,) if tensors == graph.inputs else (results,))
    found = expected.ExpectedOutputs("ai-edge-litert 1", ((ours + np.float32(0.25)).tobytes(),))
    monkeypatch.setattr(expected, "by_litert", lambda *_: found)
    words = "within 0.25 of LiteRT, in real numbers"
    assert call(capsys, path).splitlines()[-1] == SAYS.format(words)
    assert words in json.loads(call(capsys, path, "--json"))["says"]
    (tmp_path / "second.tflite").write_bytes(b"")
    assert SAYS.format(NO_REFERENCE) in call(capsys, path)


def written(folder: Path, path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    call(capsys, path, "-o", folder / "ours")
    return folder / "ours" / "scores.npy"


def test_inputs_of_numpy_and_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same bytes in both forms; noise depends on the seed alone, and is named."""
    path = made.write(tmp_path, controller=False)
    (tmp_path / "image.bin").write_bytes(made.image())
    np.save(tmp_path / "image.npy", np.frombuffer(made.image(), np.int8).reshape(1, 6, 6, 4))
    given = [call(capsys, path, "--input", f"image={tmp_path}/image.{kind}") for kind in ("bin", "npy")]
    assert given[0] == given[1] and "noise" not in given[0]
    drawn = [call(capsys, path, "--seed", seed) for seed in (1, 1, 2)]
    assert "input image is noise: give --input image=FILE" in drawn[0]
    assert drawn[0] == drawn[1] != drawn[2]


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=True)
    record: dict[str, Any] = json.loads(call(capsys, path, "--json", "--assume", "POOL.TYPE=2"))
    assert (record["schema"], record["network"], record["noise"]) == ("neuralart-npu-1", "made", ["image"])
    assert record["assumptions"] == [], "one that was not needed is not named"
    epochs = record["epochs"]
    assert [epoch["epoch"] for epoch in epochs] == ["1", "2", "3", "4", "5", "6"]
    assert epochs[1]["products"] == 10368 and epochs[1]["hardware"] and not epochs[5]["hardware"]
    assert epochs[1]["units"] == ["STRENG2", "STRENG7", "STRENG8", "CONVACC1", "ARITH0", "ARITH3", "POOL1"]
    assert epochs[0]["buffers"] == [{"address": made.RAM + made.COPY, "bytes": made.IN_ELEMENTS}]
    assert record["outputs"]["scores"]["shape"] == [1, 1, 1, 8]
    assert len(record["outputs"]["scores"]["values"]) == 8


def test_weights_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path / "net", controller=False)
    first = call(capsys, path)
    moved = tmp_path / "weights.bin"
    (tmp_path / "net" / "made_atonbuf.xSPI2.raw").rename(moved)
    assert call(capsys, path, "--raw", f"xSPI2={moved}") == first
    data = bytearray(moved.read_bytes())
    data[made.KERNELS : made.KERNELS + 64] = bytes(64)
    moved.write_bytes(bytes(data))
    assert call(capsys, path, "--raw", f"xSPI2={moved}") != first, "other weights give other outputs"


def test_ties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=False)
    outputs = [
        [call(capsys, path, "--ties", rule, "--json", "--seed", seed) for seed in range(12)]
        for rule in ("away", "even")
    ]
    assert outputs[0] != outputs[1]
    said = call(capsys, path, "--ties", "up", "--ties", "average=away").splitlines()
    assert "ties are rounded by --ties up average=away" in said


def test_beside_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model whose input is that of the network: the copy of epoch 1 pairs with it."""
    pytest.importorskip("ai_edge_litert")
    path = made.write(tmp_path, controller=False)
    (tmp_path / "image.bin").write_bytes(made.image())
    shape = (1, made.SIDE, made.SIDE, made.DEPTH)
    model = tmp_path / "model.tflite"
    model.write_bytes(one_op("RELU", [shape], [shape], out_zero=-128))
    out = call(capsys, path, "--input", f"image={tmp_path}/image.bin", "--model", model, "--force")
    lines = out.splitlines()
    assert lines[0] == "layers     no tensor differs from the reference by more than is allowed"
    assert lines[2].split() == ["1", "in0", "int8", "1x6x6x4", "100.00", "%", "1.00", "0", "0", "0"], out
    assert lines[3].split()[:4] == ["2", "0x342e0200", "8", "bits"] and "like no tensor of the model" in lines[3]


def test_beside_a_model_that_takes_real_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The compile was told to take bytes: the model gets what they stand for."""
    pytest.importorskip("ai_edge_litert")
    path = made.write(tmp_path, controller=False)
    arrays = "static const float scales[] = { 0.5 };\n  static const int16_t zeros[] = { 3 };\n  "
    text = path.read_text("utf-8").replace(
        "static const uint32_t shape_input", f"{arrays}static const uint32_t shape_input", 1
    )
    path.write_text(
        text.replace('.name = "image",', '.name = "image",\n      .scale = scales,\n      .offset = zeros,', 1)
    )
    (tmp_path / "image.bin").write_bytes(made.image())
    shape = (1, made.SIDE, made.SIDE, made.DEPTH)
    model = tmp_path / "model.tflite"
    how = {"dtype": "float32", "out_dtype": "int8", "out_scale": 0.5, "out_zero": 3}
    model.write_bytes(one_op("QUANTIZE", [shape], [shape], **how))
    out = call(capsys, path, "--input", f"image={tmp_path}/image.bin", "--model", model, "--force")
    assert out.splitlines()[2].split()[:6] == ["1", "out0", "int8", "1x6x6x4", "100.00", "%"], out


def onnx_model(path: Path, scale: float = 0.5, zero: int = 3) -> Path:
    """Real numbers, channels first, to bytes without sign, which is 128 above the network's input; then real again."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make, numbers = onnx.helper, onnx.numpy_helper.from_array
    shape = [1, made.DEPTH, made.SIDE, made.SIDE]
    nodes = [
        make.make_node("QuantizeLinear", ["x", "s", "z"], ["first"]),
        make.make_node("DequantizeLinear", ["first", "s", "z"], ["y"]),
    ]
    constants = [numbers(np.array(scale, np.float32), "s"), numbers(np.array(zero + 128, np.uint8), "z")]
    ends = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in "xy"]
    graph = make.make_graph(nodes, "small", ends[:1], ends[1:], constants)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8), str(path))
    return path


def quantized(path: Path) -> Path:
    """The network with a quantization of its input: scale 0.5, zero point 3."""
    text = path.read_text("utf-8")
    row = text.index('.name = "image"')
    row = text.index(".nbits = 8,", row)
    text = text[:row] + ".scale = scale_input,\n      .offset = offset_input,\n      " + text[row:]
    lists = "static const float scale_input[] = { 0.5 };\nstatic const int16_t offset_input[] = { 3 };\n"
    at = text.index("  static const uint32_t shape_input")
    path.write_text(text[:at] + lists + text[at:], encoding="utf-8")
    return path


@pytest.mark.needs("onnx", "onnxruntime")
def test_beside_onnxruntime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tensors by their names in the model; the network has its channels last."""
    path, model = quantized(made.write(tmp_path, controller=False)), onnx_model(tmp_path / "model.onnx")
    (tmp_path / "image.bin").write_bytes(made.image())
    given = ("--input", f"image={tmp_path}/image.bin")
    for force in ((), ("--force",)):
        lines = call(capsys, path, *given, "--model", model, *force).splitlines()
        assert lines[0] == "layers     no tensor differs from the reference by more than is allowed"
        assert lines[2].split() == ["1", "first", "int8", "1x6x6x4", "100.00", "%", "1.00", "0", "0", "0"], lines
    first = next(
        OnnxReference(model, [Port("image", "", 0, made.IN_ELEMENTS, (1, 6, 6, 4), "int8", 0.5, 3)]).tensors(
            [made.image()]
        )
    )["first"]
    assert first.scale == 0.5 and first.values.tobytes() == np.frombuffer(made.image(), np.int8).astype("<i2").tobytes()


@pytest.mark.needs("onnx", "onnxruntime")
def test_onnx_models_that_are_refused(tmp_path: Path) -> None:
    model, port = onnx_model(tmp_path / "m.onnx"), Port("image", "", 0, 144, (1, 6, 6, 4), "int8", 0.5, 3)
    with pytest.raises(NeuralArtError, match=r"has 1 inputs, the network 2 \(is it the model of this compile\?\)"):
        OnnxReference(model, [port, port])
    with pytest.raises(NeuralArtError, match="input x is 1x4x6x6, that of the network 1x144"):
        next(OnnxReference(model, [replace(port, shape=(1, 144))]).tensors([bytes(144)]))
    with pytest.raises(NeuralArtError, match="output y is 1x4x6x6, that of the network 1x8"):
        OnnxReference(model, [port]).outputs_of([bytes(144)], [replace(port, shape=(1, 8))])
    for content in (b"", b"\x08\x99", model.read_bytes()[:40]):
        (tmp_path / "bad.onnx").write_bytes(content)
        with pytest.raises(NeuralArtError, match=r"bad\.onnx: onnxruntime cannot run it: "):
            OnnxReference(tmp_path / "bad.onnx", [port])


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *words: object) -> str:
    text = call(capsys, *words, code=1)
    assert text.startswith("neuralart npu: error: ") and text.count("\n") == 1, text
    return text.replace(str(folder), "DIR")


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=False)
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY")
    cases = {
        ("--feed-reference",): "--feed-reference needs the model that the reference comes from (give --model)",
        ("--ties", "odd"): "--ties: no tie rule is called 'odd' (known: away, even, up)",
        ("--ties", "averege=up"): "--ties: no stage is called 'averege' (did you mean 'average'? known: activation, ",
        ("--assume", "POOL.TYPE=7"): "nothing to assume is called 'POOL.TYPE=7' (did you mean 'POOL.TYPE=",
        ("--input", f"image={tmp_path}/none.bin"): "none.bin",
        ("--input", f"image={tmp_path}/bad.npy"): "DIR/bad.npy: not a file of NumPy: ",
        ("--input", f"photo={path}"): "made.c: no input is called 'photo' (image)",
        ("--raw", f"xSPI7={path}"): "made.c: no pool is called 'xSPI7' (AXISRAM5, xSPI2)",
        ("-o", path): "no folder: ",
    }
    for words, said in cases.items():
        assert said in refused(tmp_path, capsys, path, *words), words
    assert "not a generated network" in refused(tmp_path, capsys, tmp_path / "made_atonbuf.xSPI2.raw")
    assert "nothing.c" in refused(tmp_path, capsys, tmp_path / "nothing.c")


@pytest.mark.needs("ai_edge_litert")
def test_the_model_of_another_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=False)
    other = tmp_path / "other.tflite"
    other.write_bytes(one_op("RELU", [(1, 2, 2, 1)], [(1, 2, 2, 1)]))
    said = "DIR/other.tflite: the model has inputs of [4] bytes, the network's own are [144] (is it"
    assert said in refused(tmp_path, capsys, path, "--model", other)


def test_without_numpy(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = made.write(tmp_path, controller=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    text = refused(tmp_path, capsys, path)
    assert "the virtual NPU needs NumPy: " in text and "pip install 'scons-neuralart[npu]'" in text


def test_a_mode_that_stops_is_told_with_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made.write(tmp_path, controller=False)
    text = path.read_text("utf-8").replace("operation = POOL_MAX", "operation = POOL_MIN")
    path.write_text(text, encoding="utf-8")
    said = refused(tmp_path, capsys, path)
    assert "made.c: epoch 2: POOL1 CTRL (0x000) TYPE = 1: " in said and "--assume POOL.TYPE=1" in said
    out = call(capsys, path, "--assume", "POOL.TYPE=1")
    assert "assumed POOL.TYPE=1: the minimum of the window; padding never wins" in out.splitlines()


# ---- golden vectors ----


def vectors(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """Output of ``neuralart vectors``; of a call that is refused its message."""
    assert cli.main(["vectors", *map(str, words)]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_outputs_as_golden_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They say which compile and which rules they are of; another compile has another hash."""
    stamps = []
    for name in ("one", "two", "other"):
        path = made.write(tmp_path / name, controller=name == "two")
        if name == "other":
            raw = tmp_path / name / "made_atonbuf.xSPI2.raw"
            raw.write_bytes(bytes(64) + raw.read_bytes()[64:])
        said = vectors(capsys, path, "--from-npu", "--random", 3, "-o", tmp_path / f"golden-{name}")
        assert "3 vectors, outputs by virtual NPU of scons-neuralart " in said
        found = golden.load(tmp_path / f"golden-{name}")
        stamps.append(found.oracle.split("compile ")[1])
        network = load(path)
        network.set_input("image", found.input_data[2])
        assert network.run().outputs["scores"].tobytes() == found.output_data[2]
    assert len(set(stamps)) == 3
    assert [(tensor.name, tensor.dtype) for tensor in (*found.inputs, *found.outputs)] == [
        ("image", "int8"),
        ("scores", "float32"),
    ]
    words = (tmp_path / "one" / "made.c", "--from-npu", "--random", 1, "-o", tmp_path / "golden-one")
    assert "golden-one/vectors.json" in vectors(capsys, *words, code=1), "nothing is replaced"
    vectors(capsys, *words, "--force", "--ties", "even")
    oracle = golden.load(tmp_path / "golden-one").oracle
    assert oracle.endswith(f"compile {stamps[0]}, ties are rounded by --ties even")


def test_golden_vectors_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = made.write(tmp_path, controller=False), tmp_path / "golden"
    for words, said in {
        (path, "--from-npu"): "no inputs (name files of inputs, or --random N)",
        (path, "--from-npu", "--random", 1, "--cut", "x"): "--from-npu and --cut (the network is compiled already",
        (path, "--random", 1, "--ties", "up"): "--assume and --ties: it is of the virtual NPU (--from-npu)",
        (tmp_path / "no.c", "--from-npu", "--random", 1): "no.c: cannot read",
        (path, "--from-npu", "--random", 1, "--assume", "A.B=1"): "nothing to assume is called 'A.B=1'",
        ("a-variant", "--from-npu", "--random", 1, "--variants", tmp_path / "v.yaml"): "v.yaml: cannot read",
    }.items():
        text = vectors(capsys, *words, "-o", out, code=1)
        assert said in text and text.count("\n") == 1, text
        assert not out.exists()
    monkeypatch.setitem(sys.modules, "numpy", None)
    text = vectors(capsys, path, "--from-npu", "--random", 1, "-o", out, code=1)
    assert text.count("\n") == 1 and "the virtual NPU needs the Python package numpy" in text
