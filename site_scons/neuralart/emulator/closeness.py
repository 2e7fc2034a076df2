"""How close outputs must come to the golden vectors: to the byte, or within bounds.

Metrics, per output tensor and vector, as validation tools of the field use them: ``max_lsb`` is the largest difference
of two integers; ``cos`` the cosine of the angle between the tensors, ``rmse`` the root of the mean squared difference,
both of the numbers that the integers stand for (scale and zero point of the network; as they are without any).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from neuralart.emulator.stops import Difference
from neuralart.emulator.vectors import DTYPES, Tensor, Vectors
from neuralart.errors import NeuralArtError, nearest
from neuralart.network.facts import Network, Port

METRICS = ("max_lsb", "cos", "rmse")
EXACT = "exact"


@dataclass(frozen=True)
class Closeness:
    """Bounds; none of them: equal to the byte."""

    max_lsb: int | None = None  # Most that two integers may differ
    cos: float | None = None  # Least cosine
    rmse: float | None = None  # Largest root of the mean squared difference

    @property
    def exact(self) -> bool:
        """To the byte."""
        return self == Closeness()

    def __str__(self) -> str:
        if self.exact:
            return "bit-exact"
        said = [f"{name} {number(value)}" for name in METRICS if (value := getattr(self, name)) is not None]
        return "within " + ", ".join(said)


BIT_EXACT = Closeness()


def number(value: float) -> str:
    """A bound in full: six digits would make another bound of 0.9999999."""
    return repr(int(value)) if value == int(value) else repr(value)


def parse(text: str, where: str = "--check") -> Closeness:
    """``exact``, or bounds such as ``max_lsb=1,cos=0.999``. NeuralArtError: it is neither."""
    if text == EXACT:
        return Closeness()
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, text_of_number = part.strip().partition("=")
        if name not in METRICS or not equals:
            hint = f"{nearest(name, [EXACT, *METRICS])}; bounds are name=number"
            raise NeuralArtError(f"'{part}' is no bound", where=where, hint=hint)
        if name in values:
            raise NeuralArtError(f"{name} is given twice", where=where, hint="one bound of each metric")
        try:
            value = float(text_of_number)
        except ValueError:
            value = math.nan
        good = 0 <= value <= (1 if name == "cos" else 1e30) and (name != "max_lsb" or value == int(value))
        if not good:
            hint = "cos is 0 to 1, max_lsb a whole number"
            raise NeuralArtError(f"'{text_of_number}' is no value of {name}", where=where, hint=hint)
        values[name] = value
    lsb = values.pop("max_lsb", None)
    return Closeness(int(lsb) if lsb is not None else None, **values)


def _values(tensor: Tensor, data: bytes, where: str) -> tuple[float, ...]:
    code = DTYPES[tensor.dtype]
    values: tuple[float, ...] = struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data)
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise Difference(f"output '{tensor.name}' has values that are no numbers", where=where)
    return values


def _real(values: tuple[float, ...], port: Port | None) -> list[float]:
    """The numbers that stored ones stand for."""
    if port is None or not port.scale:
        return [float(value) for value in values]
    return [(value - port.zero_point) * port.scale for value in values]


def _unit(values: list[float]) -> list[float]:
    largest = max(map(abs, values))
    return [value / largest for value in values]


def cosine(one: list[float], other: list[float]) -> float:
    """Cosine of the angle between two tensors; 1 for two of nothing but zeros, 0 if only one is."""
    if not any(one) or not any(other):
        return 1.0 if not any(one) and not any(other) else 0.0
    # Neither the squares of the largest numbers nor those of the smallest have a place in a float.
    one, other = _unit(one), _unit(other)
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    # One root of the product, not a product of roots: the cosine of equal tensors is 1, not nearly 1.
    return min(1.0, product / math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other)))


def root_mean_square(one: list[float], other: list[float]) -> float:
    """Root of the mean squared difference."""
    return math.hypot(*(a - b for a, b in zip(one, other, strict=True))) / math.sqrt(max(1, len(one)))


def compare(vectors: Vectors, index: int, got: bytes, network: Network, wanted: Closeness) -> None:
    """Demand that outputs of a vector, concatenated, are as close as wanted. Difference: they are not."""
    expected = vectors.output_data[index]
    if len(got) != len(expected):
        raise Difference(f"vector {index}: {len(got)} bytes of outputs, expected {len(expected)}", where=network.name)
    at = 0
    for place, tensor in enumerate(vectors.outputs):
        port = network.outputs[place] if place < len(network.outputs) else None
        what = f"vector {index}, output '{tensor.name}'"
        ours = _values(tensor, got[at : at + tensor.bytes], network.name)
        theirs = _values(tensor, expected[at : at + tensor.bytes], network.name)
        at += tensor.bytes
        if wanted.max_lsb is not None:
            if not all(isinstance(value, int) for value in theirs):
                raise NeuralArtError(
                    f"output '{tensor.name}' is {tensor.dtype}: max_lsb counts steps of integers",
                    where=network.name,
                    hint="cos or rmse",
                )
            worst = max((abs(a - b) for a, b in zip(ours, theirs, strict=True)), default=0)
            if worst > wanted.max_lsb:
                raise Difference(f"{what}: differs by {worst}, allowed max_lsb {wanted.max_lsb}", where=network.name)
        real, golden = _real(ours, port), _real(theirs, port)
        if wanted.cos is not None and (cos := cosine(real, golden)) < wanted.cos:
            raise Difference(f"{what}: cos {cos!r}, allowed {number(wanted.cos)} at least", where=network.name)
        if wanted.rmse is not None and (rmse := root_mean_square(real, golden)) > wanted.rmse:
            raise Difference(f"{what}: rmse {rmse!r}, allowed {number(wanted.rmse)}", where=network.name)
