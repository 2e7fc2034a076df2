"""The networks of a variant: as they are configured, and as its last build left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.boards.types import Board
from neuralart.config.application import REFERENCE
from neuralart.config.types import NetworkConfig, VariantConfig, of_compiler, split_profile
from neuralart.errors import NeuralArtError
from neuralart.files import is_file, read_bytes
from neuralart.memory.layout.flash_areas import CPU_WEIGHTS, cut_off, room_at, written_weights
from neuralart.memory.layout.relative_pools import check_pools, derive
from neuralart.memory.layout.strategies import LayoutNetwork, pool_owner
from neuralart.memory.plan.plan import APPLICATION, firmware_sizes
from neuralart.network import facts
from neuralart.network.facts import NEURALART, Network
from neuralart.network.pools import MemoryPool, PoolFile, default_initializers
from neuralart.network.targets import CPU, flow_of
from neuralart.resources import stable_name
from neuralart.text.json_values import shaped
from neuralart.vendor import mpool, profile
from neuralart.vendor.h7_files import read_cpu_pools


def read_networks(board: Board, variant: VariantConfig, folder: Path) -> list[LayoutNetwork]:
    """Read the pool files of a variant.

    A network that runs on the core has no pools with addresses: its buffers are variables of the firmware. Its pool
    file is read all the same, so that what is wrong with it is said.

    ``folder``: what the paths in it are relative to: the folder of its file. NeuralArtError: a file is missing or
    wrong.
    """
    if variant.relocatable is None:
        return [_static(board, config, folder) for config in variant.networks]
    made = []
    for config in map(derive, variant.networks):
        network = replace(_static(board, config, folder), loaded=True)
        check_pools(network.pools)
        made.append(network)
    return made


def has_firmware(variant: VariantConfig, built: Sequence[Network]) -> bool:
    """Whether a variant's image is laid out as its board says. ``built``: its networks; empty before a build."""
    if variant.relocatable is None or variant.application.kind != REFERENCE:
        return variant.application.of_board
    if built:
        return all(network.runtime == NEURALART for network in built)
    # Models for the vendor's runtime are loaded by a firmware that is not made here.
    return not any(network.compiler in ("stedgeai", "recorded", "adopted") for network in variant.networks)


def _layout_network(config: NetworkConfig, pools: PoolFile, needed: Mapping[str, int] | None = None) -> LayoutNetwork:
    declared = (
        config.initializers if needed is None else tuple(each.fname for each in pools.pools if each.fname in needed)
    )
    return LayoutNetwork(
        name=config.name,
        pools=pools,
        declared=default_initializers(pools) if declared is None else declared,
        strategies=dict(config.strategies),
        where=str(config.where) if config.where.file else f"network {config.name}",
    )


def _static(board: Board, config: NetworkConfig, folder: Path) -> LayoutNetwork:
    if config.adopted is None or flow_of(board.target) == CPU:
        # What is written for a core is no initializer: no start-up code knows of it.
        return _layout_network(config, _pools(board, config, folder), {} if flow_of(board.target) == CPU else None)
    from neuralart.vendor.generated.files import find

    given = config.adopted
    found = find(
        folder / given.folder, given.c_file, stable_name((folder / given.folder).as_posix()), config.said("compiler")
    )
    return _layout_network(config, _pools(board, config, folder) if config.mpool else found.pools, found.needed)


def _pools(board: Board, config: NetworkConfig, folder: Path) -> PoolFile:
    if flow_of(board.target) == CPU:
        path = folder / config.mpool if config.mpool else Path(board.memory_pools)
        named = stable_name(path.as_posix()) if config.mpool or board.memory_pools else ""
        if named:
            read_cpu_pools(path, named)
        at = written_weights(board, config)
        room, where = room_at(board, at) if at is not None else 0, config.said("options")
        held = [] if at is None else [MemoryPool(CPU_WEIGHTS, CPU_WEIGHTS, at, room, rights="ACC_READ", where=where)]
        return PoolFile(named, "", tuple(held))
    if config.mpool:
        path = folder / config.mpool
        return mpool.read(path, stable_name(path.as_posix()))
    if of_compiler(config.profile) and config.compiler in ("stedgeai", "auto"):
        what = f"the pools of '{config.profile}' are in the installation of ST Edge AI Core: known to builds only"
        raise NeuralArtError(what, where=config.said("profile"), hint="or name its file: PROFILE@FILE.json")
    name, file = split_profile(config.profile)
    path = folder / file if file else Path(board.profile)
    if not file and not board.profile:
        hint = "give the network a 'profile:' or an 'mpool:'"
        raise NeuralArtError(f"board {board.name} has no stock profile", where=str(config.where), hint=hint)
    chosen = profile.read(path, name, stable_name(path.as_posix()))
    return mpool.read(chosen.mpool, chosen.mpool_display)


SCHEMA = 1
# Slots of a relocatable model by file; all load tables of a variant have one size.
_SLOT_OF = {"network_rel.bin": "relocatable", "network_rel_params.bin": "relocatable_params"}
_SLOT_OF |= dict.fromkeys(("load_table.xip.bin", "load_table.copy.bin"), "load_table")
_AGAIN = "build it again"
# Bytes at the end of a pool that early releases of ST Edge AI Core do not use.
_KEPT = 8
_INDEX = {
    **{"variant": str, "board": str, "machine": str, "toolchain": str, "networks": [{"name": str, "abi_stamp": str}]},
    **{"firmware": {...: {"used": int, "capacity": int}}, "artefacts": [str]},
}


@dataclass(frozen=True)
class LastBuild:
    """A build, or why there is none to speak of."""

    networks: tuple[Network, ...] = ()  # facts, in the order of the configuration; empty: nothing is known
    sizes: Mapping[str, int] = field(default_factory=dict)  # for make_plan
    note: str = ""  # one line that says why nothing is known; empty otherwise


