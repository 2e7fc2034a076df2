"""Makes the files of ``NeuralArtInitializers`` within SCons's process; each takes milliseconds."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from neuralart import plugins, products
from neuralart.boards.types import Board
from neuralart.config.types import STRATEGIES, NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes, write_text
from neuralart.memory.layout.layout import LayoutNetwork, make_layout
from neuralart.memory.layout.relative_pools import RELATIVE, placed_in
from neuralart.memory.layout.strategies import Constants, Initializer, Layout
from neuralart.network import facts
from neuralart.network.pools import PoolFile
from neuralart.quick import asdict, dataclass
from neuralart.resources import firmware_dir
from neuralart.scons.failures import in_action
from neuralart.scons.network.nodes import NEURALART, Compiled, NetworkNodes
from neuralart.scons.node_plans import FilePart
from neuralart.scons.registry import fact


@dataclass(frozen=True)
class PlannedNetwork:
    """What is known of a network's constants before ``NeuralArtNetwork`` runs."""

    name: str  # C name
    board: Board  # The board it is compiled for
    config: NetworkConfig  # What it is made from
    pools: PoolFile  # The pool file it is compiled for
    initializers: dict[str, Any]  # Raw file per pool (fname)
    facts: Any  # ``network.json``
    runtime: str  # What a program with it needs


Member: TypeAlias = NetworkNodes | PlannedNetwork


def board_of(networks: Sequence[Compiled | Member], where: str = "") -> Board:
    """The common board of a program's networks. NeuralArtError: there are several."""
    names = sorted({network.board.name for network in networks})
    if len(names) != 1:
        raise NeuralArtError(f"one program, but its networks are for {' and '.join(names) or 'no board'}", where=where)
    return networks[0].board


def layout_of(
    networks: Sequence[Member], variant: VariantConfig, *, board_layout: bool, board: Board | None = None
) -> Layout:
    """Place everything of a program. NeuralArtError: there is no room, or a conflict."""
    board = board or board_of(networks)
    loaded = variant.relocatable is not None
    known = [
        LayoutNetwork(
            network.name,
            network.pools,
            _declared(network, board, elsewhere=board.name != network.board.name),
            dict(network.config.strategies),
            network.config.said(),
            loaded,
        )
        for network in networks
    ]
    return make_layout(board, variant, known, with_firmware=board_layout)


def _declared(network: Member, board: Board, *, elsewhere: bool) -> tuple[str, ...]:
    """Pools with an initializer. A model of another board may list memories that this one does not have."""
    for name, node in network.initializers.items():
        pool = next((pool for pool in network.pools.enabled if pool.fname == name), None)
        if str(node).endswith(".c") and (pool is None or not pool.in_c):
            what = f"pool {name} of network {network.name} is written as C: a part of the program, which nothing loads"
            hint = '"fformat": "FORMAT_RAW": images and start-up code are made of raw files'
            raise NeuralArtError(what, where=pool.where if pool is not None else "", hint=hint)
    if not elsewhere:
        return tuple(network.initializers)
    here = {p.fname for p in network.pools.enabled if p.mode == RELATIVE or board.region_at(p.address) is not None}
    return tuple(name for name in network.initializers if name in here)


def _identity(layout: Layout, lines: bool) -> str:
    rows = [(p.owner, p.kind, p.start, p.size, p.chosen_by if lines else "") for p in layout.placements]
    moves = [
        (i.network, i.pool, i.strategy, i.run_address, i.load_address, i.capacity, i.cacheable)
        for i in layout.initializers
    ]
    loaded = [asdict(layout.loaded)] if layout.loaded is not None else []
    return json.dumps([layout.board, rows, moves, layout.descriptor, layout.application, *loaded])


def layout_value(env: Any, layout: Layout, *, lines: bool = False) -> Any:
    """The layout as a dependency. ``lines``: the places (``file:line``) that chose the addresses count as well."""
    digest = hashlib.sha256(_identity(layout, lines).encode()).hexdigest()[:16]
    return fact(digest, name="layout")


def memory_runtime_files(runtimes: Iterable[str]) -> list[tuple[str, Path]]:
    """The code behind ``npu_memory_init.c`` for programs whose runtime is not ours, and so does not bring it along.
    Returns names of copies, in a folder that holds no header of the same name as one of the vendor's, and originals.
    """
    if NEURALART in runtimes:
        return []
    origin = firmware_dir() / "runtime"
    files = (origin / "include" / "npu_memory.h", *sorted((origin / "memory").iterdir()))
    return [(f"memory/{path.name}", path) for path in files if path.suffix in (".c", ".h")]


