"""Models that cannot be compiled: everything at once, what they are as a whole, the same words everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_reference.lower import lower
from neuralart_reference.model import tflite
from support.servers.messages import flat
from tflite_writer import ModelWriter


def chain(*kinds: str, dtype: str = "int8", name: str = "t") -> bytes:
    """Operators one after the other."""
    writer = ModelWriter()
    scale = None if dtype == "float32" else 0.5
    numbers = [writer.tensor(f"{name}{n}", (1, 4), dtype, scale) for n in range(len(kinds) + 1)]
    for at, kind in enumerate(kinds):
        writer.op(kind, [numbers[at]], [numbers[at + 1]])
    return writer.finish(numbers[:1], numbers[-1:])


def refused(data: bytes) -> str:
    with pytest.raises(NeuralArtError) as caught:
        lower(tflite.parse(data, "m.tflite", "m"))
    return flat(str(caught.value))


def test_all_operators_at_once() -> None:
    said = refused(chain(*["UNIQUE"] * 5, "RELU", "DILATE", "DILATE", "CUSTOM:Mine"))
    assert said == (
        "m.tflite: operators that are not supported: 8, namely 5 UNIQUE (not supported): 't1', 't2', 't3', ... "
        "(2 DILATE (not supported): 't7', 't8'; 1 CUSTOM:Mine (not supported): 't9')"
    )


def test_reasons_are_told_apart() -> None:
    """An operator that is not known, a type, and something else about one that is known."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", 0.5)
    made = [writer.tensor(f"y{n}", (1, 4), dtype, 0.5) for n, dtype in enumerate(["int8", "int16", "int8", "int8"])]
    short = writer.tensor("z", (1, 3), "int8", 0.5)
    for kind, output in zip(["UNIQUE", "RELU", "RELU", "UNIQUE"], made, strict=True):
        writer.op(kind, [x], [output])
    writer.op("RELU6", [x], [short])
    said = refused(writer.finish([x], [*made, short]))
    assert "4, namely 2 UNIQUE (not supported): 'y0', 'y3' (" in said
    assert "1 RELU (int16 activations are not supported): 'y1'" in said
    assert "1 RELU6 (does not fit its inputs, which give [1, 4]): 'z'" in said


def test_a_long_list_stays_short() -> None:
    kinds = [f"CUSTOM:Mine{number}" for number in range(13)]
    said = refused(chain(*kinds, name="a very long name that somebody thought of" * 4))
    assert "and 5 more kinds" in said and len(said) < 1300
    assert "operators that are not supported: 13" in said


@pytest.mark.parametrize(
    ("code", "said"),
    [("ethos-u", "by Vela for an Arm Ethos-U NPU"), ("edgetpu-custom-op", "by edgetpu_compiler for a")],
)
def test_models_that_are_compiled_already(code: str, said: str) -> None:
    """Such an operator has working memory that nothing fills."""
    writer = ModelWriter()
    x, memory, y = (writer.tensor(name, (1, 4), "int8", 0.5) for name in ("x", "scratch", "y"))
    writer.op(f"CUSTOM:{code}", [x, memory], [y])
    found = refused(writer.finish([x], [y]))
    assert found.startswith(f"m.tflite: the model is compiled already, {said}")
    assert found.endswith("(compile the model that it was made from)")


def test_recurrent_operators_are_named() -> None:
    """Not the variable that they keep their state in."""
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4, 2), "int8", 0.5), writer.tensor("y", (1, 4, 3), "int8", 0.5)
    state = writer.tensor("state", (1, 3), "int8", 0.5, variable=True)
    writer.op("BIDIRECTIONAL_SEQUENCE_RNN", [x, state], [y])
    assert "(BIDIRECTIONAL_SEQUENCE_RNN): recurrent, and not supported: 'x' int8[1, 4, 2], 'state'" in refused(
        writer.finish([x], [y])
    )
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", 0.5) for name in "xy")
    state = writer.tensor("state", (1, 4), "int8", 0.5, variable=True)
    writer.op("ADD", [x, state], [y])
    assert "(ADD): 'state' int8[1, 4] is a variable: it keeps its value from one inference to the next" in refused(
        writer.finish([x], [y])
    )


def test_the_same_words_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(chain("UNIQUE", "RELU", "UNIQUE", "DILATE"))
    what = "operators that are not supported: 3, namely 2 UNIQUE (not supported): 't1', 't3'"
    assert cli.main(["compile", "--model", "m.tflite", "--target", "mps3-an547", "--quiet"]) == 1
    assert f"m.tflite: {what} (1 DILATE (not supported): 't4')" in capsys.readouterr().err
    assert cli.main(["lint", "m.tflite"]) == 0
    assert f"m.tflite: warning: {what} (1 DILATE (not supported): 't4') [refused-model]" in capsys.readouterr().out
    assert cli.main(["inspect", "m.tflite"]) == 0
    said = capsys.readouterr().out
    assert f"refused by the reference compiler: {what} (1 DILATE (not supported): 't4')" in said
    lines = [line.split() for line in said.splitlines()]
    assert [line for line in lines if line[:1] in (["UNIQUE"], ["RELU"], ["DILATE"])] == [
        ["UNIQUE", "2", "refused"],
        ["DILATE", "1", "refused"],
        ["RELU", "1"],
    ]
