"""Runs compiled networks on this machine with arrays for inputs and outputs, and without a single warning of cc."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import numpy as np

from neuralart.compilers.request import CompileRequest
from neuralart.network.facts import Network, Port
from neuralart.resources import PACKAGE
from neuralart_reference.compile import compile_network, write
from neuralart_virtual.emulator import native
from neuralart_virtual.emulator.native import unavailable
from support.projects import compile_answers

__all__ = ["NativeNetwork", "build", "compiled", "unavailable"]
MPOOL = PACKAGE / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
WARNINGS = ("-Wall", "-Wextra", "-Werror")
# Checks are the same without optimization, which takes five times as long with them as the rest of a compile.
SANITIZER = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")


class NativeNetwork:
    """A network ready to run.

    Attributes:
        facts: Its network.json.
    """

    def __init__(self, network: native.NativeNetwork) -> None:
        self.facts: Network = network.facts
        self._network = network

    def run(self, vectors: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """One inference per vector, which has a value per input, in the order of the model; returns the outputs."""
        given = [
            b"".join(_raw(port, value) for port, value in zip(self.facts.inputs, vector, strict=True))
            for vector in vectors
        ]
        results = []
        for raw in self._network.run(given):
            at, one = 0, []
            for port in self.facts.outputs:
                one.append(np.frombuffer(raw[at : at + port.bytes], port.dtype).reshape(port.shape))
                at += port.bytes
            results.append(one)
        return results


def compiled(folder: Path, name: str, model: bytes, *, described: bool = False, **options: object) -> Path:
    """The folder of a network. ``described``: as users have it. Otherwise without what takes most of a compile, and on
    which no output depends: its description, and the search for the order of buffers that needs the least memory.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.tflite"
    path.write_bytes(model)
    request = CompileRequest(model=path, mpool=MPOOL, name=name, report=False, **options)  # type: ignore[arg-type]
    with contextlib.ExitStack() as less:
        if not described:
            less.enter_context(mock.patch("neuralart_reference.compile.c_info", lambda *_: "{}\n"))
            less.enter_context(mock.patch("neuralart_reference.planning.placement._ORDERS", 0))
        write(compile_network(request), folder / name)
    return folder / name


def build(folders: Sequence[Path], work: Path, *, sanitize: bool = False) -> list[NativeNetwork]:
    """Build compiled networks into one program; ``sanitize``: undefined behavior in runtime or kernels ends the run."""
    extra = (*WARNINGS, *(SANITIZER if sanitize else ()))
    return [NativeNetwork(network) for network in native.build(folders, work, extra, runtime(work, extra))]


def runtime(work: Path, extra: Sequence[str] = WARNINGS) -> list[Path]:
    """Runtime and kernels, compiled once for all workers of a run."""
    name = f"native{zlib.crc32(' '.join(extra).encode())}"
    return compile_answers.objects(name, lambda folder: native.runtime_objects(folder, extra), work / "runtime")


def _raw(port: Port, value: np.ndarray) -> bytes:
    raw = np.ascontiguousarray(value).tobytes()
    if value.dtype.name != port.dtype or len(raw) != port.bytes:
        raise ValueError(f"input {port.name}: {value.dtype}{value.shape} for {port.dtype}{port.shape}")
    return raw
