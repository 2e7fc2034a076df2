"""Rows of the tables of ``npu_memory_init.c``, and the objects that its ``link`` rows name.
firmware/runtime/include/npu_memory.h says what the fields are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity
from neuralart.memory.layout.strategies import Initializer
from neuralart.memory.regions import Span, fold_alias
from neuralart.network.facts import Network

ALIGNMENT = 64  # lines of the NPU cache, two lines of the CPU's
_SYMBOL = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
# What stands for itself in a string of C and in one of the GNU assembler.
_PLAIN = re.compile(r"[A-Za-z0-9_ ./+,:=@%(){}\[\]~#^&;!$'-]+", re.ASCII)


def link_symbol(network: str, pool: str) -> str:
    """Stem of ``<stem>_start`` and ``<stem>_end`` round a pool's constants. NeuralArtError: its name is no symbol."""
    if not _SYMBOL.fullmatch(pool):
        what = f"the initializer of pool '{pool}' of network {network} cannot be linked"
        hint = "rename the pool in its pool file (fname), or use another strategy"
        raise NeuralArtError(f"{what}: its name has more than letters, digits and '_'", hint=hint)
    return f"npu_link_{network}_{pool}"


def link_object_c(network: str, pool: str, path_in_include: str) -> str:
    """Text of a C file that has the bytes of a raw file in it.

    C with one ``asm`` in it, because every toolchain that builds the rest takes that, and no array of numbers, because
    compilers read those at some megabytes a minute. The assembler reads the raw file, no preprocessor does: who builds
    the object has to declare that it depends on the raw file, and to put the folder that the path is relative to on the
    include path (``-I``, which gcc hands on to the assembler).

    ``path_in_include``: the raw file, with ``/``, relative to a folder of the include path. No absolute path: the text
    would differ from tree to tree. NeuralArtError: it is absolute or has characters that the assembler would read as
    something else.
    """
    stem = link_symbol(network, pool)
    where = f"pool {pool} of network {network}"
    if path_in_include.startswith("/") or re.match(r"[A-Za-z]:", path_in_include):
        raise NeuralArtError(f"the path of a linked raw file is absolute: {path_in_include}", where=where)
    if not _PLAIN.fullmatch(path_in_include):
        what = f"the assembler cannot take this path of a linked raw file: {path_in_include!r}"
        raise NeuralArtError(what, where=where, hint="use letters, digits and common punctuation")
    lines = [
        *(f'.pushsection .rodata.{stem}, \\"a\\", %progbits', f".balign {ALIGNMENT}", f".global {stem}_start"),
        *(f".type {stem}_start, %object", f"{stem}_start:", f'.incbin \\"{path_in_include}\\"'),
        *(f".global {stem}_end", f"{stem}_end:", f".size {stem}_start, {stem}_end - {stem}_start", ".popsection"),
    ]
    head = [f"/* The constants of pool {pool} of network {network}. Generated. */", "__asm__("]
    return "\n".join([*head, *(f'    "{line}\\n"' for line in lines), ");", ""])


Rows = list[str]

# Name that the vendor's pool files have for the RAM of the NPU cache.
NPU_CACHE_POOL = "npuCACHE"
_WRITABLE = ("ram", "psram")
# Cores whose MPU has base, size and TEX/C/B attributes (PMSAv7). In Armv8-M the attributes are indices.
_ARMV7M = ("cortex-m3", "cortex-m4", "cortex-m7")
_STAMP = re.compile(r"[0-9a-f]{16}")
_STRATEGIES = {
    name: f"NPU_MEMORY_{name.replace('-', '_').upper()}" for name in ("flash", "boot-copy", "link", "external-loader")
}


def _need(value: int | None, key: str, board: Board, region: MemoryRegion) -> int:
    if value is None:
        what = f"{region.name} must be turned on, but 'registers: {key}' is missing"
        raise NeuralArtError(what, where=board.where or f"board {board.name}")
    return value


def bank_rows(board: Board, touched: Sequence[MemoryRegion], spans: Sequence[Span]) -> Rows:
    """Memories that a network touches, gated or writable. NeuralArtError: the board cannot turn one on."""
    rows = []
    registers = board.registers
    for region in touched:
        writable = region.kind in _WRITABLE
        enable = region.enable
        if not writable and enable is None:
            continue
        fields = [f'"{region.name}"', f".writable = {int(writable)}"]
        if enable is not None and enable.clock_bit is not None:
            _need(registers.memory_clock, "memory_clock", board, region)
            fields.append(f".clock = 0x{1 << enable.clock_bit:x}u")
        if enable is not None and enable.ramcfg_offset is not None:
            ramcfg = _need(registers.ramcfg, "ramcfg", board, region)
            _need(registers.shutdown_bit, "shutdown_bit", board, region)
            fields.append(f".ramcfg = 0x{ramcfg + enable.ramcfg_offset:08x}u")
        if writable:
            first = min(max(s.start, region.base) for s in spans if s.start < region.end and s.end > region.base)
            fields.append(f".probe = 0x{first & ~3:08x}u")
        rows.append("{" + ", ".join(fields) + "}")
    return rows


def window_rows(board: Board, names: Collection[str]) -> Rows:
    """Rows of the flash windows of some memories."""
    return [
        f'{{"{w.region}", .control = 0x{w.control:08x}u, .mask = 0x{w.mask:08x}u, .value = 0x{w.value:08x}u, '
        f".clock_register = 0x{w.clock_register:08x}u, .clock = 0x{1 << w.clock_bit:x}u}}"
        for w in board.windows
        if w.region in names
    ]


