"""What a compiler expects of a network, epoch by epoch: operations, NPU cycles, traffic, and what bounds each epoch.
All cycles here are cycles of the NPU clock, as the compiler counts them; it assumes the clock ratios of the pool file.
A software epoch counts 0 operations and next to no cycles: an estimate says nothing about the time of software.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.network.facts import Port
from neuralart.vendor import mpool
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.ports import ports
from neuralart.vendor.c_info.types import CInfo, Execution
from neuralart_insight.profiling.cost import instructions_of
from neuralart_insight.vendor import network_csv
from neuralart_insight.vendor.network_csv import NetworkCsv

if TYPE_CHECKING:
    from neuralart.vendor.network_c.types import EpochBlock, GeneratedNetwork

COMPUTE, NOTHING, UNKNOWN = "compute", "nothing", "unknown"
# The compiler rounds cycles to whole numbers.
_ROUNDING = 1.0
_C_INFO, _CSV, _NETWORK_C = "c_info.json", "network.csv", "network.c"


@dataclass(frozen=True)
class PoolAccess:
    """Traffic of an epoch, or of a network, over one memory pool."""

    read: int  # Bytes
    written: int  # Bytes
    read_cycles: int | None = None  # NPU cycles that the reads take; None where the file does not tell
    write_cycles: int | None = None  # The same of the writes

    @property
    def bytes(self) -> int:
        """Both directions."""
        return self.read + self.written


@dataclass(frozen=True)
class EpochEstimate:
    """What the compiler expects of an epoch; None: the files do not tell."""

    id: int  # The epoch's number
    type: str  # ``HW``, ``SW``, ``EC``, ``HYBRID``; ``NONE`` if it computes nothing
    operators: tuple[str, ...] = ()  # Kinds of its operators, in order
    units: tuple[str, ...] = ()  # Processor units, for example ``CONV_ACC_V2 0``; told from release 3.0 on
    operations: int | None = None  # Arithmetic operations
    compute_cycles: int | None = None  # NPU cycles with memories that never keep the NPU waiting
    max_cycles: int | None = None  # NPU cycles of whatever takes longest
    # What max_cycles equals: ``compute``, ``POOL read``, ``POOL write``, ``POOL bytes``, ``nothing`` (no work),
    # ``unknown``
    bound: str = UNKNOWN
    pools: Mapping[str, PoolAccess] = field(default_factory=dict)  # Traffic by pool, without pools that are not touched
    writes: tuple[str, ...] = ()  # Buffers that it writes, sorted; empty if the file does not tell
    streams: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)  # Pools of ``i`` or ``o``, engine
    estimated_instructions: int | None = None  # Of a kernel of this project on the CPU, by its cost model; no cycles


@dataclass(frozen=True)
class NetworkEstimate:
    """What the compiler expects of a network."""

    name: str  # C name; empty if the file does not tell
    source: tuple[str, ...]  # The files that it was read from
    epochs: tuple[EpochEstimate, ...]  # In order of execution, without the parameters before and the return behind them
    missing: tuple[str, ...] = ()  # Sentences: which file is missing, and what it would add
    inputs: tuple[Port, ...] = ()  # Empty if the files do not tell them
    outputs: tuple[Port, ...] = ()  # The same
    executions: tuple[Execution, ...] = ()  # Times that a validation wrote into the c_info, in order of execution
    device: str = ""  # The board that it ran on
    code: Path | None = None  # The network.c, which tells what each epoch does on the NPU


@dataclass(frozen=True)
class PoolSpeed:
    """How fast a pool is: bytes per access, and NPU cycles per access (both 0 where the file does not tell)."""

    byte_width: int = 0
    freq_ratio: float = 0.0


NO_SPEEDS: Mapping[str, PoolSpeed] = MappingProxyType({})


def bound_of(
    compute_cycles: int | None, max_cycles: int | None, pools: Mapping[str, PoolAccess], speeds: Mapping[str, PoolSpeed]
) -> str:
    """What sets ``max_cycles`` of an epoch. The rule was found by comparing 734 epochs of three public networks; the
    first match counts: compute cycles, read cycles of a pool, write cycles of a pool, bytes of a pool times its clock
    ratio over its width (weights from flash). It is about the estimate, and no proof of what bounds a run.
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


