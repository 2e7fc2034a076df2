"""Reader of saved logs of the vendor's npu_profiler, checker and validate: what they measured on a board.

The firmware sends lines ``s:config:...`` and ``s:node:...``; a log at level debug holds them, and every figure can be
computed from them. Other logs hold figures alone: the blocks that npu_profiler prints for each epoch, or the table of
times that all three print.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart_insight.profiling import measured
from neuralart_insight.vendor.report.tables import ReportLine, after, read_nodes, whole
from neuralart_insight.vendor.report.types import NodeTime

K = TypeVar("K")
_STAT = re.compile(r"(?:^|[\s\]])s:(config|node):(\S+)")
_FREQ = re.compile(r"\b(mcu|noc|npu|nic)_freq[:=](\d{1,12})(MHz)?")
# The last record of a run: the counters of the network as a whole.
_RUN_ENDS = re.compile(r'name="([^"]{1,64})" counters="[^"]*"\[')
_IO = re.compile(
    r"([IO])\[\d+/\d+\] '([^']*)'\s*:\s*(\w+)\[([\d,]*)\], [\d,]+ Bytes(?:, QLinear\(([-\d.e]+),(-?\d+),\w+\))?"
)
_ABOUT = re.compile(
    r"\b(activations|weights|hash|compile_datetime|protocol|tools|runtime lib|device\.attrs)\s*: (\S.*?)\s*$"
)
_SUMMARY = re.compile(r"Summary '([^']*)'")
_FIELD = re.compile(r"(?:\[D\]\s+)?(\w+)(?:: (.*)| (\{))")
_INPUT, _OUTPUT = 1, 2
# Longer logs than any real one are no logs.
_MOST_RUNS = 1_000_000

# ``results v2.0 - "kws"`` begins what is said of a network; the word in front differs with the tool.
_RESULTS = re.compile(r'results v[\d.]{1,9}(?: - "([^"]{0,64})")?')
_LEVEL = re.compile(r"^\[[A-Z](?::\w+)?\]\s?")
_BLOCK = re.compile(r"EpochBlock_\d+ .*\(c_idx=\d+, num=(-?\d+):(-?\d+), c_type=(\w+), extra=(\d+)\)")
_CYCLES = re.compile(r"mcu cycles\s+: \[(\d+), (\d+), (\d+)\]")
_CORE = re.compile(r"core npu cycles\s+: (\d+) ")
_PORT = re.compile(r"busif ([01])\s+: .*rburst\[1,2,4,8\]x8=\(([\d,]+)\) wburst\[1,2,4,8\]x8=\(([\d,]+)\)")
_STREAM = re.compile(r"STRENG\.(\d+)\.([io]): busif=\d, (\d+) cycles")
_CACHE = re.compile(r"NPU cache cnts\s+: R\[([^]]*)\], W\[([^]]*)\]")
_EPOCH_NAME = re.compile(r"EpochBlock_(\d+)(?: -> (\d+))?")
_KIND = re.compile(r"epoch(?: \((EC|SW|HYBRID|MIX|extra)[^)]*\))?")

Tensors = Mapping[str, tuple[tuple[measured.MeasuredTensor, ...], tuple[measured.MeasuredTensor, ...]]]


@dataclass
class _Node:
    """An epoch in one run."""

    key: tuple[int, int, int, str]  # Index, first and last epoch, kind
    line: int
    counters: dict[str, list[int]] = field(default_factory=dict)
    streams: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    ports: dict[tuple[int, str], list[int]] = field(default_factory=dict)


@dataclass
class _Run:
    """One inference."""

    name: str  # Of the network that the log speaks of
    nodes: list[_Node] = field(default_factory=list)
    ended: bool = False

    @property
    def kind(self) -> str:
        """Which pass of the profiler it belongs to, by what it counted."""
        directions = {direction for node in self.nodes for direction, _ in node.streams}
        return "".join(sorted(directions)) + ("b" if any(node.ports for node in self.nodes) else "")


@dataclass
class _Model:
    """What the firmware says of a network."""

    tensors: dict[str, list[measured.MeasuredTensor]] = field(default_factory=lambda: {"I": [], "O": []})
    addresses: dict[str, int] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    nodes: int | None = None


class _Log:
    """Goes through the lines of a log once."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.clocks: dict[str, int] = {}
        self.runs: list[_Run] = []
        self.models: dict[str, _Model] = {}
        self.device = ""
        self._open: _Run | None = None
        self._extra = False
        self._about = ""
        self._tensor: dict[str, str] | None = None

    def line(self, number: int, text: str) -> None:
        if found := _STAT.search(text):
            if found[1] == "node":
                self._node(number, found[2].split(":"))
        elif found := _RUN_ENDS.search(text):
            if self._open is not None:
                self._open.name, self._open.ended, self._open = found[1], True, None
        elif found := _SUMMARY.search(text):
            self._about = found[1]
        elif found := _IO.search(text):
            shape = tuple(int(size) for size in found[4].split(",") if size)
            tensor = measured.MeasuredTensor(found[2], found[3], shape, float(found[5] or 0), int(found[6] or 0))
            known = self.models.setdefault(self._about, _Model()).tensors[found[1]]
            if tensor.name not in {each.name for each in known}:
                known.append(tensor)
        elif found := re.search(r"\bdevice\.desc\s*:\s*(\S.*?)\s*$", text):
            self.device = found[1]
        elif found := re.search(r"\bn_nodes\s*:\s*(\d{1,9})\s*$", text):
            self.models.setdefault(self._about, _Model()).nodes = int(found[1])
        elif found := _ABOUT.search(text):
            self.models.setdefault(self._about, _Model()).about[found[1]] = found[2]
        elif "[model_info msg]" in text:
            self._tensor = {}
        elif self._tensor is not None and (found := _FIELD.search(text)):
            self._described(found[1], (found[2] or "").strip().strip('"'), opens=bool(found[3]))
        for name, value, unit in _FREQ.findall(text) if "_freq" in text else ():
            self.clocks.setdefault(name, int(value) * (1_000_000 if unit else 1))

    def _described(self, key: str, value: str, *, opens: bool) -> None:
        """A line of a message about a network: the addresses of its inputs and outputs stand nowhere else."""
        assert self._tensor is not None
        if opens:
            self._tensor = {"in": key}
        elif key == "name" and "in" not in self._tensor:
            self._about = value
        elif self._tensor.get("in") in ("inputs", "outputs"):
            self._tensor[key] = value
            if key == "addr" and value.isdigit() and int(value):
                named = self._tensor["in"][0].upper() + self._tensor.get("name", "")
                self.models.setdefault(self._about, _Model()).addresses[named] = int(value)

    def _node(self, number: int, parts: list[str]) -> None:
        try:
            self._record(number, parts)
        except (ValueError, IndexError):
            what = f"'s:node:{':'.join(parts)[:60]}' is damaged"
            raise NeuralArtError(what, where=f"{self.where}:{number}", hint="is the log cut off there?") from None

    def _record(self, number: int, parts: list[str]) -> None:
        what = parts[0]
        if what == "evt_pre_start":
            index, current, first, last = (int(text) for text in parts[1:5])
            if self._open is None or index <= self._open.nodes[-1].key[0]:
                self._open = _Run(self._about)
                self.runs.append(self._open)
                if len(self.runs) > _MOST_RUNS:
                    raise ValueError
            self._extra = parts[7] == "EXTRA" and bool(self._open.nodes)
            if not self._extra:
                epoch = first if first >= 0 else current
                self._open.nodes.append(_Node((index, epoch, last if last >= 0 else epoch, parts[7]), number))
            return
        if self._open is None or what == "evt_post_end":
            return
        node = self._open.nodes[-1]
        if what in ("mcu_cycles", "npu_cycles"):
            self._count(node.counters, what, _numbers(parts[1:], 3))
        elif what == "streng_active" and parts[1] in ("i", "o"):
            self._count(node.streams, (parts[1], int(parts[2])), _numbers(parts[3:4], 1))
        elif what in ("port0", "port1"):
            self._count(node.ports, (int(what[-1]), parts[2]), _numbers(parts[3:], 4))
        elif what == "npu_cache":
            self._count(node.counters, f"npu_cache:{parts[1]}", _numbers(parts[2:], 4))

    def _count(self, counted: dict[K, list[int]], key: K, values: list[int]) -> None:
        """An EXTRA epoch is a part of the one before it: their counts are added."""
        before = counted.get(key, [0] * len(values)) if self._extra else [0] * len(values)
        counted[key] = [one + other for one, other in zip(before, values, strict=True)]


