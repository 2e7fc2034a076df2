"""``run-``, ``flash-``, ``boot-``, ``verify-``: commands, order, refusals; and the check of an image."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart import plugins
from neuralart.config.app_config import AppConfig
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.scons.flash.flash import keep_order
from neuralart.scons.project import requested
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from neuralart_insight.scons import targets
from support.projects import graphs

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
FOLDER = "build/digits-n6"


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


def argv(env: Any, verb: str, **changes: Any) -> list[str]:
    """Behind ``python -m neuralart``."""
    made = env.NeuralArtVariant(variant(**changes))
    (node,) = made.effects[verb]
    assert node.always_build
    words = graphs.command(node)
    assert words[1:3] == ["-m", "neuralart"]
    return words[3:]


def _run_words(env: Any, *flash: str) -> list[str]:
    facts = f"{env.NeuralArtVariant(variant('x')).networks[0].folder}/network.json"
    words = ["run", "--board", BOARD, "--machine", "unicorn", "--name", "digits-n6"]
    words += ["--elf", f"{FOLDER}/firmware.elf", "--dead-bank", "fault"]
    return [*words, "--network", facts, "--vectors", "models", *flash]


def test_run(env: Any, gcc: Toolchain) -> None:
    assert argv(env, "run") == _run_words(env, "--plan", f"{FOLDER}/flash_plan.json")


def test_boot(env: Any, gcc: Toolchain) -> None:
    assert argv(env, "boot") == _run_words(env, "--nor", f"{FOLDER}/flash.nor")


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("flash", ["flash"]),
        ("flash-application", ["flash", "--only", "application"]),
        ("flash-model", ["flash", "--only", "model"]),
        ("verify", ["verify"]),
    ],
)
def test_flash_and_verify(env: Any, gcc: Toolchain, verb: str, words: list[str]) -> None:
    files = ["--plan", f"{FOLDER}/flash_plan.json", "--nor", f"{FOLDER}/flash.nor"]
    assert argv(env, verb) == [words[0], *files, *words[1:]]


def test_what_they_wait_for(env: Any, gcc: Toolchain) -> None:
    """Nothing runs what is not checked; the flash as it is needs no plan."""
    made = env.NeuralArtVariant(variant())

    def needs(verb: str) -> set[str]:
        return set(graphs.names(graphs.built_nodes(made.effects[verb])))

    plan = f"{FOLDER}/flash_plan.json"
    assert {plan, f"{FOLDER}/check.json", f"{FOLDER}/firmware.elf", f"{FOLDER}/application.bin"} <= needs("run")
    assert plan not in needs("boot") and f"{FOLDER}/check.json" in needs("boot")
    assert {plan, f"{FOLDER}/descriptor.bin"} <= needs("flash") & needs("flash-model") & needs("verify")


def test_surroundings_of_the_variant(env: Any, gcc: Toolchain) -> None:
    network = NetworkConfig(
        "digits",
        MODEL,
        vectors="models",
        initializers=("AXISRAM5", "xSPI2"),
        strategies=(("AXISRAM5", "external-loader"),),
    )
    words = argv(
        env,
        "boot",
        networks=(network,),
        dead_bank="zeros",
        slots=(("application", 0x7008_0000), ("descriptor", 0x7700_0000)),
    )
    assert words[words.index("--dead-bank") + 1] == "zeros"
    assert words[words.index("--external") + 1] == f"{FOLDER}/digits.AXISRAM5.bin@0x342e0000"
    assert [words[n + 1] for n, word in enumerate(words) if word == "--slot"] == ["application@0x70080000"]


def test_a_machine_without_banks(env: Any, gcc: Toolchain) -> None:
    words = argv(env, "run", board="mps3-an547")
    assert "--dead-bank" not in words
    assert words[words.index("--machine") + 1] == "qemu"
    assert words[-2:] == ["--plan", f"{FOLDER}/flash_plan.json"]


def test_board_of_the_users(env: Any, gcc: Toolchain, tree: Path, tmp_path: Path) -> None:
    (tree / "boards").mkdir()
    (tree / "boards" / "mine.yaml").write_text(f"schema: 1\nbase: {BOARD}\ntitle: Mine\n", "utf-8")
    env["NEURALART_BOARD_FILES"] = ["boards/mine.yaml"]
    shutil.copytree(tree / "models", tmp_path / "vectors elsewhere")
    net = NetworkConfig("digits", MODEL, vectors=str(tmp_path / "vectors elsewhere"))
    made = env.NeuralArtVariant(variant(board="mine", networks=(net,)))
    for verb in plugins.names("targets"):
        if verb in ("load", "export", "plan", "profile", "sbom", "reset", "monitor"):
            continue  # its networks are linked into the firmware; an export starts no program, a plan reads the project
        (node,) = made.effects[verb][0].sources if verb == "report" else made.effects[verb]
        words = graphs.command(node)
        assert words[words.index("--board-file") + 1] == "boards/mine.yaml", verb
    words = graphs.command(made.run[0])
    assert words[words.index("--vectors") + 1] == str(tmp_path / "vectors elsewhere")


def test_the_page_depends_on_what_it_reads(env: Any, gcc: Toolchain) -> None:
    """And on nothing else of the build: on no binary, and on no header."""
    made = env.NeuralArtVariant(variant())
    (node,) = made.effects["report"][0].sources
    assert str(node) == f"{FOLDER}/report.html" and not node.always_build
    assert node not in set(graphs.built_nodes(made.alias)), "a build makes none"
    words = ["report", FOLDER, "--output", f"{FOLDER}/report.html", "--title", "Digits"]
    assert graphs.command(node) == [graphs.command(node)[0], "-m", "neuralart", *words]
    net = made.networks[0].folder
    assert {str(each) for each in node.sources} == {
        *(f"{FOLDER}/{name}" for name in ("index.json", "firmware.elf", "plan.json", "flash_plan.json")),
        *(f"{net}/{name}" for name in ("network.json", "digits_c_info.json", "manifest.json", "provenance.txt")),
    }
    hostile = "Two $(x) `y` \"z\" 'w' $TARGET"
    (other,) = env.NeuralArtVariant(variant("other", title=hostile)).effects["report"][0].sources
    assert graphs.command(other)[-1] == hostile
    names = {each.name for each in targets._page_needs(node, env, ())}
    assert names == {"page", "bokeh"}, "the code that writes it, and the version of the library"


def test_plan_is_that_of_the_command_after_the_build(env: Any, gcc: Toolchain) -> None:
    assert argv(env, "plan") == ["plan", "digits-n6", "--file", "variants.yaml", "--build", "build"]
    made = env.NeuralArtVariant(variant("two", where=Location("", 0)))
    assert [str(node) for node in env.NeuralArtVariant(variant("one")).effects["plan"][0].sources] == [
        "build/one/index.json"
    ]
    assert refusal(made, "plan").startswith("plan-two: its variant is in no project file (build/VARIANT/plan.json")


LINKED = NetworkConfig(
    "digits", MODEL, vectors="models", initializers=("AXISRAM5",), strategies=(("AXISRAM5", "link"),)
)


IN_ISRAM = (("ISRAM", "link"),)


def refusal(made: Any, verb: str) -> str:
    (node,) = made.effects[verb]
    (action,) = graphs.actions(node)
    with pytest.raises(SCons.Errors.BuildError) as caught:
        action.execfunction([node], [], None)
    return str(caught.value.errstr)


@pytest.mark.parametrize(
    ("changes", "verb", "words"),
    [
        ({"machine": "silicon"}, "run", "run-digits-n6: it compares the outputs of a virtual board, not of a real one"),
        ({"machine": "silicon", "runner": "virtual"}, "flash", "flash-digits-n6: runner virtual writes a file, and"),
        ({"machine": "silicon", "runner": "virtual"}, "load", "load-digits-n6: runner virtual loads no images"),
        ({"machine": "silicon", "runner": "pyocd"}, "verify", "verify-digits-n6: runner pyocd writes internal"),
        ({}, "reset", "reset-digits-n6: machine unicorn is no board with a cable (run- and boot-"),
        ({}, "monitor", "monitor-digits-n6: machine unicorn is no board with a cable"),
        (
            {"board": "mps3-an547"},
            "flash-application",
            "flash-application-digits-n6: board mps3-an547 has no boot chain (its image",
        ),
        (
            {"networks": (LINKED,)},
            "flash-model",
            "flash-model-digits-n6: no constants of this variant are kept in flash (flash-application writes",
        ),
        (
            {"board": "mps3-an547", "networks": (replace(LINKED, initializers=("ISRAM",), strategies=IN_ISRAM),)},
            "flash",
            "flash-digits-n6: nothing of this variant is kept in flash (run- loads",
        ),
        (
            {
                "board": "mps3-an547",
                "networks": (replace(LINKED, initializers=("ISRAM",), strategies=(("ISRAM", "external-loader"),)),),
            },
            "run",
            "run-digits-n6: pool ISRAM has strategy external-loader, and machine qemu has none (strategy boot-copy",
        ),
    ],
)
def test_what_cannot_be_done(env: Any, gcc: Toolchain, changes: dict[str, Any], verb: str, words: str) -> None:
    """The variant can be built all the same: the refusal comes when somebody wants to do it."""
    assert refusal(env.NeuralArtVariant(variant(**changes)), verb).startswith(words)


def test_what_a_network_is_fed_with(env: Any, gcc: Toolchain, tree: Path) -> None:
    """Golden vectors, a file, or numbers at random; names of classes where outputs are shown."""
    names = AppConfig("image_classification", "classifier", class_names=('a "b" $c `d`', "e"), generation="h7")
    labeled = NetworkConfig("digits", MODEL, input="models/in.npy", app_config=names)
    words = argv(env, "run", networks=(labeled,))
    assert words[words.index("--network") + 2 :][:4] == [
        "--input",
        "models/in.npy",
        "--labels",
        json.dumps(names.class_names),
    ]
    words = argv(env, "boot", name="other", networks=(NetworkConfig("digits", MODEL),))
    assert words[words.index("--network") + 2 :][:4] == ["--random", "1", "--labels", "[]"]
    (tree / "names.txt").write_text("a\n", "utf-8")
    for other, filed in (
        ("third", replace(labeled, app_config=replace(names, class_names=(), class_names_file="names.txt"))),
        ("fourth", replace(labeled, labels="names.txt")),
    ):
        words = argv(env, "run", name=other, networks=(filed,))
        assert words[words.index("--labels") + 1] == "names.txt"


def test_writing_needs_no_vectors(env: Any, gcc: Toolchain) -> None:
    assert argv(env, "flash", networks=(NetworkConfig("digits", MODEL),))[0] == "flash"


NO_FLASH = """schema: 1
family: stm32n6
title: Bare
console: {driver: uart_stm32, base: 0x52001000}
"""
IN_RAM = """{"memory": {"mem_file_prefix": "atonbuf", "mempools": [
  {"fname": "AXISRAM5", "name": "npuRAM5", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_WRITE"},
   "offset": {"value": "0x342e0000", "magnitude": "BYTES"}, "size": {"value": "448", "magnitude": "KBYTES"}}]}}
