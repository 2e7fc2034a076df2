"""The DSP kernels on QEMU: the bytes of the plain C kernels, no access beyond a tensor, outputs over inputs."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from neuralart import boards
from support.boards.firmware import Builder, have_gcc, have_qemu
from support.host_c import mve

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
    pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH"),
]

LAYERS = 100
# Code of a Cortex-M33 runs on the emulated Cortex-M55, which has its instructions. Behind 0x61000000 the other board
# has nothing.
CORES = {
    "cortex-m7": ("mps2-an500", (), ("CLIFF=0x61000000u", "INPUTS=0x60800000u", "OUTPUTS=0x60000000u")),
    "cortex-m33": ("mps3-an547", ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb"), ()),
}


# Of the second one the build of a variant runs a network, too.
@pytest.mark.parametrize("core", CORES if os.environ.get("NEURALART_TORTURE") else [*CORES][:1])
def test_bytes_are_those_of_the_plain_c_kernels(tmp_path, core):
    name, flags, defines = CORES[core]
    board = boards.load(name)
    machine = board.machines["qemu"]
    board = replace(board, machines={"qemu": replace(machine, cpu_flags=flags or machine.cpu_flags)})
    assert "dsp" in board.machines["qemu"].kernels
    found = mve.compared(Builder(tmp_path, board, "qemu", 0, 0), mve.DSP, [f"LAYERS={LAYERS}", "OVER", *defines])
    kernels = {name.removeprefix("na_") for source in mve.replaced(mve.DSP) for name in mve.functions(source)}
    assert kernels | {"over_conv2d", "over_depthwise_conv2d"} <= set(found)
    for name, (layers, varied, different) in found.items():
        assert (layers, different) == (LAYERS, 0), name
        assert varied > LAYERS * 0.4, f"{name}: outputs of {layers - varied} layers are constant"


@pytest.mark.parametrize("source", mve.replaced(mve.DSP), ids=lambda path: path.stem)
def test_a_file_defines_what_the_file_that_it_replaces_defines(source):
    assert mve.functions(source)
    assert sorted(mve.functions(source)) == sorted(mve.functions(mve.PLAIN / source.name))
