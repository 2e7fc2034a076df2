"""A public relocatable model of ST Edge AI Core in NEURALART_NPU_DATA (docs/reference/npu.md), in both modes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.relocatable.format import container
from neuralart_virtual.network_c import ecblobs
from neuralart_virtual.npu.controller import execute
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.relocatable import InstalledModel, install, network_of
from support.npu.npu_cases import DATA

PACKAGE = DATA / "harryhua-ai+ne301@24fb8549ef/bin/ne301_Model_pkg.bin"
# Its own header, which the firmware of that camera reads.
_FRONT = 4096
RAM = ((0x34200000, 458752), (0x34270000, 16384))

pytestmark = [pytest.mark.long, pytest.mark.skipif(not PACKAGE.is_file(), reason="NEURALART_NPU_DATA does not have it")]


def installed(mode: str) -> InstalledModel:
    image = container.parse(PACKAGE.read_bytes()[_FRONT:], "network_rel.bin")
    return install(image, boards.load("stm32n6570-dk", []), mode)


def test_its_programs_leave_equal_memory_in_both_modes(tell: Callable[[str], None]) -> None:
    memories = []
    for mode in ("copy", "xip"):
        model, epochs = installed(mode), []
        for address, size in RAM:
            model.memory.view(address, size)[:] = np.random.default_rng(4).integers(0, 256, size, np.uint8)
        for _, program in sorted(model.programs.items()):
            device = NpuDevice(model.memory, finished=lambda label, work, epochs=epochs: epochs.append(label))
            execute(ecblobs.moved(program, model.bases, "network_rel.bin"), device)
        memories.append([model.memory.view(*place).tobytes() for place in RAM])
        tell(f"{mode}: {len(model.programs)} programs, {len(epochs)} epochs")
        assert (len(model.programs), len(epochs)) == (13, 133)
    assert memories[0] == memories[1]


def test_what_its_image_does_not_tell() -> None:
    with pytest.raises(NeuralArtError, match=r"epoch 65 \(HYBRID\) is computed by code of the image, which is not"):
        network_of(installed("copy"), None)
