"""The commands that look at a variant work for each one of this repository, with and without an NPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart import cli, config

REPO = Path(__file__).resolve().parents[3]
PROJECT = config.read(REPO / "variants.yaml", "variants.yaml")
VARIANTS = sorted(PROJECT.config.titles)


@pytest.mark.parametrize("variant", VARIANTS)
def test_plan(
    variant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(REPO)
    assert cli.main(["plan", variant, "--json", "--build", str(tmp_path)]) == 0
    owners = [each["kind"] for each in json.loads(capsys.readouterr().out)["placements"]]
    assert "firmware" in owners or PROJECT.variant(variant).relocatable is not None
    if variant.startswith(("digits-h747", "digits-an500")):
        assert set(owners) == {"firmware"}, "a network on the core is a part of the firmware"


def test_lint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its default: all variants."""
    monkeypatch.chdir(REPO)
    assert cli.main(["lint", "--build", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "0 errors, 0 warnings, 0 notes"
    assert all(variant in said.err for variant in VARIANTS)
