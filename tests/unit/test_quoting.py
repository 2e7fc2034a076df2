"""No text of the user's is read by a shell: programs are started with lists of words, files are quoted in one place."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart.export import makefiles
from neuralart.resources import PACKAGE

MODULES = sorted(PACKAGE.rglob("*.py"))
# What starts a program from one text, which a shell takes apart.
BY_TEXT = {
    *("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"),
    *("asyncio.create_subprocess_shell", "pty.spawn"),
}
STARTERS = {f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output")}
NASTY = (
    *(
        "$(touch x)",
        "`touch x`",
        "; touch x",
        "> x",
        "| touch x",
        "& touch x",
        "*",
        "?",
        "[a-z]",
        "~",
        "!",
        "#x",
        "\\#x",
        "\\\\#y",
        "\\\\\\#",
        "a b",
    ),
    *("'", '"', "''", "a'b\"c", "\\", "a\\", "\\n", "$HOME", "${HOME}", "$$", "$(HOME)", "$@", "%", "%.c", "=", "a=b"),
    *("(", ")", "{a,b}", "<x", "-x", "--", ":", "é", "😀", "\t", "a\tb", "^", "@echo", "+x", ","),
)


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_programs_are_started_with_lists_of_words(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        where = f"{_name(path)}:{node.lineno}"
        assert name not in BY_TEXT, f"{where}: {name} asks a shell"
        if name in STARTERS:
            shells = [each for each in node.keywords if each.arg == "shell" or each.arg is None]
            assert not shells, f"{where}: shell= or **"
            assert not isinstance(node.args[0], ast.JoinedStr | ast.Constant | ast.BinOp), f"{where}: a text"


WORDS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
PRINT = "import sys; sys.stdout.buffer.write(chr(0).join(sys.argv[1:]).encode('utf-8', 'surrogateescape'))"
slow = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def printed(command: list[str], folder: Path, **more: str) -> list[str]:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8", **more}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8").split("\0")


def through_make(words: list[str], folder: Path) -> list[str]:
    script = folder / "print.py"
    script.write_text(PRINT, encoding="utf-8")
    given_words = " ".join(makefiles.make_word(word) for word in words)
    # As in an export: a variable, then a recipe.
    text = f"WORDS := {given_words}\nall:\n\t@{sys.executable} print.py $(WORDS)\n"
    (folder / "Makefile").write_text(text, encoding="utf-8")
    return printed(["make", "--no-print-directory"], folder)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_every_nasty_word_through_make(tmp_path: Path) -> None:
    assert through_make(list(NASTY), tmp_path) == list(NASTY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "print.py"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@slow
@given(words=st.lists(WORDS, min_size=1, max_size=5))
def test_any_words_through_make(words: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    assert through_make(words, tmp_path_factory.mktemp("make")) == words


CMAKE = shutil.which("cmake", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


@pytest.mark.skipif(CMAKE is None, reason="cmake is not installed")
def test_every_nasty_word_through_cmake(tmp_path: Path) -> None:
    """As arguments in a file of CMake's; ``;`` comes as a generator expression, which only a build resolves."""
    assert CMAKE is not None
    lines = [f"message(STATUS {makefiles.cmake_word(word)})" for word in NASTY]
    (tmp_path / "x.cmake").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([CMAKE, "-P", "x.cmake"], cwd=tmp_path, capture_output=True, check=True)
    said = [line.removeprefix("-- ") for line in done.stdout.decode("utf-8").splitlines()]
    assert [line.replace("$<SEMICOLON>", ";") for line in said] == list(NASTY)
    assert [path.name for path in tmp_path.iterdir()] == ["x.cmake"]
