"""``N_c_info.json`` as the CPU flow writes it: schema 2.0, pools with symbols or NULL for addresses. Sizes of pools are
-1, since the application provides them. No time, no folder, no signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuralart_reference.cpu.cpu_network import Array, CpuNetwork, Key, views
from neuralart_reference.emit import c_info as base
from neuralart_reference.emit.ctext import dtype_of_ctype
from neuralart_reference.emit.emission import score
from neuralart_reference.ir import Call
from neuralart_reference.model.graph import DTYPE_BYTES, Tensor
from neuralart_reference.planning.lifetimes import IO_ALIGN

_SIDES = ("input", "output")
_AXES = {1: ["CH"], 2: ["W", "CH"], 3: ["H", "W", "CH"]}


def _shape(tensor: Tensor) -> tuple[list[int], list[str]]:
    """Shape and names of its axes, without the batch."""
    shape = list(tensor.shape[1:] if len(tensor.shape) > 1 else tensor.shape) or [1]
    return shape, base.names_of_axes(shape, _AXES)


def _buffer(
    number: int, array: Array, pool: int, tensor: Tensor | None, dtype: str, epochs: tuple[int, int], flags: str
) -> dict[str, Any]:
    parameter = "WEIGHTS" in flags
    shape, axes = _shape(tensor) if tensor is not None else ([array.size // DTYPE_BYTES[dtype]], ["CH"])
    if tensor is not None and parameter:
        shape, axes = list(tensor.shape), base.names_of_axes(tensor.shape, {})
    return base.buffer_row(
        dtype,
        tensor.quantization if tensor is not None else None,
        id=number,
        name=array.name,
        mpool_id=pool,
        offset_start=array.offset,
        size_bytes=tensor.bytes if tensor is not None else array.size,
        is_param=parameter,
        shape=shape,
        shape_map=axes,
        batch=tensor.shape[0] if tensor is not None and len(tensor.shape) > 1 and not parameter else 1,
        alignment=IO_ALIGN,
        channel_first=False,
        channel_last=not parameter,
        epochs={"start": epochs[0], "end": epochs[1]},
        flags=flags,
    )


def _pool(number: int, name: str, **more: Any) -> dict[str, Any]:
    speed = {"latency": "UNDEF", "throughput": "UNDEF", "score": 0}
    usual = {"address": "NULL", "size_bytes": -1, "alignment": IO_ALIGN, "attributes": speed}
    return base.pool_row(number, name, **{**usual, **more})


class _Rows:
    """Pools and buffers with their numbers."""

    def __init__(self, network: CpuNetwork) -> None:
        self.network = network
        self.buffers: list[dict[str, Any]] = []
        self.ids: dict[Key, int] = {}
        self._used = network.placed.activations
        self._provided: list[Key] = []
        self._activations()
        self._constants()
        self._ports()

    def _add(self, key: Key, *rest: Any) -> None:
        self.ids[key] = len(self.buffers)
        self.buffers.append(_buffer(len(self.buffers), *rest))

    def _activations(self) -> None:
        emission = self.network.emission
        inputs = {emission.program.root(each) for each in emission.program.inputs}
        outputs = {emission.program.root(each) for each in emission.program.outputs}
        for key, array in self.network.activations.items():
            kind, number = key
            flags = ["STAI_FLAG_PREALLOCATED", "STAI_FLAG_ACTIVATIONS"] if array.number else []
            if kind == "scratch":
                self._add(key, array, array.number - 1, None, "uint8", (number, number), "|".join([*flags, _SCRATCH]))
                continue
            flags += ["STAI_FLAG_INPUTS"] * (number in inputs) + ["STAI_FLAG_OUTPUTS"] * (number in outputs)
            tensor = emission.tensor(self.network.face(number))
            pool = array.number - 1
            if not array.number:
                pool = len(self._used) + len(self.network.weights) + len(self._provided)
                self._provided.append(key)
            self._add(key, array, pool, tensor, tensor.dtype, emission.epochs_of(number), "|".join(flags))

    def _constants(self) -> None:
        emission = self.network.emission
        for item in emission.plan.constants:
            array = self.network.constants[item.key]
            tensor = emission.tensor(item.tensor) if item.tensor is not None else None
            dtype = tensor.dtype if tensor is not None else dtype_of_ctype(item.ctype) or "uint8"
            first = emission.constant_epochs.get(item.key, item.epoch)
            pool = len(self._used) + array.number - 1
            self._add(item.key, array, pool, tensor, dtype, (first, item.epoch), _PARAMETER)

    def _ports(self) -> None:
        """Inputs and outputs that another tensor's memory holds."""
        emission = self.network.emission
        for port, array in self.network.port_arrays.items():
            kind = "INPUTS" if port in emission.program.inputs else "OUTPUTS"
            owner = self.buffers[self.ids["tensor", emission.program.root(port)]]
            tensor, flags = emission.tensor(port), f"STAI_FLAG_PREALLOCATED|STAI_FLAG_{kind}"
            self._add(("port", port), array, owner["mpool_id"], tensor, tensor.dtype, emission.epochs_of(port), flags)

    def port(self, tensor: int) -> int:
        """Number of the buffer of an input or output."""
        found = self.ids.get(("port", tensor))
        return self.ids["tensor", self.network.emission.program.root(tensor)] if found is None else found

    def pools(self) -> list[dict[str, Any]]:
        """Used activation buffers by number, arrays of weights, buffers of the application."""
        network = self.network
        found: list[dict[str, Any]] = []
        for plan in self._used:
            speed = {"latency": plan.pool.latency, "throughput": plan.pool.throughput, "score": score(plan.pool)}
            found.append(_pool(len(found), plan.name, used_size_bytes=plan.used, attributes=speed))
        for each in network.weights:
            more = {"rights": "ACC_READ", "persistent": True, "address": each.symbol, "used_size_bytes": each.size}
            found.append(_pool(len(found), each.name, **more))
        for key in self._provided:
            kind, index = network.emission.user_owned[key[1]]
            size = network.activations[key].size
            sizes = {"size_bytes": size, "used_size_bytes": size}
            found.append(_pool(len(found), f"_user_io_{kind}_{index}", user_allocated=True, **sizes))
        for number, pool in enumerate(found):
            pool["buffers"] = [buffer["id"] for buffer in self.buffers if buffer["mpool_id"] == number]
        return found


