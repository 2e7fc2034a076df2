"""Runs compiled networks on this computer: their network.c, the runtime and the kernels, in a process of its own. Their
memory pools lie at the addresses of the target. Linux on x86-64 only: nothing else lets a program map the low gigabytes
at will.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.network import facts
from neuralart.network.facts import NEURALART, Network
from neuralart.resources import firmware_dir
from neuralart_virtual.emulator import RunFailure

_FLAGS = ("-std=gnu11", "-fPIE", "-ffp-contract=off", "-fno-fast-math")
_PAGE = 0x10000
# What is in memory before a network runs: it must not rely on zeros.
_GARBAGE = 0xA5
# Where buffers of the application go; aligned to no more than the interface asks for.
_OWN_BUFFERS = 0x2_0000_0000


def unavailable() -> str:
    """Why networks cannot run natively here; empty if they can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} {platform.machine()}"
        return f"native runs map the target's addresses, on x86-64 Linux only (this is {here})"
    return "" if shutil.which("cc") else "no C compiler for this computer (cc)"


class NativeNetwork:
    """A network ready to run."""

    def __init__(self, network: Network, folder: Path, program: Path) -> None:
        """``folder`` has the files of its compile, ``program`` is what :func:`build` made."""
        self.facts = network  # Its network.json
        self._folder = folder
        self._program = program

    def run(self, vectors: Sequence[bytes]) -> list[bytes]:
        """Load the initializers into memory full of garbage, then one inference per vector. ``vectors``: for each
        inference all inputs, concatenated in the order of the model. Returns for each all outputs. RunFailure: the
        program did not end well.
        """
        commands = self._memory()
        ports = [("in", n, port) for n, port in enumerate(self.facts.inputs)]
        ports += [("out", n, port) for n, port in enumerate(self.facts.outputs)]
        addresses = {(side, n): port.address for side, n, port in ports}
        free = _OWN_BUFFERS
        for side, number, port in ports:
            if port.user_allocated:
                address = free + 8
                free += -(-(port.bytes + 8) // 16) * 16
                addresses[side, number] = address
                commands.append(f"set {self.facts.name} {side} {number:x} {address:x} {port.bytes:x}")
        commands[:0] = self._mapping([(_OWN_BUFFERS, free)])
        moves = [(side, f"{side} {addresses[side, number]:x} {port.bytes:x}") for side, number, port in ports]
        first, last = ([text for side, text in moves if side == which] for which in ("in", "out"))
        commands += [*first, f"run {self.facts.name}", *last] * len(vectors)
        data = self._execute(commands, b"".join(vectors))
        size = sum(port.bytes for port in self.facts.outputs)
        return [data[at : at + size] for at in range(0, len(vectors) * size, size)]

    def _memory(self) -> list[str]:
        physical = [pool for pool in self.facts.pools if not pool.virtual]
        fill = [f"fill {pool.address:x} {min(pool.used, pool.size):x} {_GARBAGE:x}" for pool in physical]
        prefix = self._folder.resolve() / f"{self.facts.name}_atonbuf"
        return [*fill, *(f"load {pool.address:x} {prefix}.{pool.fname}.raw" for pool in self.facts.initializers)]

    def _mapping(self, more: Sequence[tuple[int, int]]) -> list[str]:
        """Pools as whole pages; pools that share a page become one range."""
        ranges = [(pool.address, pool.address + pool.size) for pool in self.facts.pools if not pool.virtual]
        joined: list[list[int]] = []
        for start, end in sorted((a // _PAGE * _PAGE, -(-b // _PAGE) * _PAGE) for a, b in [*ranges, *more] if a < b):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        return [f"map {start:x} {end - start:x}" for start, end in joined]

    def _execute(self, commands: Sequence[str], inputs: bytes) -> bytes:
        files = [self._program.with_name(f"{self.facts.name}.{which}") for which in ("inputs", "outputs")]
        write_bytes(files[0], inputs)
        text = "".join(f"{command}\n" for command in commands)
        done = subprocess.run([self._program, *files], input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"it ended with {done.returncode}"
            raise RunFailure(f"native run: {said}", where=self.facts.name)
        return read_bytes(files[1])


def build(
    folders: Sequence[Path], work: Path, extra: Sequence[str] = (), runtime: Sequence[Path] = ()
) -> list[NativeNetwork]:
    """Build compiled networks, whose C names differ, into one program in a folder for objects (``work``). ``extra``:
    more words for the compiler. ``runtime``: what :func:`runtime_objects` made with these words; without it, it is
    compiled, too. NeuralArtError: networks cannot run natively here, or one of them cannot be compiled.
    """
    if why := unavailable():
        raise NeuralArtError(why, hint="a virtual board runs them everywhere")
    networks = [facts.load(folder / "network.json") for folder in folders]
    for network in networks:
        if network.runtime != NEURALART:
            raise NeuralArtError(f"made for runtime {network.runtime}, not {NEURALART}", where=network.name)
    names = [network.name for network in networks]
    work = work.resolve()
    write_text(work / "native_networks.h", _table(names))
    sources = [folder.resolve() / f"{name}.c" for folder, name in zip(folders, names, strict=True)]
    runner = firmware_dir() / "host" / "native_runner.c"
    # One process for all of them: starting the compiler costs more than a network.c.
    _cc(work, *extra, "-O0", "-I.", "-c", str(runner), *map(str, sources))
    objects = [f"{source.stem}.o" for source in (runner, *sources)]
    made = runtime or runtime_objects(work / "runtime", extra)
    _cc(work, *extra, "-pie", "-o", "native_runner", *objects, *map(str, made))
    return [NativeNetwork(n, folder, work / "native_runner") for n, folder in zip(networks, folders, strict=True)]


def _table(names: Sequence[str]) -> str:
    declared = "".join(f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({name});\n" for name in names)
    rows = "".join(f'  {{"{name}", &NN_Instance_{name}}},\n' for name in names)
    return f"{declared}static const entry_t networks[] = {{\n{rows}  {{NULL, NULL}},\n}};\n"


def runtime_objects(folder: Path, extra: Sequence[str] = ()) -> list[Path]:
    """Compile runtime and kernels, optimized as in the firmware, into ``folder``; ``extra``: more words for cc."""
    from concurrent.futures import ThreadPoolExecutor

    folder.mkdir(parents=True, exist_ok=True)
    runtime = firmware_dir() / "runtime"
    sources = [runtime / "ll_aton_runtime.c", *sorted((runtime / "kernels").glob("*.c"))]
    count = min(os.cpu_count() or 1, len(sources))
    with ThreadPoolExecutor(count) as pool:
        # It takes ten seconds on one core.
        list(pool.map(lambda n: _cc(folder, "-O2", *extra, "-c", *map(str, sources[n::count])), range(count)))
    return [folder.resolve() / f"{source.stem}.o" for source in sources]


def _cc(folder: Path, *words: str) -> None:
    command = ["cc", *_FLAGS, "-I", str(firmware_dir() / "runtime" / "include"), *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), f"ended with {done.returncode}")
        raise NeuralArtError(f"cc: {said}", where=folder.as_posix())
