"""Keywords of methods are checked as the keys of a YAML file are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neuralart.config import app_config
from neuralart.config.app_config import AppConfig, AudioConfig
from neuralart.config.keys import said_by, value_of
from neuralart.errors import NeuralArtError

WHERE = "AppConfig('net')"


def read(**given: Any) -> AppConfig:
    with said_by(WHERE):
        made = app_config.resolve(app_config.read_settings(value_of(given, WHERE)))
    assert made is not None
    return made


def test_every_kind_of_value() -> None:
    made = read(
        use_case="audio_event_detection",
        class_names=("no", "1", 'a "b" \\ c', "été", "😀", "null", "~", "- x", "#"),
        confidence_thresh=1e-07,
        nms_thresh=1,
        max_detection_boxes=10,
        anchors=[0.1, 2],
        defines=["A", "B=1"],
        audio={"to_db": True, "htk": False, "n_mels": 40, "silence_threshold": 12.5},
    )
    assert made.class_names == ("no", "1", 'a "b" \\ c', "été", "😀", "null", "~", "- x", "#")
    assert (made.confidence_thresh, made.nms_thresh, made.anchors) == (1e-07, 1.0, (0.1, 2.0))
    assert made.audio == AudioConfig(to_db=True, htk=False, n_mels=40, silence_threshold=12.5)
    assert (made.max_detection_boxes, made.defines) == (10, ("A", "B=1"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"use_cas": "x"}, "unknown key 'use_cas' (did you mean 'use_case'?"),
        ({"confidence_thresh": float("nan")}, "confidence_thresh: must be a number, this is 'NaN'"),
        ({"confidence_thresh": float("inf")}, "confidence_thresh: must be a number, this is 'Infinity'"),
        ({"confidence_thresh": "0.4x"}, "confidence_thresh: must be a number, this is '0.4x'"),
        ({"confidence_thresh": True}, "confidence_thresh: must be a number"),
        ({"max_detection_boxes": 10.0}, "max_detection_boxes: must be a number, this is '10.0'"),
        ({"max_detection_boxes": 1 << 70}, "max_detection_boxes: "),
        ({"class_names": "a b"}, "class_names: must be a list"),
        ({"class_names": [1]}, "class_names[0]: 1 is a number in YAML, this must be text"),
        ({"class_names": ["a\nb"]}, "class_names[0]: must be one line of text"),
        ({"class_names": ["a\x00"]}, "class_names[0]: has a control character"),
        ({"class_names": ["\ud800"]}, "a text holds half a character"),
        ({"class_names": [Path("a")]}, "class_names: must be text, a number or a list, not PosixPath"),
        ({"class_names": {"a"}}, "class_names: must be text, a number or a list, not {'a'}"),
        ({"audio": {1: 2}}, "audio: a key must be text, this is 1"),
        ({"audio": {"n_mels": None}}, "audio.n_mels: must be text, a number or a list, not None"),
        ({"template": b"x"}, "template: must be text, a number or a list, not b'x'"),
    ],
)
def test_refusals(given: dict[str, Any], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        read(use_case="audio_event_detection", **given)
    text = str(caught.value)
    assert text.startswith(f"{WHERE}: {said}"), text


def test_errors_of_other_places_stay_as_they_are() -> None:
    with pytest.raises(NeuralArtError, match="elsewhere: what") as caught, said_by(WHERE):
        raise NeuralArtError("what", where="elsewhere")
    assert caught.value.where == "elsewhere"
