"""Makes heatmap.tflite and its golden vectors; ``--check`` compares them with what is there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import command  # noqa: E402
import oracle  # noqa: E402
import readout  # noqa: E402
import vectors  # noqa: E402
from heatmap import figures  # noqa: E402
from quantized import Network  # noqa: E402

CALIBRATION, TRAINING, HELD_OUT, GOLDEN = 20, 200, 100, 6
SEED_FILTERS, SEED_TRAINING, SEED_HELD_OUT, SEED_GOLDEN = 31, 32, 33, 34
# The maps have half the picture's size; this many cells beside the joint are still a hit.
CELL, NEAR = 2, 2


def backbone() -> tuple[Network, int]:
    """The layers up to the features of each cell, and the number of that tensor."""
    net = Network(figures.dataset(CALIBRATION, SEED_TRAINING)[0], 1 / 127, -1, SEED_FILTERS)

    def separable(name: str, source: int, channels: int, stride: int = 1) -> int:
        return net.conv(f"{name}/point", net.depthwise(f"{name}/depthwise", source, stride), channels)

    half = net.conv("half", net.input, 16, 3, 2)
    quarter = separable("quarter", half, 24, 2)
    eighth = separable("eighth", quarter, 32, 2)
    value = separable("sixteenth", eighth, 64, 2)
    value = net.add("middle", value, separable("middle/branch", value, 64), "RELU")
    for name, skipped, channels in (("up8", eighth, 32), ("up4", quarter, 24), ("up2", half, 24)):
        larger = net.bilinear(f"{name}/resize", net.conv(f"{name}/narrow", value, channels, activation="RELU"))
        value = separable(name, net.concat(f"{name}/both", [larger, skipped]), channels)
    return net, net.concat("features", [net.conv("local", net.depthwise("local/depthwise", half), 32), value])


def targets(joints: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """What the logits should be, int64 [n * cells * cells, joints], and how much each cell counts."""
    lines = np.arange(cells)
    middle = joints // CELL
    rows = lines[:, np.newaxis, np.newaxis] - middle[:, np.newaxis, np.newaxis, :, 0]
    columns = lines[np.newaxis, :, np.newaxis] - middle[:, np.newaxis, np.newaxis, :, 1]
    wanted = np.maximum(8 - 3 * (rows * rows + columns * columns), -4).reshape(-1, joints.shape[1])
    return wanted, np.where((wanted > -4).any(axis=1), 12, 1)


def model() -> bytes:
    """The file."""
    net, features = backbone()
    pictures, joints = figures.dataset(TRAINING, SEED_TRAINING)
    values = net.run(pictures, features)
    weights, bias = readout.ridge(values.reshape(-1, values.shape[-1]), *targets(joints, values.shape[1]), damping=1)
    logits = net.linear("CONV_2D", "logits", features, weights, bias)
    maps = net.dequantize("heatmaps", net.probabilities("LOGISTIC", "probabilities", logits))
    return net.writer.finish([net.input], [maps], "heatmap: joints of a puppet, made by models/heatmap/generate.py")


def hits(content: bytes) -> tuple[int, int]:
    """How many joints of the held-out pictures are where their map is highest, and how many there are."""
    pictures, joints = figures.dataset(HELD_OUT, SEED_HELD_OUT)
    found = 0
    for (maps,), wanted in zip(oracle.run(content, [[p[np.newaxis]] for p in pictures]), joints, strict=True):
        highest = maps[0].reshape(-1, len(wanted)).argmax(axis=0)
        places = np.stack([highest // maps.shape[2], highest % maps.shape[2]], axis=1)
        found += int((np.abs(places - wanted // CELL).max(axis=1) <= NEAR).sum())
    return found, joints.shape[0] * joints.shape[1]


def generate() -> dict[str, bytes]:
    """All generated files: relative path -> bytes."""
    content = model()
    inputs = [[picture[np.newaxis]] for picture in figures.dataset(GOLDEN, SEED_GOLDEN)[0]]
    golden = vectors.encode(inputs, oracle.run(content, inputs), ["image"], ["heatmaps"], oracle.identity())
    return {"heatmap.tflite": content, **{f"vectors/{name}": data for name, data in golden.items()}}


def main(arguments: list[str]) -> int:
    """Entry point; the exit status."""
    if not command.understood(arguments):
        return 2
    files = generate()
    content = files["heatmap.tflite"]
    found, count = hits(content)
    report = f"{len(content)} bytes, {found} of {count} held-out joints found ({oracle.identity()})"
    return command.main(arguments, HERE, files, f"heatmap.tflite: {report}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
