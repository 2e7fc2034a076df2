"""Public firmware repositories, adopted as they are: an image and a flash plan, or the true reason in one line.

``NEURALART_REAL_TREES`` names a folder with a checkout of each; docs/reference/adopt.md has the commands. They are
copied, and nothing is written to them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from neuralart import cli, config
from support.projects.sconsproject import Project

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


def _built(project: Project, name: str) -> tuple[str, list[str]]:
    """Build as the hints of errors say, one after another: the error that is left, and the flags that it took."""
    path = project.root / "variants.yaml"
    flags: list[str] = []
    for _ in range(8):
        result = project.run(name, code=None, timeout=3600)
        if not result.code:
            return "", flags
        assert result.errors, result.out
        error = result.errors[0]
        data = yaml.safe_load(path.read_text())
        variant = data["variants"][name]
        flag = re.search(r"tolerate: \['([^']+)'\]", error)
        if flag is not None and flag[1] not in flags:
            flags.append(flag[1])
            variant["toolchain"] = {"tolerate": flags}
        elif "build: native does without it" in error and "build" not in variant["application"]["cubeide"]:
            variant["application"]["cubeide"]["build"] = "native"
        else:
            return error, flags
        path.write_text(yaml.safe_dump(data, sort_keys=False))
    return error, flags


def _objects(tree: Path) -> dict[Path, int]:
    """When each was written, in ns."""
    return {path: path.stat().st_mtime_ns for path in tree.rglob("*.o")}


def _a_header_builds_what_includes_it(project: Project, name: str) -> str:
    """Of a header that few sources include; only where dependency files and commands tell it."""
    work = project.root / f"build/{name}/application"
    users: dict[Path, int] = {}
    for path in sorted((work / "tree").rglob("*.d")):
        base = next(
            (each for each in path.parents if (each / "makefile").is_file() or (each / "Makefile").is_file()), None
        )
        names = {word for word in path.read_text("utf-8", "replace").split() if word.endswith(".h")}
        for word in names if base is not None else ():
            header = Path(os.path.normpath(base / word))
            users[header] = users.get(header, 0) + 1
    own = [header for header in users if (project.root / os.path.relpath(header, work / "tree")).is_file()]
    if not own:
        return "no dependency files"
    header = min(own, key=lambda each: (users[each], each))
    source = project.root / os.path.relpath(header, work / "tree")
    source.write_bytes(source.read_bytes() + b"\n/* touched */\n")
    before = _objects(work / "tree")
    project.run(name, timeout=3600)
    after = _objects(work / "tree")
    # Not by what make says: some say no more than the name of each file.
    compiled = sum(after[path] != before.get(path) for path in after)
    assert compiled == users[header], header
    return f"{header.name}: {compiled} compiled again"


def test_an_image_or_the_reason(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Equal to the tree's own build where that builds; the second build runs nothing; a header builds its users."""
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
    for name in config.read(root / "variants.yaml").config.titles:
        error, flags = _built(project, name)
        if error:
            print(f"{name}: {error}")
            continue
        project.up_to_date(name)
        print(f"{name}: built{f' with tolerate {flags}' if flags else ''}")
        print((root / f"build/{name}/summary.txt").read_text().splitlines()[2])
        external = config.read(root / "variants.yaml").variant(name).application.external
        assert external is not None
        if not flags and config.read(root / "variants.yaml").variant(name).application.kind == "make":
            shutil.copytree(tree, tmp_path / "own" / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            own = _own_build(tmp_path / "own" / name, external)
            assert own is None or _bytes(own) == _bytes(root / f"build/{name}/firmware.elf"), name
        print(_a_header_builds_what_includes_it(project, name))
