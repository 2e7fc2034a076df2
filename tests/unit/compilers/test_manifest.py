"""What a compile wrote is what later steps take: sizes and times first, contents where they differ."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.network import facts

FILES = {"net.c": b"int x;\n" * 50, "net_a.raw": bytes(range(256)) * 8, "network.json": b"{}\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / facts.MANIFEST).write_text(facts.manifest("net", FILES))
    return tmp_path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_what_was_compiled_is_right(folder: Path) -> None:
    assert facts.changed_files(folder) == ()
    assert [row.name for row in facts.check_files(folder)] == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_changed_file_is_named(folder: Path, name: str) -> None:
    flip(folder / name)
    assert facts.changed_files(folder) == (name,)
    with pytest.raises(NeuralArtError, match=re.escape(f"{name} changed since the network was compiled")):
        facts.check_files(folder)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_a_link_is_no_file_of_a_compile(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Equal bytes behind it may be others tomorrow."""
    other = tmp_path_factory.mktemp("other") / "net.c"
    other.write_bytes(FILES["net.c"])
    for target in (other, other.with_name("gone")):
        (folder / "net.c").unlink()
        (folder / "net.c").symlink_to(target)
        assert facts.changed_files(folder) == ("net.c",)


def test_missing_files_are_seen_by_who_needs_them(folder: Path) -> None:
    (folder / "net.c").unlink()
    assert facts.changed_files(folder) == ()
    with pytest.raises(NeuralArtError, match=r"net\.c is not there"):
        facts.check_files(folder)
    (folder / facts.MANIFEST).unlink()
    assert facts.changed_files(folder) == ()
    with pytest.raises(NeuralArtError, match="cannot read"):
        facts.check_files(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[" * 100_000,
        '{"files": 3}',
        '{"files": [3]}',
        '{"files": [{"name": "../x", "bytes": 1, "sha256": ""}]}',
        '{"files": [{"name": "a\\\\b", "bytes": 1, "sha256": ""}]}',
        '{"files": [{"name": "", "bytes": 1, "sha256": ""}]}',
        '{"files": [{"name": "x", "bytes": "1", "sha256": ""}]}',
        '{"files": [{"name": "x", "bytes": true, "sha256": ""}]}',
    ],
)
def test_a_damaged_manifest(folder: Path, text: str) -> None:
    (folder / facts.MANIFEST).write_text(text)
    assert facts.changed_files(folder) == (facts.MANIFEST,)
    with pytest.raises(NeuralArtError, match="not the manifest of a compile"):
        facts.check_files(folder)
