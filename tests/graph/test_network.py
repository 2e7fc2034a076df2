"""``env.Network``: which files, which command, what counts as a change, what is refused."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors
import SCons.Subst

import neuralart
from neuralart import plugins
from neuralart.network.pools import default_initializers
from neuralart.resources import board_data_dir, package_parent
from neuralart.scons import failures
from neuralart.vendor import mpool
from neuralart_reference.emit.network_c import INCLUDES
from support.projects import graphs
from support.servers.messages import one_message

BOARD = "stm32n6570-dk"
MODEL = "models/digits.tflite"
POOLS = board_data_dir() / "pools" / f"{BOARD}.mpool"
_ENDLESS: dict[str, Any] = {}
_ENDLESS["cos"] = _ENDLESS


def _net(env: Any, name: str = "digits", model: Any = MODEL, board: str = BOARD, **options: Any) -> Any:
    return env.Network(name, model=model, board=board, **options)


# The line of its call, as of a line of an SConstruct.
HERE = f"{Path(__file__).name}:{_net.__code__.co_firstlineno + 1}"


def _folder_names(net: Any) -> list[str]:
    prefix = net.folder + "/"
    assert all(str(node).startswith(prefix) for node in net.files)
    return [str(node).removeprefix(prefix) for node in net.files]


# ---- targets


@pytest.mark.parametrize("board", ["stm32n6570-dk", "stm32h747i-disco"])
def test_calls_of_networks(env: Any, board: str) -> None:
    net = env.Network("net", model=MODEL, board=board)
    made = env.NetworkCalls(net)
    assert [node.name for node in made.sources] == ["neuralart_networks.c"] and made.header.name.endswith(".h")
    assert made.sources[0].sources == [net.facts], "new weights of the same network do not make them again"
    assert str(made.include_dirs[0]) == str(made.header.dir)
    assert str(env.NetworkCalls(net, folder="own").header.dir) == "own"
    with pytest.raises(SCons.Errors.UserError, match="for no board"):
        env.NetworkCalls()
    with pytest.raises(SCons.Errors.UserError, match="takes what Network returned, not 'net'"):
        env.NetworkCalls("net")


def test_targets_are_the_declared_set_and_nothing_else(env: Any) -> None:
    net = _net(env)
    assert _folder_names(net) == [
        "digits.c",
        "digits.h",
        "network.json",
        "manifest.json",
        "digits_c_info.json",
        "digits_generate_report.txt",
        "provenance.txt",
        "digits_atonbuf.xSPI2.raw",
    ]
    executor = net.c.get_executor()
    assert executor.get_all_targets() == net.files
    assert all(node.get_executor() is executor for node in net.files)


def test_raws_by_rule_are_those_of_the_pool_file(env: Any) -> None:
    pools = mpool.read(POOLS)
    assert list(_net(env).initializers) == list(default_initializers(pools)) == ["xSPI2"]


def test_raws_of_a_pool_file_without_preference_are_all(env: Any, tree: Path) -> None:
    text = POOLS.read_text("utf-8").replace('"ACC_READ"', '"ACC_WRITE"').replace(', "constants_preferred": "true"', "")
    (tree / "own.mpool").write_text(text, "utf-8")
    net = _net(env, mpool="own.mpool")
    assert list(net.initializers) == [pool.fname for pool in mpool.read(tree / "own.mpool").enabled]
    assert len(net.initializers) > 3


def test_raws_that_the_user_declares(env: Any) -> None:
    net = _net(env, initializers=["AXISRAM5", "xSPI2"])
    assert [Path(str(node)).name for node in net.initializers.values()] == [
        "digits_atonbuf.AXISRAM5.raw",
        "digits_atonbuf.xSPI2.raw",
    ]
    argv = graphs.command(net.c)
    assert argv[argv.index("--initializers") + 1] == "AXISRAM5,xSPI2"


def test_no_raw_declared(env: Any) -> None:
    net = _net(env, initializers=[])
    assert net.initializers == {}
    argv = graphs.command(net.c)
    assert argv[argv.index("--initializers") + 1] == "none"


def test_one_text_is_a_list_of_words_as_everywhere_in_scons(env: Any) -> None:
    assert list(_net(env, initializers="AXISRAM5 xSPI2").initializers) == ["AXISRAM5", "xSPI2"]
    assert graphs.command(_net(env, options="--optimization time").c).count("--optimization") == 1


def test_pool_addresses_come_from_the_pool_file(env: Any) -> None:
    addresses = _net(env).pool_address
    assert addresses["xSPI2"] == 0x7038_0000
    assert addresses["AXISRAM5"] == 0x342E_0000
    assert "AXISRAM1" not in addresses, "its size is 0"


def test_sources_and_include_folders(env: Any) -> None:
    net = _net(env)
    assert net.sources[0] is net.c
    kinds = {Path(str(node)).name for node in net.runtime_sources}
    assert {"ll_aton_runtime.c", "conv2d.c", "softmax.c"} <= kinds
    assert str(net.include_dirs[0]) == net.folder
    headers = Path(str(net.include_dirs[1]))
    assert (headers / "ll_aton.h").is_file()
    # Objects of the runtime land below the build folder, never beside the package.
    env.Tool("gcc")
    objects = [env.Object(node)[0] for node in net.runtime_sources]
    assert all(str(node).startswith(f"{net.folder}/runtime/") for node in objects)


def test_generated_c_is_not_scanned_but_its_headers_are_declared(env: Any) -> None:
    net = _net(env)
    # As SCons's own scanner gives them: opening sign, name, closing sign.
    assert set(net.c.includes) == {('"', name, '"') for name in INCLUDES}
    assert all((Path(str(net.include_dirs[1])) / name).is_file() for name in INCLUDES)


# ---- once


def test_equal_specifications_are_the_same_object(make_env: Any) -> None:
    env = make_env()
    clone = env.Clone(CCFLAGS=["-O0"])
    net = _net(env)
    assert _net(clone).c is net.c
    assert _net(env, model=env.File(MODEL)).c is net.c
    assert _net(env, model=Path(MODEL)).c is net.c
    assert _net(env, model=f"#{MODEL}").c is net.c
    assert _net(env, model=[MODEL]).c is net.c
    assert _net(env, compiler="reference", allocate_inputs=True).c is net.c
    other = _net(env, vectors="models")
    assert other.c is net.c, "what it is compared with is no part of it"
    assert (net.vectors, other.vectors) == ("", "models"), "but each keeps its own"


DIFFERENT = [
    {"name": "other"},
    {"board": "nucleo-n657x0-q"},
    {"model": "models/other.tflite"},
    {"mpool": "own.mpool"},
    {"profile": "other@own.json"},
    {"cut": {"outputs": ["probabilities"]}},
    {"input_data_type": "float32"},
    {"output_data_type": "float32"},
    {"inputs_ch_position": "chfirst"},
    {"outputs_ch_position": "chfirst"},
    {"allocate_inputs": False},
    {"allocate_outputs": False},
    {"options": ["--optimization", "time"]},
    {"initializers": ["AXISRAM5", "xSPI2"]},
]


def test_different_options_have_different_folders(env: Any, tree: Path) -> None:
    shutil.copy2(tree / MODEL, tree / "models" / "other.tflite")
    shutil.copy2(POOLS, tree / "own.mpool")
    (tree / "own.json").write_text('{"Profiles": {"other": {"memory_pool": "own.mpool"}}}', "utf-8")
    nets = [_net(env), *(_net(env, **change) for change in DIFFERENT)]
    folders = [net.folder for net in nets]
    assert len(set(folders)) == len(folders) == len(DIFFERENT) + 1
    assert len({id(net) for net in nets}) == len(nets)


def test_contents_are_no_part_of_the_folder(make_env: Any, tree: Path) -> None:
    before = _net(make_env()).folder
    (tree / MODEL).write_bytes(b"another model")
    assert _net(make_env()).folder == before


def test_the_folder_is_the_same_on_every_machine(
    make_env: Any, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the place of the tree nor that of the package is in its name."""
    from neuralart.scons import paths

    here = _net(make_env())
    moved = tmp_path / "python" / "neuralart"
    shutil.copytree(board_data_dir(), moved / "boards" / "data")
    monkeypatch.setattr(paths, "PACKAGE", moved)
    monkeypatch.setattr("neuralart.resources.PACKAGE", moved)
    for plugin in plugins.own("boards"):
        at_new_place = moved / "boards" / "data" / Path(plugin.made.path).name
        monkeypatch.setitem(plugin.made.__dict__, "path", at_new_place)
    there = _net(make_env())
    assert there is not here
    assert str(there.c.sources[1]) != str(here.c.sources[1])
    assert there.folder == here.folder
    assert graphs.signature(there.c) == graphs.signature(here.c)


