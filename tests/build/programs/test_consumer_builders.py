"""A consumer who knows SCons and nothing of ours: its own verbs and functions work with the nodes of our builders."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.relocatable.format.load_table import MAGIC
from neuralart.resources import board_data_dir
from support.boards.h747_app import App
from support.projects.sconsproject import REPO, Project, prepare

BOARD = "stm32n6570-dk"
HEAD = f"""
DefaultEnvironment(tools=[])
env = Environment(tools=["neuralart"], toolpath=[{str(REPO / "site_scons")!r}], NEURALART_BOARD="{BOARD}")
"""
FILES = {
    "kws.c",
    "kws.h",
    "network.json",
    "manifest.json",
    "kws_c_info.json",
    "kws_generate_report.txt",
    "provenance.txt",
    "kws_atonbuf.xSPI2.raw",
}
MADE = FILES | {"made.sha256"}
MakeProject = Callable[..., Project]


def write(root: Path, text: str, head: str = HEAD, **others: str) -> Project:
    """A folder with a model and a SConstruct; other texts by name."""
    root.mkdir(exist_ok=True)
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", root / "kws.tflite")
    (root / "SConstruct").write_text(head + text, "utf-8")
    for name, body in others.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, "utf-8")
    return Project(root)


@pytest.fixture
def project(tmp_path: Path) -> MakeProject:
    return partial(write, tmp_path / "their project")


def names(project: Project, folder: str) -> set[str]:
    """Files of a folder."""
    path = project.path(folder)
    return {each.name for each in path.iterdir()} if path.is_dir() else set()


PLAIN = 'net = env.NeuralArtNetwork("build/kws.c", "kws.tflite")\n'


def test_build_question_clean_and_dry_run(project: MakeProject) -> None:
    mine = project(PLAIN)
    assert mine.run("-q", code=None).code == 1
    assert mine.run("-n").commands == {("NETWORK", "build/kws.c")}
    assert names(mine, "build") == set(), "-n makes nothing"
    mine.run()
    assert names(mine, "build") == MADE
    mine.up_to_date()
    removed = mine.run("-c").out
    assert all(f"build/{name}" in removed for name in MADE)
    assert names(mine, "build") == set()


def test_a_file_that_is_gone_comes_back(project: MakeProject) -> None:
    mine = project(PLAIN)
    mine.run()
    before = mine.files("build")
    mine.path("build/kws_atonbuf.xSPI2.raw").unlink()
    mine.run()
    assert mine.files("build") == before


def test_tree_and_explain_name_the_files(project: MakeProject) -> None:
    mine = project('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_PROFILE="own.json")\n')
    pools = board_data_dir() / "pools" / f"{BOARD}.mpool"
    shutil.copy2(pools, mine.path("own.mpool"))
    mine.path("own.json").write_text('{"Profiles": {"default": {"memory_pool": "own.mpool"}}}', "utf-8")
    tree = mine.run("--tree=derived,prune").out
    assert "+-build/kws.c" in tree.replace("| ", "") and "+-build/kws_atonbuf.xSPI2.raw" in tree
    assert "own.mpool" in mine.run("--tree=all,prune", "-n").out, "found by the scanner"
    mine.up_to_date()
    mine.path("own.mpool").write_text(pools.read_text("utf-8") + "\n", "utf-8")
    out = mine.run("--debug=explain").out
    assert "rebuilding `build/kws.c' because" in out and "`own.mpool' changed" in out
    mine.up_to_date()


def test_a_pool_file_rebuilds_the_networks_that_use_it(project: MakeProject) -> None:
    """Two profiles of one file name a pool file each."""
    mine = project(
        'for name in ("one", "two"):\n'
        '    env.NeuralArtNetwork(f"{name}/kws.c", "kws.tflite", NEURALART_PROFILE=f"{name}@own.json")\n'
    )
    for name in ("one", "two"):
        shutil.copy2(board_data_dir() / "pools" / f"{BOARD}.mpool", mine.path(f"{name}.mpool"))
    profiles = {name: {"memory_pool": f"{name}.mpool"} for name in ("one", "two")}
    mine.path("own.json").write_text(json.dumps({"Profiles": profiles}), "utf-8")
    mine.run()
    mine.up_to_date()
    path = mine.path("two.mpool")
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")
    assert mine.run().commands == {("NETWORK", "two/kws.c")}


@pytest.mark.parametrize("duplicate", [0, 1])
def test_variant_dir(project: MakeProject, duplicate: int) -> None:
    mine = project(
        f'SConscript("sub/SConscript", variant_dir="out/a b", duplicate={duplicate}, exports="env")\n',
        sub__SConscript='Import("env")\nenv.NeuralArtNetwork("kws.tflite")\n',
    )
    shutil.move(mine.path("kws.tflite"), mine.path("sub/kws.tflite"))
    mine.run()
    assert names(mine, "out/a b") >= FILES
    assert names(mine, "sub") == {"SConscript", "kws.tflite"}, "nothing beside the sources"
    mine.up_to_date()


def test_two_boards_in_one_build(project: MakeProject) -> None:
    mine = project(
        'other = env.Clone(NEURALART_BOARD="mps3-an547")\n'
        'env.NeuralArtNetwork("n6/kws.c", "kws.tflite")\nother.NeuralArtNetwork("an/kws.c", "kws.tflite")\n'
    )
    mine.run()
    assert "kws_atonbuf.xSPI2.raw" in names(mine, "n6")
    assert "kws_atonbuf.DDRFLASH.raw" in names(mine, "an")
    mine.up_to_date()


def test_a_network_for_a_core(project: MakeProject) -> None:
    mine = project('env.NeuralArtNetwork("build/network.c", "kws.tflite", NEURALART_BOARD="stm32h747i-disco")\n')
    mine.run()
    assert {"network.c", "network_data.c", "network_data_params.c", "network_config.h"} <= names(mine, "build")
    mine.up_to_date()


def test_clone_and_override(project: MakeProject) -> None:
    mine = project(
        'mine = env.Clone(NEURALARTCOMSTR="KWS      $TARGET")\n'
        'mine.NeuralArtNetwork("a/kws.c", "kws.tflite")\n'
        'env.NeuralArtNetwork("b/kws.c", "kws.tflite", NEURALARTFLAGS=["--all-buffers-info"])\n'
        'env.NeuralArtNetwork("c/kws.c", "kws.tflite", NEURALARTCOMSTR="")\n'
    )
    out = mine.run().out
    assert "KWS      a/kws.c" in out and "NETWORK  b/kws.c" in out
    assert "-m neuralart compile --quiet --model kws.tflite" in out, "an empty message: the command itself"
    mine.up_to_date()
    mine.edit("SConstruct", '["--all-buffers-info"]', "[]")
    assert mine.run().commands == {("NETWORK", "b/kws.c")}, "a flag counts"
    mine.edit("SConstruct", "KWS  ", "MODEL")
    mine.up_to_date()


def test_the_methods_take_the_commands_of_a_clone(project: MakeProject) -> None:
    mine = project(
        'mine = env.Clone(NEURALARTCOMSTR="KWS      $TARGET")\n'
        f'mine.Network("kws", model="kws.tflite", board="{BOARD}")\n'
    )
    assert "KWS      build/networks/kws-" in mine.run().out


def test_the_users_own_command(project: MakeProject) -> None:
    """The command may be wrapped, or be an action."""
    mine = project('env["NEURALARTCOM"] = ["@echo before $SOURCE.file", env["NEURALARTCOM"]]\n' + PLAIN)
    assert "before kws.tflite\n" in mine.run().out
    assert names(mine, "build") == MADE
    mine.up_to_date()


def test_the_users_own_emitter(project: MakeProject) -> None:
    mine = project(
        "def mine(target, source, env):\n"
        '    return target + ["build/extra.log"], source + ["why.txt"]\n'
        'env.Append(NEURALART_NETWORKEMITTER=[mine], NEURALARTCOM=" && echo hello > ${TARGETS[-1]}")\n' + PLAIN,
        why_dot_txt="because\n",
    )
    mine.run()
    assert names(mine, "build") == MADE | {"extra.log"}
    mine.up_to_date()
    mine.path("why.txt").write_text("changed\n", "utf-8")
    assert mine.run().tags == {"NETWORK"}


def test_install_zip_and_glob(project: MakeProject) -> None:
    mine = project(
        PLAIN + 'env.Tool("install")\nenv.Tool("zip")\n'
        'env.Install("release", net)\n'
        'env.Zip("release/raws.zip", Glob("build/*.raw") + [net[0]])\n'
    )
    mine.run("release")
    assert names(mine, "release") == FILES | {"raws.zip"}
    with zipfile.ZipFile(mine.path("release/raws.zip")) as archive:
        assert {Path(name).name for name in archive.namelist()} == {"kws.c", "kws_atonbuf.xSPI2.raw"}
    mine.up_to_date("release")


def test_a_model_that_is_built(project: MakeProject) -> None:
    mine = project(
        'env["BUILDERS"]["Model"] = Builder(action=Copy("$TARGET", "$SOURCE"), suffix=".tflite", src_suffix=".bin")\n'
        'env.NeuralArtNetwork("build/kws.c", env.Model("made/a $$model", "kws.bin"))\n'
    )
    shutil.move(mine.path("kws.tflite"), mine.path("kws.bin"))
    mine.run()
    assert names(mine, "build") == MADE and names(mine, "made") == {"a $model.tflite"}
    mine.up_to_date()
    shutil.copy2(REPO / "models" / "heatmap" / "heatmap.tflite", mine.path("kws.bin"))
    with pytest.raises(AssertionError, match="rebuilding `made/a"):
        mine.up_to_date("-n", "made")  # also where the command is none of ours
    assert ("NETWORK", "build/kws.c") in mine.run().commands


@pytest.fixture(scope="module")
def once_cached(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A project whose files are in a cache beside it and no more in its folder; and their bytes."""
    place = tmp_path_factory.mktemp("cached")
    mine = write(place / "their project", f'env.CacheDir("../cache")\n{PLAIN}')
    mine.run()
    made = mine.files("build")
    mine.run("-c")
    return place, made


