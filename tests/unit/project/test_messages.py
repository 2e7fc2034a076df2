"""Messages are short: at most 160 characters before the hint, which has a line of its own where both are long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralart.errors import LONGEST, NeuralArtError
from neuralart.resources import PACKAGE
from support.servers.messages import one_message

# What is put into a text is counted as so many characters: a name or a number.
_FILLED_IN = 8
_CALLS = {"NeuralArtError", "error", "fault", "fail", "refuse", "Unsupported", "Difference", "LinkFailure"}


def _length(node: ast.expr, known: dict[str, int]) -> int:
    """Least length of a text; ``known``: of variables."""
    if isinstance(node, ast.Constant):
        return len(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return sum(_length(part, known) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _length(node.value, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _length(node.left, known) + _length(node.right, known)
    if isinstance(node, ast.IfExp):
        return max(_length(node.body, known), _length(node.orelse, known))
    return known.get(node.id, _FILLED_IN) if isinstance(node, ast.Name) else _FILLED_IN


def _messages(path: Path) -> Iterator[tuple[int, int]]:
    """(line, least length) of the texts of errors in a module; a variable has the text of the line above."""
    tree = ast.parse(path.read_text("utf-8"))
    for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        known: dict[str, int] = {}
        for node in sorted(ast.walk(scope), key=lambda node: getattr(node, "lineno", 0)):
            if isinstance(node, ast.Assign):
                known |= {each.id: _length(node.value, known) for each in node.targets if isinstance(each, ast.Name)}
            elif isinstance(node, ast.Call) and node.args:
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in _CALLS:
                    yield node.lineno, _length(node.args[0], known)


def test_no_message_is_long_before_its_hint() -> None:
    found = [
        (f"{path.relative_to(PACKAGE)}:{line}", length)
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, length in _messages(path)
    ]
    assert len(found) > 1000
    assert [each for each in found if each[1] > LONGEST] == [], "say what is wrong; the hint may say more"


@pytest.mark.parametrize(
    ("what", "hint", "lines"),
    [
        ("short", "do this", 1),
        ("w" * LONGEST, "", 1),
        ("w" * (2 * LONGEST), "", 1),
        ("w" * LONGEST, "h" * LONGEST, 1),
        ("w" * LONGEST, "h" * (LONGEST + 1), 2),
        ("w" * (LONGEST + 1), "do this", 2),
        ("short", "h" * (2 * LONGEST), 2),
    ],
)
def test_a_hint_has_its_own_line_where_both_are_long(what: str, hint: str, lines: int) -> None:
    for where in ("", "f:1", "/a/very/long/path" * 20):
        text = str(NeuralArtError(what, where=where, hint=hint))
        assert text.count("\n") == lines - 1, "the length of a place does not count"
        first = one_message(text)
        assert first.startswith(f"{where}: {what}" if where else what)
        assert (text.endswith(f"\n  {hint}") if lines == 2 else text.endswith(f" ({hint})")) or not hint


def test_line_ends_within_a_text_are_blanks() -> None:
    assert str(NeuralArtError("a\n b", where="f:1", hint="c\nd")) == "f:1: a b (c d)"
