"""The two sides of ``neuralart diff``: what a build, a compile or a saved profile says of its networks and image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text import json_values
from neuralart.text.json_values import JsonValue
from neuralart_insight.profiling import estimate
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate, PoolAccess
from neuralart_insight.report import npu_epochs
from neuralart_insight.report.npu_epochs import Epoch
from neuralart_virtual.vectors.npu_buffers import DESCRIPTION, KeptEpochs, epoch_of, load

_PROFILE, _SCHEMA = "neuralart-profile", 1
_INDEX = "index.json"
# Kinds of files in a flash that hold no weights.
_NO_WEIGHTS = frozenset({"application", "descriptor", "load_table"})
_NOTHING = json_values.parse_tool(b"{}", "")


@dataclass(frozen=True)
class NetworkSide:
    """A network of one side."""

    epochs: tuple[EpochEstimate, ...]  # In order of execution
    duration_ms: float | None = None  # Measured; None: not
    durations: Mapping[int, float] = field(default_factory=dict)  # Measured, by number of the first epoch
    npu: Sequence[Epoch] = ()  # What each epoch does on the NPU
    code: Path | None = None  # The network.c that tells it
    kept: KeptEpochs | None = None  # What its epochs wrote
    vectors: Path | None = None  # The golden vectors that it was kept beside


@dataclass(frozen=True)
class BuildSide:
    """One side; sizes are in bytes."""

    label: str  # As the user called it
    networks: Mapping[str, NetworkSide]
    ram: Mapping[str, int] = field(default_factory=dict)  # In use, by memory of the firmware and by pool of a network
    flash: Mapping[str, int] = field(default_factory=dict)  # By file that is written
    hashes: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of files with weights
    symbols: Mapping[str, int] = field(default_factory=dict)  # Functions and variables of the firmware


def read_profile(path: Path, name: str) -> NetworkSide:
    """A network of a ``profile.json``; the only one may be called otherwise. NeuralArtError: it has no such network."""
    found = _profiles(path)
    if name not in found and len(found) != 1:
        raise NeuralArtError(f"no profile of network '{name}'", where=path.as_posix(), hint="neuralart profile -o")
    return found.get(name) or next(iter(found.values()))


def _profiles(path: Path) -> dict[str, NetworkSide]:
    """The networks of a ``profile.json``; none if it is another file."""
    root = json_values.parse_tool(read_bytes(path), path.as_posix())
    entries = root.items() if type(root.value) is list else [root]
    if not all(type(entry.value) is dict and entry.string_at("kind") == _PROFILE for entry in entries):
        return {}
    return dict(map(_profile, entries))


def side_of(text: str, build: Path) -> BuildSide:
    """A side by its name: a file, a folder, or a variant that was built. NeuralArtError: it is none, or is damaged."""
    path = Path(text)
    if path.suffix == ".json" and path.is_file() and (profiles := _profiles(path)):
        return BuildSide(text, profiles)
    folder = build / text if not path.exists() and not path.suffix else path
    if (folder / _INDEX).is_file():
        return _build(text, folder)
    if (path / DESCRIPTION).is_file():
        kept = load(path)
        return BuildSide(text, {kept.network: NetworkSide((), npu=kept.described, kept=kept, vectors=path)})
    found = estimate.of_folder(path) if path.is_dir() else None
    found = found or (estimate.of_file(path) if path.exists() or path.suffix else None)
    if found is None:
        what = f"'{text}' is neither a file, a folder nor a variant that was built"
        raise NeuralArtError(what, where=str(folder / _INDEX), hint=f"scons {text}")
    return BuildSide(text, {found.name: _side(found)})


def _side(found: NetworkEstimate) -> NetworkSide:
    if found.code is None:
        return NetworkSide(found.epochs)
    return NetworkSide(found.epochs, npu=npu_epochs.of_file(found.code)["epochs"], code=found.code)


def _profile(root: JsonValue) -> tuple[str, NetworkSide]:
    """A network of a ``profile.json``."""
    if root.integer_at("schema") != _SCHEMA:
        root.need("schema").fail(f"a profile of schema {root.need('schema').value}, this version reads {_SCHEMA}")
    epochs = tuple(map(_epoch, root.items_at("epochs")))
    npu = tuple(map(epoch_of, (root.get("npu") or _NOTHING).items_at("epochs")))
    measured = root.get("measured")
    if measured is None:
        return root.string_at("name"), NetworkSide(epochs, npu=npu)
    took = {each.integer_at("first"): each.real_at("duration_ms") for each in measured.items_at("epochs")}
    whole = (measured.get("totals") or _NOTHING).real_at("duration_ms")
    times = {first: ms for first, ms in took.items() if ms is not None}
    return root.string_at("name"), NetworkSide(epochs, whole, times, npu)


def _epoch(entry: JsonValue) -> EpochEstimate:
    pools = (entry.get("pools") or _NOTHING).mapping()
    return EpochEstimate(
        id=entry.integer_at("id"),
        type=entry.string_at("type"),
        operators=entry.strings_at("operators"),
        operations=_count(entry, "operations"),
        compute_cycles=_count(entry, "compute_cycles"),
        max_cycles=_count(entry, "max_cycles"),
        pools={name: PoolAccess(pool.count_at("read"), pool.count_at("written")) for name, pool in pools.items()},
    )


def _count(entry: JsonValue, key: str) -> int | None:
    return None if entry.get(key) is None else entry.count_at(key)


def _build(label: str, folder: Path) -> BuildSide:
    """The last build of a variant."""
    from neuralart.flashing import plan
    from neuralart.network import facts
    from neuralart.text.elf import Elf
    from neuralart_bring.last_build import network_folders, read_index

    ram = {name: use["used"] for name, use in read_index(folder / _INDEX)["firmware"].items()}
    networks = {}
    for name, place in sorted(network_folders(folder / _INDEX).items()):
        networks[name] = _side(estimate.of_build(place))
        for pool in facts.load(place / "network.json").pools:
            if pool.activations and not pool.virtual:
                ram[f"{pool.fname} of {name}"] = pool.activations
    path, elf = folder / "flash_plan.json", folder / "firmware.elf"
    writes = plan.read(path).writes if path.is_file() else ()
    symbols: dict[str, int] = {}
    if elf.is_file():
        for symbol in Elf(read_bytes(elf), elf.as_posix()).symbols:
            if symbol.kind in ("STT_FUNC", "STT_OBJECT") and symbol.size:
                symbols[symbol.name] = symbols.get(symbol.name, 0) + symbol.size
    hashes = {write.name: write.sha256 for write in writes if write.kind not in _NO_WEIGHTS}
    return BuildSide(label, networks, ram, {write.name: write.bytes for write in writes}, hashes, symbols)
