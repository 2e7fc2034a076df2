"""Firmware worlds that build with SCons: RT-Thread in the form of its scripts, PlatformIO itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import cli
from support.models import tflite_edit
from support.projects.sconsproject import REPO

pytestmark = [pytest.mark.long, pytest.mark.hostcc]
EXAMPLES = REPO / "examples"

# A board of which one knows the core and the memories.
MEMORIES = "schema: 1\nfamily: cortex-m4\ntitle: Ours\nmemory: {RAM: {base: 0x20000000, size: 96K, kind: ram}}\n"
# A build script and a SConstruct of RT-Thread's form: groups, one program, and a walk over all that it is made of.
BUILDING = """\
import os
from SCons.Script import *
Env, Projects, listed = None, [], []
def GetCurrentDir():
    return os.path.abspath(Dir('.').srcnode().abspath)
def DefineGroup(name, src, depend, CPPPATH=()):
    if type(src) == type([]):
        src = list(set(src))
    Projects.append({'name': name, 'src': src})
    Env.AppendUnique(CPPPATH=[os.path.abspath(item) for item in CPPPATH])
    return [Env.Object(item) for item in src]
def walk_children(child):
    path = child.rfile().abspath
    if path.rsplit('.', 1)[-1] in ('c', 'h') and path not in listed:
        listed.append(path)
    for item in child.all_children():
        walk_children(item)
"""
SCONSTRUCT = """\
import os, sys
sys.path.append(os.path.abspath('tools'))
from building import *
import building
AddOption('--target', dest='target', default='')
DefaultEnvironment(tools=[])
building.Env = env = Environment(tools=['cc', 'link'], LIBS=['m'], ENV={'PATH': os.environ['PATH']})
env.Append(CPPPATH=[os.path.abspath('include')], CCFLAGS=['-O0'])
Export('env')
objects = SConscript('packages/digits/SConscript', variant_dir='build/packages', duplicate=0)
program = env.Program('rtthread', ['main.c', *objects])
if GetOption('target'):
    walk_children(program[0])
    files = [f.rfile().abspath for group in Projects for f in group['src']]
    open('project.txt', 'w').write('\\n'.join([*sorted(listed), '--', *files]))
    Exit(0)
