"""What a build in which nothing has changed has to load, counted."""

from __future__ import annotations

import json

import pytest

from support.sconsproject import Project

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
MOST = 94
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


def test_a_null_build_loads_what_the_variant_has(built: Project) -> None:
    built.path("variants.yaml").write_text(PLAIN, "utf-8")
    script = built.path("SConstruct")
    script.write_text(script.read_text("utf-8") + RECORD, "utf-8")
    built.run("plain")
    assert not built.run("--no-stamps", "plain").commands
    loaded = json.loads(built.path("modules.json").read_text("utf-8"))
    ours = [name for name in loaded if name.startswith("neuralart")]
    assert "neuralart.scons.variant" in ours
    assert len(ours) <= MOST, ours
    assert not [name for name in ours if name.split(".")[1:2] and name.split(".")[1] in _OTHERS]
    # What a relocatable model or a header needs stands beside its builder, which every environment of the tool has.
    of_others = {"h747", "loaded_variant", "application.application", "application.patched", "flash.aliases"}
    assert not of_others & {name.removeprefix("neuralart.scons.") for name in ours}


def test_an_intact_variant_loads_less(built: Project) -> None:
    built.path("variants.yaml").write_text(PLAIN, "utf-8")
    script = built.path("SConstruct")
    script.write_text(script.read_text("utf-8") + RECORD, "utf-8")
    built.run("plain")
    assert not built.run("plain").commands
    ours = [name for name in json.loads(built.path("modules.json").read_text("utf-8")) if name.startswith("neuralart")]
    assert "neuralart.scons.stamps" in ours and "neuralart.scons.variant" not in ours
    assert len(ours) <= MOST, ours
