#!/usr/bin/env python3
"""How many instructions an inference takes on a Cortex-M55: plain C kernels against those that use MVE.

    python benchmarks/mve.py [--cmsis-nn FOLDER] [--optimize O3] [--layers] [MODEL.tflite ...]

Without models: single layers of usual sizes, then every .tflite below models/. Each is compiled, built twice for
mps3-an547 (gcc -O2), and run once on QEMU with -icount, whose virtual time is counted by the core's SysTick. Exits with
1 unless all outputs are equal, and those of the golden vectors where a model has some. With --cmsis-nn: the layers that
CMSIS-NN has kernels for, one by one, with our MVE kernels and with its own. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
for folder in ("site_scons", "models", "tests"):
    sys.path.insert(0, str(REPO / folder))

import cmsis_nn  # noqa: E402
import numpy as np  # noqa: E402

import vectors as golden  # noqa: E402
from neuralart import boards  # noqa: E402
from neuralart.compilers.request import CompileRequest  # noqa: E402
from neuralart.errors import NeuralArtError  # noqa: E402
from neuralart.network import facts  # noqa: E402
from neuralart_reference.compile import compile_network, write  # noqa: E402
from support.boards.firmware import Builder, have_gcc, have_qemu  # noqa: E402
from support.host_c import mve  # noqa: E402
from tflite_writer import ModelWriter  # noqa: E402

MPOOL = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "mps3-an547.mpool"
COUNT = Path(__file__).with_name("mve_count.c")
CALIBRATION = 30_000_000  # as in mve_count.h
# One instruction takes 1 ns of virtual time: 24 bits of SysTick are half a billion.
ICOUNT = ("-icount", "shift=0,sleep=off")
KERNELS = ("c", "mve")
LIMIT = "more than 5e8"


@dataclass(frozen=True)
class Run:
    """What an image did.

    Attributes:
        instructions: Of the inference; 0: too many to count.
        outputs: A hash of each.
    """

    instructions: int
    outputs: tuple[str, ...]


def fnv(data: bytes) -> str:
    """FNV-1a, as mve_count.c prints it."""
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{value:08x}"


# ---- single layers


def layer(
    kind: str, shape: tuple[int, int, int], outputs: int, kernel: int = 3, stride: int = 1, lowest: int = 0
) -> bytes:
    """A model of one convolution, fully connected layer or addition with drawn weights, or of one layer of float32.

    `lowest` taps of the first channel are -128.
    """
    kind, _, floats = kind.partition(" ")
    if floats:
        return float_layer(kind, shape, outputs, kernel, stride)
    rng = np.random.default_rng(1)
    writer = ModelWriter()
    height, width, channels = shape
    x = writer.tensor("x", (1, *shape), "int8", 0.02, -5)
    y = writer.tensor("y", (1, -(-height // stride), -(-width // stride), outputs), "int8", 0.05, 3)
    if kind == "ADD":
        z = writer.tensor("z", (1, *shape), "int8", 0.03, 7)
        writer.op("ADD", [x, z], [y])
        return writer.finish([x, z], [y])
    dense, depthwise = kind == "FULLY_CONNECTED", kind == "DEPTHWISE_CONV_2D"
    size = (outputs, kernel, kernel, channels)
    if dense:
        size = (outputs, channels)
        y = writer.tensor("y", (1, outputs), "int8", 0.05, 3)
    elif depthwise:
        size = (1, kernel, kernel, outputs)
    weights = rng.integers(-127, 128, size)
    weights.reshape(-1, outputs)[:lowest, 0] = -128
    w = writer.tensor("w", size, "int8", 0.01, 0, weights)
    b = writer.tensor("b", (outputs,), "int32", 0.0002, 0, rng.integers(-5000, 5000, outputs))
    options = {} if dense else {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    if depthwise:
        options["depth_multiplier"] = 1
    writer.op(kind, [x, w, b], [y], **options)
    return writer.finish([x], [y])


def float_layer(kind: str, shape: tuple[int, int, int], outputs: int, kernel: int, stride: int) -> bytes:
    """The same in float32, and pools."""
    rng = np.random.default_rng(1)
    writer = ModelWriter()
    height, width, channels = shape
    dense, pool = kind == "FULLY_CONNECTED", kind.endswith("POOL_2D")
    x = writer.tensor("x", (1, channels) if dense else (1, *shape), "float32")
    y = writer.tensor("y", (1, outputs) if dense else (1, height // stride, width // stride, outputs), "float32")
    options = {} if dense else {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    if kind == "ADD":
        writer.op(kind, [x, writer.tensor("z", (1, *shape), "float32")], [y])
        return writer.finish([x, x + 2], [y])
    if pool:
        writer.op(kind, [x], [y], **options, filter_height=kernel, filter_width=kernel)
        return writer.finish([x], [y])
    size = {"FULLY_CONNECTED": (outputs, channels), "CONV_2D": (outputs, kernel, kernel, channels)}
    of = size.get(kind, (1, kernel, kernel, outputs))
    w = writer.tensor("w", of, "float32", data=rng.normal(size=of).astype(np.float32))
    b = writer.tensor("b", (outputs,), "float32", data=rng.normal(size=outputs).astype(np.float32))
    if kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = outputs // channels
    writer.op(kind, [x, w, b], [y], **options)
    return writer.finish([x], [y])


LAYERS = {
    "CONV_2D 3x3/2, 64x64x3 to 16": ("CONV_2D", (64, 64, 3), 16, 3, 2),
    "CONV_2D 3x3, 16x16x32 to 32": ("CONV_2D", (16, 16, 32), 32, 3),
    "CONV_2D 1x1, 16x16x32 to 64": ("CONV_2D", (16, 16, 32), 64, 1),
    "CONV_2D 1x1, 8x8x128 to 128": ("CONV_2D", (8, 8, 128), 128, 1),
    "DEPTHWISE_CONV_2D 3x3, 16x16x64": ("DEPTHWISE_CONV_2D", (16, 16, 64), 64),
    "DEPTHWISE_CONV_2D 3x3/2, 32x32x20": ("DEPTHWISE_CONV_2D", (32, 32, 20), 20, 3, 2),
    "CONV_2D 3x3, 4x4x256 to 64": ("CONV_2D", (4, 4, 256), 64),
    "CONV_2D 3x3, 4x4x320 to 64": ("CONV_2D", (4, 4, 320), 64),
    "DEPTHWISE_CONV_2D 3x3, 16x16x64, a -128": ("DEPTHWISE_CONV_2D", (16, 16, 64), 64, 3, 1, 1),
    "DEPTHWISE_CONV_2D 3x3, 16x16x64, two -128": ("DEPTHWISE_CONV_2D", (16, 16, 64), 64, 3, 1, 2),
    "FULLY_CONNECTED 640 to 128": ("FULLY_CONNECTED", (1, 1, 640), 128),
    "ADD 16x16x64": ("ADD", (16, 16, 64), 64),
    "float32 CONV_2D 3x3/2, 64x64x3 to 16": ("CONV_2D float32", (64, 64, 3), 16, 3, 2),
    "float32 CONV_2D 3x3, 16x16x32 to 32": ("CONV_2D float32", (16, 16, 32), 32, 3),
    "float32 CONV_2D 1x1, 16x16x32 to 64": ("CONV_2D float32", (16, 16, 32), 64, 1),
    "float32 CONV_2D 1x1, 16x16x32 to 6": ("CONV_2D float32", (16, 16, 32), 6, 1),
    "float32 DEPTHWISE_CONV_2D 3x3, 16x16x64": ("DEPTHWISE_CONV_2D float32", (16, 16, 64), 64),
    "float32 DEPTHWISE_CONV_2D 3x3, 16x16x8 to 32": ("DEPTHWISE_CONV_2D float32", (16, 16, 8), 32),
    "float32 FULLY_CONNECTED 640 to 128": ("FULLY_CONNECTED float32", (1, 1, 640), 128),
    "float32 ADD 16x16x64": ("ADD float32", (16, 16, 64), 64),
    "float32 MAX_POOL_2D 2x2/2, 16x16x64": ("MAX_POOL_2D float32", (16, 16, 64), 64, 2, 2),
    "float32 AVERAGE_POOL_2D 2x2/2, 16x16x64": ("AVERAGE_POOL_2D float32", (16, 16, 64), 64, 2, 2),
    "float32 AVERAGE_POOL_2D 8x8/8, 16x16x64": ("AVERAGE_POOL_2D float32", (16, 16, 64), 64, 8, 8),
}


# ---- measuring


class Bench:
    """Compiles, builds and runs; objects that all images share are built once."""

    def __init__(self, work: Path, optimize: str) -> None:
        self.work = work
        self.board = boards.load("mps3-an547")
        self.builder = Builder(work / "objects", self.board, "qemu", 0, 0)
        self.builder.flags = [f"-{optimize}" if flag == "-O2" else flag for flag in self.builder.flags]
        instead = {path.name: path for path in mve.replaced()}
        plain = sorted(mve.PLAIN.glob("*.c"))
        self.kernels = {
            "c": [self.builder.object(path) for path in plain],
            "mve": [self.builder.object(instead.get(path.name, path)) for path in plain],
        }
        self.startup = mve.board_objects(self.builder)
        self.number = 0

    @cached_property
    def common(self) -> list[Path]:
        return [*self.startup, *map(self.builder.object, (mve.RUNTIME / "ll_aton_runtime.c", COUNT))]

    def runs(self, model: Path, vectors: Path | None) -> tuple[dict[str, Run], bool | None]:
        """Both runs of a model, and whether outputs are the golden ones (None: there are none)."""
        self.number += 1
        folder = self.work / f"{self.number}"
        result = compile_network(CompileRequest(model=model, mpool=MPOOL, name="network", report=False))
        write(result, folder)
        network = facts.load(folder / "network.json")
        loads = [(folder / f"network_atonbuf.{pool.fname}.raw", pool.address) for pool in network.initializers]
        given, wanted = self._values(network, vectors)
        for number, (port, value) in enumerate(zip(network.inputs, given, strict=True)):
            path = folder / f"input{number}.raw"
            path.write_bytes(value)
            loads.append((path, port.address))
        made = self.builder.object(folder / "network.c")
        runs = {}
        for kernels in KERNELS:
            elf = self.builder.link(folder / f"{kernels}.elf", [*self.common, made, *self.kernels[kernels]])
            lines = mve.text_of(self.board, elf, [load for load in loads if load[0].stat().st_size], ICOUNT, 300)
            read = [line.split() for line in lines]
            ticks = {name: int(value, 16) for name, value in read if name != "output"}
            instructions = round(ticks["inference"] * CALIBRATION / ticks["calibration"])
            runs[kernels] = Run(instructions, tuple(value for name, value in read if name == "output"))
        return runs, None if wanted is None else runs["c"].outputs == wanted

    @staticmethod
    def _values(network: facts.Network, vectors: Path | None) -> tuple[list[bytes], tuple[str, ...] | None]:
        """Inputs, and hashes of the outputs if they are known."""
        if vectors is None:
            rng = np.random.default_rng(2)
            return [
                rng.normal(size=port.bytes // 4).astype(np.float32).tobytes()
                if port.dtype == "float32"
                else rng.integers(0, 256, port.bytes, np.uint8).tobytes()
                for port in network.inputs
            ], None
        inputs, outputs, _ = golden.read(vectors)
        return [value.tobytes() for value in inputs[0]], tuple(fnv(value.tobytes()) for value in outputs[0])


def cases(work: Path, models: list[Path]) -> Iterator[tuple[str, Path, Path | None]]:
    """Name, model and golden vectors."""
    if not models:
        for number, (name, arguments) in enumerate(LAYERS.items()):
            path = work / f"layer{number}.tflite"
            path.write_bytes(layer(*arguments))
            yield name, path, None
        models = sorted((REPO / "models").glob("*/*.tflite"))
    for path in models:
        vectors = path.parent / "vectors"
        yield path.stem, path, vectors if (vectors / "vectors.json").is_file() else None


def compare(bench: Bench, models: list[Path]) -> bool:
    """Print the table of single inferences; whether an output was wrong."""
    failed = False
    print("| what | instructions, plain C | with MVE | ratio | outputs |\n|---|---|---|---|---|")
    for name, path, vectors in cases(bench.work, models):
        try:
            runs, right = bench.runs(path, vectors)
        except NeuralArtError as error:
            print(f"| {name} | - | - | - | {error} |", flush=True)
            continue
        plain, vector = runs["c"], runs["mve"]
        same = plain.outputs == vector.outputs
        failed |= not same or right is False
        said = ("equal" if same else "DIFFER") + {None: "", True: ", golden", False: ", NOT GOLDEN"}[right]
        ratio = f"{plain.instructions / vector.instructions:.1f}" if plain.instructions * vector.instructions else "-"
        counts = [f"{run.instructions:,}" if run.instructions else LIMIT for run in (plain, vector)]
        print(f"| {name} | {counts[0]} | {counts[1]} | {ratio} | {said} |", flush=True)
    return failed


def row(name: str, counts: Sequence[cmsis_nn.Count]) -> str:
    """A line of the other table. Sums of weights count for CMSIS-NN only in the last ratio."""
    ours, theirs, prepared, different = (
        sum(getattr(count, field) for count in counts) for field in ("ours", "theirs", "prepared", "different")
    )
    if not all(count.ours and count.theirs for count in counts):
        return f"| {name} | {LIMIT} | {LIMIT} | - | - | - |"
    said = f"{different} differ" if different else "equal"
    return f"| {name} | {ours:,} | {theirs:,} | {ours / theirs:.2f} | {ours / (theirs + prepared):.2f} | {said} |"


def beside(bench: Bench, folder: Path, models: list[Path], each: bool) -> bool:
    """Print the table of layers beside CMSIS-NN; whether an output differs that must not."""
    failed = False
    elf = cmsis_nn.build(bench.builder, folder, bench.kernels["mve"], bench.startup)
    print("| layer | ours | CMSIS-NN | ratio | with its sums | outputs |\n|---|---|---|---|---|---|")
    for name, path, _ in cases(bench.work, models):
        try:
            found = cmsis_nn.layers(path, MPOOL)
        except NeuralArtError as error:
            print(f"| {name} | - | - | - | - | {error} |", flush=True)
            continue
        if not found:
            print(f"| {name} | - | - | - | - | no such layers |", flush=True)
            continue
        counts = list(cmsis_nn.count(bench.builder, elf, found, ICOUNT))
        failed |= any(
            count.different for layer, count in zip(found, counts, strict=True) if layer.kind != cmsis_nn.FULLY
        )
        if len(found) > 1:
            groups: dict[str, list[cmsis_nn.Count]] = {}
            for layer, count in zip(found, counts, strict=True):
                groups.setdefault(layer.text if each else layer.text.split(",")[0].split(" to ")[0], []).append(count)
            for text, group in groups.items():
                print(row(f"{name}: {text}" + (f" ({len(group)})" if len(group) > 1 else ""), group))
            name = f"**{name}**, {len(found)} layers"
        print(row(name, counts), flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, help="models; default: single layers, and all of models/")
    parser.add_argument("--cmsis-nn", type=Path, metavar="FOLDER", help="a checkout of CMSIS-NN: compare with it")
    parser.add_argument("--layers", action="store_true", help="with --cmsis-nn: each layer of a model, not each kind")
    parser.add_argument("--optimize", default="O2", metavar="LEVEL", help="of gcc, for all code: O2, O3, Ofast")
    args = parser.parse_args()
    if not (have_gcc and have_qemu):
        parser.error("needs arm-none-eabi-gcc and qemu-system-arm")
    with tempfile.TemporaryDirectory(prefix="neuralart-mve-") as folder:
        bench = Bench(Path(folder), args.optimize)
        try:
            if args.cmsis_nn:
                return int(beside(bench, args.cmsis_nn, args.models, args.layers))
            return int(compare(bench, args.models))
        except NeuralArtError as error:
            parser.error(str(error))


if __name__ == "__main__":
    raise SystemExit(main())