@pytest.fixture
def cached(once_cached: tuple[Path, dict[str, bytes]], tmp_path: Path) -> tuple[Project, dict[str, bytes]]:
    shutil.copytree(once_cached[0], tmp_path, dirs_exist_ok=True)
    return Project(tmp_path / "their project"), once_cached[1]


def test_cache(cached: tuple[Project, dict[str, bytes]], tmp_path: Path) -> None:
    mine, before = cached
    out = mine.run().out
    assert "Retrieved `build/kws.c' from cache" in out
    assert mine.files("build") == before
    shutil.copytree(mine.root, tmp_path / "another tree", ignore=shutil.ignore_patterns("build", ".sconsign*"))
    assert "Retrieved `build/kws.c' from cache" in Project(tmp_path / "another tree").run().out


@pytest.mark.parametrize("how", ["flip", "cut", "empty", "no hash", "wrong hash"])
def test_a_damaged_entry_of_the_cache_is_thrown_away(
    cached: tuple[Project, dict[str, bytes]], tmp_path: Path, how: str
) -> None:
    mine, before = cached
    constants = before["build/kws_atonbuf.xSPI2.raw"]
    (entry,) = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.read_bytes() == constants]
    beside = entry.with_name(f"{entry.name}.sha256")
    if how == "no hash":
        beside.unlink()
    elif how == "wrong hash":
        beside.write_bytes(b"\xff")
    else:
        entry.write_bytes({"flip": bytes([constants[0] ^ 1]) + constants[1:], "cut": constants[:-1], "empty": b""}[how])
    found = entry.read_bytes()
    mine.run("--cache-readonly")
    assert mine.files("build") == before and entry.read_bytes() == found, "who may only read throws nothing away"
    shutil.rmtree(mine.path("build"))
    out = mine.run().out
    said = [line for line in out.splitlines() if "damaged" in line]
    assert said == ["scons: build/kws_atonbuf.xSPI2.raw: the cache holds a damaged file for it, which is not used"]
    assert mine.files("build") == before
    assert entry.read_bytes() == constants and beside.read_text("ascii") == hashlib.sha256(constants).hexdigest() + "\n"
    shutil.rmtree(mine.path("build"))
    assert "damaged" not in mine.run().out, "what was built took its place"


