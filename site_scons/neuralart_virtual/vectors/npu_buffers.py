"""What each epoch of a compiled network wrote, kept beside golden vectors: ``epochs.json`` and ``epochs.bin``.

Of every buffer a hash is kept, and a hash of its elements in order of their values; of the first ones their bytes, too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.text import json_values
from neuralart.text.json_values import JsonValue
from neuralart_virtual.emulator.inputs.preprocessing import library

if TYPE_CHECKING:
    from neuralart_virtual.npu.memory import Bytes, NpuMemory
    from neuralart_virtual.npu.run import EpochResult

KIND, SCHEMA = "neuralart-npu-epochs", 1
DESCRIPTION, VALUES = FILES = ("epochs.json", "epochs.bin")
MOST_KEPT = 16 << 20
"""Bytes of buffers that are kept: all of small networks, the first inferences or epochs of large ones."""
_NEAR = 0.04  # Mean difference, in parts of the range, of what is taken for the same tensor
_HASH = 32  # Hex digits of a hash that are kept


@dataclass(frozen=True)
class KeptBuffer:
    """What an epoch wrote."""

    epoch: str  # Its number
    size: int  # Bytes of an element
    elements: int
    sha256: str
    sorted_sha256: str  # Of its elements in order of their values: equal where only their places differ
    at: int | None  # Where its bytes begin in all that are kept; None: too many


@dataclass
class KeptEpochs:
    """The epochs of a compile, and what they wrote in each inference."""

    network: str  # C name
    inputs: str  # Hash of the inputs of all inferences
    assume: tuple[str, ...]  # Modes that the run was allowed to assume
    ties: tuple[str, ...]  # Its tie rules
    described: Sequence[dict[str, Any]]  # As ``neuralart_virtual.npu.described`` has them
    vectors: list[list[KeptBuffer]] = field(default_factory=list)  # By inference, in order of execution
    values: bytearray = field(default_factory=bytearray)

    def add(self, result: EpochResult, memory: NpuMemory) -> None:
        """Keep what an epoch wrote in the last inference."""
        np = library("numpy", "the virtual NPU")
        for output in result.outputs:
            data = memory.view(output.start, output.size * output.elements)
            ordered = np.sort(_elements(data, output.size))
            first, second = (hashlib.sha256(each.tobytes()).hexdigest()[:_HASH] for each in (data, ordered))
            at = len(self.values) if len(self.values) + len(data) <= MOST_KEPT else None
            self.vectors[-1].append(KeptBuffer(result.label, output.size, output.elements, first, second, at))
            if at is not None:
                self.values += data.tobytes()

    def bytes_of(self, buffer: KeptBuffer) -> bytes | None:
        """Its bytes; None: they are not kept."""
        return None if buffer.at is None else bytes(self.values[buffer.at : buffer.at + buffer.size * buffer.elements])


def _elements(data: Bytes, size: int) -> Any:
    """Elements without a sign."""
    np = library("numpy", "the virtual NPU")

    if size in (1, 2, 4, 8):
        return data.copy().view(f"<u{size}")
    rows = data.reshape(-1, size).astype(np.uint64)
    return (rows << (8 * np.arange(size, dtype=np.uint64))).sum(axis=1)


class BufferDifference(NamedTuple):
    """How a buffer differs from another one of the same form."""

    reordered: bool  # The same values, at other places
    steps: int | None  # Largest difference of integers of 8 or 16 bits; None: not known
    real: float | None  # Largest difference of numbers with 32 bits, taken for real ones; None: not known


def difference(one: KeptEpochs, a: KeptBuffer, other: KeptEpochs, b: KeptBuffer) -> BufferDifference | None:
    """None: they are equal. Whether integers have a sign is not known: what makes the difference smaller is taken."""
    if a.sha256 == b.sha256:
        return None
    data = one.bytes_of(a), other.bytes_of(b)
    reordered = a.sorted_sha256 == b.sorted_sha256
    if reordered or data[0] is None or data[1] is None:
        return BufferDifference(reordered, None, None)
    steps, _ = _apart(a.size, data[0], data[1])
    if a.size == 4:
        return BufferDifference(False, None, steps if math.isfinite(steps) else None)
    return BufferDifference(False, int(steps) if math.isfinite(steps) else None, None)


def _apart(size: int, *data: bytes) -> tuple[float, float]:
    """Largest and mean difference of elements, the mean in parts of their range; infinity: not known."""
    np = library("numpy", "the virtual NPU")

    found = [(math.inf, math.inf)]
    for kind in {1: "iu", 2: "iu", 4: "f"}.get(size, ""):
        one, other = (np.frombuffer(each, f"<{kind}{size}").astype(np.float64) for each in data)
        with np.errstate(all="ignore"):
            apart, spread = np.abs(one - other), float(max(one.max(), other.max()) - min(one.min(), other.min()))
        if np.isfinite(apart).all():
            found.append((float(apart.max()), float(apart.mean()) / (spread or 1.0)))
    return min(found)


def nearly_equal(one: KeptEpochs, a: Sequence[KeptBuffer], other: KeptEpochs, b: Sequence[KeptBuffer]) -> bool:
    """Buffers of the same form that hold the same values, perhaps in another order, or differ little on average."""
    if [(x.size, x.elements) for x in a] != [(y.size, y.elements) for y in b]:
        return False
    for x, y in zip(a, b, strict=True):
        data = one.bytes_of(x), other.bytes_of(y)
        if x.sorted_sha256 == y.sorted_sha256:
            continue
        if data[0] is None or data[1] is None or _apart(x.size, data[0], data[1])[1] > _NEAR:
            return False
    return True


def hash_of(inputs: Sequence[bytes]) -> str:
    """What inputs of inferences are known by."""
    return hashlib.sha256(b"".join(inputs)).hexdigest()[:_HASH]


def write(folder: Path, kept: KeptEpochs) -> None:
    """Write both files. NeuralArtError: they cannot be written."""
    about = {key: getattr(kept, key) for key in ("network", "inputs", "assume", "ties")}
    rows = [[asdict(buffer) for buffer in vector] for vector in kept.vectors]
    record = {"kind": KIND, "schema": SCHEMA, **about, "epochs": list(kept.described), "vectors": rows}
    write_bytes(folder / VALUES, bytes(kept.values))
    write_text(folder / DESCRIPTION, json.dumps(record, separators=(",", ":")) + "\n")


def epoch_of(entry: JsonValue) -> dict[str, Any]:
    """An epoch of a JSON file, checked. NeuralArtError: it is none."""
    keys = ("engine", "address", "bytes")
    return {
        **{key: entry.string_at(key) for key in ("epoch", "kind", "settings", "missing")},
        **{key: list(entry.strings_at(key)) for key in ("units", "kernels")},
        **{key: None if entry.get(key) is None else entry.count_at(key) for key in ("macs", "most_macs")},
        "streams": [
            {"pool": each.string_at("pool"), "writes": each.need("writes").value is True}
            | {key: each.count_at(key) for key in keys}
            for each in entry.items_at("streams")
        ],
    }


def load(folder: Path) -> KeptEpochs:
    """Read both files. NeuralArtError: one is missing or damaged, or they do not belong together."""
    path = folder / DESCRIPTION
    root = json_values.parse_tool(read_bytes(path), path.as_posix())
    if root.string_at("kind") != KIND or root.integer_at("schema") != SCHEMA:
        root.fail(f"no {KIND} of schema {SCHEMA}")
    vectors: list[list[KeptBuffer]] = []
    values = bytearray(read_bytes(folder / VALUES))
    for vector in root.items_at("vectors"):
        vectors.append([])
        for row in vector.items():
            epoch, first, second = (row.string_at(key) for key in ("epoch", "sha256", "sorted_sha256"))
            size, elements = row.count_at("size"), row.count_at("elements")
            at = None if row.get("at") is None else row.count_at("at")
            if at is not None and at + size * elements > len(values):
                row.fail(f"its bytes leave {VALUES}: the files do not belong together")
            vectors[-1].append(KeptBuffer(epoch, size, elements, first, second, at))
    assume, ties = (tuple(root.strings_at(key)) for key in ("assume", "ties"))
    described = [epoch_of(entry) for entry in root.items_at("epochs")]
    return KeptEpochs(root.string_at("network"), root.string_at("inputs"), assume, ties, described, vectors, values)
