"""Public .tflite models that were refused once; NEURALART_REFUSED_MODELS names the folder (operators.md)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle
from neuralart.errors import NeuralArtError
from neuralart_reference.model import tflite
from support.cases import layers
from support.cases.speech_plain import Plain, given
from support.host_c import native
from support.models.float_twins import twin
from support.models.public_models import MARKS, Case, cases, compiled
from support.servers.messages import one_message

pytestmark = MARKS


def test_the_table_has_all_of_them() -> None:
    rows = cases("operators.md")
    assert (len(rows), sum(case.how.startswith("refused") for case in rows)) == (14, 3)


@pytest.mark.parametrize("case", [case for case in cases("operators.md") if case.how != "speech"], ids=str)
def test_as_litert(case: Case, tmp_path: Path) -> None:
    """The bytes of LiteRT; of a dynamic-range model those of the same one with weights in float32."""
    file = case.need()
    if case.how.startswith("refused"):
        with pytest.raises(NeuralArtError) as error:
            compiled(file, tmp_path / "net")
        assert "operator is not supported" in one_message(str(error.value))
        return
    pools = tmp_path / "room.mpool"
    pools.write_text(layers.ROOM, "utf-8")
    (network,) = native.build([compiled(file, tmp_path / "net", pools)], tmp_path)
    model, rng = tflite.read(file), np.random.default_rng(5)
    inputs = [layers.inputs_of(model, rng) for _ in range(3)]
    content = twin(file) if case.how == "weights" else file
    for want, got in zip(oracle.run(content, inputs), network.run(inputs), strict=True):
        assert [(each.shape, each.tobytes()) for each in got] == [(each.shape, each.tobytes()) for each in want]


@pytest.mark.parametrize("case", [case for case in cases("operators.md") if case.how == "speech"], ids=str)
def test_as_tensorflow_lite_micro(case: Case, tmp_path: Path) -> None:
    """Features by a second formulation; all of it by the interpreter itself, where its package is installed."""
    file, rng = case.need(), np.random.default_rng(1)
    model = tflite.read(file)
    (last,) = (op.outputs[0] for op in model.operators if op.kind == "CUSTOM:SignalFilterBankLog")
    folders = [
        compiled(file, tmp_path / "features", cut=(model.tensors[last].name,)),
        compiled(file, tmp_path / "whole"),
    ]
    features, whole = native.build(folders, tmp_path)
    frames = []
    for number in range(60):
        loud = (0, 1, 30, 1000, 20000, 32768)[number % 6]
        tone = 0.6 * loud * np.sin((np.arange(480) + number * 320) * (0.02 + 0.01 * (number // 6)))
        frame = 0.3 * rng.integers(-loud, loud + 1, 480) + tone
        frames.append([np.clip(frame, -32768, 32767).astype(np.int16).reshape(1, 480)])
    plain = Plain(given(model))
    want = [plain.frame(frame)[0] for (frame,) in frames]
    assert [got.tobytes() for (got,) in features.run(frames)] == [each.tobytes() for each in want]
    assert sum(len(np.unique(each)) > 1 for each in want) > 20
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_file(str(file))
    for (frame,), (got,) in zip(frames, whole.run(frames), strict=True):
        interpreter.set_input(frame, 0)
        interpreter.invoke()
        assert got.tobytes() == interpreter.get_output(0).tobytes()
