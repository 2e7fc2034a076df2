"""The epochs of a compiled network as a description: what each does, from structures and programs alike.

What a hardware epoch does is told by its registers alone: units, streams, bytes, products. Nothing is executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.vendor.network_c.types import GeneratedNetwork
from neuralart_virtual.network_c.ecblobs import BlobHeader, moved
from neuralart_virtual.network_c.epochs import EpochFunction
from neuralart_virtual.npu.controller import execute
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.registers import KINDS
from neuralart_virtual.npu.run import VirtualNetwork
from neuralart_virtual.npu.software import dispatch
from neuralart_virtual.npu.state import NpuState, UnitState
from neuralart_virtual.npu.units.convolution import FEATURES, KERNELS, Convolution, FrameNeeds
from neuralart_virtual.npu.units.pooling import Pooling
from neuralart_virtual.npu.units.rounding import Ties
from neuralart_virtual.npu.units.streams import StreamEngine
from neuralart_virtual.npu.units.switch import Link, Port, Source, links

# Products that an accelerator makes in a step, of features with 8 and with 16 bits (SIMD 1 and 2). No document says so:
# the kernels that public programs load at once (NR * WIDTH * HEIGHT; in deep mode three channels of NR) end there, and
# 4 * 72 products at 1 GHz are 576 of the 600 GOPS that the vendor names.
_BYTES, _WORDS, _WIDE = 72, 36, 2
_ALWAYS = ("CLKCTRL", "INTCTRL", "BUSIF", "STRSWITCH", "EPOCHCTRL")  # Of every epoch


class EngineStream(NamedTuple):
    """What a stream engine moves."""

    engine: int
    writes: bool  # To memory; else it reads
    start: int  # Address of the first byte that any frame touches
    end: int  # Address behind the last one
    bytes: int  # Of all frames; what is read twice counts twice


@dataclass(frozen=True)
class EpochFacts:
    """What an epoch of the NPU does."""

    units: tuple[str, ...]  # That are enabled
    streams: tuple[EngineStream, ...]
    macs: int  # Products of the convolution accelerators, those by zeros too
    steps: int  # Words of the longest stream that a unit takes or makes, one in a step; more if the products need more
    most: int  # Products that all accelerators of the NPU could make in so many steps; 0: none is used
    settings: str  # Hash of the registers of units that compute, without their numbers and coefficients


class _Demand:
    """How many words arrive at each port until all output engines have written their frames."""

    def __init__(self, state: NpuState) -> None:
        self.units = {key: unit for key, unit in state.units.items() if unit.enabled}
        self.links: dict[Port, Link] = {port: link for port, link in links(state).items() if port[:2] in self.units}
        nowhere, ties = NpuMemory(), Ties()
        self.engines = {i: StreamEngine(unit, nowhere) for i, unit in self._of("STRENG")}
        self.accelerators = {i: Convolution(unit, ties) for i, unit in self._of("CONVACC")}
        self.needs: dict[int, FrameNeeds] = {i: unit.needs() for i, unit in self.accelerators.items()}
        self._pools = {i: Pooling(unit, ties) for i, unit in self._of("POOL")}
        # Words that each unit makes: as many as the reader wants that wants most.
        self._made: dict[Source, int] = dict.fromkeys(self.units, 0)
        # A round for each unit of the longest chain; sums may go round in a circle.
        for _ in range(len(self.units) + 1):
            wanted = {source: max(self._shares(source), default=0) for source in self.units}
            if wanted == self._made:
                break
            self._made = wanted

    def _of(self, kind: str) -> list[tuple[int, UnitState]]:
        return [(index, unit) for (name, index), unit in self.units.items() if name == kind]

    @property
    def computed(self) -> list[int]:
        """Words at each port that a unit feeds or takes from; not those that one engine hands to another."""
        copies = {p for p, link in self.links.items() if {p[0], *(c.source[0] for c in link.contexts)} == {"STRENG"}}
        return [self._wanted(port) for port in self.links if port not in copies]

    def frames(self, index: int) -> int:
        """Frames that an accelerator makes."""
        return -(-self._made["CONVACC", index] // self.needs[index].outputs)

    def _wanted(self, port: Port) -> int:
        kind, index, number = port
        if kind == "STRENG":
            engine = self.engines[index]
            return engine.frames * engine.elements if engine.writes else 0
        if kind == "POOL":
            pool = self._pools[index]
            return -(-self._made[kind, index] // pool.outputs) * pool.elements
        if kind != "CONVACC":
            return self._made[kind, index]
        unit, needs, frames = self.accelerators[index], self.needs[index], self.frames(index)
        if number == FEATURES:
            return -(-frames // (unit.stays or 1)) * needs.features
        if number == KERNELS:
            return frames * needs.kernels
        return max(frames - unit.first_alone, 0) * needs.outputs if unit.sums else 0

    def _shares(self, source: Source) -> list[int]:
        return [self._share(port, link, source) for port, link in self.links.items()]

    def _share(self, port: Port, link: Link, source: Source) -> int:
        """Words of a source that a port takes, those that its contexts drop too."""
        if all(context.source != source for context in link.contexts):
            return 0
        if len(link.contexts) == 1:
            return self._wanted(port)
        size = self._frame(source)
        left = -(-self._wanted(port) // size)
        turns = max(left - 1, 0) // sum(context.frames for context in link.contexts if context.passes)
        taken = 0
        for context in link.contexts:
            mine, frames = context.source == source, context.frames
            taken += turns * frames * mine
            left -= turns * frames * context.passes
        for context in link.contexts:
            frames = min(context.frames, left) if context.passes else context.frames
            if left > 0 and context.source == source:
                taken += frames
            left -= frames * context.passes
        return taken * size

    def _frame(self, source: Source, passed: int = 0) -> int:
        """Words of a frame of a source; arithmetic units and activations keep those of their first input."""
        kind, index = source
        if source not in self.units:
            raise NpuError(f"{kind}{index} feeds another unit, and is not enabled")
        if kind == "STRENG":
            return self.engines[index].elements
        if kind == "CONVACC":
            return self.needs[index].outputs
        if kind == "POOL":
            return self._pools[index].outputs
        link = self.links.get((kind, index, 0))
        if link is None or passed > len(self.units):
            self.units[source].fail("nothing feeds it: it has no frames")
        return self._frame(link.contexts[0].source, passed + 1)


def of_state(state: NpuState) -> EpochFacts:
    """What the enabled units do. NpuError: settings that do not fit each other, so that nothing can be told."""
    demand = _Demand(state)
    streams = tuple(
        EngineStream(i, engine.writes, *engine.reach(), engine.frames * engine.elements * engine.size)
        for i, engine in demand.engines.items()
        if engine.frames
    )
    products = {i: demand.frames(i) * needs.products for i, needs in demand.needs.items()}
    rates = {i: _WORDS if demand.units["CONVACC", i].get("CTRL", "SIMD") == _WIDE else _BYTES for i in products}
    steps = max([*demand.computed, *(-(-products[i] // rates[i]) for i in products)], default=0)
    idle = (KINDS["CONVACC"].count - len(rates)) * max(rates.values(), default=0)
    most = (sum(rates.values()) + idle) * steps
    names = tuple(unit.name for (kind, _), unit in demand.units.items() if kind not in _ALWAYS)
    return EpochFacts(names, streams, sum(products.values()), steps, most, _settings(demand.units))


def _settings(units: dict[Source, UnitState]) -> str:
    lines = []
    for (kind, _), unit in units.items():
        if kind not in (*_ALWAYS, "STRENG"):
            lines.append(f"{kind} {[unit.word(offset) for offset in sorted(unit.facts.by_offset)]}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:8]


Epoch = dict[str, Any]
Span = tuple[str, int, int]  # Name, first address, address behind it
# Bases of what a header alone does not tell: apart from each other and from all memory.
_FIRST, _STEP = 0xA0000000, 0x02000000
# What the NPU of the STM32N6 reaches, as its reference manual calls it.
_MEMORIES = (("RAM", 0x34000000, 0x343C0000), ("XSPI2", 0x70000000, 0x80000000), ("XSPI1", 0x90000000, 0xA0000000))


def _pools(start: int, end: int, spans: Iterable[Span]) -> str:
    """Names of the memory pools that a stream touches; an address where it touches none."""
    names = [name for name, low, high in spans if start < high and low < end]
    return "+".join(dict.fromkeys(names)) or f"0x{start:08x}"


def _epoch(label: str, kind: str = "", **known: Any) -> Epoch:
    """An epoch, ready for JSON."""
    nothing: Epoch = {
        "units": [],
        "kernels": [],
        "streams": [],
        "macs": None,
        "most_macs": None,
        "settings": "",
        "missing": "",
    }
    return {"epoch": label, "kind": kind, **nothing, **known}


def _hardware(label: str, state: NpuState, spans: Iterable[Span]) -> Epoch:
    try:
        facts = of_state(state)
    except NeuralArtError as error:
        units = [unit.name for unit in state.units.values() if unit.enabled]
        return _epoch(label, "HW", units=units, missing=error.what)
    streams = [
        {
            **{"engine": stream.engine, "writes": stream.writes, "pool": _pools(stream.start, stream.end, spans)},
            **{"address": stream.start, "bytes": stream.bytes},
        }
        for stream in facts.streams
    ]
    figures = {"macs": facts.macs, "most_macs": facts.most, "settings": facts.settings}
    return _epoch(label, "HW", units=list(facts.units), streams=streams, **figures)


def _collector(found: list[Epoch], spans: Iterable[Span]) -> Callable[[str, NpuState | EpochFunction], None]:
    def see(label: str, what: NpuState | EpochFunction) -> None:
        if isinstance(what, NpuState):
            found.append(_hardware(label, what, spans))
        elif names := dispatch.kernels(what):
            found.append(_epoch(label, "SW", kernels=list(names)))

    return see


def of_network(network: GeneratedNetwork, folder: Path) -> list[Epoch]:
    """Each epoch in order. ``folder``: of the header with programs; no initializers are needed.

    An epoch has ``epoch`` (its number), ``kind`` (``HW`` or ``SW``), ``units``, ``kernels``, ``streams`` (each with
    ``engine``, ``writes``, ``pool``, ``address``, ``bytes``), ``macs``, ``most_macs``, ``settings``, ``missing`` (why
    something is unknown). Raises NeuralArtError: the header is missing or cannot be read.
    """
    virtual, found = VirtualNetwork(network, folder=folder, blank=True), list[Epoch]()
    used = [pool for pool in network.pools if pool.size and not (pool.virtual or pool.of_user)]
    bases = {pool.fname: virtual.ids.get(pool.fname, pool.address) for pool in used}
    spans = [(pool.name, bases[pool.fname], bases[pool.fname] + pool.size) for pool in used]
    buffers = {base: name for name, base in virtual.ids.items() if name not in bases}
    regions = (region for region in virtual.memory.regions if region.base in buffers)
    spans += [(buffers[region.base], region.base, region.base + len(region.data)) for region in regions]
    see = _collector(found, spans)
    for label, block in virtual.blocks():
        try:
            virtual.epochs(block, label, see)
        except NeuralArtError as error:
            found.append(_epoch(label, missing=error.what))
    return found


def of_programs(header: BlobHeader) -> list[Epoch]:
    """Each epoch of a header with programs; pools are known by what moves with them, else by addresses."""
    found, names = list[Epoch](), sorted({each.id for blob in header.blobs for each in blob.relocations})
    bases: Mapping[str, int] = {name: _FIRST + number * _STEP for number, name in enumerate(names)}
    see = _collector(found, [*_MEMORIES, *((name, base, base + _STEP) for name, base in bases.items())])
    for blob in header.blobs:
        try:
            execute(moved(blob, dict(bases), header.where), NpuDevice(NpuMemory(), instead=see))
        except NeuralArtError as error:
            found.append(_epoch(blob.symbol, missing=error.what))
    return found