"""
RTTHREAD_H = """\
#include <stdio.h>
#include <string.h>
#define rt_kprintf printf
#define MSH_CMD_EXPORT(command, text) int msh_##command(void) { return command(0, NULL); }
"""


def scons(folder: Path, *words: str, python: str = sys.executable, code: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": str(REPO / "site_scons"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "SCons", "-Q", *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def bsp(folder: Path, examples: Path = EXAMPLES) -> Path:
    """A tree of RT-Thread's form with the example as a package."""
    for name, text in {
        "SConstruct": SCONSTRUCT,
        "tools/building.py": BUILDING,
        "include/rtthread.h": RTTHREAD_H,
        "main.c": "int msh_digits(void);\nint main(void) { return msh_digits(); }\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    shutil.copytree(examples / "rt-thread", folder / "packages/digits")
    return folder


@pytest.fixture
def rt_thread(tmp_path: Path) -> Path:
    return bsp(tmp_path / "bsp")


def test_the_package_for_rt_thread(rt_thread: Path) -> None:
    """Null builds, new weights, and project files that name nothing outside the tree."""
    assert "NETWORK " in scons(rt_thread)
    printed = subprocess.run([rt_thread / "rtthread"], capture_output=True, text=True, timeout=20).stdout.split()
    assert printed == ["-109", "-80", "-103", "-103", "-96", "-106", "-109", "-103", "-111", "-103"]
    assert "is up to date" in scons(rt_thread)
    tflite_edit.reverse_weights(rt_thread / "packages/digits/digits.tflite")
    steps = [line for line in scons(rt_thread).splitlines() if not line.startswith(("NETWORK", "SOURCES"))]
    assert len(steps) == 2 and "digits_data_params.c" in steps[0] and "-o rtthread" in steps[1], steps
    scons(rt_thread, "--target=cmake")
    listed, _, group = (rt_thread / "project.txt").read_text("utf-8").partition("--\n")
    net = rt_thread / "packages/digits/net"
    assert all(Path(line).is_relative_to(rt_thread) and Path(line).is_file() for line in listed.split())
    assert {str(net / "digits.c"), str(net / "runtime/kernels/conv2d.c"), str(net / "neuralart_networks.c")} <= {
        *group.split()
    }


def test_a_new_package_for_rt_thread(rt_thread: Path) -> None:
    package = rt_thread / "packages/digits"
    model = shutil.copy(package / "digits.tflite", rt_thread)
    shutil.rmtree(package)
    assert cli.main(["new", str(package), "--for", "rt-thread", "--board", "art-pi", "--model", model]) == 0
    scons(rt_thread)
    printed = subprocess.run([rt_thread / "rtthread"], capture_output=True, text=True, timeout=20).stdout.split()
    assert printed[:2] == ["digit,", "int8:"] and len(printed) == 2 + 10
    assert json.loads((package / "package.json").read_text("utf-8"))["enable"] == "PKG_USING_DIGITS"


def test_a_board_of_memories(rt_thread: Path) -> None:
    """Beside the SConscript, which RT-Thread reads from a build folder."""
    script = rt_thread / "packages/digits/SConscript"
    script.write_text(script.read_text("utf-8").replace('"art-pi"', '"iot.yaml"'), "utf-8")
    assert "iot.yaml" in scons(rt_thread, code=2)
    (script.parent / "iot.yaml").write_text(MEMORIES)
    assert "NETWORK " in scons(rt_thread, "packages/digits/net/digits.c")
    assert (script.parent / "net/digits.c").is_file()
    assert "is up to date" in scons(rt_thread, "packages/digits/net/digits.c")


def test_a_folder_of_the_user_stays_below_the_top(rt_thread: Path) -> None:
    script = rt_thread / "packages/digits/SConscript"
    text = script.read_text("utf-8").replace('art-pi")', 'art-pi", folder="../../../net")')
    script.write_text(text, "utf-8")
    assert "folder: a folder below the top folder" in scons(rt_thread, code=2)


def test_a_toolpath_is_enough(tmp_path: Path) -> None:
    """A submodule, in a Python that has the requirements and not this package."""
    start = (
        "import sys; sys.path[:] = [p for p in sys.path if not p.endswith('site_scons')]\n"
        "sys.argv[0] = 'scons'; from SCons.Script import main; main()"
    )
    place = (REPO / "site_scons").as_posix()
    (tmp_path / "SConstruct").write_text(
        f"env = Environment(tools=[])\nenv.Tool('neuralart', toolpath=['{place}'])\n"
        f"env.Network('net', model='{(EXAMPLES / 'rt-thread/digits.tflite').as_posix()}', board='stm32n6570-dk')\n"
    )
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [sys.executable, "-c", start, "-Q", "-n"]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "NETWORK " in done.stdout, done.stdout + done.stderr


# ---- PlatformIO

PIO = os.environ.get("NEURALART_PLATFORMIO_PYTHON", "")
needs_pio = pytest.mark.skipif(
    not PIO, reason="NEURALART_PLATFORMIO_PYTHON: a Python with platformio, SCons and our requirements"
)
BUILDER = """\
from SCons.Script import DefaultEnvironment, Default
env = DefaultEnvironment()
env.Replace(CC="gcc", AR="ar", RANLIB="ranlib", PROGSUFFIX="")
env.Append(CCFLAGS=["-O1", "-DBENCH"], LIBS=["m"])
Default(env.BuildProgram())
"""


@pytest.fixture
def pio(tmp_path: Path) -> Path:
    """The example, with a platform of our own in PlatformIO's form."""
    core = tmp_path / "core"
    version = "4.41101.0"
    spec = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None, "uri": None}
    for name, text in {
        "packages/tool-scons/package.json": json.dumps({"name": "tool-scons", "version": version, "description": ""}),
        "packages/tool-scons/.piopm": json.dumps(
            {"type": "tool", "name": "tool-scons", "version": version, "spec": spec}
        ),
        "packages/tool-scons/scons.py": "from SCons.Script import main\nmain()\n",
        "platforms/bench/platform.json": json.dumps(
            {"name": "bench", "title": "Bench", "version": "1.0.0", "description": "", "packages": {}}
        ),
        "platforms/bench/platform.py": "from platformio.public import PlatformBase\n"
        "class BenchPlatform(PlatformBase):\n    pass\n",
        "platforms/bench/builder/main.py": BUILDER,
    }.items():
        (core / name).parent.mkdir(parents=True, exist_ok=True)
        (core / name).write_text(text, "utf-8")
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "platformio", project)
    ini = project / "platformio.ini"
    ini.write_text(ini.read_text("utf-8").replace("native", "bench"), "utf-8")
    return project