def _facts(part: FilePart) -> list[Any]:
    return [facts.load(Path(str(node))) for node in part.sources if str(node).endswith("network.json")]


def write_sources(part: FilePart) -> None:
    """Write ``npu_memory_init.c`` and ``.h``, if all that the networks use has a place."""
    from neuralart.memory.plan import plan
    from neuralart.memory.startup import startup

    board, layout, board_layout = part.data
    networks = placed_in(layout, _facts(part))
    # Before anything is compiled: what the networks really use has its place.
    plan.check(plan.make_plan(layout, board, networks, {}))
    write_text(Path(part.names[0]), startup.source(board, layout, networks, with_firmware=board_layout))
    write_text(Path(part.names[1]), startup.HEADER)


def write_io(part: FilePart) -> None:
    """Write ``network_io.h`` and ``network_io.json``."""
    from neuralart.memory.startup import network_io

    board, layout = part.data
    networks = placed_in(layout, _facts(part))
    header, twin = network_io.source(board, networks), network_io.json_text(board, networks)
    write_text(Path(part.names[0]), header)
    write_text(Path(part.names[1]), twin)


def copy_image(part: FilePart) -> None:
    """Copy a file."""
    write_bytes(Path(part.names[0]), products.read(Path(str(part.sources[0]))))


@in_action
def copy(target: list[Any], source: list[Any], env: Any) -> None:
    """Copy a file."""
    write_bytes(Path(str(target[0])), products.read(Path(str(source[0]))))


def write_hex(part: FilePart) -> None:
    """Write a binary as Intel HEX at its address."""
    from neuralart.text.ihex import ihex

    write_text(Path(part.names[0]), ihex(part.data.address, products.read(Path(str(part.sources[0])))))


def write_descriptor(part: FilePart) -> None:
    """Write the identity descriptor."""
    from neuralart.memory.layout import identity

    networks = _facts(part)
    raws = {}
    # The sources behind the facts are the raw files, in the order of the described initializers.
    described: list[Initializer] = part.data
    for item, node in zip(described, part.sources[len(networks) :], strict=True):
        data = products.read(Path(str(node)))
        raws[(item.network, item.pool)] = (len(data), zlib.crc32(data))
    write_bytes(Path(part.names[0]), identity.describe(networks, described, raws))


def write_link_object(part: FilePart) -> None:
    """Write a C file with the bytes of a raw file."""
    from neuralart.memory.startup import tables

    item: Initializer = part.data
    raw = Path(str(part.sources[0]))
    text = tables.link_object_c(item.network, item.pool, raw.name)
    # The assembler reads the raw file: with its checksum here, C of other constants is other C for caches, too.
    write_text(Path(part.names[0]), f"{text}/* CRC-32 of the constants: {zlib.crc32(products.read(raw)):08x} */\n")


def strategy_files(env: Any, first: Any, network: Member, item: Initializer, after: tuple[Any, ...]) -> list[FilePart]:
    """The files that the strategy of a pool adds, as one part; none without a plugin. ``after``: nodes that must be
    there before. NeuralArtError: The plugin cannot be loaded, or names a file that it cannot have.
    """
    name = dict(network.config.strategies).get(item.pool, "")
    if not name or name in STRATEGIES:
        return []
    plugin = plugins.find("strategies", name, network.config.said(f"strategies.{item.pool}"))
    names = tuple(plugin.call("files", item.network, item.pool))
    for each in names:
        if Path(each).name != each or names.count(each) > 1:
            raise plugin.error(f"files() has '{each}'", "names of different files, without folders")
    if not names:
        return []
    code = fact(plugin.code, name=f"plugin-of-strategy {plugin.name}")
    return [
        FilePart(
            "strategy",
            "IMAGE",
            tuple(first.dir.File(each) for each in names),
            (network.initializers[item.pool],),
            _write,
            (plugin, item),
            f"{item.network} {item.pool} {item.run_address} {item.load_address}",
            (code,),
            after,
        )
    ]


def _write(part: FilePart) -> None:
    plugin, item = part.data
    data = products.read(Path(str(part.sources[0])))
    made = plugin.call("make", Constants(item.network, item.pool, item.run_address, item.load_address, data))
    missing = [node.name for node in part.targets if not isinstance(made.get(node.name), bytes)]
    if missing:
        raise plugin.error(f"make() did not return {missing[0]}", "bytes for each name of files()")
    for node in part.targets:
        write_bytes(Path(str(node)), made[node.name])
