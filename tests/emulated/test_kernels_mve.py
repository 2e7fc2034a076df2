"""The MVE kernels on QEMU's Cortex-M55: the bytes of the plain C kernels, and no access beyond a tensor."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart import boards
from support import mve
from support.firmware import Builder, have_gcc, have_qemu

pytestmark = [
    pytest.mark.arm,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
    pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH"),
]

CHECK = Path(__file__).parents[1] / "support" / "kernels_mve_check.c"
LAYERS = 300


@pytest.fixture(scope="module")
def board():
    return boards.load("mps3-an547")


@pytest.fixture(scope="module")
def builder(tmp_path_factory, board):
    return Builder(tmp_path_factory.mktemp("mve"), board, "qemu", 0x71000000, 0x31000000)


def results(lines):
    return {name: tuple(map(int, numbers)) for name, *numbers in (line.split() for line in lines)}


def test_bytes_are_those_of_the_plain_c_kernels(builder, board):
    objects = [*mve.board_objects(builder), *mve.both_kernels(builder), builder.object(CHECK, (f"LAYERS={LAYERS}",))]
    lines = mve.text_of(board, builder.link(builder.folder / "check.elf", objects), timeout=120)
    assert [line for line in lines if line.startswith("different")] == []
    found = results(lines)
    # Every kernel that exists is compared.
    assert {f"na_{name}_s8" for name in found} == {name for s in mve.replaced() for name in mve.functions(s)}
    for name, (layers, varied, different) in found.items():
        assert (layers, different) == (LAYERS, 0), name
        assert varied > LAYERS * 0.4, f"{name}: outputs of {layers - varied} layers are constant"


@pytest.mark.parametrize("source", mve.replaced(), ids=lambda path: path.stem)
def test_a_file_defines_what_the_file_that_it_replaces_defines(source):
    assert mve.functions(source)
    assert sorted(mve.functions(source)) == sorted(mve.functions(mve.PLAIN / source.name))
