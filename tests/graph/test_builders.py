"""The builders alone: targets, sources, what their scanners find, and the command, by construction variables."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import SCons.Action
import SCons.Errors

from neuralart import boards
from neuralart.plugins import own
from neuralart.resources import PACKAGE, board_data_dir
from neuralart.scons import registry
from neuralart.toolchain import Toolchain
from neuralart_bring.schema import scons_variables
from support.boards.h747_app import ROOT, App
from support.fake_stedgeai import VERSIONS
from support.projects import graphs

REPO = Path(__file__).resolve().parents[2]
BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
PROFILE = board_data_dir() / "profiles" / f"{BOARD}.json"
START = [sys.executable, "-m", "neuralart"]
BUILDERS = [plugin.made for plugin in own("builders")]


def network(env: Any, target: str = "out/digits.c", source: Any = MODEL, **variables: Any) -> Any:
    return env.NeuralArtNetwork(target, source, **{"NEURALART_BOARD": BOARD, **variables})


def names(nodes: Any) -> list[str]:
    return [Path(str(node)).name for node in nodes]


def refused(call: Any, *words: Any, **named: Any) -> str:
    with pytest.raises(SCons.Errors.UserError) as caught:
        call(*words, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- NeuralArtNetwork

OWN = ["digits.c", "digits.h", "network.json", "manifest.json", "digits_c_info.json", "digits_generate_report.txt"]
OWN += ["provenance.txt", "digits_atonbuf.xSPI2.raw"]


def test_network_of_the_reference_compiler(env: Any) -> None:
    net = network(env, NEURALARTFLAGS="--input-data-type uint8")
    assert graphs.names(net) == [f"out/{name}" for name in OWN]
    assert names(net[0].sources) == ["digits.tflite", f"{BOARD}.json"]
    assert names(graphs.scanned(net[0])) == [f"{BOARD}.mpool"]
    assert graphs.command(net[0]) == [
        *(*START, "compile", "--quiet", "--model", MODEL, "--target", "stm32n6", "--name", "digits"),
        *("--st-neural-art", f"default@{PROFILE}", "--input-data-type", "uint8", "--initializers", "xSPI2"),
        *("--force", "--output", "out"),
    ]
    executor = net[0].get_executor()
    assert all(node.get_executor() is executor for node in net)


# Files of each version besides those that every compile has.
OF_VERSION = {
    "2.0.0": ["net_OE_3_1_0.onnx", "net_OE_3_1_0_Q.json"],
    "2.1.0": ["net_OE_3_2_0.onnx", "net_OE_3_2_0_Q.json"],
    "2.2.0": ["net.h", "net_OE_3_3_0.onnx", "net_OE_3_3_0_Q.json"],
    "3.0.0": ["net.h", "net_OE_3_3_1.onnx", "net_OE_3_3_1_Q.json", "stai_net.c", "stai_net.h"],
}
OF_VERSION["4.0.0"] = OF_VERSION["4.0.1"] = OF_VERSION["3.0.0"]
ALWAYS = ["manifest.json", "net.c", "net_atonbuf.xSPI2.raw", "net_c_info.json", "net_generate_report.txt"]
ALWAYS += ["network.json", "provenance.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("profile", "more"), [("default", []), ("blobs", ["net_ecblobs.h"]), ("csv", ["net.csv"])])
def test_network_of_each_version(env: Any, tool: Any, version: str, profile: str, more: list[str]) -> None:
    tool(version)
    selected = f"{profile}@nets/na.json"
    net = env.NeuralArtNetwork(
        *("out/net.c", "nets/net.tflite"),
        NEURALART_BOARD=BOARD,
        NEURALART_COMPILER={"stedgeai": version},
        NEURALART_PROFILE=selected,
        NEURALART_EXTRAFLAGS=["--new $$x"],
    )
    assert str(net[0]) == "out/net.c"
    assert sorted(names(net)) == sorted(ALWAYS + OF_VERSION[version] + more)
    assert names(net[0].sources) == ["net.tflite", "na.json"]
    assert names(graphs.scanned(net[0])) == ["n6.mpool"]
    assert graphs.command(net[0]) == [
        *(*START, "compile", "--quiet", "--model", "nets/net.tflite", "--target", "stm32n6", "--name", "net"),
        *("--st-neural-art", selected, "--compiler", "stedgeai", "--extra-options=--new $x"),
        *("--compiler-version", version, "--tool-cache", "build/.stedgeai.json", "--initializers", "xSPI2"),
        *("--force", "--output", "out"),
    ]
    values = {node.name for node in net[0].depends}
    assert values == {"compiler-code", "compiler", "what was made"}
    assert net[0].side_effects, "so many at the same time are enough"


def test_network_for_a_core(env: Any) -> None:
    net = network(env, "out/network.c", NEURALART_BOARD="stm32h747i-disco")
    assert names(net)[:3] == ["network.c", "network_data.c", "network_data_params.c"]
    assert {"network.h", "network_config.h", "network.json", "network_c_info.json"} <= set(names(net))
    words = graphs.command(net[0])
    assert words[words.index("--target") + 1] == "stm32h7" and words[-2:] == ["--output", "out"]
    assert not graphs.scanned(net[0])


def test_two_networks_of_one_folder(env: Any) -> None:
    """Their network.json, manifest.json and provenance.txt would be the same files, whatever the model is."""
    network(env, "out/one.c")
    said = refused(network, env, "out/other.c")
    assert said == "out/other.c: NeuralArtNetwork: out has the network.json of one.c (a folder for each network)"
    network(env, "out/one.c"), network(env, "out/b/other.c")


def test_the_users_own_pools_are_sources(env: Any, tree: Path) -> None:
    shutil.copy2(board_data_dir() / "pools" / f"{BOARD}.mpool", tree / "a $mine.mpool")
    net = network(env, NEURALART_POOLS=Path("a $mine.mpool"), NEURALART_INITIALIZERS=["AXISRAM5", "xSPI2"])
    assert names(net[0].sources) == ["digits.tflite", "a $mine.mpool"]
    assert names(net)[-2:] == ["digits_atonbuf.AXISRAM5.raw", "digits_atonbuf.xSPI2.raw"]
    words = graphs.command(net[0])
    assert words[words.index("--mpool") + 1] == "a $mine.mpool"


def test_variables_of_an_environment_and_of_a_call(env: Any) -> None:
    env["NEURALART_BOARD"] = "mps3-an547"
    other = env.Clone(NEURALART_BOARD="nucleo-n657x0-q", NEURALARTFLAGS=["--all-buffers-info"])
    one, two = env.NeuralArtNetwork("one/k.c", MODEL), other.NeuralArtNetwork("two/k.c", MODEL)
    three = other.NeuralArtNetwork("three/k.c", MODEL, NEURALART_BOARD=BOARD)
    assert "k_atonbuf.DDRFLASH.raw" in names(one)
    assert "--all-buffers-info" in graphs.command(two[0]) and "--all-buffers-info" not in graphs.command(one[0])
    assert "k_atonbuf.xSPI2.raw" in names(three)
    assert graphs.signature(one[0]) != graphs.signature(two[0])


def test_the_folder_and_python_do_not_count_but_the_words_do(make_env: Any, tmp_path: Path) -> None:
    plain = graphs.signature(network(make_env())[0])
    assert graphs.signature(network(make_env(NEURALART_PYTHON=["/another python"]))[0]) == plain
    assert graphs.signature(network(make_env(NEURALARTCOMSTR="another message"))[0]) == plain
    assert graphs.signature(network(make_env(NEURALARTFLAGS=["--all-buffers-info"]))[0]) != plain
    assert graphs.signature(network(make_env(NEURALARTCOM="true $_NEURALARTFLAGS"))[0]) != plain
    assert str(board_data_dir()).encode() not in plain


def test_a_pair_without_the_epoch_controller(env: Any) -> None:
    words = graphs.command(network(env, NEURALART_PAIR="profiling")[0])
    assert words[words.index("--pair") + 1] == "profiling"


def test_the_methods_use_the_same_builder_and_action(env: Any) -> None:
    one = env.Network("one", model=MODEL, board=BOARD).c
    two = env.Network("two", model=MODEL, board="mps3-an547").c
    mine = network(env)[0]
    assert one.builder is two.builder is mine.builder is env["BUILDERS"]["NeuralArtNetwork"]
    lists = [node.get_executor().get_action_list() for node in (one, two, mine)]
    assert lists[0] == lists[1] == lists[2] and len({id(each[0]) for each in lists}) == 1


def test_the_target_may_be_left_out(env: Any) -> None:
    assert str(env.NeuralArtNetwork(MODEL, NEURALART_BOARD=BOARD)[0]) == "models/digits.c"


def test_a_model_among_the_sources_of_a_program(env: Any) -> None:
    env.Tool("gcc")
    env.Tool("gnulink")
    env["NEURALART_BOARD"] = BOARD
    program = env.Program("app", ["main.c", MODEL])[0]
    assert names(program.sources) == ["main.o", "digits.o"]
    (c,) = program.sources[1].sources
    assert names(c.get_executor().get_all_targets()) == OWN
    assert names(c.sources) == ["digits.tflite"]
    assert {f"{BOARD}.json", f"{BOARD}.mpool"} <= set(names(c.depends))


# ---- NeuralArtRelocatable


@pytest.mark.parametrize(
    ("settings", "words", "files"),
    [
        ({}, [], []),
        ({"NEURALART_RELOCATABLE_SPLIT": True}, ["--split"], ["digits_rel_params.bin"]),
        ({"NEURALART_RELOCATABLE_SECURE": False}, ["--no-secure"], []),
        ({"NEURALART_RELOCATABLE_DEBUG_INFO": False}, ["--no-dbg-info"], []),
        ({"NEURALART_RELOCATABLE_LAYOUT": "vendor"}, ["--layout", "vendor"], []),
    ],
)
def test_relocatable(env: Any, gcc: Toolchain, settings: dict[str, Any], words: list[str], files: list[str]) -> None:
    net = network(env, NEURALART_RELOCATABLE=True)
    assert "--all-buffers-info" in graphs.command(net[0])
    rel = env.NeuralArtRelocatable("rel/digits_rel.bin", net, **settings)
    assert names(rel) == ["digits_rel.bin", "digits_reloc_results.json", *files]
    assert names(rel[0].sources) == ["digits.c", "network.json", "digits_atonbuf.xSPI2.raw"]
    assert graphs.scanned(rel[0]) == []
    assert graphs.command(rel[0]) == [
        *(*START, "relocatable", "build", "--verbosity", "0", "--input", "out/digits.c", "--output", "rel"),
        *("--name", "digits", "--objects", "build/relocatable/objects", "--cross-compile", "arm-none-eabi-", "--json"),
        *(*words, "--force"),
    ]
    assert {node.name for node in rel[0].depends} >= {"toolchain", "code of relocatable-builder", "ll_aton.h"}


def test_a_network_that_is_not_relocatable(env: Any, gcc: Toolchain) -> None:
    said = refused(env.NeuralArtRelocatable, "img/digits_rel.bin", network(env))
    assert "USEMODE_ABSOLUTE" in said
    rel = network(env, "rel/digits.c", NEURALART_RELOCATABLE=True)
    assert "is called digits_rel.bin" in refused(env.NeuralArtRelocatable, "img/digits.bin", rel)
    assert "the folder of the network cannot be" in refused(env.NeuralArtRelocatable, "rel/digits_rel.bin", rel)
    wrong = {"NEURALART_RELOCATABLE_LAYOUT": "vender"}
    assert "did you mean 'vendor'" in refused(env.NeuralArtRelocatable, "img/digits_rel.bin", rel, **wrong)


# ---- NeuralArtAppConfig

KEYS = {"use_case": "image_classification", "generation": "n6-v3", "aspect_ratio": "crop", "class_names": ["a", "b"]}


def test_header_of_an_application(env: Any) -> None:
    net = network(env)
    (header,) = env.NeuralArtAppConfig("out/app_config.h", net, NEURALART_APPCONFIG=KEYS)
    assert graphs.names(header.sources) == ["out/network.json"]
    assert {node.name for node in header.depends} == {"app_config of digits", "code of app_config", "what was made"}
    (action,) = graphs.actions(header)
    assert isinstance(action, SCons.Action.FunctionAction)
    assert action.strfunction([header], header.sources, env) == "HEADER   out/app_config.h"
    # Any file of the compile leads to it.
    again = env.NeuralArtAppConfig("out/b/app_config.h", net[0], NEURALART_APPCONFIG=KEYS)
    assert graphs.names(again[0].sources) == ["out/network.json"]


def test_header_by_its_name(env: Any) -> None:
    said = refused(env.NeuralArtAppConfig, "out/mine.h", network(env), NEURALART_APPCONFIG=KEYS)
    assert "includes app_config.h" in said
    assert "unknown key" in refused(
        env.NeuralArtAppConfig, "out/app_config.h", network(env), NEURALART_APPCONFIG={"use_csae": "x"}
    )
    assert "must be a dict" in refused(
        env.NeuralArtAppConfig, "out/app_config.h", network(env), NEURALART_APPCONFIG="use_case"
    )


# ---- NeuralArtPatchedSources


def test_copies_of_an_application(env: Any, tree: Path) -> None:
    App(tree)
    net = network(env, "out/network.c", NEURALART_BOARD="stm32h747i-disco")
    copies = env.NeuralArtPatchedSources("out/app/patched.json", ["app", net], NEURALART_PATCH={"aspect_ratio": "fit"})
    by_name = {str(node).removeprefix("out/app/") for node in copies}
    assert str(copies[0]) == "out/app/patched.json"
    assert {"Inc/CM7/main.h", "Src/CM7/main.c"} <= by_name
    assert {"network_c_info.json", "network.c", "network_config.h"} <= set(names(copies[0].sources))
    assert graphs.scanned(copies[0]) == [], "copies: their includes are no matter"
    depends = {str(node) for node in copies[0].depends}
    assert f"app/{ROOT}/STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld" in depends
    (action,) = graphs.actions(copies[0])
    assert action.strfunction(copies, copies[0].sources, env) == "PATCH    out/app"


def test_applications_that_are_none(env: Any, tree: Path) -> None:
    App(tree)
    call = env.NeuralArtPatchedSources
    npu = network(env)
    core = network(env, "core/mine.c", NEURALART_BOARD="stm32h747i-disco")
    good = {"NEURALART_PATCH": {"aspect_ratio": "fit"}}
    assert "an STM32N6 application is not patched" in refused(call, "a/patched.json", ["app", npu], **good)
    assert "called 'network', this one is 'mine'" in refused(call, "a/patched.json", ["app", core], **good)
    assert "an application's folder and a network" in refused(call, "a/patched.json", "app", **good)


# ---- all of them


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda builder: builder.NAME)
def test_every_builder(env: Any, builder: Any) -> None:
    assert env["BUILDERS"][builder.NAME] is not None
    declared = {variable.name: variable for variable in builder.VARIABLES}
    emitters = [name for name in declared if name.endswith("EMITTER")]
    assert len(emitters) == 1 and len(env[emitters[0]]) == 1
    assert any(name.endswith("COM") for name in declared)
    assert all(f"{name}STR" in declared for name in declared if name.endswith("COM"))
    assert all(name in env for name in declared)
    assert builder.__doc__ and builder.emit.__doc__


def test_what_the_user_has_set_stays(make_env: Any) -> None:
    for variable in {each.name for _, rows in scons_variables.sections() for each in rows}:
        if not variable.endswith("EMITTER"):
            assert make_env(**{variable: "mine"})[variable] == "mine"


def test_an_environment_can_be_dumped(env: Any) -> None:
    """What ``print(env.Dump())`` shows of the settings is what the reference says of them."""
    shown = env.Dump()
    assert [
        each.name for _, rows in scons_variables.sections() for each in rows if f"'{each.name}': " not in shown
    ] == []
    assert "'nucleo-n657x0-q'" in env.Clone(NEURALART_BOARD="nucleo-n657x0-q").Dump("NEURALART_BOARD")
    assert json.loads(env.Dump(format="json"))["NEURALART_STRATEGIES"] == {}


def test_no_two_variables_have_one_name() -> None:
    every = [each.name for _, rows in scons_variables.sections() for each in rows]
    assert len(set(every)) == len(every)


def test_environments_do_not_share_lists(make_env: Any) -> None:
    one = make_env()
    one.Append(NEURALART_NETWORKEMITTER=[lambda target, source, env: (target, source)], NEURALARTFLAGS="--x")
    other = make_env()
    assert len(other["NEURALART_NETWORKEMITTER"]) == 1 and list(other["NEURALARTFLAGS"]) == []


def test_the_reference_is_made_from_the_code() -> None:
    page = (REPO / "docs" / "reference" / "scons-variables.md").read_text("utf-8")
    hint = "python -m neuralart_bring.schema.scons_variables > docs/reference/scons-variables.md"
    assert page == scons_variables.page(), hint


def test_every_builder_is_in_the_reference() -> None:
    page = (REPO / "docs" / "reference" / "scons-builders.md").read_text("utf-8")
    titles = [line for line in page.splitlines() if line.startswith("## `")]
    assert sorted(titles) == sorted(f"## `{each.NAME}`" for each in BUILDERS)


def test_the_how_to_is_the_example() -> None:
    page = (REPO / "docs" / "how-to" / "builders-without-variants.md").read_text("utf-8")
    example = (REPO / "examples" / "plain-scons" / "SConstruct").read_text("utf-8").splitlines()
    blocks = page.split("```python\n")[1:]
    lines = [line for block in blocks for line in block.split("```")[0].splitlines()]
    assert len(blocks) == 4
    assert [line for line in lines if line not in example] == []


# What is a builder's neither in the design nor in the documentation: reports, bills of materials, tables, copies, a
# user's own build.
COMMANDS = {
    "application/application.py": 1,
    "application/versions.py": 1,
    "firmware/calls.py": 1,
    "firmware/firmware.py": 2,
    "flash/images.py": 2,
    "h747.py": 1,
    "loaded_variant.py": 1,
    "network/network.py": 1,
    "network/runtime_copy.py": 1,
    "variant.py": 1,
}


def test_no_command_of_ours_where_a_builder_is() -> None:
    """What design says is a builder's is not made by ``Command``: each one that there is has been counted."""
    folder = REPO / "site_scons" / "neuralart" / "scons"
    texts = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    assert {name: text.count(".Command(") for name, text in texts.items() if ".Command(" in text} == COMMANDS


def test_a_board_counts_without_its_place() -> None:
    """Else the same tree in another folder is built again."""
    for name in boards.names():
        assert str(PACKAGE) not in registry.said_by(boards.load(name)), name


def test_contents_decide_in_our_steps(make_env: Any) -> None:
    """Whatever the consumer's own go by, and whatever SCons believes of old files."""
    env = make_env()
    assert env.fs.max_drift == -1
    env.Decider("timestamp-newer")
    base = registry.registry_of(env).base
    node = base.File("models/digits.tflite")
    assert base.decide_source.__name__ == base.decide_target.__name__ == "_changed_content"
    assert node.get_max_drift_csig() == ""
