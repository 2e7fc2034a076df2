"""Figures that tools of the vendor print for people: npu_profiler's blocks of each epoch, and the table of times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from neuralart.vendor.report.tables import ReportLine, after, read_nodes, whole
from neuralart.vendor.report.types import NodeTime
from neuralart_insight.profiling import measured

# ``results v2.0 - "kws"`` begins what is said of a network; the word in front differs with the tool.
_RESULTS = re.compile(r'results v[\d.]{1,9}(?: - "([^"]{0,64})")?')
_LEVEL = re.compile(r"^\[[A-Z](?::\w+)?\]\s?")
_BLOCK = re.compile(r"EpochBlock_\d+ .*\(c_idx=\d+, num=(-?\d+):(-?\d+), c_type=(\w+), extra=(\d+)\)")
_CYCLES = re.compile(r"mcu cycles\s+: \[(\d+), (\d+), (\d+)\]")
_CORE = re.compile(r"core npu cycles\s+: (\d+) ")
_PORT = re.compile(r"busif ([01])\s+: .*rburst\[1,2,4,8\]x8=\(([\d,]+)\) wburst\[1,2,4,8\]x8=\(([\d,]+)\)")
_STREAM = re.compile(r"STRENG\.(\d+)\.([io]): busif=\d, (\d+) cycles")
_CACHE = re.compile(r"NPU cache cnts\s+: R\[([^]]*)\], W\[([^]]*)\]")
_NAME = re.compile(r"EpochBlock_(\d+)(?: -> (\d+))?")
_KIND = re.compile(r"epoch(?: \((EC|SW|HYBRID|MIX|extra)[^)]*\))?")

Tensors = Mapping[str, tuple[tuple[measured.MeasuredTensor, ...], tuple[measured.MeasuredTensor, ...]]]


def measurements(text: str, where: str, clocks: measured.Clocks, tensors: Tensors) -> list[measured.NetworkMeasurement]:
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
            epochs, how = _rows(read_nodes(lines, [])), "table of times"
            missing = ["no cycles of the NPU and no counters: npu_profiler --debug tells them"]
        elif any(epoch.streams for epoch in epochs):
            missing.append("npu_profiler prints one mean of an engine that reads and writes: --debug tells both")
        if epochs:
            inputs, outputs = tensors.get(name, ((), ()))
            samples = whole(after(lines, "nb sample(s)")) or 0
            sources = (name, where, f"{how}, means of {samples} samples", clocks, tuple(epochs), samples)
            made.append(measured.NetworkMeasurement(*sources, inputs, outputs, missing=tuple(missing)))
    return made


def _rows(nodes: Sequence[NodeTime]) -> list[measured.MeasuredEpoch]:
    """Rows of the table of times that are epochs; an extra one is a part of the one before it."""
    found: list[measured.MeasuredEpoch] = []
    for node in nodes:
        name, kind = _NAME.match(node.name), _KIND.fullmatch(node.type)
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


def _numbers(text: str) -> tuple[int, ...]:
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
        elif _CYCLES.match(bare) and len(cycles := _numbers(bare.split("->")[0])) == 3:
            said["mcu"] = measured.Phases(*cycles)
        elif core := _CORE.match(bare):
            said["npu"] = measured.Phases(None, int(core[1]), None)
        elif (port := _PORT.match(bare)) and len(_numbers(port[2])) == len(_numbers(port[3])) == 4:
            ports[int(port[1])] = measured.BusBursts(_numbers(port[2]), _numbers(port[3]))
        elif stream := _STREAM.search(bare):
            streams.append(measured.StreamActivity(stream[2], int(stream[1]), int(stream[3])))
        elif cache := _CACHE.match(bare):
            said["cache"] = measured.CacheCounts(_numbers(cache[1]), _numbers(cache[2]))
    close()
    return found
