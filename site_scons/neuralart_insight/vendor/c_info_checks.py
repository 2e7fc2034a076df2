"""What must agree within a ``c_info.json``, and with the files beside it: findings, sentences with numbers."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.vendor.c_info.types import NPU, CInfo, InfoBuffer, InfoPool

CPU_PADDING = 16


def _reach(pool: InfoPool, info: CInfo, alone: bool = False) -> int:
    """Highest offset of a pool in use, counting the buffers of pools that lie in it or around it unless ``alone``."""
    related = {other.id: other for other in info.pools if pool.id in other.parts or other.id in pool.parts}
    reach = 0
    for buffer in info.buffers:
        start, end = buffer.offset, buffer.offset + buffer.size
        if buffer.pool != pool.id:
            other = related.get(buffer.pool)
            if alone or other is None or other.address is None or pool.address is None:
                continue
            start, end = start + other.address - pool.address, end + other.address - pool.address
            if pool.size is not None and start < pool.size:
                end = min(end, pool.size)
            elif pool.size is not None:
                # In a part behind this one.
                continue
        reach = max(reach, end)
    return reach


def check_pools(info: CInfo) -> tuple[str, ...]:
    """Used bytes against the buffers and the capacity; references between pools and buffers."""
    findings = []
    filled = {buffer.pool for buffer in info.buffers}
    by_id = {pool.id: pool for pool in info.pools}
    for pool in info.pools:
        if pool.size is not None and pool.used > pool.size:
            findings.append(f"pool {pool.name} uses {pool.used} of {pool.size} bytes")
        # What the application provides is no memory of the network: nothing of it counts as used.
        if (pool.used or pool.id in filled) and not pool.user_allocated:
            own, reach = _reach(pool, info, alone=True), _reach(pool, info)
            # What ends a virtual pool are its own buffers, or those of a part; not every part that is in use counts.
            least = own if pool.virtual else reach
            # On a CPU the end of the arrays is padded; on the NPU not one byte is added.
            if not least <= pool.used < reach + (1 if info.flow == NPU else CPU_PADDING):
                findings.append(f"pool {pool.name}: its buffers end at {reach}, used are {pool.used} bytes")
        missing = [part for part in pool.parts if part not in by_id]
        if missing:
            findings.append(f"pool {pool.name} is made of pools that are not listed: {missing}")
    if len(by_id) != len(info.pools):
        findings.append("two pools have the same id")
    lost = sorted({buffer.pool for buffer in info.buffers} - set(by_id))
    if lost:
        findings.append(f"buffers lie in pools that are not listed: {lost}")
    return tuple(findings)


def check_graph(info: CInfo) -> tuple[str, ...]:
    """References from the graph and its tables."""
    if info.graph is None:
        return ()
    findings = []
    buffers = {buffer.id for buffer in info.buffers}
    nodes = {node.id for node in info.graph.nodes}
    if len(buffers) != len(info.buffers):
        findings.append("two buffers have the same id")
    if len(nodes) != len(info.graph.nodes):
        findings.append("two nodes have the same id")
    for what, ids in (("inputs", info.graph.inputs), ("outputs", info.graph.outputs)):
        lost = sorted(set(ids) - buffers)
        if lost:
            findings.append(f"{what} of the graph are buffers that are not listed: {lost}")
    for table, used in (
        ("memory_accesses", {access.node for access in info.accesses}),
        ("power_estimates", {estimate.node for estimate in info.estimates}),
        ("ec_blobs_info", {node for blob in info.blobs for node in blob.nodes}),
    ):
        lost = sorted(used - nodes)
        if lost:
            findings.append(f"{table} names nodes that are not listed: {lost[:8]}")
    return tuple(findings)


def check_footprint(info: CInfo) -> tuple[str, ...]:
    """The front end's sums against the pools, virtual ones not counted."""
    if info.footprint is None or not info.pools:
        return ()
    # Where the compiler put weights into writable pools, only the sum of both figures is certain.
    if any(pool.rights != "ACC_READ" for pool in initializers(info)):
        return ()
    # 2.0 counts what the application provides as well, later releases do not.
    provided = sum(_reach(pool, info) for pool in info.pools if pool.user_allocated)
    return tuple(
        f"memory_footprint has {told} bytes of {what}, the pools add up to {added}"
        for what, told, added, more in (
            ("weights", info.footprint.weights, info.weights_used, 0),
            ("activations", info.footprint.activations, info.activations_used, provided),
        )
        if told is not None and told - added not in (0, more)
    )


def initializers(info: CInfo) -> tuple[InfoPool, ...]:
    """Pools with constants in them, each of which has a raw file; parts in place of virtual pools."""
    by_id = {pool.id: pool for pool in info.pools}
    chosen: set[int] = set()
    for buffer in info.buffers:
        pool = by_id.get(buffer.pool)
        if buffer.constant and pool is not None:
            chosen.update(_parts_under(buffer, pool, by_id) if pool.virtual else (pool.id,))
    return tuple(pool for pool in info.pools if pool.id in chosen)


def _parts_under(buffer: InfoBuffer, pool: InfoPool, by_id: Mapping[int, InfoPool]) -> list[int]:
    if pool.address is None:
        return []
    start = pool.address + buffer.offset
    end, parts = start + max(buffer.size, 1), (by_id[number] for number in pool.parts if number in by_id)
    placed = ((part.id, part.address, part.size or 0) for part in parts if part.address is not None)
    return [id_ for id_, address, size in placed if start < address + size and address < end]


def check_raw_sizes(info: CInfo, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Initializers (file postfix such as ``xSPI2`` -> bytes) against the pools: they have exactly the used bytes."""
    if info.flow != NPU:
        return ()
    findings = []
    wanted = {pool.fname: pool for pool in initializers(info)}
    for fname, pool in wanted.items():
        if fname not in sizes:
            findings.append(f"pool {pool.name} holds constants ({pool.used} bytes used), but there is no {pool.file}")
        elif sizes[fname] != pool.used:
            findings.append(f"{pool.file} has {sizes[fname]} bytes, pool {pool.name} uses {pool.used}")
    for fname, size in sorted(sizes.items()):
        if size and fname not in wanted:
            findings.append(f"the initializer of {fname} has {size} bytes, but no pool of that name holds constants")
    return tuple(findings)
