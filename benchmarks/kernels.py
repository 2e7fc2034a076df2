#!/usr/bin/env python3
"""Instructions of single layers: plain C kernels against ``kernels: mve`` or ``kernels: dsp``.

    python benchmarks/kernels.py [--kernels mve|dsp] [--core cortex-m7|cortex-m33] [MODEL.tflite ...]

Without models: layers of usual sizes, int8 and uint8. Counted as in mve.py, on QEMU's Cortex-M55, which executes the
code of a Cortex-M7 and of a Cortex-M33 too. Exits with 1 unless all outputs are equal. See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
for folder in ("site_scons", "models", "tests"):
    sys.path.insert(0, str(REPO / folder))

import numpy as np  # noqa: E402

from neuralart import boards  # noqa: E402
from neuralart.compilers.request import CompileRequest  # noqa: E402
from neuralart.network import facts  # noqa: E402
from neuralart_reference.compile import compile_network, write  # noqa: E402
from support.boards.firmware import Builder, have_gcc, have_qemu  # noqa: E402
from support.host_c import mve  # noqa: E402
from tflite_writer import ModelWriter  # noqa: E402

MPOOL = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "mps3-an547.mpool"
COUNT = Path(__file__).with_name("mve_count.c")
CALIBRATION = 30_000_000  # as in mve_count.c
ICOUNT = ("-icount", "shift=0,sleep=off")
CORES = {
    core: (f"-mcpu={core}", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb") for core in ("cortex-m7", "cortex-m33")
}

Shape = tuple[int, ...]
Draw = Callable[[ModelWriter, np.random.Generator], tuple[list[int], list[int]]]


# ---- layers


def products(kind: str, shape: Shape, outputs: int, kernel: int = 3, stride: int = 1, dtype: str = "int8") -> Draw:
    """A convolution or fully connected layer; the weights of uint8 have a zero point that is not in the middle."""

    def draw(writer: ModelWriter, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        unsigned, dense, depthwise = dtype == "uint8", kind == "FULLY_CONNECTED", kind == "DEPTHWISE_CONV_2D"
        transposed = kind == "TRANSPOSE_CONV"
        middle = 128 if unsigned else 0
        out = [size * stride if transposed else -(-size // stride) for size in shape[:2]]
        x = writer.tensor("x", (1, *shape), dtype, 0.02, middle - 5)
        y = writer.tensor("y", (1, outputs) if dense else (1, *out, outputs), dtype, 0.05, middle + 3)
        size: Shape = (outputs, shape[2]) if dense else (outputs, kernel, kernel, shape[2])
        size = (1, kernel, kernel, outputs) if depthwise else size
        weights = rng.integers(-127, 128, size) + middle
        w = writer.tensor("w", size, dtype, 0.01, middle + (7 if unsigned else 0), weights)
        b = writer.tensor("b", (outputs,), "int32", 0.0002, 0, rng.integers(-5000, 5000, outputs))
        options = {} if dense else {"padding": "SAME", "stride_h": stride, "stride_w": stride}
        if depthwise:
            options["depth_multiplier"] = 1
        inputs = [x, w, b]
        if transposed:
            inputs = [writer.tensor("o", (4,), "int32", data=np.array([1, *out, outputs])), w, x, b]
        writer.op(kind, inputs, [y], **options)
        return [x], [y]

    return draw


def one(
    kind: str, shape: Shape, out: Shape, numbers: list[int] | None = None, dtype: str = "int8", **options: object
) -> Draw:
    """An operator of one input and perhaps a constant with numbers; output scales are those that it needs."""

    def draw(writer: ModelWriter, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        free = {"SOFTMAX": (1 / 256, -128), "LOGISTIC": (1 / 256, -128), "QUANTIZE": (0.05, 3)}
        middle = 128 if dtype == "uint8" else 0
        scale, zero = free.get(kind, (0.02, -5))
        x = writer.tensor("x", shape, dtype, 0.02, middle - 5)
        inputs = [x]
        if numbers is not None:
            inputs.append(writer.tensor("n", (len(numbers),), "int32", data=np.array(numbers)))
        y = writer.tensor("y", out, dtype, scale, middle + zero)
        writer.op(kind, inputs, [y], **options)
        return [x], [y]

    return draw


def concatenation(shape: Shape) -> Draw:
    """Of two halves along the channels."""

    def draw(writer: ModelWriter, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        halves = [writer.tensor(name, shape, "int8", 0.02, -5) for name in "ab"]
        y = writer.tensor("y", (*shape[:-1], 2 * shape[-1]), "int8", 0.02, -5)
        writer.op("CONCATENATION", halves, [y], axis=3)
        return halves, [y]

    return draw


WINDOW = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2, "padding": "VALID"}
LAYERS = {
    "CONV_2D 3x3/2, 64x64x3 to 16": products("CONV_2D", (64, 64, 3), 16, 3, 2),
    "CONV_2D 3x3, 16x16x32 to 32": products("CONV_2D", (16, 16, 32), 32),
    "CONV_2D 3x3, 8x8x128 to 64": products("CONV_2D", (8, 8, 128), 64),
    "CONV_2D 1x1, 16x16x32 to 64": products("CONV_2D", (16, 16, 32), 64, 1),
    "CONV_2D 1x1, 8x8x128 to 128": products("CONV_2D", (8, 8, 128), 128, 1),
    "DEPTHWISE_CONV_2D 3x3, 16x16x64": products("DEPTHWISE_CONV_2D", (16, 16, 64), 64),
    "FULLY_CONNECTED 640 to 128": products("FULLY_CONNECTED", (1, 1, 640), 128),
    "uint8 CONV_2D 3x3, 16x16x32 to 32": products("CONV_2D", (16, 16, 32), 32, 3, 1, "uint8"),
    "uint8 CONV_2D 1x1, 16x16x32 to 64": products("CONV_2D", (16, 16, 32), 64, 1, 1, "uint8"),
    "uint8 DEPTHWISE_CONV_2D 3x3, 16x16x64": products("DEPTHWISE_CONV_2D", (16, 16, 64), 64, 3, 1, "uint8"),
    "TRANSPOSE_CONV 3x3/2, 8x8x32 to 16": products("TRANSPOSE_CONV", (8, 8, 32), 16, 3, 2),
    "MAX_POOL_2D 2x2/2, 16x16x32": one("MAX_POOL_2D", (1, 16, 16, 32), (1, 8, 8, 32), **WINDOW),
    "AVERAGE_POOL_2D 2x2/2, 16x16x32": one("AVERAGE_POOL_2D", (1, 16, 16, 32), (1, 8, 8, 32), **WINDOW),
    "AVERAGE_POOL_2D 7x7, 7x7x256": one(
        "AVERAGE_POOL_2D", (1, 7, 7, 256), (1, 1, 1, 256), **{**WINDOW, "filter_height": 7, "filter_width": 7}
    ),
    "MEAN 7x7x256 over height and width": one("MEAN", (1, 7, 7, 256), (1, 256), [1, 2], keep_dims=False),
    "SOFTMAX 1000": one("SOFTMAX", (1, 1000), (1, 1000), beta=1.0),
    "SOFTMAX 10": one("SOFTMAX", (1, 10), (1, 10), beta=1.0),
    "LOGISTIC 16x16x32": one("LOGISTIC", (1, 16, 16, 32), (1, 16, 16, 32)),
    "QUANTIZE 16x16x32": one("QUANTIZE", (1, 16, 16, 32), (1, 16, 16, 32)),
    "CONCATENATION 16x16x16 and 16x16x16": concatenation((1, 16, 16, 16)),
    "TRANSPOSE 16x16x32 to 32x16x16": one("TRANSPOSE", (1, 16, 16, 32), (1, 32, 16, 16), [0, 3, 1, 2]),
    "RESIZE_NEAREST_NEIGHBOR 8x8x32 to 16x16": one("RESIZE_NEAREST_NEIGHBOR", (1, 8, 8, 32), (1, 16, 16, 32), [16, 16]),
    "RESIZE_BILINEAR 8x8x32 to 16x16": one(
        "RESIZE_BILINEAR", (1, 8, 8, 32), (1, 16, 16, 32), [16, 16], half_pixel_centers=True
    ),
}


# ---- counting


class Bench:
    """Compiles, builds and runs; objects that all images share are built once."""

    def __init__(self, work: Path, kernels: str, core: str) -> None:
        board = boards.load("mps3-an547")
        machine = board.machines["qemu"]
        flags = machine.cpu_flags if kernels == "mve" else CORES[core]
        self.board = replace(board, machines={"qemu": replace(machine, cpu_flags=flags)})
        self.work = work
        self.builder = Builder(work / "objects", self.board, "qemu", 0, 0)
        instead = {path.name: path for path in mve.replaced(mve.RUNTIME / f"kernels_{kernels}")}
        plain = sorted(mve.PLAIN.glob("*.c"))
        self.kernels = [plain, [instead.get(path.name, path) for path in plain]]
        self.common = [*mve.board_objects(self.builder), self.builder.object(mve.RUNTIME / "ll_aton_runtime.c")]
        self.common.append(self.builder.object(COUNT))
        self.number = 0

    def counts(self, model: Path) -> tuple[list[int], bool]:
        """Instructions with plain C and with the others (0: too many to count), and whether outputs are equal."""
        self.number += 1
        folder = self.work / f"{self.number}"
        write(compile_network(CompileRequest(model=model, mpool=MPOOL, name="network", report=False)), folder)
        network = facts.load(folder / "network.json")
        loads = [(folder / f"network_atonbuf.{pool.fname}.raw", pool.address) for pool in network.initializers]
        rng = np.random.default_rng(2)
        for number, port in enumerate(network.inputs):
            path = folder / f"input{number}.raw"
            path.write_bytes(rng.integers(0, 256, port.bytes, np.uint8).tobytes())
            loads.append((path, port.address))
        made, instructions, outputs = self.builder.object(folder / "network.c"), [], []
        for number, sources in enumerate(self.kernels):
            objects = [*self.common, made, *(self.builder.object(source) for source in sources)]
            elf = self.builder.link(folder / f"{number}.elf", objects)
            lines = mve.text_of(self.board, elf, [load for load in loads if load[0].stat().st_size], ICOUNT, 300)
            read = [line.split() for line in lines]
            ticks = {name: int(value, 16) for name, value in read if name != "output"}
            instructions.append(round(ticks["inference"] * CALIBRATION / ticks["calibration"]))
            outputs.append([value for name, value in read if name == "output"])
        return instructions, outputs[0] == outputs[1]


def cases(work: Path, models: list[Path]) -> Iterator[tuple[str, Path]]:
    """Name and model."""
    for number, (name, draw) in enumerate({} if models else LAYERS.items()):
        writer = ModelWriter()
        inputs, outputs = draw(writer, np.random.default_rng(1))
        path = work / f"layer{number}.tflite"
        path.write_bytes(writer.finish(inputs, outputs))
        yield name, path
    yield from ((path.stem, path) for path in models)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", choices=("mve", "dsp"), default="mve")
    parser.add_argument("--core", choices=CORES, default="cortex-m7", help="with --kernels dsp")
    parser.add_argument("models", nargs="*", type=Path, help="models; default: single layers")
    args = parser.parse_args()
    if not (have_gcc and have_qemu):
        parser.error("needs arm-none-eabi-gcc and qemu-system-arm")
    failed = False
    print(f"| what | instructions, plain C | kernels: {args.kernels} | ratio | outputs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="neuralart-kernels-") as folder:
        work = Path(folder)
        bench = Bench(work, args.kernels, args.core)
        for name, path in cases(work, args.models):
            (plain, other), equal = bench.counts(path)
            failed |= not equal
            ratio = f"{plain / other:.2f}" if plain * other else "-"
            print(f"| {name} | {plain:,} | {other:,} | {ratio} | {'equal' if equal else 'DIFFER'} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
