"""Runs compiled networks on this machine: their network.c, the runtime and the kernels, in a process of its own.

Its memory pools lie at the addresses of the target.

Linux on x86-64 only: nothing else lets a program map the low gigabytes at will. :func:`unavailable` says why not.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neuralart.network import facts
from neuralart.network.facts import Network, Port

RUNTIME = Path(__file__).parents[2] / "firmware" / "runtime"
RUNNER = Path(__file__).with_name("native_runner.c")
FLAGS = ("-std=gnu11", "-fPIE", "-ffp-contract=off", "-fno-fast-math", "-Wall", "-Wextra", "-Werror")
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")
PAGE = 0x10000
# What was in memory before the network ran: nobody may rely on zeros.
GARBAGE = 0xA5
# Where buffers of the application go; aligned to no more than the interface asks for.
OWN_BUFFERS = 0x2_0000_0000


def unavailable() -> str:
    """Why networks cannot run natively here; empty if they can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} {platform.machine()}"
        return f"native runs map the target's addresses, on x86-64 Linux only (this is {here})"
    return "" if shutil.which("cc") else "no C compiler for this machine"


class NativeNetwork:
    """A network ready to run.

    Attributes:
        facts: Its network.json.
    """

    def __init__(self, network: Network, folder: Path, program: Path) -> None:
        self.facts = network
        self._folder = folder
        self._program = program

    def run(self, vectors: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Load the initializers into memory full of garbage, then one inference per vector.

        Args:
            vectors: For each inference a value per input, in the order of the model.

        Returns:
            For each inference the outputs, in the order of the model.
        """
        commands = self._memory()
        ports = [("in", n, port) for n, port in enumerate(self.facts.inputs)]
        ports += [("out", n, port) for n, port in enumerate(self.facts.outputs)]
        addresses = {(side, n): port.address for side, n, port in ports}
        free = OWN_BUFFERS
        for side, number, port in ports:
            if port.user_allocated:
                address = free + 8
                free += -(-(port.bytes + 8) // 16) * 16
                addresses[side, number] = address
                commands.append(f"set {self.facts.name} {side} {number:x} {address:x} {port.bytes:x}")
        commands[:0] = self._mapping([(OWN_BUFFERS, free)])
        given = []
        for vector in vectors:
            for number, (port, value) in enumerate(zip(self.facts.inputs, vector, strict=True)):
                given.append(_raw(port, value))
                commands.append(f"in {addresses['in', number]:x} {port.bytes:x}")
            commands.append(f"run {self.facts.name}")
            commands += [f"out {addresses['out', n]:x} {port.bytes:x}" for n, port in enumerate(self.facts.outputs)]
        return self._results(len(vectors), self._execute(commands, b"".join(given)))

    def _memory(self) -> list[str]:
        physical = [pool for pool in self.facts.pools if not pool.virtual]
        fill = [f"fill {pool.address:x} {min(pool.used, pool.size):x} {GARBAGE:x}" for pool in physical]
        prefix = self._folder.resolve() / f"{self.facts.name}_atonbuf"
        return [*fill, *(f"load {pool.address:x} {prefix}.{pool.fname}.raw" for pool in self.facts.initializers)]

    def _mapping(self, more: Sequence[tuple[int, int]]) -> list[str]:
        """Pools as whole pages; pools that share a page become one range."""
        ranges = [(pool.address, pool.address + pool.size) for pool in self.facts.pools if not pool.virtual]
        joined: list[list[int]] = []
        for start, end in sorted((a // PAGE * PAGE, -(-b // PAGE) * PAGE) for a, b in [*ranges, *more] if a < b):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        return [f"map {start:x} {end - start:x}" for start, end in joined]

    def _execute(self, commands: Sequence[str], inputs: bytes) -> bytes:
        inputs_path, outputs_path = self._folder / "inputs.run", self._folder / "outputs.run"
        inputs_path.write_bytes(inputs)
        done = subprocess.run(
            [self._program, inputs_path, outputs_path],
            input="".join(f"{command}\n" for command in commands),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.facts.name}: native run ended with {done.returncode}: {done.stderr}")
        return outputs_path.read_bytes()

    def _results(self, count: int, raw: bytes) -> list[list[np.ndarray]]:
        results: list[list[np.ndarray]] = []
        at = 0
        for _ in range(count):
            one = []
            for port in self.facts.outputs:
                one.append(np.frombuffer(raw[at : at + port.bytes], port.dtype).reshape(port.shape))
                at += port.bytes
            results.append(one)
        return results


def build(folders: Sequence[Path], work: Path, *, sanitize: bool = False) -> list[NativeNetwork]:
    """Build compiled networks into one program.

    Args:
        folders: Output folders of the reference compiler; the C names of the networks differ.
        work: A folder for objects.
        sanitize: Undefined behavior in runtime or kernels ends the run.

    Returns:
        The networks in the order given.
    """
    networks = [facts.load(folder / "network.json") for folder in folders]
    names = [network.name for network in networks]
    (work / "native_networks.h").write_text(_table(names), encoding="utf-8")
    sources = [folder.resolve() / f"{name}.c" for folder, name in zip(folders, names, strict=True)]
    # One process for all of them: starting the compiler costs more than a network.c.
    _cc(work, "-O0", "-I.", "-c", str(RUNNER), *map(str, sources))
    objects = [f"{source.stem}.o" for source in (RUNNER, *sources)]
    extra = SANITIZER if sanitize else ()
    _cc(work, *extra, "-pie", "-o", "native_runner", *objects, *map(str, _runtime_objects(work, extra)))
    program = (work / "native_runner").resolve()
    return [NativeNetwork(network, folder, program) for network, folder in zip(networks, folders, strict=True)]


def _raw(port: Port, value: np.ndarray) -> bytes:
    raw = np.ascontiguousarray(value).tobytes()
    if value.dtype.name != port.dtype or len(raw) != port.bytes:
        raise ValueError(f"input {port.name}: {value.dtype}{value.shape} for {port.dtype}{port.shape}")
    return raw


def _table(names: Sequence[str]) -> str:
    declared = "".join(f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({name});\n" for name in names)
    rows = "".join(f'  {{"{name}", &NN_Instance_{name}}},\n' for name in names)
    return f"{declared}static const entry_t networks[] = {{\n{rows}  {{NULL, NULL}},\n}};\n"


_runtime_made: dict[tuple[str, ...], list[Path]] = {}


def _runtime_objects(work: Path, extra: tuple[str, ...]) -> list[Path]:
    """Runtime and kernels, optimized as in the firmware, once per process and flags."""
    if extra not in _runtime_made:
        folder = work / "runtime"
        folder.mkdir()
        sources = [RUNTIME / "ll_aton_runtime.c", *sorted((RUNTIME / "kernels").glob("*.c"))]
        _cc(folder, *extra, "-O2", "-c", *map(str, sources))
        _runtime_made[extra] = [(folder / f"{source.stem}.o").resolve() for source in sources]
    return _runtime_made[extra]


def _cc(folder: Path, *arguments: str) -> None:
    command = ["cc", *FLAGS, "-I", str(RUNTIME / "include"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"cc failed:\n{done.stderr}")
