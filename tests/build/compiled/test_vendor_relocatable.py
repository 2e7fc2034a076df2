"""Relocatable models of networks that ST Edge AI Core compiles: variants, ``env.NetworkRel``, with a made-up pack."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from neuralart.relocatable.format import load_table
from neuralart.relocatable.format.container import parse
from neuralart.relocatable.format.types import Image
from neuralart.relocatable.verify.verifier import verify
from support.fake_apps import application
from support.projects import vendorproject
from support.projects.vendorproject import VendorProject, new_weights
from support.relocatable import fake_pack
from support.relocatable.rel_networks import write_mpool

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script"),
]
SCONSTRUCT = f"""\
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=[{str(vendorproject.REPO / "site_scons")!r}])
keys = {{"compiler": "stedgeai", "profile": "rel@rel.json", "mpool": "nonsecure.mpool"}}
net = env.Network("net", model="net.tflite", board="stm32n6570-dk", **keys)
flags = dict.fromkeys(("split", "ecblob_in_params", "gen_c_file"), True)
rel = env.NetworkRel(net, name="Cat", secure=False, debug_info=False, **flags)
env.Alias("cat", env.Install("out", rel.files))
project = env.NeuralArtProject("variants.yaml")
project.build([target for target in COMMAND_LINE_TARGETS if target != "cat"])
Default("v")
"""
VARIANTS = """\
schema: 1
networks:
  net:
    model: net.tflite
    compiler: {stedgeai: "4.0.*"}
    profile: rel@rel.json
variants:
  v:
    board: stm32n6570-dk
    network: net
    relocatable: true
