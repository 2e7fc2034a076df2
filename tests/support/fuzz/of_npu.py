"""Kinds of files that the virtual NPU runs: structures, programs, register dumps, constants, records of a board.

With ``NEURALART_NPU_DATA`` the same of public networks: their names begin with that of the case.
"""

from __future__ import annotations

import io
import random
import re
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from neuralart.vendor.network_c.read import parse, read
from neuralart_virtual.emulator.inputs import source
from neuralart_virtual.network_c import ecblobs
from neuralart_virtual.npu.controller import decode, execute
from neuralart_virtual.npu.dataflow import Settings
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.evidence import Evidence
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.run import EpochResult, VirtualNetwork, load
from neuralart_virtual.validation_link import layer_files
from neuralart_virtual.validation_link.client import LayerRecord
from support.fuzz.damage import aimed, damage, header_words, json_tree, text
from support.fuzz.judge import Kind
from support.npu import npu_build, npu_kernels, npu_network
from support.npu.npu_cases import DATA
from support.npu.npu_networks import constants

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


_MEMBER = re.compile(r"(?<==)( *-?)(\d+|0x[0-9a-fA-F]+)(?=[,U ])")
_HUGE = (0, 1, 3, 127, 128, 255, 256, 511, 4095, 65535, 65536, 1 << 24, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 32, 1 << 64)