def from_c_info(info: CInfo, speeds: Mapping[str, PoolSpeed] = NO_SPEEDS) -> NetworkEstimate:
    """The estimate in a ``c_info.json`` of the Neural-ART compiler; ``speeds`` of pools that it does not tell."""
    names = {pool.id: pool.name for pool in info.pools}
    own = {pool.name: PoolSpeed(pool.byte_width, pool.freq_ratio) for pool in info.pools if pool.byte_width}
    speeds = {**speeds, **own}
    buffers = {buffer.id: buffer for buffer in info.buffers}
    traffic: dict[int, dict[str, PoolAccess]] = {}
    for access in info.accesses:
        if access.reads or access.writes:
            found = PoolAccess(access.reads, access.writes, access.read_cycles, access.write_cycles)
            traffic.setdefault(access.node, {})[names.get(access.pool, f"pool {access.pool}")] = found
    estimates = {estimate.node: estimate for estimate in info.estimates}
    epochs = []
    for node in info.epochs:
        estimate, pools = estimates.get(node.id), traffic.get(node.id, {})
        compute, most = (estimate.compute_cycles, estimate.max_cycles) if estimate else (None, None)
        epochs.append(
            EpochEstimate(
                id=node.number if node.number is not None else node.id,
                type=node.kind,
                operators=tuple(operator.type or operator.name for operator in node.operators),
                units=tuple(operator.unit for operator in node.operators if operator.unit),
                operations=estimate.operations if estimate else None,
                compute_cycles=compute,
                max_cycles=most,
                bound=bound_of(compute, most, pools, speeds),
                pools=pools,
                writes=tuple(sorted(buffers[each].name for each in node.outputs if each in buffers)),
                estimated_instructions=instructions_of(node, buffers),
            )
        )
    missing = () if estimates else (f"{info.file} has no power_estimates: no operations and no cycles per epoch",)
    graph = info.graph
    sides = (_ports(info, graph.inputs), _ports(info, graph.outputs)) if graph is not None else ((), ())
    return NetworkEstimate(info.name, (info.file,), tuple(epochs), missing, *sides, info.executions, info.device)


def _ports(info: CInfo, ids: Sequence[int]) -> tuple[Port, ...]:
    """Inputs or outputs; none where one of them has a shape that is not fixed: nothing else here needs it."""
    try:
        return ports(info, ids)
    except NeuralArtError:
        return ()


def from_csv(
    table: NetworkCsv, types: Mapping[int, str] = MappingProxyType({}), speeds: Mapping[str, PoolSpeed] = NO_SPEEDS
) -> NetworkEstimate:
    """The estimate in a ``network.csv``; its first and last row (parameters, return) are rows like others. The table
    has neither types of epochs (from a ``network.c`` beside it) nor speeds of pools (from the pool file).
    """
    epochs = []
    for row in table.epochs:
        used = [pool for pool in row.pools if pool.read or pool.written]
        pools = {p.name: PoolAccess(*map(round, (p.read, p.written, p.read_cycles, p.write_cycles))) for p in used}
        compute, most = round(row.compute_cycles), round(row.max_cycles)
        operations, bound = round(row.operations), bound_of(compute, most, pools, speeds)
        epoch = EpochEstimate(row.number, types.get(row.number, UNKNOWN), operations=operations, compute_cycles=compute)
        epochs.append(replace(epoch, max_cycles=most, bound=bound, pools=pools))
    return NetworkEstimate("", (table.file,), tuple(epochs))


