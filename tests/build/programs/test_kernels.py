"""``kernels: mve`` and ``dsp``: the image computes the golden vectors; refused where no such instructions run."""

from __future__ import annotations

import pytest

from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.long]


def test_mve_kernels_are_bit_exact_and_share_the_rest(built: Project) -> None:
    result = built.run("digits-an547-mve")
    built.up_to_date("digits-an547-mve")
    compiled = {target.split("/runtime/")[-1] for tag, target in result.commands if tag == "CC"}
    files = built.path("firmware/runtime/kernels_mve").glob("*.c")
    assert {name for name in compiled if "kernels" in name} == {f"kernels_mve/{path.stem}.o" for path in files}
    linked = built.path("build/digits-an547-mve/firmware.map").read_text("utf-8", "replace")
    assert "libkernels-mve.a(conv2d.o)" in linked and "libkernels-mve.a(softmax.o)" in linked
    assert "libkernels-c.a" not in linked
    # What no network calls is not even read.
    assert "(transpose_conv.o)" not in linked
    assert "20 vectors bit-exact" in built.run("run-digits-an547-mve").out


def test_refused_where_no_mve_code_runs(built: Project) -> None:
    words = "    board: {}\n    network: digits\n    kernels: mve"
    built.edit("variants.yaml", words.format("mps3-an547"), words.format("stm32n6570-dk"))
    failed = built.run("digits-an547-mve", code=2)
    written = built.path("variants.yaml").read_text("utf-8")
    line = written[: written.index("kernels:")].count("\n") + 1
    said = f"variants.yaml:{line}: kernels: mve, but machine unicorn of board stm32n6570-dk runs no MVE code"
    assert said in failed.errors[0], failed.err
    # Its core has the DSP extension.
    words = "    network: digits\n    kernels: {}"
    built.edit("variants.yaml", words.format("mve"), words.format("dsp"))
    assert "20 vectors bit-exact" in built.run("run-digits-an547-mve").out
    linked = built.path("build/digits-an547-mve/firmware.map").read_text("utf-8", "replace")
    assert "libkernels-dsp.a(conv2d.o)" in linked and "libkernels-dsp.a(softmax.o)" in linked
