#!/usr/bin/env python3
"""CPU time and peak memory of `neuralart compile` for an int8 network of five million parameters.

    python benchmarks/compile_large.py [--rounds N] [--keep FILE.tflite]

Exits with 1 above 3 s or 400 MB.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
for folder in ("site_scons", "models"):
    sys.path.insert(0, str(REPO / folder))

import numpy as np  # noqa: E402

from neuralart.network import facts  # noqa: E402
from tflite_writer import ModelWriter  # noqa: E402

LIMIT_SECONDS, LIMIT_MEGABYTES = 3.0, 400.0
PARAMETERS = 5_000_000
SIZE, CLASSES, SEED = 128, 1000, 5
# For each stage: channels behind it, repetitions; the first of them has stride 2. Channels grow sixfold in between.
STAGES = ((24, 2), (32, 3), (64, 4), (112, 4), (160, 4), (320, 1))
EXPANSION, HEAD = 6, 1984

# A process of its own runs the command and asks what it took: what this one did does not count.
CHILD = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


@dataclass
class Builder:
    """A network with random weights; a layer is the number of its tensor."""

    writer: ModelWriter = field(default_factory=ModelWriter)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))
    parameters: int = 0

    def activation(self, shape: tuple[int, ...], scale: float = 0.05, zero: int = -3) -> int:
        return self.writer.tensor(f"t{len(self.writer.tensors)}", shape, "int8", scale, zero)

    def weights(self, shape: tuple[int, ...], axis: int) -> list[int]:
        channels = shape[axis]
        scales = self.rng.uniform(0.001, 0.01, channels)
        name = f"w{len(self.writer.tensors)}"
        values = self.rng.integers(-127, 128, shape, np.int8)
        bias = self.rng.integers(-1000, 1000, channels, np.int32)
        self.parameters += values.size + bias.size
        return [
            self.writer.tensor(name, shape, "int8", scales, 0, values, axis),
            self.writer.tensor(f"{name}_bias", (channels,), "int32", scales * 0.05, 0, bias),
        ]

    def conv(self, source: int, channels: int, kernel: int = 1, stride: int = 1, activation: str = "RELU6") -> int:
        _, height, width, depth = self.writer.tensors[source].shape
        out = self.activation((1, -(-height // stride), -(-width // stride), channels))
        constants = self.weights((channels, kernel, kernel, depth), 0)
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "fused_activation_function": activation}
        self.writer.op("CONV_2D", [source, *constants], [out], **options)
        return out

    def depthwise(self, source: int, stride: int) -> int:
        _, height, width, depth = self.writer.tensors[source].shape
        out = self.activation((1, -(-height // stride), -(-width // stride), depth))
        constants = self.weights((1, 3, 3, depth), 3)
        options = {"padding": "SAME", "stride_h": stride, "stride_w": stride, "fused_activation_function": "RELU6"}
        self.writer.op("DEPTHWISE_CONV_2D", [source, *constants], [out], **options)
        return out

    def add(self, first: int, second: int) -> int:
        out = self.activation(self.writer.tensors[first].shape)
        self.writer.op("ADD", [first, second], [out])
        return out

    def mean(self, source: int) -> int:
        shape = self.writer.tensors[source].shape
        axes = self.writer.tensor("axes", (2,), "int32", data=np.array([1, 2]))
        out = self.activation((1, shape[-1]))
        self.writer.op("MEAN", [source, axes], [out])
        return out

    def dense(self, source: int, units: int) -> int:
        constants = self.weights((units, self.writer.tensors[source].shape[-1]), 0)
        out = self.activation((1, units))
        self.writer.op("FULLY_CONNECTED", [source, *constants], [out])
        return out


def network() -> tuple[bytes, int, int]:
    """The file, its parameters (weights and biases) and operators."""
    made = Builder()
    image = made.activation((1, SIZE, SIZE, 3))
    value = made.conv(image, 32, 3, 2)
    for channels, repeated in STAGES:
        for turn in range(repeated):
            into = value
            value = made.conv(value, made.writer.tensors[value].shape[-1] * EXPANSION)
            value = made.depthwise(value, 1 if turn else 2)
            value = made.conv(value, channels, activation="NONE")
            value = made.add(into, value) if turn else value
    value = made.dense(made.mean(made.conv(value, HEAD)), CLASSES)
    return made.writer.finish([image], [value]), made.parameters, len(made.writer.operators)


def compile_once(model: Path, folder: Path) -> tuple[float, float]:
    """CPU seconds and peak megabytes (10^6 bytes) of the command."""
    command = [sys.executable, "-m", "neuralart", "compile", "-m", str(model), "--target", "stm32n6"]
    command += ["--name", "large", "--output", str(folder), "--quiet"]
    env = {**os.environ, "PYTHONPATH": str(REPO / "site_scons")}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *command], env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, kibibytes = done.stdout.split()
    return float(seconds), int(kibibytes) * 1024 / 1e6


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="leave the model there")
    given = parser.parse_args()
    content, parameters, operators = network()
    if not PARAMETERS <= parameters < PARAMETERS * 1.1:
        raise SystemExit(f"the network has {parameters} parameters, not some {PARAMETERS}")
    with tempfile.TemporaryDirectory(prefix="neuralart-bench-") as work:
        model = given.keep or Path(work) / "large.tflite"
        model.write_bytes(content)
        folder = Path(work) / "out"
        taken = [compile_once(model, folder) for _ in range(given.rounds)]
        written = sum(path.stat().st_size for path in folder.iterdir())
        epochs = len(facts.load(folder / "network.json").epochs)
    seconds = statistics.median(each for each, _ in taken)
    megabytes = max(each for _, each in taken)
    print(f"network: {parameters:,} parameters, {operators} operators, {len(content):,} bytes")
    print(f"written: {epochs} epochs, {written:,} bytes")
    print(f"CPU: {seconds:.2f} s (median of {given.rounds}; limit {LIMIT_SECONDS:.0f} s)")
    print(f"peak memory: {megabytes:.0f} MB (largest; limit {LIMIT_MEGABYTES:.0f} MB)")
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    return 0 if seconds < LIMIT_SECONDS and megabytes < LIMIT_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
