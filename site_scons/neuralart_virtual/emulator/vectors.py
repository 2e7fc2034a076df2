"""Golden vectors: what to feed a network and what must come out, to the byte or within bounds. Read without numpy.

A folder holds ``vectors.json`` (what the tensors are), ``inputs.bin`` and ``outputs.bin`` (for each vector all its
tensors in order, little endian). Metrics, per output tensor and vector, as validation tools of the field use them:
``max_lsb`` is the largest difference of two integers; ``cos`` the cosine of the angle between the tensors, ``rmse`` the
root of the mean squared difference, both of the numbers that the integers stand for (scale and zero point of the
network; as they are without any).

Inputs of another source are vectors too: those without expected outputs, which are not compared.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.network.facts import NEURALART, Network, Port, pieces
from neuralart_virtual.emulator import Difference

SCHEMA = 1
DESCRIPTION = "vectors.json"
FILES = (DESCRIPTION, "inputs.bin", "outputs.bin")
# dtype -> code of the struct module
_WIDTHS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
DTYPES = dict(zip((*_WIDTHS, "bool"), "bBhHiIqQefd?", strict=True))
METRICS = ("max_lsb", "cos", "rmse")
EXACT = "exact"


@dataclass(frozen=True)
class VectorTensor:
    """One tensor of a vector."""

    name: str  # As in the model
    dtype: str  # For example ``int8``
    shape: tuple[int, ...]  # As in the model
    bytes: int  # Size


@dataclass(frozen=True)
class Vectors:
    """All vectors of a network."""

    where: str  # The folder, for messages
    inputs: tuple[VectorTensor, ...]  # Tensors of one vector
    outputs: tuple[VectorTensor, ...]  # Tensors of one vector
    input_data: tuple[bytes, ...]  # One element per vector: its inputs, concatenated
    output_data: tuple[bytes, ...]  # One element per vector: its outputs, concatenated; empty: they are unknown
    oracle: str = ""  # What computed the outputs

    @property
    def count(self) -> int:
        """How many."""
        return len(self.input_data)


def tensors_of(ports: Sequence[Port]) -> tuple[VectorTensor, ...]:
    """Inputs or outputs of a network as vectors name them."""
    return tuple(VectorTensor(port.name, port.dtype, port.shape, port.bytes) for port in ports)


def _tensor(row: dict[str, Any], where: str) -> VectorTensor:
    tensor = VectorTensor(str(row["name"]), str(row["dtype"]), tuple(int(n) for n in row["shape"]), int(row["bytes"]))
    if tensor.dtype not in DTYPES:
        hint = nearest(tensor.dtype, list(DTYPES))
        raise NeuralArtError(f"'{tensor.name}' has dtype '{tensor.dtype}'", where=where, hint=hint)
    size = math.prod(tensor.shape) * struct.calcsize("<" + DTYPES[tensor.dtype])
    if size != tensor.bytes:
        what = f"'{tensor.name}' says {tensor.bytes} bytes, shape {list(tensor.shape)} of {tensor.dtype} has {size}"
        raise NeuralArtError(what, where=where)
    return tensor


def _slices(path: Path, tensors: Sequence[VectorTensor], count: int) -> tuple[bytes, ...]:
    size = sum(tensor.bytes for tensor in tensors)
    data = read_bytes(path)
    if len(data) != size * count:
        what = f"{len(data)} bytes, but {count} vectors of {size} bytes are {size * count}"
        hint = "vectors.json and the .bin files belong together: generate them again"
        raise NeuralArtError(what, where=str(path), hint=hint)
    return tuple(data[n * size : (n + 1) * size] for n in range(count))


def load(folder: Path) -> Vectors:
    """Read a folder of golden vectors. NeuralArtError: files are missing, damaged, or do not fit together."""
    path = folder / DESCRIPTION
    where = str(path)
    try:
        data = jsontext.loads(read_bytes(path, "`neuralart vectors MODEL -o DIR` makes such a folder").decode("utf-8"))
        schema = data["schema"]
        if schema != SCHEMA:
            raise NeuralArtError(f"schema {schema}, this version reads {SCHEMA}", where=where)
        count = int(data["count"])
        inputs = tuple(_tensor(row, where) for row in data["inputs"])
        outputs = tuple(_tensor(row, where) for row in data["outputs"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NeuralArtError(f"not a vectors.json: {type(error).__name__}: {error}", where=where) from error
    if count < 1 or not inputs or not outputs:
        what = f"{count} vectors, {len(inputs)} inputs, {len(outputs)} outputs: nothing to compare"
        raise NeuralArtError(what, where=where)
    sides = (("inputs", inputs), ("outputs", outputs))
    given, expected = (_slices(folder / f"{name}.bin", row, count) for name, row in sides)
    return Vectors(str(folder), inputs, outputs, given, expected, str(data.get("oracle", "")))


def write(folder: Path, vectors: Vectors, oracle: str) -> None:
    """Write a folder of golden vectors; ``oracle``: what computed the outputs. NeuralArtError: it cannot be written."""
    rows = {side: [asdict(tensor) for tensor in getattr(vectors, side)] for side in ("inputs", "outputs")}
    described = {"schema": SCHEMA, "count": vectors.count, **rows, "oracle": oracle}
    write_bytes(folder / "inputs.bin", b"".join(vectors.input_data))
    write_bytes(folder / "outputs.bin", b"".join(vectors.output_data))
    write_text(folder / DESCRIPTION, json.dumps(described, indent=2) + "\n")


def _check_side(
    side: str, tensors: Sequence[VectorTensor], ports: Sequence[Port], where: str, network: str, *, names: bool
) -> None:
    hint = "were they made from this model, with these I/O types?"
    if len(tensors) != len(ports):
        hint = f"the vectors: {hint}"
        raise NeuralArtError(f"{len(tensors)} {side}s, network {network} has {len(ports)}", where=where, hint=hint)
    for number, (tensor, port) in enumerate(zip(tensors, ports, strict=True)):
        ours = (tensor.name if names else port.name, tensor.dtype, tensor.bytes)
        theirs = (port.name, port.dtype, port.bytes)
        if ours != theirs:
            both = [f"'{name}' {dtype} of {size} bytes" for name, dtype, size in (ours, theirs)]
            what = f"{side} {number} is {both[0]}, in network {network} it is {both[1]}"
            raise NeuralArtError(what, where=where, hint=f"the vectors: {hint}")


def check(vectors: Vectors, network: Network) -> None:
    """Do these vectors belong to this network?. NeuralArtError: number, name, type or size of a tensor differ. (The
    vendor's compiler gives tensors names of its own.)
    """
    for side in ("input", "output"):
        tensors, ports = getattr(vectors, f"{side}s"), getattr(network, f"{side}s")
        _check_side(side, tensors, ports, vectors.where, network.name, names=network.runtime == NEURALART)


def _value(tensor: VectorTensor, data: bytes, index: int) -> str:
    code = "<" + DTYPES[tensor.dtype]
    size = struct.calcsize(code)
    raw = data[index * size : (index + 1) * size]
    (value,) = struct.unpack(code, raw)
    # Two floats may print alike and still differ (NaN, signed zero): their bits never do.
    return f"{value!r} (0x{raw[::-1].hex()})" if isinstance(value, float) else str(int(value))


def first_difference(vectors: Vectors, number: int, got: bytes) -> str:
    """Where outputs first differ, as ``vector 3, output 'softmax' index 7: expected -12, got -11``, or empty."""
    expected = vectors.output_data[number]
    if got == expected:
        return ""
    if len(got) != len(expected):
        return f"vector {number}: expected {len(expected)} bytes of outputs, got {len(got)}"
    at = next(n for n in range(len(expected)) if got[n] != expected[n])
    begin = 0
    for tensor in vectors.outputs:
        if at < begin + tensor.bytes:
            break
        begin += tensor.bytes
    end = begin + tensor.bytes
    index = (at - begin) // struct.calcsize("<" + DTYPES[tensor.dtype])
    want, have = _value(tensor, expected[begin:end], index), _value(tensor, got[begin:end], index)
    return f"vector {number}, output '{tensor.name}' index {index}: expected {want}, got {have}"


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


def stored(dtype: str, data: bytes) -> tuple[float, ...]:
    """The elements of a tensor as its bytes hold them."""
    code = DTYPES[dtype]
    return struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data)


def finite_values(name: str, dtype: str, data: bytes, where: str) -> tuple[float, ...]:
    """The elements of an output as its bytes hold them. Difference: a value is no number."""
    values = stored(dtype, data)
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise Difference(f"output '{name}' has values that are no numbers", where=where)
    return values


def largest_difference(vectors: Vectors, index: int, got: bytes) -> tuple[int | None, float | None]:
    """Most that two integers of a vector's outputs differ, and two real numbers; None where there are none."""
    expected, at, largest = vectors.output_data[index], 0, dict[bool, float]()
    if len(got) != len(expected):
        return None, None
    for tensor in vectors.outputs:
        pairs = zip(*(stored(tensor.dtype, data[at : at + tensor.bytes]) for data in (got, expected)), strict=True)
        # What is no number in both is equal, and infinitely far from any number.
        apart = (0.0 if a == b or (a != a and b != b) else abs(a - b) for a, b in pairs)
        worst = max((each if each == each else math.inf for each in apart), default=0.0)
        real = "float" in tensor.dtype
        largest[real], at = max(largest.get(real, 0.0), worst), at + tensor.bytes
    return int(largest[False]) if False in largest else None, largest.get(True)


def real_values(values: tuple[float, ...], port: Port | None) -> list[float]:
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


def compare(vectors: Vectors, index: int, got: bytes, network: Network, wanted: Closeness = BIT_EXACT) -> None:
    """Demand that outputs of a vector, concatenated, are as close as wanted. Difference: they are not."""
    if wanted.exact:
        if text := first_difference(vectors, index, got):
            raise Difference(text, where=network.name)
        return
    expected = vectors.output_data[index]
    if len(got) != len(expected):
        raise Difference(f"vector {index}: {len(got)} bytes of outputs, expected {len(expected)}", where=network.name)
    at = 0
    for place, tensor in enumerate(vectors.outputs):
        port = network.outputs[place] if place < len(network.outputs) else None
        what = f"vector {index}, output '{tensor.name}'"
        ours = finite_values(tensor.name, tensor.dtype, got[at : at + tensor.bytes], network.name)
        theirs = finite_values(tensor.name, tensor.dtype, expected[at : at + tensor.bytes], network.name)
        at += tensor.bytes
        if wanted.max_lsb is not None:
            if not all(isinstance(value, int) for value in theirs):
                what = f"output '{tensor.name}' is {tensor.dtype}: max_lsb counts steps of integers"
                raise NeuralArtError(what, where=network.name, hint="cos or rmse")
            worst = max((abs(a - b) for a, b in zip(ours, theirs, strict=True)), default=0)
            if worst > wanted.max_lsb:
                raise Difference(f"{what}: differs by {worst}, allowed max_lsb {wanted.max_lsb}", where=network.name)
        real, golden = real_values(ours, port), real_values(theirs, port)
        if wanted.cos is not None and (cos := cosine(real, golden)) < wanted.cos:
            raise Difference(f"{what}: cos {cos!r}, allowed {number(wanted.cos)} at least", where=network.name)
        if wanted.rmse is not None and (rmse := root_mean_square(real, golden)) > wanted.rmse:
            raise Difference(f"{what}: rmse {rmse!r}, allowed {number(wanted.rmse)}", where=network.name)


BEST = 5
FIRST = 8
"""So many classes, and so many elements, are shown."""


def _number(value: float) -> str:
    return f"{value:.4g}"


def _range(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    parts = []
    if finite:
        mean = math.fsum(finite) / len(finite)
        parts.append(f"min {_number(min(finite))}, max {_number(max(finite))}, mean {_number(mean)}")
    if len(finite) < len(values):
        parts.append(f"{len(values) - len(finite)} of {len(values)} are no numbers")
    more = ", ..." if len(values) > FIRST else ""
    return "; ".join([*parts, "first " + ", ".join(map(_number, values[:FIRST])) + more])


def _line(port: Port, values: Sequence[float], labels: Sequence[str]) -> str:
    shown = _range(values)
    if len(labels) == len(values) and all(map(math.isfinite, values)):
        best = sorted(range(len(values)), key=lambda index: (-values[index], index))[:BEST]
        shown = ", ".join(f"{labels[index]} {_number(values[index])}" for index in best)
    return f"output '{port.name}' {port.dtype}[{','.join(map(str, port.shape))}]: {shown}"


def described(network: Network, data: bytes, labels: Sequence[str] = ()) -> list[str]:
    """A line for each output of an inference (``data``: all of them, concatenated); quantized ones as real values. An
    output with as many elements as there are names of classes shows the best of them.
    """
    parts = zip(network.outputs, pieces(data, (port.bytes for port in network.outputs)), strict=True)
    lines = [_line(port, real_values(stored(port.dtype, part), port), labels) for port, part in parts]
    # Names may be meant for others than the outputs of a network: a detector's boxes have classes, too.
    port = network.outputs[0]
    scores = math.prod(port.shape)
    if labels and len(network.outputs) == 1 and port.shape[-1:] == (scores,) and scores != len(labels):
        lines[0] += f" ({len(labels)} names of classes, but {scores} scores: names not used)"
    return lines
