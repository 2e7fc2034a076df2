"""Intel HEX: bytes with their address, as flash programmers take them."""

from __future__ import annotations

_ROW = 32


def _record(kind: int, offset: int, data: bytes) -> str:
    body = bytes([len(data), offset >> 8 & 0xFF, offset & 0xFF, kind]) + data
    return f":{(body + bytes([-sum(body) & 0xFF])).hex().upper()}\n"


def ihex(address: int, data: bytes) -> str:
    """Intel HEX text (I32HEX: extended linear addresses).

    Args:
        address: Of the first byte, 32 bits.
        data: May be empty: then the text holds the end record only.
    """
    lines = []
    upper = None
    at = 0
    while at < len(data):
        here = address + at
        if here >> 16 != upper:
            upper = here >> 16
            lines.append(_record(4, 0, upper.to_bytes(2, "big")))
        # A row never crosses 64 KiB: its offset has 16 bits.
        row = data[at : at + min(_ROW, 0x10000 - (here & 0xFFFF))]
        lines.append(_record(0, here & 0xFFFF, row))
        at += len(row)
    return "".join([*lines, _record(1, 0, b"")])
