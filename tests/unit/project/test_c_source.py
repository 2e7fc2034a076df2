"""C sources: what the compiler sees, by offsets, lines and logical lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.text.c_source import CSource, Lines, blanked, logical_lines


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a /* b */ c", "a         c"),
        ('a "b /* " c', "a         c"),
        ("a // b\nc", "a     \nc"),
        ("a '\"' b \" // c", "a     b       "),
        ("a // b \\\nc\nd", "a       \n \nd"),
        ("a /* never closed\nb", "a                \n "),
        ("/* a\n b */c", "    \n     c"),
        ('"\\"x" y', "      y"),
    ],
)
def test_without_comments_and_texts(text: str, code: str) -> None:
    assert blanked(text, texts=True) == code


def test_blanked_keeps_places():
    text = 'a /* x\n y */ "/* no */ // \\" z" // c\n#if 1 \\\nb # c\n  # endif\n'
    out = blanked(text, directives=True)
    assert len(out) == len(text) and out.count("\n") == text.count("\n")
    assert out.split() == ["a", '"/*', "no", "*/", "//", '\\"', 'z"']
    plain = "a /* x\n y */ b // c\n# d\ne"
    assert blanked(plain, directives=True).split() == ["a", "b", "e"] and len(blanked(plain, directives=True)) == len(
        plain
    )


def test_lines_in_any_order():
    lines = Lines("a\nb\nc\n")
    assert [lines.of(at) for at in (0, 2, 4, 0, 3, 99)] == [1, 2, 3, 1, 2, 4]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define A 1 // c\n", [(1, "define", "A 1")]),
        ("#  define A \\\n  1\nint b;\n", [(1, "define", "A 1"), (3, "", "int b;")]),
        ("/* a\n * b */ int c; /* d */\n", [(2, "", "int c;")]),
        ('char *s = "// no comment"; x\n', [(1, "", "char *s = ; x")]),
        ('char *s = "\\"/*"; x\n', [(1, "", "char *s = ; x")]),
        ("char c = '\"'; int d; // '\n", [(1, "", "char c = ; int d;")]),
        ('#include "a.h"\r\n#include <b.h>\r\n', [(1, "include", '"a.h"'), (2, "include", "<b.h>")]),
        ("#if A == B || \\\n    A == C\n#endif\n", [(1, "if", "A == B || A == C"), (3, "endif", "")]),
        ("/* never closed\n#define A\n", []),
        ("#define A \\", [(1, "define", "A")]),
        ("// a \\\n#define A\nb\n", [(3, "", "b")]),
        ("#define A /* x\n */ B\nc\n", [(1, "define", "A B"), (3, "", "c")]),
        ("", []),
    ],
)
def test_lines(source: str, expected: list[tuple[int, str, str]]) -> None:
    assert [(line.number, line.directive, line.text) for line in logical_lines(source)] == expected


@given(st.text(alphabet="ab /*\"'\\\n\r#define(){}\t", max_size=80))
def test_any_text_has_lines_with_rising_numbers(source: str) -> None:
    numbers = [line.number for line in logical_lines(source)]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= source.count("\n") + source.count("\r") + 1 for number in numbers)


@given(st.text(alphabet="ab /*\"'\\\n#define(){}\t", max_size=80), st.booleans(), st.booleans())
def test_what_is_blanked_keeps_its_place(text: str, texts: bool, directives: bool) -> None:
    code = blanked(text, texts=texts, directives=directives)
    assert len(code) == len(text) and code.count("\n") == text.count("\n")
    assert all(new in (old, " ") for new, old in zip(code, text, strict=True))


@given(st.text(alphabet="ab /*\"'\\\n#x", max_size=60))
def test_all_forms_of_a_source_agree_on_what_is_a_comment(text: str) -> None:
    """The quick way of blanking, the thorough one and the editor's."""
    seen = CSource("a.c", text.encode()).code
    quick = blanked(text)
    assert [b for a, b in zip(seen, quick, strict=True) if not a.isspace()] == [a for a in seen if not a.isspace()]
    kept = [b for a, b in zip(seen, quick, strict=True) if a.isspace() and not b.isspace()]
    assert set(kept) <= {"\\"}, "only the backslash before a line end"
