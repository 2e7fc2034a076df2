"""``sign:`` of a variant: who makes ``application.bin``, and what a wrong tool does to a build."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuralart.text import image_header
from support import fake_signing_tool
from support.sconsproject import Project

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