# ---- the command


def test_command(env: Any) -> None:
    net = _net(env)
    assert graphs.command(net.c) == [
        sys.executable,
        "-m",
        "neuralart",
        "compile",
        "--quiet",
        "--model",
        MODEL,
        "--target",
        "stm32n6",
        "--name",
        "digits",
        "--st-neural-art",
        f"default@{board_data_dir() / 'profiles' / (BOARD + '.json')}",
        "--initializers",
        "xSPI2",
        "--force",
        "--output",
        net.folder,
    ]


def test_options_in_the_command(env: Any, tree: Path) -> None:
    shutil.copy2(POOLS, tree / "own.mpool")
    net = _net(
        env,
        mpool="own.mpool",
        cut={"outputs": ["a b", "c;d"]},
        input_data_type="uint8",
        output_data_type="float32",
        inputs_ch_position="chfirst",
        outputs_ch_position="chlast",
        allocate_inputs=False,
        allocate_outputs=False,
        options=["--optimization", "$$x y"],  # as everywhere in SCons
    )
    argv = graphs.command(net.c)
    start = argv.index("--mpool")
    assert argv[start : argv.index("--initializers")] == [
        "--mpool",
        "own.mpool",
        "--cut",
        "a b,c;d",
        "--input-data-type",
        "uint8",
        "--output-data-type",
        "float32",
        "--inputs-ch-position",
        "chfirst",
        "--outputs-ch-position",
        "chlast",
        "--no-inputs-allocation",
        "--no-outputs-allocation",
        "--optimization",
        "$x y",
    ]
    assert "--st-neural-art" not in argv