"""


def test_board_without_flash(env: Any, gcc: Toolchain, tree: Path) -> None:
    """The image is put in place, as a debugger does it; there is nothing to write to."""
    (tree / "bare.yaml").write_text(NO_FLASH, "utf-8")
    (tree / "ram.mpool").write_text(IN_RAM, "utf-8")
    env["NEURALART_BOARD_FILES"] = ["bare.yaml"]
    net = NetworkConfig("digits", MODEL, vectors="models", mpool="ram.mpool", strategies=(("AXISRAM5", "link"),))
    made = env.NeuralArtVariant(variant(board="bare", networks=(net,)))
    words = graphs.command(made.run[0])
    assert "--elf" in words and "--plan" not in words and "--nor" not in words
    for verb in ("boot", "flash", "flash-model", "verify"):
        assert (
            refusal(made, verb) == f"{verb}-digits-n6: board bare has no flash ('flash:' in the board's file says what)"
        )


# ---- order


def _after(node: Any) -> list[Any]:
    return list(node.prerequisites or ())


@pytest.fixture
def several(env: Any, gcc: Toolchain) -> dict[str, Any]:
    made = [env.NeuralArtVariant(variant(name)) for name in ("one", "model-two")]
    return {str(node): node for each in made for (node,) in each.effects.values()}


def test_order_of_the_command_line(env: Any, several: dict[str, Any]) -> None:
    named = ["flash-one", "one", "boot-one", "flash-model-two", "flash-one", "verify-one", "src/run-one"]
    keep_order(env, named)
    assert _after(several["flash-one"]) == []
    assert _after(several["boot-one"]) == [several["flash-one"]]
    assert _after(several["flash-model-two"]) == [several["boot-one"]]
    assert _after(several["verify-one"]) == [several["flash-model-two"]]
    assert several["flash-one"] not in several["boot-one"].children(), "order only"


def test_order_with_keep_going(env: Any, several: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed holds up what depends on it, not another variant."""
    monkeypatch.setattr(type(env), "GetOption", lambda self, name: name == "keep_going", raising=False)
    keep_order(env, ["run-model-two", "flash-one", "flash-model-two", "boot-one"])
    assert _after(several["flash-one"]) == []
    assert _after(several["boot-one"]) == [several["flash-one"]]
    assert _after(several["flash-model-two"]) == [several["run-model-two"]]


