"""Makes mobilenet.tflite and its golden vectors; ``--check`` compares them with what is there."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import command  # noqa: E402
import oracle  # noqa: E402
import readout  # noqa: E402
import shapes  # noqa: E402
import vectors  # noqa: E402
from digits.synthetic import Dice  # noqa: E402
from quantized import Network  # noqa: E402

SIZE = 96
CALIBRATION, TRAINING, HELD_OUT, GOLDEN = 20, 1000, 100, 10
SEED_FILTERS, SEED_TRAINING, SEED_HELD_OUT, SEED_GOLDEN = 27, 22, 23, 24

# For each block: how often the channels are multiplied, channels behind it, stride of the first, repetitions.
BLOCKS = ((4, 16, 2, 2), (6, 24, 2, 3), (6, 40, 2, 2))


# What is told apart: the color of whatever shape there is.
COLORS = {
    "red": (230, 50, 40),
    "orange": (240, 140, 30),
    "yellow": (235, 225, 50),
    "green": (50, 190, 60),
    "cyan": (60, 210, 215),
    "blue": (50, 80, 225),
    "violet": (130, 55, 200),
    "pink": (240, 130, 190),
    "brown": (120, 75, 45),
    "white": (235, 235, 230),
}


def dataset(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures int8 [count, 96, 96, 3] of one shape each, and labels int64 [count], every color equally often."""
    dice, table = Dice(seed), list(COLORS.values())
    labels = np.arange(count, dtype=np.int64) % len(COLORS)
    pictures = []
    for label in labels:
        picture, _ = shapes.ground(SIZE, dice)
        radius = dice.one(20, 36)
        place = (dice.one(radius, SIZE - radius), dice.one(radius, SIZE - radius), radius)
        light = dice.one(75, 106)
        color = np.array(table[int(label)]) * light // 100
        shapes.paint(picture, shapes.KINDS[dice.one(0, len(shapes.KINDS))], place, color, dice)
        pictures.append(shapes.finish(picture))
    return np.stack(pictures), labels


def backbone() -> tuple[Network, int]:
    """The layers up to the mean, and the number of that tensor."""
    net = Network(dataset(CALIBRATION, SEED_TRAINING)[0], 1 / 128, 0, SEED_FILTERS)

    def shrink(name: str, source: int) -> int:
        # As Keras writes it: a padding of its own in front of a VALID convolution of stride 2.
        return net.pad(f"{name}/pad", source, 0, 1)

    value = net.conv("stem", shrink("stem", net.input), 24, 3, 2, padding="VALID")
    value = net.depthwise("first/depthwise", value)
    value = net.conv("first/project", value, 12, activation="NONE")
    for number, (factor, channels, stride, repeated) in enumerate(BLOCKS):
        for turn in range(repeated):
            name = f"block{number}{'abc'[turn]}"
            into = value
            value = net.conv(f"{name}/expand", value, net.values[value].shape[-1] * factor)
            if turn == 0 and stride == 2:
                value = net.depthwise(f"{name}/depthwise", shrink(name, value), 2, padding="VALID")
            else:
                value = net.depthwise(f"{name}/depthwise", value)
            value = net.conv(f"{name}/project", value, channels, activation="NONE")
            if turn:
                value = net.add(f"{name}/add", into, value)
    return net, net.mean("mean", net.conv("head", value, 128))


def model() -> bytes:
    """The file."""
    net, features = backbone()
    pictures, labels = dataset(TRAINING, SEED_TRAINING)
    targets = np.eye(len(COLORS), dtype=np.int64)[labels] * 12 - 2
    weights, bias = readout.ridge(net.run(pictures, features), targets, np.ones(TRAINING, np.int64), damping=1)
    logits = net.linear("FULLY_CONNECTED", "logits", features, weights, bias)
    color = net.probabilities("SOFTMAX", "colour", logits)
    return net.writer.finish([net.input], [color], "mobilenet: colours of shapes, made by models/mobilenet/generate.py")


def accuracy(content: bytes) -> int:
    """How many of the held-out pictures LiteRT recognizes."""
    pictures, labels = dataset(HELD_OUT, SEED_HELD_OUT)
    outputs = oracle.run(content, [[picture[np.newaxis]] for picture in pictures])
    return sum(int(one[0].argmax()) == label for one, label in zip(outputs, labels, strict=True))


def generate() -> dict[str, bytes]:
    """All generated files: relative path -> bytes."""
    content = model()
    inputs = [[picture[np.newaxis]] for picture in dataset(GOLDEN, SEED_GOLDEN)[0]]
    golden = vectors.encode(inputs, oracle.run(content, inputs), ["image"], ["colour"], oracle.identity())
    return {"mobilenet.tflite": content, **{f"vectors/{name}": data for name, data in golden.items()}}


def main(arguments: list[str]) -> int:
    """Entry point; the exit status."""
    if not command.understood(arguments):
        return 2
    files = generate()
    content = files["mobilenet.tflite"]
    correct = accuracy(content)
    report = f"{len(content)} bytes, {correct} of {HELD_OUT} held-out colors right ({oracle.identity()})"
    return command.main(arguments, HERE, files, f"mobilenet.tflite: {report}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