def test_alias_requires_and_ignore(project: MakeProject) -> None:
    mine = project(
        PLAIN + 'env.Alias("kws", net)\n'
        'first = env.Command("first.txt", "version.txt", Copy("$TARGET", "$SOURCE"))\n'
        "env.Requires(net, first)\n"
        'env.Ignore(net, "own.mpool")\nenv["NEURALART_POOLS"] = "own.mpool"\n',
        head=HEAD + 'env["NEURALART_POOLS"] = "own.mpool"\n',
        version_dot_txt="1\n",
    )
    pools = board_data_dir() / "pools" / f"{BOARD}.mpool"
    shutil.copy2(pools, mine.path("own.mpool"))
    out = mine.run("kws").out
    assert out.index("first.txt") < out.index("NETWORK"), "a prerequisite comes first"
    mine.path("version.txt").write_text("2\n", "utf-8")
    assert mine.run("kws").tags == set(), "and does not count"
    mine.path("own.mpool").write_text(pools.read_text("utf-8") + "\n", "utf-8")
    mine.up_to_date("kws")


COMPILED = """
env = env.Clone(tools=["cc", "link", "compilation_db"], CPPPATH=["build", "$NEURALART_RUNTIME/include"])
env.VariantDir("build", ".", duplicate=0)
env.CompilationDatabase("build/compile_commands.json")
objects = env.Object(["build/main.c", "build/kws.tflite"])
"""


