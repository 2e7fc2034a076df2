"""Makes digits.tflite and its golden vectors.

``python models/digits/generate.py`` writes them, ``--check`` compares what it would write with what is there.

The model is a real one (it recognizes digits), but nothing of it comes from floating-point training: the filters
are drawn from a fixed random stream, the classifier is an integer averaged perceptron over the features that the
quantized layers compute. So the same bytes come out on every machine and with every NumPy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import command  # noqa: E402
import oracle  # noqa: E402
import vectors  # noqa: E402
from digits import integer, synthetic  # noqa: E402
from tflite_writer import ModelWriter  # noqa: E402

TRAINING, HELD_OUT, GOLDEN = 8000, 1000, 20
SEED_FILTERS, SEED_TRAINING, SEED_HELD_OUT, SEED_GOLDEN = 11, 12, 13, 14

f32 = np.float32
INPUT_SCALE = f32(1) / f32(255)
# Chosen so that few values saturate; not powers of two, so that requantization has full 31-bit multipliers.
CONV1_SCALE, CONV2_SCALE = f32(0.0025), f32(0.0018)
LOGITS_SCALE, LOGITS_ZERO = f32(0.13), -5
SOFTMAX_SCALE = f32(1) / f32(256)

# Edges, corners and spots; every filter also in negative, because of the RELU behind them.
_STROKES = [
    [[-1, -1, -1], [2, 2, 2], [-1, -1, -1]],
    [[-1, 2, -1], [-1, 2, -1], [-1, 2, -1]],
    [[2, -1, -1], [-1, 2, -1], [-1, -1, 2]],
    [[-1, -1, 2], [-1, 2, -1], [2, -1, -1]],
]


class Parameters:
    """Weights and scales of the layers in front of the classifier."""

    def __init__(self) -> None:
        dice = synthetic.Dice(SEED_FILTERS)
        strokes = np.array(_STROKES, np.int64)
        signed = np.concatenate([strokes, -strokes])[..., np.newaxis]
        # Slightly uneven taps, so that no two weights of the model can be mistaken for each other.
        self.weights1 = np.clip(signed * 48 + dice.integers(-9, 10, signed.shape), -127, 127).astype(np.int8)
        self.scales1 = (dice.integers(12, 25, (8,)).astype(f32)) / f32(4096)
        self.bias1 = dice.integers(-900, 901, (8,)).astype(np.int32)
        taps = dice.integers(-110, 111, (16, 3, 3, 8))
        # Filters without a constant part: about half of the values survive the RELU.
        taps -= integer.divide_round(taps.sum(axis=(1, 2, 3), keepdims=True), taps[0].size)
        self.weights2 = np.clip(taps, -127, 127).astype(np.int8)
        self.scales2 = (dice.integers(10, 21, (16,)).astype(f32)) / f32(16384)
        self.bias2 = dice.integers(-4000, 4001, (16,)).astype(np.int32)

    def features(self, pictures: np.ndarray) -> np.ndarray:
        """uint8 [n, 16, 16] -> int8 [n, 256], what the layers up to RESHAPE compute."""
        value = quantize(pictures)
        value = integer.conv_same_relu(value, self.weights1, self.bias1, (INPUT_SCALE, self.scales1, CONV1_SCALE))
        value = integer.max_pool_2x2(value)
        value = integer.conv_same_relu(value, self.weights2, self.bias2, (CONV1_SCALE, self.scales2, CONV2_SCALE))
        return integer.max_pool_2x2(value).reshape(len(pictures), -1)


def quantize(pictures: np.ndarray) -> np.ndarray:
    """Gray levels uint8 [n, 16, 16] -> the model's input int8 [n, 16, 16, 1]."""
    return (pictures.astype(np.int64) - 128).astype(np.int8)[..., np.newaxis]


def train(parameters: Parameters) -> tuple[np.ndarray, np.ndarray, np.float32]:
    """Weights int8 [10, 256], bias int32 [10] and the weights' scale."""
    pictures, labels = synthetic.dataset(TRAINING, SEED_TRAINING)
    # + 128: the zero point; the last feature is constant and becomes the bias.
    features = parameters.features(pictures).astype(np.int64) + 128
    constant = 64
    features = np.concatenate([features, np.full((len(features), 1), constant)], axis=1)
    summed = integer.averaged_perceptron(features, labels, epochs=12, margin=200_000)
    largest = int(np.abs(summed[:, :-1]).max())
    weights = integer.divide_round(summed[:, :-1] * 127, largest)
    bias = integer.divide_round(summed[:, -1] * 127 * constant, largest)
    # The largest logit of the training set shall just fit into the int8 output.
    top = int(np.abs(features[:, :-1] @ weights.T + bias).max())
    scale = f32(LOGITS_SCALE * f32(120) / f32(top) / CONV2_SCALE)
    return weights.astype(np.int8), bias.astype(np.int32), scale


