"""``env.Network`` with ST Edge AI Core and with recordings: files, command, who compiles, what is refused."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors

from neuralart import cli
from neuralart.config.application import ELF, ApplicationConfig
from neuralart.config.patch import PatchConfig
from neuralart.config.types import NetworkConfig, RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import board_data_dir
from neuralart.scons import node_plans
from neuralart.scons.registry import child_environment
from neuralart.text.values import Location
from neuralart.toolchain import Toolchain
from support.fake_stedgeai import VERSIONS, add_profiles, calls, install
from support.projects import graphs
from support.servers.messages import one_message

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the made-up tool is a shell script")
BOARD = "stm32n6570-dk"
CONTROLLER = "--enable-epoch-controller"


def _net(env: Any, name: str = "net", compiler: Any = "stedgeai", profile: Any = "default@nets/na.json", **more: Any):
    return env.Network(name, model="nets/net.tflite", board=BOARD, compiler=compiler, profile=profile, **more)


# The line of its call, as of a line of an SConstruct.
HERE = f"{Path(__file__).name}:{_net.__code__.co_firstlineno + 1}"


def _files(net: Any) -> set[str]:
    assert all(str(node).startswith(net.folder + "/") for node in net.files)
    return {str(node).removeprefix(net.folder + "/") for node in net.files}


def refusal(call: Any, *words: Any, **named: Any) -> str:
    with pytest.raises(SCons.Errors.UserError) as caught:
        call(*words, **named)
    text = str(caught.value)
    one_message(text)
    return text


# ---- files

ALWAYS = {"net.c", "net_c_info.json", "net_generate_report.txt", "network.json", "manifest.json", "provenance.txt"}
ALWAYS |= {"net_atonbuf.xSPI2.raw"}
OWN = {
    "2.0.0": {"net_OE_3_1_0.onnx", "net_OE_3_1_0_Q.json"},
    "2.1.0": {"net_OE_3_2_0.onnx", "net_OE_3_2_0_Q.json"},
    "2.2.0": {"net_OE_3_3_0.onnx", "net_OE_3_3_0_Q.json", "net.h"},
    "3.0.0": {"net_OE_3_3_1.onnx", "net_OE_3_3_1_Q.json", "net.h", "stai_net.c", "stai_net.h"},
}
OWN["4.0.0"] = OWN["4.0.1"] = OWN["3.0.0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_each_version(env: Any, tool: Any, version: str) -> None:
    tool(version)
    net = _net(env)
    assert _files(net) == ALWAYS | OWN[version]
    assert _files(_net(env, profile="blobs@nets/na.json")) == ALWAYS | OWN[version] | {"net_ecblobs.h"}
    executor = net.c.get_executor()
    assert set(executor.get_all_targets()) == set(net.files)
    assert (net.compiler, net.runtime, net.runtime_sources) == ("stedgeai", "ll_aton", [])
    assert (net.header is None) == (version < "2.2")
    assert [Path(str(node)).name for node in net.sources] == ["net.c", *(["stai_net.c"] if version >= "3" else [])]
    assert [str(folder) for folder in net.include_dirs] == [net.folder]
    assert not calls(Path(executor.get_build_env()["ENV"]["STEDGEAI_CORE_DIR"]), "generate"), "reading runs nothing"


def test_the_epoch_controller_by_edits_of_the_profile(env: Any, tool: Any) -> None:
    tool()

    def header(profile: Any) -> bool:
        return "net_ecblobs.h" in _net(env, profile=profile).more

    plain, blobs = "default@nets/na.json", "blobs@nets/na.json"
    assert not header(plain)
    assert header({"base": plain, "add": [CONTROLLER]})
    assert header({"base": plain, "add": CONTROLLER})
    assert header(blobs)
    assert not header({"base": blobs, "remove": [CONTROLLER]})
    assert header({"base": blobs, "add": ["-O3"]})


def test_edits_are_words_of_the_command_and_of_the_folder(env: Any, tool: Any) -> None:
    tool()
    base = "default@nets/na.json"
    edited = {"base": base, "add": ["--Oauto", "--Omax-ca-pipe 4"], "remove": ["--Os"]}
    nets = [_net(env), _net(env, profile=edited), _net(env, extra_options="--new $$3")]
    assert len({net.folder for net in nets}) == 3
    words = graphs.command(nets[1].c)
    at = words.index("--profile-add=--Oauto")
    # A text is a list of words, as everywhere in SCons; the list's items stay as they are.
    assert words[at : at + 3] == ["--profile-add=--Oauto", "--profile-add=--Omax-ca-pipe 4", "--profile-remove=--Os"]
    words = graphs.command(nets[2].c)
    assert words[words.index("--extra-options=--new") + 1] == "--extra-options=$3"


def test_an_edit_that_does_not_fit_is_refused_when_the_sconstruct_is_read(env: Any, tool: Any) -> None:
    tool()
    said = refusal(_net, env, profile={"base": "default@nets/na.json", "remove": ["--Oauto"]})
    assert "'--Oauto' is not in the profile" in said and "known: " in said


def test_c_with_an_address_is_an_image(env: Any, tool: Any) -> None:
    """Nothing would put C to an address: the constants are a raw file, as of every other format."""
    tool()
    net = _net(env, profile="code@nets/na.json")
    assert _files(net) == _files(_net(env))
    images = env.MemoryInitializers(net).images
    assert [(each.pool, each.address) for each in images if each.pool] == [("xSPI2", 0x70380000)]


def test_c_is_not_flashed_as_weights(env: Any, tool: Any) -> None:
    tool()
    assert not [node for node in _net(env).code if "atonbuf" in str(node)], "a raw file is no code"
    # Where the linker may choose the place, it is code and nothing else.
    net = _net(env, profile="linked@nets/na.json")
    assert [node.name for node in net.code if "atonbuf" in str(node)] == ["net_atonbuf.xSPI2.c"]
    assert not [node for node in env.MemoryInitializers(net).files if "xSPI2" in str(node)]
    for strategies, text in (({"xSPI2": "flash"}, "strategy flash takes a raw file"), ({"xSPI2": "link"}, "")):
        net = _net(env, profile="linked@nets/na.json", strategies=strategies)
        if text:
            assert text in refusal(env.MemoryInitializers, net)
        else:
            env.MemoryInitializers(net)


def test_pools_in_hex_have_the_same_files(env: Any, tool: Any) -> None:
    tool()
    assert _files(_net(env, profile="hex@nets/na.json")) == _files(_net(env))


H7 = "stm32h747i-disco"
OF_A_CORE = (ALWAYS - {"net_atonbuf.xSPI2.raw"}) | {"net.h", "net_data.c", "net_data.h"}
LEGACY = {"net_config.h", "net_data_params.c", "net_data_params.h"}


def _core(env: Any, board: str = H7, compiler: Any = "stedgeai", **more: Any) -> Any:
    return env.Network("net", model="nets/net.tflite", board=board, compiler=compiler, **more)


@pytest.mark.parametrize(
    ("options", "own"),
    [
        ([], LEGACY),
        (["--c-api", "st-ai"], {"net_details.h"}),
        (["--binary", "--address", "0x90000000", "--copy-weights-at", "0xd0000000"], {*LEGACY, "net_data.bin"}),
        (["--c-api", "st-ai", "--split-weights"], {"net_details.h"}),
    ],
)
def test_a_network_for_a_core(env: Any, tool: Any, options: list[str], own: set[str]) -> None:
    """All files are declared; the options stand behind the API that applications of this board are written for."""
    tool()
    net = _core(env, options=options)
    assert _files(net) == OF_A_CORE | own
    assert (net.runtime, net.runtime_sources) == ("network_runtime", [])
    assert {Path(str(node)).suffix for node in net.code} == {".c"}
    words = graphs.command(net.c[0])
    at = words.index("--c-api")
    assert words[at + 2 : at + 2 + len(options)] == options
    assert words[words.index("--target") + 1] == "stm32h7" and words[words.index("--compiler") + 1] == "stedgeai"
    assert _core(env, compiler="auto", options=options).folder == net.folder


def test_networks_for_cores_of_other_series(env: Any, tool: Any, tree: Path) -> None:
    tool()
    (tree / "mine.yaml").write_text("schema: 1\nbase: stm32h747i-disco\ntarget: stm32u5\n")
    env["NEURALART_BOARD_FILES"] = ["mine.yaml"]
    words = graphs.command(_core(env, "mine").c[0])
    assert words[words.index("--target") + 1] == "stm32u5"


def test_what_a_network_for_a_core_cannot_be(env: Any, tool: Any) -> None:
    tool()
    assert "'--binary' is not allowed here" in refusal(_core, env, compiler="reference", options=["--binary"])
    assert "'profile' means nothing for board stm32h747i-disco" in refusal(_core, env, profile="a@nets/na.json")
    variant = VariantConfig("v", "", H7, "", (_core(env).config,), patch=PatchConfig(aspect_ratio="crop"))
    said = refusal(env.NeuralArtVariant, variant)
    assert "runtime network_runtime, which programs that are linked here do not have" in said


def _of_core(env: Any, *options: str, name: str = "v") -> Any:
    app = ApplicationConfig(ELF, elf="app.elf", places={"": "variants.yaml:3"})
    config = _core(env, options=[*options]).config
    return env.NeuralArtVariant(VariantConfig(name, "", H7, "silicon", (config,), application=app))


@pytest.mark.parametrize("words", [("--address", "0x90010000"), ("--address=2415984640",)])
def test_constants_of_a_core_that_are_written(env: Any, tool: Any, gcc: Toolchain, words: tuple[str, ...]) -> None:
    """The file and its address are a write of the flash plan, and the effects on the flash have something to do."""
    tool()
    made = _of_core(env, "--binary", *words)
    assert made.flash is not None and made.flash.application is None
    (part,) = [node_plans.known(node, node_plans.FilePart) for node in [made.flash.plan]]
    (write,) = part.data[1]
    assert (write.name, write.kind, write.address) == ("net.weights", "model", 0x90010000)
    assert str(write.node) == "build/v/net_data.bin" and graphs.names(write.node.sources)[0].endswith("/net_data.bin")
    assert {"build/v/net_data.bin", "build/v/flash_plan.json"} <= {*graphs.names(made.index.sources)}
    for verb in ("flash", "flash-model", "verify"):
        assert node_plans.known(made.effects[verb][0], NeuralArtError) is None, verb
    said = node_plans.known(made.effects["flash-application"][0], NeuralArtError)
    assert said is not None and "no boot chain" in str(said)


def test_constants_of_a_core_that_go_elsewhere(env: Any, tool: Any, gcc: Toolchain) -> None:
    tool()
    for name, words in {"a": (), "b": ("--binary",), "c": ("--binary", "--address", "0x08100000")}.items():
        assert _of_core(env, *words, name=name).flash is None
    assert "options: --address: 'QSPI' is no address (for example 0x90000000)" in refusal(
        _of_core, env, "--binary", "--address", "QSPI"
    )


def test_the_table_of_epochs(env: Any, tool: Any) -> None:
    tool()
    assert "net.csv" in _net(env, profile="csv@nets/na.json").more


# ---- the pair


def test_the_pair_has_a_folder_of_its_own_and_no_blobs(env: Any, tool: Any) -> None:
    tool()
    net = _net(env, profile="blobs@nets/na.json", pair="profiling")
    pair = net.pair
    assert pair.folder != net.folder and pair.pair is None
    assert _files(net) - _files(pair) == {"net_ecblobs.h"}
    assert "--pair" not in graphs.command(net.c)
    words = graphs.command(pair.c)
    assert words[words.index("--pair") + 1] == "profiling"
    alone = _net(env, profile="blobs@nets/na.json")
    assert alone.c is net.c and alone.pair is None


def test_the_pair_of_the_reference_compiler(env: Any, nets: Path) -> None:
    net = _net(env, compiler="reference", profile="blobs@nets/na.json", pair="profiling")
    assert net.pair.folder != net.folder
    assert _files(net) == _files(net.pair)


# ---- the command


def test_command(env: Any, tool: Any) -> None:
    tool()
    net = _net(env, compiler={"stedgeai": "4.0.*"}, input_data_type="uint8", failures="nets/na.json")
    assert graphs.command(net.c) == [
        *(sys.executable, "-m", "neuralart", "compile", "--quiet", "--model", "nets/net.tflite", "--target", "stm32n6"),
        *("--name", "net", "--st-neural-art", "default@nets/na.json", "--input-data-type", "uint8"),
        *("--compiler", "stedgeai", "--compiler-version", "4.0.*", "--failures", "nets/na.json"),
        *("--tool-cache", "build/.stedgeai.json", "--initializers", "xSPI2", "--force", "--output", net.folder),
    ]


def test_what_the_compile_depends_on(env: Any, tool: Any) -> None:
    tool()
    net = _net(env, profile="described@nets/na.json")
    names = [Path(str(node)).name for node in net.c.sources]
    assert names == ["net.tflite", "na.json", "my n6.mdesc"]
    assert [Path(str(node)).name for node in graphs.scanned(net.c)] == ["n6.mpool"]
    values = {node.name: str(node.get_contents(), "utf-8") for node in net.c.depends}
    assert set(values) == {"compiler-code", "compiler", "what was made"}
    assert values["compiler"] == "compiler: ST Edge AI Core 4.0.1-20581 7ed50de05"


def test_where_the_tool_is_does_not_matter(make_env: Any, tool: Any, tmp_path: Path) -> None:
    def made(folder: str) -> tuple[str, bytes, list[str]]:
        tool("4.0.1", folder)
        net = _net(make_env())
        return net.folder, graphs.signature(net.c), [node.get_csig() for node in net.c.depends]

    here = made("here")
    assert made("the re") == here
    assert str(tmp_path).encode() not in here[1]


def test_another_version_is_another_folder(make_env: Any, tool: Any) -> None:
    folders = []
    for version in VERSIONS:
        tool(version)
        folders.append(_net(make_env()).folder)
    assert len(set(folders)) == len(folders)


def test_the_folder_is_the_same_in_another_tree(
    make_env: Any, tool: Any, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool()
    here = _net(make_env(), pair="profiling")
    shutil.copytree(tree, tmp_path / "another tree")
    monkeypatch.chdir(tmp_path / "another tree")
    there = _net(make_env(), pair="profiling")
    assert (there.folder, there.pair.folder) == (here.folder, here.pair.folder)
    assert graphs.signature(there.c) == graphs.signature(here.c)


def test_the_version_is_asked_once(make_env: Any, tool: Any) -> None:
    root = tool()
    for _ in range(2):
        env = make_env()
        for name in ("one", "two"):
            _net(env, name)
    assert len(calls(root, "--version")) == 1, "and remembered in the build folder"


def test_the_words_of_a_path_stay_one(env: Any, tool: Any, tree: Path) -> None:
    tool()
    shutil.copytree(tree / "nets", tree / "a $net; b")
    net = env.Network(
        "net", model=Path("a $net; b/net.tflite"), board=BOARD, compiler="stedgeai", failures=Path("a $net; b/na.json")
    )
    words = graphs.command(net.c)
    assert words[words.index("--failures") + 1] == "a $net; b/na.json"
    assert words[words.index("--model") + 1] == "a $net; b/net.tflite"


def test_a_model_that_is_built(env: Any, tool: Any) -> None:
    tool()
    node = env.Command("out/made.v2.256.tflite", "nets/net.tflite", "cp $SOURCE $TARGET")
    net = env.Network("net", model=node, board=BOARD, compiler="stedgeai", profile="default@nets/na.json")
    assert net.c.sources[0] is node[0]
    assert "made.v2.256_OE_3_3_1.onnx" in net.more, "only the last ending goes"


# ---- which installation


def test_a_pin_that_no_installation_fits_is_one_line_with_the_trail(env: Any, tool: Any) -> None:
    root = tool("2.2.0")
    said = refusal(_net, env, compiler={"stedgeai": "4.0.*"})
    assert f"{HERE}: no ST Edge AI Core 4.0.* found; looked at " in said
    for word in (f"STEDGEAI_CORE_DIR={root}: 2.2.0-20266", "PATH: none", "nowhere: none", "install it, or set"):
        assert word in said, said


def test_no_tool_at_all(env: Any, nets: Path) -> None:
    said = refusal(_net, env)
    assert f"{HERE}: no ST Edge AI Core found; looked at STEDGEAI_CORE_DIR: not set; PATH" in said
    assert not Path("build").exists()


def test_the_line_of_the_project_file_is_named(env: Any, nets: Path) -> None:
    config = NetworkConfig("net", "nets/net.tflite", "stedgeai", places={"compiler": Location("variants.yaml", 7)})
    said = refusal(env.NeuralArtVariant, VariantConfig("v", "V", BOARD, "", (config,)))
    assert said.startswith("variants.yaml:7: no ST Edge AI Core found")


def test_a_core_dir_without_the_tool(env: Any, nets: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEDGEAI_CORE_DIR", str(tmp_path))
    for compiler in ("stedgeai", "auto"):
        said = refusal(_net, env, compiler=compiler)
        assert "no ST Edge AI Core in it" in said and "unset it to search the usual places" in said


def test_the_consumers_environment_wins(make_env: Any, tool: Any) -> None:
    other = tool("2.2.0")
    tool("4.0.1")
    env = make_env(ENV={"STEDGEAI_CORE_DIR": str(other)})
    net = _net(env)
    assert "net_OE_3_3_0.onnx" in net.more
    seen = net.c.get_executor().get_build_env()["ENV"]
    assert seen["STEDGEAI_CORE_DIR"] == str(other)


def test_the_command_looks_where_the_sconstruct_did(
    env: Any, nets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every variable by which an installation is found, and how long it may take, reaches the command."""
    install(tmp_path / "roots" / "4.0", "4.0.0")
    monkeypatch.setenv("NEURALART_STEDGEAI_ROOTS", str(tmp_path / "roots"))
    monkeypatch.setenv("NEURALART_STEDGEAI_PATIENCE", "77")
    monkeypatch.setenv("NEURALART_FAILURES", "ours.yaml")
    seen = _net(env).c.get_executor().get_build_env()["ENV"]
    assert seen["NEURALART_STEDGEAI_ROOTS"] == str(tmp_path / "roots")
    assert (seen["NEURALART_STEDGEAI_PATIENCE"], seen["NEURALART_FAILURES"]) == ("77", "ours.yaml")
    assert "PYTEST_CURRENT_TEST" not in child_environment({})
    # Commands of builders get it twice; those of aliases and those that a watcher has loaded before, once.
    assert child_environment(child_environment({})) == child_environment({})


