"""What a variant demands of its networks, and its export, with the reference compiler on the virtual board."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.projects.sconsproject import Project, Result, copy_built, copy_small, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]
VECTORS = "models/digits/vectors/outputs.bin"
NETWORK = "    vectors: models/digits/vectors\n"
VARIANTS = (
    "schema: 1\nnetworks:\n  digits:\n    model: models/digits/digits.tflite\n"
    f"{NETWORK}variants:\n  v:\n    board: stm32n6570-dk\n    network: digits\n"
)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One variant, built once, that exists for these tests alone."""
    project = copy_small(tmp_path_factory.mktemp("demands") / "tree", VARIANTS)
    prepare(project, tmp_path_factory, "-j2", "v")
    return project


@pytest.fixture
def built(one: Project, tmp_path: Path) -> Project:
    return copy_built(one, tmp_path / "tree")


def demand(project: Project, text: str) -> None:
    """Add a line to the network; it is line 6 of the file."""
    project.edit("variants.yaml", NETWORK, f"{NETWORK}    {text}\n")


def said(failed: Result) -> str:
    """The one line; behind it what SCons says in other lines is about the SConstruct."""
    line, *rest = failed.errors
    assert not rest, failed.err
    return line


# ---- check


def _wrong_by(project: Project, steps: int) -> None:
    """A golden vector that the network misses by so many steps, in one of its ten outputs."""
    data = bytearray(project.path(VECTORS).read_bytes())
    old = int.from_bytes(data[4:5], "little", signed=True)
    new = old + steps if old + steps <= 127 else old - steps
    data[4:5] = new.to_bytes(1, "little", signed=True)
    project.path(VECTORS).write_bytes(bytes(data))


def test_a_vector_that_is_missed(built: Project) -> None:
    _wrong_by(built, 2)
    failed = built.run("run-v", code=2)
    assert "vector 0, output 'Identity'" in failed.err or "index 4: expected" in failed.err, failed.err
    demand(built, "check: {max_lsb: 1}")
    failed = built.run("run-v", code=2)
    assert "vector 0, output " in failed.err and "differs by 2, allowed max_lsb 1" in failed.err
    built.edit("variants.yaml", "max_lsb: 1", "max_lsb: 2, cos: 0.99, rmse: 0.01")
    result = built.run("run-v")
    assert "digits: 20 vectors within max_lsb 2, cos 0.99, rmse 0.01 on unicorn" in result.out, result.out
    assert result.tags == {"RUN"}, "nothing is built for another bound"
    built.edit("variants.yaml", "rmse: 0.01", "rmse: 1e-9")
    assert "allowed 1e-09" in built.run("run-v", code=2).err
    built.edit("variants.yaml", "max_lsb: 2, cos: 0.99, rmse: 1e-9", "cos: 1")
    assert "allowed 1 at least" in built.run("run-v", code=2).err


def test_exact_results_keep_every_bound(built: Project) -> None:
    demand(built, "check: {max_lsb: 0, cos: 1, rmse: 0}")
    assert "20 vectors within max_lsb 0, cos 1, rmse 0" in built.run("run-v").out
    built.edit("variants.yaml", "check: {max_lsb: 0, cos: 1, rmse: 0}", "check: exact")
    assert "20 vectors bit-exact" in built.run("run-v").out


# ---- budgets

LIMITS = {
    "max_sw_epochs: 5": "max_sw_epochs: epochs of network digits that the CPU computes: 6, allowed: 5",
    "forbidden_pools: [octoFlash]": "forbidden_pools: network digits uses 4136 bytes of octoFlash (xSPI2)",
    "max_weights: 4K": "max_weights: bytes of constants of network digits: 4136, allowed: 4096",
    "max_activations: 1K": "max_activations: bytes of activations of network digits: 2560, allowed: 1024",
    "min_offload: 1": "min_offload: the NPU computes 0.0 % of the epochs of network digits alone",
}


def refused(project: Project, limit: str, *words: str) -> None:
    """The one line, and nothing but the check ran."""
    failed = project.run(*words, code=2)
    line = said(failed)
    assert line.startswith("scons: *** [build/v/digits.budgets.json] variants.yaml:6: "), line
    assert LIMITS[limit] in line
    assert not failed.tags & {"LINK", "CC", "NETWORK"}, failed.commands
    assert not project.path("build/v/digits.budgets.json").exists()


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_that_is_not_kept_stops_before_the_link(built: Project, limit: str) -> None:
    """Also with -k, where everything but the program is there already."""
    built.path("build/v/firmware.elf").unlink()
    demand(built, f"budgets: {{{limit}}}")
    refused(built, limit, "-k", "v")
    assert not built.path("build/v/firmware.elf").exists()


