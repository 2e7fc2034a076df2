"""A folder as the build of a variant leaves it, with all that ``neuralart report`` shows; nothing is compiled."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart import boards, config
from neuralart.flashing import plan as flash_plans
from neuralart.memory.layout.layout import make_layout
from neuralart.memory.plan import plan_report
from neuralart.memory.plan.plan import make_plan
from neuralart.network import facts
from neuralart.vendor.c_info.types import Access, Estimate
from neuralart_bring import last_build
from neuralart_insight.report.page.gather import PageFacts
from support.boards import firmware, images
from support.models import vendor_reports as reports

ROOT = Path(__file__).resolve().parents[3]
BOARD = boards.load("stm32n6570-dk")
NET = "build/networks/net"
HOSTILE = '</script><img src=x onerror="window.hacked=1">'
"""As a name: it must be a text wherever it is shown."""


def c_info(name: str = "tensor") -> dict[str, Any]:
    """Of ST's compiler: hardware, software, a hybrid and an epoch without a number of its own; a tensor that skips."""
    data = reports.c_info("4.0")
    one, two, three, four = [node for node in data["graphs"][0]["nodes"] if node["id"] in (201, 202, 203, 204)]
    one |= {"inputs": [1], "outputs": [2]}
    two |= {"inputs": [2, 4], "outputs": [6], "mapping": "NODE_SW_HW"}
    three |= {"inputs": [6], "outputs": [6]}
    four |= {"inputs": [2, 6], "outputs": [3]}
    for buffer, (start, end) in zip(data["buffers"], ((0, 1), (1, 4), (4, 5), (1, 4), (4, 4), (2, 4)), strict=True):
        buffer["epochs"] = {"start": start, "end": end}
        buffer["name"] = f"{name}_{buffer['id']}"
    return data


def write(top: Path, name: str = "tensor", info: dict[str, Any] | None = None, variant: str = "toy-n6") -> Path:
    """Write it below a folder, and return that of the variant. ``name``: what tensors and files are called."""
    folder, net = top / "build" / variant, top / NET
    folder.mkdir(parents=True)
    net.mkdir(parents=True)
    layout = make_layout(BOARD, config.read(ROOT / "variants.yaml").variant("digits-n6"), [])
    data = plan_report.as_data(make_plan(layout, BOARD, (), {}), variant)
    place, model = BOARD.slots["application"], 0x70380000
    data["placements"][0]["owner"] = f"slot {name}"
    data["placements"][1] |= {"owner": "slot application", "used": 88 << 10}
    writes = [
        flash_plans.Write(name, "application", f"build/{variant}/application.bin", place, 88 << 10, "0" * 64),
        flash_plans.Write("weights", "model", f"build/{variant}/net.bin", model, 5000, "1" * 64),
    ]
    files = {
        folder / "plan.json": json.dumps(data),
        folder / "flash_plan.json": flash_plans.make(BOARD.name, writes),
        folder / "firmware.elf": images.elf(),
        net / "network.json": facts.to_json(firmware.facts(name="net")).replace('"neuralart"', '"ll_aton"'),
        net / "net_c_info.json": reports.dump(c_info(name) if info is None else info),
        net / "provenance.txt": f"tool: {name}\nmodel: net.tflite\n",
        net / "manifest.json": facts.manifest("net", {"net.c": b"c"}),
    }
    index = {
        **{"schema": last_build.SCHEMA, "variant": variant, "board": BOARD.name, "machine": f"unicorn {name}"},
        **{"toolchain": "gcc", "networks": [{"name": "net", "abi_stamp": firmware.STAMP}]},
        **{"firmware": {"DTCM": {"used": 5, "capacity": 9}}},
        "artefacts": [path.relative_to(top).as_posix() for path in files if path.name != "provenance.txt"],
    }
    files[folder / "index.json"] = json.dumps(index)
    for path, text in files.items():
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return folder


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def large(facts: PageFacts, count: int) -> PageFacts:
    """The same build with a network of so many epochs, all of which have an estimate; each tenth is software."""
    (network,) = facts.networks
    info = network.info
    assert info is not None and info.graph is not None
    (conv,) = (node for node in info.graph.nodes if node.number == 1)
    (soft,) = (node for node in info.graph.nodes if node.number == 4)
    buffers = [replace(info.buffers[1], id=n, name=f"Conv2D_{n}_out_0", first=n, last=n + 1) for n in range(count + 1)]
    nodes, estimates, accesses = [], [], []
    for n in range(count):
        kind = soft if n % 10 == 9 else conv
        nodes.append(replace(kind, id=n, number=n, name=f"epoch_{n}", inputs=(n,), outputs=(n + 1,)))
        compute, read = (0, 0) if kind is soft else (1000 + 7 * n, 900 + 11 * n)
        estimates.append(Estimate(n, 50 * compute, compute, max(compute, read), 1.0, 1.0))
        accesses += [Access(n, 2, 8 * read, 800, read, 100), Access(n, 9, 100 + n, 0, 100 + n, 0)] if compute else []
    graph = replace(info.graph, nodes=tuple(nodes), inputs=(0,), outputs=(count,))
    changed = {"estimates": tuple(estimates), "accesses": tuple(accesses), "buffers": tuple(buffers), "graph": graph}
    return replace(facts, networks=(replace(network, info=replace(info, **changed)),))
