"""Records of generated C: a network.c, a header with epoch-controller blobs, an initializer as an array."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuralart.vendor import releases
from neuralart.vendor.network_c import checks
from neuralart.vendor.network_c import pools as pool_text
from neuralart.vendor.network_c.checks import covered, extent, rows_by_pool, used
from neuralart.vendor.network_c.read import read
from neuralart.vendor.network_c.types import BLOCK_KINDS, BufferRow, GeneratedNetwork, NetworkPort, Pool
from neuralart.vendor.tables import address, address_or_none, fields, plural, problems, quantization, rows, used_pools
from neuralart_insight.inspect.kinds import view
from neuralart_insight.report import npu_epochs, offload
from neuralart_virtual.network_c import ecblobs

_TABLES = ("input", "output", "internal")
_PORT_COLUMNS = "name address pool bytes type=dtype in_memory=shape channels=channel_position scale,_zero_point=scale"


def _one(values: tuple[Any, ...]) -> Any:
    """A value alone; one per channel as a list."""
    return values[0] if len(values) == 1 else list(values) if values else None


def _port(port: NetworkPort) -> dict[str, Any]:
    return {
        **fields(port, "name=row.name address bytes=row.bytes shape mem_shape channel_position dtype bits"),
        "scale": _one(port.quant.scales) if port.quant else None,
        "zero_point": _one(port.quant.zero_points) if port.quant else None,
        **fields(port, "user_allocated=row.user_allocated pool"),
    }


def _weights(placed: dict[str, list[BufferRow]], pools: dict[str, Pool]) -> Iterator[dict[str, Any]]:
    for fname, buffers in placed.items():
        params = [row for row in buffers if row.is_param]
        if params:
            end = extent(pools[fname], params) if fname in pools else max(row.end for row in params)
            yield {"pool": fname, "bytes": covered(params), "end": end, "buffers": len(params)}


def as_record(network: GeneratedNetwork, path: Path | None = None) -> dict[str, Any]:
    """The record of a network that has been read; with its path, the files beside it are compared with it."""
    placed = rows_by_pool(network)
    release = releases.of_runtime(network.runtime)
    return {
        **fields(network, "name runtime=runtime_text guard"),
        "tool": release.core if release else None,
        "tool_branch": network.banner.branch,
        "tool_description": network.banner.origin.get("GIT_DESCRIPTION", ""),
        **fields(network, "model=banner.model front_end=banner.front_end epoch_controller ecblobs"),
        "blocks": len(network.blocks),
        "block_kinds": {kind: sum(block.kind == kind for block in network.blocks) for kind in BLOCK_KINDS},
        "epochs": [
            {
                **fields(block, "number last"),
                "kind": block.kind or None,
                **fields(block, "operators npu_cycles total_cycles"),
            }
            for block in network.blocks
        ],
        "pools": [
            {
                **fields(pool, "fname name address size"),
                "used": used(pool, placed, network.pools),
                **fields(pool, "mode rights virtual score cacheable initializers"),
            }
            for pool in network.pools
        ],
        "inputs": [_port(port) for port in network.inputs],
        "outputs": [_port(port) for port in network.outputs],
        "weights": list(_weights(placed, {pool.fname: pool for pool in network.pools})),
        "relative_pools": [pool.fname for pool in network.pools if pool.relative and not pool.of_user],
        "buffer_rows": {name: sum(row.table == name for row in network.rows) for name in _TABLES},
        "offload": offload.as_data(offload.from_epochs(network.blocks)),
        "options": network.banner.options,
        "npu": npu_epochs.of_network(network, path.parent) if path is not None else dict(npu_epochs.NOTHING),
        "findings": problems(checks.problems(network, path, placed)),
    }


def _shown_port(port: dict[str, Any]) -> dict[str, Any]:
    """A port with texts for a table."""
    return {
        **port,
        "address": "application" if port["user_allocated"] else address(port["address"]),
        "pool": port["pool"] or "-",
        "shape": "x".join(map(str, port["mem_shape"])) or "-",
        "scale": quantization(port),
    }


def _lines(record: dict[str, Any]) -> Iterator[str]:
    """Pools that are not used are left out."""
    core, description = record["tool"], record["tool_description"]
    tool = f"ST Edge AI Core {core}" if core else description or "an unknown compiler"
    guard = f", {record['guard']} for another one" if record["guard"] else ""
    kinds = ", ".join(f"{count} {kind}" for kind, count in record["block_kinds"].items() if count)
    blocks = plural(record["blocks"], "block") + (f" ({kinds})" if kinds else "")
    yield f"network '{record['name']}' by {tool} ({record['tool_branch'] or 'no branch given'})"
    yield f"  runtime   {record['runtime'] or 'unknown'}{guard}"
    yield f"  model     {record['model'] or 'unknown'}"
    yield f"  epochs    {blocks}"
    if record["epoch_controller"]:
        yield f"  blobs     {record['ecblobs'] or 'epoch controller'}"
    used, title = used_pools(record)
    marks = {True: ", virtual", False: ""}
    pools = ({**pool, "mode": pool["mode"] + marks[bool(pool["virtual"])]} for pool in used)
    yield from ("", title, *rows(pools, "pool=fname name base=@address size used rights mode"))
    for title in ("inputs", "outputs"):
        yield from ("", f"{title}:", *rows(map(_shown_port, record[title]), _PORT_COLUMNS))
    yield from ("", "weights:")
    for found in record["weights"]:
        buffers = plural(found["buffers"], "buffer")
        place = found["pool"] or "outside of all pools"
        yield f"  {place}: {found['bytes']:,} bytes in {buffers}, up to {found['end']:,}"
    yield "  rows: " + ", ".join(f"{count} {kind}" for kind, count in record["buffer_rows"].items())
    if epochs := [epoch for epoch in record["epochs"] if epoch["kind"] in ("SW", "HYBRID")]:
        yield from ("", f"{plural(len(epochs), 'block')} with software:")
        yield from rows(epochs, "epoch=number kind operators=&operators")
    if decoded := npu_epochs.lines(record["npu"]):
        yield from ("", *decoded)


def _blobs(path: Path) -> dict[str, Any]:
    header = ecblobs.read(path)
    names, patched = "symbol number words bytes form copy_words encrypted address", "id index symbol patches"
    return {
        "name": header.name,
        "blobs": [
            {**fields(blob, names), "relocations": [fields(each, patched) for each in blob.relocations]}
            for blob in header.blobs
        ],
        "words": sum(blob.words for blob in header.blobs),
        "bytes": header.bytes,
        "copy_bytes": sum(8 * blob.copy_words for blob in header.blobs),
        "relocated_by": sorted({each.id for blob in header.blobs for each in blob.relocations}),
        "encrypted": sum(blob.encrypted is True for blob in header.blobs),
        "npu": npu_epochs.of_programs(header),
        "findings": problems(header.problems),
    }


def _blobs_lines(record: dict[str, Any]) -> Iterator[str]:
    blobs, name = record["blobs"], record["name"] or "unknown"
    copies = f", {record['copy_bytes']:,} more in RAM for copies" if record["copy_bytes"] else ""
    count = f"{plural(len(blobs), 'blob')}, {record['bytes']:,} bytes{copies}"
    yield f"epoch-controller blobs of network '{name}': {count}"
    known = {True: "yes", False: "no", None: "-"}
    shown = (
        {**blob, "encrypted": known[blob["encrypted"]], "ids": [each["id"] for each in blob["relocations"]]}
        for blob in blobs
    )
    yield from rows(shown, "blob=symbol words form encrypted relocated_by=&ids")
    if decoded := npu_epochs.lines(record["npu"]):
        yield from ("", *decoded)


def _initializer(path: Path) -> dict[str, Any]:
    """What such a file says; not its contents."""
    found = pool_text.read_initializer(path)
    pool = found.pool
    return {
        **fields(found, "symbol name=network"),
        "pool": pool.fname if pool else "",
        "pool_name": pool.name if pool else "",
        "address": pool.address if pool else None,
        "size": pool.size if pool else None,
        "mode": pool.mode if pool else "",
        **fields(found, "bytes=size words"),
        "crc32": zlib.crc32(found.data),
        "findings": problems(found.problems),
    }


def _initializer_lines(record: dict[str, Any]) -> Iterator[str]:
    named = f"pool {record['pool']} ({record['pool_name']})"
    pool = named if record["pool"] else "a pool without description"
    base = address_or_none(record["address"])
    place = f", {record['mode']}, base {base}" if base is not None else ""
    size = f"{record['bytes']:,} bytes in {record['words']:,} words, CRC-32 0x{record['crc32']:08x}"
    yield f"initializer of {pool}{place}"
    yield f"  array {record['symbol']}: {size}"


NETWORK_C = view(lambda path: as_record(read(path), path), _lines)
ECBLOBS = view(_blobs, _blobs_lines)
INITIALIZER_C = view(_initializer, _initializer_lines)
