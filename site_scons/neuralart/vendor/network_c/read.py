"""Reading a network.c."""

from __future__ import annotations

import re
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.c_source import Lines, decode
from neuralart.vendor.network_c.banner import banner, guard
from neuralart.vendor.network_c.blocks import blocks, getter_name
from neuralart.vendor.network_c.buffer_tables import rows
from neuralart.vendor.network_c.pool_comments import pools
from neuralart.vendor.network_c.ports import port
from neuralart.vendor.network_c.types import EC, GeneratedNetwork, Port, Problem, Row

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]*_ecblobs\.h)[>"]')
_GETTERS = re.compile(
    r"LL_ATON_(?:(?:Input|Output|Internal)_Buffers_Info|(?:Set|Get)_User_(?:Input|Output)_Buffer"
    r"|EC_(?:Network|Inference)_Init)_(\w+)\s*\("
)


def _blob_header(text: str) -> str:
    """Name of the included header with the epoch controller's blobs; empty if there is none."""
    at = text.find("_ecblobs.h")
    while at >= 0:
        match = _INCLUDE.match(text, text.rfind("\n", 0, at) + 1)
        if match is not None:
            return match[1]
        at = text.find("_ecblobs.h", at + 1)
    return ""


def parse(text: str, where: str) -> GeneratedNetwork:
    """Read the text of a network.c.

    Args:
        text: With LF line ends (:func:`~neuralart.text.c_source.decode`).
        where: Its name in messages.

    Raises:
        NeuralArtError: It has none of the functions of a generated network.
    """
    name = getter_name(text)
    if not name:
        other = _GETTERS.search(text)
        if other is None:
            raise NeuralArtError(
                "no function LL_ATON_EpochBlockItems_<name>: not a generated network",
                where=where,
                hint="is it network.c, and complete?",
            )
        name = other[1]
    lines = Lines(text)
    runtime, complaint = guard(text)
    origin = banner(text)
    include = _blob_header(text)
    found_pools, problems = pools(text, name, where, lines)
    found_blocks, wrong = blocks(text, where, lines)
    problems += wrong
    found_rows, wrong = rows(text, name, where, lines)
    problems += wrong

    def ports(table: str) -> tuple[Port, ...]:
        return tuple(_port(row) for row in found_rows if row.table == table and not row.is_param)

    def _port(row: Row) -> Port:
        found, wrong = port(text, row, found_pools, name, f"{where}:{lines.of(row.offset)}")
        problems.extend(wrong)
        return found

    inputs, outputs = ports("input"), ports("output")
    if not found_blocks and not any(problem.code == "cut-off" for problem in problems):
        problems.append(Problem(where, "no epoch table", "cut-off"))
    return GeneratedNetwork(
        where=where,
        text=text,
        name=name,
        banner=origin,
        runtime=runtime,
        guard=complaint,
        epoch_controller=(
            include != ""
            or origin.options.get("enable-epoch-controller") == "true"
            or any(block.kind == EC for block in found_blocks)
        ),
        ecblobs=include,
        blocks=tuple(found_blocks),
        pools=tuple(found_pools),
        rows=tuple(found_rows),
        inputs=inputs,
        outputs=outputs,
        problems=tuple(problems),
    )


def read(path: Path, display: str = "") -> GeneratedNetwork:
    """Read a network.c.

    Args:
        path: The file.
        display: Its name in messages.

    Raises:
        NeuralArtError: It cannot be read or is no generated network.
    """
    return parse(decode(read_bytes(path)), display or str(path))
