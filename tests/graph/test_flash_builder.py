"""``NeuralArtFlash``: an alias that makes the record of what a device holds, and nothing else that would."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
import SCons.Errors
import SCons.Node.Alias
import SCons.Script

from neuralart import boards
from neuralart.boards.types import Machine
from neuralart.flashing import runners
from neuralart.flashing.runners import Capabilities, FlashJob, Runner
from neuralart.scons import node_plans
from neuralart.scons.flash import flash
from neuralart_board.runners import process
from support.projects import graphs

BOARD = "stm32n6570-dk"
PLAN = """{"schema": 1, "board": "stm32n6570-dk", "writes": [{"name": "a", "kind": "model", "file": "out/a.bin",
 "address": 1879048192, "bytes": 1, "sha256": "%s"}]}""" % ("0" * 64)


class Acme(Runner):
    """A programmer that tells its probes apart."""

    name: ClassVar[str] = "acme"
    capabilities = Capabilities(frozenset({"silicon", "unicorn"}), verify=False, probes=True)

    def write(self, job: FlashJob) -> Any:
        raise NotImplementedError


@pytest.fixture
def board(make_env: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    find = runners.find
    monkeypatch.setattr(runners, "find", lambda name, where="": Acme() if name == "acme" else find(name, where))
    return make_env(NEURALART_BOARD=BOARD)


@pytest.fixture
def plan(tree: Path) -> str:
    (tree / "flash_plan.json").write_text(PLAN, "utf-8")
    return "flash_plan.json"


def _argv(node: Any) -> list[str]:
    words = graphs.command(node)
    assert words[1:3] == ["-m", "neuralart"]
    return words[3:]


def test_an_alias_that_always_runs(board: Any, plan: str) -> None:
    (alias,) = board.NeuralArtFlash("flash-kws", plan)
    assert isinstance(alias, SCons.Node.Alias.Alias) and alias.always_build
    assert _argv(alias) == ["flash", "--plan", "flash_plan.json", "--nor", "flash.nor"]


def test_no_folder_and_no_name_of_a_file_makes_the_record(board: Any, plan: str, tree: Path) -> None:
    board.NeuralArtFlash("flash-kws", plan)
    record = board.fs.File("flash.nor")
    assert not record.has_builder() and not record.is_derived() and not record.side_effect
    assert not [node for node in graphs.built_nodes([board.Dir(".")]) if "flash" in str(node)]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"NEURALART_FLASH_PART": "model"}, ["flash", "PLAN", "--nor", "flash.nor", "--only", "model"]),
        ({"NEURALART_FLASH_VERB": "verify"}, ["verify", "PLAN", "--nor", "flash.nor"]),
        ({"NEURALART_PROBE": "two"}, ["flash", "PLAN", "--nor", "flash-two.nor"]),
        (
            {"NEURALART_RUNNER": "acme", "NEURALART_PROBE": "0042"},
            ["flash", "PLAN", "--runner", "acme", "--probe", "0042", "--record", "flash-acme-0042.json"],
        ),
        (
            {"NEURALART_BOARD_FILES": ["mine.yaml"]},
            ["flash", "PLAN", "--nor", "flash.nor", "--board-file", "mine.yaml"],
        ),
    ],
)
def test_command(make_env: Any, board: Any, tree: Path, plan: str, variables: dict[str, Any], words: list[str]) -> None:
    (tree / "mine.yaml").write_text(f"schema: 1\nbase: {BOARD}\ntitle: Mine\n", "utf-8")
    env = make_env(NEURALART_BOARD=BOARD, **variables)
    at = words.index("PLAN")
    assert _argv(env.NeuralArtFlash("x", plan)[0]) == [*words[:at], "--plan", "flash_plan.json", *words[at + 1 :]]


def test_override_per_call_and_clone(board: Any, plan: str) -> None:
    clone = board.Clone(NEURALART_FLASHCOM="west flash $SOURCE", NEURALART_FLASHCOMSTR="to the board")
    (mine,) = clone.NeuralArtFlash("flash-mine", plan)
    assert graphs.command(mine) == ["west", "flash", "flash_plan.json"]
    (ours,) = board.NeuralArtFlash("flash-ours", plan, NEURALART_FLASH_PART="application")
    assert _argv(ours)[-2:] == ["--only", "application"]


def test_the_images_of_a_plan_are_sources(board: Any) -> None:
    net = board.NeuralArtNetwork("build/digits.c", "models/digits.tflite")
    memory = board.NeuralArtInitializers("build/npu_memory_init.c", net)
    made = board.NeuralArtFlashPlan("build/flash_plan.json", memory)
    (alias,) = board.NeuralArtFlash("flash-kws", made)
    assert graphs.names(alias.sources) == ["build/flash_plan.json", "build/digits.xSPI2.bin", "build/descriptor.bin"]
    assert _argv(alias)[-1] == "build/flash.nor", "beside the plan"


def test_a_plan_on_disk_is_scanned_for_its_images(board: Any, plan: str, tree: Path) -> None:
    (alias,) = board.NeuralArtFlash("flash-kws", plan)
    (scanned,) = flash.SCANNER(board.File(plan), board, ())
    assert str(scanned) == "out/a.bin"
    assert "out/a.bin" in graphs.names(alias.children())
    (tree / "flash_plan.json").write_text("{}", "utf-8")
    board.File(plan).clear()
    assert flash.SCANNER(board.File(plan), board, ()) == [], "the command says what is wrong with it"


def test_one_at_a_time_has_a_device(board: Any, plan: str) -> None:
    def locks(name: str, **variables: Any) -> set[Any]:
        return set(board.NeuralArtFlash(name, plan, **variables)[0].side_effects)

    one = locks("one")
    assert len(one) == 1
    assert locks("two", NEURALART_FLASH_VERB="verify") == one
    assert not locks("three", NEURALART_PROBE="b") & one
    acme = {"NEURALART_RUNNER": "acme", "NEURALART_PROBE": "0042"}
    board.Command("other/flash_plan.json", [], "make $TARGET")
    there = set(board.NeuralArtFlash("four", "other/flash_plan.json", **acme)[0].side_effects)
    assert locks("five", **acme) == there, "one probe, wherever its record is"
    assert not locks("six", NEURALART_RUNNER="acme", NEURALART_PROBE="0043") & there


def test_the_record_goes_with_clean(board: Any, plan: str) -> None:
    (alias,) = board.NeuralArtFlash("flash-kws", plan)
    targets = graphs.names(SCons.Environment.CleanTargets[alias])
    assert [Path(name).name for name in targets] == ["flash.nor", "flash.nor.lock", "flash.nor.journal"]


def test_order_of_the_command_line(board: Any, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever is declared first."""
    monkeypatch.setattr(SCons.Script, "COMMAND_LINE_TARGETS", ["flash-a", "flash-c", "verify-b", "elsewhere"])
    made = {name: board.NeuralArtFlash(name, plan)[0] for name in ("flash-c", "verify-b", "flash-a")}
    assert made["flash-a"] in made["flash-c"].prerequisites
    assert made["flash-c"] in made["verify-b"].prerequisites
    assert not made["flash-a"].prerequisites