def test_a_profile_of_the_compilers_own(env: Any, make_env: Any, tool: Any, nets: Path) -> None:
    root = tool()
    own = "profile-allmems--O3"
    said = refusal(_net, env, profile=own)
    assert "is a profile of ST Edge AI Core, and the installation has no neural_art.json (name a file" in said
    file = add_profiles(root, (nets / "pools/n6.mpool").read_text())
    net = _net(make_env(), profile=own)
    words = graphs.command(net.c)
    assert words[words.index("--st-neural-art") + 1] == own
    assert {str(file), str(file.parent / "mpools/stm32n6.mpool")} <= {
        str(n) for n in [*net.c.sources, *graphs.scanned(net.c)]
    }
    assert _files(net) == ALWAYS | OWN["4.0.1"]
    assert "no profile 'most'" in refusal(_net, make_env(), profile="profile-most")
    # The compiler of this package has them, too.
    words = graphs.command(_net(make_env(), compiler="reference", profile=own).c)
    assert words[words.index("--st-neural-art") + 1].startswith("allmems--O3@")


def test_another_time_limit_is_no_other_compile(env: Any, make_env: Any, tool: Any) -> None:
    tool()
    net = _net(env, timeout=90)
    words = graphs.command(net.c)
    assert words[words.index("--timeout") + 1] == "90"
    assert b"--timeout" not in graphs.signature(net.c)
    assert net.folder == _net(make_env(), timeout=4.5).folder == _net(make_env()).folder


