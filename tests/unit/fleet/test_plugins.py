"""Plugins: what the package brings and what others bring, found when it is asked for, refused in one line."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralart import __version__, cli, config, plugins
from neuralart.app_config import generate
from neuralart.config import app_config
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as flash_plan
from neuralart.plugins import collection, origins
from neuralart.resources import PACKAGE
from neuralart_reference.lower import lower
from neuralart_reference.model import reader
from support.cases.lowering import Graph, lowered
from support.models import app_configs
from support.projects.plugin_places import Places, fresh, rule
from support.projects.sconsproject import REPO
from tflite_writer import ModelWriter

PAGE = "docs/reference/plugins.md"
KINDS = plugins.kinds()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    yield from fresh(tmp_path, monkeypatch)


def refusal(kind: str, name: str = "") -> str:
    with pytest.raises(NeuralArtError) as error:
        if name:
            plugins.find(kind, name)
        else:
            plugins.every(kind)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- what the package brings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_package_registers_its_own_by_the_same_call(kind: str, places: Places) -> None:
    """What a protocol asks of others, the package's own offer."""
    found = plugins.own(kind)
    assert found
    wanted = collection.members(KINDS[kind])
    assert wanted
    for plugin in found:
        assert [member for member in wanted if not hasattr(plugin.made, member)] == [], plugin.name
        assert plugin.code == "", "its room has a fingerprint"
        assert plugins.find(kind, plugin.name) is plugin
    assert set(plugins.names(kind)) == {plugin.name for plugin in found}


def test_names_that_are_known_without_importing(places: Places) -> None:
    for kind in KINDS.values():
        points = origins.own_modules(kind)
        if not any(name.startswith("_") for name in points):
            assert {plugin.name for plugin in plugins.own(kind.name)} == set(points)


def _modules(code: str, cwd: Path, *path: Path) -> set[str]:
    script = f"import sys\nsys.path[:0] = {[str(each) for each in (REPO / 'site_scons', *path)]!r}\n{code}\n"
    script += "import json\nsys.stderr.write(json.dumps(sorted(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-B", "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_nothing_of_others_is_looked_for_while_the_package_has_it(places: Places) -> None:
    """Neither the machinery of entry points nor a file of the project is imported."""
    places.project("broken.py", "raise RuntimeError('compilers runners boards')\n")
    places.install("broken", {"neuralart.compilers": {"x": "broken.m"}}, m="raise RuntimeError\n")
    code = (
        "from neuralart import boards, plugins\nplugins.find('compilers', 'reference')\n"
        "boards.load('mps3-an547')\nplugins.find('runners', 'virtual')\n"
    )
    assert not _modules(code, places.top, places.site) & {"importlib.metadata", "neuralart_plugins", "broken"}


def test_without_plugins_no_machinery_is_imported(places: Places) -> None:
    """All kinds asked for: a few small files are read, importlib.metadata is not imported."""
    loaded = _modules(
        f"from neuralart import plugins\nfor kind in {list(KINDS)!r}:\n    plugins.every(kind)\n", places.top
    )
    assert "neuralart_insight.lint.rules_network" in loaded
    assert not loaded & {"importlib.metadata", "neuralart_plugins"}


def test_only_the_kind_that_is_asked_for_is_imported(places: Places) -> None:
    places.install(
        "two",
        {"neuralart.lint": {"house-rule": "two.rule"}, "neuralart.compilers": {"x": "two.compiler"}},
        rule=rule(),
        compiler="raise RuntimeError\n",
    )
    places.project("boards_only.py", "raise RuntimeError('boards')\n")
    loaded = _modules("from neuralart import plugins\nplugins.every('lint')\n", places.top, places.site)
    assert "two.rule" in loaded
    assert not loaded & {"two.compiler", "neuralart_plugins.boards_only"}


def test_the_page_is_made_from_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    """``neuralart plugins --markdown`` writes the part of the page behind its mark."""
    assert cli.main(["plugins", "--markdown"]) == 0
    made = capsys.readouterr().out
    page = (REPO / PAGE).read_text("utf-8")
    assert page.partition("<!-- neuralart plugins --markdown -->\n\n")[2] == made
    for kind in KINDS.values():
        for member in collection.members(kind):
            assert re.search(rf"^\| `{member}(\(.*\))?` \| \S", made, re.M), (kind.name, member)


