"""``neuralart inspect``: what files are and what they say."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError, nearest, one_line
from neuralart.text import sizes
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_insight.inspect.kinds import FileKind

_RELOCATABLE = "relocatable"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="what a compile reads or writes")
    json = "for programs; of several files one record a line; addresses are integers"
    parser.add_argument("--json", action="store_true", help=json)
    parser.add_argument("--kind", metavar="KIND", help="take it for that kind (default: what its contents say)")
    params = "network_rel_params.bin of a split relocatable model"
    parser.add_argument("--params", type=Path, metavar="FILE", help=params)
    offset = "where a relocatable model begins in FILE (default: 0)"
    parser.add_argument("--offset", type=sizes.word, metavar="N", help=offset)


def _kind(path: Path, asked: str | None) -> FileKind:
    from neuralart.files import read_bytes
    from neuralart_insight.inspect import kinds

    if asked is not None:
        known = {kind.name: kind for kind in kinds.kinds()}
        if asked not in known:
            raise NeuralArtError(f"no kind '{asked}'", where="--kind", hint=nearest(asked, list(known)))
        return known[asked]
    data = read_bytes(path)
    found = kinds.detect(data, path.name)
    if found is None:
        from neuralart_insight.inspect.own_kinds import looks_like

        hint = "docs/reference/inspect.md lists what is known"
        raise NeuralArtError(f"{looks_like(data, path.name)}: nothing to say about it", where=str(path), hint=hint)
    return found


def inspect(path: Path, asked: str | None = None, **options: Any) -> tuple[FileKind, dict[str, Any]]:
    """What a file is and says: its kind and its record, ``kind`` and ``file`` first. ``asked``: name of the kind to
    take it for; None: what its contents say. ``options``: ``offset`` and ``params`` of a relocatable model. Raises
    NeuralArtError: it is of no known kind, cannot be read, or is damaged.
    """
    from neuralart_insight.inspect import kinds
    from neuralart_insight.inspect.views.images import relocatable

    kind = _kind(path, asked or (_RELOCATABLE if options else None))
    if options and kind.name != _RELOCATABLE:
        raise NeuralArtError("--offset and --params are for relocatable models", where=str(path))
    found = relocatable(path, **options) if options else kinds.reader(kind).record(path)
    return kind, {"kind": kind.name, "file": str(path), **found}


def to_json(record: dict[str, Any], indent: int | None = 1) -> str:
    """JSON that every reader takes: what is no finite number becomes null; what is for people stays out."""
    import json

    shown = {key: value for key, value in record.items() if not key.startswith("_")}
    try:
        return json.dumps(shown, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(shown), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def _with_lines(value: Any) -> Any:
    """A record each of whose texts and keys is one line, whatever the file says. Texts for people alone are lines."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        whole = {key: value[key] for key in value if str(key).startswith("_")}
        return {_with_lines(key): _with_lines(value[key]) for key in value} | whole
    return type(value)(map(_with_lines, value)) if type(value) in (list, tuple) else value


def _one(args: argparse.Namespace, path: Path) -> None:
    from neuralart_insight.inspect import kinds

    options = {"offset": args.offset or 0, "params": args.params} if args.offset is not None or args.params else {}
    kind, record = inspect(path, args.kind, **options)
    several = len(args.files) > 1
    if args.json:
        # A file may hold several images: each is a record of its own.
        more = [{"kind": record["kind"], "file": record["file"], **each} for each in record.get("_more", ())]
        for each in (record, *more):
            print(to_json(each, None if several or more else 1))
    else:
        if several:
            say(f"==> {path}: {kind.title}")
        print(kinds.reader(kind).text(_with_lines(record)), end="")


def run(args: argparse.Namespace) -> int:
    """Print the records; of several files also how many there were. Raises NeuralArtError: the only file is refused."""
    if len(args.files) == 1:
        _one(args, args.files[0])
        return 0
    refused = 0
    for path in args.files:
        try:
            _one(args, path)
        except NeuralArtError as error:
            refused += 1
            print(f"neuralart inspect: error: {error}", file=sys.stderr)
    say(f"{len(args.files)} files: {len(args.files) - refused} read, {refused} refused", file=sys.stderr)
    return int(refused > 0)
