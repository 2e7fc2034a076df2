"""The network as rows in the order of execution, with a lane for each tensor that skips rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuralart.vendor.c_info.types import CPU, CInfo, InfoNode

INPUT, OUTPUT = "INPUT", "OUTPUT"


@dataclass(frozen=True)
class GraphRow:
    """An epoch or layer, or an input or output of the network."""

    kind: str  # ``HW``, ``EC``, ``SW``, ``HYBRID``, ``NONE``, INPUT or OUTPUT
    label: str  # Number of the epoch, or empty
    node: InfoNode | None  # None of an input or output
    reads: tuple[int, ...]  # Ids of buffers, without parameters
    writes: tuple[int, ...]


@dataclass(frozen=True)
class GraphEdge:
    """A tensor between two rows."""

    buffer: int
    start: int  # Row that writes it
    end: int  # Row that reads it
    lane: int  # 0: the next row; otherwise the lane that it runs in


def rows_of(info: CInfo) -> list[GraphRow]:
    """Inputs, what computes something, outputs."""
    graph = info.graph
    if graph is None:
        return []
    constant = {buffer.id for buffer in info.buffers if buffer.constant}
    nodes = graph.nodes if info.flow == CPU else info.epochs

    def plain(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(each for each in dict.fromkeys(ids) if each not in constant)

    return [
        *(GraphRow(INPUT, "", None, (), (each,)) for each in graph.inputs),
        *(
            GraphRow(
                "SW" if info.flow == CPU else node.kind,
                "" if node.number is None else str(node.number),
                node,
                plain(node.inputs),
                plain(node.outputs),
            )
            for node in nodes
        ),
        *(GraphRow(OUTPUT, "", None, (each,), ()) for each in graph.outputs),
    ]


def _links(rows: Sequence[GraphRow]) -> list[tuple[int, int, int]]:
    """Buffer, writing row and reading row. What a row reads and writes at once is its own from there on."""
    writers: dict[int, list[int]] = {}
    links = []
    for number, row in enumerate(rows):
        links += [(buffer, writer, number) for buffer in row.reads for writer in writers.get(buffer, ())]
        for buffer in row.writes:
            writers[buffer] = [number] if buffer in row.reads else [*writers.get(buffer, ()), number]
    return links


def edges_of(rows: Sequence[GraphRow]) -> list[GraphEdge]:
    """Tensors between rows. Those that skip a row get the first lane that is free for all of their way."""
    links = _links(rows)
    ends: dict[tuple[int, int], int] = {}  # Of a tensor and its writer: one lane serves all readers
    for buffer, start, end in links:
        ends[buffer, start] = max(end, ends.get((buffer, start), 0))
    lanes: list[int] = []  # Row up to which each is taken
    lane_of: dict[tuple[int, int], int] = {}
    for (buffer, start), end in sorted(ends.items(), key=lambda item: (item[0][1], item[1], item[0])):
        if end == start + 1:
            continue
        lane = next((number for number, taken in enumerate(lanes) if taken <= start), len(lanes))
        lanes[lane : lane + 1] = [end]
        lane_of[buffer, start] = lane + 1
    return [
        GraphEdge(buffer, start, end, 0 if end == start + 1 else lane_of[buffer, start])
        for buffer, start, end in dict.fromkeys(links)
    ]