"""
PROFILE = {"Profiles": {"rel": {"memory_pool": "rel.mpool", "options": "--Os --enable-epoch-controller"}}}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> VendorProject:
    folder = tmp_path_factory.mktemp("vendor")
    project = vendorproject.make(folder / "tree", folder / "st" / "4.0.1")
    fake_pack.complete(project.core)
    write_mpool(project.path("rel.mpool"), "AXISRAM5", "xSPI2", constants="xSPI2", relative=("xSPI2",))
    pools = project.path("rel.mpool").read_text("utf-8")
    project.path("nonsecure.mpool").write_text(pools.replace("0x342e0000", "0x242e0000"), "utf-8")
    project.path("rel.json").write_text(json.dumps(PROFILE), "utf-8")
    project.path("SConstruct").write_text(SCONSTRUCT, "utf-8")
    project.path("variants.yaml").write_text(VARIANTS, "utf-8")
    project.run()
    return project


@pytest.fixture
def built(template: VendorProject, tmp_path: Path) -> VendorProject:
    return vendorproject.copy(template, tmp_path / "tree")


def image_of(project: VendorProject, name: str, params: str = "") -> Image:
    """A model of the project, sound."""
    path = project.path(name)
    image = parse(path.read_bytes(), name, project.path(params).read_bytes() if params else None)
    assert [str(finding) for finding in verify(image) if finding.level == "error"] == []
    return image


def test_model_flash_plan_and_load_table(template: VendorProject) -> None:
    image = image_of(template, "build/v/network_rel.bin")
    assert (image.version, image.context.c_name) == ((1, 1, 3, 275), "net")
    (raw,) = template.path("build/networks").glob("*/net_atonbuf.xSPI2.raw")
    assert image.params == raw.read_bytes().ljust(len(image.params), b"\0")
    assert [pool.notation for pool in image.pools] == ["RELOC.PARAM.0.RCACHED", "RESET.ACTIV.WRITE"]
    plan = json.loads(template.path("build/v/flash_plan.json").read_text("utf-8"))
    assert [(write["name"], write["address"]) for write in plan["writes"]] == [
        ("relocatable", 0x71000000),
        ("load_table", 0x70FFF000),
    ]
    table = load_table.read(template.path("build/v/load_table.xip.bin").read_bytes(), "t")
    assert (table.mode, table.models) == (("xip",), ((0x71000000, 0),))
    assert not list(template.path("build/v").glob("firmware*"))


def test_the_summary_says_once_who_runs_it(template: VendorProject) -> None:
    text = template.path("build/v/summary.txt").read_text("utf-8")
    assert (
        text.count("for the runtime of ST Edge AI Core 4.0.1, whose firmware loads it; here the virtual NPU runs it")
        == 1
    )
    assert "loader needs" in text and "build/v/load_table.copy.bin" in text


def test_the_virtual_npu_runs_it(built: VendorProject) -> None:
    """From flash, by the load table of each mode; the made-up pack leaves the programs of its network out."""
    pytest.importorskip("numpy", reason="NumPy is not installed")
    result = built.run("load-v", code=2)
    assert "LOAD     v on stm32n6570-dk (unicorn), xip" in result.out
    assert "has no program that begins with epoch 2 of net.c (is it the image of this network.c?)" in result.errors[0]
    (line,) = built.run("debug-v", code=2).errors
    assert "network net is made for runtime ll_aton, which is not executed here" in line


def test_the_virtual_flash_and_the_addresses(built: VendorProject) -> None:
    assert built.path("build/relocatable/.objects-toolchain.json").exists()
    out = built.run("flash-v", "verify-v", "plan-v").out
    assert "0x70fff000" in out and "0x71000000" in out
    (line,) = built.run("flash-application-v", code=2).errors
    assert "its image is built by the application's own project" in line
    built.run("-c")
    assert not [path for path in built.path("build/relocatable").rglob("*") if path.is_file()]


def test_what_makes_it_again(built: VendorProject) -> None:
    """New weights: the model and its plan, with no compiler; a file of the pack: the image alone."""
    before = {path.name for path in built.path("build/relocatable/objects").iterdir()}
    new_weights(built.path("net.tflite"))
    done = built.run()
    assert done.tags == {"NETWORK", "RELOC", "MODEL", "PLAN", "SUMMARY"}
    assert {path.name for path in built.path("build/relocatable/objects").iterdir()} == before
    header = built.core / "Middlewares/ST/AI/Npu/ll_aton/ll_aton_reloc_network.h"
    text = header.read_text()
    try:
        header.write_text(f"{text}/* another */\n")
        done = built.run()
    finally:
        header.write_text(text)
    assert done.tags == {"RELOC"}, "the same bytes"
    built.run()
    built.up_to_date()


def test_all_options_of_networkrel(built: VendorProject) -> None:
    built.run("cat")
    names = {f"Cat_rel{end}" for end in (".bin", "_params.bin", ".c", ".h")} | {"Cat_reloc_results.json"}
    assert {path.name for path in built.path("out").iterdir()} == names
    image = image_of(built, "out/Cat_rel.bin", "out/Cat_rel_params.bin")
    assert (image.context.c_name, image.split) == ("cat", True)
    assert (image.flags.secure, image.flags.dbg_info, image.context.struct_sizes) == (False, False, (56, 20))
    results = json.loads(built.path("out/Cat_reloc_results.json").read_text("utf-8"))
    assert results["reloc_binary_image"]["params_size"] > results["reloc_binary_image"]["img_params_size"], "blobs"
    assert "AI_CAT_RELOC_C_NAME" in built.path("out/Cat_rel.h").read_text("utf-8")


def set_key(project: VendorProject, text: str) -> None:
    project.edit("variants.yaml", "    relocatable: true\n", f"    relocatable: {text}\n")


def test_options_of_a_variant(built: VendorProject) -> None:
    for folder in ("Middlewares", "scripts"):
        shutil.copytree(built.core / folder, built.path("pack") / folder)
    set_key(
        built, "{split: true, gen_c_file: true, name: cat, modes: [copy], clear: true, layout: aligned, pack_dir: pack}"
    )
    built.edit("variants.yaml", "    network: net\n", "    network: net\n    slots: {load_table: 0x70fe0000}\n")
    out = built.run("NEURALART_VERBOSE=1").out
    assert " --pack-dir pack" in out or not out.count("relocatable build")
    image = image_of(built, "build/v/network_rel.bin", "build/v/network_rel_params.bin")
    assert image.context.c_name == "cat" and image.ro_size % 64 == 0
    plan = json.loads(built.path("build/v/flash_plan.json").read_text("utf-8"))
    places = {write["name"]: write["address"] for write in plan["writes"]}
    assert places == {"relocatable": 0x71000000, "relocatable_params": 0x71800000, "load_table": 0x70FE0000}
    assert load_table.read(built.path("build/v/load_table.copy.bin").read_bytes(), "t").mode == ("copy", "clear")
    assert built.path("build/v/cat_rel.c").is_file() and built.path("build/v/cat_rel.h").is_file()
    built.up_to_date()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("{also_on: [mps3-an547]}", "'also_on' is about a firmware of this project"),
        ("{pack_dir: nowhere}", "nowhere: no such folder"),
    ],
)
def test_refusals_of_a_variant(built: VendorProject, key: str, said: str) -> None:
    set_key(built, key)
    (line, *_) = built.run(code=2).errors
    assert said in line, line


def test_a_pack_of_another_version(built: VendorProject, tmp_path: Path) -> None:
    fake_pack.make(tmp_path / "pack", (1, 1, 3, 8))
    set_key(built, f"{{pack_dir: {tmp_path}/pack}}")
    assert "network.c is made for ll_aton 1.1.3.275 (ST Edge AI Core 4.0.1)" in " ".join(built.run(code=2).err.split())


def test_an_adopted_network(built: VendorProject) -> None:
    """What lies in the tree is taken as it is, with the pack that is named."""
    (folder,) = {path.parent for path in built.path("build/networks").glob("*/net_atonbuf.xSPI2.raw")}
    built.path("model").mkdir()
    for name in ("net.c", "net_ecblobs.h", "net_atonbuf.xSPI2.raw"):
        shutil.copy(folder / name, built.path("model") / name)
    text = built.path("variants.yaml").read_text("utf-8")
    text = text.replace(
        '    model: net.tflite\n    compiler: {stedgeai: "4.0.*"}\n    profile: rel@rel.json\n',
        "    compiler: {adopted: model}\n",
    )
    built.path("variants.yaml").write_text(text, "utf-8")
    built.run()
    image = image_of(built, "build/v/network_rel.bin")
    assert [pool.notation for pool in image.pools] == ["RELOC.PARAM.0.RCACHED", "RESET.ACTIV.WRITE"]
    built.up_to_date()


def test_the_user_s_own_build_of_the_firmware(built: VendorProject) -> None:
    """make builds the program without the network; its image and the model are in one flash plan."""
    application(built.path("app"), "make")
    built.edit("app/gcc/Makefile", " $(TOP)/Model/net.c", "")
    built.edit("app/Src/main.c", "LL_ATON_EpochBlockItems_net()", "(const void *)0x71000000")
    make = "{make: {folder: app, directory: gcc, artefact: build/firmware.elf}}"
    built.edit(
        "variants.yaml",
        "    relocatable: true\n",
        f"    relocatable: true\n    machine: silicon\n    application: {make}\n",
    )
    done = built.run("v", "plan-v")
    assert "MAKE" in done.tags and "relocatable  -        0x71000000" in done.out
    staged = {path.name for path in built.path("build/v/application/tree/neuralart").rglob("*")}
    assert {"npu_memory_init.c", "npu_memory_init.h", "network_io.h"} <= staged
    assert not [name for name in staged if name.startswith("net.") or name.endswith(".raw")]
    plan = json.loads(built.path("build/v/flash_plan.json").read_text("utf-8"))
    places = [(write["name"], write["address"]) for write in plan["writes"]]
    assert places == [("application", 0x70100000), ("relocatable", 0x71000000), ("load_table", 0x70FFF000)]
    new_weights(built.path("net.tflite"))
    assert not built.run().tags & {"MAKE", "OBJCOPY"}
    built.up_to_date()
    text = built.path("build/v/summary.txt").read_text("utf-8")
    assert "whose firmware loads it; here the virtual NPU runs it" in text and "build/v/firmware.elf" in text


def test_the_runtime_of_the_user_s_own_firmware(built: VendorProject) -> None:
    """A firmware with the runtime of another release would load no such model: refused before it is built."""
    application(built.path("app"), "make", version="3.0.0")
    make = "{make: {folder: app, directory: gcc, artefact: build/firmware.elf}}"
    built.edit(
        "variants.yaml",
        "    relocatable: true\n",
        f"    relocatable: true\n    machine: silicon\n    application: {make}\n",
    )
    done = built.run(code=2)
    said = "network net is made for runtime 1.1.3.275 (ST Edge AI Core 4.0.1), the application has 1.1.3.8 (ST Edge AI"
    assert said in done.err and "app/Middlewares/ST/AI/Npu/ll_aton/ll_aton_version.h:" in done.err
    assert "MAKE" not in done.tags and not built.path("build/v/firmware.elf").exists()


def test_compile_and_make_the_image_at_once(built: VendorProject) -> None:
    words = ("-m", "net.tflite", "--target", "stm32n6", "--compiler", "stedgeai", "--st-neural-art", "rel@rel.json")
    done = vendorproject.neuralart(built, "compile", *words, "-o", "st_ai_output", "--reloc", "--quiet")
    assert done.code == 0, done.err
    assert image_of(built, "st_ai_output/network_rel.bin").version == (1, 1, 3, 275)
    assert done.err.count("warning: ") == 1 and "compiled without --all-buffers-info" in done.err