@pytest.mark.parametrize("name", ["a model.tflite", "$x $(y) m.tflite", "été.tflite", "a;b&c'd.tflite", "$$.tflite"])
def test_odd_names_stay_one_word(env: Any, tree: Path, name: str) -> None:
    shutil.copy2(tree / MODEL, tree / "models" / name)
    net = _net(env, model=Path("models") / name)
    argv = graphs.command(net.c)
    assert argv[argv.index("--model") + 1] == f"models/{name}"
    assert str(net.c.sources[0]) == f"models/{name}"


def test_odd_name_of_a_node(env: Any, tree: Path) -> None:
    node = env.Command("models/a $$made model.tflite", MODEL, "cp $SOURCE $TARGET")
    net = _net(env, model=node)
    assert net.c.sources[0] is node[0], "a model may be built"
    argv = graphs.command(net.c)
    assert argv[argv.index("--model") + 1] == "models/a $made model.tflite"


def test_model_outside_the_tree(env: Any, tree: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "models elsewhere" / "m.tflite"
    elsewhere.parent.mkdir()
    shutil.copy2(tree / MODEL, elsewhere)
    net = _net(env, model=str(elsewhere))
    argv = graphs.command(net.c)
    assert argv[argv.index("--model") + 1] == str(elsewhere)
    assert str(tmp_path).encode() not in graphs.signature(net.c)


def test_signature_names_no_folder_of_this_machine(env: Any) -> None:
    net = _net(env)
    signature = graphs.signature(net.c).decode()
    assert signature.startswith("-m neuralart compile --quiet --model models/digits.tflite ")
    assert not [word for word in signature.split() if os.path.isabs(word.split("@")[-1])]  # noqa: PTH117 - of a word


def test_another_python_is_no_change(make_env: Any) -> None:
    one = _net(make_env())
    other = _net(make_env(NEURALART_PYTHON=["/another python"]))
    assert graphs.command(other.c)[0] == "/another python"
    assert graphs.signature(one.c) == graphs.signature(other.c)


def test_what_the_compile_depends_on(env: Any) -> None:
    net = _net(env)
    assert [Path(str(node)).name for node in net.c.sources] == ["digits.tflite", f"{BOARD}.json"]
    assert [Path(str(node)).name for node in graphs.scanned(net.c)] == [f"{BOARD}.mpool"]
    assert [node.name for node in net.c.depends] == ["compiler-code", "what was made"]


def test_the_code_of_the_compiler_counts(make_env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import neuralart.scons.network.builder as module

    before = _net(make_env()).c.depends[0].get_csig()
    assert _net(make_env()).c.depends[0].get_csig() == before
    monkeypatch.setattr(module, "fingerprint", lambda *_: "another code")
    assert _net(make_env()).c.depends[0].get_csig() != before


def test_no_variable_of_the_command_is_undefined(env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    net = _net(env)
    monkeypatch.setattr(SCons.Subst, "AllowableExceptions", ())
    with pytest.raises(SCons.Errors.UserError, match="NameError"):
        env.subst("$NO_SUCH_VARIABLE")
    assert graphs.command(net.c)
    executor = net.c.get_executor()
    for action in graphs.actions(net.c):
        text = action.strfunction(executor.get_all_targets(), executor.get_all_sources(), executor.get_build_env())
        assert text or action.cmdstr is None


# ---- the consumer's own


@pytest.mark.parametrize("folder", ["out/neural art", "#out/neural art", "$OUT/neural art/", "out/./neural art"])
def test_build_folder_is_the_consumers(make_env: Any, folder: str) -> None:
    net = _net(make_env(NEURALART_BUILD_DIR=folder, OUT="out"))
    assert net.folder.startswith("out/neural art/networks/digits-")
    assert all(str(node).startswith(net.folder + "/") for node in net.files)
    assert graphs.command(net.c)[-1] == net.folder


@pytest.mark.parametrize("folder", ["/somewhere/else", "C:/else", "", ".", "..", "build/../..", "#/"])
def test_build_folder_outside_the_tree_is_refused(make_env: Any, folder: str) -> None:
    with pytest.raises(SCons.Errors.UserError, match="NEURALART_BUILD_DIR"):
        _net(make_env(NEURALART_BUILD_DIR=folder))


def test_values_set_before_or_with_the_tool_win(tree: Path) -> None:
    import SCons.Environment

    env = SCons.Environment.Environment(tools=[], NEURALART_BUILD_DIR="mine", CC="mycc", CCFLAGS=["-mine"])
    neuralart.generate(env, NEURALART_VERBOSE=True)
    assert (env["NEURALART_BUILD_DIR"], env["NEURALART_VERBOSE"]) == ("mine", True)
    assert (env["CC"], env["CCFLAGS"]) == ("mycc", ["-mine"])
    neuralart.generate(env)
    assert env["NEURALART_BUILD_DIR"] == "mine"


def test_environment_of_the_command(make_env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(["/user/bin", "/both"]))
    monkeypatch.setenv("STEDGEAI_CORE_DIR", "/st")
    monkeypatch.setenv("HOME", "/user")
    monkeypatch.setenv("SECRET", "x")
    env = make_env(ENV={"PATH": os.pathsep.join(["/own/bin", "/both"]), "HOME": "/own", "PYTHONPATH": "/own/python"})
    child = _net(env).c.get_executor().get_build_env()["ENV"]
    assert child["PATH"].split(os.pathsep) == ["/own/bin", "/both", "/user/bin"]
    assert child["HOME"] == "/own", "the consumer's value wins"
    assert child["STEDGEAI_CORE_DIR"] == "/st"
    assert child["PYTHONPATH"].split(os.pathsep) == [str(package_parent()), "/own/python"]
    assert "SECRET" not in child
    assert env["ENV"]["HOME"] == "/own" and "STEDGEAI_CORE_DIR" not in env["ENV"], "ours does not leak into theirs"


def test_from_an_sconscript_below(env: Any, tree: Path) -> None:
    """Names are relative to the SConscript that says them; boards of the user's own to the top folder."""
    (tree / "boards").mkdir()
    own = f"schema: 1\nbase: {BOARD}\ntitle: Mine\n"
    (tree / "boards" / "mine.yaml").write_text(own, "utf-8")
    env["NEURALART_BOARD_FILES"] = ["boards/mine.yaml"]
    (tree / "sub").mkdir()
    shutil.copy2(tree / MODEL, tree / "sub" / "m.tflite")
    env.fs.chdir(env.Dir("sub"), change_os_dir=True)
    try:
        net = _net(env, model="m.tflite", board="mine")
        assert Path(net.c.sources[0].get_abspath()) == tree / "sub" / "m.tflite"
        assert _net(env, model=Path("m.tflite"), board="mine").c is net.c
        assert _net(env, model="#sub/m.tflite", board="mine").c is net.c
        assert _net(env, model=env.File("m.tflite"), board="mine").c is net.c
        assert net.folder.startswith("build/networks/digits-mine-")
    finally:
        env.fs.chdir(env.Dir("#"), change_os_dir=True)


# ---- refusals


def _refused(env: Any, *words: str, **options: Any) -> str:
    with pytest.raises(SCons.Errors.UserError) as caught:
        _net(env, **options)
    text = str(caught.value)
    one_message(text)
    for word in words:
        assert word in text, text
    return text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"imputs_ch_position": "chlast"},
            ["unknown key 'imputs_ch_position' in networks.digits", "did you mean 'inputs_ch_position'"],
        ),
        (
            {"model": "models/none.tflite"},
            [f"{HERE}: model 'models/none.tflite' does not exist (did you mean 'models/digits.tflite'?)"],
        ),
        ({"model": []}, ["one model, not 0"]),
        ({"model": ["a", "b"]}, ["one model, not 2"]),
        ({"board": "stm32n6750-dk"}, ["no board 'stm32n6750-dk'", "did you mean 'stm32n6570-dk'"]),
        ({"compiler": "refrence"}, ["networks.digits.compiler: 'refrence' is not allowed", "did you mean 'reference'"]),
        ({"name": "my-net"}, ["'my-net' is not a C identifier"]),
        ({"name": "2nd"}, ["not a C identifier"]),
        ({"name": 3}, ["3 is not a C identifier"]),
        ({"mpool": "none.mpool"}, ["memory-pool file 'none.mpool' does not exist"]),
        ({"profile": "none.json"}, ["profile 'none.json' does not exist"]),
        ({"initializers": ["xSPI3"]}, ["no pool 'xSPI3'", "did you mean 'xSPI2'"]),
        ({"initializers": ["AXISRAM1"]}, ["pool AXISRAM1 is disabled, its size is 0"]),
        ({"initializers": 3}, ["networks.digits.initializers: must be a list"]),
        ({"strategies": {"xSPI2": "flsh"}}, ["networks.digits.strategies.xSPI2: 'flsh' is not allowed", "'flash'?"]),
        ({"strategies": {"xSP2": "flash"}}, ["strategies of network digits: no pool 'xSP2'", "did you mean 'xSPI2'?"]),
        ({"strategies": {"AXISRAM5": "link"}}, ["pool AXISRAM5 has no initializer", "[xSPI2, AXISRAM5] declares it"]),
        ({"strategies": "flash"}, ["networks.digits.strategies: must be a mapping"]),
        ({"input_data_type": "floot"}, ["networks.digits.input_data_type: 'floot' is not a data type (known: float32"]),
        ({"inputs_ch_position": "middle"}, ["networks.digits.inputs_ch_position: 'middle' is not allowed", "chlast"]),
        ({"allocate_inputs": "no"}, ["networks.digits.allocate_inputs: must be true or false, this is 'no'"]),
        ({"vectors": 3}, ["networks.digits.vectors: 3 is a number in YAML, this must be text"]),
        ({"vectors": object()}, ["networks.digits.vectors: must be text, a number or a list, not object"]),
        ({"mpool": ["a", "b"]}, ["networks.digits.mpool: must be text, this is a list"]),
        ({"options": [4]}, ["networks.digits.options[0]: 4 is a number in YAML"]),
        ({"check": {"cos": 10**5000}}, ["a number has thousands of digits"]),
        ({"check": {"cos": {1: 2}}}, ["a key must be text, this is 1"]),
        ({"check": _ENDLESS}, ["nested deeper than 100 levels"]),
        ({"app_config": {}}, ["unknown key 'app_config' in networks.digits"]),
    ],
)
def test_refused(env: Any, options: dict[str, Any], words: list[str]) -> None:
    _refused(env, HERE, *words, **options)


