"""``neuralart`` itself: its help, and what it says of a command that it does not have."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli
from neuralart_bring import completion


@pytest.mark.parametrize("command", cli.commands())
def test_help_ends_with_an_example_that_can_be_parsed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = cli.commands()[command].made.example
    words = shlex.split(example.partition(" > ")[0])
    assert cli.parser_of((command,)).parse_args(words).command == words[0] == command
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert f"\nexample: neuralart {example}\n" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == cli.USAGE_ERROR
    shown = capsys.readouterr()
    assert not shown.err and shown.out.startswith("usage: neuralart ")
    assert all(f"    {name} " in shown.out or f"    {name}\n" in shown.out for name in cli.commands())


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
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert not [name for name in (*cli.commands(), "aspect-ratio", "params-file") if name not in script]
    assert str(Path.cwd()) not in script and str(Path.home()) not in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on this machine")
def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "bash"]) == 0
    (tmp_path / "net.tflite").touch()
    ask = """
    ask() {
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _shtab_neuralart neuralart "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]}"
    }
    ask neuralart com
    ask neuralart compile --ta
    ask neuralart relocatable ve
    ask neuralart compile -m n
    ask neuralart vectors n
    """
    words = ["bash", "--norc", "-c", capsys.readouterr().out + ask]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["compile completion", "--target", "verify", "net.tflite", "net.tflite"], done


def test_completion_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 1
    said = "completion needs the package shtab (pip install 'scons-neuralart[completion]')"
    assert capsys.readouterr() == ("", f"neuralart completion: error: {said}\n")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["completion", "ksh"])
    assert "invalid choice: 'ksh' (choose from " in capsys.readouterr().err
