"""``env.NetworkRel`` and variants with ``relocatable:``: nodes, commands, what is shared, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig, VariantConfig
from neuralart.resources import board_data_dir
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from support.projects import graphs
from support.relocatable.rel_networks import write_mpool

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
POOLS = board_data_dir() / "pools"


def _net(env: Any, name: str = "digits", board: str = BOARD, **options: Any) -> Any:
    return env.Network(name, model=MODEL, board=board, **options)


def variant(name: str = "digits-rel", **changes: Any) -> VariantConfig:
    fields: dict[str, Any] = {
        "name": name,
        "title": "Digits",
        "board": BOARD,
        "machine": "",
        "networks": (NetworkConfig("digits", MODEL, vectors="models"),),
        "relocatable": RelocatableConfig(),
        "where": Location("variants.yaml", 9),
        "places": {"relocatable": Location("variants.yaml", 12), "kernels": Location("variants.yaml", 13)},
        **changes,
    }
    return VariantConfig(**fields)


def refusal(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(SCons.Errors.UserError) as caught:
        call(*args, **more)
    return str(caught.value)


# ---- NetworkRel


def test_nodes(env: Any, gcc: Toolchain) -> None:
    net = _net(env)
    rel = env.NetworkRel(net)
    assert rel.network.folder != net.folder, "a second compile"
    assert rel.folder.startswith(f"build/relocatable/{Path(rel.network.folder).name}-")
    assert graphs.names(rel.files) == [f"{rel.folder}/digits_rel.bin", f"{rel.folder}/digits_reloc_results.json"]
    assert (rel.params, rel.config) == (None, RelocatableConfig())
    assert graphs.names(rel.image.sources) == graphs.names(
        [rel.network.c, rel.network.facts, *rel.network.initializers.values()]
    )
    split = env.NetworkRel(net, split=True)
    assert str(split.params) == f"{split.folder}/digits_rel_params.bin"
    assert split.network.c is rel.network.c and split.folder != rel.folder, "one compile, two images"


def test_the_second_compile(env: Any, gcc: Toolchain) -> None:
    net = _net(env, strategies={"xSPI2": "flash"}, options=["--optimization", "ram"])
    words = graphs.command(env.NetworkRel(net).network.c)
    assert words[words.index("--st-neural-art") + 1].startswith("relocatable@")
    assert "--all-buffers-info" in words and "--optimization" in words
    static = graphs.command(net.c)
    assert "--all-buffers-info" not in static and not any(word.startswith("relocatable@") for word in static)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        ({"split": True}, ["--split"]),
        ({"secure": False}, ["--no-secure"]),
        ({"debug_info": False}, ["--no-dbg-info"]),
        ({"layout": "vendor"}, ["--layout", "vendor"]),
        (
            {"split": True, "secure": False, "debug_info": False, "layout": "aligned"},
            ["--split", "--no-secure", "--no-dbg-info", "--layout", "aligned"],
        ),
    ],
)
def test_the_command(env: Any, gcc: Toolchain, options: dict[str, Any], words: list[str]) -> None:
    rel = env.NetworkRel(_net(env), **options)
    assert graphs.command(rel.image)[1:] == [
        *["-m", "neuralart", "relocatable", "build", "--verbosity", "0"],
        *["--input", f"{rel.network.folder}/digits.c", "--output", rel.folder, "--name", "digits"],
        *["--objects", "build/relocatable/objects", "--cross-compile", "arm-none-eabi-", "--json"],
        *[*words, "--force"],
    ]
    assert str(gcc.folder) in rel.image.get_build_env()["ENV"]["PATH"]


def test_what_the_image_depends_on(env: Any, gcc: Toolchain) -> None:
    image = env.NetworkRel(_net(env)).image
    needed = {str(node) for node in image.depends}
    runtime = {Path(name).name for name in needed if name.endswith((".c", ".h"))}
    assert {"conv2d.c", "ll_aton_lib.h"} <= runtime
    assert any("12.2.1" in name for name in needed), "the identity of the toolchain"
    values = {getattr(node, "name", "") for node in image.depends}
    assert {"toolchain", "code of relocatable-builder"} <= values


def test_equal_images_are_made_once(env: Any, gcc: Toolchain) -> None:
    one, two = env.NetworkRel(_net(env)), env.NetworkRel(_net(env))
    assert one.image is two.image
    assert env.NetworkRel(_net(env), layout="vendor").image is not one.image
    assert env.NetworkRel(_net(env, board="nucleo-n657x0-q")).image is not one.image
    assert env.NetworkRel(_net(env, name="other")).image is not one.image


def test_pools_of_the_user(env: Any, gcc: Toolchain, tree: Path) -> None:
    write_mpool(tree / "good.mpool", "AXISRAM3", "xSPI2", constants="xSPI2", relative=("xSPI2",))
    rel = env.NetworkRel(_net(env, mpool="good.mpool"))
    words = graphs.command(rel.network.c)
    assert words[words.index("--mpool") + 1] == "good.mpool", "as it is"
    assert words.count("--all-buffers-info") == 1
    write_mpool(tree / "absolute.mpool", "AXISRAM3", "xSPI2", constants="xSPI2")
    said = refusal(env.NetworkRel, _net(env, mpool="absolute.mpool"))
    assert "absolute.mpool:" in said and "pool xSPI2 at 0x" in said and "is USEMODE_ABSOLUTE" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"splitt": True}, "NetworkRel: unknown option 'splitt' (did you mean 'split'?"),
        ({"modes": ["xip"]}, "NetworkRel: unknown option 'modes' (known: "),
        ({"split": "yes"}, "NetworkRel: split must be True or False, not 'yes'"),
        ({"secure": None}, "NetworkRel: secure must be True or False, not None"),
        ({"layout": True}, "NetworkRel: layout must be text, not True"),
        ({"layout": "vender"}, "NetworkRel: no layout 'vender' (did you mean 'vendor'?"),
        ({"toolchain": 5}, "NetworkRel: toolchain must be text, not 5"),
        ({"name": "a-b"}, "NetworkRel: 'a-b' is not a C identifier"),
        ({"gen_c_file": 1}, "NetworkRel: gen_c_file must be True or False, not 1"),
    ],
)
def test_options_that_cannot_be(env: Any, gcc: Toolchain, options: dict[str, Any], words: str) -> None:
    said = refusal(env.NetworkRel, _net(env), **options)
    assert words in said and "\n" not in said


@pytest.mark.parametrize("wrong", ["digits", None, []])
def test_no_network(env: Any, gcc: Toolchain, wrong: Any) -> None:
    assert refusal(env.NetworkRel, wrong) == f"NetworkRel: takes what Network returned, not {wrong!r}"


def test_a_board_without_relocatable_pools(env: Any, gcc: Toolchain) -> None:
    said = refusal(env.NetworkRel, _net(env, board="stm32h747i-disco"))
    assert said.startswith("NetworkRel: network digits runs on the core of board stm32h747i-disco")


def test_a_program_takes_no_relative_pools(env: Any, gcc: Toolchain) -> None:
    rel = env.NetworkRel(_net(env))
    assert "is USEMODE_RELATIVE: in a program nothing says where it is" in refusal(env.MemoryInitializers, rel.network)


# ---- variants


def test_nodes_of_a_variant(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant())
    folder = "build/digits-rel"
    assert graphs.names(made.model.files) == [f"{folder}/network_rel.bin", f"{folder}/network_rel.json"]
    assert made.model.params is None
    assert list(made.flash.plans) == list(made.flash.tables) == ["xip", "copy"]
    assert graphs.names(made.flash.plans.values()) == [f"{folder}/flash_plan.json", f"{folder}/flash_plan.copy.json"]
    assert graphs.names(made.flash.tables.values()) == [f"{folder}/load_table.{mode}.bin" for mode in ("xip", "copy")]
    assert made.flash.plan is made.flash.plans["xip"]
    assert made.initializers.images == [], "a loader brings the constants"
    needed = {str(node) for node in graphs.built_nodes(made.alias)}
    assert {f"{folder}/network_rel.bin", f"{folder}/flash_plan.copy.json", f"{folder}/firmware.elf"} <= needed


def test_the_firmware_holds_no_network(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(board="stm32n6570-dk-psram"))
    objects = {str(node) for node in made.firmware.elf.sources}
    assert {"build/digits-rel/app_loader/main.o", "build/digits-rel/app/host_link.o"} <= objects
    assert not [name for name in objects if "kernels" in name or name.endswith(("/digits.o", "app/main.o"))]
    commands = {str(node): graphs.commands(node) for node in graphs.built_nodes(made.alias)}
    (words,) = commands["build/digits-rel/app_loader/main.o"]
    assert {
        "-DLL_ATON_RT_RELOC",
        "-DLL_ATON_EB_DBG_INFO",
        "-DNEURALART_LOAD_TABLE=0x70ff0000u",
        "-DNEURALART_EXEC_RAM=262144u",
        "-DNEURALART_EXT_RAM_ADDRESS=0x90000000u",
        "-DNEURALART_EXT_RAM_SIZE=33554432u",
    } <= set(words)


def test_options_of_the_variant_reach_the_firmware(env: Any, gcc: Toolchain) -> None:
    config = RelocatableConfig(debug_info=False, exec_ram=8192)
    made = env.NeuralArtVariant(
        variant(board="nucleo-n657x0-q", relocatable=config, slots=(("load_table", 0x72000000),), defines=("MINE",))
    )
    commands = {str(node): graphs.commands(node) for node in graphs.built_nodes(made.alias)}
    (words,) = commands["build/digits-rel/app_loader/main.o"]
    assert "-DLL_ATON_EB_DBG_INFO" not in words
    assert {
        "-DMINE",
        "-DNEURALART_LOAD_TABLE=0x72000000u",
        "-DNEURALART_EXEC_RAM=8192u",
        "-DNEURALART_EXT_RAM_SIZE=0u",
    } <= set(words)


def test_variants_that_ask_the_same_share_compile_and_image(env: Any, gcc: Toolchain) -> None:
    one, two = env.NeuralArtVariant(variant("one")), env.NeuralArtVariant(variant("two"))
    rel = env.NetworkRel(_net(env, vectors="models"))
    assert one.model.image.sources == two.model.image.sources == [rel.image]
    assert one.networks[0].c is two.networks[0].c is rel.network.c
    # What only the loader is asked for makes no other image.
    other = env.NeuralArtVariant(variant("three", relocatable=RelocatableConfig(modes=("copy",), clear=True)))
    assert other.model.image.sources == [rel.image]
    split = env.NeuralArtVariant(variant("four", relocatable=RelocatableConfig(split=True)))
    assert split.model.image.sources != [rel.image] and split.networks[0].c is rel.network.c


def test_linked_and_relocatable_side_by_side(env: Any, gcc: Toolchain) -> None:
    linked, loaded = env.NeuralArtVariant(variant("linked", relocatable=None)), env.NeuralArtVariant(variant())
    assert linked.model is None
    assert linked.networks[0].folder != loaded.networks[0].folder
    assert {str(n) for n in linked.networks[0].files}.isdisjoint(map(str, loaded.networks[0].files))


def test_a_split_model(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(relocatable=RelocatableConfig(split=True)))
    assert graphs.names(made.model.binaries) == [
        "build/digits-rel/network_rel.bin",
        "build/digits-rel/network_rel_params.bin",
    ]
    assert set(graphs.names(made.model.binaries)) <= set(graphs.names(made.flash.plan.sources))


def test_one_mode(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(relocatable=RelocatableConfig(modes=("copy",))))
    assert list(made.flash.plans) == ["copy"]
    assert graphs.names(made.flash.plans.values()) == ["build/digits-rel/flash_plan.json"]
    assert len(graphs.commands(made.effects["load"][0])) == 1


def test_a_mode_is_part_of_its_table(env: Any, gcc: Toolchain) -> None:
    def signatures(name: str, **config: Any) -> list[bytes]:
        tables = env.NeuralArtVariant(variant(name, relocatable=RelocatableConfig(**config))).flash.tables
        return [graphs.signature(node) for node in tables.values()]

    plain, clear = signatures("a"), signatures("b", clear=True)
    assert len({*plain, *clear}) == 4


def test_summary_and_index_list_the_model(env: Any, gcc: Toolchain) -> None:
    sources = set(graphs.names(env.NeuralArtVariant(variant()).summary.sources))
    named = ("network_rel.bin", "network_rel.json", "load_table.xip.bin", "load_table.copy.bin", "flash_plan.copy.json")
    assert {f"build/digits-rel/{name}" for name in named} <= sources


# ---- effects


def _loads(made: Any) -> list[list[str]]:
    (node,) = made.effects["load"]
    assert node.always_build
    return [words[3:] for words in graphs.commands(node)]


def _run_words(made: Any, board: str, machine: str, folder: str, plan: str) -> list[str]:
    bank = ["--dead-bank", "fault"] if machine == "unicorn" else []
    return [
        *["run", "--board", board, "--machine", machine, "--name", "digits-rel", "--elf"],
        f"{folder}/firmware.elf",
        *bank,
        *["--model", "build/digits-rel/network_rel.bin", "--network", str(made.networks[0].facts)],
        *["--vectors", "models", "--plan", f"{folder}/{plan}"],
    ]


def test_load_in_each_mode(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant())
    plans = ("flash_plan.json", "flash_plan.copy.json")
    assert _loads(made) == [_run_words(made, BOARD, "unicorn", "build/digits-rel", plan) for plan in plans]


def _external(tree: Path) -> NetworkConfig:
    write_mpool(tree / "external.mpool", "xSPI1", "xSPI2", constants="xSPI2", relative=("xSPI1", "xSPI2"))
    return NetworkConfig("digits", MODEL, vectors="models", mpool="external.mpool")


def test_load_on_each_board(env: Any, gcc: Toolchain, tree: Path) -> None:
    psram, an547 = "stm32n6570-dk-psram", "mps3-an547"
    config = RelocatableConfig(also_on=(an547, psram))
    made = env.NeuralArtVariant(variant(board=psram, networks=(_external(tree),), relocatable=config))
    below = f"build/digits-rel/{an547}"
    assert _loads(made) == [
        _run_words(made, psram, "unicorn", "build/digits-rel", "flash_plan.json"),
        _run_words(made, psram, "unicorn", "build/digits-rel", "flash_plan.copy.json"),
        _run_words(made, an547, "qemu", below, "flash_plan.json"),
        _run_words(made, an547, "qemu", below, "flash_plan.copy.json"),
    ]
    needed = {str(node) for node in graphs.built_nodes(made.effects["load"])}
    assert {f"{below}/firmware.elf", f"{below}/check.json", "build/digits-rel/check.json"} <= needed
    # The others are about the variant's own board.
    assert all(an547 not in " ".join(graphs.command(made.run[0])) for _ in (0,))
    # One model, as it was made.
    assert made.model.image.sources == [
        env.NetworkRel(_net(env, board=psram, mpool="external.mpool", vectors="models")).image
    ]


def test_what_is_of_the_variants_own_board_stays_there(env: Any, gcc: Toolchain, tree: Path) -> None:
    config = RelocatableConfig(also_on=("mps3-an547",))
    made = env.NeuralArtVariant(
        variant(
            board="stm32n6570-dk-psram",
            machine="unicorn",
            networks=(_external(tree),),
            relocatable=config,
            slots=(("relocatable", 0x72000000),),
            dead_bank="zeros",
        )
    )
    own, _, other, _ = _loads(made)
    assert own[own.index("--dead-bank") + 1] == "zeros"
    assert "--dead-bank" not in other and other[other.index("--machine") + 1] == "qemu"


def test_a_split_model_is_run_with_its_params(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant(relocatable=RelocatableConfig(split=True)))
    for words in [*_loads(made), graphs.command(made.run[0])[3:], graphs.command(made.effects["boot"][0])[3:]]:
        assert words[words.index("--model-params") + 1] == "build/digits-rel/network_rel_params.bin"


def test_run_boot_and_flash(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant())

    def words(verb: str) -> list[str]:
        return graphs.command(made.effects[verb][0])[3:]

    assert words("run") == _loads(made)[0], "in the first mode"
    assert words("boot")[-2:] == ["--nor", "build/digits-rel/flash.nor"] and "--model" in words("boot")
    files = ["--plan", "build/digits-rel/flash_plan.json", "--nor", "build/digits-rel/flash.nor"]
    assert words("flash-model") == ["flash", *files, "--only", "model"]
    assert words("verify") == ["verify", *files]


def _said(made: Any, verb: str) -> str:
    (node,) = made.effects[verb]
    (action,) = graphs.actions(node)
    with pytest.raises(SCons.Errors.BuildError) as caught:
        action.execfunction([node], [], None)
    return str(caught.value.errstr)


def test_load_that_cannot_be(env: Any, gcc: Toolchain) -> None:
    assert _said(env.NeuralArtVariant(variant(relocatable=None)), "load") == (
        "load-digits-rel: its networks are linked into the firmware ('relocatable: true' in the variant makes a model "
        "to load)"
    )


def test_vectors_are_each_variants_own(env: Any, gcc: Toolchain, tree: Path) -> None:
    """The image is shared, what it is compared with is not."""
    (tree / "others").mkdir()
    one = env.NeuralArtVariant(variant("one"))
    two = env.NeuralArtVariant(variant("two", networks=(NetworkConfig("digits", MODEL, vectors="others"),)))
    assert one.model.image.sources == two.model.image.sources
    found = [[words[words.index("--vectors") + 1] for words in _loads(made)] for made in (one, two)]
    assert found == [["models"] * 2, ["others"] * 2]


# ---- refusals

TWO = (NetworkConfig("digits", MODEL), NetworkConfig("other", MODEL))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"networks": TWO},
            "variants.yaml:12: relocatable: this variant has 2 networks (digits, other), its firmware loads one (one "
            "variant for each of them)",
        ),
        (
            {"kernels": "mve", "board": "mps3-an547"},
            "variants.yaml:13: kernels: mve, but a relocatable model is baseline code for every machine (leave it out)",
        ),
        (
            {"networks": (replace(TWO[0], strategies=(("AXISRAM5", "link"),), where=Location("variants.yaml", 5)),)},
            "variants.yaml:5: pool AXISRAM5: strategy link, but the loader of the firmware brings all constants (leave "
            "the strategy out)",
        ),
        (
            {"board": "stm32h747i-disco"},
            "'relocatable' means nothing for board stm32h747i-disco: its networks are linked into the",
        ),
        (
            {"relocatable": RelocatableConfig(also_on=("mps3-an574",))},
            "variants.yaml:12: no board 'mps3-an574' (did you",
        ),
        ({"toolchain": ToolchainConfig()}, ""),
    ],
)
def test_refused(env: Any, gcc: Toolchain, changes: dict[str, Any], words: str) -> None:
    if not words:
        env.NeuralArtVariant(variant(**changes))
        return
    said = refusal(env.NeuralArtVariant, variant(**changes))
    assert words in said and "\n" not in said


def test_the_strategy_relocatable_says_what_is_so_anyway(env: Any, gcc: Toolchain) -> None:
    named = NetworkConfig("digits", MODEL, strategies=(("xSPI2", "relocatable"),))
    assert env.NeuralArtVariant(variant(networks=(named,))).model is not None


def test_another_board_must_say_where_models_are(env: Any, gcc: Toolchain, tree: Path) -> None:
    (tree / "mine.yaml").write_text("schema: 1\nbase: mps3-an547\nflash: {size: 8M}\n", "utf-8")
    env["NEURALART_BOARD_FILES"] = ["mine.yaml"]
    config = RelocatableConfig(also_on=("mine",))
    made = variant(board="stm32n6570-dk-psram", networks=(_external(tree),), relocatable=config)
    assert "board mine does not say where relocatable models are loaded from" in refusal(env.NeuralArtVariant, made)
