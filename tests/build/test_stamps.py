"""Stamps: what is as the last good build left it is not declared again, and nothing else is ever taken for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart import intact
from neuralart.cli import main
from support.plugin_places import Places
from support.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]

PLAIN = """\
schema: 1
default: [plain]
networks:
  digits: {model: models/digits/digits.tflite}
variants:
  plain: {title: Digits, board: stm32n6570-dk, network: digits}
  other: {title: Digits, board: stm32n6570-dk, network: digits}
"""


def broken(project: Project, *words: str, env: dict[str, str] | None = None, name: str = "plain") -> list[str]:
    """What has changed since the last good build."""
    data = intact.load(str(project.path(f"build/{intact.NAME}")))
    assert data is not None
    here = Path.cwd()
    os.chdir(project.root)
    try:
        return intact.Checker(data, list(words), intact.environment({**os.environ, **(env or {})})).broken(name)
    finally:
        os.chdir(here)


@pytest.fixture
def stamped(built: Project) -> Project:
    built.path("variants.yaml").write_text(PLAIN, "utf-8")
    built.run("plain")
    assert broken(built) == []
    return built


def _append(name: str, text: str) -> Callable[[Project], None]:
    return lambda project: project.path(name).write_bytes(project.path(name).read_bytes() + text.encode())


def _same_size(name: str, old: str, new: str) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        path = project.path(name)
        state = path.stat()
        path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

    return change


CHANGES = [
    ("build/plain/firmware.hex", lambda project: project.path("build/plain/firmware.hex").unlink()),
    ("build/plain/summary.txt", _append("build/plain/summary.txt", "x")),
    ("firmware/app/main.c", _same_size("firmware/app/main.c", "0", "0")),
    ("folder firmware/app", lambda project: project.path("firmware/app/unused.h").write_text("", "utf-8")),
    ("folder models/digits", lambda project: project.path("models/digits/new.json").write_text("", "utf-8")),
    ("variants.yaml", _same_size("variants.yaml", "Digits", "digits")),
    ("SConstruct", _append("SConstruct", "# nothing\n")),
    ("site_scons/neuralart/errors.py", _append("site_scons/neuralart/errors.py", "# nothing\n")),
    ("folder site_scons/neuralart/text", lambda project: project.path("site_scons/neuralart/text/new.py").touch()),
    ("site_scons/neuralart_plugins", lambda project: project.path("site_scons/neuralart_plugins").mkdir()),
    ("models/digits/digits.tflite", lambda project: os.utime(project.path("models/digits/digits.tflite"))),
]


def test_whatever_changes_is_seen(stamped: Project) -> None:
    for said, change in CHANGES:
        change(stamped)
        assert any(said in text for text in broken(stamped)), said
    assert "the command line" in broken(stamped, "VERBOSE=1")[0]
    assert "variable NEURALART_GDB of the environment" in broken(stamped, env={"NEURALART_GDB": ":9"})
    assert "variable PATH of the environment" in broken(stamped, env={"PATH": f"/nowhere:{os.environ['PATH']}"})
    assert not any("variable" in text for text in broken(stamped, env={"TERM": "other", "GITHUB_RUN_ID": "7"}))
    assert broken(stamped, name="other") == ["no good build of it is known"]
    # One build mends it all, and the next one declares nothing.
    stamped.run("plain")
    assert broken(stamped) == []
    assert stamped.path("build/plain/firmware.hex").exists()


def test_results_that_a_copy_brought(stamped: Project) -> None:
    """No order of their times says that they are as the compile left them: they are read before they are made again."""
    folder = stamped.network_folder("plain")
    os.utime(folder / "digits.c")
    _append("models/digits/digits.tflite", "\0")(stamped)
    stamped.run("plain")
    assert broken(stamped) == []
    # A result that was edited is made again, and that is seen to.
    (folder / "digits.c").write_bytes((folder / "digits.c").read_bytes() + b"\n")
    assert "was changed after it was made" in stamped.run("plain").out
    stamped.run("plain")
    assert broken(stamped) == []


def test_bytecode_that_comes_counts_for_nothing(stamped: Project) -> None:
    env = {"PYTHONDONTWRITEBYTECODE": ""}
    stamped.run("plain", env=env)
    stamped.path("site_scons/neuralart/__pycache__/other.cpython-399.pyc").write_bytes(b"")
    assert broken(stamped, env=env) == []
    # Folders of it come while it is built: as in a new tree.
    code, script = "site_scons/neuralart", stamped.path("SConstruct")
    come = f"Alias('plain', Command('build/come.txt', [], 'mkdir {code}/.new {code}/config/.new; touch $TARGET'))\n"
    script.write_text(script.read_text("utf-8") + come, "utf-8")
    stamped.run("plain", env=env)
    assert stamped.path(f"{code}/config/.new").is_dir() and broken(stamped, env=env) == []


def test_results_of_a_compile_that_nothing_reads_are_seen(stamped: Project) -> None:
    """A step makes them together with others."""
    data = json.loads(stamped.path(f"build/{intact.NAME}").read_text("utf-8"))
    known = {data["files"][number][0] for number in data["variants"]["plain"]["files"]}
    manifests = [stamped.path(name) for name in known if name.endswith("/manifest.json")]
    names = [
        f"{path.parent.relative_to(stamped.root).as_posix()}/{row['name']}"
        for path in manifests
        for row in json.loads(path.read_bytes())["files"]
    ]
    assert any(name.endswith("/digits.h") for name in names) and set(names) <= known


def test_an_intact_variant_is_declared_only_when_its_nodes_are_asked_for(stamped: Project) -> None:
    script = stamped.path("SConstruct")
    script.write_text(script.read_text("utf-8") + "print(len(project.variants.declared))\n", "utf-8")
    assert stamped.run("plain").out.splitlines()[0] == "1"
    assert stamped.run().out.splitlines() == ["0", "scons: `plain' is up to date."]
    # Where it is named, the rest of the script is not run.
    assert stamped.run("plain").out == "scons: `plain' is up to date.\n"
    assert stamped.run("plain", "--no-stamps").out.splitlines()[0] == "1"
    use = "Default(Command('copy.elf', project.variants['plain'].firmware.elf, Copy('$TARGET', '$SOURCE')))\n"
    script.write_text(script.read_text("utf-8") + use, "utf-8")
    stamped.run()
    stamped.path("copy.elf").unlink()
    stamped.run()
    assert stamped.path("copy.elf").read_bytes() == stamped.path("build/plain/firmware.elf").read_bytes()


def test_a_script_that_does_more_than_variants(stamped: Project) -> None:
    """It builds a program of the user's own, and reads another script before the tool is there."""
    script, early = stamped.path("SConstruct"), stamped.path("early/SConscript")
    early.parent.mkdir()
    early.write_text("", "utf-8")
    more = "Default(Command('app.out', 'app.in', Copy('$TARGET', '$SOURCE')))\n"
    text = f"SConscript('early/SConscript')\n{script.read_text('utf-8')}{more}"
    script.write_text(text, "utf-8")
    stamped.path("app.in").write_text("one", "utf-8")
    stamped.run()
    assert broken(stamped) == []
    assert stamped.run("plain").out == "scons: `plain' is up to date.\n"
    stamped.path("app.in").write_text("two", "utf-8")
    call = [sys.executable, "-I", "-S", "site_scons/neuralart/intact.py", "build"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run(call, cwd=stamped.root, env=env, check=False).returncode == intact.ASK
    stamped.run()
    assert stamped.path("app.out").read_text("utf-8") == "two"
    early.write_text("# nothing\n", "utf-8")
    assert broken(stamped) == [f"{early.relative_to(stamped.root)} changed"]
    # A script of another name, too.
    other = stamped.path("Other.py")
    other.write_text(text, "utf-8")
    stamped.run("-f", "Other.py", "plain")
    assert stamped.run("-f", "Other.py", "plain").out == "scons: `plain' is up to date.\n"
    other.write_text(f"{text}print('changed')\n", "utf-8")
    assert broken(stamped, "-f", "Other.py") == ["Other.py changed"]
    assert stamped.run("-f", "Other.py", "plain").out.startswith("changed\n")


def test_options_that_stamps_must_not_swallow(stamped: Project) -> None:
    # SCons prints what it knows of nodes, and writes its report, each time.
    assert "firmware.elf" in stamped.run("--tree=all", "plain").out
    assert broken(stamped) == []
    for _ in range(2):
        stamped.run("plain", env={"SCONSFLAGS": "--junit=r.xml"})
        stamped.path("r.xml").unlink()
    before = stamped.path(f"build/{intact.NAME}").read_bytes()
    stamped.run("plain", env={"SCONSFLAGS": "--no-stamps"})
    assert stamped.path(f"build/{intact.NAME}").read_bytes() == before


SUB = """\
Import("env")
env.Tool("neuralart", toolpath=["#site_scons"])
"""


def test_the_tool_in_a_project_below(texts: Project) -> None:
    """Its stamps tell of its own variants."""
    script = """DefaultEnvironment(tools=[])
env = Environment(tools=[])
SConscript("sub/SConscript", exports="env")
Alias("plain", Command("made", "SConstruct", Copy("$TARGET", "$SOURCE")))
"""
    texts.path("SConstruct").write_text(script, "utf-8")
    texts.path("sub/build").mkdir(parents=True)
    texts.path("sub/SConscript").write_text(SUB, "utf-8")
    environ = intact.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    data = {
        "worlds": [{"default": [], "words": [], "environ": environ, "files": [], "folders": []}],
        "files": [],
        "folders": [],
    }
    data |= {"variants": {"plain": {"world": 0, "files": [], "folders": []}}, "build": "build"}
    texts.path(f"sub/build/{intact.NAME}").write_text(json.dumps({"format": intact.FORMAT, **data}), "utf-8")
    texts.run("plain")
    assert texts.path("made").exists()


OPENED = """
import atexit, json, pathlib, sys
opened = set()
sys.addaudithook(lambda event, about: opened.add(str(about[0])) if event == "open" else None)
atexit.register(lambda: pathlib.Path("opened.json").write_text(json.dumps(sorted(opened))))
"""


def test_what_is_unchanged_is_not_read(stamped: Project) -> None:
    """Beside what changed, not even for the variant that it belongs to."""

    def opened(*words: str) -> set[str]:
        stamped.run("plain", *words)
        return {os.path.relpath(name, stamped.root) for name in json.loads(stamped.path("opened.json").read_text())}

    script = stamped.path("SConstruct")
    script.write_text(OPENED + script.read_text("utf-8"), "utf-8")
    model = "models/digits/digits.tflite"
    opened()
    # Of equal size, and as old: only the time of the change itself tells.
    _same_size("firmware/app/main.c", "The reference", "the reference")(stamped)
    seen = opened()
    assert "firmware/app/main.c" in seen
    assert model not in seen
    assert model in opened("--no-stamps")


def test_what_is_changed_is_read(stamped: Project) -> None:
    """A file of a build with another byte of the same size and time is made again."""
    os.utime(stamped.path("firmware/app/main.c"))
    path = stamped.path("build/plain/firmware.bin")
    good, state = path.read_bytes(), path.stat()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert ("OBJCOPY", "build/plain/firmware.bin") in stamped.run("plain").commands
    assert path.read_bytes() == good


def test_an_effect_that_a_script_names_is_declared(stamped: Project) -> None:
    script = stamped.path("SConstruct")
    script.write_text(script.read_text("utf-8") + "Default('plan-plain')\n", "utf-8")
    stamped.run("plain")
    assert broken(stamped) == []
    assert "PLAN     plain" in stamped.run("-n").out


def test_a_folder_outside_of_the_tree(stamped: Project) -> None:
    """What lists a folder while it is read depends on it, wherever it is."""
    beside = stamped.root.parent / "beside"
    beside.mkdir()
    script = stamped.path("SConstruct")
    script.write_text(script.read_text("utf-8") + "import os; os.listdir('../beside')\n", "utf-8")
    stamped.run("plain")
    assert broken(stamped) == []
    (beside / "new.c").write_text("", "utf-8")
    assert broken(stamped) == [f"folder {beside}: files came or went"]


def test_the_folder_of_a_temporary_file_counts_for_nothing(stamped: Project) -> None:
    beside = stamped.root.parent / "temporary"
    beside.mkdir()
    script = stamped.path("SConstruct")
    used = f"\nimport os\nopen({str(beside / 'new')!r}, 'w').close()\nopen({str(beside / 'new')!r}).close()\n"
    script.write_text(script.read_text("utf-8") + used + f"os.remove({str(beside / 'new')!r})\n", "utf-8")
    stamped.run("plain")
    (beside / "other").write_text("", "utf-8")
    assert broken(stamped) == []
    (beside / "new").write_text("", "utf-8")
    assert broken(stamped) == [f"{beside / 'new'} is new"]


def test_a_file_that_changes_during_the_build_leaves_no_stamp(stamped: Project) -> None:
    script = stamped.path("SConstruct")
    late = "import os; os.utime('firmware/app/main.c')\n"
    script.write_text(script.read_text("utf-8") + late, "utf-8")
    stamped.run("plain")
    assert any("firmware/app/main.c" in text for text in broken(stamped))


def test_a_build_that_fails_leaves_no_stamp(stamped: Project) -> None:
    _append("firmware/app/main.c", "#error no\n")(stamped)
    stamped.run("plain", code=2)
    assert broken(stamped)
    stamped.run("plain", code=2)


def test_sconsw_answers_without_scons(stamped: Project) -> None:
    words = [sys.executable, "-I", "-S", "site_scons/neuralart/intact.py", "build"]

    def asked(*more: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        own = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        done = subprocess.run([*words, *more], cwd=stamped.root, capture_output=True, text=True, env=own, check=False)
        assert not done.stderr
        return done.returncode, done.stdout

    assert asked("-j2", "-Q") == (0, "scons: `plain' is up to date.\n")
    assert asked("-j", "2", "plain") == (0, "scons: `plain' is up to date.\n")
    for refused in (
        ["other"],
        ["plain", "other"],
        ["run-plain"],
        ["VERBOSE=1"],
        ["-c"],
        ["--no-stamps"],
        ["build"],
        ["-n"],
    ):
        assert asked(*refused) == (intact.ASK, ""), refused
    path = stamped.path(f"build/{intact.NAME}")
    data = json.loads(path.read_text("utf-8"))
    numbers = {**data, "files": [[1 << 40, None]] * len(data["files"])}  # in the place of paths
    edited = [json.dumps(each) for each in ({**data, "files": []}, {**data, "worlds": [7]}, numbers)]
    for damaged in ("", "[]", "{}", *edited, "[" * 9999):
        path.write_text(damaged, "utf-8")
        assert asked("plain") == (intact.ASK, ""), damaged[:40]
        assert not stamped.run("plain").commands
        assert asked("plain")[0] == 0


def test_why(stamped: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stamped.root)
    assert main(["why", "plain"]) == 0
    assert capsys.readouterr().out.startswith("plain is as the build of ")
    os.utime(stamped.path("firmware/app/main.c"))
    assert main(["why", "build/plain/firmware.elf"]) == 0
    first, *more = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"plain has changed since the build of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d:", first)
    assert more == ["  firmware/app/main.c changed"]
    assert main(["why", "nothing"]) == 1
    assert "no good build of 'nothing' is known" in capsys.readouterr().err


def test_targets_of_the_users_beside_a_variant(stamped: Project) -> None:
    """They are looked at, also those that a script adds to a command line."""
    script = stamped.path("SConstruct")
    more = "Command('out/app', 'app.in', Copy('$TARGET', '$SOURCE'))\n"
    script.write_text(script.read_text("utf-8") + more, "utf-8")
    for text in ("one", "two", "three", "four"):
        if text == "three":
            script.write_text(script.read_text("utf-8") + "BUILD_TARGETS.append('out/app')\n", "utf-8")
        stamped.path("app.in").write_text(text, "utf-8")
        stamped.run("plain", *(["out/app"] if text in ("one", "two") else []))
        assert stamped.path("out/app").read_text("utf-8") == text


# A target of which all is known, from three sources; a tool of SCons that asks a compiler for its version.
LISTS = """
import glob, pathlib
Environment(tools=["gcc"])
said = pathlib.Path("build/said").read_text()
Alias("plain", Command("build/all.txt", [Value(said), *sorted(glob.glob("src/*.c"))], ACTION))
"""


def test_what_changes_while_it_is_built(stamped: Project) -> None:
    script = stamped.path("SConstruct")
    text = script.read_text("utf-8")
    stamped.path("src").mkdir()
    for name in ("src/a.c", "src/b.c", "build/said"):
        stamped.path(name).write_text("", "utf-8")
    # Not what SCons listed is there now, nor what it read.
    for happens in ("touch src/c.c", "rm src/b.c"):
        script.write_text(f"{text}ACTION = '{happens}; touch $TARGET'\n{LISTS}", "utf-8")
        stamped.run("plain")
        assert "SConstruct changed" in broken(stamped), happens
    # As if the clock were set back meanwhile.
    back = "from neuralart.scons import stamps\nstamps.Recorder._since = lambda self: 1 << 62\n"
    script.write_text(f"{text}{back}ACTION = 'touch src/a.c $TARGET'\n{LISTS}", "utf-8")
    stamped.run("plain")
    assert "SConstruct changed" in broken(stamped)
    stamped.path("src/b.c").write_text('#include "v.h"\n')
    for folder in ("first", "second"):
        stamped.path(folder).mkdir()
    stamped.path("second/v.h").write_text("", "utf-8")
    more = (
        "env = Environment(tools=['gcc'], CPPPATH=['gone', 'first', 'second'])\nAlias('plain', env.Object('src/b.c'))\n"
    )
    more += "pathlib.Path('each.log').write_text('')\n"  # As Configure() writes one
    script.write_text(f"{text}ACTION = 'touch $TARGET'\n{LISTS}{more}", "utf-8")
    stamped.run("plain")
    assert broken(stamped), "an object was made beside its source"
    stamped.run("plain")
    assert broken(stamped) == []
    # A header comes into a folder that no file is used of.
    stamped.path("first/v.h").write_text("", "utf-8")
    assert broken(stamped) == ["folder first: files came or went"]
    stamped.path("first/v.h").unlink()
    stamped.path("gone").mkdir()
    assert "folder gone: files came or went" in broken(stamped)
    stamped.path("gone").rmdir()
    assert broken(stamped) == []
    # What a script reads in the build folder counts; what a program tells it is known to none.
    stamped.path("build/said").write_text("other", "utf-8")
    assert broken(stamped) == ["build/said changed"]
    # A variable counts that the script has taken away.
    flavor = "import os; print(os.environ.pop('FLAVOR', ''))\n"
    script.write_text(f"{text}{flavor}", "utf-8")
    stamped.run("plain", env={"FLAVOR": "sweet"})
    assert broken(stamped) == ["variable FLAVOR of the environment"]
    script.write_text(f"{text}import subprocess\nsubprocess.run(['true'])\n", "utf-8")
    stamped.run("plain")
    assert "SConstruct changed" in broken(stamped)


def test_an_installed_plugin_is_edited(stamped: Project) -> None:
    places = Places(stamped.root, stamped.root.parent / "site-packages")
    code = "from neuralart_reference.operators import operator\n"
    code += "@operator('MINE', limits='none', protocol=1)\ndef mine(*_): raise ValueError\n"
    places.install("theirs", {"neuralart.operators": {"MINE": "theirs.m"}}, m=code)
    env = {"PYTHONPATH": str(places.site)}
    stamped.run("plain", env=env)
    assert broken(stamped, env=env) == []
    module = places.site / "theirs" / "m.py"
    module.write_text(f"{code}# other\n", "utf-8")
    assert broken(stamped, env=env) == [f"{module} changed"]
