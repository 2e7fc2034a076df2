"""``sign:`` of a variant: who makes ``application.bin``, and what a wrong tool does to a build."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from neuralart.flashing import plan as plans
from neuralart.text import image_header
from neuralart.text.ihex import ihex
from support.boards import fake_signing_tool
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]


def test_the_vendor_s_tool_signs(built: Project, tmp_path: Path) -> None:
    ours = built.path("build/digits-n6/application.bin").read_bytes()
    fake_signing_tool.install(tmp_path, fault="short")
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    built.edit("variants.yaml", "  digits-n6:\n", "  digits-n6:\n    sign: vendor\n")
    refused = built.run("digits-n6", code=2, env=env)
    (said,) = [line for line in refused.errors if "SigningTool" in line]
    assert "STM32_SigningTool_CLI 2.21.0: the signed image is wrong: truncated: " in said
    assert not built.path("build/digits-n6/application.bin").exists(), "nothing that would not start is left"

    fake_signing_tool.install(tmp_path)
    made = built.run("digits-n6", env=env)
    assert made.tags == {"SIGN", "PLAN", "SUMMARY"}
    theirs = built.path("build/digits-n6/application.bin").read_bytes()
    assert theirs != ours, "its padding has no meaning, and differs"
    assert theirs[image_header.VECTOR_TABLE :] == ours[image_header.VECTOR_TABLE :]
    built.up_to_date("digits-n6")
    assert "20 vectors bit-exact" in built.run("flash-digits-n6", "boot-digits-n6", env=env).out


def test_the_boot_loader_of_a_variant(built: Project) -> None:
    bare = struct.pack("<II", 0x34200000, 0x34180501) + bytes(1000)
    built.path("fsbl.hex").write_text(ihex(0x70000000, image_header.make(bare, "fsbl")), "utf-8")
    built.edit("variants.yaml", "  digits-n6:\n", "  digits-n6:\n    fsbl: fsbl.hex\n")
    made = built.run("digits-n6", "flash-digits-n6", "boot-digits-n6", "verify-digits-n6")
    assert made.tags >= {"FSBL", "PLAN", "FLASH", "BOOT", "VERIFY"}
    assert "20 vectors bit-exact" in made.out
    first = plans.read(built.path("build/digits-n6/flash_plan.json")).writes[0]
    assert (first.name, first.kind, first.address) == ("fsbl", "fsbl", 0x70000000)
    built.up_to_date("digits-n6")

    # Another one: it alone is made and written again.
    built.path("fsbl.hex").write_text(ihex(0x70000000, image_header.make(bare + b"x", "fsbl")), "utf-8")
    again = built.run("digits-n6", "flash-digits-n6")
    assert "fsbl: " in again.out and "1 sector erased and written" in again.out
    assert again.tags == {"FSBL", "PLAN", "FLASH", "SUMMARY"}

    # The boot ROM would not start this one.
    built.path("fsbl.hex").write_text(ihex(0x70000000, image_header.make(bare, "application")), "utf-8")
    refused = built.run("digits-n6", code=2)
    assert any("binary type 0x0, not 0x10" in line for line in refused.errors)
    assert not built.path("build/digits-n6/fsbl.bin").exists()
    built.edit("variants.yaml", "fsbl: fsbl.hex", "fsbl: fsbi.hex")
    refused = built.run("digits-n6", code=2)
    assert any("no file 'fsbi.hex' (did you mean 'fsbl.hex'?)" in line for line in refused.errors)