def _numbers(texts: Sequence[str], count: int) -> list[int]:
    if len(texts) != count:
        raise ValueError
    return [int(text) for text in texts]


def _epoch(nodes: Sequence[_Node]) -> measured.MeasuredEpoch:
    """One epoch of all runs."""
    _, first, last, kind = nodes[0].key

    def counted(name: str) -> list[list[int]]:
        return [node.counters[name] for node in nodes if name in node.counters]

    streams: dict[tuple[str, int], list[int]] = {}
    for node in nodes:
        for key, (cycles,) in node.streams.items():
            streams.setdefault(key, []).append(cycles)
    bus = next((node.ports for node in nodes if node.ports), {})
    whole = [port for port in (0, 1) if (port, "r") in bus and (port, "w") in bus]
    ports = {port: measured.BusBursts(tuple(bus[port, "r"]), tuple(bus[port, "w"])) for port in whole}
    caches = [counted(f"npu_cache:{direction}") for direction in "rw"]
    means = [tuple(measured.rounded_mean(column) for column in zip(*rows, strict=True)) for rows in caches]
    totals = [sum(row) for row in counted("mcu_cycles")]
    return measured.MeasuredEpoch(
        first,
        last,
        kind,
        measured.mean_phases(counted("mcu_cycles")),
        measured.mean_phases(counted("npu_cycles")),
        tuple(measured.StreamActivity(*key, measured.rounded_mean(cycles)) for key, cycles in sorted(streams.items())),
        ports,
        measured.CacheCounts(*means) if all(caches) else None,
        (min(totals), max(totals)) if len(totals) > 1 else None,
    )