def test_a_limit_that_is_kept_again(built: Project) -> None:
    """A program of before the limit does not help."""
    limit = "max_weights: 4K"
    demand(built, f"budgets: {{{limit}}}")
    for words in (("v",), ("-k", "v")):
        refused(built, limit, *words)
    built.path("build/v/firmware.elf").unlink()
    for words in (("v",), ("run-v",)):
        assert "LINK" not in built.run(*words, code=2).tags
        assert not built.path("build/v/firmware.elf").exists()
    built.edit("variants.yaml", f"budgets: {{{limit}}}", "budgets: {max_sw_epochs: 6, max_weights: 5000}")
    assert {"BUDGETS", "LINK"} <= built.run("v").tags
    built.up_to_date("v")


def test_from_nothing_nothing_is_linked(tmp_path: Path) -> None:
    project = copy_small(tmp_path / "tree", VARIANTS)
    demand(project, "budgets: {max_weights: 1, max_activations: 1}")
    failed = project.run("v", code=2)
    assert not failed.tags & {"LINK", "OBJCOPY", "PLAN"}, failed.commands
    second, first = failed.errors
    assert "variants.yaml:6: max_weights" in first, failed.err
    assert second.startswith("variants.yaml:6: error: max_activations: "), "each limit has a line"


def test_a_pool_that_is_not_there_is_a_warning(built: Project) -> None:
    demand(built, "budgets: {forbidden_pools: [hyperRAN]}")
    result = built.run("v")
    assert "BUDGETS" in result.tags
    (line,) = result.errors
    assert line.startswith("variants.yaml:6: warning: forbidden_pools: network digits has no pool 'hyperRAN' (did you")
    built.up_to_date("v")


def test_a_limit_that_nobody_can_check_is_not_kept(built: Project) -> None:
    demand(built, "budgets: {max_cycles: 1000000}")
    assert "max_cycles: nothing estimates the cycles of network digits" in said(built.run("v", code=2))


def test_a_relocatable_model_has_limits_too(tmp_path: Path) -> None:
    project = copy_small(tmp_path / "tree", VARIANTS)
    demand(project, "budgets: {max_weights: 1}")
    project.edit("variants.yaml", "    network: digits\n", "    network: digits\n    relocatable: true\n")
    failed = project.run("v", code=2)
    assert "variants.yaml:6: max_weights" in failed.err
    assert "LINK" not in failed.tags and not project.path("build/v/network_rel.bin").exists()


# ---- export


def test_export_twice(built: Project) -> None:
    first = built.run("export-v")
    assert first.tags == {"EXPORT"}, "all of it is built"
    assert " written, 0 removed, 0 as they were" in first.out
    folder = built.path("build/v/export")
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = built.run("export-v")
    assert f"build/v/export: 0 written, 0 removed, {sum(p.is_file() for p in times)} as they were" in again.out
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times
    assert {path.name for path in folder.iterdir()} >= {"network.cmake", "network.mk", "manifest.json", "images"}


def test_an_edited_export_is_refused_and_may_be_forced(built: Project) -> None:
    built.run("export-v")
    edited = built.path("build/v/export/network.mk")
    text = edited.read_text()
    edited.write_text(text + "# mine\n")
    line = said(built.run("export-v", code=2))
    assert line.startswith("scons: *** [export-v] build/v/export: ") and "network.mk" in line
    assert edited.read_text() == text + "# mine\n"
    built.edit(
        "SConstruct", "env = Environment(tools=[])\n", "env = Environment(tools=[], NEURALART_EXPORT_FORCE=True)\n"
    )
    result = built.run("export-v")
    assert "1 written" in result.out
    assert edited.read_text() == text


def test_new_weights_reach_the_export(built: Project) -> None:
    from support.models import tflite_edit

    built.run("export-v")
    before = built.files("build/v/export")
    tflite_edit.change_weight(built.path("models/digits/digits.tflite"))
    result = built.run("export-v")
    assert {"NETWORK", "IMAGE", "EXPORT"} <= result.tags and not result.tags & {"CC", "LINK"}, result.commands
    changed = {Path(name).suffix for name, data in built.files("build/v/export").items() if before[name] != data}
    assert changed <= {".raw", ".bin", ".hex", ".json"} and ".raw" in changed


def test_an_export_alone_links_no_firmware(tmp_path: Path) -> None:
    project = copy_small(tmp_path / "tree", VARIANTS)
    result = project.run("export-v")
    assert "LINK" not in result.tags and "CC" not in result.tags
    assert project.path("build/v/export/network.cmake").is_file()
    project.run("-c", "export-v")
    assert not project.path("build/v/export").exists()
