"""Models with custom operators: a selection of boxes, and features of speech with every signal operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from support.cases.operator_draws import Case
from tflite_writer import ModelWriter

POST_PROCESS = "CUSTOM:TFLite_Detection_PostProcess"


def options(**values: Any) -> bytes:
    return bytes(flexbuffers.Dumps(values))


def detections(rng: np.random.Generator, writer: ModelWriter, dtype: str = "", **more: Any) -> Case:
    """Boxes with few different scores: ties everywhere. ``more``: options that are not drawn."""
    dtype, n = dtype or str(rng.choice(["uint8", "float32"])), len(writer.operators)
    boxes, classes, background = int(rng.integers(1, 60)), int(rng.integers(1, 8)), int(rng.integers(0, 2))
    regular = bool(rng.random() < 0.5)
    given: dict[str, Any] = {
        "max_detections": int(rng.integers(1, 15)),
        "max_classes_per_detection": 1 if regular else int(rng.integers(1, classes + 2)),
        "nms_score_threshold": float(rng.choice([0.0, 0.3, -5.0])),
        "nms_iou_threshold": float(rng.choice([1.0, 0.5, 0.1])),
        "num_classes": classes,
        "y_scale": 10.0,
        "x_scale": 9.0,
        "h_scale": 5.0,
        "w_scale": 4.0,
    }
    if regular:
        given |= {"use_regular_nms": True, "detections_per_class": int(rng.integers(1, 20))}
    shapes = (1, boxes, 4), (1, boxes, classes + background)
    if dtype == "uint8":
        anchors = rng.integers(1, 255, (boxes, 4))
        ends = [writer.tensor(f"b{n}", shapes[0], dtype, 0.03, 117), writer.tensor(f"s{n}", shapes[1], dtype, 1 / 256)]
        ends.append(writer.tensor(f"a{n}", (boxes, 4), dtype, 0.0039, 0, anchors))
    else:
        ends = [writer.tensor(f"{name}{n}", shape, dtype) for name, shape in zip("bs", shapes, strict=True)]
        ends.append(writer.tensor(f"a{n}", (boxes, 4), dtype, data=rng.uniform(0, 1, (boxes, 4))))

    def vector() -> list[np.ndarray]:
        levels = int(rng.choice([3, 256]))
        scores = rng.integers(0, levels, shapes[1])
        if dtype == "uint8":
            return [rng.integers(60, 180, shapes[0]).astype(dtype), scores.astype(dtype)]
        return [rng.normal(0, 3, shapes[0]).astype(dtype), (scores / levels).astype(dtype)]

    found = [writer.tensor(f"f{n}_{at}", (), "float32") for at in range(4)]
    writer.op(POST_PROCESS, ends, found, custom_options=options(**given | more))
    return Case(ends[:2], found, [vector() for _ in range(4)], f"{dtype} {boxes} boxes {given}")


@dataclass(frozen=True)
class Speech:
    """What the operators of :func:`speech` were given."""

    window: np.ndarray
    shift: int
    size: int
    energies: tuple[int, int]
    weights: np.ndarray
    rest: np.ndarray
    bands: np.ndarray  # [3][channels + 1]
    subtraction: dict[str, int]
    table: np.ndarray
    gain_shift: int
    bits: int
    scale: int


def speech(rng: np.random.Generator, writer: ModelWriter, **more: Any) -> tuple[Speech, Case]:
    """The chain of a keyword spotter: features, noise and energies are outputs. ``more``: of the subtraction."""
    size = 2 ** int(rng.integers(2, 11))
    length, half, channels = int(rng.integers(1, size + 1)), size // 2 + 1, int(rng.integers(1, 12))
    first, end = int(rng.integers(0, half)), half - int(rng.integers(0, 2))
    first = min(first, end - 1)
    # TensorFlow Lite Micro writes no energies outside of the range.
    starts = np.sort(rng.integers(first, end, channels + 1))
    widths = np.minimum(rng.integers(0, 9, channels + 1), end - starts)
    firsts = np.cumsum(widths) - widths
    count = int(widths.sum()) + 1
    weights = rng.integers(0, 4097, count)
    given = Speech(
        window=rng.integers(-4096, 4097, length),
        shift=int(rng.integers(9, 13)),
        size=size,
        energies=(first, end),
        weights=weights,
        rest=4096 - weights,
        bands=np.stack([starts, firsts, widths]),
        subtraction={
            "smoothing": 409,
            "one_minus_smoothing": 15975,
            "alternate_smoothing": 983,
            "alternate_one_minus_smoothing": 15401,
            "min_signal_remaining": int(rng.integers(0, 3000)),
            "smoothing_bits": int(rng.integers(0, 12)),
            "spectral_subtraction_bits": 14,
            "clamping": int(rng.integers(0, 2)),
        },
        table=np.sort(rng.integers(0, 16000, 125))[::-1],
        gain_shift=int(rng.integers(2, 12)),
        bits=int(rng.integers(0, 5)),
        scale=int(rng.choice([64, 100, 700])),
    )

    def tensor(name: str, shape: tuple[int, ...], dtype: str, data: np.ndarray | None = None) -> int:
        return writer.tensor(name, shape, dtype, data=data)

    def constant(name: str, data: np.ndarray) -> int:
        return tensor(name, data.shape, "int16", data)

    def op(name: str, inputs: list[int], outputs: list[int], **values: Any) -> None:
        packed = {"custom_options": options(**values)} if values else {}
        writer.op(f"CUSTOM:Signal{name}", inputs, outputs, **packed)

    x, wide = tensor("x", (1, length), "int16"), tensor("windowed", (1, length), "int16")
    op("Window", [x, constant("window", given.window)], [wide], shift=given.shift)
    flat, scaled, bits = (
        tensor("flat", (length,), "int16"),
        tensor("scaled", (length,), "int16"),
        tensor("n", (), "int32"),
    )
    writer.op("RESHAPE", [wide, writer.tensor("to", (1,), "int32", data=[length])], [flat], new_shape=[length])
    op("FftAutoScale", [flat], [scaled, bits])
    spectrum, power = tensor("spectrum", (size + 2,), "int16"), tensor("power", (half,), "uint32")
    op("Rfft", [scaled], [spectrum], T=7, fft_length=size)
    op("Energy", [spectrum], [power], start_index=first, end_index=end)
    seen, again = tensor("seen", (half,), "int32"), tensor("again", (half,), "uint32")
    writer.op("CAST", [power], [seen])
    writer.op("CAST", [seen], [again])
    bank = [constant("weights", given.weights), constant("rest", given.rest)]
    bank += [constant(f"band{at}", row) for at, row in enumerate(given.bands)]
    sums, roots = tensor("sums", (channels,), "uint64"), tensor("roots", (channels,), "uint32")
    op("FilterBank", [again, *bank], [sums], num_channels=channels)
    op("FilterBankSquareRoot", [sums, bits], [roots])
    left, noise = tensor("left", (channels,), "uint32"), tensor("noise", (channels,), "uint32")
    op("FilterBankSpectralSubtraction", [roots], [left, noise], num_channels=channels, **given.subtraction | more)
    gained, features = tensor("gained", (channels,), "uint32"), tensor("features", (channels,), "int16")
    op("PCAN", [left, noise, constant("table", given.table)], [gained], snr_shift=given.gain_shift)
    op("FilterBankLog", [gained], [features], input_correction_bits=given.bits, output_scale=given.scale)
    shown = tensor("shown", (channels,), "int32")
    writer.op("CAST", [noise], [shown])

    def frame(number: int) -> np.ndarray:
        loud = int(rng.choice([0, 1, 30, 1000, 32768]))
        if number % 5 == 4:
            return rng.choice([-32768, 32767], (1, length)).astype(np.int16)
        return np.clip(rng.integers(-loud, loud + 1, (1, length)), -32768, 32767).astype(np.int16)

    return given, Case([x], [features, shown, seen], [[frame(number)] for number in range(10)], f"{size} {channels}")