def members(data: bytes, rng: random.Random) -> bytes:
    """One to three numbers of structures: near ones, those of other members, huge ones."""
    content = data.decode()
    for _ in range(rng.randint(1, 3)):
        numbers = list(_MEMBER.finditer(content))
        one, other = rng.choice(numbers), rng.choice(numbers)
        value = int(one[2], 0)
        near = rng.choice((value + 1, value - 1, 2 * value, value // 2, value ^ 1 << rng.randrange(8), -value))
        new = rng.choice((str(near), str(near), other[2], str(rng.choice(_HUGE))))
        content = content[: one.start(2)] + new + content[one.end(2) :]
    return content.encode()


def _run_damaged_constants(path: Path) -> None:
    network = parse(npu_network.network_c(_WEIGHTS, controller=False), f"{npu_network.NAME}.c")
    VirtualNetwork(network, {"xSPI2": path}, settings=Settings(work=_WORK)).run()


def _wrapped() -> bytes:
    """The program with addresses from 0 on, behind a table of the words that move, as another release has it."""
    words = list(struct.unpack(f"<{len(_PROGRAM) // 4}I", _PROGRAM))
    moving = [at for at in range(2, len(words)) if 0 <= words[at] - npu_network.RAM < 0x1000]
    for at in moving:
        words[at] -= npu_network.RAM
    listed = struct.pack(f"<{len(moving)}I", *(at - 2 for at in moving))
    table = struct.pack("<4I", 1, 16, len(moving), 40) + b"_user_io_input_0".ljust(24, b"\0") + listed
    table += bytes(-len(table) % 8)
    head = struct.pack("<6I", 0xECBF0050, 24, 0, 0, 24 + len(table), 0)
    return head + table + struct.pack(f"<{len(words)}I", *words)


_WRAPPED = _wrapped()


def _run_container(path: Path) -> None:
    """The array of a wrapped program, as a header has it."""
    data = path.read_bytes()[: 1 << 20]
    header = ecblobs.parse(npu_network.ecblobs_h(data + bytes(-len(data) % 8)), f"{npu_network.NAME}_ecblobs.h")
    bases = dict.fromkeys((each.id for blob in header.blobs for each in blob.relocations), npu_network.RAM)
    memory = NpuMemory()
    memory.add("NETWORK", npu_network.RAM, np.zeros(1 << 16, np.uint8))
    memory.add("WEIGHTS", npu_network.FLASH, np.frombuffer(_WEIGHTS.data(), np.uint8).copy())
    for blob in header.blobs:
        device = NpuDevice(memory, Settings(work=_WORK))
        execute(ecblobs.moved(blob, bases, header.where), device)


def _record(folder: Path) -> None:
    """Of one inference of a board that computes what the model computes."""
    board = load(npu_network.write(folder, controller=False))
    board.set_input("image", npu_network.image())
    layers: list[LayerRecord] = []

    def keep(result: EpochResult) -> None:
        sent = [(each.start, board.memory.view(each.start, each.size * each.elements)) for each in result.outputs]
        tensors = [
            {"description": {"name": "", "address": at}, "data": {"content": data.tobytes()}} for at, data in sent
        ]
        number = int(result.label)
        layers.append(LayerRecord({"id": number << 16 | number}, tuple(tensors), ()))

    board.run(keep)
    layer_files.write(folder, npu_network.NAME, [npu_network.image()], layers, force=True)


def _compare(path: Path) -> None:
    Evidence(path.parent / f"{npu_network.NAME}.c", [layer_files.read(path.parent)], [])


def _recorded(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder))
        return (Path(folder) / name).read_bytes()


def _npz() -> bytes:
    content = io.BytesIO()
    np.savez(content, image=np.arange(12, dtype=np.int8).reshape(1, 3, 4), scores=np.zeros((1, 8), np.float32))
    return content.getvalue()


# ---- public networks

# Small ones of docs/reference/npu-networks.md and npu-cases.md: network.c with structures; with programs.
_DESCRIBED = "BCPH357+stm32n6_rppg/stm32_rppg/Appli/X-CUBE-AI/App/network_rppg.c"
_CONTROLLED = "AlexGraefe+STM32N6MRE@b6eeb486e4/Model/network.c"
# More elements than their largest epoch handles.
_PUBLIC_WORK = 1 << 24


def _public(kind: str, path: Path, damages: Callable[[bytes, random.Random], bytes]) -> Kind:
    """``c``: network.c is damaged; ``h``: header of its programs; ``bin``: its largest one; ``raw``: constants."""
    network, header_h = read(path, path.name), path.with_name(f"{path.stem}_ecblobs.h")
    folder = Path(tempfile.mkdtemp())
    files = constants(network, path.parent, folder)
    content = {pool: file.read_bytes() for pool, file in files.items() if file.is_file()}
    shutil.rmtree(folder)
    blobs = ecblobs.read(header_h) if header_h.is_file() else ecblobs.BlobHeader("", "", (), ())
    program = max(blobs.blobs, key=lambda blob: blob.bytes, default=None)

    def run(damaged: Path) -> None:
        data = damaged.read_bytes()
        text, header = network, blobs
        own = {pool: damaged.with_name(f"of.{pool}.raw") for pool in content}
        if kind == "c":
            text = parse(data.decode("utf-8", "replace"), path.name)
        elif kind == "h":
            header = ecblobs.parse(data.decode("utf-8", "replace"), header_h.name)
        elif kind == "raw":
            own = dict.fromkeys(own, damaged)
        elif program is not None:
            others = tuple(blob for blob in blobs.blobs if blob.symbol != program.symbol)
            header = replace(blobs, blobs=(*others, replace(program, program=data)))
        VirtualNetwork(text, own, folder=path.parent, blobs=header, settings=Settings(work=_PUBLIC_WORK)).run()

    def beside(place: Path) -> None:
        for pool, data in content.items():
            (place / f"of.{pool}.raw").write_bytes(data)

    good = {"c": path.read_bytes(), "raw": next(iter(content.values()), b"")}
    good |= {"h": header_h.read_bytes(), "bin": program.program} if program is not None else {}
    return Kind(f"public.{kind}{len(blobs.blobs)}", [good[kind]], run, damages, prepare=beside, cost=100)


def _public_kinds() -> Iterator[Kind]:
    path = DATA / _DESCRIBED
    if path.is_file():
        yield _public("c", path, lambda data, rng: (members if rng.random() < 0.7 else text)(data, rng))
        yield _public("raw", path, damage)
    path = DATA / _CONTROLLED
    if path.is_file():
        yield _public("c", path, text)
        yield _public("h", path, text)
        yield _public("bin", path, aimed(header_words(1 << 16), often=0.8))


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
    Kind(
        "structures.c",
        [npu_network.network_c(_WEIGHTS, controller=False).encode()],
        _run_structures,
        members,
        file=f"{npu_network.NAME}.c",
        prepare=_beside,
        cost=10,
    ),
    Kind("made.xSPI2.raw", [_WEIGHTS.data()], _run_damaged_constants, damage, cost=10),
    Kind("container.bin", [_WRAPPED], _run_container, aimed(header_words(len(_WRAPPED))), cost=10),
    Kind("record.json", [_recorded("record.json")], _compare, json_tree, prepare=_record, cost=10),
    Kind("record.bin", [_recorded("001_0.bin")], _compare, damage, file="001_0.bin", prepare=_record, cost=10),
    Kind("outputs.npz", [_npz()], source.arrays, damage, cost=10),
    *_public_kinds(),
]
