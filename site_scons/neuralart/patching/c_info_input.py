"""The few facts of a CPU network's ``c_info.json`` that patching needs."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.text.json_values import JsonValue, parse_tool


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


def read_c_info(data: bytes, file: str) -> CompileInfo:
    """Read the bytes of a ``c_info.json``.

    Raises:
        NeuralArtError: It is none, or a compile's graph and pools are not in it (after a validation they are not).
    """
    root = parse_tool(data, file)
    for key in ("memory_pools", "buffers", "graphs"):
        if not root.items_at(key):
            raise NeuralArtError(
                f"'{key}' is missing or empty: a validation writes such files",
                where=file,
                hint="use the c_info.json that generate wrote",
            )
    environment = root.get("environment")
    tools = environment.items_at("tools") if environment else []
    model = environment.get("generated_model") if environment else None
    return CompileInfo(
        file=file,
        tools=tuple(tool.string_at("name") for tool in tools),
        arguments=" ".join(tool.string_at("arguments") for tool in tools),
        generated=tuple(each.string_at("name") for each in model.items_at("model_files")) if model else (),
        pools=tuple(_pool(item) for item in root.items_at("memory_pools")),
        buffers=tuple(_buffer(item) for item in root.items_at("buffers")),
        inputs=root.items_at("graphs")[0].integers_at("inputs"),
    )


def _pool(item: JsonValue) -> Pool:
    for key in ("id", "name", "used_size_bytes", "rights"):
        item.need(key)
    return Pool(
        id=item.integer_at("id"),
        name=item.string_at("name"),
        used=item.integer_at("used_size_bytes", minimum=0),
        rights=item.string_at("rights"),
        virtual=item.boolean_at("virtual") or bool(item.items_at("subpools")),
        user_allocated=item.boolean_at("user_allocated"),
    )


def _buffer(item: JsonValue) -> Buffer:
    # A size that is not fixed is a name, null, 0 or -1.
    sizes = [size.value for size in item.items_at("shape")]
    item.need("id")
    return Buffer(
        id=item.integer_at("id"),
        name=item.string_at("name"),
        pool=item.integer_at("mpool_id", default=-1),
        shape=tuple(size if type(size) is int and size > 0 else None for size in sizes),
        axes=tuple(str(axis.value) for axis in item.items_at("shape_map")),
        channel_first=item.boolean_at("channel_first"),
        channel_last=item.boolean_at("channel_last"),
    )
