"""``neuralart`` itself: its help, and what it says of a command that it does not have."""

from __future__ import annotations

import shlex

import pytest

from neuralart import cli


def test_each_command_has_an_example() -> None:
    assert list(cli.EXAMPLES) == list(cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_ends_with_an_example_that_can_be_parsed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = cli.EXAMPLES[command]
    words = shlex.split(example)
    assert cli._parser(command).parse_args(words).command == words[0] == command
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert f"\nexample: neuralart {example}\n" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == cli.USAGE_ERROR
    shown = capsys.readouterr()
    assert not shown.err and shown.out.startswith("usage: neuralart ")
    assert all(f"    {name} " in shown.out or f"    {name}\n" in shown.out for name in cli.COMMANDS)


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
