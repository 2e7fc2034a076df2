"""Stamps of variants with programs of the user's: whatever comes where their files are looked for is seen."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from neuralart import intact
from support.models.vendor_network_c import Want
from support.projects import repositories
from support.projects.sconsproject import Project

pytestmark = [
    pytest.mark.arm,
    pytest.mark.long,
    pytest.mark.skipif(os.name == "nt", reason="links, and rules of make for a shell"),
    pytest.mark.skipif(not shutil.which("git") or not shutil.which("make"), reason="needs git and make"),
]
VARIANTS = """\
schema: 1
networks:
  digits: {model: models/digits/digits.tflite}
  taken: {compiler: {adopted: gen}}
variants:
  found:
    board: stm32n6570-dk
    network: digits
    application: {sources: {files: ["found/*.c", "found/*/*.c"]}}
  copied:
    board: stm32n6570-dk
    network: digits
    application: {make: {folder: fw, artefact: out.elf}}
  adopted: {board: stm32n6570-dk, machine: silicon, networks: [taken], application: {elf: done.elf}}
"""
MAIN = """\
#include "ll_aton.h"
#include "npu_memory_init.h"
LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(digits);
int main(void) { return npu_memory_init() + LL_ATON_RT_Init_Network(&NN_Instance_digits); }
"""


def test_what_comes_is_seen(sources: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sources.root
    monkeypatch.setenv("HOME", str(root.parent))
    files = {
        "SConstruct": sources.path("SConstruct").read_text("utf-8"),
        "found/main.c": MAIN,
        "aside/one.c": "int one;\n",
        "fw/Makefile": "out.elf: before.elf\n\tcp before.elf out.elf\n",
        "fw/own/.gitignore": ".gitignore\n*.bak\n",
        "fw/own/old.bak": "old\n",
        "fw/left/.gitignore": "*\n",
        "fw/left/old.txt": "old\n",
        "users": "*.tmp\n",
        "variants.yaml": VARIANTS.partition("  copied")[0].replace("  taken: {compiler: {adopted: gen}}\n", ""),
    }
    repositories.put(root, files)
    repositories.put(root, repositories.network("gen", Want(), "network_atonbuf.xSPI2.raw"))
    for link, to in (("linked", "../aside"), ("nothing.c", "../later.c")):
        sources.path(f"found/{link}").symlink_to(to)
    sources.path("fw/gone").symlink_to("../later.mk")
    for words in (("init", "-q"), ("config", "core.excludesFile", str(root / "users"))):
        subprocess.run(["git", *words], cwd=root, check=True)
    sources.run("found")
    for name in ("fw/before.elf", "done.elf"):
        shutil.copy(sources.path("build/found/firmware.elf"), sources.path(name))
    sources.path("variants.yaml").write_text(VARIANTS, "utf-8")
    names = ("found", "copied", "adopted")
    sources.run(*names)
    monkeypatch.chdir(root)
    kept = sources.path("build/.stamps.json")

    def broken(name: str) -> list[str]:
        data = intact.load(str(kept))
        assert data is not None
        environ = intact.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return intact.Checker(data, [], environ).broken(name)

    assert [broken(name) for name in names] == [[], [], []]
    missed = []
    for name, path, said in (
        ("found", "aside/two.c", "folder found/linked: files came or went"),
        ("found", "later.c", "found/nothing.c is new"),
        ("adopted", "gen/more.h", "folder gen: files came or went"),
        ("copied", "later.mk", "fw/gone is new"),
        ("copied", ".gitignore", ".gitignore is new"),
        ("copied", "users", "users changed"),
        ("copied", "fw/own/.gitignore", "fw/own/.gitignore changed"),
        ("copied", "fw/left/.gitignore", "fw/left/.gitignore changed"),
    ):
        sources.path(path).write_text("/* more */\n", "utf-8")
        missed += [] if said in broken(name) else [path]
    assert missed == []
