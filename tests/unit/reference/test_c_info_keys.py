"""What public programs read of ``N_c_info.json`` is in ours, as docs/reference/inspect-kinds.md says it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from neuralart.compilers.request import CompileRequest
from neuralart_reference import compile as npu
from neuralart_reference.cpu import compile as cpu
from support.projects.sconsproject import REPO
from support.servers.programs import N6_LIKE, pool_file, small_network

TYPES = {"text": str, "int": int, "bool": bool, "list": list, "null": type(None)}
PAGE = (REPO / "docs/reference/inspect-kinds.md").read_text("utf-8").partition("### What other programs read")[2]
ROW = re.compile(r"^\| (?:the file|`([\w.\[\]]+)`) \| ((?:`\w+` \w+[^|]*)) \|", re.M)
EMPTY = {"power_estimates", "memory_accesses", "ec_blobs_info"}  # What only an NPU has


def described(flow: str, **more: Any) -> dict[str, Any]:
    if flow == "cpu":
        made = cpu.build(cpu.CpuRequest(model=Path("small.tflite"), **more), *small_network(), ())
        found: dict[str, Any] = json.loads(made.files["network_c_info.json"])
        return found
    request = CompileRequest(model=Path("small.tflite"), mpool=Path("n6.mpool"), name="small", **more)
    found = json.loads(npu.build(request, *small_network(), pool_file(*N6_LIKE)).files["small_c_info.json"])
    return found


def rows(data: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """What a path leads to; of ``[]`` every row."""
    found: list[Any] = [data]
    for part in filter(None, path.split(".")):
        found = [each[part.removesuffix("[]")] for each in found]
        if part.endswith("[]"):
            found = [row for several in found for row in several]
    return found


@pytest.mark.parametrize("flow", ["npu", "cpu"])
@pytest.mark.parametrize("allocated", [True, False])
def test_each_key_of_the_table_has_its_type(flow: str, allocated: bool) -> None:
    data = described(flow, allocate_inputs=allocated, allocate_outputs=allocated)
    table = ROW.findall(PAGE)
    assert len(table) == 10
    for path, keys in table:
        found = rows(data, path)
        assert found, path
        for name, kind, only in re.findall(r"`(\w+)` (\w+)( \(NPU\))?", keys):
            if not only or flow == "npu":
                assert {type(row[name]) for row in found} == {TYPES[kind]}, (path, name)
    assert all(data.get(name, []) == [] for name in EMPTY)
    if flow == "npu":
        # As they read it: the base address of a pool, or nothing where the application has the memory.
        assert [int(pool["address"] or 0) > 0 for pool in data["memory_pools"]] == [
            not pool["user_allocated"] for pool in data["memory_pools"]
        ]
