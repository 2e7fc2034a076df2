"""Models that end at tensors: what goes, what stays, names that are wrong, and who takes a cut."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from neuralart import cli, config
from neuralart.errors import NeuralArtError
from neuralart_insight.lint import gather
from neuralart_reference.lower import lower
from neuralart_reference.model import cut, reader, tflite
from neuralart_reference.model.graph import Model
from neuralart_virtual.validation import reference
from neuralart_virtual.vectors import expected
from support.cases import onnx_small
from support.host_c import native
from support.models.ssd import CUSTOM, detector
from support.servers.messages import flat
from tflite_writer import ModelWriter

litert = pytest.mark.needs("ai_edge_litert")


def ended(*names: str, data: bytes = b"") -> Model:
    return tflite.parse(tflite.ended(data or detector(), "m.tflite", names), "m.tflite", "m")


def names(model: Model, tensors: tuple[int, ...]) -> list[str]:
    return [model.tensors[number].name for number in tensors]


# ---- graphs


def test_what_goes_and_what_stays() -> None:
    model = ended("scores", "boxes")
    assert (names(model, model.inputs), names(model, model.outputs)) == (["image"], ["scores", "boxes"])
    kinds = ["CONV_2D", "CONV_2D", "RESHAPE", "CONV_2D", "RESHAPE", "LOGISTIC"]
    assert [op.kind for op in model.operators] == kinds
    assert [op.kind for op in ended("features").operators] == ["CONV_2D"]
    # An end in the middle, and one behind it.
    both = ended("features", "box_head")
    assert [op.kind for op in both.operators] == ["CONV_2D", "CONV_2D"] and len(both.outputs) == 2


def test_what_is_behind_the_end_may_be_anything() -> None:
    """Open sizes, further graphs; nothing of it is looked at."""
    data = detector(open_ends=True)
    model = ended("boxes", data=data)
    assert names(model, model.outputs) == ["boxes"]
    writer = ModelWriter()
    x, y, z = (writer.tensor(name, (4,), "int8", 0.5) for name in "xyz")
    writer.op("RELU", [x], [y])
    writer.op("WHILE", [y], [z])
    assert len(ended("y", data=writer.finish([x], [z], subgraphs=3)).operators) == 1


@litert
def test_litert_takes_the_bytes() -> None:
    import oracle

    image = np.random.default_rng(1).integers(-128, 128, (1, 16, 16, 3)).astype(np.int8)
    wanted = oracle.run(detector(whole=False), [[image, np.zeros(1, np.float32)]])[0]
    found = oracle.run(tflite.ended(detector(), "m", ("anchors", "boxes", "scores")), [[image]])[0]
    assert [each.tobytes() for each in found] == [wanted[at].tobytes() for at in (2, 0, 1)]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["box"], "cut: no tensors that operators compute are called 'box' (did you mean 'boxes' or 'box_head'?)"),
        (["image"], "cut: no tensors that operators compute are called 'image'"),
        (["anchor"], "are called 'anchor' (did you mean 'anchors' or "),
        (["boxes", ""], "are called ''"),
        (["zzzzzzzzz"], "are called 'zzzzzzzzz'"),
        (["boxes", "boxes"], "tensor 9 'boxes' is listed twice among the outputs"),
    ],
)
def test_names_that_are_wrong(wrong: list[str], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        ended(*wrong)
    assert said in flat(str(caught.value)) and str(caught.value).startswith("m.tflite")


def test_names_with_commas_and_names_of_several() -> None:
    made = {"a": [1], "a,b": [2], "c": [3, 4]}
    assert cut.chosen(["a", "b", "a"], made, "m") == [2, 1]
    with pytest.raises(NeuralArtError, match="2 tensors that operators compute are called 'c'"):
        cut.chosen(["a", "c"], made, "m")


@pytest.mark.parametrize("length", [0, 7, 40, 300, -200])
def test_files_that_are_no_models(length: int) -> None:
    with pytest.raises(NeuralArtError):
        tflite.parse(tflite.ended(detector()[:length], "m", ("boxes",)), "m", "m")


# ---- proposals


def refusal(model: Model) -> str:
    with pytest.raises(NeuralArtError) as caught:
        lower(model)
    return flat(str(caught.value))


def test_a_custom_operator_proposes_the_cut_that_works() -> None:
    said = refusal(tflite.parse(detector(), "m.tflite", "m"))
    assert said.startswith(f"m.tflite: operator 8 ({CUSTOM}): operator is not supported: 'boxes' int8[1, 128, 4], ")
    assert said.endswith('(end it in front of them: cut: {outputs: ["boxes", "scores", "anchors"]}, or --cut)')
    assert len(lower(ended("boxes", "scores", "anchors")).outputs) == 3


def test_no_cut_is_proposed_where_none_works() -> None:
    """In front of most operators, of names that are not unique, or because of an operator that is known."""
    for middle, kinds in (("a", ["UNIQUE", "RELU", "RELU"]), ("x1", ["RELU", "UNIQUE"]), ("a", ["RELU", "LOGISTIC"])):
        writer = ModelWriter()
        last = first = writer.tensor("x0", (4,), "int8", 0.5)
        for number, kind in enumerate(kinds):
            dtype = "float32" if kind == "LOGISTIC" else "int8"
            name = middle if number == 0 else "x1"
            made = writer.tensor(name, (4,), dtype, 0.5 if dtype == "int8" else None)
            writer.op(kind, [last], [made])
            last = made
        assert "cut:" not in refusal(tflite.parse(writer.finish([first], [last]), "m.tflite", "m"))


# ---- commands


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the detector and a project that cuts it."""
    (tmp_path / "ssd.tflite").write_bytes(detector())
    (tmp_path / "variants.yaml").write_text(
        "schema: 1\nnetworks:\n  ssd:\n    model: ssd.tflite\n    cut: {outputs: [boxes, scores]}\n"
        "variants:\n  v: {board: mps3-an547, network: ssd}\n  whole: {board: mps3-an547, network: ssd, overrides: "
        "{ssd: {cut: {outputs: []}}}}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compile(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", "--model", "ssd.tflite", "--target", "mps3-an547", "--quiet"]
    assert cli.main([*words, "--output", "whole"]) == 1
    assert "cut: {outputs:" in capsys.readouterr().err and not (here / "whole").exists()
    assert cli.main([*words, "--output", "out", "--cut", "boxes,scores"]) == 0
    facts = json.loads((here / "out" / "network.json").read_text("utf-8"))
    assert [port["name"] for port in facts["outputs"]] == ["boxes", "scores"]
    assert [port["name"] for port in facts["inputs"]] == ["image"]
    assert "--cut-output-tensors boxes,scores" in (here / "out" / "network_generate_report.txt").read_text("utf-8")
    assert cli.main([*words, "--output", "out", "--cut", "boxs"]) == 1
    assert (
        "ssd.tflite: cut: no tensors that operators compute are called 'boxs' (did you mean" in capsys.readouterr().err
    )


