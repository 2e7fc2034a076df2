"""A compiled network on the virtual board: start-up code fills its pools, the virtual NPU runs it; four sabotages."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart.network import facts
from support.cases.small_models import one_op
from support.npu import npu_network as made
from support.projects.sconsproject import Project, Result, copy_built, copy_sources, prepare
from support.projects.vendorproject import VendorProject, neuralart

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytestmark = [pytest.mark.arm, pytest.mark.long]
FORMS = {"structures": False, "programs": True}
NETWORKS = "".join(f"  {name}:\n    compiler: {{adopted: compiled/{name}}}\n    vectors: golden\n" for name in FORMS)
VARIANTS = "".join(
    f"  v-{name}:\n    board: stm32n6570-dk\n    machine: unicorn\n    network: {name}\n" for name in FORMS
)
SAYS = "(the virtual NPU executes the compiled network; {}; a model, not the chip; no time)"
OTHERS = "within 0 of outputs by the test, in real numbers; not compared with LiteRT: no reference"


def compiled(folder: Path, form: str, seed: int = 7) -> None:
    """The network as the compiler leaves it, with weights of a training."""
    made.write(folder, controller=FORMS[form])
    weights = made.Weights(np.random.default_rng(seed))
    (folder / "made_atonbuf.xSPI2.raw").write_bytes(weights.data())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_sources(tmp_path_factory.mktemp("npu") / "tree")
    for form in FORMS:
        compiled(project.path(f"compiled/{form}"), form)
    made.write_vectors(project.path("golden"), project.path("compiled/structures/made.c"))
    project.edit("variants.yaml", "\nnetworks:\n", f"\nnetworks:\n{NETWORKS}")
    project.edit("variants.yaml", "\nvariants:\n", f"\nvariants:\n{VARIANTS}")
    result = prepare(project, tmp_path_factory, *(f"run-v-{form}" for form in FORMS))
    for form in FORMS:
        assert f"v-{form}: {form}: 2 vectors bit-exact on unicorn {SAYS.format(OTHERS)}" in result.out
    return project


@pytest.fixture
def built(template: Project, tmp_path: Path) -> Project:
    return copy_built(template, tmp_path / "tree")


def failure(result: Result) -> str:
    said = [line for line in result.errors if "neuralart run: " in line and "neuralart run: note: " not in line]
    assert len(said) == 1, result.err
    return said[0]


def flashed_otherwise(project: Project, **writes: dict[str, Any] | None) -> str:
    """Run another flash plan: changes of writes by their kind; None: it is left out. What failed."""
    folder = "build/v-structures"
    data = json.loads(project.path(f"{folder}/flash_plan.json").read_text("utf-8"))
    data["writes"] = [
        {**row, **(writes.get(row["kind"]) or {})} for row in data["writes"] if writes.get(row["kind"], row)
    ]
    project.path("other.json").write_text(json.dumps(data), "utf-8")
    (network,) = project.path("build/networks").glob("structures-*/network.json")
    words = ["run", "--board", "stm32n6570-dk", "--elf", f"{folder}/firmware.elf", "--plan", "other.json"]
    words += ["--network", str(network), "--vectors", "golden"]
    result = neuralart(VendorProject(project.root), *words)
    assert result.code == 2, result.err
    return failure(result)


def file(project: Project, name: str) -> dict[str, Any]:
    data = project.path(name).read_bytes()
    return {"file": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_no_change_does_nothing(template: Project) -> None:
    assert template.run("run-v-structures").tags == {"RUN"}
    network = facts.load(next(template.path("build/networks").glob("programs-*/network.json")))
    assert (network.runtime, network.c_name) == ("ll_aton", "made")


def test_a_raw_file_that_is_not_flashed(template: Project) -> None:
    assert "network structures, pool xSPI2: wrong CRC" in flashed_otherwise(template, model=None)


def test_a_raw_file_at_another_address(template: Project) -> None:
    said = flashed_otherwise(template, model={"address": made.FLASH + 0x10000})
    assert "network structures, pool xSPI2: wrong CRC" in said


def test_the_weights_of_another_training(built: Project, template: Project, tmp_path: Path) -> None:
    """Also where the other descriptor comes along, so that the start-up code finds nothing wrong."""
    other = copy_built(template, tmp_path / "other")
    compiled(other.path("compiled/structures"), "structures", seed=8)
    other.run("v-structures")
    for name in ("structures.xSPI2.bin", "descriptor.bin"):
        built.path(name).write_bytes(other.path(f"build/v-structures/{name}").read_bytes())
    model, descriptor = file(built, "structures.xSPI2.bin"), file(built, "descriptor.bin")
    assert "network structures, pool xSPI2: wrong CRC" in flashed_otherwise(built, model=model)
    said = flashed_otherwise(built, model=model, descriptor=descriptor)
    assert "made.c: pool xSPI2 at 0x71000000 does not hold made_atonbuf.xSPI2.raw: " in said
    assert said.endswith("(the constants of another model, or of another compile?)")


def test_validate(template: Project) -> None:
    where = VendorProject(template.root)
    template.run("v-programs")
    said = neuralart(where, "validate", "v-programs").out
    assert f"v-programs: programs, 2 samples on unicorn {SAYS.format(OTHERS)}" in said


def layers(project: Project, *words: str) -> dict[str, Any]:
    """The record of a comparison by epochs. The model's input is that of the network, its output one of 8 numbers."""
    shape = (1, made.SIDE, made.SIDE, made.DEPTH)
    project.path("model.tflite").write_bytes(one_op("RELU", [shape], [shape], out_zero=-128))
    told = neuralart(VendorProject(project.root), "validate", "v-programs", "--per-layer", "--json", *words)
    assert told.code == 0, told.err
    record: dict[str, Any] = json.loads(told.out)
    return record


