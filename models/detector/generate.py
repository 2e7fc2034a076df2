"""Makes detector.tflite and its golden vectors; ``--check`` compares them with what is there."""

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
from detector import scenes  # noqa: E402
from quantized import Network  # noqa: E402

CALIBRATION, TRAINING, HELD_OUT, GOLDEN = 20, 300, 100, 6
SEED_FILTERS, SEED_TRAINING, SEED_HELD_OUT, SEED_GOLDEN = 41, 42, 43, 44
# Pixels per cell of the two grids; the finer one looks for objects of a radius below LARGE.
STRIDES, LARGE = (8, 16), 14


def backbone() -> tuple[Network, tuple[int, int]]:
    """The layers up to the features of both grids, and the numbers of those tensors."""
    net = Network(scenes.dataset(CALIBRATION, SEED_TRAINING)[0], 1 / 128, 0, SEED_FILTERS)

    def leaky(name: str, source: int, channels: int, kernel: int = 1, stride: int = 1) -> int:
        value = net.conv(f"{name}/conv", source, channels, kernel, stride, activation="NONE")
        return net.leaky(f"{name}/leaky", value, 0.1)

    value = net.max_pool("pool2", leaky("stem", net.input, 12, 3))
    value = net.max_pool("pool4", leaky("fourth", value, 24, 3))
    fine = net.max_pool("pool8", leaky("eighth", value, 40, 3))
    fine = net.add("eighth/add", fine, net.conv("eighth/branch", fine, 40, 3, activation="RELU"))
    coarse = leaky("sixteenth", fine, 64, 3, 2)
    coarse = net.add("sixteenth/add", coarse, leaky("sixteenth/branch", net.depthwise("sixteenth/wide", coarse), 64))
    # What the coarse grid knows goes back to the fine one.
    larger = net.nearest("back/resize", net.conv("back/narrow", coarse, 32))
    fine = net.concat("fine", [fine, larger, leaky("fine/local", net.depthwise("fine/depthwise", fine), 40)])
    coarse = net.concat("coarse", [coarse, leaky("coarse/more", coarse, 64, 3)])
    return net, (fine, coarse)


def targets(things: list[list[scenes.Thing]], grid: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """For each cell of a grid the logits of the classes [n, c, c, 3] and the box [n, c, c, 4].

    A box is given in eighths of a cell from the middle of the cell: row and column of its middle, height, width.
    """
    stride = STRIDES[grid]
    logits = np.full((len(things), cells, cells, len(scenes.CLASSES)), -4, np.int64)
    boxes = np.zeros((len(things), cells, cells, 4), np.int64)
    for number, some in enumerate(things):
        for thing in some:
            if (thing.radius > LARGE) != bool(grid):
                continue
            row, column = min(thing.row // stride, cells - 1), min(thing.column // stride, cells - 1)
            logits[number, row, column, thing.kind] = 5
            offsets = [
                (place * 16 - (2 * cell + 1) * 8 * stride) // (2 * stride)
                for place, cell in ((thing.row, row), (thing.column, column))
            ]
            boxes[number, row, column] = [*offsets, *[(2 * thing.radius + 1) * 8 // stride] * 2]
    return logits, boxes


def heads(net: Network, features: tuple[int, int]) -> tuple[int, int]:
    """Train and add what predicts boxes and scores; the numbers of both outputs."""
    pictures, things = scenes.dataset(TRAINING, SEED_TRAINING)
    parts: dict[str, list[int]] = {"boxes": [], "scores": []}
    for grid, layer in enumerate(features):
        values = net.run(pictures, layer)
        cells, rows = values.shape[1], values.reshape(-1, values.shape[-1])
        logits, boxes = targets(things, grid, cells)
        logits, boxes = logits.reshape(len(rows), -1), boxes.reshape(len(rows), -1)
        there = logits.max(axis=1) > 0
        trained = {
            "boxes": readout.ridge(rows[there], boxes[there], np.ones(int(there.sum()), np.int64), damping=20),
            "scores": readout.ridge(rows, logits, np.where(there, 20, 1), damping=2),
        }
        for kind, (weights, bias) in trained.items():
            value = net.linear("CONV_2D", f"{kind}{grid}", layer, weights, bias)
            parts[kind].append(net.reshape(f"{kind}{grid}/rows", value, [cells * cells, len(weights)]))
    boxes_out = net.concat("boxes", parts["boxes"], axis=1)
    return boxes_out, net.probabilities("LOGISTIC", "scores", net.concat("logits", parts["scores"], axis=1))


def model() -> bytes:
    """The file."""
    net, features = backbone()
    outputs = heads(net, features)
    return net.writer.finish([net.input], outputs, "detector: shapes in a scene, made by models/detector/generate.py")


def place(cell: int, fine: int) -> tuple[int, int, int]:
    """Row and column of the middle of a cell in pixels, and its size; ``fine`` cells belong to the finer grid."""
    grid = int(cell >= fine)
    stride, inside = STRIDES[grid], cell - grid * fine
    row, column = divmod(inside, scenes.SIZE // stride)
    return row * stride + stride // 2, column * stride + stride // 2, stride


def hits(content: bytes) -> tuple[int, int, float]:
    """For how many held-out pictures the best score names an object that is there, and how far its box is off.

    Returns:
        Pictures with a hit, pictures, and the mean distance of the sides of their boxes in pixels.
    """
    pictures, things = scenes.dataset(HELD_OUT, SEED_HELD_OUT)
    net_outputs = oracle.run(content, [[picture[np.newaxis]] for picture in pictures])
    scale, zero = oracle.interpreter(content).get_output_details()[0]["quantization"]
    fine = (scenes.SIZE // STRIDES[0]) ** 2
    found, errors = 0, []
    for (boxes, scores), some in zip(net_outputs, things, strict=True):
        cell, kind = divmod(int(scores[0].argmax()), len(scenes.CLASSES))
        row, column, stride = place(cell, fine)
        box = (boxes[0, cell].astype(np.float64) - zero) * scale * stride / 8
        for thing in some:
            if thing.kind == kind and max(abs(thing.row - row), abs(thing.column - column)) <= stride:
                found += 1
                size = 2 * thing.radius + 1
                errors += [abs(box[0] + row - thing.row), abs(box[1] + column - thing.column)]
                errors += [abs(box[2] - size) / 2, abs(box[3] - size) / 2]
                break
    return found, len(pictures), float(np.mean(errors))


def generate() -> dict[str, bytes]:
    """All generated files: relative path -> bytes."""
    content = model()
    inputs = [[picture[np.newaxis]] for picture in scenes.dataset(GOLDEN, SEED_GOLDEN)[0]]
    names = ["boxes", "scores"]
    golden = vectors.encode(inputs, oracle.run(content, inputs), ["image"], names, oracle.identity())
    return {"detector.tflite": content, **{f"vectors/{name}": data for name, data in golden.items()}}


def main(arguments: list[str]) -> int:
    """Entry point; the exit status."""
    if not command.understood(arguments):
        return 2
    files = generate()
    content = files["detector.tflite"]
    found, count, error = hits(content)
    report = f"best score right on {found} of {count} held-out pictures, boxes {error:.1f} pixels off"
    return command.main(
        arguments, HERE, files, f"detector.tflite: {len(content)} bytes, {report} ({oracle.identity()})"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