_SCRATCH = "STAI_FLAG_SCRATCHS"
_PARAMETER = "STAI_FLAG_WEIGHTS|STAI_FLAG_CONST|STAI_FLAG_PREALLOCATED"


def _node(network: CpuNetwork, epoch: int, call: Call, ids: Mapping[Key, int]) -> dict[str, Any]:
    root = network.emission.program.root

    def known(numbers: tuple[int, ...]) -> list[int]:
        return [ids["tensor", root(each)] for each in numbers if ("tensor", root(each)) in ids]

    return base.node_row(
        epoch,
        network.emission.tensor(call.writes[0]).name if call.writes else call.kind,
        call,
        type=call.kind,
        attributes={},
        inputs=known(call.reads),
        outputs=known(call.writes),
        scratchs=[ids["scratch", epoch]] if call.scratch else [],
        subgraph_nodes=[],
    )


def c_info(network: CpuNetwork, stamp: str, files: tuple[str, ...]) -> str:
    """The JSON text. The abi stamp stands where the vendor's tool has its signature."""
    emission = network.emission
    rows = _Rows(network)
    nodes = [_node(network, epoch, call, rows.ids) for epoch, call in enumerate(emission.program.calls)]
    return base.document(
        emission,
        stamp,
        files,
        pools=rows.pools(),
        buffers=rows.buffers,
        nodes=nodes,
        inputs=[rows.port(each) for each in emission.program.inputs],
        outputs=[rows.port(each) for each in emission.program.outputs],
        footprint={
            "activations": sum(network.activation_sizes),
            "weights": sum(each.size for each in network.weights),
            "io": [sum(each.tensor.bytes for each in views(network, kind) if each.provided) for kind in _SIDES],
        },
    )
