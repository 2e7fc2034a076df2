"""Titles, names of folders and files with all that a shell would read: a build takes them as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.projects.sconsproject import Project, copy_sources

NASTY = "Digits ($(touch x)) `touch y` ; > z * ' # & $HOME ${TARGET} \\\\ a"
# What a name of a folder may hold: no slash; make and the assembler are not asked about it.
FOLDER = "mo $(touch x) `touch y` ; * ' # & $HOME"
# All kinds of letters that the build folder may have.
BUILD = "out \u00fc,a=b@c+d"

pytestmark = [pytest.mark.arm, pytest.mark.long]


def nasty(tmp_path: Path) -> Project:
    project = copy_sources(tmp_path / "a $(touch x) tree; `touch y` ' # \u00fc \"")
    project.edit("SConstruct", '"#site_scons"]', f'"#site_scons"], NEURALART_BUILD_DIR="{BUILD}"')
    (project.root / "models" / "digits").rename(project.root / "models" / FOLDER)
    text = project.path("variants.yaml").read_text("utf-8")
    text = text.replace("title: Digits on the MPS3 AN547 (QEMU)\n", f"title: {yaml(NASTY)}\n")
    text = text.replace("models/digits/", yaml(f"models/{FOLDER}/")[1:-1])
    lines = []
    for line in text.splitlines():
        key, colon, value = line.partition(": ")
        if colon and FOLDER.replace("'", "''") in value:
            line = f"{key}: '{value}'"
        lines.append(line)
    project.path("variants.yaml").write_text("\n".join(lines) + "\n", "utf-8")
    return project


def yaml(text: str) -> str:
    """In single quotes."""
    return "'" + text.replace("'", "''") + "'"


def test_a_tree_and_texts_full_of_what_shells_read(tmp_path: Path) -> None:
    project = nasty(tmp_path)
    project.run("digits-an547", "export-digits-an547")
    assert {path.name for path in project.root.iterdir()} & {"x", "y", "z"} == set()
    assert not [path for path in tmp_path.rglob("*") if path.name in ("x", "y", "z")]
    project.up_to_date("digits-an547")
    elf = project.path(f"{BUILD}/digits-an547/firmware.elf").read_bytes()
    assert elf[:4] == b"\x7fELF" and os.fsencode(project.root) not in elf
    shown = project.run("-h").out
    assert NASTY in shown