def from_network_c(network: GeneratedNetwork) -> NetworkEstimate:
    """What a ``network.c`` tells by itself: types, operators, and cycles where the compiler wrote some."""
    from neuralart.vendor.network_c.read import port_of

    epochs = tuple(
        EpochEstimate(
            id=block.number if block.number is not None else position,
            type=block.kind or UNKNOWN,
            operators=block.operators,
            compute_cycles=block.npu_cycles or None,
            max_cycles=block.total_cycles or None,
            streams=_streams(network, block),
        )
        for position, block in enumerate(network.blocks)
    )
    inputs, outputs = (tuple(map(port_of, side)) for side in (network.inputs, network.outputs))
    return NetworkEstimate(network.name, (network.where,), epochs, (), inputs, outputs)


def _of_code(path: Path) -> NetworkEstimate:
    """Of generated C, whose reader is loaded where there is some."""
    from neuralart.vendor.network_c import read

    return replace(from_network_c(read.read(path)), code=path)


def _streams(network: GeneratedNetwork, block: EpochBlock) -> dict[tuple[str, int], tuple[str, ...]]:
    """Pools by stream engine. A pool that is made of others stands for those of them that are touched."""
    pools = {pool.index: pool for pool in network.pools}
    found: dict[tuple[str, int], dict[str, None]] = {}
    for direction, engine, number, start, end in block.streams:
        if (whole := pools.get(number)) is not None:
            low, high = whole.address + start, whole.address + end
            parts = (p for p in network.pools if not p.virtual and p.address < high and low < p.address + p.size)
            names = [part.name for part in parts] if whole.virtual else [whole.name]
            found.setdefault((direction, engine), {}).update(dict.fromkeys(names))
    return {key: tuple(names) for key, names in found.items()}


def known_sum(epochs: Iterable[EpochEstimate], key: str) -> int | None:
    """Sum of a figure over epochs; None where none of them tells it."""
    known = [value for epoch in epochs if (value := getattr(epoch, key)) is not None]
    return sum(known) if known else None


def traffic_of(epochs: Iterable[EpochEstimate]) -> dict[str, PoolAccess]:
    """Traffic of some epochs together, by pool."""
    sums: dict[str, PoolAccess] = {}
    for epoch in epochs:
        for name, access in epoch.pools.items():
            before = sums.get(name, PoolAccess(0, 0))
            sums[name] = PoolAccess(before.read + access.read, before.written + access.written)
    return sums


def _only(found: list[Path], folder: Path, what: str) -> Path | None:
    """The one file of a folder for a role. NeuralArtError: several would do."""
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:4])
        hint = "name the network with --name"
        raise NeuralArtError(f"several could be its {what}: {names}", where=str(folder), hint=hint)
    return found[0] if found else None


def _c_info(folder: Path, name: str) -> Path | None:
    patterns = (f"{name}_c_info.json", f"{name}.json", _C_INFO) if name else ("*_c_info.json", _C_INFO)
    found = (sorted(folder.glob(pattern)) for pattern in patterns)
    return _only(next((paths for paths in found if paths), []), folder, _C_INFO)


def _network_c(folder: Path, name: str) -> Path | None:
    """The generated C: the file that has an epoch table."""
    candidates = [folder / f"{name}.c"] if name else sorted(folder.glob("*.c"))
    found = [path for path in candidates if path.is_file() and b"EpochBlock" in read_bytes(path)]
    return _only(found, folder, _NETWORK_C)


def speeds_of(pools: Path) -> dict[str, PoolSpeed]:
    """Width and clock ratio of each pool of a pool file, by report name. NeuralArtError: it is no pool file."""
    return {pool.name: PoolSpeed(pool.byte_width, pool.freq_ratio) for pool in mpool.read(pools).pools}


