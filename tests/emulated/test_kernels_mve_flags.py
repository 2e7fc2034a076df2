"""MVE kernels with loops in assembly compile with the flags of a debug build, where gcc keeps a register for frames."""

from __future__ import annotations

import pytest

from neuralart import boards
from support import mve
from support.firmware import COMMON, PREFIX, WARNINGS, have_gcc, run_tool

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]


def test_kernels_compile_without_optimization_and_with_frame_pointers(tmp_path):
    sources = [path for path in mve.replaced() if '"loops.h"' in path.read_text("utf-8")]
    assert len(sources) > 2
    debug = ("-O0", "-fno-omit-frame-pointer", f"-I{mve.RUNTIME / 'include'}")
    flags = [*boards.load("mps3-an547").machines["qemu"].cpu_flags, *(flag for flag in COMMON if flag != "-O2")]
    for source in sources:
        target = tmp_path / f"{source.stem}.o"
        run_tool([f"{PREFIX}gcc", *flags, *WARNINGS, *debug, "-c", str(source), "-o", str(target)])