@litert
def test_vectors(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["vectors", "ssd.tflite", "--random", "2", "--output"]
    assert cli.main([*words, "a"]) == 1
    assert "LiteRT cannot run it" in capsys.readouterr().err
    assert cli.main([*words, "b", "--variants", "variants.yaml"]) == 0
    assert cli.main([*words, "c", "--cut", "boxes,scores"]) == 0
    found = [(here / folder / "outputs.bin").read_bytes() for folder in "bc"]
    assert found[0] == found[1] and len(found[0]) == 2 * (128 * 4 + 128 * 3)


@litert
def test_reference_of_a_validation(here: Path) -> None:
    path = Path("ssd.tflite")
    model = reader.read(path, cut=("boxes",))
    inputs, outputs = (expected.ports(model, side) for side in (model.inputs, model.outputs))
    who, found = reference.by_model(path, inputs, outputs, [bytes(16 * 16 * 3)], ("boxes",))
    assert who.startswith("ssd.tflite, computed by ai-edge-litert") and len(found[0][0]) == 128 * 4


def test_lint(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lint", "v"]) == 0
    capsys.readouterr()
    assert cli.main(["lint", "whole"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("variants.yaml:4: error: operator is not supported: 'boxes'") and "[refused-model]" in said
    bag = gather.Bag()
    gather.add(bag, [Path("ssd.tflite")])
    assert [(each.level, each.where) for each in bag.findings] == [("warning", "ssd.tflite")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("boxes", "cut: "),
        ("{}", "cut has no 'outputs' ({outputs: [NAME, ...]})"),
        ("{inputs: [a]}", "unknown key 'inputs' in "),
        ("{outputs: boxes}", "cut.outputs"),
        ("{outputs: [a, a]}", "'a' is named twice"),
        ("{outputs: ['']}", "cut.outputs"),
    ],
)
def test_keys_that_are_wrong(here: Path, text: str, said: str) -> None:
    path = here / "variants.yaml"
    path.write_text(path.read_text("utf-8").replace("{outputs: [boxes, scores]}", text), "utf-8")
    with pytest.raises(NeuralArtError) as caught:
        config.read(Path("variants.yaml"))
    assert said in flat(str(caught.value)) and str(caught.value).startswith("variants.yaml:5")


# ---- ONNX


def test_onnx(tmp_path: Path) -> None:
    """At the float result of the convolution, whose scale only the QuantizeLinear behind it tells."""
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "small.onnx"
    path.write_bytes(onnx_small.SMALL)
    model = reader.read(path, cut=("c",))
    assert names(model, model.outputs) == ["c"] and lower(model).outputs
    with pytest.raises(NeuralArtError, match="are called 'x'"):
        reader.read(path, cut=("x",))
    made = onnx.ModelProto.FromString(onnx_small.SMALL)
    made.graph.node.append(onnx.helper.make_node("Decode", ["y"], ["found"], domain="mine"))
    made.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    made.graph.output[0].name = "found"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(NeuralArtError) as caught:
        reader.read(path)
    assert "1 Decode (of domain mine): 'found'" in str(caught.value)
    assert caught.value.hint == 'end it in front of them: cut: {outputs: ["y"]}, or --cut'
    model = reader.read(path, cut=("y",))
    assert names(model, model.outputs) == ["y"] and lower(model).outputs
    path.write_bytes(b"\x08\x08\x12\xff")
    with pytest.raises(NeuralArtError, match="not an ONNX model"):
        reader.read(path, cut=("y",))


@litert
def test_a_quantized_dimension_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older converters copied that of the weights to the bias (person_detect.tflite has it): LiteRT refuses it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neuralart_virtual.emulator.native.runtime_objects", lambda work, _: native.runtime(work))
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4), "int8", 0.02, -5), writer.tensor("y", (1, 2), "int8", 0.05, 3)
    weights = writer.tensor("w", (2, 4), "int8", 0.01, 0, np.arange(8).reshape(2, 4))
    bias = writer.tensor("b", (2,), "int32", 0.0002, 0, np.array([5000, -5000]), axis=3)
    writer.op("FULLY_CONNECTED", [x, weights, bias], [y])
    Path("old.tflite").write_bytes(writer.finish([x], [y]))
    assert cli.main(["vectors", "old.tflite", "--random", "2", "--output", "a"]) == 0
    assert cli.main(["vectors", "old.tflite", "--random", "2", "--expected", "board", "--output", "b"]) == 0
    assert len({(tmp_path / folder / "outputs.bin").read_bytes() for folder in "ab"}) == 1