def test_auto_without_a_tool_is_the_reference_compiler(env: Any, nets: Path) -> None:
    net = _net(env, compiler="auto", extra_options=["--new"], failures="nets/na.json")
    assert net.compiler == "reference"
    assert net.c is _net(env, compiler="reference").c
    assert "--compiler" not in graphs.command(net.c)


def test_auto_with_a_tool_is_the_tool(env: Any, tool: Any) -> None:
    tool("3.0.0")
    net = _net(env, compiler="auto")
    assert net.compiler == "stedgeai"
    assert net.c is _net(env, compiler="stedgeai").c


def test_auto_never_comes_by_itself(env: Any, tool: Any) -> None:
    root = tool()
    assert env.Network("net", model="nets/net.tflite", board=BOARD).compiler == "reference"
    assert not calls(root)


# ---- how many at once


def test_vendor_compiles_are_bound_to_slots(env: Any, tool: Any) -> None:
    tool()
    nets = [_net(env, f"n{number}", pair="profiling") for number in range(12)]
    slots = [node for net in nets for each in (net, net.pair) for node in each.c.side_effects]
    assert len(slots) == 24, "each has one"
    assert {str(node.value) for node in slots} == {"compile slot 0", "compile slot 1"}
    for net in nets:
        assert {id(node.side_effects[0]) for node in net.files} == {id(net.c.side_effects[0])}
    assert not _net(env, compiler="reference").c.side_effects