@pytest.mark.parametrize("dry", [False, True])
def test_what_is_shown(board: Any, plan: str, dry: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (alias,) = board.NeuralArtFlash("flash-kws", plan)
    monkeypatch.setattr(type(board), "GetOption", lambda self, name: name == "no_exec" and dry, raising=False)
    shown = board.subst("$NEURALART_FLASHCOMSTR", raw=1, target=[alias], source=alias.sources)
    assert shown.splitlines()[0] == f"FLASH    flash-kws on {BOARD}"
    assert shown.splitlines()[1:] == (["         a: out/a.bin at 0x70000000"] if dry else [])


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NEURALART_BOARD": ""}, "flash-kws: NeuralArtFlash: no board (set NEURALART_BOARD)"),
        ({"NEURALART_RUNNER": "virtul"}, "NEURALART_RUNNER: no flash runner 'virtul' (did you mean 'virtual'?"),
        (
            {"NEURALART_MACHINE": "silicon", "NEURALART_RUNNER": "virtual"},
            "flash-kws: runner virtual writes a file, and machine silicon boots from none (RUNNER=",
        ),
        ({"NEURALART_PROBE": "../x"}, "NEURALART_PROBE: '../x' is no serial number of a probe"),
        ({"NEURALART_FLASH_PART": "modle"}, "NEURALART_FLASH_PART is 'modle' (did you mean 'model'?"),
        ({"NEURALART_FLASH_VERB": "erase"}, "NEURALART_FLASH_VERB is 'erase'"),
        (
            {"NEURALART_RUNNER": "acme", "NEURALART_FLASH_VERB": "verify"},
            "flash-kws: runner acme cannot read its device (flash- writes it)",
        ),
    ],
)
def test_what_cannot_be(board: Any, plan: str, variables: dict[str, Any], said: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.NeuralArtFlash("flash-kws", plan, **variables)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["FORCE", "DRY"])
def test_yes_is_1(board: Any, plan: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCons.Script.ARGUMENTS, name, "no")
    with pytest.raises(SCons.Errors.UserError, match=f"{name}=: 'no' is neither 0 nor 1"):
        board.NeuralArtFlash("flash-kws", plan)


@pytest.mark.parametrize("source", [[], "image.bin"])
def test_no_plan(board: Any, source: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="flash-kws: NeuralArtFlash takes a flash plan"):
        board.NeuralArtFlash("flash-kws", source)


def test_a_folder_in_place_of_the_record(board: Any, plan: str, tree: Path) -> None:
    (tree / "flash.nor").mkdir()
    with pytest.raises(SCons.Errors.UserError, match="it is a folder, not a virtual flash"):
        board.NeuralArtFlash("flash-kws", plan)


