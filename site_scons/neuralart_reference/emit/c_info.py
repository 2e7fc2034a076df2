"""``N_c_info.json``: pools, buffers, graph and footprint, in the vendor's schema 2.0 with honest values. Values that
only an NPU or a measurement could give are empty lists or null. No time, no folder, no signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from neuralart.network.facts import NEURALART_VERSION
from neuralart_reference.emit.ctext import data_type
from neuralart_reference.emit.emission import TOOL, Emission, score
from neuralart_reference.emit.rows import Row, constant_row, constant_rows, internal, internal_rows, port_rows
from neuralart_reference.ir import Call
from neuralart_reference.model.graph import Quantization, Tensor

_AXES = {1: ["CH"], 2: ["BATCH", "CH"], 3: ["BATCH", "W", "CH"], 4: ["BATCH", "H", "W", "CH"]}
_FORMATS = {"int8": "S8", "uint8": "U8", "int16": "S16", "uint16": "U16", "int32": "S32", "int64": "S64"}
_FORMATS |= {"float32": "FLOAT"}
# Only the vendor's tools measure these.
_NOT_MEASURED = ("kernel_flash", "kernel_ram", "toolchain_flash", "toolchain_ram", "toolchain")


def names_of_axes(shape: Sequence[int], known: Mapping[int, list[str]] | None = None) -> list[str]:
    """What the axes are called, by their number; ``D0``, ``D1``... where that says nothing."""
    return (_AXES if known is None else known).get(len(shape), [f"D{axis}" for axis in range(len(shape))])


def _intq(quantization: Quantization | None) -> dict[str, Any]:
    """Scales and zero points; empty if it is not quantized."""
    if quantization is None:
        return {}
    return {"axis": quantization.axis, "scales": list(quantization.scales), "offsets": list(quantization.zero_points)}


def buffer_row(dtype: str, quantization: Quantization | None, **members: Any) -> dict[str, Any]:
    """A row of ``buffers``."""
    _enumerator, bits, unsigned, _ctype = data_type(dtype)
    return {
        "format": f"STAI_FORMAT_{_FORMATS.get(dtype, 'NONE')}",
        "nbits": bits,
        "qmn": {} if dtype.startswith("float") else {"m": bits - 1 + unsigned, "n": 0, "sign": not unsigned},
        "intq": _intq(quantization),
        **members,
    }


def pool_row(number: int, name: str, **members: Any) -> dict[str, Any]:
    """A row of ``memory_pools``: writable, of the network and of one piece unless the members say otherwise."""
    return {
        "id": number,
        "name": name,
        "rights": "ACC_WRITE",
        "offset_start": 0,
        "persistent": False,
        "user_allocated": False,
        "virtual": False,
        "subpools": [],
        **members,
    }


def node_row(number: int, name: str, call: Call, **members: Any) -> dict[str, Any]:
    """A node of the graph: a kernel on the CPU."""
    return {
        "id": number,
        "name": name,
        "mapping": "NODE_SW",
        "macc": call.macc,
        "original_nodes": [str(call.operator)] if call.operator >= 0 else [],
        "sw_functions": [call.kernel],
        **members,
    }


def _edges(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the last writer of a buffer to each of its readers."""
    found: list[dict[str, Any]] = []
    writer: dict[int, tuple[int, int]] = {}
    for node in nodes:
        for port, buffer in enumerate(node["inputs"]):
            if buffer in writer:
                start, out = writer[buffer]
                found.append(
                    {
                        "id": len(found),
                        "name": f"n{start}-p{out}_n{node['id']}-p{port}",
                        "edge_kind": "EDGE_MEMORY",
                        "buffer": buffer,
                        "start": {"node_id": start, "port": out},
                        "end": {"node_id": node["id"], "port": port},
                    }
                )
        for port, buffer in enumerate(node["outputs"]):
            writer[buffer] = (node["id"], port)
    return found