def test_the_how_to_begins_with_a_file_of_a_project(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """Its command is listed as on the page; tests/build/worlds/test_write_a_plugin.py installs and uses all kinds."""
    page = (REPO / "docs" / "how-to" / "write-a-plugin.md").read_text("utf-8")
    (text,) = re.findall(
        r"^```python\n(.*?)^```", page.partition("\n## commands\n")[2].partition("\n## ")[0], re.M | re.S
    )
    places.project("memories.py", text)
    shown = page.partition("```console\n")[2].splitlines()[:4]
    assert cli.main(shown[0].removeprefix("$ neuralart ").split()) == 0
    assert capsys.readouterr().out.splitlines() == shown[1:3]
    assert cli.main(shown[3].removeprefix("$ neuralart ").split()) == 0
    assert "AXISRAM3: 458752 bytes at 0x34200000\n" in capsys.readouterr().out


# --- what others bring -------------------------------------------------------------------------------------------


def test_from_a_project_and_from_a_package(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.project("mine.py", rule("mine"))
    places.project("_helper.py", "raise RuntimeError('helpers are imported by those that use them')\n")
    places.install("theirs", {"neuralart.lint": {"theirs": "theirs.m"}}, version="2.1", m=rule("theirs"))
    assert [plugin.name for plugin in plugins.added("lint")] == ["mine", "theirs"]
    assert cli.main(["plugins", "lint", "--added"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "KIND  NAME    VERSION  FROM",
        "lint  mine    -        site_scons/neuralart_plugins/mine.py",
        "lint  theirs  2.1      theirs",
    ]
    assert cli.main(["plugins", "--added", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": 1,
        "plugins": [
            {
                "kind": "lint",
                "name": "mine",
                "version": "",
                "from": "site_scons/neuralart_plugins/mine.py",
                "protocol": 1,
            },
            {"kind": "lint", "name": "theirs", "version": "2.1", "from": "theirs", "protocol": 1},
        ],
        "errors": [],
    }


def test_all_are_listed(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plugins"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert {row[0] for row in rows} == set(KINDS)
    assert {row[-1] for row in rows} == {"scons-neuralart"}
    assert cli.main(["plugins", "compiler"]) == 1
    assert "there is no kind of plugin 'compiler' (did you mean 'compilers'?" in capsys.readouterr().err


def test_files_of_a_project_import_each_other(places: Places) -> None:
    places.project("_words.py", "NAME = 'from-a-helper'\n")
    places.project("mine.py", "from neuralart_plugins._words import NAME\n" + rule().replace('"house-rule"', "NAME"))
    assert [plugin.name for plugin in plugins.added("lint")] == ["from-a-helper"]


# --- refusals ------------------------------------------------------------------------------------------------------


LOADED = "lint rule cannot be loaded:"
REGISTER = "from neuralart.plugins import register\nregister('{}', 'x', object(), protocol=1)\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# lint\nimport nowhere_at_all\n",
            f":2: {LOADED} ModuleNotFoundError: No module named 'nowhere_at_all' (repair it)",
        ),
        ("# lint\n\nif\n", f":3: {LOADED} SyntaxError: invalid syntax (bad.py, line 3) (repair it)"),
        ("# lint\n1 / 0\n", f":2: {LOADED} ZeroDivisionError: division by zero (repair it)"),
        ("# lint\nraise SystemExit(3)\n", f":2: {LOADED} SystemExit: 3 (repair it)"),
        (
            rule(protocol=2),
            ": lint rule 'house-rule' is written for protocol 2 of lint, this version of scons-neuralart has 1 "
            f"(install a version that fits; {PAGE} says what a protocol asks for)",
        ),
        (
            rule("hex-address"),
            f": lint rule 'hex-address': the name is taken by scons-neuralart {__version__} "
            "(register it under another name)",
        ),
        (
            REGISTER.format("lint"),
            f": lint rule 'x' has no check, finds, hint, id, level, looks_at, why ({PAGE} says what a plugin offers)",
        ),
        (
            rule("a rule"),
            ": lint rule 'a rule': no name for a plugin (letters, digits and . _ / + -, a letter or digit first)",
        ),
        (REGISTER.format("lints"), "there is no kind of plugin 'lints' (did you mean 'lint'?"),
    ],
    ids=["module", "syntax", "exception", "exit", "version", "taken", "members", "name", "kind"],
)
def test_a_file_of_a_project_that_is_wrong(places: Places, text: str, said: str) -> None:
    places.project("bad.py", text)
    for _ in range(2):
        # Asked again, it is as wrong as before.
        found = refusal("lint")
        wanted = said if said.startswith("there") else f"site_scons/neuralart_plugins/bad.py{said}"
        assert found.startswith(wanted), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import nowhere_at_all\n",
            "theirs 1.0: theirs/m.py:1: lint rule 'house-rule' cannot be loaded: "
            "ModuleNotFoundError: No module named 'nowhere_at_all' (repair it, or uninstall theirs 1.0)",
        ),
        (
            rule(protocol=7),
            "theirs 1.0: lint rule 'house-rule' is written for protocol 7 of lint, this version of scons-neuralart has "
            f"1 (install a version that fits, or uninstall theirs 1.0; {PAGE} says what a protocol asks for)",
        ),
        (
            rule("another"),
            "theirs 1.0: lint rule 'house-rule': its module theirs.m registers none of that name "
            "(call neuralart.plugins.register('lint', 'house-rule', ...) in it)",
        ),
    ],
    ids=["module", "version", "promise"],
)
def test_a_package_that_is_wrong(places: Places, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    places.install("theirs", {"neuralart.lint": {"house-rule": "theirs.m"}}, m=text)
    assert refusal("lint") == said
    assert refusal("lint", "house-rule") == said
    assert cli.main(["plugins", "lint"]) == 1
    out, err = capsys.readouterr()
    assert err == f"neuralart plugins: error: {said}\n"
    assert "hex-address" in out, "the others are listed"
    assert cli.main(["plugins", "--json"]) == 1
    (wrong,) = json.loads(capsys.readouterr().out)["errors"]
    assert wrong["where"].startswith("theirs 1.0")


def test_an_entry_point_to_no_module(places: Places) -> None:
    places.install("theirs", {"neuralart.lint": {"house-rule": "theirs.gone"}})
    assert refusal("lint") == (
        "theirs 1.0: lint rule 'house-rule' cannot be loaded: ModuleNotFoundError: No module named 'theirs.gone' "
        "(repair it, or uninstall theirs 1.0)"
    )


def test_an_entry_point_that_is_none(places: Places) -> None:
    places.install("theirs", {"neuralart.lint": {"house-rule": "what is this?"}})
    (places.site / "theirs-1.0.dist-info" / "METADATA").unlink()
    assert refusal("lint").startswith("what is this?: lint rule 'house-rule' cannot be loaded: ModuleNotFoundError")


def test_a_folder_among_the_files_of_a_project(places: Places) -> None:
    places.project("mine.py", rule())
    (places.top / "site_scons" / "neuralart_plugins" / "lint.py").mkdir()
    assert [plugin.name for plugin in plugins.added("lint")] == ["house-rule"]


def test_an_sconstruct_registers_nothing(places: Places) -> None:
    """What it registers would be unknown to the commands."""
    text = rule().replace("register(", "plugins.register(").replace("from neuralart.plugins import plugins.", "#")
    code = compile("from neuralart import plugins\n" + text.replace("from neuralart.plugins import register\n", ""),
                   str(places.top / "SConstruct"), "exec")  # fmt: skip
    with pytest.raises(NeuralArtError) as error:
        exec(code, {})
    assert "lint rule 'house-rule' is registered by SConstruct, which commands do not read" in str(error.value)


def test_a_name_of_the_package_in_another_package(places: Places) -> None:
    """The package's own is what everybody gets; who lists them is told."""
    text = "from neuralart.plugins import register\nregister('compilers', 'reference', object(), protocol=1)\n"
    places.install("theirs", {"neuralart.compilers": {"reference": "theirs.m"}}, m=text)
    assert plugins.find("compilers", "reference").source is plugins.OWN
    (error,) = plugins.problems("compilers")
    assert str(error).startswith("theirs 1.0: compiler 'reference' has no compile, files, identity, runtime (")
    text = text.replace("object()", "Reference()").replace(
        "register\n", "register\nfrom neuralart_reference.compiler import Reference\n", 1
    )
    places.install("theirs", {"neuralart.compilers": {"reference": "theirs.n"}}, n=text)
    assert [str(each) for each in plugins.problems("compilers")] == [
        f"theirs 1.0: compiler 'reference': the name is taken by scons-neuralart {__version__} "
        "(register it under another name, or uninstall theirs 1.0)"
    ]


def test_one_name_in_two_places(places: Places) -> None:
    places.project("mine.py", rule())
    places.install("theirs", {"neuralart.lint": {"house-rule": "theirs.m"}}, m=rule())
    said = (
        "site_scons/neuralart_plugins/mine.py: lint rule 'house-rule': the name is taken by theirs 1.0 "
        "(register it under another name)"
    )
    assert refusal("lint") == refusal("lint", "house-rule") == said


def test_a_misspelled_name_is_told_those_of_plugins_too(places: Places) -> None:
    places.install("theirs", {"neuralart.compilers": {"hashed": "theirs.m"}}, m="raise RuntimeError\n")
    said = refusal("compilers", "hashd")
    assert said.startswith("no compiler 'hashd' (did you mean 'hashed'? known: adopted, auto, hashed, recorded")


@pytest.mark.parametrize(
    ("check", "what"),
    [("facts.nothing", "AttributeError: 'Facts' object has no attribute 'nothing'"), ("exit(7)", "SystemExit: 7")],
    ids=["raises", "exits"],
)
def test_a_rule_that_fails(places: Places, capsys: pytest.CaptureFixture[str], check: str, what: str) -> None:
    places.project("mine.py", rule(check=f"lambda facts: {check}"))
    (places.top / "main.c").write_text("int x;\n", "utf-8")
    assert cli.main(["lint", "main.c"]) == 1
    assert capsys.readouterr().err == (
        "neuralart lint: error: site_scons/neuralart_plugins/mine.py:5: lint rule 'house-rule' failed in check: "
        f"{what} (repair it)\n"
    )


PRINTED = "use sys.stderr: programs read standard output"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# lint\nprint('hello')\n", f":2: warning: lint rule printed 'hello' while it was loaded ({PRINTED})"),
        (
            "# lint\n\ndef show():\n    print('a', 'b')\n    print('c')\nshow()\n",
            f":4: warning: lint rule printed 'a b', and more while it was loaded ({PRINTED})",
        ),
        (
            "# lint\nimport sys\nsys.stdout.write('\\n  a\\x1b[1m\\n')\n",
            f":3: warning: lint rule printed 'a\\x1b[1m' while it was loaded ({PRINTED})",
        ),
    ],
    ids=["print", "twice", "control character"],
)
def test_a_plugin_that_prints_while_it_is_loaded(
    places: Places, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """What programs read stays whole, and the plugin works."""
    places.project("loud.py", text + rule())
    assert cli.main(["plugins", "lint", "--added", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [row["name"] for row in json.loads(out)["plugins"]] == ["house-rule"]
    assert err == f"site_scons/neuralart_plugins/loud.py{said}\n"


def test_a_plugin_that_prints_and_then_fails(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.install("theirs", {"neuralart.lint": {"x": "theirs.m"}}, m="print('here')\nexit(3)\n")
    assert cli.main(["plugins", "lint", "--added"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        f"theirs 1.0: theirs/m.py:1: warning: lint rule 'x' printed 'here' while it was loaded ({PRINTED})"
    )
    assert second.endswith("theirs 1.0: theirs/m.py:2: lint rule 'x' cannot be loaded: SystemExit: 3 (repair it, or "
                           "uninstall theirs 1.0)")  # fmt: skip


def test_a_rule_that_prints(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.project("mine.py", rule(check="lambda facts: [print(len(facts.sources))] and ()"))
    (places.top / "main.c").write_text("int x;\n", "utf-8")
    assert cli.main(["lint", "--json", "main.c"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["findings"] == []
    assert err == (
        f"site_scons/neuralart_plugins/mine.py:5: warning: lint rule 'house-rule' printed '1' in check ({PRINTED})\n"
    )


def test_a_command_prints_for_people_and_its_arguments_do_not(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    """The completion of a shell asks for arguments."""
    places.project(
        "hello.py",
        "from neuralart.plugins import register\nclass Hello:\n"
        "    group, help, example = 'more', 'greet', 'hello'\n"
        "    def configure(self, parser):\n        print('asked')\n"
        "    def run(self, args):\n        print('hello')\n        return 0\n"
        "register('commands', 'hello', Hello(), protocol=1)\n",
    )
    assert cli.main(["hello"]) == 0
    assert capsys.readouterr() == (
        "hello\n",
        f"site_scons/neuralart_plugins/hello.py:5: warning: command 'hello' printed 'asked' in configure ({PRINTED})\n",
    )


def test_what_another_thread_prints_is_not_of_the_plugin(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps of a build print beside each other."""
    places.project("mine.py", rule(check="lambda facts: facts()"))
    (plugin,) = plugins.added("lint")

    def other() -> None:
        thread = threading.Thread(target=print, args=("of a step",))
        thread.start()
        thread.join()

    plugin.run("check", plugin.made.check, other)
    assert capsys.readouterr() == ("of a step\n", "")


KEY = """\
from neuralart.config.keys import AddedKey
from neuralart.plugins import register
def read(value):
    {work}
    return value.integer()
register("keys", "deadline", AddedKey("variant", read, "a limit"), protocol=1)
"""


@pytest.mark.parametrize(
    ("work", "what"),
    [("exit(7)", "SystemExit: 7"), ("1 / 0", "ZeroDivisionError: division by zero")],
    ids=["exits", "raises"],
)
def test_a_key_that_fails(places: Places, capsys: pytest.CaptureFixture[str], work: str, what: str) -> None:
    places.project("key.py", KEY.format(work=work))
    variants = "schema: 1\nnetworks:\n  net: {model: m.tflite}\nvariants:\n"
    variants += "  v: {board: stm32n6570-dk, network: net, deadline: 4}\n"
    (places.top / "variants.yaml").write_text(variants, "utf-8")
    assert cli.main(["plan", "v"]) == 1
    assert capsys.readouterr().err == (
        "neuralart plan: error: site_scons/neuralart_plugins/key.py:4: key of variants.yaml 'deadline' failed in read: "
        f"{what} (repair it)\n"
    )


def test_a_key_that_prints(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.project("key.py", KEY.format(work="print('a key')"))
    assert cli.main(["tool", "schema", "variants"]) == 0
    out, err = capsys.readouterr()
    assert '"deadline"' in json.dumps(json.loads(out))
    assert err == (
        "site_scons/neuralart_plugins/key.py:4: warning: key of variants.yaml 'deadline' printed 'a key' in read "
        f"({PRINTED})\n"
    )


def test_an_installation_behind_a_link(tmp_path: Path) -> None:
    """Our own parts are ours whichever way leads to them."""
    (tmp_path / "link").symlink_to(REPO / "site_scons")
    script = f"import sys\nsys.path.insert(0, {str(tmp_path / 'link')!r})\nfrom neuralart import plugins\n"
    script += "print({row.source.text for kind in plugins.kinds() for row in plugins.own(kind)} == {plugins.OWN.text})"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


# --- the code counts -----------------------------------------------------------------------------------------------


def test_the_code_of_a_file_and_its_helpers(places: Places) -> None:
    def code() -> str:
        plugins.forget()
        importlib.import_module("neuralart.fingerprint")._look.cache_clear()
        return plugins.code_of("lint")

    places.project("mine.py", rule())
    before = code()
    assert before.startswith("house-rule=")
    places.project("other.py", "# of another plugin\n")
    assert code() == before
    places.project("_helper.py", "X = 1\n")
    helped = code()
    assert helped != before
    places.project("mine.py", rule() + "# a comment\n")
    assert code() not in (before, helped)


def test_the_code_of_a_package_is_all_of_it_and_the_same_everywhere(places: Places, tmp_path: Path) -> None:
    folder = places.install("theirs", {"neuralart.lint": {"house-rule": "theirs.m"}}, m=rule())
    before = plugins.code_of("lint")
    (folder / "table.json").write_text("{}", "utf-8")
    plugins.forget()
    after = plugins.code_of("lint")
    assert after != before
    elsewhere = tmp_path / "elsewhere"
    places.site.rename(elsewhere)
    sys.path.insert(0, str(elsewhere))
    try:
        for name in ("theirs", "theirs.m"):
            del sys.modules[name]
        plugins.forget()
        importlib.invalidate_caches()
        assert plugins.code_of("lint") == after
    finally:
        sys.path.remove(str(elsewhere))
        for name in ("theirs", "theirs.m"):
            del sys.modules[name]


# --- each kind at work (compilers, boards, runners and rules: also in tests/graph and tests/build) ------------------


COMPILER = """\
from neuralart.compilers.protocol import FileSet, roles
from neuralart.plugins import register
class Mine:
    runtime = "neuralart"
    def identity(self, job):
        return "1"
    def files(self, job):
        return FileSet({{**roles(job.name), "made.txt": "made.txt"}}, job.initializers)
    def compile(self, job, output):
        output.mkdir(exist_ok=True)
        for name in self.files(job).names:
            (output / name).write_text("".join(job.extra))
        {last}
register("compilers", "mine", Mine(), protocol=1)
"""


def test_a_compiler_by_hand(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """``neuralart compile --compiler NAME``, also where it does not do what it says."""
    words = ["compile", "-m", "m.tflite", "--target", "stm32n6", "-n", "net", "-o", "out", "--extra-options=a b"]
    assert cli.main([*words, "--compiler", "reference"]) == 1
    capsys.readouterr()
    places.project("mine.py", COMPILER.format(last="return 'all made'"))
    assert cli.main([*words, "--compiler", "mine"]) == 0
    assert capsys.readouterr().out == "all made\n"
    assert (places.top / "out" / "made.txt").read_text() == "ab"
    assert (places.top / "out" / "net_atonbuf.xSPI2.raw").is_file()
    places.project("mine.py", COMPILER.format(last="(output / 'made.txt').unlink()"))
    assert cli.main([*words, "--compiler", "mine", "--force"]) == 1
    assert capsys.readouterr().err == (
        "neuralart compile: error: out: compiler 'mine' declared made.txt and made none "
        "(this is a mistake in the compiler's plugin: files() and compile() do not agree)\n"
    )
    with pytest.raises(SystemExit) as end:
        cli.main([*words, "--compiler", "mein"])
    assert end.value.code == cli.USAGE_ERROR
    assert "'mein' is not available, known: adopted, auto, mine, recorded" in capsys.readouterr().err


def test_an_operator(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """One that the package does not have, computed by a kernel that it has."""
    graph = Graph()
    x, y = graph.tensor("x", (3,), "int8", 0.5, 0), graph.tensor("y", (3,), "int8", 0.5, 0)
    graph.op("STABLEHLO_COSINE", (x,), (y,))
    with pytest.raises(NeuralArtError, match="operator is not supported"):
        lowered(graph, [x], [y])
    places.project(
        "cosine.py",
        "import math\n"
        "from neuralart_reference.operators import operator\n"
        "from neuralart_reference.tables import nearest, sampled, table\n"
        "@operator('STABLEHLO_COSINE', limits='int8, by table', protocol=1)\n"
        "def cos(ctx, op):\n"
        "    source, target = ctx.operand(op, ctx.input(op)), ctx.operand(op, ctx.output(op))\n"
        "    table(ctx, op, source, target, sampled(source, target, nearest(math.cos)))\n",
    )
    (call,) = lowered(graph, [x], [y]).calls
    assert (call.kind, call.kernel) == ("STABLEHLO_COSINE", "na_table_s8")
    writer = ModelWriter()
    ends = [writer.tensor(name, (2, 1), "int8", 0.5, signature=(2, -1)) for name in "xy"]
    writer.op("STABLEHLO_COSINE", ends[:1], ends[1:])
    (places.top / "open.tflite").write_bytes(writer.finish(ends[:1], ends[1:]))
    model = reader.read(places.top / "open.tflite", shapes={"x": (2, 3)})
    assert [tensor.shape for tensor in lower(model).tensors[:2]] == [(2, 3), (2, 3)]
    assert cli.main(["operators", "STABLEHLO_COSINE"]) == 0
    assert "int8, by table" in capsys.readouterr().out
    assert plugins.code_of("operators").startswith("STABLEHLO_COSINE=")
    assert plugins.find("operators", "GELU").source is plugins.OWN


def test_a_kind_of_file(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.project(
        "door.py",
        "from neuralart_insight.inspect.kinds import FileKind\n"
        "from neuralart.plugins import register\n"
        "register('inspect', 'door', FileKind('door', 'a door', 'neuralart_plugins._door', "
        "lambda data, name: data.startswith(b'DOOR')), protocol=1)\n",
    )
    places.project(
        "_door.py",
        "def record(path):\n    return {'open': path.read_bytes()[4:] == b'1'}\n"
        "def text(record):\n    return f\"open: {record['open']}\\n\"\n",
    )
    (places.top / "a.door").write_bytes(b"DOOR1")
    assert cli.main(["inspect", "a.door"]) == 0
    assert capsys.readouterr().out == "open: True\n"
    places.project("_door.py", "def record(path):\n    return {}[path]\n")
    assert cli.main(["inspect", "a.door"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("neuralart inspect: error: site_scons/neuralart_plugins/_door.py:2: kind of file 'door' ")
    assert said.endswith("failed in record: KeyError: PosixPath('a.door') (repair it)\n")


def test_a_runner_that_fails(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.project(
        "runner.py",
        "from neuralart.flashing.runners import Capabilities, Runner\nfrom neuralart.plugins import register\n"
        "class Mine(Runner):\n    name = 'mine'\n    capabilities = Capabilities(frozenset({'unicorn'}))\n"
        "    def write(self, job):\n        return 1 / 0\n"
        "register('runners', 'mine', Mine, protocol=1)\n",
    )
    (places.top / "a.bin").write_bytes(b"bytes")
    write = flash_plan.write_of("application", "application", Path("a.bin"), 0x70100000)
    (places.top / "plan.json").write_text(flash_plan.make("stm32n6570-dk", [write]), "utf-8")
    assert cli.main(["flash", "--runner", "mine", "--record", "r.json", "--plan", "plan.json"]) == 1
    assert capsys.readouterr().err == (
        "neuralart flash: error: site_scons/neuralart_plugins/runner.py:7: flash runner 'mine' failed in write: "
        "ZeroDivisionError: division by zero (repair it)\n"
    )


def test_a_mistake_of_our_own_is_not_blamed_on_plugins(places: Places) -> None:
    places.project("mine.py", rule())
    plugins.added("lint")
    try:
        raise RuntimeError("ours")
    except RuntimeError as error:
        assert plugins.blamed(error) is None


def test_a_board(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    path = places.project(
        "board.py",
        "from pathlib import Path\nfrom neuralart.boards.loading import BoardFile\n"
        "from neuralart.plugins import register\n"
        "register('boards', 'door', BoardFile(Path(__file__).with_name('door.yaml')), protocol=1)\n",
    )
    path.with_name("door.yaml").write_text("schema: 1\nbase: mps3-an547\ntitle: Door\n", "utf-8")
    assert cli.main(["boards", "door"]) == 0
    assert capsys.readouterr().out.startswith("door: Door\n")
    assert cli.main(["boards"]) == 0
    assert "\ndoor " in capsys.readouterr().out
    (places.top / "own.yaml").write_text("schema: 1\nbase: door\ntitle: Own\n", "utf-8")
    assert cli.main(["boards", "own", "--board-file", "own.yaml"]) == 0
    assert cli.main(["boards", "dor"]) == 1
    assert "no board 'dor' (did you mean 'door'?" in capsys.readouterr().err


def test_a_kind_of_machine(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """A board file and a variant name it; a wrong name is told those of plugins, too."""
    places.project(
        "lab.py",
        "from neuralart.plugins import register\nclass Lab:\n    def declare(self, verb, name, variant): ...\n"
        "register('machines', 'lab', Lab(), protocol=1)\n",
    )
    text = "schema: 1\nbase: mps3-an547\ntitle: Own\nmachines:\n  {}:\n    cpu_flags: [-mcpu=cortex-m55]\n"
    (places.top / "own.yaml").write_text(text.format("lab"), "utf-8")
    assert cli.main(["boards", "own", "--board-file", "own.yaml"]) == 0
    assert "machine lab: " in capsys.readouterr().out
    (places.top / "own.yaml").write_text(text.format("lap"), "utf-8")
    assert cli.main(["boards", "own", "--board-file", "own.yaml"]) == 1
    assert capsys.readouterr().err == (
        "neuralart boards: error: own.yaml:5: unknown key 'lap' in machines "
        "(did you mean 'lab'? known: lab, qemu, silicon, unicorn)\n"
    )
    variants = "schema: 1\nnetworks:\n  n: {{model: m.tflite}}\nvariants:\n"
    variants += "  v: {{board: mps3-an547, machine: {}, network: n}}\n"
    (places.top / "variants.yaml").write_text(variants.format("lab"), "utf-8")
    assert config.read(Path("variants.yaml")).variant("v").machine == "lab"
    (places.top / "variants.yaml").write_text(variants.format("lap"), "utf-8")
    with pytest.raises(NeuralArtError, match=r"yaml:5: variants.v.machine: 'lap' is not allowed \(did you mean 'lab'"):
        config.read(Path("variants.yaml")).variant("v")


def test_a_use_case(places: Places) -> None:
    """A template of its own, named in variants.yaml."""
    path = places.project(
        "gaze.py",
        "from pathlib import Path\nfrom neuralart.plugins import register\n"
        "from neuralart.app_config.kinds import UseCase\nfrom neuralart.app_config.request import Values\n"
        "register('use_cases', 'gaze/two_angles', UseCase(Path(__file__).with_name('gaze.h.j2'), "
        "lambda request: Values('float32', {'angles': len(request.tensors.outputs)})), protocol=1)\n",
    )
    path.with_name("gaze.h.j2").write_text("#define GAZE_OF {{ network }}\n#define ANGLES {{ values.angles }}\n")
    text = (
        "schema: 1\nnetworks:\n  net: {model: m.tflite, app_config: {use_case: gaze, generation: n6-v2}}\n"
        "variants:\n  v: {board: stm32n6570-dk, network: net}\n"
    )
    (places.top / "variants.yaml").write_text(text, "utf-8")
    (network,) = config.read(Path("variants.yaml")).variant("v").networks
    assert network.app_config is not None
    assert network.app_config.model_type == "two_angles"
    header = generate.header(network.app_config, app_configs.MOVENET.tensors)
    assert header.text == "#define GAZE_OF network\n#define ANGLES 1\n"
    (places.top / "variants.yaml").write_text(text.replace("gaze", "gase"), "utf-8")
    with pytest.raises(NeuralArtError, match="gaze"):
        config.read(Path("variants.yaml")).variant("v")


def test_a_use_case_of_the_package_with_another_model_type(places: Places) -> None:
    places.project(
        "more.py",
        "from neuralart.plugins import register\nfrom neuralart.app_config.kinds import KINDS\n"
        "register('use_cases', 'pose_estimation/mine', KINDS['pose_estimation', 'movenet'], protocol=1)\n",
    )
    assert app_config.model_types("pose_estimation") == ("movenet", "yolo_v8_pose", "mine")


def test_copied_folders_have_the_entry_points_too() -> None:
    """A repository with copies of site_scons and firmware has neither the project file nor metadata."""
    points = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    blocks = (
        f"[{group}]\n" + "".join(f"{name} = {module}\n" for name, module in modules.items())
        for group, modules in points.items()
        if group.startswith("neuralart.")
    )
    path = PACKAGE / "plugins" / "entry_points.txt"
    assert path.read_text("utf-8") == "\n".join(blocks), "the same as in pyproject.toml"