def model(parameters: Parameters, classifier: tuple[np.ndarray, np.ndarray, np.float32]) -> bytes:
    """The file."""
    weights3, bias3, scale3 = classifier
    w = ModelWriter()
    x = w.tensor("image", (1, 16, 16, 1), "int8", INPUT_SCALE, -128)

    def constant(name: str, value: np.ndarray, scale: object) -> int:
        return w.tensor(name, value.shape, value.dtype.name, scale, 0, value)

    def conv(name: str, source: int, shape: tuple[int, ...], taps: tuple[np.ndarray, ...], scale: np.float32) -> int:
        weights, bias, per_channel = taps
        into = f32(w.tensors[source].scales[0])
        inputs = [
            source,
            constant(f"{name}/weights", weights, per_channel),
            constant(f"{name}/bias", bias, into * per_channel),
        ]
        out = w.tensor(name, shape, "int8", scale, -128)
        w.op("CONV_2D", inputs, [out], padding="SAME", fused_activation_function="RELU")
        return out

    def pool(name: str, source: int, shape: tuple[int, ...]) -> int:
        out = w.tensor(name, shape, "int8", w.tensors[source].scales, -128)
        w.op("MAX_POOL_2D", [source], [out], padding="VALID")
        return out

    p = parameters
    value = conv("conv1", x, (1, 16, 16, 8), (p.weights1, p.bias1, p.scales1), CONV1_SCALE)
    value = pool("pool1", value, (1, 8, 8, 8))
    value = conv("conv2", value, (1, 8, 8, 16), (p.weights2, p.bias2, p.scales2), CONV2_SCALE)
    value = pool("pool2", value, (1, 4, 4, 16))
    shape = w.tensor("features/shape", (2,), "int32", data=np.array([1, 256]))
    features = w.tensor("features", (1, 256), "int8", CONV2_SCALE, -128)
    w.op("RESHAPE", [value, shape], [features], new_shape=[1, 256])
    inputs = [
        features,
        constant("logits/weights", weights3, scale3),
        constant("logits/bias", bias3, CONV2_SCALE * scale3),
    ]
    logits = w.tensor("logits", (1, 10), "int8", LOGITS_SCALE, LOGITS_ZERO)
    w.op("FULLY_CONNECTED", inputs, [logits])
    digit = w.tensor("digit", (1, 10), "int8", SOFTMAX_SCALE, -128)
    w.op("SOFTMAX", [logits], [digit])
    return w.finish([x], [digit], "digits: synthetic digits, made by models/digits/generate.py")


def accuracy(content: bytes, pictures: np.ndarray, labels: np.ndarray) -> int:
    """How many of the pictures LiteRT recognizes."""
    outputs = oracle.run(content, [[picture[np.newaxis]] for picture in quantize(pictures)])
    return sum(int(one[0].argmax()) == label for one, label in zip(outputs, labels, strict=True))


def golden(content: bytes) -> dict[str, bytes]:
    """The files of vectors/: every digit twice."""
    pictures, _ = synthetic.dataset(GOLDEN, SEED_GOLDEN)
    inputs = [[picture[np.newaxis]] for picture in quantize(pictures)]
    return vectors.encode(inputs, oracle.run(content, inputs), ["image"], ["digit"], oracle.identity())


def generate() -> dict[str, bytes]:
    """All generated files: relative path -> bytes."""
    parameters = Parameters()
    content = model(parameters, train(parameters))
    return {"digits.tflite": content, **{f"vectors/{name}": data for name, data in golden(content).items()}}


def main(arguments: list[str]) -> int:
    """Entry point; the exit status."""
    if not command.understood(arguments):
        return 2
    files = generate()
    content = files["digits.tflite"]
    correct = accuracy(content, *synthetic.dataset(HELD_OUT, SEED_HELD_OUT))
    report = f"{len(content)} bytes, {correct} of {HELD_OUT} held-out digits right ({oracle.identity()})"
    return command.main(arguments, HERE, files, f"digits.tflite: {report}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
