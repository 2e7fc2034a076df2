"""Pools, buffers and sizes of a ``c_info.json``."""

from __future__ import annotations

import re

from neuralart.network.located import Item
from neuralart.vendor.c_info.types import Footprint, InfoBuffer, InfoPool

_SYMBOL = re.compile(r"[A-Za-z_]\w{0,254}", re.ASCII)
_ADDRESS = re.compile(r"[0-9]{1,20}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")


def _address(item: Item) -> tuple[int | None, str]:
    """``"1895825408"``, a C symbol, ``"NULL"`` or nothing."""
    found = item.get("address")
    if found is None:
        return None, ""
    if type(found.value) is int and found.value >= 0:
        return found.value, ""
    text = item.text("address").strip() if type(found.value) is str else ""
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


def read_pool(item: Item) -> InfoPool:
    """One entry of ``memory_pools``."""
    address, symbol = _address(item)
    size = item.integer("size_bytes", default=-1, minimum=-1)
    parts = item.integers("subpools")
    attributes = item.get("attributes")
    score = attributes.get("score") if attributes else None
    initialized = attributes.get("use_for_initrs") if attributes else None
    item.need("id")
    return InfoPool(
        id=item.integer("id", minimum=0),
        name=item.text("name"),
        file=item.text("fname"),
        address=address,
        symbol=symbol,
        size=None if size < 0 else size,
        used=item.integer("used_size_bytes", minimum=0),
        rights=item.text("rights"),
        virtual=bool(parts) or item.flag("virtual"),
        parts=parts,
        buffers=item.integers("buffers"),
        cacheable=item.text("cacheable"),
        initialized=None if initialized is None or attributes is None else attributes.flag("use_for_initrs"),
        score=None if score is None or attributes is None else attributes.real("score"),
        byte_width=attributes.integer("byte_width", minimum=0) if attributes else 0,
        freq_ratio=(attributes.real("freq_ratio") or 0.0) if attributes else 0.0,
        user_allocated=item.flag("user_allocated"),
        alignment=item.integer("alignment", minimum=0),
    )


def read_buffer(item: Item) -> InfoBuffer:
    """One entry of ``buffers``."""
    epochs = item.get("epochs")
    quantized = item.get("intq")
    flags = item.text("flags")
    item.need("id")
    return InfoBuffer(
        id=item.integer("id", minimum=0),
        name=item.text("name"),
        pool=item.integer("mpool_id", default=-1),
        offset=item.integer("offset_start", minimum=0),
        size=item.integer("size_bytes", minimum=0),
        constant=item.flag("is_param"),
        format=item.text("format"),
        bits=item.integer("nbits", minimum=0),
        shape=item.integers("shape"),
        axes=item.texts("shape_map"),
        first=epochs.integer("start") if epochs else 0,
        last=epochs.integer("end") if epochs else 0,
        channel_first=item.flag("channel_first"),
        channel_last=item.flag("channel_last"),
        scales=quantized.reals("scales") if quantized else (),
        zero_points=quantized.integers("offsets") if quantized else (),
        flags=tuple(flags.split("|")) if flags else (),
    )


def read_footprint(item: Item | None) -> Footprint | None:
    """``memory_footprint``."""
    if item is None:
        return None

    def size(key: str) -> int | None:
        return None if item.get(key) is None else item.integer(key)

    io = item.integers("io")
    return Footprint(
        activations=size("activations"),
        weights=size("weights"),
        io_input=io[0] if io else None,
        io_output=io[1] if len(io) > 1 else None,
        kernel_flash=size("kernel_flash"),
        kernel_ram=size("kernel_ram"),
        toolchain_flash=size("toolchain_flash"),
        toolchain_ram=size("toolchain_ram"),
        toolchain=item.text("toolchain"),
        series=item.text("series"),
    )
