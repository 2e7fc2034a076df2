"""Pools, buffers and sizes of a ``c_info.json``."""

from __future__ import annotations

import re

from neuralart.text.json_values import JsonValue
from neuralart.vendor.c_info.types import Footprint, InfoBuffer, InfoPool

_SYMBOL = re.compile(r"[A-Za-z_]\w{0,254}", re.ASCII)
_ADDRESS = re.compile(r"[0-9]{1,20}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


def _address(item: JsonValue) -> tuple[int | None, str]:
    """``"1895825408"``, a C symbol, ``"NULL"`` or nothing."""
    found = item.get("address")
    if found is None:
        return None, ""
    if type(found.value) is int and found.value >= 0:
        return found.value, ""
    text = item.string_at("address").strip() if type(found.value) is str else ""
    if _ADDRESS.fullmatch(text):
        return int(text), ""
    if _HEX.fullmatch(text):
        return int(text, 16), ""
    if text in ("NULL", ""):
        if type(found.value) is str:
            return None, ""
    elif _SYMBOL.fullmatch(text):
        return None, text
    found.fail(
        f"{found.name} is {found.value!r:.60}", 'a decimal number in quotes, a C symbol or "NULL" is written there'
    )


def read_pool(item: JsonValue) -> InfoPool:
    """One entry of ``memory_pools``."""
    address, symbol = _address(item)
    size = item.integer_at("size_bytes", default=-1, minimum=-1)
    parts = item.integers_at("subpools")
    attributes = item.get("attributes")
    score = attributes.get("score") if attributes else None
    initialized = attributes.get("use_for_initrs") if attributes else None
    for key in ("id", "used_size_bytes"):
        item.need(key)
    return InfoPool(
        id=item.integer_at("id", minimum=0),
        name=item.string_at("name"),
        file=item.string_at("fname"),
        address=address,
        symbol=symbol,
        size=None if size < 0 else size,
        used=item.integer_at("used_size_bytes", minimum=0),
        rights=item.string_at("rights"),
        virtual=bool(parts) or item.boolean_at("virtual"),
        parts=parts,
        buffers=item.integers_at("buffers"),
        cacheable=item.string_at("cacheable"),
        initialized=None if initialized is None or attributes is None else attributes.boolean_at("use_for_initrs"),
        score=None if score is None or attributes is None else attributes.real_at("score"),
        byte_width=attributes.integer_at("byte_width", minimum=0) if attributes else 0,
        freq_ratio=(attributes.real_at("freq_ratio") or 0.0) if attributes else 0.0,
        user_allocated=item.boolean_at("user_allocated"),
        alignment=item.integer_at("alignment", minimum=0),
    )


def _shape(item: JsonValue) -> tuple[int | None, ...]:
    """A size that is not fixed is a name, null, 0 or -1."""
    sizes = item.list_of("shape", int, str, type(None), wanted="a whole number")
    return tuple(size if type(size) is int and size > 0 else None for size in sizes)


def read_buffer(item: JsonValue) -> InfoBuffer:
    """One entry of ``buffers``."""
    epochs = item.get("epochs")
    quantized = item.get("intq")
    flags = item.string_at("flags")
    item.need("id")
    return InfoBuffer(
        id=item.integer_at("id", minimum=0),
        name=item.string_at("name"),
        pool=item.integer_at("mpool_id", default=-1),
        offset=item.integer_at("offset_start", minimum=0),
        size=item.integer_at("size_bytes", minimum=0),
        constant=item.boolean_at("is_param"),
        format=item.string_at("format"),
        bits=item.integer_at("nbits", minimum=0),
        shape=_shape(item),
        batch=item.integer_at("batch", default=1),
        axes=item.strings_at("shape_map"),
        first=epochs.integer_at("start") if epochs else 0,
        last=epochs.integer_at("end") if epochs else 0,
        channel_first=item.boolean_at("channel_first"),
        channel_last=item.boolean_at("channel_last"),
        scales=(quantized.reals_at("scales") or quantized.reals_at("scale")) if quantized else (),
        zero_points=(quantized.integers_at("offsets") or quantized.integers_at("zero")) if quantized else (),
        flags=tuple(flags.split("|")) if flags else (),
    )


def read_footprint(item: JsonValue | None) -> Footprint | None:
    """``memory_footprint``."""
    if item is None:
        return None

    def size(key: str) -> int | None:
        return None if item.get(key) is None else item.integer_at(key)

    io = item.integers_at("io")
    return Footprint(
        activations=size("activations"),
        weights=size("weights"),
        io_input=io[0] if io else None,
        io_output=io[1] if len(io) > 1 else None,
        kernel_flash=size("kernel_flash"),
        kernel_ram=size("kernel_ram"),
        toolchain_flash=size("toolchain_flash"),
        toolchain_ram=size("toolchain_ram"),
        toolchain=item.string_at("toolchain"),
        series=item.string_at("series"),
    )
