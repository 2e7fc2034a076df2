"""``neuralart`` itself: its help, and what it says of a command that it does not have."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.command import DAILY, GROUPS
from neuralart_bring import completion


@pytest.mark.parametrize("command", cli.commands())
def test_help_ends_with_an_example_that_can_be_parsed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = cli.commands()[command].made
    words = shlex.split(made.example.partition(" > ")[0])
    assert cli.parser_of((command,)).parse_args(words).command == words[0] == command
    below = ["tool"] * (made.group == "tool")
    with pytest.raises(SystemExit, match="0"):
        cli.main([*below, command, "--help"])
    assert f"\nexample: {' '.join(['neuralart', *below])} {made.example}\n" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == cli.USAGE_ERROR
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert not shown.err and lines[0].startswith("usage: neuralart ")
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    words = {line.split()[0] for line in lines if line.startswith("  ")}
    names = {name.rstrip(",") for line in lines if line.startswith("  ") for name in line.split()}
    for name, plugin in cli.commands().items():
        assert name in (names if plugin.made.group in ("more", "tool") else words)
    at = next(number for number, line in enumerate(lines) if line == GROUPS["daily"])
    assert [line.split()[0] for line in lines[at + 1 : at + 9]] == list(DAILY)


def test_groups_have_at_most_eight_commands_with_a_line() -> None:
    groups = [plugin.made.group for plugin in cli.commands().values()]
    assert all(0 < groups.count(group) <= 8 for group in ("daily", "begin", "look"))
    assert set(groups) <= set(GROUPS)


@pytest.mark.parametrize("words", [["tool"], ["tool", "--help"]])
def test_single_steps_have_a_help_of_their_own(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    assert "  sign         put the header" in shown and "  compile      compile a .tflite" in shown
    assert "  flash " not in shown


def test_the_old_word_of_a_single_step_works_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tool", "schema", "board"]) == 0
    new = capsys.readouterr()
    assert cli.main(["schema", "board"]) == 0
    old = capsys.readouterr()
    assert old.out == new.out and not new.err
    note = "neuralart schema: note: write 'neuralart tool schema'; a later release takes nothing else\n"
    assert old.err == note


@pytest.mark.parametrize(
    ("words", "targets"),
    [
        ("run a", ["run-a"]),
        ("flash a b DRY=1", ["flash-a", "flash-b", "DRY=1"]),
        ("load a -j2", ["load-a", "-j2"]),
        ("debug a", ["debug-a"]),
        ("monitor a", ["monitor-a"]),
        ("verify a", ["verify-a"]),
        ("report a", ["report-a"]),
        ("build a run-b", ["a", "run-b"]),
    ],
)
def test_a_verb_and_a_variant_are_a_target(
    words: str, targets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a folder below that of the project, too."""
    called: list[tuple[list[str], Path]] = []
    monkeypatch.setattr(subprocess, "call", lambda argv: called.append((argv, Path.cwd())) or 0)
    (tmp_path / "SConstruct").touch()
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        monkeypatch.chdir(folder)
        assert cli.main(words.split()) == 0
        argv, place = called.pop()
        assert argv[-len(targets) :] == targets and place == tmp_path
    assert capsys.readouterr() == (f"neuralart: Entering directory '{tmp_path}'\n", "")


@pytest.mark.parametrize("words", ["run a --xspi-unmapped", "report a --file=x", "load a b --vectors x"])
def test_an_option_of_the_command_is_none_of_a_target(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words.split()) == 1
    name, target = words.split()[0], "-".join(words.split()[:2])
    wrong = next(word for word in words.split() if word.startswith("--"))
    said = f"{wrong} is no option of scons, which makes {target} (VERBOSE=1 shows the whole command of {target}, which"
    assert capsys.readouterr() == ("", f"neuralart {name}: error: {said} takes it)\n")


def test_a_file_below_is_named_from_the_folder_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda argv: called.append(argv) or 0)
    (tmp_path / "SConstruct").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.o").touch()
    monkeypatch.chdir(tmp_path / "sub")
    assert cli.main(["build", "x.o", "digits-n6"]) == 0
    assert called[0][-2:] == ["sub/x.o", "digits-n6"]


def test_an_interrupt_is_left_to_scons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes what it has made before it ends: it is not killed meanwhile."""
    monkeypatch.setattr(subprocess, "call", lambda argv: os.kill(os.getpid(), signal.SIGINT) or 2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SConstruct").touch()
    before = signal.getsignal(signal.SIGINT)
    assert cli.main(["build", "a"]) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_verb_where_there_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "digits-n6"]) == 1
    said = f"{tmp_path}: no SConstruct (call it in the folder of your project, or below it)"
    assert capsys.readouterr() == ("", f"neuralart build: error: {said}\n")


def test_an_option_or_a_path_means_the_command_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["run", "--timeout", "5"])
    assert "the following arguments are required: --board" in capsys.readouterr().err
    assert cli.main(["report", "nothing", "-o", "x.html"]) == 1
    assert "neuralart report: error: " in capsys.readouterr().err
    assert cli.main(["load", "build/nothing"]) == 1
    assert "neuralart load: error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("copmile", "no command 'copmile'; did you mean 'compile'? (see neuralart --help)"),
        ("zzz", "no command 'zzz' (see neuralart --help)"),
    ],
)
def test_unknown_command(word: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([word, "--model", "x"])
    assert capsys.readouterr() == ("", f"neuralart: error: {line}\n")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_commands_and_their_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tool", "completion", shell]) == 0
    script = capsys.readouterr().out
    assert not [name for name in (*cli.commands(), "aspect-ratio", "params-file") if name not in script]
    assert str(Path.cwd()) not in script and str(Path.home()) not in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tool", "completion", "bash"]) == 0
    (tmp_path / "net.tflite").touch()
    ask = """
    ask() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _shtab_neuralart neuralart "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"
    }
    ask neuralart comp
    ask neuralart tool sc
    ask neuralart compile --ta
    ask neuralart relocatable ve
    ask neuralart compile -m n
    ask neuralart vectors n
    """
    words = ["bash", "--norc", "-c", capsys.readouterr().out + ask]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["compile", "schema", "--target", "verify", "net.tflite", "net.tflite"], done


def test_completion_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["tool", "completion", "bash"]) == 1
    said = "completion needs the package shtab (pip install 'scons-neuralart[completion]')"
    assert capsys.readouterr() == ("", f"neuralart completion: error: {said}\n")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["tool", "completion", "ksh"])
    assert "invalid choice: 'ksh' (choose from " in capsys.readouterr().err
