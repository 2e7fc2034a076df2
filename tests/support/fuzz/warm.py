"""What a command does before it opens the user's file, done once for all damaged files of a process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from neuralart import cli, resources
from neuralart.boards import loading
from neuralart.text import yaml_values

_parser_of, _load, _compose = cli.parser_of, loading.load, yaml_values.compose
_parser = cache(_parser_of)
_board = cache(_load)
_tree = cache(_compose)


def _kept_parser(asked: Collection[str | None]) -> Any:
    return _parser(asked)  # type: ignore[arg-type]


def _kept_board(name: str, extra: Sequence[Path] = (), where: str = "") -> Any:
    return _load(name, extra, where) if extra else _board(name, where=where)


def _kept_tree(data: bytes, display: str) -> Any:
    own = display.startswith(str(resources.PACKAGE))
    return (_tree if own else _compose)(data, display)


def install() -> None:
    """Command lines, boards and files of the package itself are read once."""
    cli.parser_of = _kept_parser
    loading.load = _kept_board
    yaml_values.compose = _kept_tree
