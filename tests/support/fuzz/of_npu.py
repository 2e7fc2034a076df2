"""Kinds of files that the virtual NPU runs: structures, programs, register dumps."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from neuralart.vendor.network_c.read import parse
from neuralart_virtual.npu.blobs import decode
from neuralart_virtual.npu.dataflow import Settings
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.run import VirtualNetwork
from support import npu_build, npu_kernels, npu_network
from support.fuzz.damage import aimed, damage, header_words, text
from support.fuzz.judge import Kind

# A case has a few seconds: elements that an epoch of it may handle.
_WORK = 1 << 22
_WEIGHTS = npu_network.Weights()
_RAW = f"{npu_network.NAME}_atonbuf.xSPI2.raw"
_PROGRAM = npu_network.program(_WEIGHTS)


def _beside(folder: Path) -> None:
    (folder / _RAW).write_bytes(_WEIGHTS.data())


def _run_structures(path: Path) -> None:
    network = parse(path.read_bytes().decode("utf-8", "replace"), path.name)
    VirtualNetwork(network, folder=path.parent, settings=Settings(work=_WORK)).run()


def _run_header(path: Path) -> None:
    """The network is whole, its header with the program is not."""
    network = parse(npu_network.network_c(_WEIGHTS, controller=True), f"{npu_network.NAME}.c")
    VirtualNetwork(network, folder=path.parent, settings=Settings(work=_WORK)).run()


def _run_program(path: Path) -> None:
    data = path.read_bytes()[: 1 << 20]
    memory = npu_build.memory()
    memory.add("NETWORK", npu_network.RAM, np.zeros(1 << 16, np.uint8))
    memory.add("WEIGHTS", npu_network.FLASH, np.frombuffer(_WEIGHTS.data(), np.uint8).copy())
    memory.add("PROGRAM", 0x20000000, np.frombuffer(data + bytes(-len(data) % 8), np.uint8).copy())
    device = NpuDevice(memory, Settings(work=_WORK))
    for offset, value in ((0x1E008, 0x20000000), (0x1E000, 1)):
        device.write(offset, value)
    device.advance()


def _write_words(path: Path) -> None:
    """Pairs of offset and value, written one after the other; then everything that is pending runs."""
    data = path.read_bytes()[: 1 << 16]
    memory = NpuMemory()
    memory.add("NETWORK", npu_network.RAM, np.zeros(1 << 16, np.uint8))
    memory.add("WEIGHTS", npu_network.FLASH, np.frombuffer(_WEIGHTS.data(), np.uint8).copy())
    device = NpuDevice(memory, Settings(work=_WORK))
    for offset, value in struct.iter_unpack("<II", data[: len(data) // 8 * 8]):
        device.write(offset & 0x1FFFF, value)
    device.advance()


def _run_kernels(path: Path) -> None:
    """Calls of the runtime's library, on memory of their own."""
    npu_kernels.run(path.read_bytes().decode("utf-8", "replace"), npu_kernels.moves().memory)


def _dump() -> bytes:
    """The convolution of the network as pairs of offset and value."""
    words = struct.unpack(f"<{len(_PROGRAM) // 4}I", _PROGRAM)
    pairs: list[tuple[int, int]] = []
    device = NpuDevice(NpuMemory())
    for step in decode(words):
        if hasattr(step, "value") and hasattr(step, "ip"):
            if step.high == 31 == step.low:
                break  # The first epoch waits for its end here
            mask = ((1 << (step.high - step.low + 1)) - 1) << step.low
            at = step.ip << 12 | step.offset
            value = device.stored(at) & ~mask | step.value << step.low & mask
            device.write(at, value)
            pairs.append((at, value))
    return b"".join(struct.pack("<II", *pair) for pair in pairs)


KINDS = [
    Kind(
        f"{npu_network.NAME}.c",
        [npu_network.network_c(_WEIGHTS, controller=False).encode()],
        _run_structures,
        text,
        prepare=_beside,
        cost=10,
    ),
    Kind(
        f"{npu_network.NAME}_ecblobs.h",
        [npu_network.ecblobs_h(_PROGRAM).encode()],
        _run_header,
        text,
        prepare=_beside,
        cost=10,
    ),
    Kind("kernels.c", [npu_kernels.moves().text().encode()], _run_kernels, text, cost=10),
    Kind("program.bin", [_PROGRAM], _run_program, aimed(header_words(len(_PROGRAM))), cost=10),
    Kind("program.words", [_PROGRAM], _run_program, damage, cost=10),
    Kind("registers.bin", [_dump()], _write_words, aimed(header_words(len(_dump()))), cost=10),
]
