"""The epochs of a compiled network as a description: what each does, from structures and programs alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.vendor.network_c.types import GeneratedNetwork
from neuralart_virtual.network_c.ecblobs import BlobHeader, moved
from neuralart_virtual.network_c.epochs import EpochFunction
from neuralart_virtual.npu import epoch_facts
from neuralart_virtual.npu.controller import execute
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.run import VirtualNetwork
from neuralart_virtual.npu.software import dispatch
from neuralart_virtual.npu.state import NpuState

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
        facts = epoch_facts.of_state(state)
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
