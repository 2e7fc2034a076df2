"""What a compile wrote is what later steps take: sizes and times first, contents where they differ."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.network import manifest

FILES = {"net.c": b"int x;\n" * 50, "net_a.raw": bytes(range(256)) * 8, "network.json": b"{}\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / manifest.NAME).write_text(manifest.manifest("net", FILES))
    return tmp_path


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_what_was_compiled_is_right(folder: Path) -> None:
    assert manifest.changed(folder, {}) == ()
    assert [row.name for row in manifest.check(folder)] == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_every_changed_file_is_named(folder: Path, name: str) -> None:
    seen: manifest.Seen = {}
    assert manifest.changed(folder, seen) == ()
    flip(folder / name)
    os.utime(folder / name, ns=(1, seen[str(folder / name)][1] + 1))
    assert manifest.changed(folder, seen) == manifest.changed(folder, {}) == (name,)
    with pytest.raises(NeuralArtError, match=re.escape(f"{name} changed since the network was compiled")):
        manifest.check(folder)
    (folder / name).write_bytes(FILES[name])
    assert manifest.changed(folder, seen) == ()


def test_other_sizes_need_no_hash(folder: Path) -> None:
    (folder / "net.c").write_bytes(b"")
    seen: manifest.Seen = {}
    assert manifest.changed(folder, seen) == ("net.c",)
    assert str(folder / "net.c") not in seen


def test_what_was_hashed_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: manifest.Seen = {}
    read: list[str] = []
    real = manifest.read_bytes
    monkeypatch.setattr(manifest, "read_bytes", lambda path: read.append(path.name) or real(path))
    assert manifest.changed(folder, seen) == ()
    assert sorted(read) == sorted([*FILES, manifest.NAME])
    read.clear()
    assert manifest.changed(folder, seen) == ()
    assert read == [manifest.NAME]
    os.utime(folder / "net.c", ns=(5, 5))
    assert manifest.changed(folder, seen) == ()
    assert read == [manifest.NAME, manifest.NAME, "net.c"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links")
def test_a_link_is_no_file_of_a_compile(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Equal bytes behind it may be others tomorrow."""
    other = tmp_path_factory.mktemp("other") / "net.c"
    other.write_bytes(FILES["net.c"])
    for target in (other, other.with_name("gone")):
        (folder / "net.c").unlink()
        (folder / "net.c").symlink_to(target)
        assert manifest.changed(folder, {}) == ("net.c",)


def test_missing_files_are_seen_by_who_needs_them(folder: Path) -> None:
    (folder / "net.c").unlink()
    assert manifest.changed(folder, {}) == ()
    with pytest.raises(NeuralArtError, match=r"net\.c is not there"):
        manifest.check(folder)
    (folder / manifest.NAME).unlink()
    assert manifest.changed(folder, {}) == ()
    with pytest.raises(NeuralArtError, match="cannot read"):
        manifest.check(folder)


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
    (folder / manifest.NAME).write_text(text)
    assert manifest.changed(folder, {}) == (manifest.NAME,)
    with pytest.raises(NeuralArtError, match="not the manifest of a compile"):
        manifest.check(folder)
