"""What a shell makes of the words of a command: as our code sees it, and as a real shell does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from SCons.Platform.posix import escape as scons_escape
from SCons.Platform.posix import piped_env_spawn, subprocess_spawn
from SCons.Subst import quote_spaces

from neuralart.scons import paths

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")
SHELLS = [name for name in ("sh", "bash") if shutil.which(name)]
PRINT = "printf '%s\\0' "
# All that means something to a shell, and some that does not.
LETTERS = st.sampled_from(" \t\n'\"\\$`|&;<>(){}[]*?#~!^=%@+,.:/-_a1ü\u3000\udcff")


def real(program: str, text: str, folder: Path) -> list[str]:
    """Words that a program gets from a shell."""
    words = [program, "-c", PRINT + text]
    done = subprocess.run([os.fsencode(word) for word in words], cwd=folder, capture_output=True, check=True)
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


@pytest.mark.parametrize("program", SHELLS)
@settings(max_examples=300)
@given(text=st.text(LETTERS, min_size=1, max_size=12))
def test_what_is_seen_is_what_a_shell_does(program: str, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    words = paths.words_of([PRINT + text])
    if words is not None:
        assert words[:2] == ["printf", "%s\\0"]
        assert (words[2:] or [""]) == real(program, text, tmp_path_factory.getbasetemp())


@given(words=st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), min_size=1))
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    assert paths.words_of([paths.quote(word) for word in words]) == words
    # SCons's own function for POSIX leaves a backquote to the shell: that is seen.
    theirs = paths.words_of([scons_escape(word) for word in words])
    assert theirs == (None if any("`" in word for word in words) else words)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["gcc", "-c", "a.c"], ["gcc", "-c", "a.c"]),
        (["/ü/python", "-DX=1"], ["/ü/python", "-DX=1"]),
        (["\udcff"], ["\udcff"]),
        ([quote_spaces("/a b/ü/python"), "'a b'"], ["/a b/ü/python", "a b"]),
        (['-DTEXT=\\"a', 'b\\"'], ['-DTEXT="a', 'b"']),
        (["-D'X=a b'\"c d\"\\ e"], ["-DX=a bc d e"]),
        (['"a\\$b\\`\\"\\\\\\n"'], ['a$b`"\\\\n']),
        (["''", "x"], ["", "x"]),
        (["a  b\tc"], ["a", "b", "c"]),
        ([], None),
        ([""], None),
        *(([text], None) for text in ("a > b", "$HOME", '"$HOME"', "`pwd`", '"`pwd`"', "*", "a;b", "a&", "~", "a|b")),
        *(
            ([text], None)
            for text in ("X=1 python", "'a", '"a', "a\\", "a\\\nb", "a\nb", "#a", "!", "{a,b}", "[a]", "?")
        ),
    ],
)
def test_words(args: list[str], words: list[str] | None) -> None:
    assert paths.words_of(args) == words


def test_no_shell_where_it_has_nothing_to_do(tmp_path: Path) -> None:
    program = tmp_path / "a folder" / "who"
    program.parent.mkdir()
    program.write_text(f"#!{shutil.which('sh')}\nprintf '%s, %s' $PPID \"$1\"\n", "ascii")
    program.chmod(0o755)
    out = tmp_path / "out"

    def said(*args: str, sh: str = "sh") -> tuple[int, str]:
        with out.open("w", encoding="utf-8") as file:
            code = paths.direct(piped_env_spawn)(sh, None, args[0], args, dict(os.environ), file, file)
        return code, out.read_text("utf-8")

    assert said(quote_spaces(str(program)), "'a b'") == (0, f"{os.getpid()}, a b")
    assert said("exit", "7")[0] == 7, "what is no program is the shell's"
    assert said("echo", "$((1+1))", ">&2") == (0, "2\n")
    missing, text = said("no-such-program-here")
    assert missing == 127 and "no-such-program-here" in text
    with pytest.raises(FileNotFoundError):
        said("true", sh="/no/such/shell")
    assert paths.direct(subprocess_spawn)("sh", None, "", ["exit", "3"], dict(os.environ)) == 3


def test_what_a_user_has_put_there_stays() -> None:
    mine = lambda *call: len(call)  # noqa: E731
    assert paths.direct(mine) is mine
