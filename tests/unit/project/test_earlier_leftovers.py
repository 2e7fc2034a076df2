"""What an earlier release left is used, or refused by its name in one line with what makes it again.

``tests/releases/<version>/left`` was made by that release (the recording with the made-up stedgeai of that time).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from neuralart import cli, products
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.flashing import plan
from support.projects.sconsproject import REPO

LEFT = sorted((REPO / "tests/releases").glob("*/left"))
WORDS = ("compile", "--compiler", "recorded", "-m", "digits.tflite", "--target", "stm32n6", "-n", "digits", "-o", "out")
pytestmark = pytest.mark.parametrize("left", LEFT, ids=lambda path: path.parent.name)


@pytest.fixture
def folder(left: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what was left, with the model."""
    shutil.copytree(left, tmp_path / "left")
    shutil.copy(REPO / "models/digits/digits.tflite", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "left"


def test_a_recording_comes_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, "--recording", "left/recording"]) == 0
    files = {path.name: path.read_bytes() for path in (folder / "recording/files").iterdir()}
    assert {name: Path("out", name).read_bytes() for name in files} == files and len(files) > 8


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [("schema", 0, "schema 0, this version reads 1"), ("options", [["--new", "1"]], "was made from something else")],
)
def test_a_recording_of_another_form_is_refused(
    folder: Path, key: str, value: object, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "recording/recording.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert cli.main([*WORDS, "--recording", "left/recording"]) == 1
    line, *hint = capsys.readouterr().err.splitlines()
    assert line.startswith("neuralart compile: error: left/recording") and said in line
    assert "record it again where the tool is installed: neuralart record" in " ".join([line, *hint]) and len(hint) < 2


def test_a_flash_plan_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan.read(folder / "flash_plan.json")
    assert [write.kind for write in found.writes] == ["application", "model", "descriptor"]
    assert cli.main(["inspect", "left/flash_plan.json"]) == 0
    assert "flash plan of stm32n6570-dk: 3 writes" in capsys.readouterr().out


def test_a_flash_plan_in_the_place_of_a_build_is_refused(folder: Path) -> None:
    """Nothing says that its images are those of the build."""
    place = Path("build/digits-n6")
    for name in products._OF_VARIANT:
        write_text(place / name, "")
    shutil.copy(folder / "flash_plan.json", place)
    with pytest.raises(NeuralArtError, match=r"its folder has no made\.sha256") as caught:
        products.check(place.resolve() / "flash_plan.json", "0" * 64)
    assert caught.value.hint == "scons digits-n6 makes it again"


def test_a_relocatable_model_is_sound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["relocatable", "verify", "left/network_rel.bin"]) == 0
    assert "sound: 'digits' for runtime 0.1.0.0" in capsys.readouterr().out
    assert cli.main(["inspect", "left/network_rel.bin"]) == 0
    data = bytearray((folder / "network_rel.bin").read_bytes())
    data[0] ^= 0xFF
    (folder / "network_rel.bin").write_bytes(data)
    capsys.readouterr()
    assert cli.main(["relocatable", "verify", "left/network_rel.bin"]) == 1
    assert "left/network_rel.bin" in "".join(capsys.readouterr())
