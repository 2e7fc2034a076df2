"""``env.MemoryInitializers`` and ``env.NeuralArtVariant``: images, addresses, firmware, effects."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Action
import SCons.Errors
import SCons.Script
import SCons.Subst

from neuralart.boards.types import Board
from neuralart.config.app_config import AppConfig
from neuralart.config.types import NetworkConfig, ToolchainConfig, VariantConfig
from neuralart.resources import board_data_dir, firmware_dir
from neuralart.scons.registry import Registry, identity
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from support.projects import graphs
from support.servers.messages import one_message

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
POOLS = board_data_dir() / "pools"


def variant(name: str = "digits-n6", **changes: Any) -> VariantConfig:
    fields: dict[str, Any] = {
        "name": name,
        "title": "Digits",
        "board": BOARD,
        "machine": "",
        "networks": (NetworkConfig("digits", MODEL, vectors="models"),),
        "where": Location("variants.yaml", 9),
        **changes,
    }
    return VariantConfig(**fields)


def _net(env: Any, name: str = "digits", board: str = BOARD, **options: Any) -> Any:
    return env.Network(name, model=MODEL, board=board, **options)


# ---- MemoryInitializers


def test_images_and_their_addresses(env: Any) -> None:
    net = _net(env)
    ini = env.MemoryInitializers(net)
    image, descriptor = ini.images
    folder = f"build/initializers/{Path(net.folder).name}"
    assert (image.network, image.pool, image.address) == ("digits", "xSPI2", 0x7038_0000)
    assert (descriptor.network, descriptor.pool, descriptor.address) == ("", "", ini.layout.descriptor)
    assert ini.descriptor is descriptor
    stems = [f"{folder}/digits.xSPI2", f"{folder}/descriptor"]
    assert graphs.names(ini.files) == [f"{stem}.{kind}" for stem in stems for kind in ("bin", "hex")]
    assert graphs.names(image.binary.sources) == graphs.names([net.initializers["xSPI2"]])
    assert graphs.names(descriptor.binary.sources) == [str(net.facts), str(net.initializers["xSPI2"])]
    assert graphs.names(ini.sources) == [f"{folder}/npu_memory_init.c"]
    assert str(ini.header) == f"{folder}/npu_memory_init.h"
    assert graphs.names([ini.io_header, ini.io_json]) == [f"{folder}/network_io.h", f"{folder}/network_io.json"]
    assert graphs.names(ini.include_dirs) == [folder]
    assert graphs.names(ini.sources[0].sources) == [str(net.facts)]


def test_the_address_counts_for_the_hex_and_not_for_the_binary(make_env: Any, tree: Path) -> None:
    def contents(address: str) -> tuple[bytes, bytes]:
        text = (POOLS / f"{BOARD}.mpool").read_text("utf-8").replace("0x70380000", address)
        (tree / "own.mpool").write_text(text, "utf-8")
        env = make_env()
        image, _ = env.MemoryInitializers(_net(env, mpool="own.mpool")).images
        assert image.address == int(address, 16)
        return graphs.signature(image.hex), graphs.signature(image.binary)

    before, after = contents("0x70380000"), contents("0x70390000")
    assert before[0] != after[0]
    assert before[1] == after[1]


IN_RAM = ["AXISRAM5", "xSPI2"]


def _pools(made: Any) -> list[tuple[str, str, int]]:
    return [(image.network, image.pool, image.address) for image in made]


def test_initializers_in_ram_are_staged_in_flash(env: Any) -> None:
    ini = env.MemoryInitializers(_net(env, initializers=IN_RAM))
    (staging,) = [p for p in ini.layout.placements if p.kind == "staging"]
    weights = ("digits", "xSPI2", 0x7038_0000)
    assert _pools(ini.images) == [("digits", "AXISRAM5", staging.start), weights, ("", "", ini.layout.descriptor)]
    assert 0x7000_0000 <= staging.start < 0x7800_0000
    assert not ini.external


def test_linked_initializers(env: Any) -> None:
    net = _net(env, initializers=IN_RAM, strategies={"AXISRAM5": "link"})
    ini = env.MemoryInitializers(net, folder="out")
    assert [image.pool for image in ini.images] == ["xSPI2", ""]
    assert graphs.names(ini.sources) == ["out/npu_memory_init.c", "out/npu_link_digits_AXISRAM5.c"]
    assert graphs.names(ini.sources[1].sources) == [str(net.initializers["AXISRAM5"])]
    assert graphs.names(ini.include_dirs) == ["out", net.folder], "where the assembler finds the raw file"
    assert str(net.initializers["AXISRAM5"]) not in graphs.names(ini.images[-1].binary.sources), "not in the descriptor"


def test_initializers_of_an_external_loader(env: Any) -> None:
    ini = env.MemoryInitializers(_net(env, initializers=IN_RAM, strategies={"AXISRAM5": "external-loader"}))
    assert _pools(ini.external) == [("digits", "AXISRAM5", 0x342E_0000)]
    assert [image.pool for image in ini.images] == ["xSPI2", ""]
    assert len(ini.files) == 6, "its files are built like all the others"


def test_nothing_but_linked_initializers_needs_no_descriptor(env: Any) -> None:
    net = _net(env, initializers=["AXISRAM5"], strategies={"AXISRAM5": "link"})
    ini = env.MemoryInitializers(net)
    assert (ini.images, ini.descriptor) == ([], None)


def test_several_networks_in_a_folder_of_the_users(env: Any) -> None:
    ini = env.MemoryInitializers(_net(env, "one"), _net(env, "two"), folder="out/flash")
    assert [(image.network, str(image.hex)) for image in ini.images] == [
        ("one", "out/flash/one.xSPI2.hex"),
        ("two", "out/flash/two.xSPI2.hex"),
        ("", "out/flash/descriptor.hex"),
    ]
    assert len(ini.sources[0].sources) == 2


def test_slots_and_reserved_ranges_of_the_users(env: Any) -> None:
    ini = env.MemoryInitializers(
        _net(env), slots={"descriptor": 0x7700_0000}, reserved={"settings": (0x7710_0000, 0x1_0000)}
    )
    assert ini.images[-1].address == 0x7700_0000
    assert [(p.owner, p.start, p.size) for p in ini.layout.placements if p.kind == "reserved"] == [
        ("reserved settings", 0x7710_0000, 0x1_0000)
    ]


def test_a_network_given_twice(env: Any) -> None:
    net = _net(env)
    with pytest.raises(SCons.Errors.UserError, match="network digits is given twice"):
        env.MemoryInitializers(net, net)


def test_what_is_loaded_was_checked(env: Any) -> None:
    """Also where nobody asks for the start-up code, which is where the check is."""
    ini = env.MemoryInitializers(_net(env))
    for node in ini.files:
        assert ini.sources[0] in (node.prerequisites or ()), str(node)


def test_pool_on_the_firmware(env: Any, gcc: Toolchain, tree: Path) -> None:
    text = (POOLS / f"{BOARD}.mpool").read_text("utf-8").replace("0x342e0000", "0x34080000")
    (tree / "own.mpool").write_text(text, "utf-8")
    network = NetworkConfig("digits", MODEL, mpool="own.mpool")
    with pytest.raises(SCons.Errors.UserError, match=r"pool AXISRAM5 of network digits .* overlaps firmware code"):
        env.NeuralArtVariant(variant(networks=(network,)))
    env.MemoryInitializers(_net(env, mpool="own.mpool"))  # a linker script of the user's own may leave it free


@pytest.mark.parametrize("given", ["digits-n6", None, 5])
def test_variant_of_another_kind(env: Any, given: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="NeuralArtVariant takes a VariantConfig, not"):
        env.NeuralArtVariant(given)


def test_a_layout_is_a_dependency_and_its_lines_are_not(make_env: Any, tree: Path) -> None:
    """Addresses of all that stands in the start-up code; a line more in the pool file changes nothing."""

    def values(change: str = "", **options: Any) -> list[str]:
        text = change + (POOLS / f"{BOARD}.mpool").read_text("utf-8")
        (tree / "own.mpool").write_text(text, "utf-8")
        env = make_env()
        ini = env.MemoryInitializers(_net(env, mpool="own.mpool"), **options)
        return [node.get_csig() for node in ini.sources[0].depends if getattr(node, "name", "") == "layout"]

    assert len(values()) == 1
    assert values() == values("\n\n")
    assert values() != values(slots={"descriptor": 0x7700_0000})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"slot": {}}, "unknown option 'slot' (did you mean 'slots'?"),
        ({"slots": {"weights": 0x7100_0000}}, "the pool file decides where weights are"),
        ({"slots": {"descriptor": 0x7700_0001}}, "not at the start of an erase sector"),
        ({"slots": [("descriptor", 0)]}, "slots: a mapping of names to addresses"),
        ({"slots": {"descriptor": "0x77000000"}}, "slots: a mapping of names to addresses"),
        ({"slots": {"descriptor": True}}, "slots: a mapping of names to addresses"),
        ({"slots": {5: 0x7700_0000}}, "slots: a mapping of names to addresses"),
        ({"reserved": {"x": (0x7020_0000, 0)}}, "reserved: x with 0 bytes at 0x70200000 is no range of addresses"),
        ({"reserved": {"x": (0x7020_0000, -5)}}, "is no range of addresses"),
        ({"reserved": {"x": (1.5, 2.5)}}, "reserved: a mapping of names to (address, bytes)"),
        ({"folder": "/elsewhere/x"}, "folder: a folder below the top folder"),
        ({"folder": 5}, "folder: a folder below the top folder"),
        ({"reserved": {"x": 3}}, "reserved: a mapping of names to (address, bytes)"),
        ({"reserved": {"x": (0x7038_0000, 0x100)}}, "overlaps"),
    ],
)
def test_options_that_cannot_be(env: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.MemoryInitializers(_net(env), **options)
    assert words in str(caught.value)
    one_message(str(caught.value))


@pytest.mark.parametrize(
    ("strategies", "words"),
    [
        ({"AXISRAM5": "flash"}, ": pool AXISRAM5 of network digits is in AXISRAM5, which forgets"),
        ({"AXISRAM5": "relocatable"}, "strategy relocatable is for variants whose firmware loads its model"),
        ({"AXISRAM4": "link"}, "pool AXISRAM4 has no initializer"),
        ({"AXISRAM5": "lnk"}, "networks.digits.strategies.AXISRAM5: 'lnk' is not allowed (did you mean 'link'?"),
        ("link", "networks.digits.strategies: must be a mapping of keys and values, this is 'link'"),
        ({"AXISRAM5": 3}, "networks.digits.strategies.AXISRAM5: 3 is a number in YAML"),
    ],
)
def test_strategies_that_cannot_be(env: Any, strategies: Any, words: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.MemoryInitializers(_net(env, initializers=IN_RAM, strategies=strategies))
    assert words in str(caught.value)


@pytest.mark.parametrize("arguments", [(), ("digits",), ([],)])
def test_initializers_of_no_network(env: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(SCons.Errors.UserError, match="MemoryInitializers takes what Network returned"):
        env.MemoryInitializers(*arguments)


def test_initializers_of_networks_for_different_boards(env: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="its networks are for mps3-an547 and stm32n6570-dk"):
        env.MemoryInitializers(_net(env), _net(env, board="mps3-an547"))


# ---- NeuralArtVariant


def test_nodes_of_a_variant(env: Any, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(variant())
    assert made.name == "digits-n6"
    assert graphs.names(made.alias) == ["digits-n6"]
    assert graphs.names(made.run) == ["run-digits-n6"]
    assert str(made.firmware.elf) == "build/digits-n6/firmware.elf"
    assert graphs.names([made.summary, made.index]) == ["build/digits-n6/summary.txt", "build/digits-n6/index.json"]
    assert str(made.initializers.images[0].hex) == "build/digits-n6/digits.xSPI2.hex"
    # A command that makes several files makes all of them.
    needed = {
        str(target) for node in graphs.built_nodes(made.alias) for target in node.get_executor().get_all_targets()
    }
    assert {str(node) for node in made.networks[0].files} <= needed
    assert {"build/digits-n6/firmware.bin", "build/digits-n6/firmware.hex", "build/digits-n6/firmware.elf"} <= needed
    flash = {f"build/digits-n6/{name}" for name in ("application.bin", "flash_plan.json", "plan.json", "check.json")}
    assert flash <= needed
    assert sorted(made.effects) == [
        "boot",
        "debug",
        "export",
        "flash",
        "flash-application",
        "flash-model",
        "load",
        "monitor",
        "plan",
        "profile",
        "report",
        "reset",
        "run",
        "sbom",
        "verify",
    ]
    named = {f"{verb}-digits-n6" for verb in made.effects}
    assert not needed & named, "building does not run"


def test_everything_goes_below_the_build_folder(make_env: Any, gcc: Toolchain) -> None:
    made = make_env(NEURALART_BUILD_DIR="out/here").NeuralArtVariant(variant())
    files = [node for node in graphs.built_nodes(made.alias) if hasattr(node, "get_abspath") and node not in made.alias]
    assert len(files) > 20
    values = [node for node in files if not hasattr(node, "srcnode")]
    assert not [str(node) for node in files if node not in values and not str(node).startswith("out/here/")]


def test_two_variants_share_what_they_can(env: Any, gcc: Toolchain) -> None:
    one = env.NeuralArtVariant(variant("one"))
    two = env.NeuralArtVariant(variant("two"))
    other = env.NeuralArtVariant(variant("other", optimization="-Os"))
    assert one.networks[0].c is two.networks[0].c is other.networks[0].c

    def objects(made: Any) -> set[str]:
        return {str(node) for node in graphs.linked(made.firmware.elf)}

    shared = objects(one) & objects(two)
    assert all(name.startswith("build/one/") for name in objects(one) - shared)
    assert [name for name in shared if name.endswith("/digits.o")]
    assert [name for name in shared if name.endswith("runtime/kernels/conv2d.o")]
    assert [name for name in shared if name.endswith("/libkernels-c.a")]
    assert not [name for name in objects(one) & objects(other)], "other flags, other objects"


def test_boards_with_the_same_core_share_the_runtime(env: Any, gcc: Toolchain) -> None:
    one, two = (
        env.NeuralArtVariant(variant(name, board=board))
        for name, board in (("one", "stm32n6570-dk"), ("two", "stm32n6570-dk-psram"))
    )
    shared = {str(node) for node in graphs.linked(one.firmware.elf)} & {
        str(node) for node in graphs.linked(two.firmware.elf)
    }
    objects = {name.split("/runtime/")[-1] for name in shared if name.endswith(".o")}
    assert objects >= {"kernels/add.o", "memory/banks.o"}
    assert not [name for name in shared if "/boards/" in name]
    # Bytes that depend on neither the time nor the user.
    (library,) = [node for node in one.firmware.elf.sources if str(node).endswith(".a")]
    assert graphs.command(library)[:2] == ["arm-none-eabi-ar", "rcsD"]


def test_another_variant_makes_no_action(env: Any, gcc: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """SCons hashes a function, with all that its closure holds, whenever an action is made of it."""
    made = []
    monkeypatch.setattr(SCons.Action, "_callable_contents", lambda work: made.append(work) or bytearray())
    env.NeuralArtVariant(variant("one"))
    made.clear()
    env.NeuralArtVariant(variant("two"))
    env.NeuralArtVariant(variant("three", networks=(NetworkConfig("other", MODEL, vectors="models"),)))
    assert not made
    SCons.Action.Action(lambda target, source, env: None)
    assert made, "counted where SCons hashes"


@pytest.mark.parametrize(("kernels", "board"), [("mve", "mps3-an547"), ("dsp", "stm32n6570-dk")])
def test_kernels_for_an_extension(env: Any, gcc: Toolchain, kernels: str, board: str) -> None:
    def objects(made: Any) -> set[str]:
        return {str(node).split("/runtime/")[-1] for node in graphs.linked(made.firmware.elf)}

    plain = env.NeuralArtVariant(variant("plain", board=board))
    other = env.NeuralArtVariant(variant("other", board=board, kernels=kernels))
    files = sorted(path.stem for path in (firmware_dir() / "runtime" / f"kernels_{kernels}").glob("*.c"))
    assert files
    assert objects(plain) - objects(other) >= {f"kernels/{name}.o" for name in files}
    assert objects(other) - objects(plain) >= {f"kernels_{kernels}/{name}.o" for name in files}
    assert not [name for name in objects(plain) if "kernels_" in name]
    # The rest is shared.
    shared = {str(node) for node in graphs.linked(plain.firmware.elf)} & {
        str(node) for node in graphs.linked(other.firmware.elf)
    }
    assert {name.split("/runtime/")[-1] for name in shared} >= {"kernels/prelu.o", "ll_aton_runtime.o"}


def test_dsp_kernels_are_refused_without_the_extension(env: Any, gcc: Toolchain) -> None:
    flags = "[-mcpu=cortex-m33+nodsp, -mfpu=fpv5-sp-d16, -mfloat-abi=hard, -mthumb]"
    text = f"schema: 1\nbase: stm32n6570-dk\nmachines: {{silicon: {{cpu_flags: {flags}}}}}\n"
    Path("small.yaml").write_text(text, "utf-8")
    env["NEURALART_BOARD_FILES"] = ["small.yaml"]
    words = r"kernels: dsp, but machine silicon of board small runs no DSP code \(-mcpu=cortex-m33\+nodsp"
    with pytest.raises(SCons.Errors.UserError, match=words):
        env.NeuralArtVariant(variant("one", board="small", machine="silicon", kernels="dsp"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"kernels": "mve"},
            [
                "variants.yaml:9: kernels: mve, but machine unicorn of board stm32n6570-dk runs no MVE code "
                "(-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -mthumb) (kernels: c computes the same on "
                "every machine)"
            ],
        ),
        ({"kernels": "mwe"}, ["variants.yaml:9: no kernels 'mwe' (did you mean 'mve'? known: c, dsp, mve)"]),
        ({"board": "stm32n6750-dk"}, ["variants.yaml:9: no board", "did you mean 'stm32n6570-dk'"]),
        ({"machine": "qmu"}, ["variants.yaml:9: board stm32n6570-dk has no machine 'qmu'", "unicorn"]),
        ({"board": "stm32h747i-disco", "machine": ""}, ["variants.yaml:9: 'aspect_ratio' is missing"]),
        (
            {"networks": (NetworkConfig("digits", "none.tflite", where=Location("v.yaml", 3)),)},
            ["v.yaml:3: model 'none"],
        ),
        ({"networks": ()}, ["no board"]),
        ({"boot": "ram"}, ["variants.yaml:9: boot: ram: nothing maps xSPI2, which holds the constants of pool xSPI2"]),
        (
            {"boot": "xip", "slots": (("application", 0x70201000),)},
            ["0x70201000 is not at the start of an erase sector"],
        ),
        (
            {"boot": "xip", "slots": (("application", 0x12345678),)},
            ["0x12345678 is in no memory of board stm32n6570-dk"],
        ),
        ({"boot": "xip", "board": "mps3-an547"}, ["variants.yaml:9: boot: board mps3-an547 has no boot chain"]),
        ({"boot": "rom"}, ["variants.yaml:9: no boot mode 'rom' (did you mean 'ram'?"]),
    ],
)
def test_refused(env: Any, gcc: Toolchain, changes: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.NeuralArtVariant(variant(**changes))
    for word in words:
        assert word in str(caught.value)


def test_no_compiler(env: Any, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURALART_TOOLCHAIN", str(tree / "nowhere"))
    with pytest.raises(SCons.Errors.UserError, match=r"variants.yaml:9: no arm-none-eabi-gcc found"):
        env.NeuralArtVariant(variant())


# ---- the firmware's own environment

POLLUTED: dict[str, Any] = {
    "CC": "mycc",
    "LINK": "myld",
    "OBJCOPY": "mycopy",
    "CFLAGS": ["-theirs"],
    "CCFLAGS": ["-theirs"],
    "CPPFLAGS": ["-theirs"],
    "CPPDEFINES": {"THEIRS": 1},
    "CPPPATH": ["theirs"],
    "LINKFLAGS": ["-theirs"],
    "LIBS": ["theirs"],
    "LIBPATH": ["theirs"],
    "RPATH": ["theirs"],
    "FRAMEWORKS": ["theirs"],
    "ASFLAGS": ["-theirs"],
    "OBJPREFIX": "theirs_",
    "OBJSUFFIX": ".theirs",
    "PROGPREFIX": "theirs_",
    "PROGSUFFIX": ".theirs",
    "CCCOM": "theirs $SOURCE",
    "LINKCOM": "theirs $SOURCE",
    "CCCOMSTR": "theirs",
    "INCPREFIX": "/theirs ",
    "CPPDEFPREFIX": "/theirs ",
}


def _signatures(made: Any) -> dict[str, tuple[bytes, list[list[str]]]]:
    """Of everything that is built for a variant."""
    return {
        str(node): (graphs.signature(node), graphs.commands(node))
        for node in graphs.built_nodes(made.alias)
        if node not in made.alias
    }


def test_the_consumers_flags_stay_theirs(make_env: Any, gcc: Toolchain) -> None:
    clean = _signatures(make_env().NeuralArtVariant(variant()))
    env = make_env(**POLLUTED)
    polluted = _signatures(env.NeuralArtVariant(variant()))
    assert sorted(polluted) == sorted(clean)
    for name in clean:
        assert polluted[name] == clean[name], name
    assert len([argv for _, commands in clean.values() for argv in commands if argv[0] == "arm-none-eabi-gcc"]) > 10
    for name, value in POLLUTED.items():
        if name != "CPPDEFINES":
            assert env[name] == value, "ours does not leak into theirs"


def test_firmware_commands(env: Any, gcc: Toolchain, tree: Path) -> None:
    made = env.NeuralArtVariant(variant(defines=("A=1", "B")))
    found = {str(node): graphs.commands(node) for node in graphs.built_nodes(made.alias)}
    (compile_main,) = found["build/digits-n6/app/main.o"]
    assert compile_main[:4] == ["arm-none-eabi-gcc", "-o", "build/digits-n6/app/main.o", "-c"]
    board_flags = ["-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb"]
    assert compile_main[4:9] == [*board_flags, "--specs=picolibc.specs"]
    assert {"-O2", "-ffp-contract=off", "-DA=1", "-DB", f"-ffile-prefix-map={tree}=."} <= set(compile_main)
    (link,) = found["build/digits-n6/firmware.elf"]
    assert link[:3] == ["arm-none-eabi-gcc", "-o", "build/digits-n6/firmware.elf"]
    assert set(board_flags) <= set(link)
    assert "-Map=build/digits-n6/firmware.map" in link
    (binary,), (hexa,) = found["build/digits-n6/firmware.bin"], found["build/digits-n6/firmware.hex"]
    for kind, argv in (("binary", binary), ("ihex", hexa)):
        assert argv == ["arm-none-eabi-objcopy", "-O", kind, "build/digits-n6/firmware.elf", argv[-1]]
    child = made.firmware.elf.get_executor().get_build_env()["ENV"]
    assert child["PATH"].split(os.pathsep)[0] == gcc.folder


def test_no_command_counts_a_folder_of_this_machine(env: Any, gcc: Toolchain) -> None:
    """The package lies outside of the tree here, as an installed one does; sources by path are SCons's own."""
    made = env.NeuralArtVariant(variant())
    for name, (signature, commands) in _signatures(made).items():
        if any(argv[0].startswith("arm-") for argv in commands):
            continue
        assert b" /" not in signature, name
    (link,) = [sig for name, (sig, _) in _signatures(made).items() if name.endswith("firmware.elf")]
    assert b"sections.ld" not in link


