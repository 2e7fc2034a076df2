"""A second formulation of the signal operators of TensorFlow Lite Micro: integers of Python, and their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from neuralart_reference.model.flexbuffer import numbers
from neuralart_reference.model.graph import Model
from support.cases.cases_custom import Speech

Complex = tuple[int, int]


def _bits(value: int, bits: int) -> int:
    """As a signed number of so many bits."""
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _rounded(value: int) -> int:
    return _bits(value + (1 << 14) >> 15, 16)


def _turn(angle: float) -> Complex:
    return math.floor(0.5 + 32767 * math.cos(angle)), math.floor(0.5 + 32767 * math.sin(angle))


def _times(a: Complex, b: Complex) -> Complex:
    return _rounded(a[0] * b[0] - a[1] * b[1]), _rounded(a[0] * b[1] + a[1] * b[0])


def _part(a: Complex, count: int) -> Complex:
    return _rounded(a[0] * (32767 // count)), _rounded(a[1] * (32767 // count))


_QUARTERS = ((1, 0), (0, -1), (-1, 0), (0, 1))


def _fourier(values: Sequence[Complex]) -> list[Complex]:
    """By its definition: each branch transformed, turned, and added up with quarter turns."""
    count = len(values)
    if count == 1:
        return list(values)
    branches = 4 if count % 4 == 0 else 2
    parts, inner = [_fourier(values[at::branches]) for at in range(branches)], count // branches
    made = []
    for to in range(count):
        real, imaginary = _part(parts[0][to % inner], branches)
        for at in range(1, branches):
            turned = _times(_part(parts[at][to % inner], branches), _turn(-2 * math.pi * at * (to % inner) / count))
            c, s = _QUARTERS[at * (to // inner) * (4 // branches) % 4]
            real, imaginary = real + turned[0] * c - turned[1] * s, imaginary + turned[0] * s + turned[1] * c
        made.append((_bits(real, 16), _bits(imaginary, 16)))
    return made


def _spectrum(samples: Sequence[int], size: int) -> list[Complex]:
    padded = [*samples, *[0] * (size - len(samples))]
    half = size // 2
    v = _fourier([*zip(padded[::2], padded[1::2], strict=True)])
    real, imaginary = _part(v[0], 2)
    made = {0: (_bits(real + imaginary, 16), 0), half: (_bits(real - imaginary, 16), 0)}
    for k in range(1, half // 2 + 1):
        a, b = _part(v[k], 2), _part((v[half - k][0], _bits(-v[half - k][1], 16)), 2)
        sums = _bits(a[0] + b[0], 16), _bits(a[1] + b[1], 16)
        difference = _bits(a[0] - b[0], 16), _bits(a[1] - b[1], 16)
        turned = _times(difference, _turn(-math.pi * (k / half + 0.5)))
        made[k] = sums[0] + turned[0] >> 1, sums[1] + turned[1] >> 1
        made[half - k] = sums[0] - turned[0] >> 1, turned[1] - sums[1] >> 1
    return [made[k] for k in range(half + 1)]


def _largest(samples: Sequence[int]) -> int:
    """The largest magnitude, in 16 bits: that of -32768 is itself, and what follows is larger."""
    most = 0
    for x in samples:
        most = x if x > most else _bits(-x, 16) if -x > most else most
    return most


def _root(value: int) -> int:
    """To nearest; not above 16 bits for a number of 32."""
    root = math.isqrt(value)
    most = 0xFFFF if value < 1 << 32 else 0xFFFFFFFF
    return min(root + (value - root * root > root), most)


def _gain(x: int, table: Sequence[int]) -> int:
    if x <= 2:
        return table[x]
    power = x.bit_length()
    base, linear, square = table[4 * power - 6 : 4 * power - 3]
    part = (x << 11 >> power) & 0x3FF
    risen = _bits(((square * part >> 5) + (linear << 5)) * part + (1 << 14), 32) >> 15
    return _bits(base + risen, 16)


def _log(x: int, scale: int) -> int:
    if x <= 1:
        return 0
    whole = x.bit_length() - 1
    part = (x - (1 << whole)) * 65536 >> whole
    bent = [round(65536 * (math.log2(1 + at / 128) - at / 128)) for at in (part >> 9, (part >> 9) + 1)]
    bow = bent[0] + ((bent[1] - bent[0]) * (part & 511) >> 16)
    natural = 45426 * ((whole << 16) + part + bow) + 32768 >> 16
    return min((scale * natural + 32768 >> 16) % (1 << 32), 32767)


class Plain:
    """The features of one frame after the other."""

    def __init__(self, given: Speech) -> None:
        self._given = given
        self._noise = [0] * (given.bands.shape[1] - 1)

    def frame(self, samples: np.ndarray) -> list[np.ndarray]:
        """Features, noise and energies."""
        given = self._given
        windowed = [
            min(max(int(x) * int(w) >> given.shift, -32768), 32767)
            for x, w in zip(samples.ravel(), given.window, strict=True)
        ]
        most = _largest(windowed)
        bits = max(0, 15 - most.bit_length()) if most > 0 else 0
        spectrum = _spectrum([_bits(x << bits, 16) for x in windowed], given.size)
        inside = range(*given.energies)
        energies = [r * r + i * i if at in inside else 0 for at, (r, i) in enumerate(spectrum)]
        sums, carried = list[int](), 0
        for start, first, width in given.bands.T.tolist():
            pairs = [(energies[start + at], first + at) for at in range(width)]
            sums.append(carried + sum(e * int(given.weights[at]) for e, at in pairs))
            carried = sum(e * int(given.rest[at]) for e, at in pairs)
        features = [self._feature(at, _root(value) >> bits) for at, value in enumerate(sums[1:])]
        return [np.array(v, dtype) for v, dtype in ((features, "i2"), (self._noise, "u4"), (energies, "u4"))]

    def _feature(self, channel: int, value: int) -> int:
        options = self._given.subtraction
        name = "alternate_" if channel % 2 else ""
        mixes = options[f"{name}smoothing"], options[f"{name}one_minus_smoothing"]
        scaled = (value << options["smoothing_bits"]) % (1 << 32)
        shift = options["spectral_subtraction_bits"]
        noise = (scaled * mixes[0] + self._noise[channel] * mixes[1] >> shift) % (1 << 32)
        taken = min(noise, scaled)
        self._noise[channel] = taken if options["clamping"] else noise
        left = max(scaled - taken >> options["smoothing_bits"], value * options["min_signal_remaining"] >> shift)
        table = [int(x) for x in self._given.table]
        ratio = (left * (_gain(self._noise[channel], table) % (1 << 32)) >> self._given.gain_shift) % (1 << 32)
        shrunk = ratio * ratio % (1 << 32) >> 20 if ratio < 2 << 12 else (ratio >> 6) - 64
        return _log((shrunk << self._given.bits) % (1 << 32), self._given.scale)


def given(model: Model) -> Speech:
    """What a model has, one with a single chain of these operators."""
    ops = {op.kind.removeprefix("CUSTOM:Signal"): op for op in model.operators}
    values = {
        kind: numbers(op.options["custom_options"]) for kind, op in ops.items() if op.options.get("custom_options")
    }

    def constant(kind: str, position: int) -> np.ndarray:
        return np.frombuffer(model.tensors[ops[kind].inputs[position]].data or b"", np.int16)

    return Speech(
        window=constant("Window", 1),
        shift=int(values["Window"]["shift"]),
        size=int(values["Rfft"]["fft_length"]),
        energies=(int(values["Energy"]["start_index"]), int(values["Energy"]["end_index"])),
        weights=constant("FilterBank", 1),
        rest=constant("FilterBank", 2),
        bands=np.stack([constant("FilterBank", position) for position in (3, 4, 5)]),
        subtraction={name: int(value) for name, value in values["FilterBankSpectralSubtraction"].items()},
        table=constant("PCAN", 2),
        gain_shift=int(values["PCAN"]["snr_shift"]),
        bits=int(values["FilterBankLog"]["input_correction_bits"]),
        scale=int(values["FilterBankLog"]["output_scale"]),
    )
