"""What a change rebuilds where ST Edge AI Core compiles: the made-up tool, an older and the newest release."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest

from support.fake_stedgeai import calls, install
from support.projects import vendorproject
from support.projects.vendorproject import VendorProject, network, new_weights

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
]
# Only these may run when weights change.
DATA = {"NETWORK", "IMAGE", "PLAN"}


# What a change rebuilds differs between releases only in the files that they write.
newest = pytest.mark.parametrize("template", ["4.0.1"], indirect=True)


@pytest.fixture(scope="module", params=["4.0.1", "2.2.0"])
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VendorProject:
    """Built once for each release."""
    folder = tmp_path_factory.mktemp("vendor")
    project = vendorproject.make(folder / "tree", folder / "st" / request.param, request.param)
    project.run("-j2")
    return project


@pytest.fixture
def built(template: VendorProject, tmp_path: Path) -> VendorProject:
    """A built tree to change."""
    return vendorproject.copy(template, tmp_path / "a tree with spaces")


def test_from_model_to_program(template: VendorProject) -> None:
    folder = template.folder()
    names = {path.name for path in folder.iterdir()}
    assert {"net.c", "net.h", "net_ecblobs.h", "net_atonbuf.xSPI2.raw", "network.json", "manifest.json"} <= names
    assert ("stai_net.c" in names) == (template.core.name > "3")
    assert template.path("out/app/app.o").stat().st_size > 1000
    image = template.path("out/app/net.xSPI2.bin").read_bytes()
    assert image.startswith((folder / "net_atonbuf.xSPI2.raw").read_bytes())


def test_nothing_changed(built: VendorProject) -> None:
    before = len(calls(built.core))
    built.up_to_date()
    assert len(calls(built.core)) == before, "not even its version is asked"


@newest
def test_another_folder_is_as_good(built: VendorProject, tmp_path: Path) -> None:
    vendorproject.copy(built, tmp_path / "elsewhere" / "deep").up_to_date()


@newest
def test_touched_files(built: VendorProject) -> None:
    for name in ("net.tflite", "na.json", "pools/n6.mpool"):
        os.utime(built.path(name), (time.time() + 60, time.time() + 60))
    built.up_to_date()


def test_weights(built: VendorProject) -> None:
    before = built.kept()
    new_weights(built.path("net.tflite"))
    count = built.compiles()
    result = built.run()
    assert "NETWORK" in result.tags and result.tags <= DATA, result.commands
    assert built.compiles() == count + 1
    changed = {Path(name).name for name, data in built.kept().items() if before[name] != data}
    assert {"net_atonbuf.xSPI2.raw", "net.xSPI2.bin", "net.xSPI2.hex", "descriptor.bin"} <= changed
    assert not {name for name in changed if name.endswith((".c", ".h", ".o"))} and "network.json" not in changed
    built.up_to_date()


@newest
def test_another_network(built: VendorProject) -> None:
    with built.path("net.tflite").open("ab") as file:
        file.write(bytes(4096))
    result = built.run()
    assert {"NETWORK", "CC", "LINK"} <= result.tags
    built.up_to_date()


@newest
def test_a_comment_in_the_profile(built: VendorProject) -> None:
    """It is compiled again, and nothing follows."""
    built.edit("na.json", "// ours", "// ours, and a remark")
    assert built.run().tags == {"NETWORK"}
    built.up_to_date()


@newest
def test_an_option_of_the_profile(built: VendorProject) -> None:
    """Of two networks the one whose profile is changed is compiled again."""
    other = network(name="other", profile="blobs@other.json")
    built.path("other.json").write_text(built.path("na.json").read_text())
    built.programs(app=[network()], second=[other])
    built.run()
    count = built.compiles()
    built.edit("other.json", "--Os --enable-epoch-controller", "--Os --enable-epoch-controller -O3")
    result = built.run()
    networks = [target for tag, target in result.commands if tag == "NETWORK"]
    assert len(networks) == 1 and "/other-" in networks[0]
    assert built.compiles() == count + 1
    built.up_to_date()


@newest
def test_equal_specifications_compile_once(built: VendorProject) -> None:
    built.programs(app=[network()], second=[network()])
    result = built.run()
    assert "NETWORK" not in result.tags, "it is there already"
    assert ("LINK", "out/second/app.o") in result.commands
    shutil.rmtree(built.path("build"))
    count = built.compiles()
    built.run("-j2")
    assert built.compiles() == count + 1


def test_the_epoch_controller_switched_off(built: VendorProject) -> None:
    folder = built.folder()
    assert (folder / "net_ecblobs.h").is_file()
    built.edit("na.json", "--Os --enable-epoch-controller --ec-single-epoch", "--Os")
    result = built.run()
    assert built.folder() == folder
    assert not (folder / "net_ecblobs.h").exists()
    assert "net_ecblobs.h" not in (folder / "net.c").read_text()
    assert {"NETWORK", "CC", "LINK"} <= result.tags
    built.up_to_date()
    built.edit(
        "na.json",
        '"blobs": {"memory_pool": "pools/n6.mpool", "options": "--Os',
        '"blobs": {"memory_pool": "pools/n6.mpool", "options": "--Os --enable-epoch-controller',
    )
    built.run()
    assert (folder / "net_ecblobs.h").is_file()


def test_the_pair_for_profiling(built: VendorProject) -> None:
    built.programs(app=[network(pair="profiling")])
    result = built.run()
    assert result.tags == {"NETWORK"}, "the program stays"
    main, pair = sorted(
        built.path("build/networks").iterdir(), key=lambda folder: not (folder / "net_ecblobs.h").exists()
    )
    assert not (pair / "net_ecblobs.h").exists()
    facts = [json.loads((folder / "network.json").read_text()) for folder in (main, pair)]
    kinds = [{epoch["kind"] for epoch in each["epochs"]} for each in facts]
    assert "EC" in kinds[0] and "EC" not in kinds[1]
    built.up_to_date()


@newest
@pytest.mark.parametrize(
    "name", ["net.c", "net_ecblobs.h", "net_c_info.json", "net_atonbuf.xSPI2.raw", "manifest.json"]
)
def test_a_deleted_output_comes_back(built: VendorProject, name: str) -> None:
    before = (built.folder() / name).read_bytes()
    (built.folder() / name).unlink()
    assert built.run().tags == {"NETWORK"}, "equal bytes came back: nothing follows"
    assert (built.folder() / name).read_bytes() == before
    built.up_to_date()


@pytest.mark.usefixtures("anew")
def test_two_folders_give_equal_bytes(template: VendorProject, tmp_path: Path) -> None:
    """Also another folder of the installation, and another time."""
    other = vendorproject.make(tmp_path / "other" / "tree", tmp_path / "an st" / template.core.name, template.core.name)
    other.run()
    ours, theirs = template.kept(), other.kept()
    assert sorted(ours) == sorted(theirs)
    assert [name for name in ours if ours[name] != theirs[name]] == []
    text = [name for name, data in theirs.items() if str(tmp_path).encode() in data and not name.endswith(".o")]
    assert text == []


@newest
def test_a_moved_installation_is_the_same(built: VendorProject, tmp_path: Path) -> None:
    install(tmp_path / "moved", built.core.name)
    VendorProject(built.root, tmp_path / "moved").up_to_date()
    assert len(calls(tmp_path / "moved")) == 1, "its version was asked"


@newest
def test_another_release_compiles_again(built: VendorProject, tmp_path: Path) -> None:
    first = built.folder()
    other = VendorProject(built.root, install(tmp_path / "new", "3.0.0"))
    result = other.run(code=None)
    assert "NETWORK" in result.tags
    folders = set(built.path("build/networks").iterdir())
    assert len(folders) == 2 and first in folders, "nothing of two releases is in one folder"


# ---- without the tool


@newest
def test_the_tool_is_gone(built: VendorProject) -> None:
    before = built.kept()
    count = built.compiles()
    failed = built.run(code=2, env={"STEDGEAI_CORE_DIR": ""})
    line, *rest = failed.errors
    assert re.match(
        r"scons: \*\*\* SConstruct:\d+: no ST Edge AI Core found; looked at STEDGEAI_CORE_DIR: not set; ", line
    )
    assert "PATH: none" in line and "nowhere: none" in line and "install it, or set STEDGEAI_CORE_DIR" in line
    assert all("SConstruct" in each for each in rest), failed.err
    assert built.kept() == before, "and nothing is touched"
    assert built.compiles() == count
    gone = VendorProject(built.root, built.root / "no such folder").run(code=2)
    assert "no ST Edge AI Core in it" in gone.errors[0]


@newest
def test_a_pin_that_does_not_fit(built: VendorProject) -> None:
    built.programs(app=[network(compiler={"stedgeai": "3.0.*"})])
    failed = built.run(code=2)
    assert "no ST Edge AI Core 3.0.* found" in failed.errors[0]
    assert f"{built.core.name}-" in failed.errors[0], "which one is there"


def test_clean(built: VendorProject) -> None:
    built.run("-c")
    left = {name for name in built.files("build", "out")}
    assert left <= {"build/.stedgeai.json"}, left
