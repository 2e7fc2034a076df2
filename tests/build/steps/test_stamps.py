"""Stamps: what is as the last good build left it is not declared again, and nothing else is ever taken for it. Only a
SConstruct that is a description has them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from neuralart import intact
from neuralart.cli import main
from neuralart.plugins import origins
from support.models import tflite_edit
from support.projects import machine_edits
from support.projects.sconsproject import MODELS, REPO, Project, copy_built, copy_small, once, prepare

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
        return intact.Checker(
            data, list(words), intact.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
        ).broken(name)
    finally:
        os.chdir(here)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Project:
    def make(folder: Path) -> None:
        prepare(copy_small(folder, PLAIN), tmp_path_factory, "plain")

    return Project(once(tmp_path_factory, "stamped", make))


@pytest.fixture
def stamped(plain: Project, tmp_path: Path) -> Project:
    project = copy_built(plain, tmp_path / "a tree with spaces")
    project.run("plain")  # Stamps of another place say nothing
    assert broken(project) == []
    return project


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
    ("build/plain/firmware.hex is gone", lambda project: project.path("build/plain/firmware.hex").unlink()),
    ("build/plain/summary.txt changed", _append("build/plain/summary.txt", "x")),
    ("firmware/app/main.c changed", _same_size("firmware/app/main.c", "0", "0")),
    ("folder firmware/app", lambda project: project.path("firmware/app/unused.h").write_text("", "utf-8")),
    ("folder firmware/runtime", lambda project: project.path("firmware/runtime/.hidden.h").write_text("", "utf-8")),
    ("folder firmware/boards", lambda project: project.path("firmware/boards/build").mkdir()),
    ("folder build/plain", lambda project: project.path("build/plain/zz.h").write_text("", "utf-8")),
    ("variants.yaml changed", _same_size("variants.yaml", "Digits", "digits")),
    ("SConstruct changed", _append("SConstruct", "# nothing\n")),
    ("site_scons/neuralart/errors.py changed", _append("site_scons/neuralart/errors.py", "# nothing\n")),
    ("folder site_scons/neuralart/text", lambda project: project.path("site_scons/neuralart/text/new.py").touch()),
    ("site_scons/neuralart_plugins is new", lambda project: project.path("site_scons/neuralart_plugins").mkdir()),
    ("folder site_scons:", lambda project: project.path("site_scons/yaml.py.off").touch()),
    ("models/digits/digits.tflite", lambda project: os.utime(project.path("models/digits/digits.tflite"))),
]


def test_whatever_changes_is_seen(stamped: Project, tmp_path: Path) -> None:
    for said, change in CHANGES:
        change(stamped)
        assert any(text.startswith(said) for text in broken(stamped)), said
    assert "the command line" in broken(stamped, "VERBOSE=1")[0]
    assert "variable NEURALART_GDB of the environment" in broken(stamped, env={"NEURALART_GDB": ":9"})
    assert "variable PATH of the environment" in broken(stamped, env={"PATH": f"/nowhere:{os.environ['PATH']}"})
    assert not any("variable" in text for text in broken(stamped, env={"TERM": "other", "GITHUB_RUN_ID": "7"}))
    assert broken(stamped, name="other") == ["no good build of it is known"]
    # One build mends it all, and the next one declares nothing.
    stamped.run("plain")
    assert broken(stamped) == []
    assert stamped.path("build/plain/firmware.hex").exists()


def _copied_back(stamped: Project, name: str) -> None:
    path = stamped.path(name)
    copy = path.with_name(f"{path.name}.kept")
    shutil.copy2(path, copy)
    path.unlink()
    copy.rename(path)


def test_an_archive_is_put_back(stamped: Project) -> None:
    """Of equal bytes, sizes and times: only SCons can say if it belongs to what is there."""
    path = stamped.path(".sconsign.dblite")
    _copied_back(stamped, ".sconsign.dblite")
    assert broken(stamped) == [".sconsign.dblite changed"]
    assert not stamped.run("plain").commands
    assert broken(stamped) == []
    path.unlink()
    assert broken(stamped)[0] == ".sconsign.dblite is gone"
    stamped.run("plain")
    _copied_back(stamped, "build/plain/firmware.bin")
    assert broken(stamped) == ["build/plain/firmware.bin changed", "folder build/plain: files came or went"][:1]
    # What SCons remembers is changed by SCons itself, too: here by a build that fails.
    stamped.run("plain")
    stamped.path("variants.yaml").write_text(PLAIN.replace("other: {", "other: {defines: ['A=('], "), "utf-8")
    stamped.run("plain")
    assert broken(stamped) == []
    before = path.read_bytes()
    _append("firmware/app/main.c", "#error no\n")(stamped)
    stamped.run("other", code=2)
    _same_size("firmware/app/main.c", "#error no", "// error ")(stamped)
    assert path.read_bytes() != before
    assert [text for text in broken(stamped) if "main.c" not in text] == []


def test_the_tree_is_moved(stamped: Project) -> None:
    moved = Project(stamped.root.with_name("elsewhere"))
    stamped.root.rename(moved.root)
    assert broken(moved) == []


LINKS = [
    ("firmware/app/main.c", "main.one", "main.two"),
    ("firmware/app", "app-1", "app-2"),
    ("firmware", "firmware-1", "firmware-2"),
]


@pytest.mark.parametrize(("link", "one", "two"), LINKS)
def test_a_link_that_leads_elsewhere(stamped: Project, link: str, one: str, two: str) -> None:
    """All that it leads to is the same file by another name."""
    path = stamped.path(link)
    path.rename(path.with_name(one))
    if path.with_name(one).is_dir():
        shutil.copytree(path.with_name(one), path.with_name(two), copy_function=os.link)
    else:
        os.link(path.with_name(one), path.with_name(two))
    path.symlink_to(one)
    stamped.run("plain")
    assert broken(stamped) == []
    path.unlink()
    path.symlink_to(two)
    assert f"{link} leads elsewhere" in broken(stamped)
    path.unlink()
    path.with_name(two).rename(path)
    assert f"{link} leads elsewhere" in broken(stamped)


OLD = 1_577_836_800  # 2020: older than what SCons reads by itself


def test_contents_decide_whatever_the_time_says(stamped: Project) -> None:
    """A real build, too: SCons would believe that an old file of an old time is as it was."""
    source, model = stamped.path("firmware/app/main.c"), stamped.path("models/digits/digits.tflite")
    for path in (source, model):
        os.utime(path, (OLD, OLD))
    stamped.run("plain")
    assert broken(stamped) == []
    image = stamped.path("build/plain/digits.xSPI2.bin").read_bytes()
    _same_size("firmware/app/main.c", "The reference", "the reference")(stamped)
    os.utime(source, (OLD, OLD))
    assert ("CC", "build/plain/app/main.o") in stamped.run("--max-drift=0", "--no-stamps", "plain", code=None).commands
    tflite_edit.change_weight(model)
    os.utime(model, (OLD, OLD))
    assert "NETWORK" in stamped.run("plain").tags
    assert stamped.path("build/plain/digits.xSPI2.bin").read_bytes() != image
    assert broken(stamped) == []
    done = stamped.run("--max-drift=3", "plain")
    assert "--max-drift is not used: contents decide" in done.err and not done.commands


def test_which_compiler(stamped: Project, tmp_path: Path) -> None:
    """Another one behind the same path, size and time is another one, for stamps and for SCons."""
    tools = machine_edits.Toolchain(tmp_path / "tools")
    env = {"NEURALART_TOOLCHAIN": str(tools.folder), "PYTHONDONTWRITEBYTECODE": "1"}
    stamped.run("plain", env=env)
    assert broken(stamped, env=env) == []
    gcc, objcopy = (tools.folder / f"arm-none-eabi-{name}" for name in ("gcc", "objcopy"))
    real = objcopy.resolve()
    one, two = tools.folder / "one", tools.folder / "two"
    for path, text in ((one, "--gap-fill=0"), (two, "--gap-fill=1")):
        path.write_text(f'#!/bin/sh\nexec {real} {text} "$@"\n', "utf-8")
        path.chmod(0o755)
        os.utime(path, (OLD, OLD))

    def edited() -> None:
        state = gcc.stat()
        gcc.write_text(gcc.read_text("utf-8").replace("# The list of", "# the list of"), "utf-8")
        os.utime(gcc, ns=(state.st_atime_ns, state.st_mtime_ns))

    def link(to: Path) -> None:
        objcopy.unlink()
        objcopy.symlink_to(to)

    changes = [(gcc, edited, "CC"), (objcopy, lambda: link(one), "OBJCOPY"), (objcopy, lambda: link(two), "OBJCOPY")]
    for path, change, tag in changes:
        change()
        assert any(text.startswith(str(path)) for text in broken(stamped, env=env)), path
        assert tag in stamped.run("plain", env=env).tags
        assert broken(stamped, env=env) == []
    # One that comes first.
    first = tmp_path / "first"
    first.mkdir()
    env = {"PATH": f"{first}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    stamped.run("plain", env=env)
    assert broken(stamped, env=env) == []
    (first / "arm-none-eabi-gcc").symlink_to(gcc)
    assert broken(stamped, env=env) == [f"{first}/arm-none-eabi-gcc is new"]


def test_results_that_a_copy_brought(stamped: Project) -> None:
    """No order of their times says that they are as the compile left them: they are read before they are made again."""
    folder = stamped.network_folder("plain")
    os.utime(folder / "digits.c")
    _append("models/digits/digits.tflite", "\0")(stamped)
    stamped.run("plain")
    assert broken(stamped) == []
    # A result that was edited is made again, and that is seen to.
    (folder / "digits.c").write_bytes((folder / "digits.c").read_bytes() + b"\n")
    assert "digits.c was changed after it was made: it is made again" in stamped.run("plain").out
    stamped.run("plain")
    assert broken(stamped) == []


def test_bytecode_that_comes_counts_for_nothing(stamped: Project) -> None:
    env = {"PYTHONDONTWRITEBYTECODE": ""}
    for folder in stamped.path("site_scons").rglob("__pycache__"):
        shutil.rmtree(folder)
    stamped.run("plain", env=env)
    stamped.path("site_scons/neuralart/__pycache__/other.cpython-399.pyc").write_bytes(b"")
    assert broken(stamped, env=env) == []


def test_results_of_a_compile_that_nothing_reads_are_seen(stamped: Project) -> None:
    """A step makes them together with others."""
    data: Any = intact.load(str(stamped.path(f"build/{intact.NAME}")))
    known = {*intact.files_of(data, "plain")}
    manifests = [stamped.path(name) for name in known if name.endswith("/manifest.json")]
    names = [
        f"{path.parent.relative_to(stamped.root).as_posix()}/{row['name']}"
        for path in manifests
        for row in json.loads(path.read_bytes())["files"]
    ]
    assert any(name.endswith("/digits.h") for name in names) and set(names) <= known


WATCHING = """
import atexit, json, os, pathlib, sys
opened, listed, ends = [], [], [0, 0]
def hook(event, about):
    name = os.path.abspath(about[0]) if about and isinstance(about[0], (str, os.PathLike)) else ""
    if event == "open" and not (isinstance(about[2], int) and about[2] & 3):
        opened.append(name)
    elif event in ("os.listdir", "os.scandir", "glob.glob"):
        listed.append(name)