def of_folder(folder: Path, name: str = "", speeds: Mapping[str, PoolSpeed] = NO_SPEEDS) -> NetworkEstimate:
    """The estimate of the compile whose ``network.c``, ``c_info.json`` and ``network.csv`` are in a folder. ``name`` is
    the C name of the network, where there are several; ``speeds`` of pools that the files do not tell. NeuralArtError:
    there is none of them, or one is wrong.
    """
    info, code = _c_info(folder, name), _network_c(folder, name)
    table = next((path for path in (folder / f"{name}.csv", folder / _CSV) if path.is_file()), None)
    if info is None and table is None and code is None:
        what = "neither a c_info.json, a network.csv nor a generated network.c is here"
        hint = "give the output folder of stedgeai generate, or st_ai_ws/neural_art__NAME"
        raise NeuralArtError(what, where=str(folder), hint=hint)
    of_code = None if code is None else _of_code(code)
    if info is not None:
        estimate = from_c_info(c_info.read(info), speeds)
        if not estimate.epochs and of_code is not None:
            times = estimate.executions
            estimate = replace(of_code, missing=estimate.missing, executions=times, device=estimate.device)
        if table is not None and all(epoch.max_cycles is None for epoch in estimate.epochs):
            estimate = _with_figures(estimate, from_csv(network_csv.read(table), speeds=speeds))
    elif table is not None:
        types = {epoch.id: epoch.type for epoch in of_code.epochs} if of_code else {}
        estimate = from_csv(network_csv.read(table), types, speeds)
    else:
        assert of_code is not None  # else the folder was refused
        estimate = of_code
    if of_code is not None:
        streams = {epoch.id: epoch.streams for epoch in of_code.epochs}
        epochs = (replace(epoch, streams=streams.get(epoch.id, {})) for epoch in estimate.epochs)
        estimate = replace(estimate, epochs=tuple(epochs), code=code)
    return replace(estimate, missing=(*estimate.missing, *_missing(info, table, code, speeds)))


def _with_figures(estimate: NetworkEstimate, of_csv: NetworkEstimate) -> NetworkEstimate:
    """Epochs of one source with the figures of a ``network.csv``."""
    figures = {epoch.id: epoch for epoch in of_csv.epochs}
    keys = ("operations", "compute_cycles", "max_cycles", "bound", "pools")
    epochs = (
        replace(epoch, **{key: getattr(figures[epoch.id], key) for key in keys}) if epoch.id in figures else epoch
        for epoch in estimate.epochs
    )
    return replace(estimate, source=(*estimate.source, *of_csv.source), epochs=tuple(epochs), missing=())


def _missing(
    info: Path | None, table: Path | None, code: Path | None, speeds: Mapping[str, PoolSpeed] = NO_SPEEDS
) -> tuple[str, ...]:
    found = []
    if info is None:
        beside = code or table
        adds = "no operators, no units" if table is not None else "no compiler estimate"
        found.append(f"no c_info.json beside {beside.name if beside else 'the others'}: {adds}")
        if table is not None and code is None:
            found.append("no network.c beside network.csv: types of epochs unknown")
        if table is not None and not speeds:
            found.append("no pool file (--pools): epochs that the bytes of a pool bound are 'unknown'")
    return tuple(found)


def of_file(path: Path, speeds: Mapping[str, PoolSpeed] = NO_SPEEDS) -> NetworkEstimate:
    """The estimate in one file; ``speeds`` of pools that it does not tell. NeuralArtError: it has none, or is wrong."""
    if path.suffix == ".json":
        return from_c_info(c_info.read(path), speeds)
    if path.suffix == ".csv":
        return replace(from_csv(network_csv.read(path), speeds=speeds), missing=_missing(None, path, None, speeds))
    if path.suffix == ".c":
        return replace(_of_code(path), missing=_missing(None, None, path))
    hint = "give a c_info.json, network.csv, network.c or a folder"
    raise NeuralArtError("not a file that holds an estimate", where=str(path), hint=hint)


def of_build(folder: Path) -> NetworkEstimate:
    """As :func:`of_folder`, of a network of a build: its files may have another name than the project gives it."""
    return of_folder(folder, facts.load(folder / "network.json").symbol)


def of_variant(variant: str, build: Path) -> list[NetworkEstimate]:
    """The estimates of the last build of a variant. NeuralArtError: it was not built, or its files are gone."""
    from neuralart_bring.last_build import network_folders

    index = build / variant / "index.json"
    if not index.is_file():
        what = f"'{variant}' is neither a file, a folder nor a variant that was built"
        raise NeuralArtError(what, where=str(index), hint=f"scons {variant}")
    return [of_build(folder) for _, folder in sorted(network_folders(index).items())]