def test_another_compiler_rebuilds(make_env: Any, gcc: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuralart import toolchain

    def depends(version: str) -> set[str]:
        monkeypatch.setattr(toolchain, "find", lambda *_, **__: replace(gcc, version=version))
        made = make_env().NeuralArtVariant(variant())
        return {node.get_csig() for node in made.firmware.elf.depends if getattr(node, "name", "") == "toolchain"}

    assert depends("12.2.1") == depends("12.2.1")
    assert depends("12.2.1") != depends("12.3.1")
    assert len(depends("12.2.1")) == 1


def test_toolchain_is_looked_for_as_the_variant_says(env: Any, gcc: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuralart import toolchain

    asked: list[ToolchainConfig] = []

    def find(config: ToolchainConfig, *_: Any, **__: Any) -> Toolchain:
        asked.append(config)
        return gcc

    monkeypatch.setattr(toolchain, "find", find)
    own = ToolchainConfig(prefix="/x/arm-", version="13")
    env.NeuralArtVariant(variant("one"))
    env.NeuralArtVariant(variant("two"))
    env.NeuralArtVariant(variant("three", toolchain=own))
    assert asked == [ToolchainConfig(), own], "once each"


def test_no_variable_of_our_commands_is_undefined(env: Any, gcc: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    made = env.NeuralArtVariant(variant())
    monkeypatch.setattr(SCons.Subst, "AllowableExceptions", ())
    count = 0
    for node in [*graphs.built_nodes(made.alias), *(node for alias in made.effects.values() for node in alias)]:
        executor = node.get_executor()
        targets, sources, build_env = executor.get_all_targets(), executor.get_all_sources(), executor.get_build_env()
        for action in graphs.actions(node):
            if not isinstance(action, SCons.Action.FunctionAction):
                assert graphs.commands(node)
            if action.cmdstr not in (None, SCons.Action._null):
                assert build_env.subst(action.cmdstr, 0, targets, sources)
            for name in getattr(action, "varlist", ()):
                assert name in build_env, name
            count += 1
    assert count > 30


# Objects, for which a node of their own stands: what the registry gives, and the layout.
OF_THEIR_OWN = {"NEURALART_REGISTRY", "NEURALART_LAYOUT", "NEURALART_DESCRIBED"}
OF_THEIR_OWN |= {"NEURALART_APP_CONFIG", "NEURALART_PATCH_REQUEST"}
CAMERA = AppConfig("image_classification", "classifier", class_names=("a",), color_mode="grayscale", generation="h7")


@pytest.mark.parametrize(
    "changes",
    [{}, {"board": "stm32h747i-disco", "networks": (NetworkConfig("digits", MODEL, app_config=CAMERA),)}],
    ids=["n6", "h747"],
)
def test_every_function_says_what_it_reads(env: Any, gcc: Toolchain, changes: dict[str, Any]) -> None:
    """SCons does not see which variables a Python function reads: each must be in its varlist."""
    made = env.NeuralArtVariant(variant(**changes))
    seen = set()
    for node in graphs.built_nodes(made.alias):
        for action in graphs.actions(node):
            if isinstance(action, SCons.Action.FunctionAction):
                function = inspect.unwrap(action.execfunction)
                code = [function.__code__, *(c for c in function.__code__.co_consts if hasattr(c, "co_consts"))]
                read = {c for part in code for c in part.co_consts if isinstance(c, str) and c.startswith("NEURALART_")}
                # What counts of a part, whatever it is made of, is a variable of its own.
                assert read - OF_THEIR_OWN == set(action.varlist) - {"_NEURALART_COUNTS"}, function
                seen.add(function)
    assert len(seen) >= 5


# ---- boards


def test_what_depends_on_a_board_does_not_depend_on_where_its_files_are() -> None:
    from neuralart import boards

    board: Board = boards.load(BOARD)
    moved = replace(board, where="/x", files=("/x",), mpool="/y", profile="/z", memory_pools="/z")
    assert identity(moved) == identity(board)
    assert identity(replace(board, cpu="cortex-m7")) != identity(board)
    assert str(board_data_dir()) not in identity(board)


def test_registry_is_shared_by_clones(env: Any) -> None:
    clone = env.Clone()
    assert isinstance(env["NEURALART_REGISTRY"], Registry)
    assert clone["NEURALART_REGISTRY"] is env["NEURALART_REGISTRY"]
    assert clone.Clone()["NEURALART_REGISTRY"].board(BOARD) is env["NEURALART_REGISTRY"].board(BOARD)