def test_each_epoch_beside_a_model(built: Project) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed: pip install scons-neuralart[oracle]")
    built.edit("variants.yaml", "compiled/programs}\n", "compiled/programs}\n    model: model.tflite\n")
    built.path("model.tflite").write_bytes(b"")
    built.run("v-programs")
    record = layers(built)
    first = record["layers"][0]
    assert (first["epoch"], first["name"], first["equal"], first["allowed"], first["samples"]) == (
        1,
        "in0",
        1.0,
        1.0,
        [],
    )
    assert [each["note"] for each in record["layers"][1:]] == ["like no tensor of the model"] * 5
    assert record["first_difference"] is None
    said = neuralart(VendorProject(built.root), "validate", "v-programs", "--per-layer", "--feed-reference").out
    assert "no tensor differs from the reference by more than is allowed" in said
    alone = neuralart(VendorProject(built.root), "validate", "v-programs", "--feed-reference")
    assert alone.code == 1 and alone.errors[0].endswith("it shows in the table of --per-layer (give both)")


def test_tie_rules_and_assumptions_of_a_variant(built: Project) -> None:
    built.edit("compiled/structures/made.c", ".operation = POOL_MAX", ".operation = POOL_MIN")
    built.edit("variants.yaml", "    network: structures\n", "    network: structures\n    assume: [POOL.TYPE=1]\n")
    said = failure(built.run("run-v-structures", code=2))
    assert "vector 0, output 'its name in the model'" in said
    built.edit("variants.yaml", "    assume: ", "    ties: [up, average=away]\n    assume: ")
    built.edit("variants.yaml", "compiled/structures}\n    vectors: golden\n", "compiled/structures}\n")
    out = built.run("run-v-structures").out
    assert "; assumed POOL.TYPE=1: the minimum of the window; padding never wins; ties are rounded by " in out
    assert "--ties up average=away); not compared: no vectors" in out
    built.edit("variants.yaml", "average=away", "averege=away")
    said = built.run("run-v-structures", code=2).errors[0]
    assert "variants.yaml:" in said and "no stage is called 'averege' (did you mean 'average'?" in said


def test_files_with_another_name_than_the_network(template: Project) -> None:
    """The project calls it otherwise than its compiler did."""
    where = VendorProject(template.root)
    template.run("v-structures", "v-programs")
    told = neuralart(where, "profile", "v-structures")
    assert told.code == 0 and told.out.startswith("made: estimate of the compiler ("), told.err
    told = neuralart(where, "diff", "v-structures", "v-programs")
    assert told.code == 0 and "network structures -> programs: " in told.out, told.err


@pytest.mark.needs("bokeh", "squarify")
def test_the_page_shows_what_each_epoch_does(built: Project) -> None:
    built.run("report-v-programs")
    page = built.path("build/v-programs/report.html")
    text = page.read_text("utf-8")
    assert "4 epochs on the NPU, 2 by software; 10,944 MACs" in text and "3 STRENG, 1 CONVACC, 2 ARITH, 1 POOL" in text
    assert "REPORT" not in built.run("report-v-programs").tags and page.read_text("utf-8") == text


