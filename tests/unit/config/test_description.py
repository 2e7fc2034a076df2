"""Which SConstructs are only descriptions, for which stamps may answer: by their syntax, never by what they do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neuralart import plugins
from neuralart.scons import description

REPO = Path(__file__).resolve().parents[3]
GOOD = """\
\"\"\"What this builds: $ and {braces} may stand here.\"\"\"

# A remark
DefaultEnvironment(tools=[])
env = Environment(tools=[], NEURALART_BUILD_DIR="out")
env.Tool("neuralart", toolpath=["#site_scons"], NEURALART_WAIT=False, NEURALART_BOARD_FILES=["a.yaml", "b.yaml"])
env.NeuralArtProject("variants.yaml").main()
"""


def described(text: str) -> bool:
    return description.is_description(text.encode())


def test_descriptions() -> None:
    assert description.is_description((REPO / "SConstruct").read_bytes())
    assert described(GOOD)
    assert described(GOOD.replace("env", "mine"))
    assert described(GOOD.replace("DefaultEnvironment(tools=[])\n", ""))
    assert described(GOOD.replace('["#site_scons"]', '"third_party/site_scons"'))
    assert described(GOOD.replace('("variants.yaml")', "()"))
    assert described(
        GOOD.replace("env.NeuralArtProject", "project = env.NeuralArtProject").replace(".main", "\nproject.main")
    )
    wheel = GOOD.replace('["#site_scons"]', '[PyPackageDir("neuralart").up()]')
    assert described(wheel)
    assert described(wheel.replace("env.Tool", 'PyPackageDir("neuralart") or Exit("pip install it")\nenv.Tool'))
    assert described(f"# -*- coding: utf-8 -*-\n{GOOD}'é'\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A value that is computed, read or asked for
        ('"variants.yaml"', 'f"variants.yaml"'),
        ('"variants.yaml"', 'f"{os.environ}"'),
        ('"variants.yaml"', "NAME"),
        ('"variants.yaml"', 'ARGUMENTS["file"]'),
        ('"variants.yaml"', 'os.environ.get("GITHUB_REF_NAME", "variants.yaml")'),
        ('"variants.yaml"', 'open("name").read()'),
        ('"variants.yaml"', '"a" if 1 else "b"'),
        ('"variants.yaml"', '"vari" + "ants.yaml"'),
        ('"variants.yaml"', '*["variants.yaml"]'),
        ('"variants.yaml"', '**{"path": "variants.yaml"}'),
        ('"variants.yaml"', '"a.yaml", "b.yaml"'),
        ('"variants.yaml"', '[each for each in "ab"]'),
        ('"variants.yaml"', "(lambda: 1)()"),
        ('"variants.yaml"', '__import__("os").name'),
        ('"variants.yaml"', '(name := "variants.yaml")'),
        ('"variants.yaml"', '"$NAME"'),
        ('"variants.yaml"', "\"${__import__('os').getpid()}\""),
        ('["#site_scons"]', '["#$WHERE"]'),
        ('["#site_scons"]', '[PyPackageDir("other").up()]'),
        ('["#site_scons"]', '[PyPackageDir("neuralart").up().up()]'),
        ('["#site_scons"]', "[*FOLDERS]"),
        ('"out"', 'Dir("out")'),
        ('"out"', '["a", {"b": c}]'),
        # A program, a tool or a setting of something else
        ("tools=[], ", 'tools=["gcc"], '),
        ("tools=[], ", ""),
        ("tools=[], ", 'tools=[], toolpath=["."], '),
        ("tools=[], ", 'tools=[], parse_flags="!git describe", '),
        ("tools=[], ", 'tools=[], SHELL="./mine", '),
        ("tools=[], ", 'tools=[], ENV={"PATH": "/x"}, '),
        ("tools=[], ", "tools=[], **more, "),
        ("NEURALART_BUILD_DIR", "NEURALART_PYTHON"),
        ("NEURALART_BUILD_DIR", "NEURALART_OBJCOPYCOM"),
        ("NEURALART_BUILD_DIR", "NEURALART_IMAGECOMSTR"),
        ("NEURALART_BUILD_DIR", "NEURALART_IMAGEEMITTER"),
        ("NEURALART_BUILD_DIR", "OBJCOPY"),
        ('Tool("neuralart"', 'Tool("gcc"'),
        # Another step
        (".main()", ".build([])"),
        (".main()", ".main(1)"),
        (".main()", ""),
        (".main()", ".main"),
        (".main()", ".main().x"),
        (".main()", ".main(); env.Exit(0)"),
        (".main()", ".main()\nenv.NeuralArtProject('other.yaml').main()"),
        (".main()", ".main()\nprint(1)"),
        ("# A remark", "import os"),
        ("# A remark", "from os import *"),
        ("# A remark", "SConscript('sub/SConscript')"),
        ("# A remark", "Decider('timestamp-newer')"),
        ("# A remark", "SetOption('max_drift', 1)"),
        ("# A remark", "X = 1"),
        ("# A remark", "def Environment(**kw): return open('x')"),
        ("# A remark", "class DefaultEnvironment: ..."),
        ("# A remark", "f'{open(1)}'"),
        ("# A remark", "if 1: pass"),
        ("# A remark", "for x in 'a': pass"),
        ("# A remark", "with open('x'): pass"),
        ("# A remark", "try: pass\nexcept E: pass"),
        ("# A remark", "assert open('x')"),
        ("# A remark", "del x"),
        ("# A remark", "global x"),
        ("# A remark", "pass"),
        ("# A remark", "@open\ndef f(): ..."),
        ("env = ", "env = other = "),
        ("env = ", "env: open('x') = "),
        ("env = ", "Exit = "),
        ("env = ", "env[0] = "),
        ("env = ", "env, = "),
        ("env = Environment", "env = DefaultEnvironment"),
        ("env.Tool", "other.Tool"),
        ("env.Tool", "env.Clone().Tool"),
        ("env.NeuralArt", "other.NeuralArt"),
        ("env.NeuralArt", "await env.NeuralArt"),
        ("DefaultEnvironment(tools=[])", "DefaultEnvironment()"),
        ("DefaultEnvironment(tools=[])", "DefaultEnvironment(tools=['gcc'])"),
        ("DefaultEnvironment(tools=[])", "DefaultEnvironment(tools=[], X=1)"),
    ],
)
def test_programs(old: str, new: str) -> None:
    assert old in GOOD
    assert not described(GOOD.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "# nothing\n", "(" * 500, "x = (", "\0", "x = 1\n" * 3, "'only text'"])
def test_what_is_no_script_of_ours(text: str) -> None:
    assert not described(text)
    assert not description.is_description(text.encode("utf-16"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A description in the current folder, and a home that is empty."""
    (tmp_path / "home").mkdir()
    top = tmp_path / "project"
    (top / "site_scons").mkdir(parents=True)
    (top / "SConstruct").write_text(GOOD, "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(top)
    plugins.forget()
    return top


@pytest.mark.parametrize(
    "name",
    [
        *(
            "project/site_scons/site_init.py",
            "project/site_scons/site_tools/cc.py",
            "home/.scons/site_scons/site_init.py",
        ),
        *("project/site_scons/neuralart_plugins/mine.py",),
    ],
)
def test_code_of_others_has_a_say(project: Path, name: str) -> None:
    assert description.described(str(project))
    places = {path: Path(path).is_dir() for path in description.folders(str(project))}
    path = project.parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert not description.described(str(project))
    # Its folder, though it was not there, is one that stamps look at.
    assert any(str(path).startswith(place) for place in places)


def test_only_the_script_of_the_current_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    assert not description.described(str(project))
    monkeypatch.chdir(project)
    (project / "SConstruct").rename(project / "Sconstruct")
    assert not description.described(str(project))


def test_the_places_of_scons(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that SCons itself asks, on this system and on others."""
    main = pytest.importorskip("SCons.Script.Main")
    asked: list[str] = []
    monkeypatch.setattr(main, "_load_site_scons_dir", asked.append)
    for system in ("posix", "darwin", "sunos"):
        monkeypatch.setattr(main.SCons.Platform, "platform_default", lambda system=system: system)
        main._load_all_site_scons_dirs(str(project))
    assert {f"{place}/site_scons" for place in asked} <= {*description.folders(str(project))}
    assert sys.platform == "win32" or len(asked) > 6