def _chosen(runs: Iterable[_Run], batch: int) -> list[_Run]:
    """The first runs of each pass."""
    seen: dict[str, int] = {}
    chosen = []
    for run in runs:
        seen[run.kind] = seen.get(run.kind, 0) + 1
        if not batch or seen[run.kind] <= batch:
            chosen.append(run)
    return chosen


def _network(log: _Log, name: str, runs: list[_Run], batch: int) -> measured.NetworkMeasurement:
    keys = [node.key for node in runs[0].nodes]
    missing = []
    end = [node.key for node in runs[-1].nodes]
    if len(runs) > 1 and not runs[-1].ended and len(end) < len(keys) and end == keys[: len(end)]:
        missing.append(f"the log ends in sample {len(runs)}, which is left out")
        runs = runs[:-1]
    for run in runs:
        for at, node in enumerate(run.nodes):
            if at >= len(keys) or node.key != keys[at]:
                what = f"network '{name}': another epoch than in the first sample ({node.key[1]}, {node.key[3]})"
                raise NeuralArtError(what, where=f"{log.where}:{node.line}", hint="one log, one build")
        if len(run.nodes) < len(keys):
            what = f"network '{name}': {len(run.nodes)} epochs in a sample, {len(keys)} in the first one"
            raise NeuralArtError(what, where=f"{log.where}:{run.nodes[-1].line}", hint="is a part of the log missing?")
    chosen = _chosen(runs, batch)
    epochs = tuple(_epoch([run.nodes[at] for run in chosen]) for at in range(len(keys)))
    kinds = "".join({run.kind for run in chosen})
    engines = ("i", "stream engines that read: pass 0x31"), ("o", "stream engines that write: pass 0x51")
    for letter, text in (*engines, ("b", "bus interfaces: pass 0x08")):
        if letter not in kinds:
            missing.append(f"no counters of the {text}")
    model = log.models.get(name) or _Model()
    inputs, outputs = (
        tuple(replace(tensor, address=model.addresses.get(side + tensor.name)) for tensor in model.tensors[side])
        for side in "IO"
    )
    passes = {kind: sum(run.kind == kind for run in chosen) for kind in sorted({run.kind for run in chosen})}
    return measured.NetworkMeasurement(
        name=name,
        source=log.where,
        how=f"counter lines of {len(chosen)} inferences in {len(passes)} pass{'es' if len(passes) > 1 else ''}",
        clocks=measured.Clocks(**log.clocks),
        epochs=epochs,
        samples=min(passes.values()),
        inputs=inputs,
        outputs=outputs,
        nodes=model.nodes,
        device=log.device,
        about=model.about,
        missing=tuple(missing),
    )


def parse_counter_log(data: bytes, where: str, batch: int = 0) -> list[measured.NetworkMeasurement]:
    """Each network that a log measured; ``batch``: only the first samples of each pass (0: all). NeuralArtError: the
    log holds no measurement, or one that contradicts itself.
    """
    text = data.decode("utf-8", "replace")
    log = _Log(where)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) < 4096:
            log.line(number, line)
    by_name: dict[str, list[_Run]] = {}
    for run in log.runs:
        by_name.setdefault(run.name, []).append(run)
    if by_name:
        return [_network(log, name, runs, batch) for name, runs in by_name.items()]
    tensors = {name: (tuple(model.tensors["I"]), tuple(model.tensors["O"])) for name, model in log.models.items()}
    found = _printed(text, where, measured.Clocks(**log.clocks), tensors)
    if not found:
        hint = "a log of npu_profiler (best with --debug), of checker or of validate --mode target"
        raise NeuralArtError("holds no measurement of an NPU", where=where, hint=hint)
    return found


