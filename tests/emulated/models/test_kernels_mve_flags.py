"""What gcc makes of kernels for cores with MVE: loops in assembly compile with the flags of a debug build, where gcc
keeps a register for frames; sums of float32 are vectors only where that is meant.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neuralart import boards
from support.boards.firmware import COMMON, PREFIX, WARNINGS, have_gcc, run_tool
from support.host_c import mve

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]


def test_kernels_compile_without_optimization_and_with_frame_pointers(tmp_path):
    sources = [path for path in mve.replaced() if '"loops.h"' in path.read_text("utf-8")]
    assert len(sources) > 2
    debug = ("-O0", "-fno-omit-frame-pointer", f"-I{mve.RUNTIME / 'include'}")
    flags = [*boards.load("mps3-an547").machines["qemu"].cpu_flags, *(flag for flag in COMMON if flag != "-O2")]
    for source in sources:
        target = tmp_path / f"{source.stem}.o"
        run_tool([f"{PREFIX}gcc", *flags, *WARNINGS, *debug, "-c", str(source), "-o", str(target)])


def assembly(source: Path, target: Path, *flags: str) -> str:
    """What gcc makes of a kernel at -O3, where it looks hardest for vectors."""
    common = [*COMMON, "-O3", "--specs=picolibc.specs", f"-I{mve.RUNTIME / 'include'}", "-w"]
    run_tool([f"{PREFIX}gcc", *flags, *common, "-S", str(source), "-o", str(target)])
    return target.read_text("utf-8")


def vectors(text: str) -> list[str]:
    """Instructions that compute vectors of float32: MVE takes subnormal numbers for zero there."""
    return re.findall(r"^\s+v[a-z]+\.f(?:16|32).*\bq\d.*$", text, re.MULTILINE)


def test_plain_kernels_make_no_vectors_of_float32(tmp_path):
    sources = [path for path in sorted(mve.PLAIN.glob("*.c")) if re.search(r"\bfloat\b", path.read_text("utf-8"))]
    assert len(sources) > 10
    flags = boards.load("mps3-an547").machines["qemu"].cpu_flags
    for source in sources:
        text = assembly(source, tmp_path / f"{source.stem}.s", *flags)
        assert vectors(text) == [], source.name
        assert not re.search(r"^\s+vf(ma|ms|nma|nms)", text, re.MULTILINE), source.name


@pytest.mark.parametrize("source", [path for path in mve.replaced() if "_f32" in path.stem], ids=lambda path: path.stem)
def test_without_vectors_of_float32_kernels_do_without(tmp_path, source):
    whole = boards.load("mps3-an547").machines["qemu"].cpu_flags
    integers = ("-march=armv8.1-m.main+mve+fp", "-mfloat-abi=hard", "-mthumb")
    assert vectors(assembly(source, tmp_path / "whole.s", *whole))
    assert not vectors(assembly(source, tmp_path / "integers.s", *integers))
