"""``N_c_info.json``: pools, buffers, graph and footprint, in the vendor's schema 2.0 with honest values.

Values that only an NPU or a measurement could give are empty lists or null. No time, no folder, no signature.
"""

from __future__ import annotations

from typing import Any

from neuralart.compilers.reference.emit import c_info_rows as base
from neuralart.compilers.reference.emit.emission import Emission, score
from neuralart.compilers.reference.emit.rows import Row, constant_rows, internal_rows, port_rows
from neuralart.compilers.reference.ir import Call

_MAXINT = 4294967295


def _buffer(row: Row, number: int, pools: dict[str, int]) -> dict[str, Any]:
    return base.buffer(
        row.dtype,
        row.quantization,
        id=number,
        name=row.name,
        mpool_id=pools[row.pool or _user_pool(row)],
        offset_start=row.start,
        size_bytes=row.size,
        is_param=row.is_param,
        shape=list(row.shape),
        shape_map=base.names_of_axes(row.shape),
        batch=1 if row.is_param or len(row.shape) < 2 else row.shape[0],
        alignment=16,
        channel_first=row.letter == "F",
        channel_last=row.letter == "L",
        epochs={"start": row.first, "end": row.epoch},
        flags="",
    )


def _user_pool(row: Row) -> str:
    kind, index = row.owner or ("", 0)
    return f"_user_io_{kind}_{index}"


def _pools(emission: Emission, rows: list[Row]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    plans = emission.plan.pools
    ids = {plan.fname: number for number, plan in enumerate(plans)}
    result = []
    for plan in plans:
        pool = plan.pool
        result.append(
            base.pool(
                ids[plan.fname],
                plan.name,
                fname=plan.fname,
                address=str(plan.address),
                size_bytes=plan.size,
                used_size_bytes=plan.used,
                rights=pool.rights,
                alignment=16,
                persistent=not pool.writable,
                virtual=bool(plan.parts),
                subpools=[ids[part] for part in plan.parts],
                buffers=[number for number, row in enumerate(rows) if row.pool == plan.fname],
                cacheable="CACHEABLE_ON" if pool.cacheable else "CACHEABLE_OFF",
                pipelined="PIPELINED_ON",
                attributes={
                    "byte_width": pool.byte_width,
                    "freq_ratio": pool.freq_ratio,
                    "latency": pool.latency,
                    "throughput": pool.throughput,
                    "score": score(pool),
                    "read_power": pool.read_power,
                    "write_power": pool.write_power,
                    "burst_max_length": _MAXINT,
                    "burst_penalty": 0,
                    "use_for_initrs": pool.constants_preferred or not pool.writable,
                },
            )
        )
    for number, row in enumerate(rows):
        if row.owner is not None and _user_pool(row) not in ids:
            ids[_user_pool(row)] = len(ids)
            result.append(_user(row, ids[_user_pool(row)], number))
    return result, ids


def _user(row: Row, number: int, buffer: int) -> dict[str, Any]:
    sizes = {"size_bytes": row.size, "used_size_bytes": row.size}
    more: dict[str, Any] = {"fname": "", "address": "NULL", "alignment": 8, "attributes": {}, "buffers": [buffer]}
    return base.pool(number, _user_pool(row), user_allocated=True, **sizes, **more)


def _node(emission: Emission, epoch: int, call: Call, ids: dict[int, int]) -> dict[str, Any]:
    root = emission.program.root
    name = emission.tensor(call.writes[0]).name if call.writes else call.kind
    made = base.node(
        epoch,
        f"epoch_{epoch}",
        call,
        inputs=[ids[root(each)] for each in call.reads if root(each) in ids],
        outputs=[ids[root(each)] for each in call.writes if root(each) in ids],
    )
    part = {
        "id": 0,
        "name": name,
        "type": call.kind,
        "mapping": made["mapping"],
        "attributes": {"HWUnit": "PROCESSOR 0"},
        "original_nodes": made["original_nodes"],
    }
    return {**made, "subgraph_nodes": [part]}


def c_info(emission: Emission, stamp: str) -> str:
    """The JSON text. The abi stamp stands where the vendor's tool has its signature."""
    inputs, outputs = port_rows(emission, "input"), port_rows(emission, "output")
    rows = [*inputs, *outputs, *internal_rows(emission), *constant_rows(emission)]
    pools, pool_ids = _pools(emission, rows)
    border = {emission.program.root(each) for each in (*emission.program.inputs, *emission.program.outputs)}
    inner = [root for root in sorted(emission.plan.tensors) if root not in border]
    numbers = [*emission.program.inputs, *emission.program.outputs, *inner]
    ids: dict[int, int] = {}
    for number, tensor in enumerate(numbers):
        ids.setdefault(emission.program.root(tensor), number)
    nodes = [_node(emission, epoch, call, ids) for epoch, call in enumerate(emission.program.calls)]
    physical = emission.physical()
    raws = [f"{emission.name}_{emission.pools.prefix}.{fname}.raw" for fname in emission.plan.images]
    return base.document(
        emission,
        stamp,
        (f"{emission.name}.c", *raws),
        pools=pools,
        buffers=[_buffer(row, number, pool_ids) for number, row in enumerate(rows)],
        nodes=nodes,
        inputs=list(range(len(inputs))),
        outputs=list(range(len(inputs), len(inputs) + len(outputs))),
        footprint={
            "activations": sum(plan.activations for plan in physical),
            "weights": sum(plan.weights for plan in physical),
            "io": [sum(row.size for row in inputs), sum(row.size for row in outputs)],
        },
        memory_accesses=[],
        power_estimates=[],
        ec_blobs_info=[],
    )
