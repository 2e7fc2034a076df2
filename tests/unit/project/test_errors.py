"""What users see of a failure: one line with place, facts and advice."""

from __future__ import annotations

import pytest

from neuralart.errors import NeuralArtError, nearest, similar


@pytest.mark.parametrize(
    ("where", "hint", "text"),
    [
        ("", "", "pool too small: 5 of 4 bytes"),
        ("a.mpool:3:7", "", "a.mpool:3:7: pool too small: 5 of 4 bytes"),
        ("", "make it larger", "pool too small: 5 of 4 bytes (make it larger)"),
        ("m.tflite@0x1c", "make it larger", "m.tflite@0x1c: pool too small: 5 of 4 bytes (make it larger)"),
    ],
)
def test_text(where: str, hint: str, text: str) -> None:
    error = NeuralArtError("pool too small: 5 of 4 bytes", where=where, hint=hint)
    assert str(error) == text
    assert (error.what, error.where, error.hint) == ("pool too small: 5 of 4 bytes", where, hint)


def test_text_is_one_line_whatever_is_quoted_in_it() -> None:
    assert str(NeuralArtError("cannot read\n  'a\r\nb'", hint="x\ty")) == "cannot read 'a b' (x y)"


def test_place_and_hint_are_named() -> None:
    with pytest.raises(TypeError):
        NeuralArtError("what", "where")  # type: ignore[misc]


def test_it_can_be_caught_as_an_exception_and_keeps_its_cause() -> None:
    with pytest.raises(NeuralArtError, match=r"^b$") as caught:
        try:
            raise ValueError("a")
        except ValueError as cause:
            raise NeuralArtError("b") from cause
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        (
            "stm32n6750-dk",
            ["stm32n6570-dk", "mps3-an547"],
            "did you mean 'stm32n6570-dk'? known: mps3-an547, stm32n6570-dk",
        ),
        ("zzz", ["b", "a"], "known: a, b"),
        ("zzz", [], "none is known"),
        ("digit", ("digits",), "did you mean 'digits'? known: digits"),
    ],
)
def test_nearest(name: str, known: list[str] | tuple[str, ...], text: str) -> None:
    assert nearest(name, known) == text


@pytest.mark.parametrize(
    ("name", "most", "text"),
    [
        ("run-digit-n6", 1, "did you mean 'run-digits-n6'?"),
        ("digits-n", 2, "did you mean 'digits-n7' or 'digits-n6'?"),
        ("digits-n6x", 3, "did you mean 'digits-n6', 'digits-n7' or 'run-digits-n6'?"),
        ("zzz", 3, ""),
    ],
)
def test_similar(name: str, most: int, text: str) -> None:
    assert similar(name, ("digits-n6", "digits-n7", "run-digits-n6", "other"), most) == text
