"""Makes ``network.json`` of a network that ST Edge AI Core compiled, as for every other compiler."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from neuralart.errors import NeuralArtError
from neuralart.network.facts import APPLICATION, LL_ATON, NETWORK_RUNTIME, Epoch, Network, PoolUse
from neuralart.vendor.c_info.ports import ports
from neuralart.vendor.c_info.types import CInfo, InfoPool
from neuralart.vendor.network_c import types as c
from neuralart.vendor.network_c.checks import covered, extent, rows_by_pool
from neuralart.vendor.network_c.checks import used as used_of
from neuralart.vendor.network_c.read import port_of

_MOVES = {False: "USEMODE_RELATIVE", True: APPLICATION}
NUMERICS = "neural-art"
CPU_NUMERICS = "st-ai"
_MACC = re.compile(r"^model(?:/c-model)?:\s*macc=(?:[\d,]+/)?([\d,]+)", re.M)


def macc_of(report: str) -> int:
    """Read the multiply-accumulate operations from the text report; 0 if it has none."""
    found = _MACC.search(report)
    return int(found[1].replace(",", "")) if found else 0


def stamp(text: str, more: Iterable[str], pools: Sequence[PoolUse]) -> str:
    """Hash code and pools to 16 hex digits, which change when initializers no longer fit. The first comment of the
    normalized C is left out.
    """
    body = text.partition("*/")[2] if text.lstrip().startswith("/*") else text
    layout = "".join(f"{p.fname} 0x{p.address:08x} {p.size} {p.used} {p.weights}\n" for p in pools if not p.virtual)
    return hashlib.sha256("\n".join([body, *more, layout]).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _through(pool: c.Pool, used: Mapping[str, int], pools: Sequence[c.Pool]) -> int:
    """Bytes of a pool that a virtual pool made of it may use."""
    reached = [other.address + used[other.fname] for other in pools if other.virtual and _part(pool, other)]
    return max((min(pool.size, max(0, end - pool.address)) for end in reached), default=0)


def _part(pool: c.Pool, whole: c.Pool) -> bool:
    inside = whole.address <= pool.address and pool.address + pool.size <= whole.address + whole.size
    return inside and bool(pool.size) and not pool.virtual and not pool.relative


def _info_pools(info: CInfo | None) -> dict[str, InfoPool]:
    return {(pool.name if pool.virtual else pool.fname): pool for pool in (info.pools if info else ())}


def pools_of(
    network: c.GeneratedNetwork, info: CInfo | None, raws: Mapping[str, int], linked: Collection[str] = ()
) -> tuple[PoolUse, ...]:
    """List the pools with their use. ``raws``: bytes of each initializer, by fname. A relative pool in ``linked`` is an
    array of the program. NeuralArtError: constants are in a pool without an initializer.
    """
    listed = [pool for pool in network.pools if pool.size and not pool.of_user]
    placed = rows_by_pool(network)
    exact = _info_pools(info)
    used: dict[str, int] = {}
    for pool in listed:
        told = exact.get(pool.name if pool.virtual else pool.fname)
        counted = max(used_of(pool, placed, network.pools), extent(pool, placed[pool.fname]), raws.get(pool.fname, 0))
        used[pool.fname] = told.used if told is not None else counted
    result = []
    for pool in listed:
        told = exact.get(pool.fname)
        if told is None and not pool.virtual:
            used[pool.fname] = max(used[pool.fname], _through(pool, used, listed))
        constants = [row for row in placed[pool.fname] if row.is_param]
        weights = raws.get(pool.fname, 0)
        if constants and not weights and not pool.virtual:
            what = f"{covered(constants)} bytes of constants are in pool {pool.fname}, but no initializer was written"
            raise NeuralArtError(what, where=network.where, hint="the run was not complete: look at its log")
        result.append(
            PoolUse(
                name=pool.name,
                fname=pool.fname,
                address=0 if pool.relative and pool.fname in linked else pool.address,
                size=pool.size,
                used=used[pool.fname],
                weights=weights,
                activations=max(0, used[pool.fname] - covered(constants)) if pool.writable else 0,
                rights="ACC_WRITE" if pool.writable else "ACC_READ",
                mode="USEMODE_ABSOLUTE" if not pool.relative else _MOVES[pool.fname in linked],
                virtual=pool.virtual,
                parts=tuple(other.fname for other in listed if pool.virtual and _part(other, pool)),
                cacheable=pool.cacheable,
            )
        )
    return tuple(result)


def epochs_of(network: c.GeneratedNetwork, info: CInfo | None) -> tuple[Epoch, ...]:
    """List every epoch with its kind, also those in blobs of the epoch controller."""
    told = {node.number: node for node in (info.epochs if info else ())}
    found: dict[int, Epoch] = {}
    number = 0
    for block in network.blocks:
        first = block.number if block.number is not None else number
        last = block.last if block.last is not None else first
        for number in range(first, max(first, last) + 1):
            node = told.get(number)
            kinds = tuple(dict.fromkeys(op.type for op in node.operators if op.type)) if node is not None else ()
            found.setdefault(
                number, Epoch(number, block.kind or (node.kind if node else c.HW), kinds or block.operators)
            )
        number += 1
    return tuple(found[number] for number in sorted(found))


def npu_facts(
    name: str,
    network: c.GeneratedNetwork,
    info: CInfo | None,
    raws: Mapping[str, int],
    more: Iterable[str] = (),
    macc: int = 0,
    linked: Collection[str] = (),
) -> Network:
    """The facts of a Neural-ART network, from its C (normalized; ``more`` are blobs) and the compiler's description.
    ``raws`` are the bytes of each initializer file, by the fname of its pool; ``linked`` are the pools whose file is C.
    NeuralArtError: the C is cut off, has another name or no guard, or constants have no initializer.
    """
    cut = next((problem for problem in network.problems if problem.code == "cut-off"), None)
    if cut is not None:
        raise NeuralArtError(cut.what, where=cut.where, hint="is the disk full? compile it again")
    if network.name != name:
        raise NeuralArtError(f"is of network '{network.name}', not '{name}'", where=network.where)
    if network.runtime is None:
        what = "no guard on LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV: the runtime it is made for is unknown"
        raise NeuralArtError(what, where=network.where)
    pools = pools_of(network, info, raws, linked)
    return Network(
        name=name,
        runtime=LL_ATON,
        runtime_version=network.runtime,
        abi_stamp=stamp(network.text, more, pools),
        numerics=NUMERICS,
        pools=pools,
        inputs=tuple(map(port_of, network.inputs)),
        outputs=tuple(map(port_of, network.outputs)),
        epochs=epochs_of(network, info),
        macc=macc,
    )


def cpu_facts(name: str, info: CInfo, codes: Iterable[str]) -> Network:
    """Make the facts of a network for a core from its description; ``codes``: the normalized C without weights, for the
    stamp. NeuralArtError: the description has no graph.
    """
    if info.graph is None or info.core is None:
        raise NeuralArtError("there is no graph in it", where=info.file, hint="is it of 'generate', not of 'validate'?")
    pools = tuple(
        PoolUse(
            name=pool.name,
            fname=pool.name,
            address=pool.address or 0,
            size=pool.size if pool.size else pool.used,
            used=pool.used,
            weights=pool.used if pool.rights == "ACC_READ" else 0,
            activations=pool.used if pool.rights == "ACC_WRITE" else 0,
            rights=pool.rights,
        )
        for pool in info.real_pools
    )
    first, *more = list(codes) or [""]
    build = int(info.core.build) if info.core.build.isdigit() else 0
    return Network(
        name=name,
        runtime=NETWORK_RUNTIME,
        runtime_version=(*info.core.numbers, build),
        abi_stamp=stamp(first, more, pools),
        numerics=CPU_NUMERICS,
        pools=pools,
        inputs=ports(info, info.graph.inputs),
        outputs=ports(info, info.graph.outputs),
        epochs=tuple(Epoch(number, "SW", (node.type,)) for number, node in enumerate(info.graph.nodes)),
        macc=sum(node.macc for node in info.graph.nodes),
    )