sys.addaudithook(hook)
import SCons.Node
def look(node, **_):
    ends[:] = len(opened), len(listed)
SCons.Node.arg2nodes_lookups.append(look)
def write():
    seen = [sorted({*opened[: ends[0]]}), sorted({*listed[: ends[1]]})]
    from neuralart import files, fingerprint
    modules = {str(getattr(module, '__file__', None)) for module in sys.modules.values()}
    noted = sorted({*files.noted, *fingerprint.looked, *modules})
    pathlib.Path("seen.json").write_text(json.dumps([*seen, noted, sorted(files.noted_folders)]))
atexit.register(write)
"""


def test_all_that_declaring_reads_is_in_the_stamps(stamped: Project) -> None:
    """What Python opens and lists while variants are declared, and not for another tree, a program or itself."""
    lines = (REPO / "variants.yaml").read_text("utf-8").partition("\nvariants:")[2].splitlines()
    names = [line.strip(" :") for line in lines if re.fullmatch(r"  [a-z][\w-]*:", line)]
    assert len(names) > 12
    shutil.copy2(REPO / "variants.yaml", stamped.path("variants.yaml"))
    for model in MODELS:
        shutil.copytree(REPO / f"models/{model}", stamped.path(f"models/{model}"), dirs_exist_ok=True)
    site = stamped.root.parent / "site"
    site.mkdir()
    (site / "site_init.py").write_text(WATCHING, "utf-8")
    stamped.run("-n", f"--site-dir={site}", *names)
    opened, listed, *known = json.loads(stamped.path("seen.json").read_text())
    noted, trees = ({str(stamped.path(name)) for name in part} for part in known)
    trees.add(str(stamped.path("firmware")))
    # Python looks for modules in site_scons: what comes there or goes is in the stamps.
    data = intact.load(str(stamped.path("build/.stamps.json")))
    assert data is not None
    groups = [data["groups"][key] for each in data["worlds"].values() for key in each["groups"]]
    places = [place for group in groups for place in group]
    assert any(place["at"] == "site_scons" and "folder" in place for place in places)
    ours = [importlib.util.source_from_cache(name) if name.endswith(".pyc") else name for name in opened]
    ours = [name for name in ours if name.startswith(str(stamped.root)) and "/build/" not in name]
    ours = [name for name in ours if Path(name).name not in (".sconsign.dblite", "SConstruct")]
    ours = [name for name in ours if not name.endswith(".mpool")]  # Sources of networks: each variant has its own
    strange = [name for name in ours if name not in noted and not name.startswith(tuple(f"{tree}/" for tree in trees))]
    assert strange == [] and any(name.endswith("variants.yaml") for name in ours)
    trees |= {str(stamped.path(f"site_scons/{part.name}")) for part in origins.parts()}
    trees.add(str(stamped.path("site_scons")))
    folders = [name for name in listed if name.startswith(f"{stamped.root}/") and "/build" not in name]
    assert [name for name in folders if name not in trees and not name.startswith(tuple(f"{t}/" for t in trees))] == []


def test_an_intact_variant_is_not_declared(stamped: Project) -> None:
    lines = "scons: `plain' is up to date.\n"
    assert stamped.run("plain").out == stamped.run().out == stamped.run("-k", "-j3").out == lines
    assert "CC" in stamped.run("other").tags
    assert broken(stamped) == broken(stamped, name="other") == []
    # One of two is declared, and says nothing of the other.
    stamped.path("build/other/firmware.hex").unlink()
    done = stamped.run("plain", "other")
    assert done.commands == {("OBJCOPY", "build/other/firmware.hex")} and lines in done.out
    assert broken(stamped) == broken(stamped, name="other") == []


TWO = PLAIN.replace("variants:", "  more: {model: models/digits/more.tflite}\nvariants:").replace(
    "network: digits}\n", "network: more}\n"
)
TWO = TWO.replace("network: more", "network: digits", 1)
DECLARED = """
import json, pathlib
_watch_all = making.watch_all
def _declared(env, top, known):
    _watch_all(env, top, known)
    names = sorted(str(node) for node in known if node.has_builder())
    pathlib.Path("../declared.json").write_text(json.dumps(names))
