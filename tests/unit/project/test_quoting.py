"""No text of the user's is read by a shell: programs are started with lists of words, files are quoted in one place."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralart.resources import PACKAGE
from neuralart_bring.export import makefiles

MODULES = sorted(PACKAGE.rglob("*.py"))
# What starts a program from one text, which a shell takes apart, or in a way that nobody here checks.
BY_TEXT = re.compile(
    r"os\.(system|popen\w*|startfile|exec\w+|spawn\w+|posix_spawn\w*)|subprocess\.(getoutput|getstatusoutput)"
    r"|asyncio\.(subprocess|create_subprocess)\w*.*|pty\.spawn|commands\.getoutput|pexpect\..*|ctypes\..*\bsystem"
)
STARTERS = {f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output")}
# Which argument of SCons's own is an action.
ACTIONS = {
    "Action": 0,
    "CommandAction": 0,
    "ListAction": 0,
    "Execute": 0,
    "Command": 2,
    "AddPreAction": 1,
    "AddPostAction": 1,
}
SCONS_STARTERS = {"SPAWN", "PSPAWN", "SHELL", "exec_subprocess", "exec_popen3", "backtick"}
# On a terminal this room starts SCons's shell itself, with the very words that SCons has quoted for it. Commands that
# are copies of a process get the words that it would give them, or go to it (tests/unit/project/test_fork_server.py).
PIPED = {
    "scons/commands.py": "SPAWN is SCons's shell",
    "scons/console.py": ": SPAWN is SCons's shell",
    "scons/firmware/recipes.py": "SPAWN is SCons's shell",
}
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


def _full_names(tree: ast.Module) -> dict[str, str]:
    """What the names of a module stand for that it imports, renamed ones too."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                each.asname or each.name.split(".")[0]: each.name if each.asname else each.name.split(".")[0]
                for each in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def _is_text(node: ast.AST) -> bool:
    """A command as one text. ``$NAME`` alone is a variable, whose words are looked at where they are made."""
    if isinstance(node, ast.JoinedStr):
        return not re.fullmatch(r"f'\$\{\w+\}COM'", ast.unparse(node))
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "format", "format_map")
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and not re.fullmatch(r"\$\w+", node.value)


def _of_argparse(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (
        *("store_true", "store_false", "append", "version", "count", "help"),
    )


def _dotted(node: ast.AST) -> str:
    """``a.b.c``; what is no name in it is a question mark. (ast.unparse takes ten times as long.)"""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _is_action_text(node: ast.AST) -> bool:
    """The same of an action, which may be a list of actions; a list in that is the words of one command."""
    if isinstance(node, ast.List | ast.Tuple):
        return any(_is_action_text(each) for each in node.elts if not isinstance(each, ast.List))
    return _is_text(node)


def round_the_quoting(text: str) -> list[str]:
    """Ways past the quoting in a module: what starts a program otherwise than with a list of words."""
    tree, wrong = ast.parse(text), []
    full = _full_names(tree)
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            head, dot, rest = _dotted(node).partition(".")
            name = full.get(head, head) + dot + rest
            if BY_TEXT.fullmatch(name) or name.rpartition(".")[2] in SCONS_STARTERS:
                wrong.append(f"{node.lineno}: {name} asks a shell")
            if name in STARTERS:
                call = called.get(id(node))
                # Under another name nobody would see what it is given.
                if (
                    call is None
                    or not call.args
                    or any(each.arg in (None, "shell", "executable") for each in call.keywords)
                ):
                    wrong.append(f"{node.lineno}: {name}: shell=, executable=, ** or another name")
                elif _is_text(call.args[0]) or isinstance(call.args[0], ast.Starred):
                    wrong.append(f"{node.lineno}: {name}: a text")
        if isinstance(node, ast.Constant) and node.value in SCONS_STARTERS:
            wrong.append(f"{node.lineno}: {node.value} is SCons's shell")
        if isinstance(node, ast.Call):
            last = _dotted(node.func).rpartition(".")[2]
            given = [*node.args[ACTIONS[last] :][:1]] if last in ACTIONS else []
            given += [each.value for each in node.keywords if each.arg == "action" and not _of_argparse(each.value)]
            wrong += [
                f"{node.lineno}: {last}: a text is an action of the shell's" for each in given if _is_action_text(each)
            ]
            if last in ("import_module", "__import__", "getattr") and any(
                "subprocess" in ast.unparse(each) for each in node.args
            ):
                wrong.append(f"{node.lineno}: {last}: hides what starts a program")
    return wrong


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_programs_are_started_with_lists_of_words(path: Path) -> None:
    wrong = round_the_quoting(path.read_text("utf-8"))
    assert [line for line in wrong if not line.endswith(PIPED.get(_name(path), "\0"))] == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.system(x)",
        "import os as o\no.system(x)",
        "from os import system as run\nrun(x)",
        "import os\nrun = os.popen",
        "import os\nos.execvp('sh', x)",
        "import subprocess as s\ns.run(x, shell=True)",
        "import subprocess\nsubprocess.run(x, **more)",
        "import subprocess\nsubprocess.run('touch x')",
        "import subprocess\nsubprocess.run(f'touch {x}')",
        "import subprocess\nsubprocess.run('touch ' + x)",
        "import subprocess\nsubprocess.run(' '.join(x))",
        "import subprocess\nsubprocess.run(args=x)",
        "import subprocess\nstart = subprocess.Popen\nstart(x)",
        "from subprocess import Popen as P\nP('touch x')",
        "from subprocess import getoutput\ngetoutput(x)",
        "import importlib\nimportlib.import_module('subprocess').run(x)",
        "base.Command(t, s, 'touch $TARGET')",
        "base.Command(t, s, f'touch {x}')",
        "base.Command(t, s, ['touch x', y])",
        "base.Command(t, s, action='touch x')",
        "SCons.Action.Action('touch ' + x)",
        "SCons.Action.Action(['touch x'], text)",
        "SCons.Builder.Builder(action='touch $TARGET')",
        "env.Execute('touch x')",
        "env.AddPostAction(t, 'touch x')",
        "env['SPAWN'](x)",
        "env.backtick(x)",
    ],
)
def test_each_way_round_is_seen(text: str) -> None:
    assert round_the_quoting(text)


def test_what_is_right_is_left_alone() -> None:
    text = (
        "import subprocess\nsubprocess.run([a, 'b c'], check=True)\nAction([line], 'say $TARGET')\nAction('$XCOM', x)"
    )
    assert round_the_quoting(text) == []


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
    text = f"WORDS := {given_words}\nall:\n\t@{makefiles.make_word(sys.executable)} print.py $(WORDS)\n"
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