def test_what_is_known_of_an_alias(board: Any, plan: str) -> None:
    (alias,) = board.NeuralArtFlash("flash-kws", plan)
    found = node_plans.known(alias, flash.Flashing)
    assert found is not None and (found.plan.verb, found.plan.runner.name) == ("write", "virtual")


# ---- the methods


def test_flash_alias(board: Any, plan: str) -> None:
    alias = board.FlashAlias("flash-app", plan, part="application", probe="two")
    words = ["flash", "--plan", "flash_plan.json", "--nor", "flash-two.nor", "--only", "application"]
    assert (str(alias), _argv(alias)) == ("flash-app", words)
    assert _argv(board.FlashAlias("verify-app", plan, verify=True))[0] == "verify"
    with pytest.raises(SCons.Errors.UserError, match=r"FlashAlias: unknown option 'prob' \(did you mean 'probe'\?"):
        board.FlashAlias("x", plan, prob="two")


def _rel(env: Any) -> tuple[Any, str]:
    net = env.NetworkRel(env.Network("digits", model="models/digits.tflite", board=BOARD))
    return net, "load_plan.json"


def test_load_alias(board: Any, gcc: Any) -> None:
    rel, plan = _rel(board)
    alias = board.LoadAlias("load-app", "app.elf", rel, plan, vectors="models")
    assert alias.always_build and str(alias) == "load-app"
    words = graphs.command(alias)[3:]
    assert words[:5] == ["run", "--board", BOARD, "--machine", "unicorn"]
    assert words[5:9] == ["--name", "load-app", "--elf", "app.elf"]
    for option, node in (("--model", rel.image), ("--network", rel.network.facts)):
        assert words[words.index(option) + 1] == str(node)
    assert words[words.index("--vectors") + 1] == "models" and words[words.index("--plan") + 1] == plan
    assert {"app.elf", "app.elf.check.json", plan, str(rel.image)} <= set(graphs.names(alias.sources))
    several = board.LoadAlias("load-all", "app.elf", rel, {"xip": "xip.json", "copy": "copy.json"}, vectors="models")
    fed = graphs.command(board.LoadAlias("load-fed", "app.elf", rel, plan, input="models/in.bin"))
    assert fed[fed.index("--input") + 1] == "models/in.bin" and "--vectors" not in fed
    plans_of = [words[words.index("--plan") + 1] for words in graphs.commands(several)]
    assert plans_of == ["xip.json", "copy.json"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vectros": "models"}, "LoadAlias: unknown option 'vectros' (did you mean 'vectors'?"),
        ({"vectors": "models", "machine": "silicon"}, "load-app: it compares the outputs of a virtual board"),
        ({"vectors": "models", "machine": "quemu"}, "no machine 'quemu'"),
    ],
)
def test_load_alias_that_cannot_be(board: Any, gcc: Any, options: dict[str, Any], said: str) -> None:
    rel, plan = _rel(board)
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.LoadAlias("load-app", "app.elf", rel, plan, **options)
    assert said in str(caught.value)
    with pytest.raises(SCons.Errors.UserError, match="LoadAlias: takes what NetworkRel returned"):
        board.LoadAlias("load-app", "app.elf", rel.image, plan)


def test_a_probe_is_booted_as_it_was_flashed(make_env: Any, gcc: Any) -> None:
    """A virtual flash of another name; messages and commands of the environment that asks for the variant."""
    from neuralart.config.types import NetworkConfig, VariantConfig

    env = make_env(NEURALART_PROBE="two")
    network = NetworkConfig("digits", "models/digits.tflite", vectors="models")
    clone = env.Clone(NEURALART_FLASHCOM="mine $SOURCE")
    made = clone.NeuralArtVariant(VariantConfig("v", "V", BOARD, "", (network,)))
    (boot,), (write,) = made.effects["boot"], made.effects["flash"]
    words = graphs.command(boot)
    assert words[words.index("--nor") + 1] == "build/v/flash-two.nor"
    assert graphs.command(write) == ["mine", "build/v/flash_plan.json"]
    assert set(boot.side_effects) == set(write.side_effects)


@pytest.mark.parametrize(
    ("board", "here", "name"),
    [
        (BOARD, (), "cubeprogrammer"),
        (BOARD, ("openocd", "pyocd"), "cubeprogrammer"),
        ("stm32h747i-disco", ("openocd", "pyocd"), "openocd"),
        ("stm32h747i-disco", ("pyocd", "STM32_Programmer_CLI"), "cubeprogrammer"),
        ("stm32h747i-disco", ("pyocd",), "pyocd"),
    ],
)
def test_what_fits(board: str, here: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda names, places: Path(names[0]) if names[0] in here else None)
    assert flash.fitting(boards.load(board), Machine("silicon", ())).name == name
    assert flash.fitting(boards.load(board), Machine("unicorn", ())).name == "virtual"
