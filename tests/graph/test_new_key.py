"""A key of variants.yaml is added in two places: its declaration, and the field with its type and default."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuralart.resources import PACKAGE

DECLARATION = """    Key("mood", lambda value: value.choice(("calm", "wild")), "how it goes about it", option="--mood"),
"""
FIELD = """    mood: str = "calm"
"""
SCRIPT = """
import json, sys
from pathlib import Path
import SCons.Environment, SCons.Errors
import neuralart
from neuralart import config
from neuralart_bring.schema import tables, variants as schema
from neuralart.errors import NeuralArtError

def network(name, mood):
    return env.Network(name, model="digits.tflite", board="stm32n6570-dk", mood=mood)

env = SCons.Environment.Environment(tools=[])
neuralart.generate(env)
said = {"package": neuralart.__file__}
for kind, text in ("yaml", "calm"), ("over", "wild"), ("bad", "angry"):
    mood = "" if kind == "yaml" else f"      digits: {{mood: {text}}}"
    overrides = "    overrides:\\n" + mood + "\\n" if mood else ""
    Path("variants.yaml").write_text(
        "schema: 1\\nnetworks:\\n  digits: {model: digits.tflite, mood: calm}\\nvariants:\\n  v:\\n"
        f"    board: stm32n6570-dk\\n    network: digits\\n{overrides}"
    )
    try:
        said[kind] = config.read(Path("variants.yaml")).variant("v").networks[0].mood
    except NeuralArtError as error:
        said[kind] = str(error)
net = network("digits", "wild")
executor = net.c.get_executor()
action = executor.get_action_list()[0]
said["command"] = str(executor.get_build_env().subst(action.cmd_list, target=[net.c]))
try:
    network("other", "angry")
except SCons.Errors.UserError as error:
    said["refused"] = str(error)
said["table"] = tables.TABLES["network"]()
said["schema"] = schema.variants()["$defs"]["network"]["properties"]["mood"]
print(json.dumps(said))
"""


def _insert(path: Path, before: str, text: str) -> None:
    old = path.read_text("utf-8")
    assert old.count(before) == 1
    path.write_text(old.replace(before, text + before), "utf-8")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the package says of a key that was added to a copy of it."""
    root = tmp_path_factory.mktemp("new key")
    package = root / "site_scons" / "neuralart"
    shutil.copytree(PACKAGE.parent, package.parent, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE.parents[1] / "pyproject.toml", root)
    shutil.copytree(PACKAGE.parents[1] / "firmware", root / "firmware")
    _insert(package / "config" / "networks.py", '    Key("options", Value.texts', DECLARATION)
    _insert(package / "config" / "types.py", "    options: tuple[str, ...] = ()", FIELD)
    work = root / "work"
    work.mkdir()
    (work / "digits.tflite").write_bytes(b"")
    (work / "made.py").write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, "made.py"],
        cwd=work,
        env={"PYTHONPATH": str(package.parent), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    assert Path(found["package"]).is_relative_to(root)
    return found


def test_variants_yaml_reads_it(said: dict[str, str]) -> None:
    assert (said["yaml"], said["over"]) == ("calm", "wild")
    assert said["bad"] == (
        "variants.yaml:9: variants.v.overrides.digits.mood: 'angry' is not allowed (known: calm, wild)"
    )


def test_env_network_takes_it_and_refuses_it_in_the_same_words(said: dict[str, str]) -> None:
    assert said["refused"].endswith("made.py:11: networks.other.mood: 'angry' is not allowed (known: calm, wild)")


def test_it_reaches_the_compile(said: dict[str, str]) -> None:
    assert "--mood wild" in said["command"].replace("', '", " "), said["command"]


def test_the_documentation_has_a_row(said: dict[str, str]) -> None:
    assert "| `mood` | how it goes about it | `calm` |\n" in said["table"]


def test_the_schema_for_editors_has_it(said: dict[str, Any]) -> None:
    assert said["schema"] == {"description": "how it goes about it", "enum": ["calm", "wild"]}