def test_a_model_is_a_source_of_objects_and_programs(project: MakeProject) -> None:
    mine = project(
        COMPILED + 'env.Program("build/app", ["build/main.c", "build/kws.tflite", "build/runtime.c"])\n',
        main_dot_c="int main(void) { return 0; }\n",
        runtime_dot_c="/* Of whom the C of a network asks for its kernels. */\n",
    )
    objects = mine.run("build/kws.o", "build/main.o").out
    assert "NETWORK  build/kws.c" in objects
    mine.up_to_date("build/kws.o")
    tree = mine.run("-n", "--tree=derived,prune", "build/app").out
    linked = [line for line in tree.splitlines() if line.startswith("  +-build/")]
    assert linked == ["  +-build/main.o", "  +-build/kws.o", "  +-build/runtime.o"], "C of the network alone is linked"


def test_compilation_database(project: MakeProject) -> None:
    mine = project(COMPILED, main_dot_c="int main(void) { return 0; }\n")
    mine.run("build/compile_commands.json")
    rows = json.loads(mine.path("build/compile_commands.json").read_text("utf-8"))
    assert {Path(row["output"]).name for row in rows} == {"main.o", "kws.o"}
    assert any(row["file"].endswith("build/kws.c") for row in rows)


@pytest.mark.arm
def test_a_model_that_firmware_loads_and_its_plans(
    project: MakeProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mine = project(
        'net = env.NeuralArtNetwork("build/net/kws.c", "kws.tflite", NEURALART_RELOCATABLE=True)\n'
        'rel = env.NeuralArtRelocatable("build/kws_rel.bin", net)\n'
        'plan = env.NeuralArtFlashPlan("build/flash_plan.json", rel, NEURALART_LOAD_MODES=["xip", "copy clear"])\n'
        'env.NeuralArtFlash("flash-kws", plan)\n'
    )
    out = prepare(mine, tmp_path_factory, ".", "flash-kws").out
    slots = boards.load(BOARD).relocatable
    assert slots is not None
    model = mine.path("build/kws_rel.bin")
    assert f"relocatable: {model.stat().st_size} bytes at 0x{slots.model:08x}, " in out
    assert f"load_table: 20 bytes at 0x{slots.table:08x}, " in out
    assert mine.path("build/load_table.copy.bin").read_bytes() == struct.pack("<5I", MAGIC, 1, 4, slots.model, 0)
    plans = [json.loads(mine.path(f"build/flash_plan{mode}.json").read_text("utf-8")) for mode in ("", ".copy")]
    files = [[Path(row["file"]).name for row in plan["writes"]] for plan in plans]
    assert files == [["kws_rel.bin", f"load_table.{mode}.bin"] for mode in ("xip", "copy")]
    mine.up_to_date()


def test_a_header_for_an_application(project: MakeProject) -> None:
    mine = project(
        'env.Append(NEURALARTFLAGS="--input-data-type uint8 --output-data-type float32")\n'
        + PLAIN
        + "keys = dict(use_case='image_classification', generation='n6-v3', aspect_ratio='crop',\n"
        "            class_names=[str(n) for n in range(10)])\n"
        'env.NeuralArtAppConfig("build/app_config.h", net, NEURALART_APPCONFIG=keys)\n'
    )
    shutil.copy2(REPO / "models" / "mobilenet" / "mobilenet.tflite", mine.path("kws.tflite"))
    assert ("HEADER", "build/app_config.h") in mine.run().commands
    mine.up_to_date()
    mine.edit("SConstruct", "'crop'", "'fit'")
    assert mine.run().commands == {("HEADER", "build/app_config.h")}


def test_copies_of_an_application(project: MakeProject) -> None:
    mine = project(
        'net = env.NeuralArtNetwork("build/network.c", "kws.tflite", NEURALART_BOARD="stm32h747i-disco")\n'
        'env.NeuralArtPatchedSources("build/camera/patched.json", ["app", net],\n'
        '                            NEURALART_PATCH={"aspect_ratio": "fit"})\n'
    )
    app = App(mine.root)
    assert mine.run().commands == {("NETWORK", "build/network.c"), ("PATCH", "build/camera")}
    mine.up_to_date()
    app.edit("Src/CM7/main.c", "int main", "/* theirs */ int main")
    assert mine.run().commands == {("PATCH", "build/camera")}
    assert "/* theirs */" in mine.path("build/camera/Src/CM7/main.c").read_text("latin-1")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('env.NeuralArtNetwork("build/kws.c", ["kws.tflite", "kws.tflite"])', "one model, not 2"),
        ('env.NeuralArtNetwork("build/kws.cpp", "kws.tflite")', "build/kws.cpp: NeuralArtNetwork: a network is C"),
        ('env.NeuralArtNetwork("build/2nd.c", "kws.tflite")', "'2nd' is not a C identifier"),
        ('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_BOARD="")', "no board (set NEURALART_BOARD)"),
        ('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_BOARD="dk")', "no board 'dk'"),
        ('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_POOLS="no.mpool")', "'no.mpool' does not exist"),
        (
            'env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALARTFLAGS="--name x")',
            "'--name' is not allowed here",
        ),
        ('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_COMPILER="gcc")', "'gcc' is not allowed"),
        ('env.NeuralArtRelocatable("build/kws_rel.bin", "kws.c")', "'kws.c' is no network"),
        (
            'env.NeuralArtRelocatable("b/kws_rel.bin", env.NeuralArtNetwork("b/kws.c", "kws.tflite", '
            "NEURALART_RELOCATABLE=True))",
            "the folder of the network cannot be that of its model (name another one)",
        ),
        ('env.NeuralArtAppConfig("build/app_config.h", "kws.c")', "no network.json among the sources"),
        ('env.NeuralArtPatchedSources("out/patched.json", "app")', "an application's folder and a network"),
        ('env.Network("kws", model="no.tflite", board="stm32n6570-dk")', "model 'no.tflite' does not exist"),
    ],
)
def test_a_wrong_call_is_one_line_with_the_place(project: MakeProject, call: str, said: str) -> None:
    mine = project(f"def helper():\n    {call}\nhelper()\n", kws_dot_c="/* theirs */\n", app__x_dot_c="")
    result = mine.run("-Q", code=2)
    what, where = result.errors
    assert what.startswith("scons: *** ") and said in what, result.err
    line = HEAD.count("\n") + 2
    assert where == f'File "{mine.root}/SConstruct", line {line}, in helper'


def test_what_our_emitter_must_not_be_left_out(project: MakeProject) -> None:
    mine = project('env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_NETWORKEMITTER=[])\n')
    result = mine.run_raw()
    assert result.code == 2
    assert "nothing is known of 'build/kws.c'" in result.err + result.out
    assert "append yours" in result.err + result.out