def read(build: Path, variant: str, board: Board, networks: Sequence[LayoutNetwork]) -> LastBuild:
    """Read ``index.json`` of a variant and the facts that it lists; board and networks as they are configured now."""
    path = build / variant / "index.json"
    if not path.is_file():
        missing = f"There is no {path.as_posix()}: this is what is declared. Build the variant to see what is used."
        return LastBuild(note=missing)
    try:
        index = read_index(path)
        top = _top(path, index["artefacts"])
        names = [name for name in index["artefacts"] if name.endswith("/network.json")]
        found = [facts.from_json(read_bytes(top / name).decode("utf-8", "replace"), name) for name in names]
    except NeuralArtError as error:
        return LastBuild(note=f"This is what is declared: {error}")
    why = _outdated(index, board, found, networks)
    if why:
        return LastBuild(note=f"This is what is declared: the last build is of another configuration, {why}.")
    order = [network.name for network in networks]
    # What runs on the core is a part of the firmware, and counted there.
    found = [] if flow_of(board.target) == CPU else sorted(found, key=lambda network: order.index(network.name))
    sizes = firmware_sizes(board, {name: use["used"] for name, use in index["firmware"].items()})
    for name in index["artefacts"]:
        if name.endswith(f"/{variant}/application.bin"):
            sizes[APPLICATION] = (top / name).stat().st_size
        if networks and name.endswith("_data.bin"):
            sizes[pool_owner(networks[0].name, CPU_WEIGHTS)] = (top / name).stat().st_size
        for file, slot in _SLOT_OF.items():
            if name.endswith(f"/{variant}/{file}"):
                sizes[slot] = (top / name).stat().st_size
    return LastBuild(tuple(found), sizes)


def read_index(path: Path) -> dict[str, Any]:
    """``index.json``; board, artefacts and firmware are of the right kind. NeuralArtError: it is none."""
    where = path.as_posix()
    try:
        data = jsontext.loads(read_bytes(path))
    except ValueError as error:
        raise NeuralArtError("not the index of a build: no JSON", where=where, hint=_AGAIN) from error
    if not isinstance(data, dict):
        raise NeuralArtError("not the index of a build: no JSON object", where=where, hint=_AGAIN)
    schema = data.get("schema")
    if schema != SCHEMA:
        raise NeuralArtError(f"index of schema {schema}, this version reads {SCHEMA}", where=where, hint=_AGAIN)
    lists = ("artefacts", _paths(data.get("artefacts"))), ("firmware", _sizes(data.get("firmware")))
    for key, fine in (("board", isinstance(data.get("board"), str)), *lists):
        if not fine:
            what = "is damaged" if key in data else "is missing"
            raise NeuralArtError(f"not the index of a build: '{key}' {what}", where=where, hint=_AGAIN)
    return data


def read_whole_index(path: Path) -> dict[str, Any]:
    """``index.json`` with all of its members. NeuralArtError: it is none."""
    made: dict[str, Any] = shaped(read_index(path), _INDEX, str(path))
    return made


def _paths(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name for name in value)


def _sizes(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(use, dict) and type(use.get("used")) is int for use in value.values()
    )


def _top(path: Path, artefacts: Sequence[str]) -> Path:
    """The folder that the paths in an index start from: one above it where all of them are."""
    missing = {top: [name for name in artefacts if not is_file(top / name)] for top in path.resolve().parents}
    top = min(missing, key=lambda top: len(missing[top]))
    if missing[top]:
        what = f"{len(missing[top])} of {len(artefacts)} files of the last build are gone, {missing[top][0]} first"
        raise NeuralArtError(what, where=path.as_posix(), hint=_AGAIN)
    return top


def _outdated(
    index: Mapping[str, Any], board: Board, found: Sequence[Network], networks: Sequence[LayoutNetwork]
) -> str:
    """What differs between a build and the configuration; empty if nothing does."""
    if index["board"] != board.name:
        return f"it is for board {index['board']}"
    if flow_of(board.target) == CPU:
        # There a network has the name that the application knows, and no pools with addresses.
        return "" if len(found) == len(networks) else f"it has {len(found)} networks"
    now = {network.name: {pool.fname: pool for pool in network.pools.enabled} for network in networks}
    rooms = {network.name: {pool.fname: room for pool, room in cut_off(board, network.pools)} for network in networks}
    if sorted(network.name for network in found) != sorted(now):
        return f"it is of {', '.join(network.name for network in found) or 'no network'}"
    for network in found:
        for pool in network.pools:
            if pool.virtual:
                continue
            here = now[network.name].get(pool.fname)
            # Compilers know where a memory ends, and some keep the last bytes of a pool for themselves.
            there = rooms[network.name].get(pool.fname, here.size if here is not None else 0)
            if here is None or here.address != pool.address or not there - _KEPT <= pool.size <= here.size:
                return f"its pool {pool.fname} of network {network.name} is 0x{pool.address:08x} with {pool.size} bytes"
    return ""


def top_folder(index: Path) -> Path:
    """The folder that the paths of a build start from. NeuralArtError: it is no index, or a file of it is gone."""
    return _top(index, read_index(index)["artefacts"])


def network_folders(index: Path) -> dict[str, Path]:
    """Folders of the networks of a build, by name, from an ``index.json`` that :func:`read` has approved of.
    NeuralArtError: it is no index, or a file that it lists is not there.
    """
    names = [name for name in read_index(index)["artefacts"] if name.endswith("/network.json")]
    top = _top(index, names)
    return {facts.load(top / name).name: (top / name).parent for name in names}
