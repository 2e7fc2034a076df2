"""``NeuralArtInitializers``, ``NeuralArtImage`` and ``NeuralArtFlashPlan``: targets, sources, scanner, what counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart import boards
from neuralart.scons import node_plans
from neuralart.scons.node_plans import FilePart
from support.projects import graphs

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
IN_RAM = ["AXISRAM5", "xSPI2"]


@pytest.fixture
def board(make_env: Any) -> Any:
    """An environment that says for which board."""
    return make_env(NEURALART_BOARD=BOARD)


def _net(env: Any, name: str = "digits", **variables: Any) -> Any:
    return env.NeuralArtNetwork(f"{name}/{name}.c", MODEL, **variables)


def _part(node: Any) -> FilePart:
    part = node_plans.known(node, FilePart)
    assert part is not None
    return part


def _in(folder: str, *names: str) -> list[str]:
    return [f"{folder}/{name}" for name in names]


START = ("npu_memory_init.c", "npu_memory_init.h", "network_io.h", "network_io.json")
WEIGHTS = ("digits.xSPI2.bin", "digits.xSPI2.hex", "descriptor.bin", "descriptor.hex")


# ---- initializers


@pytest.mark.parametrize(
    ("pools", "strategies", "files"),
    [
        (["xSPI2"], {}, WEIGHTS),
        (["xSPI2"], {"xSPI2": "flash"}, WEIGHTS),
        (IN_RAM, {}, ("digits.AXISRAM5.bin", "digits.AXISRAM5.hex", *WEIGHTS)),
        (IN_RAM, {"AXISRAM5": "boot-copy"}, ("digits.AXISRAM5.bin", "digits.AXISRAM5.hex", *WEIGHTS)),
        (IN_RAM, {"AXISRAM5": "link"}, ("npu_link_digits_AXISRAM5.c", *WEIGHTS)),
        (IN_RAM, {"AXISRAM5": "external-loader"}, ("digits.AXISRAM5.bin", "digits.AXISRAM5.hex", *WEIGHTS)),
        (["AXISRAM5"], {"AXISRAM5": "link"}, ("npu_link_digits_AXISRAM5.c",)),
        ([], {}, ()),
    ],
)
def test_exactly_the_files_of_each_strategy(
    board: Any, pools: list[str], strategies: dict[str, str], files: tuple[str, ...]
) -> None:
    net = _net(board, NEURALART_INITIALIZERS=pools)
    made = board.NeuralArtInitializers("build/npu_memory_init.c", net, NEURALART_STRATEGIES=strategies)
    assert graphs.names(made) == _in("build", *START, *files)
    assert all(node.has_builder() for node in made)


def test_each_part_has_its_own_sources(board: Any) -> None:
    net = _net(board, NEURALART_INITIALIZERS=IN_RAM)
    made = board.NeuralArtInitializers("build/npu_memory_init.c", net, NEURALART_STRATEGIES={"AXISRAM5": "link"})
    by_name = {node.name: node for node in made}
    facts, weights = "digits/network.json", "digits/digits_atonbuf.xSPI2.raw"
    sources = {name: graphs.names(node.sources) for name, node in by_name.items()}
    assert sources["npu_memory_init.c"] == sources["network_io.h"] == [facts]
    assert sources["npu_link_digits_AXISRAM5.c"] == ["digits/digits_atonbuf.AXISRAM5.raw"]
    assert sources["digits.xSPI2.bin"] == [weights]
    assert sources["digits.xSPI2.hex"] == ["build/digits.xSPI2.bin"]
    assert sources["descriptor.bin"] == [facts, weights], "what is linked is not in it"
    # Whoever loads them: what the networks use was checked before.
    for name in ("digits.xSPI2.bin", "digits.xSPI2.hex", "descriptor.bin"):
        assert by_name["npu_memory_init.c"] in by_name[name].prerequisites, name


def test_where_images_go(board: Any) -> None:
    """What a flash plan needs is known with the file."""
    made = board.NeuralArtInitializers(
        "build/npu_memory_init.c", _net(board), NEURALART_SLOTS={"descriptor": 0x7700_0000}
    )
    writes = {node.name: _part(node).write for node in made}
    assert writes["digits.xSPI2.bin"] == ("digits.xSPI2", "model", 0x7038_0000)
    assert writes["descriptor.bin"] == ("descriptor", "descriptor", 0x7700_0000)
    assert writes["digits.xSPI2.hex"] is None and writes["npu_memory_init.c"] is None
    loaded = board.NeuralArtInitializers(
        "two/npu_memory_init.c",
        _net(board, "two", NEURALART_INITIALIZERS=IN_RAM),
        NEURALART_STRATEGIES={"AXISRAM5": "external-loader"},
    )
    assert {node.name: _part(node).write for node in loaded}["two.AXISRAM5.bin"] is None


def test_one_node_stands_for_its_network(board: Any) -> None:
    """All that NeuralArtNetwork returned, or the C alone."""
    net, other = _net(board), _net(board, "other")
    made = board.NeuralArtInitializers("build/npu_memory_init.c", [net[0], other])
    assert "build/other.xSPI2.bin" in graphs.names(made) and "build/digits.xSPI2.bin" in graphs.names(made)


def test_one_builder_and_one_action(board: Any) -> None:
    one = board.NeuralArtInitializers("one/npu_memory_init.c", _net(board))
    two = board.NeuralArtInitializers("two/npu_memory_init.c", _net(board, "two"))
    assert len({id(node.builder) for node in (*one, *two)}) == 1
    assert len({id(node.get_executor().get_action_list()[0]) for node in (*one, *two)}) == 1


def test_the_address_counts_for_the_hex(make_env: Any) -> None:
    def signatures(address: int) -> dict[str, bytes]:
        env = make_env(NEURALART_BOARD=BOARD)
        made = env.NeuralArtInitializers("build/npu_memory_init.c", _net(env), NEURALART_SLOTS={"descriptor": address})
        return {node.name: graphs.signature(node) for node in made}

    before, after = signatures(0x7700_0000), signatures(0x7701_0000)
    assert {name for name in before if before[name] != after[name]} == {"descriptor.hex"}


def test_users_emitters_and_commands(board: Any) -> None:
    """Ours comes first; what another adds is made with the start-up code."""

    def more(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
        assert target[1].name == "npu_memory_init.h"
        return [*target, target[0].dir.File("notes.txt")], [*source, env.File("license.txt")]

    env = board.Clone(NEURALART_INITIALIZERSCOM="mine $TARGET $SOURCES")
    env.Append(NEURALART_INITIALIZERSEMITTER=[more])
    made = env.NeuralArtInitializers("build/npu_memory_init.c", _net(env))
    assert made[-1].name == "notes.txt"
    assert graphs.command(made[0]) == ["mine", "build/npu_memory_init.c", "digits/network.json", "license.txt"]
    assert made[-1].get_executor() is made[0].get_executor()
    assert graphs.command(made[4])[:2] == ["mine", "build/digits.xSPI2.bin"]
    other = board.NeuralArtInitializers("other/npu_memory_init.c", _net(board, "other"))
    assert other[-1].name == "descriptor.hex", "a clone's emitters are the clone's"


@pytest.mark.parametrize(
    ("target", "variables", "said"),
    [
        ("npu_memory_init.txt", {}, "start-up code is C"),
        ("x.c", {"NEURALART_STRATEGIES": {"AXISRAM5": "link"}}, "no network has constants in pool 'AXISRAM5'"),
        ("x.c", {"NEURALART_STRATEGIES": {"xSP2": "link"}}, "did you mean 'xSPI2'"),
        ("x.c", {"NEURALART_STRATEGIES": {"xSPI2": "flsh"}}, "flsh"),
        ("x.c", {"NEURALART_STRATEGIES": "link"}, "NEURALART_STRATEGIES: pools and strategies, not 'link'"),
        ("x.c", {"NEURALART_SLOTS": {"descriptor": "0x77000000"}}, "NEURALART_SLOTS: a mapping of names to addresses"),
        ("x.c", {"NEURALART_RESERVED": {"x": 3}}, "NEURALART_RESERVED: a mapping of names to (address, bytes)"),
    ],
)
def test_initializers_that_cannot_be(board: Any, target: str, variables: dict[str, Any], said: str) -> None:
    net = _net(board)
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.NeuralArtInitializers(target, net, **variables)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_initializers_of_no_network(board: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="takes what NeuralArtNetwork returned, one or more"):
        board.NeuralArtInitializers("npu_memory_init.c", "network.json")
    with pytest.raises(SCons.Errors.UserError, match="for mps3-an547 and stm32n6570-dk"):
        nets = [_net(board), _net(board, "two", NEURALART_BOARD="mps3-an547")]
        board.NeuralArtInitializers("npu_memory_init.c", nets)
    with pytest.raises(SCons.Errors.UserError, match="network digits is given twice"):
        again = board.NeuralArtNetwork("again/digits.c", MODEL)
        board.NeuralArtInitializers("npu_memory_init.c", [_net(board), again])
    cpu = board.NeuralArtNetwork("cpu/digits.c", MODEL, NEURALART_BOARD="stm32h747i-disco")
    with pytest.raises(SCons.Errors.UserError, match="network digits runs on the core of board stm32h747i-disco"):
        board.NeuralArtInitializers("npu_memory_init.c", cpu)


# ---- image


def test_what_is_made_of_a_program(board: Any) -> None:
    net = _net(board)
    check, binary, ihex, application = board.NeuralArtImage("out/check.json", ["app.elf", net])
    assert graphs.names([check, binary, ihex, application]) == _in(
        "out", "check.json", "app.bin", "app.hex", "application.bin"
    )
    assert graphs.names(check.sources) == ["app.elf", "digits/network.json"]
    assert graphs.command(binary) == ["arm-none-eabi-objcopy", "-O", "binary", "app.elf", "out/app.bin"]
    assert graphs.command(ihex) == ["arm-none-eabi-objcopy", "-O", "ihex", "app.elf", "out/app.hex"]
    assert check in binary.prerequisites and check in ihex.prerequisites, "nothing is made of what was not checked"
    assert application.sources == [binary]
    assert _part(application).write == ("application", "application", 0x7010_0000)


def test_the_vendor_s_tool_makes_the_application(board: Any) -> None:
    *_, application = board.NeuralArtImage("out/check.json", ["app.elf", _net(board)], NEURALART_SIGN="vendor")
    words = ["tool", "sign", "--by", "vendor", "out/app.bin", "-o", "out/application.bin"]
    assert graphs.command(application)[3:] == [*words, "--type", "application", "--header-version", "2.3"]
    with pytest.raises(SCons.Errors.UserError, match=r"NEURALART_SIGN is 'vender'.*did you mean 'vendor'"):
        board.NeuralArtImage("out/check.json", ["app.elf", _net(board)], NEURALART_SIGN="vender")


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"NEURALART_BOARD": "mps3-an547"}, ["check.json", "app.bin", "app.hex"]),
        ({"NEURALART_SLOTS": {"application": 0x7020_0000}}, ["check.json", "app.bin", "app.hex", "application.bin"]),
    ],
)
def test_what_the_board_boots_from(board: Any, variables: dict[str, Any], names: list[str]) -> None:
    made = board.NeuralArtImage("out/check.json", "app.elf", **variables)
    assert [node.name for node in made] == names
    moved = variables.get("NEURALART_SLOTS")
    assert moved is None or _part(made[-1]).write == ("application", "application", moved["application"])


def test_machine_and_objcopy_are_variables(board: Any) -> None:
    one = board.NeuralArtImage("one/check.json", "app.elf")
    two = board.NeuralArtImage("two/check.json", "app.elf", NEURALART_MACHINE="silicon", OBJCOPY="llvm-objcopy")
    assert graphs.signature(one[0]) != graphs.signature(two[0])
    assert graphs.command(two[1])[0] == "llvm-objcopy"


@pytest.mark.parametrize(
    ("sources", "variables", "said"),
    [
        ([], {}, "takes a linked program, then the networks in it"),
        ("app.elf", {"NEURALART_BOARD": ""}, "NeuralArtImage: no board (set NEURALART_BOARD)"),
        ("app.elf", {"NEURALART_BOARD": "stm32n6570-dkk"}, "stm32n6570-dkk"),
        ("app.elf", {"NEURALART_MACHINE": "quemu"}, "no machine 'quemu'"),
        ("app.elf", {"NEURALART_ALLOW_REFERENCE_ON_HARDWARE": "no"}, "must be True or False, not 'no'"),
    ],
)
def test_image_that_cannot_be(board: Any, sources: Any, variables: dict[str, Any], said: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.NeuralArtImage("check.json", sources, **variables)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_network_is_no_program(board: Any) -> None:
    with pytest.raises(SCons.Errors.UserError, match="takes a linked program"):
        board.NeuralArtImage("check.json", _net(board))


# ---- flash plan


def _everything(env: Any) -> tuple[Any, Any, Any]:
    net = _net(env)
    memory = env.NeuralArtInitializers("build/npu_memory_init.c", net)
    return net, memory, env.NeuralArtImage("build/check.json", ["app.elf", net])


def test_a_plan_takes_what_goes_into_flash(board: Any) -> None:
    (plan,) = board.NeuralArtFlashPlan("build/flash_plan.json", [*_everything(board)])
    images = ["build/digits.xSPI2.bin", "build/descriptor.bin", "build/application.bin"]
    assert graphs.names(plan.sources) == images
    assert [tuple(row) for row in json.loads(_part(plan).counts)[1]] == [
        ("digits.xSPI2", "model", 0x7038_0000),
        ("descriptor", "descriptor", 0x7020_0000),
        ("application", "application", 0x7010_0000),
    ]


def test_the_address_of_a_write_counts(board: Any) -> None:
    _, memory, _ = _everything(board)
    moved = board.NeuralArtInitializers(
        "moved/npu_memory_init.c", _net(board, "moved"), NEURALART_SLOTS={"descriptor": 0x7700_0000}
    )
    one = board.NeuralArtFlashPlan("one.json", memory)
    two = board.NeuralArtFlashPlan("two.json", moved)
    assert graphs.signature(one[0]) != graphs.signature(two[0])


def test_a_file_of_the_users(board: Any, tree: Path) -> None:
    (plan,) = board.NeuralArtFlashPlan(
        "plan.json", ["data/fonts.bin"], NEURALART_WRITES={"fonts.bin": ("model", 0x7400_0000)}
    )
    assert json.loads(_part(plan).counts)[1] == [["fonts", "model", 0x7400_0000]]


def _rel(env: Any, **variables: Any) -> Any:
    net = _net(env, NEURALART_RELOCATABLE=True)
    return env.NeuralArtRelocatable("rel/digits_rel.bin", net, **variables)


@pytest.mark.usefixtures("gcc")
def test_a_plan_for_each_mode_of_a_model_that_is_loaded(board: Any) -> None:
    """The places are those of the board, the tables those of a variant."""
    rel = _rel(board, NEURALART_RELOCATABLE_SPLIT=True)
    nodes = board.NeuralArtFlashPlan("f/plan.json", rel, NEURALART_LOAD_MODES=["xip clear", "copy"])
    names = ["plan.json", "plan.copy.json", "load_table.xip.bin", "load_table.copy.bin"]
    assert [str(node) for node in nodes] == _in("f", *names)
    slots = boards.load(BOARD).relocatable
    assert slots is not None
    plan, copy, first, second = map(_part, nodes)
    writes = [("relocatable", slots.model), ("relocatable_params", slots.params), ("load_table", slots.table)]
    wanted = [[name, "model", address] for name, address in writes]
    assert json.loads(plan.counts)[1] == json.loads(copy.counts)[1] == wanted
    assert [str(node) for node in copy.sources][-1] == "f/load_table.copy.bin"
    assert json.loads(first.counts) == ["xip clear", [slots.model, slots.params]]
    assert json.loads(second.counts) == ["copy", [slots.model, slots.params]]


@pytest.mark.usefixtures("gcc")
def test_a_model_that_is_loaded_elsewhere(board: Any) -> None:
    moved = {"digits_rel.bin": ("model", 0x7200_0000), "load_table": ("model", 0x7300_0000)}
    (plan, table) = board.NeuralArtFlashPlan(
        "plan.json", _rel(board), NEURALART_LOAD_MODES="xip", NEURALART_WRITES=moved
    )
    assert [row[2] for row in json.loads(_part(plan).counts)[1]] == [0x7200_0000, 0x7300_0000]
    assert json.loads(_part(table).counts) == ["xip", [0x7200_0000, 0]]


@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"NEURALART_LOAD_MODES": ["xpi"]}, "no mode 'xpi' of a load table (did you mean 'xip'?"),
        ({"NEURALART_LOAD_MODES": [""]}, "mode '' of a load table: one of xip and copy"),
        ({"NEURALART_LOAD_MODES": ["xip copy"]}, "mode 'xip copy' of a load table: one of xip and copy"),
        ({"NEURALART_BOARD": "stm32h747i-disco"}, "board stm32h747i-disco has no slots for relocatable models"),
    ],
)
def test_a_model_that_cannot_be_loaded(board: Any, variables: dict[str, Any], said: str) -> None:
    rel = _rel(board)
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.NeuralArtFlashPlan("plan.json", rel, **variables)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("sources", "variables", "said"),
    [
        ("fonts.bin", {}, "fonts.bin: NeuralArtFlashPlan: nothing says where it goes (NEURALART_WRITES="),
        ("fonts.bin", {"NEURALART_BOARD": ""}, "NeuralArtFlashPlan: no board"),
        ("fonts.bin", {"NEURALART_WRITES": {"fonts.bin": ("modle", 1)}}, "kind 'modle' (did you mean 'model'?"),
        ("fonts.bin", {"NEURALART_WRITES": {"fonts.bin": 5}}, "NEURALART_WRITES: names and (kind, address)"),
        ("fonts.bin", {"NEURALART_WRITES": {"fonts.bin": ("model", "5")}}, "NEURALART_WRITES: names and (kind"),
        ([], {}, "none of its sources goes into flash"),
        (
            "fonts.bin",
            {"NEURALART_WRITES": {"fonts.bin": ("model", 1)}, "NEURALART_LOAD_MODES": "xip"},
            "NEURALART_LOAD_MODES, but no relocatable model among the sources (give what NeuralArtRelocatable ",
        ),
    ],
)
def test_plan_that_cannot_be(board: Any, sources: Any, variables: dict[str, Any], said: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as caught:
        board.NeuralArtFlashPlan("plan.json", sources, **variables)
    assert said in str(caught.value) and "\n" not in str(caught.value)
