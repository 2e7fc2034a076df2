"""The summary of a build: what was made, its sizes, and what it does not prove."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.boards.types import Board
from neuralart.errors import one_line
from neuralart.files import read_bytes
from neuralart.network.facts import NETWORK_RUNTIME, Network, PoolUse
from neuralart.quick import dataclass
from neuralart.text.elf import of
from neuralart.text.sizes import size
from neuralart.vendor.releases import of_runtime

if TYPE_CHECKING:
    from neuralart.relocatable.format.types import Image


LINES = 12
"""Of a summary on the screen."""


@dataclass(frozen=True)
class Info:
    """What a summary contains."""

    variant: str  # Name
    title: str  # For people
    machine: str  # Where the image executes
    compilers: Sequence[str]  # Of the networks
    toolchain: str  # Cross compiler and C library; empty: no image is built
    board: Board
    networks: Sequence[Network]  # Facts of each
    elf: Path | None  # The image; None: none is made here
    artefacts: Sequence[str]  # Paths of all files, relative to the top folder
    model: Image | None = None  # The relocatable model that the image loads; None: the networks are in the image


def _share(used: int, capacity: int) -> str:
    return f"{size(used)} of {size(capacity)} ({100 * used / capacity:.1f} %)" if capacity else size(used)


def region_use(elf: Path, board: Board) -> dict[str, tuple[int, int]]:
    """Count the bytes that an image occupies: memory -> (used, capacity; for firmware that of its section)."""
    capacity = {section.region: section.size for section in (board.code, board.data) if section is not None}
    used: dict[str, int] = {}
    for section in of(read_bytes(elf), str(elf)).sections:
        if section.allocated and section.size:
            region = board.region_at(section.address)
            name = region.name if region else f"0x{section.address:08x}"
            used[name] = used.get(name, 0) + section.size
    order = [region.name for region in board.memory]
    names = sorted(used, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: (used[name], capacity.get(name, 0)) for name in names}


def _epochs(network: Network) -> str:
    kinds = [epoch.kind for epoch in network.epochs]
    if not kinds:
        return "unknown epochs"
    hardware = sum(kind in ("HW", "EC") for kind in kinds)
    text = f"{len(kinds)} epochs: {hardware} HW, {kinds.count('SW')} SW"
    return text + (f", {kinds.count('HYBRID')} hybrid" if "HYBRID" in kinds else "")


def _place(pool: PoolUse, runtime: str) -> str:
    if runtime == NETWORK_RUNTIME and not pool.address:
        return "where the application links it"
    if pool.of_application:
        return "where the application has it"
    if pool.relative:
        return "where the loader puts it" if pool.rights == "ACC_WRITE" else "in the model"
    return f"at 0x{pool.address:08x}"


def _pool_lines(pools: Sequence[PoolUse], runtime: str) -> list[str]:
    lines = []
    for label in ("weights", "activations"):
        for pool in pools:
            used = getattr(pool, label)
            if used:
                lines.append(f"    {label:<12} {pool.fname:<10} {_share(used, pool.size)} {_place(pool, runtime)}")
    return lines


def _model_lines(model: Image) -> list[str]:
    """Executive RAM and pools of a relocatable model; ``neuralart inspect`` shows all of it."""
    params = f"{size(len(model.params or b''))} of constants" + (" in a file of their own" if model.split else "")
    release = of_runtime(model.version)
    lines = [f"  model        {size(len(model.data))}, {params}"]
    if release is not None:
        theirs = f"    for the runtime of ST Edge AI Core {release.core}, whose firmware loads it; "
        lines.append(f"{theirs}here the virtual NPU runs it")
    lines += [f"    loader needs {size(model.xip_size)} of RAM in mode xip, {size(model.copy_size)} in mode copy"]
    return lines + [f"    {pool.name:<12} {pool.flags:08x} {pool.notation}, {size(pool.size)}" for pool in model.pools]


def _firmware(info: Info) -> Mapping[str, tuple[int, int]]:
    return region_use(info.elf, info.board) if info.elf is not None else {}


def text(info: Info) -> str:
    """Write the text of ``summary.txt``."""
    lines = [
        f"{info.variant}: {info.title}" if info.title else info.variant,
        f"  board        {info.board.name}, {f'image for {info.machine}' if info.elf else 'no image is made here'}",
        f"  compiler     {', '.join(info.compilers)}" + (f"; firmware by {info.toolchain}" if info.toolchain else ""),
    ]
    for network in info.networks:
        macc = "unknown" if network.macc is None else network.macc
        lines.append(f"  network      {network.name}: {_epochs(network)}, {macc} MACC, runtime {network.runtime}")
        lines.extend(_pool_lines(network.pools, network.runtime))
    if info.model is not None:
        lines.extend(_model_lines(info.model))
    for name, (used, capacity) in _firmware(info).items():
        lines.append(f"  firmware     {name:<10} {_share(used, capacity)}")
    lines.append("  artefacts")
    lines.extend(f"    {path}" for path in info.artefacts)
    return "".join(f"{one_line(line)}\n" for line in lines)


def shortened(text: str, path: str) -> str:
    """Shorten a ``summary.txt`` for the screen: at most :data:`LINES` lines, no artefacts. ``path``: the whole file."""
    head, _, files = text.partition("\n  artefacts\n")
    lines = head.splitlines()
    left = max(len(lines) + 1 - LINES, 0)
    for _ in range(left):
        # The last detail, while there is one.
        del lines[max((n for n, line in enumerate(lines) if line.startswith("    ")), default=-1)]
    details = f" and {left} more line{'s' if left > 1 else ''}" if left else ""
    count = len(files.splitlines())
    return "\n".join([*lines, f"  more         {count} artefact{'s' if count != 1 else ''}{details}: {path}", ""])


def index(info: Info) -> str:
    """Write the text of ``index.json``: every artefact of the variant, with paths relative to the top folder."""
    firmware = _firmware(info)
    data = {
        **{"schema": 1, "variant": info.variant, "board": info.board.name, "machine": info.machine},
        "toolchain": info.toolchain,
        "networks": [{"name": network.name, "abi_stamp": network.abi_stamp} for network in info.networks],
        "firmware": {name: {"used": used, "capacity": capacity} for name, (used, capacity) in firmware.items()},
        "artefacts": list(info.artefacts),
    }
    return json.dumps(data, indent=1, sort_keys=True) + "\n"
