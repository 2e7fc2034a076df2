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
    """Bounds; none of them: equal to the byte.

    Attributes:
        max_lsb: Most that two integers may differ.
        cos: Least cosine.
        rmse: Largest root of the mean squared difference.
    """

    max_lsb: int | None = None
    cos: float | None = None
    rmse: float | None = None

    @property
    def exact(self) -> bool:
        """To the byte."""
        return self == Closeness()

    def __str__(self) -> str:
        if self.exact:
            return "bit-exact"
        said = [f"{name} {value:g}" for name in METRICS if (value := getattr(self, name)) is not None]
        return "within " + ", ".join(said)


BIT_EXACT = Closeness()


def parse(text: str, where: str = "--check") -> Closeness:
    """``exact``, or bounds such as ``max_lsb=1,cos=0.999``.

    Raises:
        NeuralArtError: It is neither.
    """
    if text == EXACT:
        return Closeness()
    values: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.strip().partition("=")
        if name not in METRICS or not equals:
            hint = f"{nearest(name, [EXACT, *METRICS])}; bounds are name=number"
            raise NeuralArtError(f"'{part}' is no bound", where=where, hint=hint)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        good = 0 <= value <= (1 if name == "cos" else 1e30) and (name != "max_lsb" or value == int(value))
        if not good:
            hint = "cos is 0 to 1, max_lsb a whole number"
            raise NeuralArtError(f"'{number}' is no value of {name}", where=where, hint=hint)
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


def cosine(one: list[float], other: list[float]) -> float:
    """Cosine of the angle between two tensors; 1 for two of nothing but zeros, 0 if only one is."""
    norms = math.sqrt(math.fsum(a * a for a in one)) * math.sqrt(math.fsum(b * b for b in other))
    if norms == 0:
        return 1.0 if not any(one) and not any(other) else 0.0
    return math.fsum(a * b for a, b in zip(one, other, strict=True)) / norms


def root_mean_square(one: list[float], other: list[float]) -> float:
    """Root of the mean squared difference."""
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / max(1, len(one)))


def compare(vectors: Vectors, number: int, got: bytes, network: Network, wanted: Closeness) -> None:
    """Demand that outputs are as close as wanted.

    Args:
        vectors: The golden vectors.
        number: Which of them.
        got: All outputs, concatenated.
        network: Whose outputs; scale and zero point.
        wanted: The bounds.

    Raises:
        Difference: They are not; which output of which vector, measured and allowed.
    """
    expected = vectors.output_data[number]
    if len(got) != len(expected):
        raise Difference(f"vector {number}: {len(got)} bytes of outputs, expected {len(expected)}", where=network.name)
    at = 0
    for index, tensor in enumerate(vectors.outputs):
        port = network.outputs[index] if index < len(network.outputs) else None
        what = f"vector {number}, output '{tensor.name}'"
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
                raise Difference(f"{what}: differs by {worst:g}, allowed max_lsb {wanted.max_lsb}", where=network.name)
        real, golden = _real(ours, port), _real(theirs, port)
        if wanted.cos is not None and (cos := cosine(real, golden)) < wanted.cos:
            raise Difference(f"{what}: cos {cos:.6f}, allowed {wanted.cos:g} at least", where=network.name)
        if wanted.rmse is not None and (rmse := root_mean_square(real, golden)) > wanted.rmse:
            raise Difference(f"{what}: rmse {rmse:g}, allowed {wanted.rmse:g}", where=network.name)
