"""``sbom-<variant>``: a file like others, with the hash of everything that is in a firmware."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


def components(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in said.get("components", []):
        yield each
        yield from components(each)


def role(component: dict[str, Any]) -> str:
    (found,) = (each["value"] for each in component["properties"] if each["name"] == "neuralart:role")
    return str(found)


def check(project: Project, variant: str) -> dict[str, list[dict[str, Any]]]:
    """The bill is valid, and names the bytes that are there. Returns its parts by role."""
    text = project.path(f"build/{variant}/sbom.cdx.json").read_text("utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert str(project.root) not in text and '"/' not in text, "no place of this machine"
    said = json.loads(text)
    seen = 0
    for each in components(said):
        (row,) = each["hashes"]
        path = project.path(each["name"])
        if "/" in each["name"] and path.is_file():
            assert row == {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}, each["name"]
            seen += 1
    assert seen > 40
    parts: dict[str, list[dict[str, Any]]] = {}
    for each in said["components"]:
        parts.setdefault(role(each), []).append(each)
    return parts


def names(parts: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in parts]


def test_a_variant(built: Project) -> None:
    first = built.run("sbom-digits-n6")
    assert {tag for tag, _ in first.commands} == {"SBOM"}, "all else was there"
    parts = check(built, "digits-n6")
    assert names(parts["model"]) == ["models/digits/digits.tflite"]
    assert parts["model"][0]["type"] == "machine-learning-model"
    (weights,) = parts["weights"]
    assert weights["type"] == "data" and weights["name"].endswith(".xSPI2.raw")
    assert names(parts["compiler"]) == ["scons-neuralart reference compiler"]
    (toolchain,) = parts["toolchain"]
    assert toolchain["name"].startswith("arm-none-eabi-gcc ")
    assert {"cc1", "as", "ld"} <= set(names(toolchain["components"]))
    assert "libc.a" in names(parts["c-library"][0]["components"])
    kernels = {path.name for path in (built.root / "firmware/runtime/kernels").glob("*.c")}
    listed = {name.rpartition("/")[2] for name in names(parts["runtime"][0]["components"]) if "/kernels/" in name}
    assert kernels == listed
    assert "firmware/app/main.c" in names(parts["application"][0]["components"])
    made = {f"build/digits-n6/{name}" for name in ("firmware.elf", "application.bin", "digits.xSPI2.bin")}
    assert made <= set(names(parts["output"]))
    built.up_to_date("sbom-digits-n6")
    before = built.path("build/digits-n6/sbom.cdx.json").read_bytes()
    # A change that leaves sizes, and so the index, as they are.
    built.edit("firmware/app/main.c", "reference application", "reference applicatioN")
    # In one call with the firmware, after which SCons has forgotten half of the graph.
    again = built.run("digits-n6", "sbom-digits-n6")
    assert ("SBOM", "build/digits-n6/sbom.cdx.json") in again.commands
    check(built, "digits-n6")
    assert built.path("build/digits-n6/sbom.cdx.json").read_bytes() != before
    built.up_to_date("sbom-digits-n6")
    built.run("-c", "digits-n6")
    assert not built.path("build/digits-n6/sbom.cdx.json").exists()


def test_a_variant_that_loads_its_model(built: Project) -> None:
    built.run("sbom-digits-n6-rel")
    parts = check(built, "digits-n6-rel")
    assert "build/digits-n6-rel/network_rel.bin" in names(parts["output"])
    runtime = names(parts["runtime"][0]["components"])
    assert any(name.startswith("firmware/runtime/relocatable/") for name in runtime)
