"""The MVE kernels on QEMU's Cortex-M55: the bytes of the plain C kernels, and no access beyond a tensor."""

from __future__ import annotations

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

LAYERS = 300


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("mve"), boards.load("mps3-an547"), "qemu", 0x71000000, 0x31000000)


def test_bytes_are_those_of_the_plain_c_kernels(builder):
    found = mve.compared(builder, mve.MVE, [f"LAYERS={LAYERS}"])
    # Every kernel that exists is compared.
    assert {f"na_{name}" for name in found} == {name for s in mve.replaced() for name in mve.functions(s)}
    for name, (layers, varied, different) in found.items():
        assert (layers, different) == (LAYERS, 0), name
        assert varied > LAYERS * 0.4, f"{name}: outputs of {layers - varied} layers are constant"


@pytest.mark.parametrize("source", mve.replaced(), ids=lambda path: path.stem)
def test_a_file_defines_what_the_file_that_it_replaces_defines(source):
    assert mve.functions(source)
    assert sorted(mve.functions(source)) == sorted(mve.functions(mve.PLAIN / source.name))
