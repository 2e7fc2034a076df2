"""JSON and CSV of the made-up tool."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from support.fake_stedgeai.placement import Placed
from support.models import vendor_network_c as shape

_FORMATS = {"INT8": "STAI_FORMAT_S8", "UINT8": "STAI_FORMAT_U8", "FLOAT": "STAI_FORMAT_FLOAT32"}


def md5(data: bytes) -> str:
    return "0x" + hashlib.md5(data, usedforsecurity=False).hexdigest()


def environment(job, files: list[dict]) -> dict:
    """What differs between two runs of equal inputs."""
    model = {"name": Path(job.model).name, "signature": md5(job.data)}
    tool = {
        "name": "ST.EdgeAI.Core",
        "version": job.core,
        "arguments": " ".join(job.argv),
        "environment": [f"STATS_TYPE=run-{job.ticks}"],
        "input_model": {"model_files": [model], "name": job.stem, "type": job.model.rpartition(".")[2], "size": 224},
    }
    when = f"{job.now.replace(' ', 'T')}+0200 {job.ticks}"
    return {
        "generated_model": {"model_files": files, "name": job.symbol, "generated_time": when},
        "tools": [tool],
        "test_name": "",
        "network_signature": f"0x{job.ticks & (1 << 64) - 1:016x}",
    }


def quantization(job, onnx: bytes) -> str:
    files = [{"name": f"{job.exported}.onnx", "signature": md5(onnx)}]
    data = {"version": "4.0", "environment": environment(job, files), "model_info": {}, "tensors": {}}
    data["nodes"] = {"Conv_2": {"names": ["conv2d"]}, "Softmax_9": {"names": ["softmax"]}}
    return json.dumps(data, indent=1)


def _pool(job, number: int, pool, buffers: list[int]) -> dict:
    return {
        "id": number,
        "name": pool.name,
        "fname": f"{job.prefix}.{pool.fname}.raw",
        "address": str(pool.address),
        "size_bytes": pool.size,
        "used_size_bytes": pool.used,
        "rights": pool.rights,
        "alignment": 8,
        "offset_start": 0,
        "subpools": [],
        "buffers": buffers,
        "cacheable": "CACHEABLE_OFF" if pool.writable else "CACHEABLE_ON",
        "attributes": {"byte_width": 8, "freq_ratio": 1.25, "score": 94 - number, "use_for_initrs": not pool.writable},
    }


def c_info(job, placed: Placed, controller: bool) -> str:
    numbers = {pool.fname: number for number, pool in enumerate(job.pools)}
    buffers, of_pool = [], {}
    for number, row in enumerate(placed.rows):
        if row.user:
            continue
        entry = {
            "id": number,
            "name": row.name,
            "mpool_id": numbers[row.pool],
            "offset_start": row.start,
            "size_bytes": row.end - row.start,
            "is_param": row.table == "param",
            "shape": list(row.shape),
            "channel_first": row.letter == "F",
            "channel_last": row.letter == "L",
            "epochs": {"start": 1, "end": 3},
            "flags": "",
            "format": _FORMATS[row.dtype],
            "nbits": row.bits,
        }
        buffers.append(entry)
        of_pool.setdefault(row.pool, []).append(number)
    pools = [_pool(job, numbers[pool.fname], pool, of_pool.get(pool.fname, [])) for pool in job.pools]
    by_name = {pool.fname: pool for pool in job.pools}
    for _, name, address, size, parts in placed.virtual:
        reach = max((by_name[p].address + by_name[p].used - address for p in parts if by_name[p].used), default=0)
        whole = dict(pools[numbers[parts[0]]], id=len(pools), name=name, fname="", buffers=[], size_bytes=size)
        pools.append(
            {**whole, "used_size_bytes": reach, "subpools": [numbers[p] for p in parts], "address": str(address)}
        )
    files = [{"name": f"{job.name}.c", "signature": ""}]
    files += [{"name": f"{job.prefix}.{pool.fname}.raw", "signature": ""} for pool in job.pools]
    about = environment(job, files)
    about["tools"].append(
        {"name": "ATONN Compiler", "version": job.atonn, "arguments": f"-i {job.out}/{job.exported}.onnx"}
    )
    data = {
        "json_schema_version": "2.0",
        "environment": about,
        "buffers": buffers,
        "memory_pools": pools,
        "graphs": [_graph(job, placed, controller)],
        "memory_accesses": [],
        "power_estimates": [],
        "memory_footprint": {
            "activations": sum(pool.used for pool in job.pools if pool.writable),
            "weights": sum(pool.used for pool in job.pools if not pool.writable),
            "io": [0, 0],
            "kernel_flash": None,
            "kernel_ram": None,
            "toolchain": None,
            "toolchain_flash": None,
            "toolchain_ram": None,
            "series": "stm32n6npu",
        },
    }
    if job.key >= "2.2" and controller:
        data["ec_blobs_info"] = [{"name": f"_ec_blob_{job.symbol}_0", "encrypted": False, "nodes_id": [2, 3, 4, 5]}]
    if job.failure == "sizes":
        data["memory_footprint"]["toolchain"] = None
    return json.dumps(data, indent=1)


_MAPPING = {"HW": "NODE_HW", "SW": "NODE_SW", "HYBRID": "NODE_SW_HW", "EC": "NODE_EC"}


def _graph(job, placed: Placed, controller: bool) -> dict:
    from support.fake_stedgeai.sources import want

    nodes, done = [], set()
    plain = {number: ops for number, _, _, ops in shape.plan(want(job, False))}
    for first, last, kind, _ in shape.plan(want(job, controller)):
        for number in range(first, last + 1):
            if number in done:
                continue
            done.add(number)
            subs = [{"name": f"{op}_{number}", "mapping": _MAPPING[kind]} for op in plain[number]]
            for sub, op in zip(subs, plain[number], strict=True):
                sub |= {"type": op} if job.key >= "3" else {"description": f"Node kind={op}"}
            nodes.append(
                {
                    "id": number,
                    "name": f"epoch_{number}",
                    "mapping": _MAPPING[kind],
                    "macc": 0,
                    "original_nodes": [],
                    "inputs": [],
                    "outputs": [],
                    "subgraph_nodes": subs,
                    "sw_functions": [],
                }
            )
    ids = {
        kind: [n for n, row in enumerate(placed.rows) if row.table == kind and not row.user]
        for kind in ("input", "output")
    }
    return {"id": 0, "name": job.symbol, "inputs": ids["input"], "outputs": ids["output"], "nodes": nodes, "edges": []}


def csv(job, placed: Placed) -> str:
    from support.fake_stedgeai.sources import want

    head = "epochs,epoch OPS,epoch compute (cyles),max (cycles)\n"
    return head + "".join(f"{first} ,100,200,300\n" for first, *_ in shape.plan(want(job, False)))
