"""A whole compiled network on the virtual NPU: its epochs in order, inputs and outputs by name.

It executes what ST Edge AI Core compiled, without time. Hardware epochs come from the structures of
network.c or from programs of the epoch controller; software epochs run kernels of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuralart.errors import NeuralArtError
from neuralart.vendor.network_c.read import read
from neuralart.vendor.network_c.types import EC, EpochBlock, GeneratedNetwork, NetworkPort
from neuralart_virtual.network_c import ecblobs
from neuralart_virtual.network_c.epochs import Description, EpochFunction
from neuralart_virtual.npu.controller import execute
from neuralart_virtual.npu.dataflow import Dataflow, EpochWork, Settings
from neuralart_virtual.npu.description.hardware import epoch as epoch_of
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import BlankMemory, Bytes, NpuMemory
from neuralart_virtual.npu.network_memory import NetworkMemory
from neuralart_virtual.npu.software import dispatch
from neuralart_virtual.npu.software.tensors import Output
from neuralart_virtual.npu.state import NpuState
from neuralart_virtual.npu.units.rounding import Ties

_DTYPES = {"int8": "<i1", "uint8": "<u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "float32": "<f4"}


@dataclass(frozen=True)
class EpochResult:
    """An epoch that has run."""

    label: str  # Its number as the compiler gave it
    hardware: bool  # On the NPU; else by a software kernel
    outputs: tuple[Output, ...]  # Buffers that it wrote
    allowed: tuple[float | None, ...]  # Steps that each of them may be from a reference; None: not known
    work: EpochWork  # What the units did; empty for software


@dataclass
class Run:
    """What came of one inference."""

    outputs: dict[str, NDArray[Any]]  # By name; shape as the network has it, type of its elements
    epochs: list[EpochResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # Assumptions that were needed, and unusual tie rules


class VirtualNetwork:
    """A compiled network with its memory. It can run as often as one likes."""

    def __init__(
        self,
        network: GeneratedNetwork,
        initializers: Mapping[str, Path] | None = None,
        *,
        folder: Path | None = None,
        blobs: ecblobs.BlobHeader | None = None,
        settings: Settings | None = None,
        board: NpuMemory | None = None,
        loaded: Mapping[str, int] | None = None,
        blank: bool = False,
    ) -> None:
        """``folder``: where initializers and the header with programs are looked for that are not given. ``board``:
        memory of a board whose firmware has filled the pools; None: the network has memory of its own. ``loaded``: of a
        relocatable model on the board, where its relative pools begin by fname. ``blank``: it has no initializers,
        which is enough to read its epochs.

        Raises NeuralArtError: a file is missing, or cannot be read; a pool of the board has other contents.
        """
        self.network, self.settings = network, settings or Settings()
        places = NetworkMemory(network, initializers or {}, folder, BlankMemory() if blank else board, loaded)
        self.memory: NpuMemory = places.memory
        self._bases, self.ids = places.bases, places.ids
        self._description = Description(network)
        self._reader = StructureReader(self._description, self.memory, self._bases)
        needs_blobs = any(block.kind == EC for block in network.blocks)
        if blobs is None and needs_blobs:
            if folder is None or not network.ecblobs:
                raise NpuError("its programs are in a header that is not given", file=network.where)
            blobs = ecblobs.read(folder / network.ecblobs, network.ecblobs)
        self._blobs = {blob.symbol: blob for blob in blobs.blobs} if blobs else {}

    # ---- inputs and outputs ----

    def _port(self, name: str, ports: tuple[NetworkPort, ...], what: str) -> NetworkPort:
        for port in ports:
            if port.row.name == name:
                return port
        known = ", ".join(port.row.name for port in ports)
        raise NpuError(f"no {what} is called '{name}'", file=self.network.where, hint=known)

    def _bytes(self, port: NetworkPort) -> Bytes:
        if port.row.symbol:
            base = self._bases.get(port.row.symbol)
            if base is None:
                raise NpuError(f"{port.row.name} needs {port.row.symbol}", file=self.network.where)
            address = base + port.row.start
        else:
            address = port.row.base + port.row.start
        return self.memory.view(address, port.row.bytes)

    def set_input(self, name: str, data: bytes) -> None:
        """The bytes of an input as they stand in memory. NpuError: no such input, or another size."""
        target = self._bytes(self._port(name, self.network.inputs, "input"))
        if len(data) != len(target):
            reason = f"input {name} has {len(target)} bytes, {len(data)} are given"
            raise NpuError(reason, file=self.network.where)
        target[:] = np.frombuffer(data, np.uint8)

    def memory_of(self, name: str) -> bytes:
        """The bytes of an input as they stand in memory now."""
        return self._bytes(self._port(name, self.network.inputs, "input")).tobytes()

    def output(self, name: str) -> NDArray[Any]:
        """An output as it stands in memory: a copy, shape as memory has it."""
        port = self._port(name, self.network.outputs, "output")
        whole, kind = self._bytes(port), np.dtype(_DTYPES.get(port.dtype, "<u1"))
        if len(whole) % kind.itemsize:
            raise NpuError(f"output {name} has {len(whole)} bytes, no {port.dtype}", file=self.network.where)
        data = whole.copy().view(kind)
        shape = port.mem_shape or port.shape
        return data.reshape(shape) if shape and int(np.prod(shape)) == len(data) else data

    # ---- the run ----

    def run(self, observe: Callable[[EpochResult], None] = lambda result: None) -> Run:
        """One inference. ``observe`` sees each epoch when it is done; what it writes to memory stays.

        Raises NeuralArtError: what cannot be executed, with the file, the epoch and the register.
        """
        run = Run({})

        def done(result: EpochResult) -> None:
            run.epochs.append(result)
            observe(result)

        def execute_epoch(label: str, epoch: NpuState | EpochFunction) -> None:
            if isinstance(epoch, NpuState):
                done(_hardware(label, Dataflow(epoch, self.memory, label, self.settings).run()))
            elif outputs := dispatch.run(epoch, self._reader):
                done(EpochResult(label, False, tuple(outputs), (1.0,) * len(outputs), EpochWork()))

        for label, block in self.blocks():
            device = NpuDevice(self.memory, self.settings, finished=lambda label, work: done(_hardware(label, work)))
            try:
                self.epochs(block, label, execute_epoch, device)
            except NpuError as error:
                raise error.at(epoch=label, file=self.network.where) from None
        run.outputs = {port.row.name: self.output(port.row.name) for port in self.network.outputs}
        run.notes = [*self.settings.assumptions.notes(), *self.settings.ties.notes()]
        return run

    def blocks(self) -> Iterator[tuple[str, EpochBlock]]:
        """The items of the epoch table, each with the number of its first epoch."""
        for number, block in enumerate(self.network.blocks):
            yield str(number if block.number is None else block.number), block

    def epochs(
        self,
        block: EpochBlock,
        label: str,
        see: Callable[[str, NpuState | EpochFunction], None],
        device: NpuDevice | None = None,
    ) -> None:
        """Hand over the epochs of a block in order: registers, or a function that may call software kernels. ``device``
        runs programs of the epoch controller; None: nothing runs, and ``see`` gets their registers, too.

        Raises NeuralArtError: an epoch cannot be read.
        """
        if block.kind == EC:
            self._program(block, device or NpuDevice(self.memory, instead=see))
        for name in dict.fromkeys(name for name in (block.start, block.end) if name):
            function = self._description.function(name)
            state = None if block.kind == EC else epoch_of(function, self._reader)
            if state is not None:
                see(label, state)
            see(label, function)

    def _program(self, block: EpochBlock, device: NpuDevice) -> None:
        blob = self._blobs.get(block.blob)
        if blob is None:
            raise NpuError(f"no program {block.blob} in {self.network.ecblobs or 'its header'}")
        if blob.encrypted:
            raise NpuError(f"program {block.blob} is encrypted, which is not modeled")
        try:
            execute(ecblobs.moved(blob, self.ids, self.network.ecblobs), device)
        except NpuError as error:
            raise error.at(epoch=device.label) from None


def _hardware(label: str, work: EpochWork) -> EpochResult:
    outputs = tuple(Output(each.start, each.size, each.elements) for each in work.written)
    return EpochResult(label, True, outputs, tuple(each.allowed for each in work.written), work)


def load(
    path: Path,
    initializers: Mapping[str, Path] | None = None,
    *,
    assume: Collection[str] = (),
    ties: Ties | None = None,
    bounds: bool = False,
    board: NpuMemory | None = None,
) -> VirtualNetwork:
    """A network from its network.c, with the files beside it; ``board``: its memory is there already; ``bounds``: each
    epoch tells how far its buffers may be from a reference.

    Raises NeuralArtError.
    """
    from neuralart_virtual.npu.modes import Assumptions

    settings = Settings(ties=ties or Ties(), assumptions=Assumptions.of(assume), bounds=bounds)
    network = read(path, path.name)
    if network.problems:
        raise NeuralArtError(network.problems[0].what, where=network.problems[0].where)
    return VirtualNetwork(network, initializers, folder=path.parent, settings=settings, board=board)
