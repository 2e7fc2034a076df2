"""A network in a project of modm: lbuild itself, on a small library of modm's form."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from neuralart import cli
from support.models import tflite_edit
from support.projects.sconsproject import REPO

PYTHON = os.environ.get("NEURALART_LBUILD_PYTHON", "")
pytestmark = [
    pytest.mark.long,
    pytest.mark.hostcc,
    pytest.mark.skipif(not PYTHON, reason="NEURALART_LBUILD_PYTHON: a Python with lbuild, SCons and our requirements"),
]
# What the module of a network meets in modm: options, collectors of tools, a SConscript for each repository.
LIBRARY = """\
def init(repo):
    repo.name = "modm"
    repo.add_option(StringOption(name="target", description="target"))

def prepare(repo, options):
    repo.add_modules("build.lb", "scons.lb", "platform.lb", "core.lb")
"""
EMPTY = """\
def init(module):
    module.name = ":NAME"

def prepare(module, options):
    return True

def build(env):
    pass
"""
BUILD = """\
def init(module):
    module.name = ":build"

def prepare(module, options):
    module.add_option(PathOption(name="build.path", description="build.path"))
    module.add_option(StringOption(name="project.name", description="project.name"))
    return True

def build(env):
    pass
"""
SCONS = '''\
def init(module):
    module.name = ":build:scons"

def prepare(module, options):
    module.add_collector(PathCollector(name="path.tools", description="path.tools"))
    module.add_collector(StringCollector(name="tools", description="tools"))
    return True

def build(env):
    pass

def post_build(env):
    for repo in ("modm", "neuralart"):
        only = lambda scope: scope.repository == repo
        lines = ["from os.path import abspath", "Import('env')"]
        if repo == "modm":
            lines.append("env['BUILDPATH'] = env.Dir('#build/scons-release').abspath")
            lines += [f"env.Tool({tool!r})" for tool in ("cc", "c++", "ar", "link")]
        for path in env.collector_values("path.tools", filterfunc=only):
            lines.append(f"env.Append(toolpath=[abspath({path!r})])")
        lines += [f"env.Tool({tool!r})" for tool in env.collector_values("tools", filterfunc=only)]
        if repo == "modm":
            lines.append("env.Append(CPPPATH=[abspath('src')], CCFLAGS=['-O1'], LIBS=['m'])")
        with open(env.real_outpath(f"{repo}/SConscript", basepath="."), "w") as file:
            file.write("\\n".join(lines))
    with open(env.real_outpath("SConstruct", basepath="."), "w") as file:
        file.write("""\\
import os
env = DefaultEnvironment(tools=[], ENV=os.environ)
env.SConscript(dirs=["modm", "neuralart"], exports="env")
env.Program("doorbell", env.Glob("main.c*"))
""")
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example with a library of our own, for this machine."""
    folder = tmp_path / "a bell"
    shutil.copytree(REPO / "examples/modm", folder)
    (folder / "main.cpp").unlink()
    shutil.copy(REPO / "examples/cmake/main.c", folder)
    shutil.copy(REPO / "examples/cmake/image.h", folder)
    empty = {"platform": EMPTY.replace("NAME", "platform"), "core": EMPTY.replace("NAME", "platform:core")}
    for name, text in {"repo": LIBRARY, "build": BUILD, "scons": SCONS, **empty}.items():
        (folder / "library").mkdir(exist_ok=True)
        (folder / "library" / f"{name}.lb").write_text(text, "utf-8")
    (folder / "modm/src").mkdir(parents=True)
    _with_own_library(folder)
    return folder


def _with_own_library(folder: Path) -> None:
    text = (folder / "project.xml").read_text("utf-8")
    text = text.replace("modm/repo.lb", "library/repo.lb", 1).replace("scons-neuralart/", f"{REPO.as_posix()}/")
    (folder / "project.xml").write_text(text, "utf-8")


LBUILD = ("-c", "import sys; from lbuild.main import main; sys.argv[0] = 'lbuild'; sys.exit(main())", "build")


def run(project: Path, *words: str, code: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": str(REPO / "site_scons")}
    command = [PYTHON, *words]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == bool(code) and "Traceback" not in said, said
    return said


def test_a_network_by_a_module(project: Path) -> None:
    run(project, *LBUILD)
    assert "NETWORK " in run(project, "-m", "SCons", "-Q")
    assert subprocess.run([project / "doorbell"], capture_output=True).stdout == b"doorbell: digit 7\n"
    assert "is up to date" in run(project, "-m", "SCons", "-Q")
    assert (project / "build/scons-release/neuralart/networks").is_dir()
    tflite_edit.reverse_weights(project / "digits.tflite")
    steps = run(project, "-m", "SCons", "-Q").splitlines()
    assert [re.split(r"[ .]", step.removeprefix("g"))[0] for step in steps] == ["NETWORK", "cc", "ar", "ranlib", "cc"]
    assert "digits_data_params.c" in steps[1]


def test_a_new_project(project: Path) -> None:
    model = shutil.copy(project / "digits.tflite", project.parent)
    folder = project.parent / "new"
    words = ["new", str(folder), "--for", "modm", "--board", "nucleo-h743zi", "--model", model]
    assert cli.main(words) == 0
    shutil.copytree(project / "library", folder / "library")
    (folder / "modm/src").mkdir(parents=True)
    _with_own_library(folder)
    run(folder, *LBUILD)
    assert "main.cpp" in run(folder, "-m", "SCons", "-Q") and (folder / "doorbell").is_file()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("nucleo-h743zi", "nucleo", "no board 'nucleo' (did you mean 'nucleo-h743zi'?"),
        (">digits.tflite", ">seven.tflite", "seven.tflite"),
        ("network:board", "network:name", "neuralart:network:board"),
    ],
)
def test_what_users_do_wrong(project: Path, old: str, new: str, says: str) -> None:
    path = project / "project.xml"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    first = subprocess.run([PYTHON, *LBUILD], cwd=project, capture_output=True, text=True)
    said = first.stdout + first.stderr
    if first.returncode == 0:
        said = run(project, "-m", "SCons", "-Q", code=2)
    assert says in said
