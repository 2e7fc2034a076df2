"""What a board measured of a network, epoch by epoch. Cycles of the CPU and of the NPU are different units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

# Bursts of a bus interface move 1, 2, 4 or 8 words of 8 bytes.
BURSTS = (1, 2, 4, 8)
_WORD = 8
# Engines from this number on are at bus interface 1.
_FIRST_OF_PORT_1 = 5


@dataclass(frozen=True)
class Phases:
    """Cycles of one clock until the hardware starts, while it works, and behind it; None: not told."""

    pre: int | None
    core: int
    post: int | None

    @property
    def total(self) -> int | None:
        """Their sum; None if one of them is not known."""
        return None if self.pre is None or self.post is None else self.pre + self.core + self.post


@dataclass(frozen=True)
class StreamActivity:
    """How long a stream engine was active."""

    direction: str  # ``i`` (it reads memory) or ``o`` (it writes)
    engine: int  # Its number
    cycles: int  # NPU cycles

    @property
    def port(self) -> int:
        """The bus interface that it is at."""
        return int(self.engine >= _FIRST_OF_PORT_1)


@dataclass(frozen=True)
class BusBursts:
    """Bursts of a bus interface, by their length: 1, 2, 4 and 8 words of 8 bytes."""

    read: tuple[int, ...]
    written: tuple[int, ...]

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes read and written."""
        one, other = (
            _WORD * sum(n * size for n, size in zip(counts, BURSTS, strict=True))
            for counts in (self.read, self.written)
        )
        return one, other


@dataclass(frozen=True)
class CacheCounts:
    """Counters of the NPU's cache."""

    read: tuple[int, ...]  # Hits, misses, misses that allocate, evictions
    written: tuple[int, ...]  # Hits, misses, misses that allocate, writes through


@dataclass(frozen=True)
class MeasuredEpoch:
    """An epoch, or the epochs of a blob together. Means over the samples are rounded up, as the vendor's tools do."""

    first: int  # Number of the epoch, or of the first one of a blob
    last: int  # Number of the last one
    kind: str  # ``HW``, ``SW``, ``HYBRID``, ``EC``; what the tools call EXTRA is a part of the epoch before it
    mcu: Phases | None = None  # CPU cycles
    npu: Phases | None = None  # NPU cycles
    streams: tuple[StreamActivity, ...] = ()  # Engines that were active, inputs first
    ports: Mapping[int, BusBursts] = field(default_factory=dict)  # By bus interface; of the first sample
    cache: CacheCounts | None = None
    spread: tuple[int, int] | None = None  # Fewest and most CPU cycles of a sample

    @property
    def name(self) -> str:
        """``EpochBlock_1``, ``EpochBlock_1 -> 22``."""
        return f"EpochBlock_{self.first}" + (f" -> {self.last}" if self.last != self.first else "")


@dataclass(frozen=True)
class MeasuredTensor:
    """An input or output as the firmware describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float = 0.0  # 0: not quantized
    zero_point: int = 0
    address: int | None = None  # None: not told


@dataclass(frozen=True)
class Clocks:
    """Clocks of a board in hertz; None: not told."""

    mcu: int | None = None
    npu: int | None = None
    noc: int | None = None
    nic: int | None = None


@dataclass(frozen=True)
class NetworkMeasurement:
    """What was measured of a network."""

    name: str  # C name; empty if it is not told
    source: str  # The file that it was read from
    how: str  # Which records of that file
    clocks: Clocks
    epochs: tuple[MeasuredEpoch, ...]  # In order of execution
    samples: int = 0  # How many inferences of each epoch; 0: not told
    inputs: tuple[MeasuredTensor, ...] = ()
    outputs: tuple[MeasuredTensor, ...] = ()
    nodes: int | None = None  # Epochs and blobs as the firmware counts them; None: not told
    device: str = ""  # As the firmware describes it
    about: Mapping[str, str] = field(default_factory=dict)  # What it says besides: ``compile_datetime``, ``tools``...
    missing: tuple[str, ...] = ()  # Sentences: what was not measured, and what it would add


def mean_phases(records: Sequence[Sequence[int]]) -> Phases | None:
    """Means of pre, core and post; None without records."""
    return Phases(*(rounded_mean(column) for column in zip(*records, strict=True))) if records else None


def rounded_mean(values: Sequence[int]) -> int:
    """Rounded up, as the vendor's profiler does."""
    return -(-sum(values) // len(values))


def total_phases(epochs: Iterable[MeasuredEpoch], clock: str) -> Phases | None:
    """Sums over epochs of their ``mcu`` or ``npu`` phases; None if no epoch has any."""
    found = [phases for epoch in epochs if (phases := getattr(epoch, clock)) is not None]
    if not found:
        return None
    known = all(phases.total is not None for phases in found)
    pre, post = (sum(getattr(phases, key) or 0 for phases in found) if known else None for key in ("pre", "post"))
    return Phases(pre, sum(phases.core for phases in found), post)


def milliseconds(cycles: int | None, clock: int | None) -> float | None:
    """None if cycles or clock are not known."""
    return None if cycles is None or not clock else 1e3 * cycles / clock


def jitter(epochs: Iterable[MeasuredEpoch]) -> float | None:
    """The widest spread of an epoch's CPU cycles over the samples, as a share of its mean; None: not told."""
    known = ((epoch.spread, epoch.mcu.total) for epoch in epochs if epoch.spread and epoch.mcu is not None)
    shares = [(spread[1] - spread[0]) / total for spread, total in known if total]
    return max(shares, default=None)
