"""The C of our relocatable models that is not the network's: on this machine, and as the target's compiler sees it."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.relocatable.build.request import BuildRequest
from neuralart.relocatable.build.runtimes import neuralart
from neuralart.resources import firmware_dir

SOURCES = firmware_dir() / "runtime" / "relocatable"


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """memory_functions.c under other names, so that the process keeps its own."""
    library = tmp_path_factory.mktemp("host") / "memory.so"
    renamed = [f"-D{name}=own_{name}" for name in ("memcpy", "memmove", "memset", "memcmp")]
    flags = ["-std=gnu11", "-O2", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror"]
    source = str(SOURCES / "memory_functions.c")
    subprocess.run(["cc", *flags, *renamed, "-shared", "-fPIC", "-o", str(library), source], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in ("own_memcpy", "own_memmove", "own_memset"):
        getattr(loaded, name).restype = ctypes.c_void_p
    return loaded


def address(of: ctypes.Array, offset: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(of) + offset)


@pytest.mark.hostcc
def test_memory_functions(functions):
    """Against Python, with all alignments, overlaps in both directions, and what lies around."""
    draw = random.Random(5)
    for _ in range(3000):
        before = draw.randbytes(96)
        memory = ctypes.create_string_buffer(before, len(before))
        to, source, count = draw.randrange(0, 40), draw.randrange(0, 40), draw.randrange(0, 50)
        expected = bytearray(before)
        expected[to : to + count] = before[source : source + count]
        apart = to + count <= source or source + count <= to
        name = draw.choice(["own_memmove", "own_memcpy"]) if apart else "own_memmove"
        assert getattr(functions, name)(address(memory, to), address(memory, source), ctypes.c_size_t(count))
        assert memory.raw == bytes(expected), (name, to, source, count)
        value = draw.randrange(-300, 300)
        functions.own_memset(address(memory, to), value, ctypes.c_size_t(count))
        expected[to : to + count] = bytes([value & 0xFF]) * count
        assert memory.raw == bytes(expected), (to, count, value)
        one, other = memory.raw[to : to + count], memory.raw[source : source + count]
        answer = functions.own_memcmp(address(memory, to), address(memory, source), ctypes.c_size_t(count))
        assert (answer > 0) - (answer < 0) == (one > other) - (one < other)


@pytest.mark.arm
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("secure", [False, True])
def test_no_warnings(tmp_path: Path, secure: bool, debug: bool):
    runtime = neuralart(BuildRequest(Path("n.c"), Path("o"), "n", secure=secure, debug_info=debug))
    found = toolchain.find(ToolchainConfig(), os.environ)
    names = {"RUNTIME_DESC": '"d"', "C_NAME": '"n"', "C_FCT_SUFFIX": "n", "RUNTIME_VERSION": "0x00010000"}
    names |= dict.fromkeys(("RUNTIME_VERSION_DEV", "ACTS_SZ", "PARAMS_SZ", "EXT_RAM_SZ"), "1")
    names |= dict.fromkeys(("PARAMS_BIN_SZ", "PARAMS_BIN_CRC32"), "0")
    (tmp_path / "conf.h").write_text("".join(f"#define {name} {value}\n" for name, value in names.items()))
    defines = [f"-D{text}" for text in (*runtime.defines, 'MODEL_CONF="conf.h"')]
    for source in (*runtime.per_network, runtime.sources[-1]):
        words = [*runtime.flags, *source.flags, *found.libc_flags, *defines, "-Wall", "-Wextra", "-Werror"]
        words += [f"-I{tmp_path}", *(f"-I{path}" for path in runtime.include_dirs)]
        gcc = str(Path(found.folder) / f"{found.prefix}gcc")
        subprocess.run([gcc, *words, "-c", str(source.path), "-o", str(tmp_path / "x.o")], check=True)
        listing = subprocess.run(
            [gcc.removesuffix("gcc") + "nm", "-u", str(tmp_path / "x.o")], capture_output=True, text=True, check=True
        )
        asked = {name for name in listing.stdout.split() if name != "U"}
        assert all(name.startswith("LL_ATON_") or name == "_GLOBAL_OFFSET_TABLE_" for name in asked), asked
