"""Builds the reference application round a hand-written network, without SCons and without the compiler."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.network.facts import Epoch, Network, PoolUse, Port, to_json
from neuralart.resources import firmware_dir
from neuralart.text import image_header

HERE = Path(__file__).parent
PREFIX = "arm-none-eabi-"
STAMP = "0123456789abcdef"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
COMMON = ("-std=gnu11", "-O2", "-g", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-ffp-contract=off")
LIBC = "--specs=picolibc.specs"

have_gcc = shutil.which(f"{PREFIX}gcc") is not None
have_clang = shutil.which("clang") is not None and shutil.which("ld.lld") is not None
have_qemu = shutil.which("qemu-system-arm") is not None

WEIGHTS = bytes((n * 37 + 11) & 0xFF for n in range(16))

# The steps that turn AXISRAM5 on, each of which a test can leave out.
N6_STEPS = {
    "clock": "*(volatile uint32_t *)0x56028A4Cu = 1u << 2;",  # MEMENSR
    "sleep": "*(volatile uint32_t *)0x5602828Cu |= 1u << 2;",  # MEMLPENR
    "ramcfg-clock": "*(volatile uint32_t *)0x56028254u |= 1u << 12;",  # AHB2ENR
    "shutdown": "*(volatile uint32_t *)0x52023200u &= ~(1u << 20);",  # AXISRAM5CR
}


@dataclass(frozen=True)
class Image:
    """What a run needs."""

    elf: Path
    network: Path
    vectors: Path
    weights: Path


def run_tool(command: list[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def reference(pixels: bytes, weights: bytes = WEIGHTS) -> bytes:
    """What toy_network.c computes."""
    x, w = struct.unpack("16b", pixels), struct.unpack("16b", weights)
    hidden = [max(-128, min(127, a + b)) for a, b in zip(x, w, strict=True)]
    sums = [int(sum(hidden[4 * j : 4 * j + 4]) * 0.5) for j in range(4)]
    return struct.pack("16b", *reversed(hidden)) + struct.pack("<4h", *sums)


def pixels(number: int) -> bytes:
    return bytes((number * 61 + n * 29) & 0xFF for n in range(16))


def facts(
    pool: str = "npuRAM5",
    address: int = 0x342E0000,
    stamp: str = STAMP,
    name: str = "toy",
    weights: tuple[str, int] = ("xSPI2", 0x71000000),
) -> Network:
    def port(name, offset, size, dtype, shape):
        return Port(name, pool, address + offset, size, shape, dtype, 1.0, 0)

    return Network(
        name,
        "neuralart",
        (0, 1, 0, 0),
        stamp,
        "litert-2.20",
        (PoolUse("constants", *weights, 0x100000, 16, 16, 0, "ACC_READ"),),
        (port("pixels", 0, 16, "int8", (1, 16)),),
        (port("scores", 0x200, 16, "int8", (1, 16)), port("sums", 0x300, 8, "int16", (1, 4))),
        tuple(Epoch(n, "SW", ("ADD",)) for n in range(3)),
        0,
    )


def write_vectors(folder: Path, number: int = 5, **changes: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    inputs = [pixels(n) for n in range(number)]
    data = {
        "schema": 1,
        "count": number,
        "inputs": [{"name": "pixels", "dtype": "int8", "shape": [1, 16], "bytes": 16}],
        "outputs": [
            {"name": "scores", "dtype": "int8", "shape": [1, 16], "bytes": 16},
            {"name": "sums", "dtype": "int16", "shape": [1, 4], "bytes": 8},
        ],
        "oracle": "reference() of tests/support/boards/firmware.py",
        **changes,
    }
    (folder / "vectors.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "inputs.bin").write_bytes(b"".join(inputs))
    (folder / "outputs.bin").write_bytes(b"".join(reference(x) for x in inputs))
    return folder


def memory_init(steps: tuple[str, ...], returns: int = 0) -> str:
    body = "\n".join(f"  {N6_STEPS[step]}" for step in steps)
    return (
        '#include "npu_memory_init.h"\n#include <stdint.h>\nint npu_memory_init(void) {\n'
        f"{body}\n  return {returns};\n}}\n"
    )


class Builder:
    """Compiles each object once, however many images use it."""

    def __init__(self, folder: Path, board: Board, machine: str, weights: int, activations: int) -> None:
        self.folder = folder
        self.board = board
        self.flags = [*board.machines[machine].cpu_flags, *COMMON, LIBC]
        self.addresses = (f"TOY_WEIGHTS=0x{weights:x}u", f"TOY_ACTIVATIONS=0x{activations:x}u")
        self.weights_at = weights
        self.activations_at = activations
        self._objects: dict[tuple[str, tuple[str, ...]], Path] = {}
        from neuralart.memory.startup.linker import board_config_h, memory_ld

        folder.mkdir(parents=True, exist_ok=True)
        (folder / "board_config.h").write_text(board_config_h(board), encoding="utf-8")
        (folder / "memory.ld").write_text(memory_ld(board), encoding="utf-8")
        (folder / "npu_memory_init.h").write_text("int npu_memory_init(void);\n", encoding="utf-8")

    def object(self, source: Path, defines: tuple[str, ...] = ()) -> Path:
        key = (str(source), defines)
        if key not in self._objects:
            root = firmware_dir()
            target = self.folder / f"{len(self._objects)}-{source.stem}.o"
            places = [self.folder, root / "boards", root / "app", root / "runtime" / "include", source.parent]
            run_tool(
                [f"{PREFIX}gcc", *self.flags, *WARNINGS]
                + [f"-I{place}" for place in places]
                + [f"-D{define}" for define in defines]
                + ["-c", str(source), "-o", str(target)]
            )
            self._objects[key] = target
        return self._objects[key]

    def text(self, name: str, text: str) -> Path:
        path = self.folder / f"{len(self._objects)}-{name}"
        path.write_text(text, encoding="utf-8")
        return path

    def link(self, elf: Path, objects: list[Path]) -> Path:
        script = firmware_dir() / "boards" / "sections.ld"
        run_tool(
            [
                *(f"{PREFIX}gcc", *self.flags, "-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings"),
                *(f"-L{self.folder}", "-T", str(script), "-o", str(elf), *map(str, objects)),
            ]
        )
        return elf

    def image(
        self,
        folder: Path,
        *,
        memory: str,
        defines: tuple[str, ...] = (),
        app_defines: tuple[str, ...] = (),
        user_io: bool = False,
        stamp: str = STAMP,
        pool: str = "xSPI2",
    ) -> Image:
        """The application, its network, its facts (weights in a pool) and its golden vectors, in a folder."""
        from neuralart.memory.startup.network_io import app_networks_c as app_networks

        root = firmware_dir()
        network = facts(address=self.activations_at, stamp=stamp, weights=(pool, self.weights_at))
        if user_io:
            network = replace(
                network,
                inputs=tuple(replace(port, user_allocated=True) for port in network.inputs),
                outputs=tuple(replace(port, user_allocated=True) for port in network.outputs),
            )
        sources = [
            root / "runtime" / "ll_aton_runtime.c",
            *sorted((root / "runtime" / "memory").glob("*.c")),
            *sorted((root / "boards").glob("*.c")),
            root / "boards" / "drivers" / f"{self.board.console.driver}.c",
        ]
        objects = [self.object(source) for source in sources]
        objects += [self.object(source, app_defines) for source in sorted((root / "app").glob("*.c"))]
        objects += [self.object(HERE / "toy_network.c", (*self.addresses, *defines))]
        objects += [self.object(self.text("app_networks.c", app_networks([network])))]
        objects += [self.object(self.text("npu_memory_init.c", memory))]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "network.json").write_text(to_json(replace(network, abi_stamp=STAMP)), encoding="utf-8")
        (folder / "weights.raw").write_bytes(WEIGHTS)
        return Image(
            self.link(folder / "firmware.elf", objects),
            folder / "network.json",
            write_vectors(folder / "vectors"),
            folder / "weights.raw",
        )


def store_bytes(source: int, target: int, size: int = 16) -> str:
    """C that copies bytes, as a start-up does that brings weights from flash to RAM."""
    return (
        f"for (int i = 0; i < {size}; i++) ((volatile uint8_t *)0x{target:x}u)[i] = "
        f"((const volatile uint8_t *)0x{source:x}u)[i];\n"
    )


def maintain(register: int, address: int, size: int = 16) -> str:
    """C that does a cache operation by address on every line of a range."""
    return (
        f"for (uint32_t at = 0x{address:x}u & ~31u; at < 0x{address + size:x}u; at += 32)"
        f" *(volatile uint32_t *)0x{register:x}u = at;\n"
    )


def application(image: Image) -> bytes:
    """The image as it stands in its slot: the header, then the code."""
    binary = image.elf.with_suffix(".bin")
    run_tool([f"{PREFIX}objcopy", "-O", "binary", str(image.elf), str(binary)])
    return image_header.make(binary.read_bytes(), "application")


def write_plan(
    folder: Path, board: Board, image: Image, *, weights_at: int = 0x71000000, code: bytes | None = None
) -> Path:
    """A flash plan and its files, in a folder: the application and its weights."""
    from neuralart.flashing.plan import make, write_of

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "application.bin").write_bytes(application(image) if code is None else code)
    (folder / "weights.bin").write_bytes(image.weights.read_bytes())
    writes = [
        write_of(
            "application", "application", folder / "application.bin", board.slots["application"], "application.bin"
        ),
        write_of("toy.weights", "model", folder / "weights.bin", weights_at, "weights.bin"),
    ]
    plan = folder / "flash_plan.json"
    plan.write_text(make(board.name, writes), encoding="utf-8")
    return plan