def read_counter_log(path: Path, batch: int = 0) -> list[measured.NetworkMeasurement]:
    """As :func:`parse_counter_log`, of a file."""
    return parse_counter_log(read_bytes(path), path.as_posix(), batch)


# ---- figures printed for people: npu_profiler's blocks of each epoch, and the table of times


def _printed(text: str, where: str, clocks: measured.Clocks, tensors: Tensors) -> list[measured.NetworkMeasurement]:
    """Each network that a log has figures of; none if it has none. ``tensors``: inputs and outputs by network."""
    parts: list[tuple[str, list[ReportLine]]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        bare = _LEVEL.sub("", raw[:4096]).strip()
        if found := _RESULTS.search(bare):
            parts.append((found[1] or "", []))
        elif parts:
            parts[-1][1].append(ReportLine(number, bare))
    made = []
    for told, lines in parts:
        name = told or (next(iter(tensors)) if len(tensors) == 1 else "")
        epochs, how = _blocks(lines), "blocks of npu_profiler"
        missing = ["no cycles of the NPU before and behind its work: they are in a log made with --debug"]
        if not epochs:
            epochs, how = _rows_of_times(read_nodes(lines, [])), "table of times"
            missing = ["no cycles of the NPU and no counters: npu_profiler --debug tells them"]
        elif any(epoch.streams for epoch in epochs):
            missing.append("npu_profiler prints one mean of an engine that reads and writes: --debug tells both")
        if epochs:
            inputs, outputs = tensors.get(name, ((), ()))
            samples = whole(after(lines, "nb sample(s)")) or 0
            sources = (name, where, f"{how}, means of {samples} samples", clocks, tuple(epochs), samples)
            made.append(measured.NetworkMeasurement(*sources, inputs, outputs, missing=tuple(missing)))
    return made


def _rows_of_times(nodes: Sequence[NodeTime]) -> list[measured.MeasuredEpoch]:
    """Rows of the table of times that are epochs; an extra one is a part of the one before it."""
    found: list[measured.MeasuredEpoch] = []
    for node in nodes:
        name, kind = _EPOCH_NAME.match(node.name), _KIND.fullmatch(node.type)
        if name is None or kind is None or len(node.cycles) != 3:
            continue
        first, cycles = int(name[1]), measured.Phases(*node.cycles)
        one = measured.MeasuredEpoch(
            first, int(name[2] or first), {None: "HW", "MIX": "HYBRID"}.get(kind[1], kind[1]), cycles
        )
        if kind[1] == "extra" and found:
            found[-1] = replace(found[-1], mcu=measured.total_phases((found[-1], one), "mcu"))
        else:
            found.append(one)
    return found


def _numbers_in(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d{1,18}", text))


def _blocks(lines: Sequence[ReportLine]) -> list[measured.MeasuredEpoch]:
    found: list[measured.MeasuredEpoch] = []
    said: dict[str, object] = {}
    streams: list[measured.StreamActivity] = []
    ports: dict[int, measured.BusBursts] = {}

    def close() -> None:
        if said:
            found.append(measured.MeasuredEpoch(**said, streams=tuple(streams), ports=dict(ports)))  # type: ignore[arg-type]
        said.clear()
        streams.clear()
        ports.clear()

    for line in lines:
        bare = line.bare
        if block := _BLOCK.match(bare):
            close()
            first, last = int(block[1]), int(block[2])
            said.update(first=first, last=max(first, last), kind=block[3])
        elif bare == "Summary":
            break
        elif not said:
            continue
        elif _CYCLES.match(bare) and len(cycles := _numbers_in(bare.split("->")[0])) == 3:
            said["mcu"] = measured.Phases(*cycles)
        elif core := _CORE.match(bare):
            said["npu"] = measured.Phases(None, int(core[1]), None)
        elif (port := _PORT.match(bare)) and len(_numbers_in(port[2])) == len(_numbers_in(port[3])) == 4:
            ports[int(port[1])] = measured.BusBursts(_numbers_in(port[2]), _numbers_in(port[3]))
        elif stream := _STREAM.search(bare):
            streams.append(measured.StreamActivity(stream[2], int(stream[1]), int(stream[3])))
        elif cache := _CACHE.match(bare):
            said["cache"] = measured.CacheCounts(_numbers_in(cache[1]), _numbers_in(cache[2]))
    close()
    return found
