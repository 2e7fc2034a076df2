"""Names that would steer a terminal, turn the order of letters or look like a line of ours: all who print show them."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import shlex
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli
from neuralart.resources import PACKAGE
from support.cases.inspect_files import FILES

# Title of the window, end of it, clear the screen (in seven bits and in eight), a bell, letters from the right.
CONTROLS = "\x1b]0;PWN\x07\x9b2J\x1b[31m\u202e\u2028"
HOSTILE = f"{CONTROLS}\ud800\rforged\nforged: error: x"
NAME = "a\x1b]0;PWN\x07\x9b2J\u202e\udcff\rforged\nforged: error: x"
Capture = pytest.CaptureFixture[str]


def wrong(text: str) -> list[str]:
    """What of a printed text reaches a terminal and must not; lines that were forged."""
    bad = [repr(c) for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c not in "\n\t"]
    return bad + [line for line in text.splitlines() if line.lstrip(" #*|").startswith("forged")]


def said(words: list[str], capsys: Capture) -> str:
    """What a command prints; it ends as it always does."""
    with contextlib.suppress(SystemExit):  # wrong usage
        cli.main(words)
    captured = capsys.readouterr()
    return captured.out + captured.err


# ---- contents of files


def _spoiled(value: Any, old: Any, new: Any) -> Any:
    """JSON with one text or key changed, which is known by being the very object."""
    if value is old:
        return new
    if isinstance(value, dict):
        return {(new if key is old else key): _spoiled(member, old, new) for key, member in value.items()}
    return [_spoiled(member, old, new) for member in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    members = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        yield from _texts(member)


def _copies(value: Any) -> Any:
    """Equal texts of a JSON parser may be one object."""
    if isinstance(value, dict):
        return {_copies(key): _copies(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_copies(member) for member in value]
    return "".join(list(value)) if isinstance(value, str) else value


def spoiled(data: bytes) -> Iterator[bytes]:
    """A file with a hostile text in one place after the other: in texts and keys of JSON, else within words."""
    chance = random.Random(28)
    try:
        tree = _copies(json.loads(data))
    except ValueError:
        tree = None
    if tree is not None:
        texts = list(_texts(tree))
        for old in chance.sample(texts, min(len(texts), 60)):
            for new in (old + HOSTILE, HOSTILE):
                yield json.dumps(_spoiled(tree, old, new)).encode()
        return
    words = [found.start() + 2 for found in re.finditer(rb"[A-Za-z_]{4,}", data)]
    for at in chance.sample(words, min(len(words), 40)):
        yield data[:at] + CONTROLS.encode("utf-8", "replace") + data[at:]
        yield data[:at] + CONTROLS.encode("ascii", "backslashreplace").replace(b"\\x", b"\\u00") + data[at:]
        # Other offsets would make a binary file another one; and these are letters of UTF-8.
        yield data[:at] + b"\x1b\x07" + data[at + 2 :]


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.needs("onnx")] * each.endswith(".onnx")) for each in FILES]
)
def test_inspect(name: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / Path(name).name
    found = []
    shown = 0
    for data in spoiled(FILES[name][1]):
        path.write_bytes(data)
        text = said(["inspect", str(path)], capsys)
        shown += "\\x1b" in text
        found += wrong(text)
    assert found == []
    print(name, shown)
    if name.endswith((".tflite", ".onnx", "_info.json", "plan.json", "report.txt", ".csv")):
        assert shown


# ---- names of files


def commands(parser: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    inner = next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)
    if inner is None:
        yield words, parser
    for name, each in inner.choices.items() if inner is not None else ():
        yield from commands(each, *words, name)


# They start other programs, wait for boards, or take no file.
NOT_CALLED = {
    ("build",),
    ("watch",),
    ("debug",),
    ("monitor",),
    ("device", "monitor"),
    ("device", "debug"),
    ("tool", "completion"),
}
CALLED = [(words, parser) for words, parser in commands(cli.parser_of(cli.commands())) if words not in NOT_CALLED]


@pytest.mark.parametrize("there", [False, True], ids=["missing", "there"])
@pytest.mark.parametrize("words", [words for words, _ in CALLED], ids=" ".join)
def test_names_of_files(
    words: tuple[str, ...], there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Each option that takes a file or a folder, together with those that must be there."""
    monkeypatch.chdir(tmp_path)
    parser = dict(CALLED)[words]
    if there:
        (tmp_path / NAME).write_bytes(b"# " + HOSTILE.encode("utf-8", "replace"))
    needed: list[str] = []
    options = []
    for action in parser._actions:
        takes = (action.type is Path or action.metavar in ("FILE", "DIR", "FOLDER", "MODEL", "APPLICATION")) * [NAME]
        value = takes or [str(next(iter(action.choices)))] if action.choices else takes or ["1"]
        if not action.option_strings:
            if action.nargs != "?" or takes:
                needed += value
        elif action.required:
            needed += [action.option_strings[0], *value]
        elif takes:
            options.append([action.option_strings[0], NAME])
    found = []
    for option in ([], *options):
        text = said([*words, *option, *needed], capsys)
        found += [(option, each) for each in wrong(text)]
    assert found == []


@pytest.mark.parametrize("words", ["inspect", "tool sign -o a", "adopt"])
def test_the_name_is_shown(words: str, capsys: Capture) -> None:
    assert r"a\x1b]0;PWN\x07\x9b2J\u202e\udcff\rforged\nforged: error: x" in said([*words.split(), NAME], capsys)


def test_a_network_of_a_hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """What is written, not only what is printed."""
    model = PACKAGE.parents[1] / "models" / "digits" / "digits.tflite"
    place = tmp_path / NAME
    place.mkdir()
    (place / f"{NAME}.tflite").write_bytes(model.read_bytes())
    monkeypatch.chdir(place)
    line = f"compile --model {shlex.quote(NAME)}.tflite --target stm32n6570-dk --name net -o out"
    text = said(shlex.split(line), capsys)
    assert wrong(text) == [] and (place / "out" / "net.c").is_file(), text
    for path in (place / "out").iterdir():
        if path.suffix in (".c", ".h", ".txt", ".json"):
            assert wrong(path.read_text("utf-8")) == [], path.name
