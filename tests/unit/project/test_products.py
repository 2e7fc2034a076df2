"""``made.sha256``: the list of what was made in a folder, and what is refused because of it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import products
from neuralart.errors import NeuralArtError
from neuralart_insight.sbom import bill

DATA = b"as it was made"
DIGEST = hashlib.sha256(DATA).hexdigest()
NAMES = ("firmware.bin", "a name with blanks", "b\\ackslash\\n", "new\nline\r", "größe", "caf\udce9")


def listed(folder: Path, *names: str) -> dict[str, str]:
    """Files with a list of them."""
    for name in names:
        (folder / name).write_bytes(DATA)
    products.write_list(folder, dict.fromkeys(names, DIGEST))
    return products.listed(folder) or {}


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    folder = tmp_path / "digits-n6"
    folder.mkdir()
    listed(folder, "firmware.bin", "index.json", "summary.txt")
    return folder


def test_a_list_is_what_sha256sum_takes(tmp_path: Path) -> None:
    assert listed(tmp_path, *NAMES) == dict.fromkeys(NAMES, DIGEST)
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--quiet", "--strict", "--check", products.LIST], cwd=tmp_path, check=True)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1), st.just(DIGEST), min_size=1
    )
)
def test_any_name_comes_back(names: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(products.os.path, "lexists", lambda path: True):
        products.write_list(Path(folder), names)
        assert products.listed(Path(folder)) == names


def test_without_files_there_is_no_list(tmp_path: Path) -> None:
    listed(tmp_path, "one")
    (tmp_path / "one").unlink()
    products.write_list(tmp_path, {"one": DIGEST})
    assert not (tmp_path / products.LIST).exists() and products.listed(tmp_path) is None
    products.write_list(tmp_path, {})


def test_what_is_gone_leaves_the_list(tmp_path: Path) -> None:
    listed(tmp_path, "one", "two")
    (tmp_path / "one").unlink()
    products.write_list(tmp_path, {"one": DIGEST, "two": DIGEST})
    assert products.listed(tmp_path) == {"two": DIGEST}


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"no row\n", DIGEST.encode(), DIGEST.upper().encode() + b"  one\n"])
def test_damaged_lists_know_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / products.LIST).write_bytes(text)
    assert products.listed(tmp_path) == {}


def test_what_was_made_is_read(variant: Path) -> None:
    assert products.read(variant / "firmware.bin") == DATA


def test_what_differs_is_refused_by_name_and_with_the_remedy(variant: Path) -> None:
    path = variant / "firmware.bin"
    path.write_bytes(DATA + b"!")
    own = hashlib.sha256(DATA + b"!").hexdigest()
    said = f"{path}: is not what the build made: sha256 is {own[:16]}..., made.sha256 has {DIGEST[:16]}..."
    with pytest.raises(NeuralArtError, match=f"^{re.escape(said)} \\(scons digits-n6 makes it again\\)$"):
        products.read(path)
    with pytest.raises(NeuralArtError, match="is not what the build made"):
        bill.sha256(path)


SUMMARY = (
    "digits-n6: Digits\n  board        x, no image is made here\n  artefacts\n    out/build/digits-n6/firmware.bin\n"
)


@pytest.mark.parametrize(
    ("place", "summary", "remedy"),
    [
        ("out/build/digits-n6", SUMMARY, "scons digits-n6 makes it again"),
        ("build/kopie", SUMMARY, "scons digits-n6 makes it again in its build folder: take it from there"),
        (
            "kopie",
            SUMMARY.replace(": Digits", ""),
            "scons digits-n6 makes it again in its build folder: take it from there",
        ),
        ("Auslieferung/digits-n6", SUMMARY, "scons digits-n6 makes it again in its build folder: take it from there"),
        ("build/digits-n6", "digits-n6: dam", "scons digits-n6 makes it again"),
    ],
)
def test_a_copy_is_made_by_no_target(tmp_path: Path, place: str, summary: str, remedy: str) -> None:
    folder = tmp_path / place
    folder.mkdir(parents=True)
    listed(folder, "index.json", "flash_plan.json")
    (folder / "summary.txt").write_text(summary, "utf-8")
    (folder / "flash_plan.json").write_bytes(DATA + b"!")
    with pytest.raises(NeuralArtError, match="is not what the build made") as caught:
        products.read(folder / "flash_plan.json")
    assert caught.value.hint == remedy


def test_a_link_to_equal_bytes_is_refused(variant: Path) -> None:
    path = variant / "firmware.bin"
    path.rename(variant.parent / "elsewhere")
    path.symlink_to(variant.parent / "elsewhere")
    with pytest.raises(NeuralArtError, match="it is a link"):
        products.read(path)


def test_a_link_on_the_way_is_none(variant: Path) -> None:
    way = variant.parent / "way"
    way.symlink_to(variant, target_is_directory=True)
    assert products.read(way / "firmware.bin") == DATA


def test_in_the_folder_of_a_variant_all_is_listed(variant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (variant / "mine.bin").write_bytes(DATA)
    (variant / "app").mkdir()
    (variant / "app" / "main.o").write_bytes(DATA)
    for name in ("mine.bin", "app/main.o"):
        with pytest.raises(NeuralArtError, match=r"is not in made\.sha256|has no made\.sha256"):
            products.read(variant / name)
    monkeypatch.chdir(variant)
    Path(products.LIST).unlink()
    with pytest.raises(
        NeuralArtError, match=r"^firmware\.bin: .*its folder has no made\.sha256 \(scons digits-n6 makes"
    ):
        products.read(Path("firmware.bin"))


def test_of_other_files_nothing_is_known(tmp_path: Path) -> None:
    listed(tmp_path, "listed")
    (tmp_path / "mine.bin").write_bytes(b"mine")
    assert products.read(tmp_path / "mine.bin") == b"mine"
    (tmp_path / "listed").write_bytes(b"mine")
    with pytest.raises(NeuralArtError, match=r"\(scons makes it again where it was built\)$"):
        products.read(tmp_path / "listed")
    (tmp_path / products.LIST).unlink()
    assert products.read(tmp_path / "listed") == b"mine"
    with pytest.raises(NeuralArtError, match="build it first"):
        products.read(tmp_path / "none", "build it first")
