"""``neuralart validate``: the figures of a built network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from neuralart import cli
from neuralart_virtual.emulator import native
from support.models import tflite_edit
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]

ADOPTED = """\
schema: 1
networks:
  digits: {{compiler: {{adopted: model}}, vectors: models/digits/vectors{more}}}
variants:
  mine: {{title: Adopted, board: stm32n6570-dk, network: digits}}
"""


@pytest.fixture
def validate(
    built: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[str, str]]:
    pytest.importorskip("unicorn", reason="Unicorn is not installed")
    monkeypatch.chdir(built.root)

    def call(*words: str, code: int = 0) -> tuple[str, str]:
        assert cli.main(["validate", *words]) == code
        return capsys.readouterr()

    return call


def test_figures_labels_and_bounds(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    stored = np.fromfile(built.path("models/digits/vectors/outputs.bin"), np.int8).reshape(20, 10)
    labels = stored.argmax(1)
    labels[[0, 5]] = 9 - labels[[0, 5]]
    np.save(built.path("labels.npy"), labels)
    out, _ = validate("digits-n6", "--labels", "labels.npy", "--json")
    record = json.loads(out)
    assert (record["samples"], record["inputs"]) == (20, "models/digits/vectors")
    assert record["reference"] == "golden vectors" and record["machine"].startswith("unicorn (")
    digit = record["outputs"]["digit"]
    assert (digit["acc"], digit["rmse"], digit["nse"]) == (1.0, 0.0, 1.0)
    assert record["classifier"]["accuracy"] == 0.9 and record["classifier"]["top"][0] == 0.9
    assert sum(map(sum, record["classifier"]["confusion"])) == 20

    # One output is another one in the reference, and the bounds see it.
    stored[3] = stored[3][::-1]
    np.save(built.path("outputs.npy"), stored)
    old = "    vectors: models/digits/vectors\n"
    built.edit("variants.yaml", old, f"{old}    min_cos: 0.999\n    min_accuracy: 0.96\n")
    out, err = validate("digits-n6-rel", "--reference", "outputs.npy", "--classifier", code=2)
    assert "95.00%" in out and out.splitlines()[2] == "  reference  outputs.npy"
    *_, cos, accuracy = err.splitlines()  # The variant was built before
    assert cos.startswith("neuralart validate: output 'digit': cos 0.9") and "below 0.999 (variants.yaml:" in cos
    assert accuracy.endswith(": min_accuracy)") and "accuracy 0.95 is below 0.96" in accuracy


def test_the_first_layer_that_differs(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    out, _ = validate("digits-n6", "--per-layer", "--json")
    record = json.loads(out)
    assert [layer["name"] for layer in record["layers"]] == ["conv1", "pool1", "conv2", "pool2", "logits", "digit"]
    assert {(layer["steps"], layer["note"], *layer["samples"]) for layer in record["layers"]} == {(0.0, "")}
    assert record["first_difference"] is None

    other = built.path("other.tflite")
    other.write_bytes(built.path("models/digits/digits.tflite").read_bytes())
    changed = tflite_edit.reverse_weights(other)
    assert "logits" in changed
    out, _ = validate("digits-n6", "--per-layer", "--reference", "other.tflite")
    assert "  layers     the first that differs: 'logits' of epoch 4, by up to " in out
    assert "in sample 0 and 19 more" in out
    _, err = validate("digits-n6-rel", "--per-layer", code=1)
    assert "--per-layer: the epochs of a relocatable model are loaded at run time" in err and err.count("\n") == 1


def test_what_the_model_of_an_adopted_network_is_for(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    shutil.copytree(built.network_folder("digits-n6"), built.path("model"))
    built.path("variants.yaml").write_text(ADOPTED.format(more=""), "utf-8")
    built.run("mine")
    assert "  reference  golden vectors\n" in validate("mine")[0]
    for words in (["--per-layer"], ["--data", "models/digits/vectors/inputs.bin"]):
        _, err = validate("mine", *words, code=1)
        assert "network digits names no model (--reference FILE: " in err and err.count("\n") == 1, err
    built.path("variants.yaml").write_text(ADOPTED.format(more=", model: models/digits/digits.tflite"), "utf-8")
    record = json.loads(validate("mine", "--per-layer", "--json")[0])
    assert len(record["layers"]) == 6 and record["first_difference"] is None


def test_the_network_on_this_computer(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    if why := native.unavailable():
        pytest.skip(why)
    record = json.loads(validate("digits-n6", "--on", "native", "--json")[0])
    assert record["machine"].startswith("native (") and record["outputs"]["digit"]["rmse"] == 0.0
    for words, said in (
        (["digits-n6-rel"], "--on native: a relocatable model runs on a board alone"),
        (["digits-n6", "--per-layer"], "--per-layer: machine native shows no tensors between its epochs"),
    ):
        _, err = validate(*words, "--on", "native", code=1)
        assert said in err and err.count("\n") == 1


def test_what_does_not_fit_is_said_before_the_run(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    np.save(built.path("short.npy"), np.zeros(3, np.int8))
    cases = [
        (["--labels", "short.npy"], "short.npy: 3 labels, but 20 samples"),
        (["--reference", "short.npy"], "short.npy: an array of 3, tensor 'digit' is 1x10"),
        (["--data", "short.npy"], "short.npy: an array of 3, tensor"),
        (["--data", "short.npy", "--random", "1"], "--data and --random"),
        (["--data", "models/heatmap/vectors"], "models/heatmap/vectors: input 0 is"),
        (["--on", "qemu"], "no machine 'qemu'"),
    ]
    for words, said in cases:
        _, err = validate("digits-n6", *words, code=1)
        assert said in err and err.count("\n") == 1, err
    old = "    vectors: models/digits/vectors\n"
    built.edit("variants.yaml", old, f"{old}    min_accuracy: 0.9\n")
    assert "min_accuracy is for classifiers (--labels FILE, or --classifier)" in validate("digits-n6", code=1)[1]


def test_the_variant_is_built_first(built: Project, validate: Callable[..., tuple[str, str]]) -> None:
    """After a change, and with nothing on standard output but the figures; one that cannot be built is not measured."""
    built.edit("firmware/app/main.c", "reference application", "reference applicatioN")
    out, err = validate("digits-n6", "--json")
    assert json.loads(out)["samples"] == 20 and " LINK " in err
    assert validate("digits-n6", "--json")[1] == ""
    built.edit("variants.yaml", "  digits-n6:\n", "  digits-n6:\n    optimizatoin: -O3\n")
    out, err = validate("digits-n6", code=1)
    assert out == "" and "unknown key 'optimizatoin'" in err