def _original(tensor: Tensor) -> dict[str, Any]:
    """An input or output as the model has it."""
    quantization, shape_map = tensor.quantization, names_of_axes(tensor.shape)
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "shape_map": shape_map,
        "c_shape_map": shape_map,
        "data_format": {
            "type": _FORMATS.get(tensor.dtype, tensor.dtype),
            "size": data_type(tensor.dtype)[1],
            "scale": list(quantization.scales) if quantization else [],
            "zero": list(quantization.zero_points) if quantization else [],
            "quantizer": "LINEAR" if quantization else "NONE",
        },
    }


def parameters(emission: Emission) -> tuple[int, int]:
    """Number and bytes of the model's own parameters (without what the compiler adds)."""
    own = [constant_row(emission, item) for item in emission.plan.constants if item.tensor is not None]
    return sum(elements(row) for row in own), sum(row.size for row in own)


def elements(row: Row) -> int:
    """Elements of a buffer."""
    return row.size * 8 // data_type(row.dtype)[1]


def _environment(emission: Emission, stamp: str, files: Sequence[str]) -> dict[str, Any]:
    count, size = parameters(emission)
    file_type = "onnx" if emission.model.channels_first else "tflite"
    return {
        "generated_model": {"name": emission.name, "model_files": [{"name": name, "signature": ""} for name in files]},
        "network_signature": f"0x{stamp}",
        "test_name": "",
        "target": emission.target,
        "tools": [
            {
                "name": TOOL,
                "version": ".".join(map(str, NEURALART_VERSION)),
                "arguments": emission.arguments,
                "environment": [],
                "input_model": {
                    "name": emission.model.stem,
                    "type": file_type,
                    "size": size,
                    "n_params": count,
                    "model_files": [{"name": f"{emission.model.stem}.{file_type}", "signature": ""}],
                },
            }
        ],
    }


def document(
    emission: Emission,
    stamp: str,
    files: Sequence[str],
    *,
    pools: list[dict[str, Any]],
    buffers: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    inputs: list[int],
    outputs: list[int],
    footprint: Mapping[str, Any],
    **members: Any,
) -> str:
    """The JSON text of rows; inputs and outputs are numbers of buffers. The abi stamp stands where the vendor's tool
    has its signature; the footprint has ``activations``, ``weights`` and ``io`` in bytes.
    """
    graph = {
        "id": 0,
        "name": emission.model.stem,
        "inputs": inputs,
        "outputs": outputs,
        "nodes": nodes,
        "edges": _edges(nodes),
        "original_inputs": [_original(emission.model.tensors[each]) for each in emission.model.inputs],
        "original_outputs": [_original(emission.model.tensors[each]) for each in emission.model.outputs],
    }
    data = {
        "json_schema_version": "2.0",
        "environment": _environment(emission, stamp, files),
        "memory_pools": pools,
        "buffers": buffers,
        "graphs": [graph],
        "memory_footprint": {**footprint, **dict.fromkeys(_NOT_MEASURED), "series": emission.target},
        **members,
    }
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


_MAXINT = 4294967295


def _buffer(row: Row, number: int, pools: dict[str, int]) -> dict[str, Any]:
    return buffer_row(
        row.dtype,
        row.quantization,
        id=number,
        name=row.name,
        mpool_id=pools[row.pool or _user_pool(row)],
        offset_start=row.start,
        size_bytes=row.size,
        is_param=row.is_param,
        shape=list(row.shape),
        shape_map=names_of_axes(row.shape),
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
            pool_row(
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
    return pool_row(number, _user_pool(row), user_allocated=True, **sizes, **more)


def _node(emission: Emission, epoch: int, call: Call, ids: dict[int, int]) -> dict[str, Any]:
    root = emission.program.root
    name = emission.tensor(call.writes[0]).name if call.writes else call.kind
    made = node_row(
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
    numbers = [*emission.program.inputs, *emission.program.outputs, *internal(emission)]
    ids: dict[int, int] = {}
    for number, tensor in enumerate(numbers):
        ids.setdefault(emission.program.root(tensor), number)
    nodes = [_node(emission, epoch, call, ids) for epoch, call in enumerate(emission.program.calls)]
    physical = emission.physical()
    raws = [f"{emission.name}_{emission.pools.prefix}.{fname}.raw" for fname in emission.plan.images]
    return document(
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
