"""Compilers, boards and strategies of plugins in the graph: what they make and what that depends on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import SCons.Errors
import SCons.Node.Python

from neuralart import plugins
from support.projects.graphs import built_nodes, command, names
from support.projects.plugin_places import EXAMPLE
from support.projects.sconsproject import REPO, Project

COMPILER = """\
from neuralart.compilers.protocol import FileSet, roles
from neuralart.plugins import register

class Mine:
    runtime = "ll_aton"
    def identity(self, job):
        return "mine 3"
    def files(self, job):
        {files}
    def compile(self, job, output):
        raise NotImplementedError

register("compilers", "mine", Mine(), protocol=1)
"""
GOOD = "return FileSet({**roles(job.name), 'mine.c': 'mine.c'}, job.initializers)"
STRATEGY = """\
from neuralart.plugins import register

class Srec:
    way = {way!r}
    def files(self, network, pool):
        return {names}
    def make(self, constants):
        return {{f"{{constants.network}}.{{constants.pool}}.s": b"S0"}}

register("strategies", "srec", Srec(), protocol=1)
"""


@pytest.fixture
def mine(tree: Path) -> Callable[[str, str], None]:
    """Write a file of the project's own plugins."""

    def write(name: str, text: str) -> None:
        path = tree / "site_scons" / "neuralart_plugins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        plugins.forget()

    plugins.forget()
    yield write
    plugins.forget()


def _net(env: Any, **options: Any) -> Any:
    return env.Network("digits", model="models/digits.tflite", board="stm32n6570-dk", **options)


def _values(node: Any) -> set[str]:
    return {child.name for child in node.all_children() if isinstance(child, SCons.Node.Python.Value)}


def test_a_compiler(make_env: Any, mine: Any) -> None:
    mine("compiler.py", COMPILER.format(files=GOOD))
    net = _net(make_env(), compiler="mine", extra_options="--fast 2")
    assert (net.compiler, net.runtime, net.runtime_sources) == ("mine", "ll_aton", [])
    assert names([*net.more.values()]) == [f"{net.folder}/mine.c"]
    assert [*net.initializers] == ["xSPI2"]
    argv = command(net.c)
    assert argv[argv.index("--compiler") + 1] == "mine"
    assert "--extra-options=--fast" in argv
    assert {"plugins-of-compilers", "compiler"} <= _values(net.c)


def test_its_name_its_words_and_its_identity_tell_compiles_apart(make_env: Any, mine: Any) -> None:
    mine("compiler.py", COMPILER.format(files=GOOD))
    first = _net(make_env(), compiler="mine").folder
    assert _net(make_env(), compiler="mine").folder == first
    assert _net(make_env()).folder != first
    assert _net(make_env(), compiler="mine", extra_options="-x").folder != first
    mine(
        "compiler.py", COMPILER.format(files=GOOD).replace("mine 3", "mine 40")
    )  # another size: within a second, Python would keep its bytecode
    assert _net(make_env(), compiler="mine").folder != first


def test_its_code_counts_and_that_of_others_does_not(make_env: Any, mine: Any) -> None:
    def code() -> str:
        (value,) = [child for child in _net(make_env(), compiler="mine").c.all_children()
                    if getattr(child, "name", "") == "plugins-of-compilers"]  # fmt: skip
        return str(value.value)

    mine("compiler.py", COMPILER.format(files=GOOD))
    before = code()
    mine("other.py", "# something else\n")
    assert code() == before
    mine("compiler.py", COMPILER.format(files=GOOD) + "# changed\n")
    from neuralart import fingerprint

    fingerprint._look.cache_clear()
    assert code() != before


def test_without_plugins_a_network_depends_on_none(make_env: Any, mine: Any) -> None:
    assert "plugins-of-compilers" not in _values(_net(make_env()).c)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ("1 / 0", "compiler.py:9: compiler 'mine' failed in files: ZeroDivisionError: division by zero (repair it)"),
        ("return {}", "compiler.py: compiler 'mine': files() returned dict, not a FileSet"),
        (
            "return FileSet({'c': 'digits.c', 'facts': 'network.json'}, job.initializers)",
            "compiler.py: compiler 'mine': files() has no 'manifest' (a network has manifest.json)",
        ),
        (
            "return FileSet({**roles(job.name), 'c': 'net.c'}, job.initializers)",
            "compiler.py: compiler 'mine': files() calls 'c' net.c (its name is digits.c)",
        ),
        (
            "return FileSet(roles(job.name), {})",
            "compiler.py: compiler 'mine': files() has no initializer of pool xSPI2 "
            "(job.initializers names all of them)",
        ),
        (
            "return FileSet({**roles(job.name), 'x': '../x'}, job.initializers)",
            "compiler.py: compiler 'mine': files() has '../x' (names of different files, without folders)",
        ),
    ],
)
def test_a_compiler_that_is_wrong(make_env: Any, mine: Any, files: str, said: str) -> None:
    mine("compiler.py", COMPILER.format(files=files))
    with pytest.raises(SCons.Errors.UserError) as error:
        _net(make_env(), compiler="mine")
    assert str(error.value).startswith(f"site_scons/neuralart_plugins/{said}")