making.watch_all = _declared
"""


def test_what_an_intact_variant_has_is_not_declared_for_another_one(stamped: Project) -> None:
    """A model was changed: the runtime, its kernels and their headers are those of the variant beside it."""
    model = stamped.path("models/digits/digits.tflite")
    shutil.copy2(model, model.with_name("more.tflite"))
    stamped.path("variants.yaml").write_text(TWO, "utf-8")
    module = stamped.path("site_scons/neuralart/scons/variant.py")
    module.write_text(module.read_text("utf-8") + DECLARED, "utf-8")
    stamped.run("plain", "other")
    listed, path = stamped.root.parent / "declared.json", str(stamped.path(f"build/{intact.NAME}"))
    whole, data = json.loads(listed.read_text("utf-8")), intact.load(path)
    for words in (("plain", "other"), ("plain",)):  # whether the other one is asked for or not
        tflite_edit.change_weight(model)
        done = stamped.run(*words)
        assert "NETWORK" in done.tags and not {"CC", "AR", "LINK"} & done.tags
        few = json.loads(listed.read_text("utf-8"))
        assert len(few) < 50 < 100 < len(whole) and not [name for name in few if "/runtime-" in name]
        # All that was not looked at stays in its stamp.
        now = intact.load(path)
        assert data is not None and now is not None and broken(stamped) == broken(stamped, name="other") == []
        assert {*intact.files_of(now, "plain")} == {*intact.files_of(data, "plain")}
        assert now["worlds"].keys() == {now["variants"]["other"]["world"]} | {now["variants"]["plain"]["world"]}
    for source in ("firmware/runtime/kernels/add.c", "firmware/runtime/include/neuralart_kernels.h"):
        tflite_edit.change_weight(model)
        _append(source, "/* x */\n")(stamped)
        assert f"{source} changed" in broken(stamped)
        assert {"NETWORK", "CC"} <= stamped.run("plain").tags
        assert broken(stamped) == [] and f"{source} changed" in broken(stamped, name="other")
        stamped.run("plain", "other")
    assert not stamped.run("--no-stamps", "plain", "other").commands


def test_what_one_variant_copies_and_another_one_reads(stamped: Project) -> None:
    """The folder of a Makefile belongs to its variant, but a board in it describes that of another variant, too."""
    folder = stamped.path("fw")
    folder.mkdir()
    (folder / "ours.yaml").write_text("schema: 1\nbase: stm32n6570-dk\ntitle: Ours\n", "utf-8")
    (folder / "Makefile").write_text("out.elf: before.elf\n\tcp before.elf out.elf\n", "utf-8")
    shutil.copy(stamped.path("build/plain/firmware.elf"), folder / "before.elf")
    made = "board: stm32n6570-dk, application: {make: {folder: fw, artefact: out.elf}}, network: digits}\n"
    text = PLAIN.replace("board: stm32n6570-dk, network: digits}\n", made).replace("stm32n6570-dk", "ours", 1)
    text = text.replace("application: {make: {folder: fw, artefact: out.elf}}, ", "", 1)
    stamped.path("variants.yaml").write_text("boards: [fw/ours.yaml]\n" + text, "utf-8")
    stamped.run("plain", "other")
    assert broken(stamped) == broken(stamped, name="other") == []
    _same_size("fw/ours.yaml", "Ours", "ours")(stamped)
    for name in ("plain", "other"):
        assert "fw/ours.yaml changed" in broken(stamped, name=name)


MAIN = """\
#include "ll_aton.h"
#include "npu_memory_init.h"
LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(digits);
int main(void) { return npu_memory_init() + LL_ATON_RT_Init_Network(&NN_Instance_digits) + OWN; }
"""


@pytest.mark.parametrize("calls", [[("plain", "other")], [("plain",), ("other",), ("edit",), ("other",)]])
def test_a_header_comes_before_another_one(stamped: Project, calls: list[tuple[str, ...]]) -> None:
    """In a folder below one of the include path, in which one variant has a header and the other one only looks."""
    for name, header in (("plain", "one/sub/own.h"), ("other", "two/sub/own2.h")):
        stamped.path(header).parent.mkdir(parents=True)
        stamped.path(header).write_text("#define OWN 1\n", "utf-8")
        stamped.path(name).mkdir()
        stamped.path(f"{name}/main.c").write_text(f'#include "sub/{Path(header).name}"\n{MAIN}', "utf-8")
    text = PLAIN
    for name, folders in (("plain", "one"), ("other", "one, two")):
        program = f"{{sources: {{files: [{name}/main.c], include_dirs: [{folders}]}}}}"
        text = text.replace(f"  {name}: {{title: Digits,", f"  {name}: {{application: {program},")
    stamped.path("variants.yaml").write_text(text, "utf-8")
    for words in calls:
        _append("other/main.c", "\n")(stamped) if words == ("edit",) else stamped.run(*words)
    assert broken(stamped, name="other") == []
    stamped.path("one/sub/own2.h").write_text("#define OWN 2\n", "utf-8")
    assert "folder one/sub: files came or went" in broken(stamped, name="other")


# What main.c says, the file that it reads so, and the keys of the variant: no line says ``#include "FILE"``.
READ = [
    ('#define CONF "conf.h"\n#include CONF\n', "firmware/app/conf.h", ""),
    ("#include CONF\n", "firmware/app/conf.h", ", defines: ['CONF=\"conf.h\"']"),
    ('__asm__(".section .rodata\\n.incbin \\"raw.bin\\"\\n.text\\n");\n', "raw.bin", ""),
    ('#if __has_include("conf.h")\n#error there\n#endif\n', "firmware/app/conf.h", ""),
]


@pytest.mark.parametrize(("code", "name", "keys"), READ)
def test_what_is_read_in_another_way_than_by_its_name_behind_include(
    stamped: Project, code: str, name: str, keys: str
) -> None:
    main_c, comes = stamped.path("firmware/app/main.c"), "__has_include" in code
    main_c.write_text(code + main_c.read_text("utf-8"), "utf-8")
    if not comes:
        stamped.path(name).write_text("// 1\n", "utf-8")
    stamped.edit("variants.yaml", "network: digits}\n  other", f"network: digits{keys}}}\n  other")
    stamped.path("docs").mkdir()
    _append("firmware/app/main.c", '#define A_TEXT "docs"\n')(stamped)  # It is no file
    stamped.run("plain")
    assert broken(stamped) == []
    stamped.path(name).write_text("// 2\n#error two\n", "utf-8")
    assert broken(stamped)
    made = stamped.run("plain", code=None)
    assert made.code == 2 or ("CC", "build/plain/app/main.o") in made.commands


def test_a_folder_of_pythonpath_comes(stamped: Project, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(tmp_path / "later"), "PYTHONDONTWRITEBYTECODE": "1"}
    stamped.run("plain", env=env)
    assert broken(stamped, env=env) == []
    shutil.copytree(Path(yaml.__file__).parent, tmp_path / "later/yaml")
    assert broken(stamped, env=env) == [f"{tmp_path}/later is new"]


PROGRAMS = [
    "import os\nNAME = os.environ.get('GITHUB_REF_NAME', 'variants.yaml')\n",
    "with open('which', 'r+') as file:\n    NAME = file.read()\n",
    "import os\nNAME = os.readlink('which-link')\n",
    "import subprocess\nNAME = subprocess.check_output(['cat', 'which'], text=True)\n",
    "import os\nNAME = 'variants-b.yaml' if os.path.getsize('which') != 13 else 'variants.yaml'\n",
]


def test_a_program_is_asked_each_time(stamped: Project) -> None:
    """Whatever it does, and though ``main()`` is called in it."""
    script, names = stamped.path("SConstruct"), ["variants.yaml", "variants-b.yaml"]
    text = script.read_text("utf-8").replace('"variants.yaml"', "NAME")
    stamped.path(names[1]).write_text(PLAIN.replace("title: Digits", "title: B"), "utf-8")
    stamps = stamped.path(f"build/{intact.NAME}")
    before = stamps.read_bytes()

    def put(name: str) -> dict[str, str]:
        stamped.path("which").write_text(name, "utf-8")
        stamped.path("which-link").unlink(missing_ok=True)
        stamped.path("which-link").symlink_to(name)
        return {"GITHUB_REF_NAME": name}

    for ask in PROGRAMS:
        script.write_text(ask + text, "utf-8")
        env = put(names[0])
        for _ in range(2):
            assert not stamped.run("plain", env=env).commands, ask
            assert asked(stamped, "plain", env=env) == (intact.ASK, "")
        assert stamps.read_bytes() == before
        names.reverse()
        assert stamped.run("plain", env=put(names[0])).commands, ask


@pytest.mark.parametrize("name", ["site_scons/site_init.py", "site_scons/neuralart_plugins/mine.py"])
def test_code_of_others_is_asked_each_time(stamped: Project, name: str) -> None:
    path = stamped.path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("# operators, which make it one of those that are read\n", "utf-8")
    for _ in range(2):
        assert broken(stamped)
        stamped.run("plain")
        assert asked(stamped, "plain") == (intact.ASK, "")
    path.unlink()
    stamped.run("plain")
    assert asked(stamped, "plain")[0] == 0


def test_a_user_gets_a_site_init(stamped: Project, tmp_path: Path) -> None:
    """Of all projects, beside his own ones."""
    env = {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    stamped.run("plain", env=env)
    assert broken(stamped, env=env) == []
    script = tmp_path / ".scons/site_scons/site_init.py"
    script.parent.mkdir(parents=True)
    script.write_text("", "utf-8")
    assert f"{script.parent} is new" in broken(stamped, env=env)
    stamped.run("plain", env=env)
    assert broken(stamped, env=env)


def asked(project: Project, *words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """What ``./sconsw`` asks before SCons: its end, and what it says."""
    call = [sys.executable, "-I", "-S", "site_scons/neuralart/intact.py", "build", *words]
    own = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
    done = subprocess.run(call, cwd=project.root, capture_output=True, text=True, env=own, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_sconsw_answers_without_scons(stamped: Project) -> None:
    assert asked(stamped, "-j2", "-Q") == (0, "scons: `plain' is up to date.\n")
    assert asked(stamped, "-j", "2", "plain") == (0, "scons: `plain' is up to date.\n")
    for refused in (["other"], ["plain", "other"], ["run-plain"], ["VERBOSE=1"], ["-c"], ["--no-stamps"], ["build"]):
        assert asked(stamped, *refused) == (intact.ASK, ""), refused
    stamped.run("plain", "VERBOSE=1")
    assert asked(stamped, "VERBOSE=1", "plain")[0] == 0 and asked(stamped, "plain")[0] == intact.ASK
    path = stamped.path(f"build/{intact.NAME}")
    for damaged in ("", "[]", "{}", "[" * 9999):
        path.write_text(damaged, "utf-8")
        assert asked(stamped, "plain") == (intact.ASK, ""), damaged[:40]
        assert not stamped.run("plain").commands
        assert asked(stamped, "plain")[0] == 0


def test_options_that_stamps_must_not_swallow(stamped: Project) -> None:
    assert asked(stamped, "-j", "2", "plain", "--jobs=3")[0] == 0
    for words in (("-j", "plain"), ("plain", "-j"), ("plain", "--jobs=x")):  # SCons says what is wrong with them
        assert asked(stamped, *words) == (intact.ASK, "")
    # SCons prints what it knows of nodes, and writes its report, each time.
    assert "firmware.elf" in stamped.run("--tree=all", "plain").out
    assert broken(stamped) == []
    for _ in range(2):
        stamped.run("plain", env={"SCONSFLAGS": "--junit=r.xml"})
        stamped.path("r.xml").unlink()
    before = stamped.path(f"build/{intact.NAME}").read_bytes()
    stamped.run("plain", env={"SCONSFLAGS": "--no-stamps"})
    assert stamped.path(f"build/{intact.NAME}").read_bytes() == before


def test_what_is_changed_is_read(stamped: Project) -> None:
    """A file of a build with another byte of the same size and time: what is made of it is made again."""
    path = stamped.path("build/plain/firmware.bin")
    good, state = path.read_bytes(), path.stat()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert broken(stamped) == ["build/plain/firmware.bin changed"]
    # With the bytes that it had: nothing else has to be made again.
    assert stamped.run("plain").commands == {("OBJCOPY", "build/plain/firmware.bin")}
    assert path.read_bytes() == good


def test_a_build_that_fails_leaves_no_stamp(stamped: Project) -> None:
    _append("firmware/app/main.c", "#error no\n")(stamped)
    stamped.run("plain", code=2)
    assert broken(stamped)
    stamped.run("plain", code=2)


# Run by SCons before the stamps are written, as by a site_init.py that nobody looks for.
MEANWHILE = """
import atexit, os, pathlib
from neuralart.scons import stamps
plain = stamps.Recorder._write
def write(self, made):
    {what}
    return plain(self, made)
