"""What a build in which nothing has changed has to load, counted."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]

PLAIN = """\
schema: 1
networks:
  digits: {model: models/digits/digits.tflite}
variants:
  plain: {title: Digits, board: stm32n6570-dk, network: digits}
"""
RECORD = """
import atexit, json, pathlib, sys
atexit.register(lambda: pathlib.Path("modules.json").write_text(json.dumps(sorted(sys.modules)), "utf-8"))
"""
MOST = 90
"""Modules of this package: a change of this number is a decision, not an accident."""
# What this variant has not: an application of its own, a loader, headers for one, a board without an NPU, plugins.
_OTHERS = (
    "applications",
    "patching",
    "app_config",
    "relocatable",
    "doctor",
    "lint",
    "export",
    "inspect",
    "profiling",
    "sbom",
)


def _loaded(project: Project) -> list[str]:
    """Modules of this package."""
    names = json.loads(project.path("modules.json").read_text("utf-8"))
    return [name for name in names if name.startswith("neuralart")]


def _made_at_import(path: Path) -> list[str]:
    """Regular expressions and templates that are made when a module is imported."""
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    found = []
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            found.append(ast.unparse(node.func))
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)
    return [name for name in found if re.fullmatch(r"re\.\w+|.*Environment", name)]


def test_a_null_build_loads_what_the_variant_has(built: Project) -> None:
    built.path("variants.yaml").write_text(PLAIN, "utf-8")
    script = built.path("SConstruct")
    script.write_text(script.read_text("utf-8") + RECORD, "utf-8")
    built.run("plain")
    assert not built.run("--no-stamps", "plain").commands
    ours = _loaded(built)
    assert "neuralart.scons.variant" in ours
    assert len(ours) <= MOST, ours
    assert not [name for name in ours if name.split(".")[1:2] and name.split(".")[1] in _OTHERS]
    # What a relocatable model or a header needs stands beside its builder, which every environment of the tool has.
    of_others = {"h747", "loaded_variant", "application.application", "application.patches", "flash.aliases"}
    of_others |= {"neuralart_bring.patched_sources"}
    # What a step needs, and targets that nobody names.
    of_others |= {"fork_server", "console", "step_counter", "flash.effects", "flash.refusals"}
    assert not of_others & {name.removeprefix("neuralart.scons.") for name in ours}
    for name in ours:
        path = built.path("site_scons/" + name.replace(".", "/"))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert not _made_at_import(file), f"{file}: lazy_regex, or in a function"


SCONS = f"import sys\nsys.argv[0] = 'scons'\n{RECORD}\nfrom SCons.Script import main\nmain()"


def test_an_intact_variant_loads_less(built: Project) -> None:
    built.path("variants.yaml").write_text(PLAIN, "utf-8")
    built.path("modules.json").touch()  # it comes after the stamps
    built.run("plain")
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}

    def scons(*words: str) -> str:
        return subprocess.check_output([sys.executable, "-c", SCONS, *words], cwd=built.root, env=env, text=True)

    for words in ((), ("plain",), ("-j3", "plain")):
        assert scons("-Q", *words) == "scons: `plain' is up to date.\n"
        assert _loaded(built) == ["neuralart", "neuralart.intact"]
    assert not scons("-Q", "-s", "plain")
    lines = [
        *(
            "scons: Reading SConscript files ...",
            "scons: done reading SConscript files.",
            "scons: Building targets ...",
        ),
        *("scons: `plain' is up to date.", "scons: done building targets."),
    ]
    assert scons("plain").splitlines() == lines
    # One of two that are asked for is declared, the other is not.
    built.path("variants.yaml").write_text(f"{PLAIN}  other: {{board: mps3-an547, network: digits}}\n", "utf-8")
    built.run("plain", "other")
    built.path("build/other/firmware.hex").unlink()
    scons("-Q", "plain", "other")
    assert len(_loaded(built)) <= MOST + 10, "and what makes the file"


NETWORKS = """
import atexit, json, pathlib, sys
started = []
sys.addaudithook(lambda event, about: started.append(about[1]) if event == "subprocess.Popen" else None)
atexit.register(lambda: pathlib.Path("started.json").write_text(json.dumps(started), "utf-8"))
DefaultEnvironment(tools=[])
env = Environment(tools=[])
env.Tool("neuralart", toolpath=["#site_scons"])
for name in "abc":
    net = env.NeuralArtNetwork(f"out/{name}/{name}.c", "models/digits/digits.tflite", NEURALART_BOARD="stm32n6570-dk")
"""


def test_compiles_start_python_once(texts: Project) -> None:
    texts.path("SConstruct").write_text(NETWORKS, "utf-8")
    assert texts.run("-j2", "out").tags == {"NETWORK"}
    started = json.loads(texts.path("started.json").read_text("utf-8"))
    ours = [words for words in started if any("neuralart" in word for word in words)]
    assert len(ours) == 1 and "neuralart.scons.fork_server" in ours[0], started
    assert len(list(texts.path("out").glob("*/network.json"))) == 3
    # One that is wrong is one step that failed.
    for name in "ab":
        texts.path(f"out/{name}/network.json").unlink()
    texts.edit("SConstruct", '"models/digits/digits.tflite"', 'f"models/{name}.tflite"')
    for name in "abc":
        good = texts.path("models/digits/digits.tflite").read_bytes()
        texts.path(f"models/{name}.tflite").write_bytes(good[:100] if name == "a" else good)
    failed = texts.run("-k", "out", code=2)
    assert any("models/a.tflite" in line for line in failed.errors), failed.err
    assert sorted(path.parent.name for path in texts.path("out").glob("*/network.json")) == ["b", "c"]