def test_one_at_a_time_has_the_flash(several: dict[str, Any]) -> None:
    """Also when an alias of the user's asks for several of them."""
    shared = {verb: several[f"{verb}-one"].side_effects for verb in plugins.names("targets")}
    assert shared.pop("run") == []
    assert shared.pop("debug") == []
    assert shared.pop("load") == []
    assert shared.pop("export") == []
    assert shared.pop("plan") == shared.pop("profile") == []
    assert shared.pop("sbom") == []
    assert shared.pop("report") == []
    assert shared.pop("reset") == shared.pop("monitor") == []
    (one,) = {tuple(nodes) for nodes in shared.values()}
    assert len(one) == 1
    assert several["boot-model-two"].side_effects != list(one)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the command line says."""
    words: dict[str, str] = {}
    monkeypatch.setattr(SCons.Script, "ARGUMENTS", words)
    return words


def test_a_real_board(env: Any, gcc: Toolchain, said: dict[str, str]) -> None:
    said |= {"SERIAL": "0042", "FORCE": "1", "DRY": "0", "SERVER": "localhost:3333", "PORT": "/dev/ttyACM1"}
    made = env.NeuralArtVariant(variant(machine="silicon", runner="gdb"))
    commands = {verb: graphs.command(made.effects[verb][0])[3:] for verb in ("flash-model", "load", "debug", "monitor")}
    record = f"{FOLDER}/flash-gdb-0042.json"
    assert commands["flash-model"] == [
        *("flash", "--plan", f"{FOLDER}/flash_plan.json", "--runner", "gdb", "--probe", "0042", "--record", record),
        *("--only", "model", "--force", "--server", "localhost:3333"),
    ]
    device = ["--board", BOARD, "--probe", "0042"]
    image, server = ["--elf", f"{FOLDER}/firmware.elf"], ["--server", "localhost:3333"]
    assert commands["load"] == ["device", "load", *device, *image, *server, "--runner", "gdb"]
    assert commands["debug"] == ["device", "debug", *device, *image, *server]
    assert commands["monitor"] == ["device", "monitor", *device, "--port", "/dev/ttyACM1"]
    nodes = [made.effects[verb][0] for verb in ("flash", "verify", "boot", "reset", "load", "debug", "monitor")]
    assert len({tuple(node.side_effects) for node in nodes}) == 1, "one probe: one at a time"


def test_what_is_not_shown_is_not_done(env: Any, gcc: Toolchain, said: dict[str, str]) -> None:
    said["DRY"] = "1"
    made = env.NeuralArtVariant(variant(machine="silicon"))
    assert "--dry-run" in graphs.command(made.effects["flash"][0])
    for verb in ("load", "reset", "boot", "monitor", "debug", "verify"):
        assert refusal(made, verb).startswith(f"{verb}-digits-n6: DRY=1 shows the commands of flash- only")


def test_who_writes(env: Any, gcc: Toolchain, said: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line, the environment, the variant, what is installed."""

    def runner(name: str, **changes: Any) -> str:
        words = graphs.command(env.NeuralArtVariant(variant(name, machine="silicon", **changes)).effects["flash"][0])
        return words[words.index("--runner") + 1]

    assert runner("a", runner="gdb") == "gdb"
    assert runner("b") == "cubeprogrammer", "whether it is installed or not: it says how to get it"
    env["NEURALART_RUNNER"] = "cubeprogrammer"
    assert runner("c", runner="gdb") == "cubeprogrammer"
    said["RUNNER"] = "gdb"
    assert runner("d") == "gdb"
    said["RUNNER"] = "gbd"
    with pytest.raises(SCons.Errors.UserError, match=r"RUNNER=: no flash runner 'gbd' \(did you mean 'gdb'"):
        runner("e")


