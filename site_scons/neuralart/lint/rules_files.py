"""Traps of file sets: what is left over, what is missing, what is of another compile."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.lint.types import ERROR, WARNING, Facts, Hit, Rule
from neuralart.plugins import register


def _undeclared(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for raw in network.raws:
            if network.declared is not None and raw.bytes and raw.pool not in network.declared:
                names = ", ".join([*network.declared, raw.pool])
                yield Hit(
                    network.where,
                    f"network {network.name} has {raw.bytes} bytes of constants in pool {raw.pool} ({raw.name}), "
                    "which is "
                    "not declared: nothing loads them",
                    hint=f"initializers: [{names}] declares it",
                )


def _missing(facts: Facts) -> Iterator[Hit]:
    addresses = {file.address for file in facts.hexes}
    for network in facts.networks:
        for pool in network.used:
            if network.files is None or not pool.weights or pool.virtual or pool.address in addresses:
                continue
            # As C, as it is, or renamed for a programmer: the pool's name stays in it.
            if not any(f".{pool.fname}." in name for name in network.files):
                kind = f"{pool.weights} bytes of constants in pool {pool.fname}"
                yield Hit(pool.where or network.where, f"network {network.name} has {kind}, and no file with them")


def _mixed(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for where, what in network.mixed:
            yield Hit(where, what)


def _stale_blobs(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        left = sorted(name for name in network.files or () if name.endswith("_ecblobs.h"))
        if left and not network.blob_header:
            yield Hit(network.where, f"{left[0]} is beside network {network.name}, which has no epoch controller")


def _no_blobs(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        if network.blob_header and network.files is not None and network.blob_header not in network.files:
            yield Hit(network.where, f"network {network.name} includes {network.blob_header}, which is not beside it")


def _relative(facts: Facts) -> Iterator[Hit]:
    for network in facts.networks:
        for pool in network.pools:
            defined = any(name.endswith(f".{pool.fname}.c") for name in network.files or ())
            if pool.relative and pool.weights and network.files is not None and not defined and not network.loaded:
                symbol = f"_mem_pool_{pool.fname}_{network.name}"
                yield Hit(
                    pool.where, f"pool {pool.fname} of network {network.name} is relative: nothing defines {symbol}"
                )


def _hex(facts: Facts) -> Iterator[Hit]:
    for file in facts.hexes:
        for network in facts.networks:
            for raw in network.raws:
                pool = next((pool for pool in network.pools if pool.fname == raw.pool and not pool.relative), None)
                if pool is None or (raw.bytes, raw.sha256) != (file.bytes, file.sha256) or not raw.bytes:
                    continue
                if file.address != pool.address:
                    yield Hit(
                        file.file,
                        f"it holds the bytes of {raw.name} at 0x{file.address:08x}, network {network.name} reads "
                        "them at "
                        f"0x{pool.address:08x}",
                    )


RULES = (
    Rule(
        "undeclared-raw",
        ERROR,
        "constants in a pool whose initializer is not declared",
        "The compiler put weights where nobody expects them. They are not flashed, and the network computes zeros "
        "without "
        "any error.",
        "declare the pool, or make room in the declared ones",
        ("network", "variant"),
        _undeclared,
    ),
    Rule(
        "missing-raw",
        WARNING,
        "a pool with constants, and no file that holds them",
        "The file was not copied with the C, or belongs to another compile.",
        "copy the whole set of a compile",
        ("network", "its folder"),
        _missing,
    ),
    Rule(
        "mixed-set",
        ERROR,
        "files beside a network.c that are of another compile",
        "network.c and the weights are only right together; a new one with old weights compiles, starts and is wrong.",
        "copy the whole set of one compile",
        ("network", "its folder"),
        _mixed,
    ),
    Rule(
        "stale-blobs",
        WARNING,
        "a header with blobs beside a network without epoch controller",
        "It was left behind when the epoch controller was turned off; an application that includes it has programs "
        "of a "
        "network that does not exist any more.",
        "delete it",
        ("network", "its folder"),
        _stale_blobs,
    ),
    Rule(
        "missing-blobs",
        ERROR,
        "a network with epoch controller and without its header",
        "The C does not compile; a stub of one's own in its place compiles, and the NPU executes nothing.",
        "copy the header of the same compile",
        ("network", "its folder"),
        _no_blobs,
    ),
    Rule(
        "relative-raw",
        WARNING,
        "a relative pool with constants that is not written as C",
        "Its base is a symbol that only the C file of the pool (FORMAT_C) or the relocatable build defines: the link "
        "ends "
        "with an undefined reference.",
        "FORMAT_C in the pool file, or build a relocatable model",
        ("network", "its folder"),
        _relative,
    ),
    Rule(
        "hex-address",
        ERROR,
        "an Intel HEX file with a pool's bytes at another address than the network reads them",
        "The address was typed twice. The file is flashed well, to a place where nobody looks.",
        "make it from the pool's own address",
        ("network", "its folder", "hex file"),
        _hex,
    ),
)

for _rule in RULES:
    register("lint", _rule.id, _rule, protocol=1)
