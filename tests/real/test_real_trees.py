"""Public firmware repositories, adopted as they are: an image and a flash plan, or the true reason in one line.

``NEURALART_REAL_TREES`` names a folder with a checkout of each; docs/reference/adopt.md has the commands. They are
copied, and nothing is written to them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from neuralart import cli, config
from support.sconsproject import Project

_TREES = os.environ.get("NEURALART_REAL_TREES", "")
_FOUND = sorted(path for path in Path(_TREES).iterdir() if path.is_dir()) if _TREES else []
pytestmark = [
    pytest.mark.skipif(not _FOUND, reason="NEURALART_REAL_TREES names no folder with repositories"),
    pytest.mark.long,
]
SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[PyPackageDir("neuralart").up()])
project = env.NeuralArtProject("variants.yaml")
project.build(COMMAND_LINE_TARGETS)
"""


@pytest.fixture(params=_FOUND, ids=lambda path: path.name)
def tree(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_what_is_found_is_there(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["adopt", str(tree), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    files = [each["c_file"] for each in found["networks"]] + [each["file"] for each in found["build"]]
    files += found["linker_scripts"] + [path for each in found["networks"] for path in each["initializers"].values()]
    assert all((tree / path).is_file() for path in files)
    assert len({each["c_file"] for each in found["networks"]}) == len(found["networks"])
    print(f"{tree.name}: {len(found['networks'])} networks, board {found['board']}, {len(found['flash'])} addresses")


def _own_build(tree: Path, external: config.application.ExternalConfig) -> Path | None:
    """The program of the tree's own make; None: it does not build here."""
    words = ["make", f"-j{os.cpu_count()}", *(f"{name}={value}" for name, value in external.variables)]
    done = subprocess.run(words, cwd=tree / external.directory, capture_output=True, check=False)
    made = tree / external.directory / external.artefact
    return made if done.returncode == 0 and made.is_file() else None


def _bytes(program: Path) -> bytes:
    binary = program.with_suffix(".only-bytes")
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(program), str(binary)], check=True)
    return binary.read_bytes()


def test_an_image_or_the_reason(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal to the tree's own build where that builds; the second build runs nothing."""
    root = tmp_path / "repository"
    shutil.copytree(tree, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    monkeypatch.chdir(root)
    status = cli.main(["adopt", ".", "-o", "variants.yaml", "--force"])
    said = capsys.readouterr().err
    if status:
        reasons = [
            line for line in said.splitlines() if line.startswith(("note: no entry for ", "neuralart adopt: error: "))
        ]
        assert reasons, said
        print("\n".join(reasons))
        return
    (root / "SConstruct").write_text(SCONSTRUCT)
    project = Project(root)
    read = config.read(root / "variants.yaml")
    for name in read.config.titles:
        external = read.variant(name).application.external
        assert external is not None
        result = project.run(name, code=None, timeout=1800)
        if result.code:
            assert result.errors, result.out
            print(f"{name}: {result.errors[0]}")
            continue
        project.up_to_date(name)
        shutil.copytree(tree, tmp_path / "own" / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        own = _own_build(tmp_path / "own" / name, external) if read.variant(name).application.kind == "make" else None
        if own is not None:
            assert _bytes(own) == _bytes(root / f"build/{name}/firmware.elf"), name
        print(f"{name}: built{', equal to its own build' if own is not None else ''}")
