"""The few facts of a CPU network's ``c_info.json`` that patching needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.network.jsonpos import Node, parse


@dataclass(frozen=True)
class Pool:
    """An entry of ``memory_pools``; ``used`` in bytes."""

    id: int
    name: str
    used: int
    rights: str
    virtual: bool = False
    user_allocated: bool = False


@dataclass(frozen=True)
class Buffer:
    """An entry of ``buffers``; None in ``shape`` is a size that is not fixed; ``pool`` is an id, -1 if none."""

    id: int
    name: str
    pool: int
    shape: tuple[int | None, ...]
    axes: tuple[str, ...]
    channel_first: bool = False
    channel_last: bool = False


@dataclass(frozen=True)
class CompileInfo:
    """A ``c_info.json``.

    Attributes:
        file: For messages.
        tools: Names of the programs that made the network.
        arguments: Their command lines.
        generated: Names of the files they wrote.
        pools: In the file's order.
        buffers: In the file's order.
        inputs: Ids of the buffers that are inputs.
    """

    file: str
    tools: tuple[str, ...]
    arguments: str
    generated: tuple[str, ...]
    pools: tuple[Pool, ...]
    buffers: tuple[Buffer, ...]
    inputs: tuple[int, ...]


class _Item:
    """A JSON object whose values must have the right type."""

    def __init__(self, node: Node, file: str, name: str) -> None:
        self.node, self.file, self.name = node, file, name
        if not isinstance(node.value, dict):
            self.fail(node, f"{name} is no object")

    def fail(self, node: Node, what: str) -> None:
        raise NeuralArtError(
            what, where=f"{self.file}:{node.line}:{node.column}", hint="is it the c_info.json of the compile?"
        )

    def get(self, key: str, kind: type, default: Any) -> Any:
        node = self.node.value.get(key)
        if node is None or node.value is None:
            return default
        if not isinstance(node.value, kind) or (kind is int and isinstance(node.value, bool)):
            self.fail(node, f"'{key}' of {self.name} is not of its type ({kind.__name__})")
        return node.value

    def need(self, key: str, kind: type) -> Any:
        found = self.get(key, kind, None)
        if found is None:
            self.fail(self.node, f"{self.name} has no '{key}'")
        return found

    def items(self, key: str) -> list[_Item]:
        return [_Item(node, self.file, f"{key}[{n}]") for n, node in enumerate(self.get(key, list, []))]

    def child(self, key: str) -> _Item | None:
        node = self.node.value.get(key)
        return None if node is None or node.value is None else _Item(node, self.file, key)


def read_c_info(data: bytes, file: str) -> CompileInfo:
    """Read the bytes of a ``c_info.json``.

    Raises:
        NeuralArtError: It is none, or a compile's graph and pools are not in it (after a validation they are not).
    """
    root = _Item(parse(data, file), file, "the file")
    for key in ("memory_pools", "buffers", "graphs"):
        if not root.get(key, list, []):
            raise NeuralArtError(
                f"'{key}' is missing or empty: a validation writes such files",
                where=file,
                hint="use the c_info.json that generate wrote",
            )
    environment = root.child("environment")
    tools = environment.items("tools") if environment else []
    model = environment.child("generated_model") if environment else None
    return CompileInfo(
        file=file,
        tools=tuple(tool.get("name", str, "") for tool in tools),
        arguments=" ".join(tool.get("arguments", str, "") for tool in tools),
        generated=tuple(each.get("name", str, "") for each in model.items("model_files")) if model else (),
        pools=tuple(_pool(item) for item in root.items("memory_pools")),
        buffers=tuple(_buffer(item) for item in root.items("buffers")),
        inputs=_ids(root.items("graphs")[0], "inputs"),
    )


def _ids(item: _Item, key: str) -> tuple[int, ...]:
    nodes = item.get(key, list, [])
    for node in nodes:
        if not isinstance(node.value, int) or isinstance(node.value, bool):
            item.fail(node, f"'{key}' holds what is no number")
    return tuple(node.value for node in nodes)


def _pool(item: _Item) -> Pool:
    used = item.need("used_size_bytes", int)
    if used < 0:
        item.fail(item.node, f"used_size_bytes of {item.name} is {used}")
    return Pool(
        id=item.need("id", int),
        name=item.need("name", str),
        used=used,
        rights=item.need("rights", str),
        virtual=item.get("virtual", bool, False) or bool(item.get("subpools", list, [])),
        user_allocated=item.get("user_allocated", bool, False),
    )


def _buffer(item: _Item) -> Buffer:
    # A size that is not fixed is a name, null, 0 or -1.
    shape = tuple(
        node.value if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 0 else None
        for node in item.get("shape", list, [])
    )
    return Buffer(
        id=item.need("id", int),
        name=item.get("name", str, ""),
        pool=item.get("mpool_id", int, -1),
        shape=shape,
        axes=tuple(str(node.value) for node in item.get("shape_map", list, [])),
        channel_first=item.get("channel_first", bool, False),
        channel_last=item.get("channel_last", bool, False),
    )