stamps.Recorder._write = write
"""


CHANGED = [
    "pass",
    "os.utime('firmware/app/main.c')",
    "open('firmware/app/new.h', 'w').close()",
    "open('build/plain/main.h', 'w').close()",
    "pathlib.Path('build/plain/summary.txt').write_text('x')",
    "open('site_scons/neuralart/new.py', 'w').close()",
    "os.rename('firmware/app/main.c', 'firmware/app/main.c.bak')",
    "pathlib.Path('variants.yaml').write_text('# x')",
]


def test_what_changes_while_it_is_built_leaves_no_stamp(stamped: Project) -> None:
    """Nobody knows which of its states was read."""
    module, backup = stamped.path("site_scons/neuralart/scons/variant.py"), stamped.path("firmware/app/main.c.bak")
    text = module.read_text("utf-8")
    for what in CHANGED:
        _append("variants.yaml", "# more\n")(stamped)
        module.write_text(text + MEANWHILE.format(what=what), "utf-8")
        stamped.run("plain")
        assert (broken(stamped) == []) == (what == "pass"), what
        assert asked(stamped, "plain")[0] == (0 if what == "pass" else intact.ASK), what
        if backup.exists():
            backup.rename(backup.with_suffix(""))


# SCons looks for headers when it compiles; sources were searched for before it.
LATE = "open('found/new.c', 'w').close(), self._env.fs.Dir('found').on_disk_entries.update({'new.c': 'new.c'})"


@pytest.mark.parametrize("what", ["pass", LATE, "os.rename('aside', 'found/aside')"])
def test_sources_that_come_while_it_is_built_leave_no_stamp(stamped: Project, what: str) -> None:
    for name, text in (("found/main.c", MAIN.replace("OWN", "1")), ("aside/more.c", "int more;\n")):
        stamped.path(name).parent.mkdir()
        stamped.path(name).write_text(text, "utf-8")
    found = "{application: {sources: {files: ['found/**/*.c'], include_dirs: [found]}}, board"
    stamped.path("variants.yaml").write_text(PLAIN.replace("{title: Digits, board", found, 1), "utf-8")
    module = stamped.path("site_scons/neuralart/scons/variant.py")
    module.write_text(module.read_text("utf-8") + MEANWHILE.format(what=what), "utf-8")
    stamped.run("plain")
    assert (asked(stamped, "plain")[0] == intact.ASK) == (what != "pass")


def test_what_changes_of_one_variant_costs_no_other_one_its_stamp(stamped: Project) -> None:
    """As a model that was written just before the build: of 200 variants, 199 must not be read again."""
    module = stamped.path("site_scons/neuralart/scons/variant.py")
    what = "pathlib.Path('build/plain/summary.txt').write_text('x')"
    module.write_text(module.read_text("utf-8") + MEANWHILE.format(what=what), "utf-8")
    stamped.run("plain", "other")
    assert broken(stamped) and broken(stamped, name="other") == []


FULL = """
import errno
from neuralart import files
plain = files.new_file
def full(path):
    if path.name == ".stamps.json":
        raise OSError(errno.ENOSPC, "No space left on device")
    return plain(path)
