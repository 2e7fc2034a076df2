"""Runs compiled networks on this machine: their network.c, the runtime and the kernels in one shared object, the memory
pools mapped at the addresses of the target.

Linux on x86-64 only: nothing else lets a test map the low gigabytes at will. :func:`unavailable` says why not.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from neuralart.network import facts
from neuralart.network.facts import Network, PoolUse, Port

RUNTIME = Path(__file__).parents[2] / "firmware" / "runtime"
FLAGS = ("-std=gnu11", "-fPIC", "-ffp-contract=off", "-fno-fast-math", "-Wall", "-Wextra", "-Werror", "-I")
_FIXED_NOREPLACE = 0x100000
_NORESERVE = 0x4000
_PAGE = mmap.PAGESIZE
# What was in memory before the network ran: nobody may rely on zeros.
_GARBAGE = 0xA5


def unavailable() -> str:
    """Why networks cannot run natively here; empty if they can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        here = f"{sys.platform} {platform.machine()}"
        return f"native runs map the target's addresses, on x86-64 Linux only (this is {here})"
    return "" if shutil.which("cc") else "no C compiler for this machine"


class NativeNetwork:
    """A network ready to run in this process.

    Attributes:
        facts: Its network.json.
    """

    def __init__(self, network: Network, folder: Path, library: ctypes.CDLL) -> None:
        self.facts = network
        self._folder = folder
        self._library = library

    def load(self) -> None:
        """Fill the memory in use with garbage and load the initialisers, as a flashed board would find them."""
        physical = [pool for pool in self.facts.pools if not pool.virtual]
        for pool in physical:
            _map(pool)
        for pool in physical:
            ctypes.memset(pool.address, _GARBAGE, min(pool.used, pool.size))
        for pool in self.facts.initializers:
            raw = (self._folder / f"{self.facts.name}_atonbuf.{pool.fname}.raw").read_bytes()
            ctypes.memmove(pool.address, raw, len(raw))

    def run(self, vectors: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Load, then one inference per vector.

        Args:
            vectors: For each inference a value per input, in the order of the model.

        Returns:
            For each inference the outputs, in the order of the model.
        """
        self.load()
        inputs = [self._buffer("Input", n, port) for n, port in enumerate(self.facts.inputs)]
        outputs = [self._buffer("Output", n, port) for n, port in enumerate(self.facts.outputs)]
        results = []
        for vector in vectors:
            for port, (address, _), value in zip(self.facts.inputs, inputs, vector, strict=True):
                raw = np.ascontiguousarray(value).tobytes()
                if value.dtype.name != port.dtype or len(raw) != port.bytes:
                    raise ValueError(f"input {port.name}: {value.dtype}{value.shape} for {port.dtype}{port.shape}")
                ctypes.memmove(address, raw, len(raw))
            if not getattr(self._library, f"native_run_{self.facts.name}")():
                raise RuntimeError(f"the runtime refuses {self.facts.name}")
            results.append(
                [
                    np.frombuffer(ctypes.string_at(address, port.bytes), port.dtype).reshape(port.shape)
                    for port, (address, _) in zip(self.facts.outputs, outputs, strict=True)
                ]
            )
        return results

    def _buffer(self, side: str, number: int, port: Port) -> tuple[int, object]:
        """The address of a port; a buffer of our own where the application has to provide it."""
        if not port.user_allocated:
            return port.address, None
        # Aligned to no more than the interface asks for, so that a kernel that wants more is found out.
        store = ctypes.create_string_buffer(port.bytes + 24)
        address = ctypes.addressof(store) + -ctypes.addressof(store) % 16 + 8
        setter = getattr(self._library, f"LL_ATON_Set_User_{side}_Buffer_{self.facts.name}")
        if setter(ctypes.c_uint32(number), ctypes.c_void_p(address), ctypes.c_uint32(port.bytes)):
            raise RuntimeError(f"{self.facts.name} refuses the buffer of {port.name}")
        return address, store


def build(folders: Sequence[Path], work: Path) -> list[NativeNetwork]:
    """Build compiled networks into one shared object.

    Args:
        folders: Output folders of the reference compiler; the C names of the networks differ.
        work: A folder for objects.

    Returns:
        The networks in the order given.
    """
    networks = [facts.load(_only(folder, "network.json")) for folder in folders]
    names = [network.name for network in networks]
    driver = work / "native_driver.c"
    driver.write_text(_driver(names), encoding="utf-8")
    sources = [folder.resolve() / f"{name}.c" for folder, name in zip(folders, names, strict=True)]
    # One process for all of them: starting the compiler costs more than a network.c.
    _cc(work, "-O0", "-c", driver.name, *map(str, sources))
    library = work / "networks.so"
    objects = [f"{source.stem}.o" for source in (driver, *sources)]
    _cc(work, "-shared", "-o", library.name, *objects, *map(str, _runtime_objects(work)))
    loaded = ctypes.CDLL(str(library.resolve()))
    for name in names:
        getattr(loaded, f"native_run_{name}").restype = ctypes.c_bool
    return [NativeNetwork(network, folder, loaded) for network, folder in zip(networks, folders, strict=True)]


def _only(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(path)
    return path


def _driver(names: Sequence[str]) -> str:
    """Each network through the runtime's public interface."""
    parts = ['#include "ll_aton.h"\n']
    for name in names:
        parts.append(
            f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({name});\n"
            f"bool native_run_{name}(void);\n"
            f"bool native_run_{name}(void) {{\n"
            "  LL_ATON_RT_RuntimeInit();\n"
            f"  if (!LL_ATON_RT_Init_Network(&NN_Instance_{name})) return false;\n"
            f"  LL_ATON_RT_Main(&NN_Instance_{name});\n"
            f"  LL_ATON_RT_DeInit_Network(&NN_Instance_{name});\n"
            "  return true;\n"
            "}\n"
        )
    return "".join(parts)


_runtime_made: dict[str, list[Path]] = {}


def _runtime_objects(work: Path) -> list[Path]:
    """Runtime and kernels as the firmware compiles them (-O2), once per process."""
    if "" not in _runtime_made:
        folder = work / "runtime"
        folder.mkdir()
        sources = [RUNTIME / "ll_aton_runtime.c", *sorted((RUNTIME / "kernels").glob("*.c"))]
        _cc(folder, "-O2", "-c", *map(str, sources))
        _runtime_made[""] = [(folder / f"{source.stem}.o").resolve() for source in sources]
    return _runtime_made[""]


def _cc(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["cc", *FLAGS, str(RUNTIME / "include"), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"cc failed:\n{done.stderr}")


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    return libc


_mapped: list[tuple[int, int]] = []


def _map(pool: PoolUse) -> None:
    """Make a pool's addresses memory; what is mapped stays mapped, untouched pages cost nothing."""
    start = pool.address // _PAGE * _PAGE
    end = -(-(pool.address + pool.size) // _PAGE) * _PAGE
    for low, high in sorted(_mapped):
        if low >= end or high <= start:
            continue
        if low > start:
            _map_range(start, low)
        start = max(start, high)
    if start < end:
        _map_range(start, end)


def _map_range(start: int, end: int) -> None:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED_NOREPLACE | _NORESERVE
    got = _libc().mmap(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if got != start:
        raise RuntimeError(f"this process cannot map 0x{start:08x} to 0x{end:08x}: errno {ctypes.get_errno()}")
    _mapped.append((start, end))