# ---- recordings


@pytest.fixture
def recording(tool: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Recorded with 3.0.0, which is gone then."""
    tool("3.0.0")
    words = ["--model", "nets/net.tflite", "--target", "stm32n6", "--name", "net", "--output", "made"]
    words += ["--st-neural-art", "default@nets/na.json", "--initializers", "xSPI2", "--tool-cache", "cache.json"]
    assert cli.main(["record", "--recording", "recordings/net", *words]) == 0
    capsys.readouterr()
    monkeypatch.delenv("STEDGEAI_CORE_DIR")
    return Path("recordings/net")


def test_a_recording_needs_no_tool(env: Any, recording: Path) -> None:
    net = _net(env, compiler={"recorded": "recordings/net"})
    assert (net.compiler, net.runtime) == ("recorded", "ll_aton")
    assert _files(net) == ALWAYS | OWN["3.0.0"]
    words = graphs.command(net.c)
    at = words.index("--compiler")
    assert words[at : at + 4] == ["--compiler", "recorded", "--recording", "recordings/net"]
    assert "--tool-cache" not in words and "--compiler-version" not in words
    assert not net.c.side_effects, "it is quick"


def test_all_of_a_recording_is_a_source(env: Any, recording: Path) -> None:
    net = _net(env, compiler={"recorded": "recordings/net"})
    said = refusal(_net, env, compiler={"recorded": "recordings/net"}, profile="profile-allmems--O3")
    assert "and a recording has no profiles" in said
    kept = {path.as_posix() for path in recording.rglob("*") if path.is_file()}
    assert len(kept) > 10
    assert kept <= {str(node) for node in net.c.sources}


def test_no_recording(env: Any, recording: Path, tree: Path) -> None:
    said = refusal(_net, env, compiler={"recorded": "recordings"})
    assert "recordings: no recording: there is no recording.json" in said
    (recording / "recording.json").write_text("{")
    assert "is no recording" in refusal(_net, env, compiler={"recorded": "recordings/net"})


def test_a_path_of_a_recording_is_the_sconscripts(env: Any, recording: Path, tree: Path) -> None:
    here = _net(env, compiler={"recorded": Path("recordings/net")})
    assert here.c is _net(env, compiler={"recorded": env.Dir("recordings/net")}).c
    assert here.c is _net(env, compiler={"recorded": "#recordings/net"}).c


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compiler": "stedgai"}, ["networks.net.compiler: 'stedgai' is not allowed", "did you mean 'stedgeai'?"]),
        ({"compiler": "recorded"}, ["names no recording"]),
        ({"compiler": {"recorded": ""}}, ["compiler.recorded: is empty"]),
        ({"compiler": {"recorded": None}}, ["compiler.recorded: must be text", "not None"]),
        ({"compiler": {"stedgeai": 4}}, ["compiler.stedgeai: 4 is a number in YAML, this must be text"]),
        ({"compiler": {"stedgeai": "new"}}, ["'new' is not a version"]),
        ({"compiler": {"stedgeai": ""}}, ["compiler.stedgeai: is empty"]),
        ({"compiler": {"stedgeai": "4", "recorded": "x"}}, ["compiler: names no compiler, or several"]),
        ({"compiler": {}}, ["compiler: names no compiler, or several"]),
        ({"compiler": ["stedgeai"]}, ["compiler: must be text, this is a list"]),
        ({"compiler": {"auto": "4"}}, ["unknown key 'auto' in networks.net.compiler"]),
        ({"profile": {"bass": "x"}}, ["unknown key 'bass' in networks.net.profile", "did you mean 'base'?"]),
        (
            {"profile": {"base": "default@nets/na.json", "add": [4]}},
            ["profile.add[0]: 4 is a number in YAML, this must be text"],
        ),
        ({"compiler": "reference", "extra_options": ["-x"]}, ["extra_options means nothing to the reference"]),
        ({"compiler": "reference", "failures": "nets/na.json"}, ["failures means nothing to the reference"]),
        ({"compiler": "reference", "timeout": 3}, ["timeout means nothing to the reference"]),
        ({"timeout": "soon"}, ["timeout: must be a number, this is 'soon'"]),
        ({"failures": "none.yaml"}, ["table of failures 'none.yaml' does not exist"]),
        ({"pair": "debug"}, ["networks.net.pair: 'debug' is not allowed (known: profiling)"]),
        ({"budgets": {"max_weight": 1}}, ["unknown key 'max_weight' in networks.net.budgets", "'max_weights'?"]),
        ({"budgets": {"max_weights": -1}}, ["budgets.max_weights: must be a number, this is '-1'"]),
        ({"budgets": 3}, ["budgets: must be a mapping"]),
        ({"compiler_version": "4"}, ["unknown key 'compiler_version' in networks.net"]),
        ({"recording": "x"}, ["unknown key 'recording' in networks.net"]),
        ({"check": "close"}, ["check: 'close' is not allowed (known: exact)"]),
        ({"check": {}}, ["check: names no bound (exact, or max_lsb, cos, rmse)"]),
        ({"check": {"cos": 1.5}}, ["check.cos: 1.5 is out of range, allowed: 0 to 1"]),
        ({"check": {"cos": True}}, ["check.cos: must be a number"]),
        ({"check": {"max_lsb": 0.5}}, ["check.max_lsb: must be a number, this is '0.5'"]),
        ({"check": {"rmse": float("nan")}}, ["check.rmse: must be a number, this is 'NaN'"]),
        ({"check": {"rmse": "x"}}, ["check.rmse: must be a number, this is 'x'"]),
        ({"options": ["--pair", "profiling"]}, ["options: '--pair' is not allowed here (use the key 'pair')"]),
        ({"options": ["--no-such-option"]}, ["--no-such-option"]),
        ({"profile": {"base": "default@nets/na.json", "add": ["'open"]}}, ["no closing quotation"]),
        ({"profile": "lost@nets/na.json"}, ["'lost' names the machine description 'desc/none.mdesc': no such file"]),
        ({"initializers": ["xSPI3"]}, ["no pool 'xSPI3'", "did you mean 'xSPI2'?"]),
    ],
)
def test_refused_at_once(env: Any, tool: Any, options: dict[str, Any], words: list[str]) -> None:
    root = tool()
    said = refusal(_net, env, **options)
    assert all(word in said for word in words), said
    assert not calls(root, "generate")
    assert not Path("build/networks").exists()


# ---- what start-up code needs

MEMORY = {"npu_memory.c", "banks.c", "initializers.c", "crc32.c", "descriptor.c"}


def test_the_code_of_the_memories_comes_along(env: Any, tool: Any) -> None:
    """The vendor's runtime does not have it; and its own headers must not be hidden by ours."""
    tool()
    memory = env.MemoryInitializers(_net(env), folder="out")
    names = [Path(str(node)).name for node in memory.sources]
    assert names[0] == "npu_memory_init.c" and set(names) > MEMORY
    assert {Path(str(node)).name for node in memory.headers} == {"npu_memory.h", "access.h", "steps.h"}
    assert graphs.names(memory.include_dirs) == ["out", "out/memory"]
    built = set(graphs.names(graphs.built_nodes([*memory.sources, *memory.headers])))
    assert {str(node) for node in (*memory.sources, *memory.headers)} <= built, "copies: they can go anywhere"


def test_our_runtime_has_it_already(env: Any, nets: Path) -> None:
    memory = env.MemoryInitializers(_net(env, compiler="reference"), folder="out")
    assert graphs.names(memory.sources) == ["out/npu_memory_init.c"]
    assert memory.headers == []


# ---- variants


def _variant(compiler: str = "stedgeai", **changes: Any) -> VariantConfig:
    network = NetworkConfig(
        "net",
        "nets/net.tflite",
        compiler,
        vectors="nets",
        profile="default@nets/na.json",
        places={"compiler": Location("variants.yaml", 7)},
    )
    return VariantConfig("v", "V", BOARD, "", (network,), **changes)


def test_the_reference_application_has_not_the_vendors_runtime(env: Any, tool: Any, gcc: Toolchain) -> None:
    tool()
    said = refusal(env.NeuralArtVariant, replace(_variant(), machine="silicon"))
    assert said.startswith("variants.yaml:7: network net is compiled for runtime ll_aton, which the reference ")
    assert "application" in said and "machine: unicorn" in said


def test_relocatable_models_need_relative_pools_and_a_whole_installation(env: Any, tool: Any, gcc: Toolchain) -> None:
    tool()
    said = refusal(env.NeuralArtVariant, _variant(relocatable=RelocatableConfig()))
    assert "is USEMODE_ABSOLUTE" in said and "\n" not in said
    stock = str(board_data_dir() / "profiles" / f"{BOARD}.json")
    said = refusal(env.NetworkRel, _net(env, profile=f"relocatable@{stock}"))
    assert "has no ll_aton_version.h (is it the root of an installation" in said
    said = refusal(_net, env, options=["--reloc", "split"])
    assert "'--reloc' is not allowed here (use 'relocatable:' of the variant, or env.NetworkRel)" in said


def test_a_variant_of_auto_is_built_without_a_tool(env: Any, nets: Path, gcc: Toolchain) -> None:
    made = env.NeuralArtVariant(_variant("auto"))
    assert made.networks[0].compiler == "reference"


@pytest.mark.parametrize("compiler", ["reference", {"stedgeai": "4.0.*"}])
def test_a_pool_file_among_the_options(env: Any, nets: Path, compiler: Any) -> None:
    """The build says which pools there are; the option would say it a second time. No compiler is asked for that."""
    said = refusal(_net, env, compiler=compiler, options=["--memory-pool", "na.json"])
    assert said.endswith(f"{HERE}: options: '--memory-pool' is not allowed here (use the key 'mpool')")
