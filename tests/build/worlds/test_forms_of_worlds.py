"""PlatformIO and modm without either: build scripts in their form, which we wrote, around the examples.

Their own scripts run in test_firmware_worlds.py and test_modm.py, where those are installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from support.models import tflite_edit
from support.projects.sconsproject import REPO, Project

pytestmark = [pytest.mark.long, pytest.mark.hostcc]
EXAMPLES = REPO / "examples"
# What PlatformIO does around a script ``pre:``: options of platformio.ini, then the platform, then the program.
PLATFORMIO = """\
import configparser, os
ini = configparser.ConfigParser()
ini.read("platformio.ini")
(section,) = ini.sections()
env = DefaultEnvironment(tools=["cc", "ar", "link"], ENV=os.environ, BUILD_DIR="#.pio/build/" + section[4:])
env.Replace(PIOENV=section[4:], PROJECT_DIR=env.Dir("#").abspath)
env.AddMethod(lambda env, name, default=None: ini[section].get(name, default), "GetProjectOption")
(kind, _, script), = [ini[section]["extra_scripts"].partition(":")]
assert kind == "pre"
env.SConscript(script, exports={"env": env})
env.Append(CCFLAGS=["-O0", "-DBENCH"], LIBS=["m"])
env.VariantDir("$BUILD_DIR/src", "src", duplicate=0)
env.Append(PIOBUILDFILES=[env.Object(source) for source in env.Glob("$BUILD_DIR/src/*.c")])
env["PIOMAINPROG"] = env.Program("$BUILD_DIR/program", env["PIOBUILDFILES"])
Default(env["PIOMAINPROG"])
"""
# What modm's generated scripts do: a tool of each repository, its folder on the path of tools.
MODM = """\
import os
env = DefaultEnvironment(tools=[], ENV=os.environ)
env["BUILDPATH"] = env.Dir("#build/scons-release").abspath
for tool in ("cc", "ar", "link"):
    env.Tool(tool)
env.Append(toolpath=[os.path.abspath("neuralart/scons/site_tools")])
env.Tool("neuralart_network")
env.Append(CCFLAGS=["-O0"], LIBS=["m"])
env.Program("doorbell", env.Glob("main.c"))
"""


def platformio(folder: Path, examples: Path = EXAMPLES) -> tuple[Path, Path, list[str]]:
    """The example of PlatformIO: its program, its model, and what new weights run."""
    shutil.copytree(examples / "platformio", folder)
    (folder / "SConstruct").write_text(PLATFORMIO, "utf-8")
    program = folder / ".pio/build/doorbell/program"
    return program, folder / "models/digits.tflite", ["NETWORK", "cc", "cc"]


def modm(folder: Path, examples: Path = EXAMPLES) -> tuple[Path, Path, list[str]]:
    """The example of modm, with the tool that lbuild writes of our module."""
    shutil.copytree(examples / "modm", folder)
    for name in ("main.c", "image.h"):
        shutil.copy(examples / "cmake" / name, folder)
    options = dict(re.findall(r'name="neuralart:network:(\w+)">([^<]*)<', (folder / "project.xml").read_text("utf-8")))
    arguments = tuple(options.get(name, "") for name in ("model", "board", "name", "memory"))
    tool = (REPO / "site_scons/neuralart_bring/modm/tool.py.in").read_text("utf-8")
    tools = folder / "neuralart/scons/site_tools"
    tools.mkdir(parents=True)
    (tools / "neuralart_network.py").write_text(jinja2.Template(tool).render(arguments=arguments), "utf-8")
    (folder / "SConstruct").write_text(MODM, "utf-8")
    return folder / "doorbell", folder / "digits.tflite", ["NETWORK", "cc", "ar", "ranlib", "cc"]


@pytest.mark.parametrize("world", [platformio, modm])
def test_a_network_in_the_program(world, tmp_path: Path) -> None:
    """It runs; nothing runs again; new weights compile one file and link."""
    program, model, steps = world(tmp_path / "a bell")
    root = tmp_path / "a bell"
    env = {**os.environ, "PYTHONPATH": str(REPO / "site_scons"), "PYTHONDONTWRITEBYTECODE": "1"}

    def scons() -> str:
        words = [sys.executable, "-W", "error", "-m", "SCons", "-Q"]
        done = subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "NETWORK " in scons()
    assert subprocess.run([program], capture_output=True).stdout == b"doorbell: digit 7\n"
    Project(root).up_to_date()
    tflite_edit.reverse_weights(model)
    ran = [re.split(r"[ .]", line.removeprefix("g"))[0] for line in scons().splitlines()]
    assert ran == steps