def test_a_folder_in_place_of_the_flash(env: Any, gcc: Toolchain, tree: Path) -> None:
    (tree / FOLDER / "flash.nor").mkdir(parents=True)
    with pytest.raises(SCons.Errors.UserError, match=r"build/digits-n6/flash.nor: it is a folder, not a virtual flash"):
        env.NeuralArtVariant(variant())


def test_targets_are_looked_up_exactly() -> None:
    names = ["one", "model-two", "two-one"]
    assert requested(names, ["one"], ["flash-model-one"]) == ["one"]
    assert requested(names, ["one"], ["flash-model-two"]) == ["model-two"]
    assert requested(names, ["one"], ["verify-two-one", "boot-one"]) == ["two-one", "one"]
    assert requested(names, ["one"], ["flash-mode-one"]) == names, "whatever it is"


# ---- CheckImage


def test_check_of_an_image_of_the_users(env: Any, tree: Path) -> None:
    net = env.Network("digits", model=MODEL, board=BOARD)
    (tree / "app.elf").write_bytes(b"")
    report = env.CheckImage("app.elf", net)
    assert str(report) == "app.elf.check.json"
    assert graphs.names(report.sources) == ["app.elf", str(net.facts)]
    other = env.CheckImage("app.elf", net, machine="unicorn", target="out/checked.json")
    assert str(other) == "out/checked.json"
    assert graphs.signature(report) != graphs.signature(other)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"machine": "quemu"}, "board stm32n6570-dk: no machine 'quemu'"),
        ({"machine": "qemu"}, "board stm32n6570-dk: no machine 'qemu'"),
        ({"mashine": "qemu"}, "unknown option 'mashine' (did you mean 'machine'?"),
        ({"allow_reference_on_hardware": "no"}, "must be True or False, not 'no'"),
    ],
)
def test_check_that_cannot_be(env: Any, options: dict[str, Any], words: str) -> None:
    net = env.Network("digits", model=MODEL, board=BOARD)
    with pytest.raises(SCons.Errors.UserError) as caught:
        env.CheckImage("app.elf", net, **options)
    assert words in str(caught.value)
    with pytest.raises(SCons.Errors.UserError, match="CheckImage takes an image and what Network returned"):
        env.CheckImage("app.elf")
    with pytest.raises(SCons.Errors.UserError, match="CheckImage: one image, not 2"):
        env.CheckImage(["app.bin", "b.bin"], net)


@pytest.mark.parametrize("image", [None, [], "", ".", 5])
def test_check_of_no_file(env: Any, image: Any) -> None:
    net = env.Network("digits", model=MODEL, board=BOARD)
    with pytest.raises(SCons.Errors.UserError, match="CheckImage: an image is a file or its node, not"):
        env.CheckImage(image, net)
