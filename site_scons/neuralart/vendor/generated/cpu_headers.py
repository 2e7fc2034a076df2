"""What the header of a network for the core says of it (``STAI_<NAME>_...`` of the st-ai API, ``AI_<NAME>_...`` of the
legacy one): inputs, outputs, sizes. For networks whose description (``c_info.json``) is not there any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?:ST)?AI_(\w+)[ \t]+((?:[^\n\\]|\\\n?)*)", re.M)
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,8}|\d{1,10})")
_FORMATS = {"FLOAT": "float32", "FLOAT32": "float32", "S8": "int8", "U8": "uint8", "S16": "int16", "U16": "uint16"}
_FORMATS |= {"S32": "int32", "U32": "uint32", "BOOL": "bool", "Q": "int8"}
_AXES = ("HEIGHT", "WIDTH", "CHANNEL")
_MOST = 64


@dataclass(frozen=True)
class HeaderPort:
    name: str  # As the header names it; ``in_1`` where it does not
    shape: tuple[int, ...]  # With the batch, the channels last
    bytes: int  # Size
    dtype: str  # ``int8``, ``float32``...; empty if the header does not tell


@dataclass(frozen=True)
class CpuHeader:
    """What the headers say; None: they do not say it."""

    inputs: tuple[HeaderPort, ...]  # In order
    outputs: tuple[HeaderPort, ...]  # In order
    macc: int | None  # Multiply-accumulate operations
    activations: int | None  # Bytes
    weights: int | None  # Bytes


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each, 16 if "x" in each.lower() else 10) for each in _NUMBER.findall(text))


def _number(values: dict[str, str], *names: str) -> int | None:
    for name in names:
        found = _numbers(values.get(name, ""))
        if len(found) == 1:
            return found[0]
    return None


def _port(values: dict[str, str], kind: str, number: int) -> HeaderPort | None:
    prefix = f"{kind}_{number}"
    size = _number(values, f"{prefix}_SIZE_BYTES")
    shape = _numbers(values.get(f"{prefix}_SHAPE", ""))
    if not shape:
        axes = [_number(values, f"{prefix}_{axis}") for axis in _AXES]
        batch = _number(values, f"{prefix}_BATCH") or 1
        shape = (batch, *(each for each in axes if each is not None)) if any(axes) else ()
    word = re.search(r"FORMAT_([A-Z]+\d*)", values.get(f"{prefix}_FORMAT", ""))
    dtype = _FORMATS.get(word[1], "") if word else ""
    if size is None or not shape:
        return None
    name = values.get(f"{prefix}_NAME", "").strip().strip('()"')
    return HeaderPort(name if name not in ("", "NULL") else prefix.lower(), shape, size, dtype)


def parse(texts: list[str], c_name: str) -> CpuHeader:
    """Read the headers of a network; what they do not say is None or empty. ``texts``: of ``network.h``,
    ``network_data.h``, ``network_data_params.h``, as far as they are there; ``c_name``: what the network is called in
    C.
    """
    head = f"{c_name.upper()}_"
    values: dict[str, str] = {}
    for text in texts:
        for match in _DEFINE.finditer(text):
            name = match[1]
            if name.startswith(head):
                values.setdefault(name.removeprefix(head), match[2].strip())
    ports = {}
    for kind in ("IN", "OUT"):
        count = min(_number(values, f"{kind}_NUM") or 0, _MOST)
        made = [_port(values, kind, number) for number in range(1, count + 1)]
        ports[kind] = tuple(each for each in made if each is not None)
    return CpuHeader(
        inputs=ports["IN"],
        outputs=ports["OUT"],
        macc=_number(values, "MACC_NUM"),
        activations=_number(values, "ACTIVATIONS_SIZE_BYTES", "DATA_ACTIVATIONS_SIZE", "ACTIVATIONS_SIZE"),
        weights=_number(values, "WEIGHTS_SIZE_BYTES", "DATA_WEIGHTS_SIZE", "WEIGHTS_SIZE"),
    )
