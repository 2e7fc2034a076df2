"""What a compiler expects of a network, epoch by epoch: operations, NPU cycles, traffic, and what bounds each epoch.

All cycles here are cycles of the NPU clock, as the compiler counts them; it assumes the clock ratios of the pool file.
A software epoch counts 0 operations and next to no cycles: an estimate says nothing about the time of software.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from neuralart.vendor.c_info.types import CInfo, InfoNode
from neuralart.vendor.network_c.types import GeneratedNetwork
from neuralart.vendor.network_csv import NetworkCsv

COMPUTE, NOTHING, UNKNOWN = "compute", "nothing", "unknown"
# The compiler rounds cycles to whole numbers.
_ROUNDING = 1.0


@dataclass(frozen=True)
class PoolAccess:
    """Traffic of an epoch, or of a network, over one memory pool.

    Attributes:
        read: Bytes.
        written: Bytes.
        read_cycles: NPU cycles that the reads take; None where the file does not tell.
        write_cycles: The same of the writes.
    """

    read: int
    written: int
    read_cycles: int | None = None
    write_cycles: int | None = None

    @property
    def bytes(self) -> int:
        """Both directions."""
        return self.read + self.written


@dataclass(frozen=True)
class EpochEstimate:
    """What the compiler expects of an epoch; None: the files do not tell.

    Attributes:
        id: The epoch's number.
        type: ``HW``, ``SW``, ``EC``, ``HYBRID``; ``NONE`` if it computes nothing.
        operators: Kinds of its operators, in order.
        units: Processor units, for example ``CONV_ACC_V2 0``; told from release 3.0 on.
        operations: Arithmetic operations.
        compute_cycles: NPU cycles with memories that never keep the NPU waiting.
        max_cycles: NPU cycles of whatever takes longest.
        bound: What :attr:`max_cycles` equals: ``compute``, ``POOL read``, ``POOL write``, ``POOL bytes``, ``nothing``
            (no work), ``unknown``.
        pools: Traffic by pool, without pools that are not touched.
    """

    id: int
    type: str
    operators: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    operations: int | None = None
    compute_cycles: int | None = None
    max_cycles: int | None = None
    bound: str = UNKNOWN
    pools: Mapping[str, PoolAccess] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkEstimate:
    """What the compiler expects of a network.

    Attributes:
        name: C name; empty if the file does not tell.
        source: The files that it was read from.
        epochs: In order of execution, without the parameters before and the return behind them.
        missing: Sentences: which file is missing, and what it would add.
    """

    name: str
    source: tuple[str, ...]
    epochs: tuple[EpochEstimate, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class PoolSpeed:
    """How fast a pool is: bytes per access, and NPU cycles per access (both 0 where the file does not tell)."""

    byte_width: int = 0
    freq_ratio: float = 0.0


def bound_of(
    compute_cycles: int | None,
    max_cycles: int | None,
    pools: Mapping[str, PoolAccess],
    speeds: Mapping[str, PoolSpeed],
) -> str:
    """What sets ``max_cycles`` of an epoch.

    The rule was found by comparing 734 epochs of three public networks; the first match counts: compute cycles, read
    cycles of a pool, write cycles of a pool, bytes of a pool times its clock ratio over its width (weights from
    flash). It is about the estimate, and no proof of what bounds a run.

    Args:
        compute_cycles: Of the epoch.
        max_cycles: Of the epoch.
        pools: Its traffic.
        speeds: Of the pools.
    """
    if compute_cycles is None or max_cycles is None:
        return UNKNOWN
    if not max_cycles:
        return NOTHING
    if compute_cycles == max_cycles:
        return COMPUTE
    for direction, cycles in (("read", "read_cycles"), ("write", "write_cycles")):
        for name, access in pools.items():
            if getattr(access, cycles) == max_cycles:
                return f"{name} {direction}"
    for name, access in pools.items():
        speed = speeds.get(name, PoolSpeed())
        if speed.byte_width and access.read:
            cycles_of_bytes = access.read * speed.freq_ratio / speed.byte_width
            if abs(cycles_of_bytes - max_cycles) <= _ROUNDING:
                return f"{name} bytes"
    return UNKNOWN


def _operators(node: InfoNode) -> tuple[str, ...]:
    return tuple(operator.type or operator.name for operator in node.operators)


def from_c_info(info: CInfo, speeds: Mapping[str, PoolSpeed] | None = None) -> NetworkEstimate:
    """The estimate in a ``c_info.json`` of the Neural-ART compiler.

    Args:
        info: The file.
        speeds: Of the pools, where the file does not tell them.
    """
    names = {pool.id: pool.name for pool in info.pools}
    own = {pool.name: PoolSpeed(pool.byte_width, pool.freq_ratio) for pool in info.pools if pool.byte_width}
    speeds = {**(speeds or {}), **own}
    traffic: dict[int, dict[str, PoolAccess]] = {}
    for access in info.accesses:
        if access.reads or access.writes:
            found = PoolAccess(access.reads, access.writes, access.read_cycles, access.write_cycles)
            traffic.setdefault(access.node, {})[names.get(access.pool, f"pool {access.pool}")] = found
    estimates = {estimate.node: estimate for estimate in info.estimates}
    epochs = []
    for node in info.epochs:
        estimate, pools = estimates.get(node.id), traffic.get(node.id, {})
        compute = estimate.compute_cycles if estimate else None
        most = estimate.max_cycles if estimate else None
        epochs.append(
            EpochEstimate(
                id=node.number if node.number is not None else node.id,
                type=node.kind,
                operators=_operators(node),
                units=tuple(operator.unit for operator in node.operators if operator.unit),
                operations=estimate.operations if estimate else None,
                compute_cycles=compute,
                max_cycles=most,
                bound=bound_of(compute, most, pools, speeds),
                pools=pools,
            )
        )
    missing = () if estimates else (f"{info.file} has no power_estimates: no operations and no cycles per epoch",)
    return NetworkEstimate(info.name, (info.file,), tuple(epochs), missing)


def _whole(value: float) -> int:
    return round(value)


def from_csv(
    table: NetworkCsv, types: Mapping[int, str] | None = None, speeds: Mapping[str, PoolSpeed] | None = None
) -> NetworkEstimate:
    """The estimate in a ``network.csv``.

    Args:
        table: The file. The parameters before the first epoch and the return behind the last are rows like others.
        types: Type of each epoch by number, from a ``network.c`` beside it; the table has none.
        speeds: Of the pools, from the pool file; the table has none.
    """
    epochs = []
    for row in table.epochs:
        pools = {
            pool.name: PoolAccess(
                _whole(pool.read), _whole(pool.written), _whole(pool.read_cycles), _whole(pool.write_cycles)
            )
            for pool in row.pools
            if pool.read or pool.written
        }
        compute, most = _whole(row.compute_cycles), _whole(row.max_cycles)
        epochs.append(
            EpochEstimate(
                id=row.number,
                type=(types or {}).get(row.number, UNKNOWN),
                operations=_whole(row.operations),
                compute_cycles=compute,
                max_cycles=most,
                bound=bound_of(compute, most, pools, speeds or {}),
                pools=pools,
            )
        )
    return NetworkEstimate("", (table.file,), tuple(epochs))


def from_network_c(network: GeneratedNetwork) -> NetworkEstimate:
    """What a ``network.c`` tells by itself: types, operators, and cycles where the compiler wrote some.

    Args:
        network: The file.
    """
    epochs = tuple(
        EpochEstimate(
            id=block.number if block.number is not None else position,
            type=block.kind or UNKNOWN,
            operators=block.operators,
            compute_cycles=block.npu_cycles or None,
            max_cycles=block.total_cycles or None,
        )
        for position, block in enumerate(network.blocks)
    )
    return NetworkEstimate(network.name, (network.where,), epochs)


def traffic_of(epochs: Iterable[EpochEstimate]) -> dict[str, PoolAccess]:
    """Traffic of some epochs together, by pool.

    Args:
        epochs: Of one network.
    """
    sums: dict[str, list[int]] = {}
    for epoch in epochs:
        for name, access in epoch.pools.items():
            total = sums.setdefault(name, [0, 0])
            total[0] += access.read
            total[1] += access.written
    return {name: PoolAccess(read, written) for name, (read, written) in sums.items()}
