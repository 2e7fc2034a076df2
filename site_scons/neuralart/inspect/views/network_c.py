"""Record of a generated network.c."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import address, findings, plural, table
from neuralart.inspect.views import report_parts as parts
from neuralart.report import offload
from neuralart.vendor import releases
from neuralart.vendor.network_c import checks
from neuralart.vendor.network_c.checks import covered, extent, rows_by_pool, used
from neuralart.vendor.network_c.read import read
from neuralart.vendor.network_c.types import BLOCK_KINDS, BufferRow, EpochBlock, GeneratedNetwork, NetworkPort, Pool

_PORT_HEADS = ("name", "address", "pool", "bytes", "type", "in memory", "channels", "scale, zero point")


def _one(values: tuple[Any, ...]) -> Any:
    """A value alone; one per channel as a list."""
    return values[0] if len(values) == 1 else list(values) if values else None


def _port(port: NetworkPort) -> dict[str, Any]:
    return {
        "name": port.row.name,
        "address": port.address,
        "bytes": port.row.bytes,
        **parts.fields(port, "shape mem_shape channel_position dtype bits"),
        "scale": _one(port.quant.scales) if port.quant else None,
        "zero_point": _one(port.quant.zero_points) if port.quant else None,
        "user_allocated": port.row.user_allocated,
        "pool": port.pool,
    }


def _pool(pool: Pool, placed: dict[str, list[BufferRow]], pools: tuple[Pool, ...]) -> dict[str, Any]:
    return {
        **parts.fields(pool, "fname name address size"),
        "used": used(pool, placed, pools),
        **parts.fields(pool, "mode rights virtual score cacheable initializers"),
    }


def _epoch(block: EpochBlock) -> dict[str, Any]:
    return {
        "number": block.number,
        "last": block.last,
        "kind": block.kind or None,
        **parts.fields(block, "operators npu_cycles total_cycles"),
    }


def _weights(placed: dict[str, list[BufferRow]], pools: dict[str, Pool]) -> list[dict[str, Any]]:
    found = []
    for fname, rows in placed.items():
        params = [row for row in rows if row.is_param]
        if params:
            end = extent(pools[fname], params) if fname in pools else max(row.end for row in params)
            found.append({"pool": fname, "bytes": covered(params), "end": end, "buffers": len(params)})
    return found


def as_record(network: GeneratedNetwork, path: Path | None = None) -> dict[str, Any]:
    """The record of a network that has been read.

    Args:
        network: It.
        path: Its file, if the files beside it are to be compared with it.
    """
    placed = rows_by_pool(network)
    release = releases.of_runtime(network.runtime)
    rows = {table: sum(row.table == table for row in network.rows) for table in ("input", "output", "internal")}
    kinds = {kind: sum(block.kind == kind for block in network.blocks) for kind in BLOCK_KINDS}
    return {
        "kind": "network_c",
        "name": network.name,
        "runtime": network.runtime_text,
        "guard": network.guard,
        "tool": release.core if release else None,
        "tool_branch": network.banner.branch,
        "tool_description": network.banner.origin.get("GIT_DESCRIPTION", ""),
        "model": network.banner.model,
        "front_end": network.banner.front_end,
        "epoch_controller": network.epoch_controller,
        "ecblobs": network.ecblobs,
        "blocks": len(network.blocks),
        "block_kinds": kinds,
        "epochs": [_epoch(block) for block in network.blocks],
        "pools": [_pool(pool, placed, network.pools) for pool in network.pools],
        "inputs": [_port(port) for port in network.inputs],
        "outputs": [_port(port) for port in network.outputs],
        "weights": _weights(placed, {pool.fname: pool for pool in network.pools}),
        "relative_pools": [pool.fname for pool in network.pools if pool.relative and not pool.of_user],
        "buffer_rows": rows,
        "offload": offload.as_data(offload.from_epochs(network.blocks)),
        "options": network.banner.options,
        "findings": [
            {"code": problem.code, "where": problem.where, "text": problem.what}
            for problem in checks.problems(network, path, placed)
        ],
    }


def record(path: Path) -> dict[str, Any]:
    """What a network.c says.

    Raises:
        NeuralArtError: It cannot be read, or is none.
    """
    return as_record(read(path), path)


def _port_row(port: dict[str, Any]) -> list[Any]:
    scale, zero = port["scale"], port["zero_point"]
    quant = "-" if scale is None else "per channel" if isinstance(scale, list) else f"{scale:.9g}, {zero}"
    return [
        port["name"],
        "application" if port["user_allocated"] else address(port["address"]),
        port["pool"] or "-",
        port["bytes"],
        port["dtype"],
        "x".join(map(str, port["mem_shape"])) or "-",
        port["channel_position"],
        quant,
    ]


def _head(record: dict[str, Any]) -> list[str]:
    tool = (
        f"ST Edge AI Core {record['tool']}" if record["tool"] else record["tool_description"] or "an unknown compiler"
    )
    guard = f", {record['guard']} for another one" if record["guard"] else ""
    kinds = ", ".join(f"{count} {kind}" for kind, count in record["block_kinds"].items() if count)
    lines = [
        f"network '{record['name']}' by {tool} ({record['tool_branch'] or 'no branch given'})",
        f"  runtime   {record['runtime'] or 'unknown'}{guard}",
        f"  model     {record['model'] or 'unknown'}",
        f"  epochs    {plural(record['blocks'], 'block')}{f' ({kinds})' if kinds else ''}",
    ]
    if record["epoch_controller"]:
        lines.append(f"  blobs     {record['ecblobs'] or 'epoch controller'}")
    return lines


def text(record: dict[str, Any]) -> str:
    """For people; pools that are not used are left out."""
    lines = _head(record)
    pools = [pool for pool in record["pools"] if pool["used"]]
    heads = ("pool", "name", "base", "size", "used", "rights", "mode")
    lines += ["", f"{plural(len(record['pools']), 'pool')}, in use {len(pools)}:"]
    lines += table(
        heads,
        (
            [
                pool["fname"],
                pool["name"],
                address(pool["address"]),
                pool["size"],
                pool["used"],
                pool["rights"],
                pool["mode"] + (", virtual" if pool["virtual"] else ""),
            ]
            for pool in pools
        ),
    )
    for title in ("inputs", "outputs"):
        lines += ["", f"{title}:", *table(_PORT_HEADS, (_port_row(port) for port in record[title]))]
    lines += ["", "weights:"]
    for found in record["weights"]:
        where = found["pool"] or "outside of all pools"
        lines.append(
            f"  {where}: {found['bytes']:,} bytes in {plural(found['buffers'], 'buffer')}, up to {found['end']:,}"
        )
    rows = record["buffer_rows"]
    lines.append(f"  rows: {rows['input']} input, {rows['output']} output, {rows['internal']} internal")
    lines += _software(record)
    return "\n".join([*lines, *findings(record)]) + "\n"


def _software(record: dict[str, Any]) -> list[str]:
    epochs = [epoch for epoch in record["epochs"] if epoch["kind"] in ("SW", "HYBRID")]
    if not epochs:
        return []
    rows = ([epoch["number"], epoch["kind"], ", ".join(epoch["operators"]) or "-"] for epoch in epochs)
    return ["", f"{plural(len(epochs), 'block')} with software:", *table(("epoch", "kind", "operators"), rows)]
