"""Texts and numbers of C: whatever goes in, the compiler reads the same, and the same input gives the same bytes."""

from __future__ import annotations

import ast
import math
import re
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.app_config import render
from neuralart.errors import NeuralArtError
from neuralart.text import c_values

SMALLEST, LARGEST = 2.0**-126, struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def single(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


@given(st.text())
def test_any_text_is_a_literal_of_its_utf8_bytes(text: str) -> None:
    literal = c_values.string(text)
    assert re.fullmatch(r'"(?:[ -~]|\\[0-7]{3})*"', literal)
    assert "??" not in literal and literal.isascii()
    # Octal escapes of three digits mean the same to Python.
    assert ast.literal_eval("b" + literal) == text.encode("utf-8", "backslashreplace")


@given(st.floats(min_value=SMALLEST, max_value=LARGEST) | st.floats(min_value=-LARGEST, max_value=-SMALLEST))
def test_a_float_is_the_nearest_float32_in_the_fewest_digits(value: float) -> None:
    text = render.cfloat(value)
    assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", text) and ("." in text or "e" in text)
    assert single(float(text[:-1])) == single(value)
    digits = len(re.sub(r"e.*|[-.]", "", text[:-1]).strip("0"))
    fewer = [float(f"{single(value):.{n}g}") for n in range(1, digits)]
    assert all(abs(other) > LARGEST or single(other) != single(value) for other in fewer)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.4, "0.4f"),
        (1, "1.0f"),
        (0, "0.0f"),
        (-0.0, "0.0f"),
        (10, "10.0f"),
        (100.0, "100.0f"),
        (16000, "16000.0f"),
        (1 / 3, "0.33333334f"),
        (0.0039215688593685627, "0.003921569f"),
        (1e-20, "1e-20f"),
        (123456789.0, "123456790.0f"),
        (1e-5, "0.00001f"),
        (1.5e-6, "1.5e-06f"),
        (2e9, "2e+09f"),
        (-2.5, "-2.5f"),
    ],
)
def test_floats(value: float, text: str) -> None:
    assert render.cfloat(value) == text
    assert single(float(text[:-1])) == single(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39, -1e39, 1e-39, -1e-45, 3.4028236e38])
def test_floats_that_float32_does_not_hold(value: float) -> None:
    with pytest.raises(NeuralArtError, match=r"is (?:too (?:large|small) for a float32|not a number that C can write)"):
        render.cfloat(value)


@given(st.integers(-(2**31) + 1, 2**32 - 1))
def test_integers(value: int) -> None:
    assert render.cint(value) == f"({value})"


@pytest.mark.parametrize("value", [-(2**31), 2**32])
def test_integers_that_32_bits_do_not_hold(value: int) -> None:
    with pytest.raises(NeuralArtError, match="does not fit into 32 bits"):
        render.cint(value)


@given(st.text())
def test_a_comment_does_not_end(text: str) -> None:
    shown = render.ccomment(text)
    assert "*/" not in shown and "/*" not in shown and "\n" not in shown and "??/" not in shown


@pytest.mark.hostcc
def test_the_compiler_reads_the_same(tmp_path: Path) -> None:
    texts = ["plain", 'say "hi"', "back\\slash", "tri??/graph", "%s %n", "Größe 猫", "octal 1\x017", "\x7f", "a\tb", ""]
    numbers = [0.4, 1 / 3, 1e-20, 123456789.0, SMALLEST, LARGEST, -0.1, 0.0]
    source = [
        "#include <stdio.h>",
        "#include <string.h>",
        "#include <stdint.h>",
        f"static const char *const texts[] = {{{', '.join(map(c_values.string, texts))}}};",
        f"static const float numbers[] = {{{', '.join(map(render.cfloat, numbers))}}};",
        "int main(void) {",
        "for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {",
        'for (const char *p = texts[i]; *p; p++) printf("%02x", (unsigned)(unsigned char)*p);',
        'printf("\\n"); }',
        "for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {",
        'uint32_t bits; memcpy(&bits, &numbers[i], 4); printf("%08x\\n", (unsigned)bits); }',
        "return 0; }",
    ]
    (tmp_path / "t.c").write_text("\n".join(source) + "\n")
    program = tmp_path / "t"
    words = ["cc", "-std=c11", "-trigraphs", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(tmp_path / "t.c")]
    subprocess.run(words, check=True)
    got = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
    assert got[: len(texts)] == [text.encode().hex() for text in texts]
    assert got[len(texts) :] == [struct.pack(">f", number).hex() for number in numbers]
