"""What this repository builds passes ``check-image`` for the machine it is built for, and for no other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.projects.sconsproject import Project, Result

pytestmark = [pytest.mark.arm, pytest.mark.long]


def check(project: Project, *words: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "neuralart", "tool", "check-image", *words],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": str(project.path("site_scons")), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


def facts(project: Project, variant: str) -> str:
    return str(project.network_folder(variant) / "network.json")


@pytest.mark.parametrize("file", ["firmware.elf", "firmware.bin"])
@pytest.mark.parametrize(
    ("variant", "board", "machine"), [("digits-n6", "stm32n6570-dk", "unicorn"), ("digits-an547", "mps3-an547", "qemu")]
)
def test_for_its_own_machine(template: Project, variant: str, board: str, machine: str, file: str) -> None:
    words = ["--board", board, "--machine", machine, "--network", facts(template, variant)]
    result = check(template, f"build/{variant}/{file}", *words)
    assert (result.code, result.err) == (0, ""), result.err
    assert f"build/{variant}/{file}: fits {board} ({machine}): " in result.out


def test_on_silicon(template: Project) -> None:
    """The same bytes; but the reference runtime there must be asked for."""
    board = "stm32n6570-dk"
    words = [
        "build/digits-n6/firmware.elf",
        "--board",
        board,
        "--machine",
        "silicon",
        "--network",
        facts(template, "digits-n6"),
    ]
    refused = check(template, *words)
    assert refused.code == 1
    assert len(refused.errors) == 1 and "network digits is made for runtime neuralart" in refused.errors[0]
    assert check(template, *words, "--allow-reference-on-hardware").code == 0


def test_on_another_board(template: Project) -> None:
    refused = check(template, "build/digits-an547/firmware.elf", "--board", "stm32n6570-dk", "--machine", "unicorn")
    assert refused.code == 1
    said = refused.err
    assert "the vector table is at 0x10000000, the boot loader of stm32n6570-dk takes it from 0x34000400" in said
    assert "the image uses MVE, but machine unicorn (cortex-m33) has none: an undefined instruction stops it" in said
    assert "code for Armv8.1-M mainline, but machine unicorn (cortex-m33) executes Armv8-M mainline" in said
