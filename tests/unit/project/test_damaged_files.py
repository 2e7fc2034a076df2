"""What damaged files once did to their readers; tests/torture/test_fuzz.py looks for more."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from support.fuzz.judge import Kind, of_message
from support.fuzz.kinds import KINDS

DIGITS = b"9" * 5000
NAME = b"A/" * 3000


def within(old: bytes, new: bytes) -> Callable[[Kind], bytes]:
    """The first good file that has it, with something else in its place."""

    def made(kind: Kind) -> bytes:
        good = next(data for data in kind.good if re.search(old, data))
        return re.sub(old, lambda _: new, good, count=1)

    return made


def tree(*way: str | int, value: object) -> Callable[[Kind], bytes]:
    """The first good JSON file, with another value somewhere."""

    def made(kind: Kind) -> bytes:
        top = here = json.loads(kind.good[0])
        for key in way[:-1]:
            here = here[key]
        here[way[-1]] = value
        return json.dumps(top).encode()

    return made


def whole(data: bytes) -> Callable[[Kind], bytes]:
    return lambda kind: data


def nor(base: int, size: int, sector: int) -> bytes:
    body = struct.pack("<QQII", base, size, sector, 0)
    return b"NARNOR1\0" + body + struct.pack("<I", zlib.crc32(body))


REFUSED = [
    # An encoding that Python does not have, one that expat does not, and one that is no encoding of text.
    (".project", within(b'"1.0"', b'"1.0" encoding="UTF-9"'), "is no XML: unknown encoding: UTF-9"),
    (".project", within(b'"1.0"', b'"1.0" encoding="shift_jis"'), "is no XML: multi-byte encodings"),
    (".cproject", within(b"UTF-8", b"zlib"), "is no XML: 'zlib' is not a text encoding"),
    # More digits than Python turns into a number.
    ("failures.yaml", within(rb"\{3\}", b"{" + DIGITS + b"}"), "is no regular expression"),
    ("patched-params", within(rb"\(18428\)", b"(" + DIGITS + b")"), "a plain decimal or hexadecimal number is read"),
    ("failures.yaml", within(rb"slow \(", b"[[a] ("), "is no regular expression: Possible nested set"),
    # Two gigabytes from a few letters.
    ("failures.yaml", within(b"{what} does", b"{what:>2000000000} does"), "is no text with {names} in it"),
    ("loaded.nor", whole(nor(0, 0, 0x7FFFFFFF)), "no such chip: 0 bytes"),
    # No file can have such a name.
    ("user_config.yaml", within(rb"\.\./zoo/pose_estimation", NAME), "File name too long"),
    ("board.yaml", within(rb"pools/[\w-]+.mpool", NAME), "mpool: no file"),
    ("manifest.json", within(b"network.json", b"n" * 300), "is no row of it"),
    ("run_plan.json", tree("writes", 0, "file", value=NAME.decode()), "cannot read: File name too long"),
    # It would be printed once the flash is written.
    ("flash_plan.json", tree("writes", 0, "name", value="\ud800"), "a character that no terminal can show"),
    ("flash_plan.json", tree("writes", 1, "name", value="net\x1b[2J"), "a character that no terminal can show"),
    ("recording.json", tree("tool", value="1.2.3"), "'1.2.3' is no version of a tool with a Neural-ART compiler"),
    ("network_c_info.json", tree("json_schema_version", value="2\x1b[2J"), "schema"),
]


@pytest.mark.parametrize(("name", "change", "said"), REFUSED)
def test_one_line(name: str, change: Callable[[Kind], bytes], said: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    kind.prepare(tmp_path)
    path = tmp_path / (kind.file or kind.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(change(kind))
    with pytest.raises(Exception) as caught:
        kind.read(path)
    assert said in str(caught.value)
    assert of_message(str(caught.value), tmp_path) == ""


READ = [
    ("script.ld", within(b"other.ld", NAME)),
    ("network_ecblobs.h", within(rb"(?<=_RELOC_IDX )\(?\d+", DIGITS)),
    ("app_postprocess.h", within(rb"\d+\)", DIGITS + b")")),
    # 1e400 is infinite, and no number of bytes.
    ("copied-tree", within(rb"\[\s*\d+", b"[1e400")),
    ("copied-tree", tree("files", value={"[" * 400: None})),
    ("index.json", tree("artefacts", value=["v/net/network.json", NAME.decode()])),
    # Adopted C does not say it.
    ("network.json", tree("macc", value=None)),
    ("npu_profiler.log", within(rb"(?<=mcu cycles             : \[)\d+", b"18446744073709551616")),
    # Scales without a zero point: it is 0.
    ("network.c", within(rb"\.offset = [^,]*,", b".offset = NULL,")),
    ("linted.json", tree("name", value="a/b")),
    ("linted.json", tree("name", value="a\ud800")),
]


@pytest.mark.parametrize(("name", "change"), READ)
def test_what_is_wrong_does_not_matter(name: str, change: Callable[[Kind], bytes], tmp_path: Path) -> None:
    kind = KINDS[name]
    kind.prepare(tmp_path)
    path = tmp_path / (kind.file or kind.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(change(kind))
    kind.read(path)


@pytest.mark.parametrize("absolute", [False, True])
def test_a_record_of_copies_leads_nowhere_else(tmp_path: Path, absolute: bool) -> None:
    """A file that is not wanted any more is deleted, and a folder if it is empty: below the copy, and only there."""
    kind = KINDS["copied-tree"]
    kind.prepare(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    before = tmp_path.as_posix() if absolute else "../.."
    record = tmp_path / kind.file
    data = json.loads(record.read_text())
    data["files"][f"{before}/mine.txt"] = None
    data["folders"].append(f"{before}/empty")
    record.write_text(json.dumps(data))
    kind.read(record)
    assert (tmp_path / "empty").is_dir() and (tmp_path / "mine.txt").read_text() == "mine"


def test_messages_keep_their_form_whatever_is_in_them() -> None:
    error = NeuralArtError("no\nsuch \x1b[31m " + "x" * 9000, where="f\0.c:3", hint="y" * 9000)
    text = str(error)
    assert of_message(text, Path("/nowhere")) == "" and len(text) < 1200
    assert text.startswith("f\\x00.c:3: no such \\x1b[31m xxx") and " ... xxx" in text
    longest = "/".join(["folder"] * 60) + "/a.c:3"
    assert str(NeuralArtError("wrong", where=longest)) == f"{longest}: wrong"