def run_pio(project: Path, code: int = 0) -> str:
    env = {
        **os.environ,
        "PYTHONPATH": str(REPO / "site_scons"),
        "PLATFORMIO_CORE_DIR": str(project.parent / "core"),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
    }
    words = [PIO, "-m", "platformio", "run"]
    done = subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == bool(code), done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_pio
def test_platformio(pio: Path) -> None:
    run_pio(pio)
    program = pio / ".pio/build/doorbell/program"
    assert subprocess.run([program], capture_output=True).stdout == b"doorbell: digit 7\n"
    assert "is up to date" in run_pio(pio)
    assert {path.name for path in pio.iterdir()} == {".pio", "models", "network.py", "platformio.ini", "src"}
    tflite_edit.reverse_weights(pio / "models/digits.tflite")
    steps = [line.split()[0] for line in run_pio(pio).splitlines() if line.startswith(("NETWORK", "Comp", "Link"))]
    assert steps == ["NETWORK", "Compiling", "Linking"]


@needs_pio
def test_a_new_project_of_platformio(pio: Path) -> None:
    model = shutil.copy(pio / "models/digits.tflite", pio.parent)
    shutil.rmtree(pio)
    words = ["new", str(pio), "--for", "platformio", "--board", "nucleo-h743zi", "--model", model]
    assert cli.main(words) == 0
    ini = pio / "platformio.ini"
    ini.write_text(ini.read_text("utf-8").replace("native", "bench"), "utf-8")
    run_pio(pio)
    said = subprocess.run([pio / ".pio/build/project/program"], capture_output=True, text=True).stdout.split()
    assert said[:2] == ["digit,", "int8:"] and len(said) == 2 + 10


@needs_pio
def test_what_platformio_users_do_wrong(pio: Path) -> None:
    ini = pio / "platformio.ini"
    text = ini.read_text("utf-8")
    script = pio / "network.py"
    script.write_text(
        script.read_text("utf-8").replace(', "models/digits.tflite", board="stm32h747i-disco"', ""), "utf-8"
    )
    ini.write_text(f"{text}custom_network_model = models/digits.tflite\n", "utf-8")
    assert "[env:doorbell]: no custom_network_board" in run_pio(pio, code=1)
    ini.write_text(f"{ini.read_text('utf-8')}custom_network_board = boards/ours.yaml\n", "utf-8")
    assert "boards/ours.yaml" in run_pio(pio, code=1)
    (pio / "boards").mkdir()
    (pio / "boards/ours.yaml").write_text(MEMORIES)
    run_pio(pio)
    ini.write_text(text.replace("pre:", "post:"), "utf-8")
    assert "the program is declared already (extra_scripts = pre:network.py)" in run_pio(pio, code=1)
