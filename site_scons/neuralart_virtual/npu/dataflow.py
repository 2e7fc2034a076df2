"""The dataflow of an epoch: output engines ask their sources for frames, and those ask theirs.

Whole frames, without time. What a unit produces is made once and kept for each of its readers. Every
consumer cuts the stream by its own geometry. What cannot finish is an error, never a hang.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from neuralart_virtual.npu.bounds import RoundedSums
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.modes import Assumptions, check_all
from neuralart_virtual.npu.state import NpuState, UnitState
from neuralart_virtual.npu.units.activation import ActivationUnit
from neuralart_virtual.npu.units.arithmetic import Arithmetic, X, Y
from neuralart_virtual.npu.units.convolution import SUMS, Convolution
from neuralart_virtual.npu.units.pooling import Pooling
from neuralart_virtual.npu.units.rounding import Ties, Values
from neuralart_virtual.npu.units.streams import StreamEngine
from neuralart_virtual.npu.units.switch import Link, Port, Source, links

# An epoch that needs more is taken for one that never ends. The largest public ones need a hundredth.
MOST_WORK = 1 << 32
# What handling a frame costs beside its elements, in elements; how many products cost as one element.
_FRAME, _PRODUCTS = 4096, 16


@dataclass(frozen=True)
class Settings:
    """How a model runs programs."""

    ties: Ties = field(default_factory=Ties)
    assumptions: Assumptions = field(default_factory=Assumptions)
    work: int = MOST_WORK  # Elements that an epoch may handle
    bounds: bool = False  # Tell how far each buffer may be from a reference


class WrittenFrames(NamedTuple):
    """What an output engine wrote."""

    engine: int
    start: int  # Address of the first byte of any of its frames
    end: int  # Address behind the last one
    size: int  # Bytes of an element
    elements: int  # Of all frames
    allowed: float | None = None  # Steps that it may be from a reference; None: not asked for, or no rule says it


@dataclass
class EpochWork:
    """What an epoch did."""

    written: list[WrittenFrames] = field(default_factory=list)
    read_bytes: int = 0
    written_bytes: int = 0
    products: int = 0  # Multiplications of the convolution accelerators
    units: tuple[str, ...] = ()  # That were enabled


class Dataflow:
    """The enabled units of an NPU, put together by the stream switch. It runs once."""

    def __init__(self, state: NpuState, memory: NpuMemory, label: str, settings: Settings) -> None:
        """Decode all units. NpuError: a mode that is not executed, or settings that do not fit."""
        check_all(state, label, settings.assumptions)
        self._label, self._settings = label, settings
        self._links: dict[Port, Link] = links(state)
        self._units: dict[Source, UnitState] = {key: unit for key, unit in state.units.items() if unit.enabled}
        self.engines: dict[int, StreamEngine] = {}
        self._run: dict[Source, Callable[[Source, int, int], Values]] = {}
        for (kind, index), unit in self._units.items():
            self._add(kind, index, unit, memory)
        self._readers: dict[Source, list[Port]] = {}
        for port, link in self._links.items():
            if port[:2] in self._units:
                for source in {context.source for context in link.contexts}:
                    self._readers.setdefault(source, []).append(port)
        self._queues: dict[tuple[Port, Source], deque[Values]] = {
            (port, source): deque() for source, ports in self._readers.items() for port in ports
        }
        # Engines whose frames may come joined: no reader counts frames, or none of a context does.
        counted = any(len(link.contexts) > 1 for link in self._links.values())
        self._cut_freely = {
            source
            for source, ports in self._readers.items()
            if source[0] == "STRENG"
            and all(
                len(self._links[port].contexts) == 1 and not (counted and port[0] in ("ARITH", "ACTIV"))
                for port in ports
            )
        }
        self._rest: dict[Port, Values] = {}
        self._turn: dict[Port, list[int]] = {}
        self._made: dict[Source, int] = {}
        self._busy: list[Source] = []
        self.done: dict[int, int] = {}
        self._work_left = settings.work
        self.work = EpochWork(units=tuple(unit.name for unit in self._units.values()))
        self._connect_engines()

    def _add(self, kind: str, index: int, unit: UnitState, memory: NpuMemory) -> None:
        ties = self._settings.ties
        if kind == "STRENG":
            self.engines[index] = StreamEngine(unit, memory)
            self._run[kind, index] = self._read
        elif kind == "CONVACC":
            convolution = Convolution(unit, ties)
            self._run[kind, index] = lambda source, n, _: convolution.run(n, _Inputs(self, source))
        elif kind == "ARITH":
            arithmetic = Arithmetic(unit, ties)
            self._run[kind, index] = lambda source, _, wanted: self._arithmetic(source, arithmetic, wanted)
        elif kind == "ACTIV":
            activation = ActivationUnit(unit, ties)
            self._run[kind, index] = lambda source, _, wanted: activation.run(self._frame((*source, 0), wanted))
        elif kind == "POOL":
            pooling = Pooling(unit, ties)
            elements = pooling.elements
            self._run[kind, index] = lambda source, _, __: pooling.run(self.take((*source, 0), elements))

    def _connect_engines(self) -> None:
        outputs = {i: engine for i, engine in self.engines.items() if engine.writes}
        reaches = [engine.reach() for engine in outputs.values() if engine.frames]
        for index, engine in self.engines.items():
            if engine.writes:
                continue
            start, end = engine.reach()
            engine.changes = any(start < other[1] and other[0] < end for other in reaches)
            feeds_sums = any(
                port[0] == "CONVACC" and port[2] == SUMS for port in self._readers.get(("STRENG", index), ())
            )
            if engine.trigger is None and feeds_sums:
                # Partial sums that come back through memory: only what was written can be read.
                same = (i for i, other in outputs.items() if other.address == engine.address)
                engine.trigger = next(same, None)

    # ---- the run ----

    def run(self) -> EpochWork:
        """Let every output engine write all of its frames, in turns. Raises NpuError."""
        outputs = {i: engine for i, engine in self.engines.items() if engine.writes}
        self.done = {i: 0 for i in outputs}
        for i, engine in outputs.items():
            if ("STRENG", i, 0) not in self._links:
                engine.unit.fail("nothing feeds this output engine: it never finishes")
            self.spend(("STRENG", i), 0, engine.frames * (engine.elements + _FRAME) // 16 * 16)
        try:
            while any(self.done[i] < engine.frames for i, engine in outputs.items()):
                for i, engine in outputs.items():
                    if self.done[i] < engine.frames:
                        self._store(i)
        except NpuError as error:
            raise error.at(epoch=self._label) from None
        sums = RoundedSums(self._units, self._links) if self._settings.bounds else None
        for i, engine in outputs.items():
            if engine.frames:
                elements = engine.frames * engine.elements
                allowed = sums.allowed(i) if sums is not None else None
                self.work.written.append(WrittenFrames(i, *engine.reach(), engine.size, elements, allowed))
        return self.work

    def spend(self, source: Source, outputs: int, products: int) -> None:
        """Count work. Raises NpuError: the epoch would go on for longer than any real one."""
        self._work_left -= outputs + products // _PRODUCTS
        if self._work_left < 0:
            self._units[source].fail("the epoch does not end: its frames are too many or too large")

    def _store(self, index: int) -> None:
        """One more frame of an output engine."""
        source = ("STRENG", index)
        engine = self.engines[index]
        if source in self._busy:
            engine.unit.fail("it waits for a frame that it has to write itself: deadlock")
        self._busy.append(source)
        values = self.take(("STRENG", index, 0), engine.elements)
        engine.write(self.done[index], values)
        self.work.written_bytes += engine.elements * engine.size
        self.done[index] += 1
        self._busy.pop()

    def take(self, port: Port, count: int) -> Values:
        """Exactly the next elements at a port, whatever frames they come in: shape (count,)."""
        # A frame that cannot be is found before memory is asked for.
        self.spend(port[:2], count // 64, 0)
        rest = self._rest.pop(port, None)
        have = 0 if rest is None else len(rest)
        if rest is None or have == 0:
            rest = self._frame(port, count)
            have = len(rest)
        if have < count:
            parts = [rest]
            while have < count:
                parts.append(self._frame(port, count - have))
                have += len(parts[-1])
            rest = np.concatenate(parts)
        if have > count:
            self._rest[port] = rest[count:]
        return rest[:count]

    def _frame(self, port: Port, wanted: int = 0) -> Values:
        """The next frame that arrives at a port, as its source made it.

        ``wanted``: elements that the port needs; several frames of an engine may come at once.
        """
        link = self._links.get(port)
        if link is None:
            self._units[port[:2]].fail(f"nothing feeds its input {port[2]}: it never finishes")
        if len(link.contexts) == 1:
            return self._next(port, link.contexts[0].source, wanted)
        turn = self._turn.setdefault(port, [0, link.contexts[0].frames])
        while True:
            while turn[1] == 0:
                turn[0] ^= 1
                turn[1] = link.contexts[turn[0]].frames
            turn[1] -= 1
            context = link.contexts[turn[0]]
            values = self._next(port, context.source)
            if context.passes:
                return values

    def _next(self, port: Port, source: Source, wanted: int = 0) -> Values:
        queue = self._queues[port, source]
        while not queue:
            values = self._produce(source, port, wanted)
            for reader in self._readers[source]:
                self._queues[reader, source].append(values)
        return queue.popleft()

    def _produce(self, source: Source, port: Port, wanted: int) -> Values:
        run = self._run.get(source)
        if run is None:
            name = f"{source[0]}{source[1]}"
            self._units[port[:2]].fail(f"its input {port[2]} is fed by {name}, which is not enabled")
        if source in self._busy:
            circle = " <- ".join(f"{kind}{i}" for kind, i in self._busy[self._busy.index(source) :])
            self._units[source].fail(f"it waits for its own next frame ({circle}): deadlock")
        number = self._made.get(source, 0)
        count = 1
        if wanted and source in self._cut_freely:
            engine = self.engines[source[1]]
            count = engine.together(number, -(-wanted // engine.elements))
        self._made[source] = number + count
        self._busy.append(source)
        values = run(source, number, wanted) if count == 1 else self._read(source, number, wanted, count)
        self._busy.pop()
        self.spend(source, len(values) + _FRAME, 0)
        return values

    # ---- units ----

    def _read(self, source: Source, number: int, _: int, count: int = 1) -> Values:
        engine = self.engines[source[1]]
        if engine.writes:
            engine.unit.fail("a stream begins at this engine, which is set to write")
        if engine.trigger is not None:
            other = self.engines.get(engine.trigger)
            if other is None or not other.writes:
                engine.unit.refuse("EVENT", "FRMTRG_SRC", "no output engine: it never triggers")
            while self.done[engine.trigger] < number:
                if self.done[engine.trigger] >= other.frames:
                    reason = f"frame {number} waits for a frame of STRENG{engine.trigger} that never comes"
                    engine.unit.fail(reason)
                self._store(engine.trigger)
        self.spend(source, count * engine.elements, 0)
        self.work.read_bytes += count * engine.elements * engine.size
        return engine.read(number, count)

    def _arithmetic(self, source: Source, unit: Arithmetic, wanted: int) -> Values:
        x = self._frame((*source, X), wanted)
        return unit.run(x, self.take((*source, Y), len(x)) if unit.dual else None)


class _Inputs:
    """The inputs of one unit."""

    def __init__(self, flow: Dataflow, source: Source) -> None:
        self._flow, self._source = flow, source

    def take(self, port: int, count: int) -> Values:
        return self._flow.take((*self._source, port), count)

    def spend(self, outputs: int, products: int) -> None:
        self._flow.work.products += products
        self._flow.spend(self._source, outputs, products)