files.new_file = full
"""


def test_a_full_disk(stamped: Project) -> None:
    """Stamps cannot be written: the build is as good without them, and the next one is asked."""
    _same_size("variants.yaml", "Digits", "digits")(stamped)
    module = stamped.path("site_scons/neuralart/scons/variant.py")
    module.write_text(module.read_text("utf-8") + FULL, "utf-8")
    done = stamped.run("plain")
    assert "SUMMARY" in done.tags and not done.err
    assert broken(stamped) and asked(stamped, "plain") == (intact.ASK, "")


def test_damaged_stamps_of_another_variant(stamped: Project) -> None:
    """A build without a stamp of the damaged one says nothing, and leaves no damaged stamps."""
    path = stamped.path(f"build/{intact.NAME}")
    whole: Any = intact.load(str(path))
    for damage in (5, ["x"], [{"at": "q"}], [{"at": "q", "files": {"a": [1]}}]):
        data = {**whole, "variants": {**whole["variants"], "other": {**whole["variants"]["plain"]}}}
        data["variants"]["other"]["groups"] = [len(whole["groups"])]
        path.write_text(intact.with_checksum(json.dumps({**data, "groups": [*whole["groups"], damage]})), "utf-8")
        stamped.path("build/plain/summary.txt").unlink()
        assert not stamped.run("plain").err
        stamped.run("plain")
        assert broken(stamped) == [], damage


def test_variables_of_main(stamped: Project) -> None:
    shown = stamped.run("VERBOSE=1", "plain", "--no-stamps").out
    assert "scons: *** unknown variable 'verbose=' on the command line" in stamped.run("verbose=1", code=2).err
    assert "unknown target 'plan'" in stamped.run("plan", code=2).err
    assert "Variants of variants.yaml:" in stamped.run("-h").out and "up to date" in shown
    stamped.path("build/plain/firmware.hex").unlink()
    assert "objcopy -O ihex" in stamped.run("VERBOSE=1", "plain").out


def test_why(stamped: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stamped.root)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert main(["why", "plain"]) == 0
    assert capsys.readouterr().out.startswith("plain is as the build of ")
    os.utime(stamped.path("firmware/app/main.c"))
    assert main(["why", "build/plain/firmware.elf"]) == 0
    first, *more = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"plain has changed since the build of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d:", first)
    assert more == ["  firmware/app/main.c changed"]
    assert main(["why", "nothing"]) == 1
    assert "no good build of 'nothing' is known" in capsys.readouterr().err