def test_another_compile_beside_its_golden_vectors(built: Project) -> None:
    """Outputs of the virtual NPU are kept; the run of another compile says whose they were."""
    where = VendorProject(built.root)
    built.run("v-structures")
    said = neuralart(where, "validate", "v-structures", "--junit", "validate.xml").out
    assert (
        SAYS.format(OTHERS) in said and "no reference; a model, not the chip" in built.path("validate.xml").read_text()
    )
    made_of = neuralart(where, "vectors", "v-structures", "--from-npu", "--random", "2", "-o", "golden", "--force")
    assert made_of.code == 0 and "golden: 2 vectors, outputs by virtual NPU of scons-neuralart " in made_of.out
    assert "structures: 2 vectors bit-exact on unicorn" in built.run("run-v-structures").out
    compiled(built.path("compiled/structures"), "structures", seed=8)
    said = failure(built.run("run-v-structures", code=2))
    assert "vector 0, output 'scores' index 0: expected " in said
    assert "(expected by virtual NPU of scons-neuralart " in said and "' shows which epochs differ)" in said
    words = said[said.index("'neuralart diff ") + 1 : said.index("' shows which")].split()
    told = neuralart(where, *words[1:])
    assert told.code == 0 and "what they compute of 2 vectors: 1 of 6 epochs equal" in told.out, told.err


def test_a_bank_that_is_off(built: Project) -> None:
    built.edit("firmware/runtime/memory/banks.c", "  uint32_t clocks = 0;\n", "  uint32_t clocks = 0;\n  return;\n")
    said = failure(built.run("run-v-structures", code=2))
    assert re.search(r"AXISRAM5 has no clock: set bit 2 of RCC_MEMENR", said), said


def test_other_outputs_than_wanted(built: Project) -> None:
    data = bytearray(built.path("golden/outputs.bin").read_bytes())
    data[3] ^= 0x80
    built.path("golden/outputs.bin").write_bytes(data)
    said = failure(built.run("run-v-structures", code=2))
    assert "vector 0, output 'its name in the model' index 0: expected " in said
    assert "the virtual NPU is a model, not the chip: 'check: {cos: 0.99}' of the network says" in said


def test_an_epoch_that_is_not_executed(built: Project) -> None:
    built.edit("compiled/structures/made.c", ".operation = POOL_MAX", ".operation = POOL_AVG")
    said = failure(built.run("run-v-structures", code=2))
    assert "made.c: epoch 2: POOL1 CTRL (0x000) TYPE = " in said


def test_the_virtual_flash_and_a_real_board(built: Project) -> None:
    assert (
        f"2 vectors bit-exact on unicorn {SAYS.format(OTHERS)}"
        in built.run("flash-v-structures", "boot-v-structures").out
    )
    built.edit(
        "variants.yaml",
        "    machine: unicorn\n    network: structures\n",
        "    machine: silicon\n    network: structures\n",
    )
    said = built.run("v-structures", code=2).errors[0]
    assert "which the reference application does not have ('application:' of the variant names your own; " in said


# ---- constants that start-up code copies

COPIED = {
    "AXISRAM2": ("cpuRAM2", 0x34100000, "stm32n6570-dk"),
    "xSPI1": ("hyperRAM", 0x90000000, "stm32n6570-dk-psram"),
}


@pytest.mark.parametrize("pool", COPIED)
def test_a_pool_that_is_copied_at_boot(built: Project, pool: str) -> None:
    """Internal and external RAM: the start-up code names a missing copy; without its check the NPU does."""
    name, address, board = COPIED[pool]
    folder = built.path("compiled/structures")
    text = (folder / "made.c").read_text("utf-8").replace(f"0x{made.FLASH:08x}", f"0x{address:08x}")
    text = text.replace("postfix=xSPI2 name=octoFlash", f"postfix={pool} name={name}")
    (folder / "made.c").write_text(text.replace("READ_ONLY", "READ_WRITE"), encoding="utf-8")
    (folder / "made_atonbuf.xSPI2.raw").rename(folder / f"made_atonbuf.{pool}.raw")
    of_board = f"  v-structures:\n    board: {board}\n"
    built.edit("variants.yaml", "  v-structures:\n    board: stm32n6570-dk\n", of_board)
    assert "v-structures: structures: 2 vectors bit-exact" in built.run("run-v-structures").out
    copy = "    memcpy(npu_memory_at(initializer->run, entry.size), npu_memory_at(initializer->load, entry.size),"
    built.edit("firmware/runtime/memory/initializers.c", copy, copy.replace("memcpy(", "(void)memcmp("))
    assert f"network structures, pool {pool}: wrong CRC" in failure(built.run("run-v-structures", code=2))
    check = "entry.size) != entry.crc) {"
    built.edit("firmware/runtime/memory/initializers.c", check, "entry.size) == entry.crc) {")
    said = failure(built.run("run-v-structures", code=2))
    assert f"made.c: pool {pool} at 0x{address:08x} does not hold made_atonbuf.{pool}.raw: " in said
    assert said.endswith("(nothing was copied there)")