def mpu_rows(board: Board, touched: Sequence[MemoryRegion]) -> Rows:
    """Memories that an MPU region must make Normal. NeuralArtError: the core has another MPU, or no region holds it."""
    rows, where = [], board.where or f"board {board.name}"
    for region in touched:
        if not region.mpu_normal:
            continue
        if board.cpu not in _ARMV7M:
            what = f"{region.name} wants an MPU region (mpu_normal), which is implemented for Armv7-M"
            raise NeuralArtError(f"{what}; this core is a {board.cpu}", where=where)
        if region.size < 32 or region.size & (region.size - 1) or region.base % region.size:
            what = f"{region.name} at 0x{region.base:08x} with {region.size} bytes is no region of the MPU"
            rule = "the size must be a power of two from 32 on, the base a multiple of it"
            raise NeuralArtError(f"{what}: {rule}", where=where)
        rows.append(f'{{"{region.name}", 0x{region.base:08x}u, 0x{region.size:x}u}}')
    return rows


def network_rows(networks: Sequence[Network]) -> Rows:
    """Rows of names and ABI stamps. NeuralArtError: a stamp is wrong."""
    rows = []
    for network in networks:
        if not _STAMP.fullmatch(network.abi_stamp):
            what = f"the ABI stamp '{network.abi_stamp}' of network {network.name} is not 16 hex digits"
            raise NeuralArtError(what, hint="compile the network again")
        stamp = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(network.abi_stamp))
        rows.append(f'{{"{network.name}", {{{stamp}}}}}')
    return rows


def initializer_rows(
    board: Board, networks: Sequence[Network], initializers: Sequence[Initializer]
) -> tuple[list[str], Rows]:
    """Linked objects, and a row per initializer. NeuralArtError: start-up code cannot do it, or no memory is there."""
    numbers = {network.name: number for number, network in enumerate(networks)}
    pools = {(network.name, pool.fname): pool for network in networks for pool in network.pools}
    externs, rows = [], []
    for item in initializers:
        where = f"pool {item.pool} of network {item.network}"
        if item.strategy not in _STRATEGIES:
            what = f"strategy '{item.strategy}' is not one that start-up code follows"
            raise NeuralArtError(what, where=where, hint="one of " + ", ".join(_STRATEGIES))
        if item.strategy != "link":
            identity.check_name(item.pool, where)
        pool = pools[item.network, item.pool]
        if pool.weights > item.capacity:
            what = f"{pool.weights} bytes of constants, but only {item.capacity} fit"
            raise NeuralArtError(what, where=where, hint="make the pool or its place in flash larger")
        fields = [str(numbers[item.network]), f'"{item.pool}"', _STRATEGIES[item.strategy]]
        fields.append(f".npu_cached = {int(item.cacheable)}")
        if item.load_address:
            fields.append(f".load = 0x{fold_alias(board, item.load_address):08x}u")
        # Copies go through the alias of the CPU's security state; lines of the NPU cache have the NPU's addresses.
        fields.append(f".run = 0x{fold_alias(board, item.run_address):08x}u")
        fields.append(f".npu = 0x{pool.address:08x}u")
        fields.append(f".capacity = 0x{item.capacity:x}u")
        if item.strategy == "link":
            stem = link_symbol(item.network, item.pool)
            externs.append(f"extern const uint8_t {stem}_start[], {stem}_end[];")
            fields += [f".start = {stem}_start", f".end = {stem}_end"]
        rows.append("{" + ", ".join(fields) + "}")
    return ([*externs, ""] if externs else []), rows


def register_lines(board: Board, touched: Sequence[MemoryRegion]) -> list[str]:
    """The ``.registers`` member: registers that start-up code writes."""
    registers = board.registers
    enables = [region.enable for region in touched if region.enable is not None]
    lines = []

    def register(name: str, value: int | None) -> None:
        if value is not None:
            lines.append(f"    .registers.{name} = 0x{value:08x}u,")

    def clock(name: str, address: int | None, bit: int | None) -> None:
        if address is not None and bit is not None:
            register(f"{name}_clock_register", address)
            lines.append(f"    .registers.{name}_clock = 0x{1 << bit:x}u,")

    if any(enable.clock_bit is not None for enable in enables):
        register("memory_clock", registers.memory_clock)
        register("memory_sleep_clock", registers.memory_sleep_clock)
    if any(enable.ramcfg_offset is not None for enable in enables) and registers.shutdown_bit is not None:
        clock("ramcfg", registers.ramcfg_clock, registers.ramcfg_clock_bit)
        lines.append(f"    .registers.shutdown = 0x{1 << registers.shutdown_bit:x}u,")
    if registers.npu_cache is not None:
        register("npu_cache", registers.npu_cache)
        clock("npu_cache", registers.npu_cache_clock, registers.npu_cache_clock_bit)
        if any(region.pool_name == NPU_CACHE_POOL for region in touched):
            lines.append("    .registers.npu_cache_is_ram = 1,")
    if registers.rimc_npu is not None and registers.rimc_npu_value is not None:
        register("rimc", registers.rimc_npu)
        register("rimc_value", registers.rimc_npu_value)
        clock("rimc", registers.rimc_clock, registers.rimc_clock_bit)
    return lines