def test_a_compiler_that_cannot_be_loaded(make_env: Any, mine: Any) -> None:
    mine("compiler.py", "# compilers\nimport nowhere\n")
    with pytest.raises(SCons.Errors.UserError, match=r"^site_scons/neuralart_plugins/compiler.py:2: compiler cannot"):
        _net(make_env(), compiler="mine")


def test_failures_of_the_vendor_mean_nothing(make_env: Any, mine: Any) -> None:
    mine("compiler.py", COMPILER.format(files=GOOD))
    with pytest.raises(SCons.Errors.UserError, match="failures means nothing to compiler mine"):
        _net(make_env(), compiler="mine", failures="models/digits.tflite")


def test_a_builder_takes_it(make_env: Any, mine: Any) -> None:
    mine("compiler.py", COMPILER.format(files=GOOD))
    env = make_env(NEURALART_COMPILER="mine", NEURALART_BOARD="stm32n6570-dk")
    made = env.NeuralArtNetwork("build/digits.c", "models/digits.tflite")
    assert {"build/digits.c", "build/mine.c", "build/network.json"} <= set(names(made))


def test_a_board_of_the_example(make_env: Any, mine: Any, tree: Path) -> None:
    mine("board.py", (EXAMPLE / "board.py").read_text("utf-8"))
    shutil.copy2(EXAMPLE / "door-camera.yaml", tree / "site_scons" / "neuralart_plugins")
    net = make_env().Network("digits", model="models/digits.tflite", board="door-camera")
    assert net.board.slots["application"] == 0x70180000


def test_a_null_build_imports_nothing_for_plugins(tmp_path: Path) -> None:
    """A SConstruct that names none: no machinery of entry points, no folder of plugins, no module of another kind."""
    folder = tmp_path / "consumer"
    folder.mkdir()
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", folder)
    (folder / "SConstruct").write_text(
        "import atexit, json, pathlib, sys\n"
        "atexit.register(lambda: pathlib.Path('modules.json').write_text(json.dumps(sorted(sys.modules))))\n"
        f"env = Environment(tools=[])\nenv.Tool('neuralart', toolpath=[{(REPO / 'site_scons').as_posix()!r}])\n"
        "net = env.Network('digits', model='digits.tflite', board='mps3-an547')\n"
        "memory = env.MemoryInitializers(net)\n",
        "utf-8",
    )
    project = Project(folder)
    project.run()
    project.up_to_date()
    loaded = set(json.loads((folder / "modules.json").read_text("utf-8")))
    assert "neuralart.plugins" in loaded
    assert not {name for name in loaded if name.startswith(("importlib.metadata", "neuralart_plugins"))}
    assert not {
        name for name in loaded if name.startswith(("neuralart_insight.lint.rules", "neuralart_insight.inspect"))
    }
    # The operators are for those that compile.
    assert "neuralart_reference.operators.gelu" not in loaded


# --- strategies ----------------------------------------------------------------------------------------------------


def _memory(env: Any, strategy: str) -> Any:
    return env.MemoryInitializers(_net(env, strategies={"xSPI2": strategy}), folder="build/m")


def test_a_strategy_adds_files(make_env: Any, mine: Any) -> None:
    mine("srec.py", STRATEGY.format(way="flash", names="(f'{network}.{pool}.s',)"))
    memory = _memory(make_env(), "srec")
    assert names(memory.more) == ["build/m/digits.xSPI2.s"]
    assert memory.more[0] in memory.files
    assert "plugin-of-strategy srec" in _values(memory.more[0])
    plain = _memory(make_env(), "flash")
    assert plain.more == []
    assert names(plain.files) == [name for name in names(memory.files) if not name.endswith(".s")]
    assert memory.layout.initializers[0].strategy == "flash"


