"""Traps of memories: memory that is missing, not on yet, reserved, or used through the wrong alias."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.findings import NOTE, WARNING
from neuralart.memory.layout.flash_areas import cut_off
from neuralart.memory.layout.strategies import BOOT_COPY, LINK
from neuralart.memory.regions import Span, fold, overlapping
from neuralart.network.facts import LL_ATON
from neuralart_bring.linker_script.types import Memory
from neuralart_insight.lint.types import Facts, Hit, LintedNetwork, LintedPool, rule

# Code and variables of a first-stage boot loader of an STM32N6, until it has started the application.
FSBL = (0x34180000, 0x34200000)
# Ways by which start-up code brings constants to their pool, after the boot loader.
_AFTERWARDS = (BOOT_COPY, LINK)


def _who(network: LintedNetwork, pool: LintedPool) -> str:
    return f"pool {pool.fname} ({pool.name}) of network {network.name}"


def _in_use(network: LintedNetwork, pool: LintedPool) -> str:
    return f"{_who(network, pool)} has {pool.used} bytes in use at 0x{pool.address:08x}"


def _used(facts: Facts) -> Iterator[tuple[LintedNetwork, LintedPool]]:
    return ((network, pool) for network in facts.networks for pool in network.used if not pool.relative)


def _areas(facts: Facts) -> Iterator[tuple[Memory, int]]:
    """Memories of the linker scripts, and where they begin without an alias."""
    return ((area, _folded(facts, area.origin)) for script in facts.scripts for area in script.memories)


def _folded(facts: Facts, address: int) -> int:
    return fold(facts.board, address) if facts.board is not None else address


@rule("""error: board, network
    a network that uses external RAM, above all on a board that has none
    The compiler fills slower memories without a word once the faster ones are full. Without external RAM the first
    access is a fault; with it inference is slow, and the RAM must have been initialized.
    forbid the pool (size 0 in the pool file), or take a smaller model""")
def _psram_spill(facts: Facts) -> Iterator[Hit]:
    board = facts.board
    for network, pool in _used(facts):
        if board is None or not board.in_external_ram(pool.address):
            continue
        region = board.region_at(pool.address)
        said = _in_use(network, pool)
        if region is None:
            yield Hit(pool.where, f"{said}, where board {board.name} has no external RAM")
        elif network.runtime == LL_ATON or region.kind == "psram":
            hint = (
                "it is slow, and the application must initialize it before the first inference; forbidden_pools in "
                "budgets: makes this an error"
            )
            yield Hit(pool.where, f"{said}, in the external RAM", WARNING, hint)


@rule("""error: board, network or pool file
    a pool at an address where the board has no memory
    Pool files are copied from board to board. The compiler believes them. One that is too large is a note.
    use the pool file of this board, or give the pool size 0""")
def _pool_without_memory(facts: Facts) -> Iterator[Hit]:
    board = facts.board
    if board is None:
        return
    seen = set()
    for network, pool in _used(facts):
        seen.add(pool.fname)
        if board.region_at(pool.address) is None and not board.in_external_ram(pool.address):
            yield Hit(pool.where, f"{_in_use(network, pool)}, where board {board.name} has no memory")
    for declared, room in (each for file in facts.pool_files for each in cut_off(board, file)):
        said = f"pool {declared.fname} ({declared.name}) has {declared.size} bytes"
        said += f", board {board.name} has {room} at 0x{declared.address:08x}"
        yield Hit(declared.where, said, NOTE, "make that the size of the pool")
    for declared in (each for file in facts.pool_files for each in file.enabled if each.fname not in seen):
        if declared.mode == "USEMODE_ABSOLUTE" and board.region_at(declared.address) is None:
            said = f"pool {declared.fname} ({declared.name}) is at 0x{declared.address:08x}, where board {board.name}"
            hint = "give it size 0, or it fills up one day without a word"
            yield Hit(declared.where, f"{said} has no memory; nothing is in it yet", WARNING, hint)


@rule("""error: board, network or linker script
    constants, or an application, at 0x34180000 to 0x34200000 (the end of cpuRAM2)
    The first-stage boot loader has its code and variables there until it starts the application. What a debugger or the
    boot loader itself puts there before is overwritten.
    end the pool below 0x34180000, or let start-up code copy the constants (strategy boot-copy)""")
def _fsbl_range(facts: Facts) -> Iterator[Hit]:
    if facts.board is None or facts.board.boot is None:
        return
    for network, pool in _used(facts):
        start = fold(facts.board, pool.address)
        if start < FSBL[1] and start + pool.used > FSBL[0]:
            said = f"{_who(network, pool)} uses 0x{start:08x} to 0x{start + pool.used:08x}"
            if pool.weights and network.strategies.get(pool.fname) not in _AFTERWARDS:
                yield Hit(pool.where, f"{said}, with constants that are loaded while the boot loader works there")
            elif not pool.weights:
                yield Hit(pool.where, f"{said}: free only once the boot loader has started the application", NOTE)
    for area, start in _areas(facts):
        # A script that begins there is the boot loader's own.
        if start < FSBL[0] < start + area.length:
            said = f"{area.name} reaches to 0x{start + area.length:08x}: the boot loader works from 0x{FSBL[0]:08x} on"
            hint = f"LENGTH = {(FSBL[0] - start) // 1024}K ends before it"
            yield Hit(area.where, f"{said} while it copies the image", WARNING, hint)


@rule("""warning: board, network or linker script
    a pool, or a memory of a linker script, at the non-secure alias in a secure build
    Both addresses are the same bytes, but the firewall decides by the address whether an access is allowed: it ends in
    a fault, or reads zeros.
    use the secure alias""")
def _ns_alias(facts: Facts) -> Iterator[Hit]:
    if not facts.secure:
        return
    for network, pool in _used(facts):
        start = _folded(facts, pool.address)
        if start != pool.address:
            said = f"{_who(network, pool)} is at 0x{pool.address:08x}, the non-secure alias of 0x{start:08x}"
            yield Hit(pool.where, f"{said}; the firmware is secure", hint=f"offset 0x{start:08x} in the pool file")
    for area, start in _areas(facts):
        if area.length and start != area.origin:
            said = f"{area.name} is at 0x{area.origin:08x}, the non-secure alias of 0x{start:08x}"
            yield Hit(area.where, f"{said}; the firmware is secure", hint=f"ORIGIN = 0x{start:08x}")


@rule("""error: network
    two networks that use the same bytes
    Each network is compiled as if it were alone. Constants that share bytes with anything are lost.
    give each network a pool file of its own, with ranges of its own""")
def _overlapping_networks(facts: Facts) -> Iterator[Hit]:
    pools = {}
    for network, pool in _used(facts):
        start = _folded(facts, pool.address)
        pools[Span(_who(network, pool), network.name, start, start + pool.used, pool.where)] = pool
    fine = "fine as long as one network never runs, and is never looked at, before the other one is done with"
    for before, after in overlapping(pools):
        said = f"{after} and {before} share {min(before.end, after.end) - after.start} bytes"
        if pools[before].weights or pools[after].weights:
            yield Hit(after.place, said)
        else:
            yield Hit(after.place, said, NOTE, fine)


@rule("""warning: network, linker script
    a memory of a linker script that contains what a network uses
    The linker does not know the network: it fills its memories from their beginning, and at some size the image, its
    variables or its stack reach the network's buffers.
    end the linker script's memory where the pool begins, or move the pool""")
def _linker_over_pool(facts: Facts) -> Iterator[Hit]:
    for area, start in _areas(facts):
        for network, pool in _used(facts):
            base = _folded(facts, pool.address)
            shared = min(start + area.length, base + pool.used) - max(start, base)
            if shared > 0:
                yield Hit(
                    area.where,
                    f"{area.name} [0x{start:08x}, 0x{start + area.length:08x}) contains {shared} bytes of "
                    f"{_who(network, pool)} [0x{base:08x}, 0x{base + pool.used:08x})"
                    + (f" of {pool.where}" if pool.where else ""),
                )


@rule("""warning: board, network
    a relative pool in internal RAM that goes through the NPU cache
    Relocatable models of the vendor's runtime cannot be installed with such a pool, or compute wrong results.
    CACHEABLE_OFF for the pools of activations""")
def _cached_relative(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for pool in network.pools if network.runtime == LL_ATON and facts.board is not None else ():
            region = facts.board.region_at(pool.address) if facts.board is not None else None
            internal = region is not None and region.kind == "ram"
            if pool.relative and pool.cacheable and pool.writable and pool.used and internal:
                said = f"{_who(network, pool)} is relative, in internal RAM, and goes through the NPU cache"
                yield Hit(pool.where, said)