def test_unknown_options_are_not_offered_what_is_no_option(env: Any) -> None:
    text = _refused(env, "unknown key 'place'", place="x")
    assert "where" not in text and "places" not in text


@pytest.mark.parametrize("kind", ["mpool", "profile"])
def test_what_names_the_targets_must_not_be_built(env: Any, tree: Path, kind: str) -> None:
    env.Command("made.file", [], "touch $TARGET")
    _refused(env, "'made.file' is itself built by this SConstruct", "make it a source file", **{kind: "made.file"})


def test_pool_file_of_the_profile_must_not_be_built(env: Any, tree: Path) -> None:
    shutil.copy2(POOLS, tree / "made.mpool")
    env.Command("made.mpool", [], "touch $TARGET")
    (tree / "own.json").write_text('{"Profiles": {"default": {"memory_pool": "made.mpool"}}}', "utf-8")
    _refused(env, "made.mpool' is itself built by this SConstruct", profile="own.json")


def test_wrong_pool_file_is_said_when_it_is_read(env: Any, tree: Path) -> None:
    (tree / "bad.mpool").write_text('{"memory": {},}', "utf-8")
    _refused(env, "bad.mpool:1:", mpool="bad.mpool")


def test_a_name_that_the_system_refuses_is_one_line(env: Any) -> None:
    """Long names in files are refused where they stand; of what is left, the system's words are given."""
    name = "a" * 300

    @failures.at_read_time
    def read() -> object:
        return Path(name).stat()

    @failures.in_action
    def act(target: list[Any], source: list[Any], env: Any) -> object:
        return read.__wrapped__()  # type: ignore[attr-defined]

    said = f"{name}: cannot use it: File name too long"
    with pytest.raises(SCons.Errors.UserError) as refused:
        read()
    assert str(refused.value) == said
    with pytest.raises(SCons.Errors.BuildError) as failed:
        act([], [], env)
    assert failed.value.errstr == said


def test_errors_of_a_profile_name_it(env: Any, tree: Path) -> None:
    (tree / "own.json").write_text('{"Profiles": {"fast": {"memory_pool": "x.mpool"}}}', "utf-8")
    _refused(env, "own.json", "fast", profile="fats@own.json")