def test_files_of_a_strategy_are_built(tmp_path: Path) -> None:
    """With the constants and their address; made again when its code changes, and for nothing else."""
    folder = tmp_path / "consumer"
    plugin = folder / "site_scons" / "neuralart_plugins" / "srec.py"
    plugin.parent.mkdir(parents=True)
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", folder)
    text = STRATEGY.format(way="flash", names="(f'{network}.{pool}.s',)")
    plugin.write_text(text.replace('b"S0"', 'b"S3 %08x %d" % (constants.load_address, len(constants.data))'), "utf-8")
    (folder / "SConstruct").write_text(
        f"env = Environment(tools=[])\nenv.Tool('neuralart', toolpath=[{(REPO / 'site_scons').as_posix()!r}])\n"
        "net = env.Network('digits', model='digits.tflite', board='stm32n6570-dk', strategies={'xSPI2': 'srec'})\n"
        "env.MemoryInitializers(net, folder='build/m')\n",
        "utf-8",
    )
    project = Project(folder)
    project.run()
    raw = next(folder.glob("build/networks/*/*.raw")).read_bytes()
    assert (folder / "build/m/digits.xSPI2.bin").read_bytes() == raw
    assert (folder / "build/m/digits.xSPI2.s").read_bytes() == b"S3 70380000 %d" % len(raw)
    project.up_to_date()
    project.edit("site_scons/neuralart_plugins/srec.py", "S3", "S7")
    assert project.run().commands == {("IMAGE", "build/m/digits.xSPI2.s")}
    assert (folder / "build/m/digits.xSPI2.s").read_bytes().startswith(b"S7")
    project.edit("site_scons/neuralart_plugins/srec.py", '.s": b', '.t": b')
    (line,) = project.run(code=2).errors
    assert line == (
        "scons: *** [build/m/digits.xSPI2.s] site_scons/neuralart_plugins/srec.py: strategy 'srec': "
        "make() did not return digits.xSPI2.s (bytes for each name of files())"
    )


def test_c_of_a_strategy_becomes_part_of_the_program(make_env: Any, mine: Any) -> None:
    mine("srec.py", STRATEGY.format(way="flash", names="('table.c', 'table.h')"))
    memory = _memory(make_env(), "srec")
    assert "build/m/table.c" in names(memory.sources)
    assert "build/m/table.h" not in names(memory.sources)
    assert list(built_nodes(memory.more))


@pytest.mark.parametrize(
    ("way", "made", "said"),
    [
        ("relocatable", "()", "strategy 'srec': its way is 'relocatable' (possible: flash, boot-copy, link, external-"),
        ("flash", "('a/b',)", "strategy 'srec': files() has 'a/b' (names of different files, without folders)"),
        ("flash", "[][0]", "strategy 'srec' failed in files: IndexError: list index out of range (repair it)"),
    ],
)
def test_a_strategy_that_is_wrong(make_env: Any, mine: Any, way: str, made: str, said: str) -> None:
    mine("srec.py", STRATEGY.format(way=way, names=made))
    with pytest.raises(SCons.Errors.UserError) as error:
        _memory(make_env(), "srec")
    assert said in str(error.value)


def test_no_such_strategy(make_env: Any, mine: Any) -> None:
    mine("srec.py", STRATEGY.format(way="flash", names="()"))
    with pytest.raises(SCons.Errors.UserError, match=r"'sreck' is not allowed \(did you mean 'srec'\?"):
        _memory(make_env(), "sreck")


EXTENSION = """\
from neuralart.plugins import register
from neuralart.scons.tool import SConsOption


class Greeting:
    OPTIONS = (SConsOption("{option}", "NAME", "greet somebody"),)

    def tool_loaded(self, env):
        print("the tool is there")

    def project_begins(self, env):
        print(f"hello {{env.GetOption('greet')}}")

    def project_read(self, env, config, path):
        print(f"{{path.name}} has {{len(config.titles)}} variant")


register("extensions", "greeting", Greeting(), protocol=1)
"""


def test_an_extension_of_builds(tmp_path: Path) -> None:
    """It has an option and is called; an option that is there already is refused in one line."""
    plugin = tmp_path / "site_scons" / "neuralart_plugins" / "greeting.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(EXTENSION.format(option="--greet"), "utf-8")
    (tmp_path / "SConstruct").write_text(
        f"env = Environment(tools=[])\nenv.Tool('neuralart', toolpath=[{(REPO / 'site_scons').as_posix()!r}])\n"
        "env.NeuralArtProject('variants.yaml').main()\n",
        "utf-8",
    )
    variant = "  v: {title: V, board: stm32n6570-dk, network: n}\n"
    (tmp_path / "variants.yaml").write_text(
        f"schema: 1\nnetworks:\n  n: {{model: n.tflite}}\nvariants:\n{variant}", "utf-8"
    )
    project = Project(tmp_path)
    said = project.run("-h", "--greet=world").out
    assert said.startswith("the tool is there\nhello world\nvariants.yaml has 1 variant\n")
    assert "scons --greet=NAME ..." in said and "greet somebody" in said
    plugin.write_text(EXTENSION.format(option="--junit"), "utf-8")
    (line,) = [line for line in project.run("v", code=2).errors if "junit" in line]
    assert line == (
        "scons: *** site_scons/neuralart_plugins/greeting.py: extension of builds 'greeting': scons has an option "
        "--junit already (another name for it)"
    )
