"""``env.MemoryInitializers(...)``: constants reach the memories that the networks read; start-up code sees to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import SCons.Errors

from neuralart.boards.types import Board
from neuralart.config.types import Reserved, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.memory.layout.placements import Layout
from neuralart.memory.startup.static_pools import refuse_relative_pools
from neuralart.scons import initializer_actions as actions
from neuralart.scons import messages
from neuralart.scons.compiled import refuse_cpu
from neuralart.scons.failures import at_read_time
from neuralart.scons.layout import board_of, layout_of, layout_value
from neuralart.scons.memory_runtime import memory_runtime
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, identity
from neuralart.text.values import Location

_STAGED = ("flash", "boot-copy")


@dataclass(frozen=True)
class Image:
    """Bytes to load.

    Attributes:
        network: Name of the network; empty for the identity descriptor.
        pool: fname of the pool; empty for the identity descriptor.
        address: Where the first byte belongs.
        binary: The bytes (an empty file: nothing to load).
        hex: The same as Intel HEX with its address.
    """

    network: str
    pool: str
    address: int
    binary: Any
    hex: Any


@dataclass(frozen=True)
class InitializerNodes:
    """What ``env.MemoryInitializers`` returns.

    Attributes:
        sources: C to compile into the program: the start-up code, and what is linked.
        include_dirs: For CPPPATH.
        header: ``npu_memory_init.h``.
        headers: Those that it includes, where the networks' runtime is not ours.
        images: What must be loaded into flash beside the program; the identity descriptor comes last.
        external: What somebody else loads into RAM while the program waits for it.
        layout: Addresses of everything.
        io_header: ``network_io.h``.
        io_json: ``network_io.json``.
    """

    sources: list[Any]
    include_dirs: list[Any]
    header: Any
    images: list[Image]
    external: list[Image]
    layout: Layout
    io_header: Any
    io_json: Any
    descriptor: Image | None = field(default=None)
    headers: list[Any] = field(default_factory=list)

    @property
    def files(self) -> list[Any]:
        """All images as nodes, Intel HEX and binary."""
        return [node for image in (*self.images, *self.external) for node in (image.binary, image.hex)]


def _image(base: Any, stem: str, raw: Any, network: str, pool: str, address: int) -> Image:
    binary = base.Command(f"{stem}.bin", raw, messages.function(actions.copy, "IMAGE    $TARGET"))
    base.Depends(binary, base.Value(fingerprint("files.py"), name="image-writer"))
    return _with_hex(base, stem, binary[0], network, pool, address)


def _with_hex(base: Any, stem: str, binary: Any, network: str, pool: str, address: int) -> Image:
    hexa = base.Command(
        f"{stem}.hex",
        binary,
        messages.function(actions.write_hex, "IMAGE    $TARGET", "NEURALART_ADDRESS"),
        NEURALART_ADDRESS=f"0x{address:08x}",
    )
    base.Depends(hexa, base.Value(fingerprint("text/ihex.py", "files.py"), name="hex-writer"))
    return Image(network, pool, address, binary, hexa[0])


def _descriptor(base: Any, folder: str, networks: Sequence[NetworkNodes], layout: Layout) -> Image | None:
    described = [item for item in layout.initializers if item.strategy not in ("link", "relocatable")]
    if layout.descriptor is None or not described:
        return None
    by_name = {network.name: network for network in networks}
    raws = [by_name[item.network].initializers[item.pool] for item in described]
    stem = f"#{folder}/descriptor"
    binary = base.Command(
        f"{stem}.bin",
        [*(network.facts for network in networks), *raws],
        messages.function(actions.write_descriptor, "IMAGE    $TARGET"),
        NEURALART_DESCRIBED=described,
    )
    rooms = ("memory/layout/identity.py", "memory/layout/descriptor_of.py")
    base.Depends(binary, [base.Value(fingerprint(*rooms), name="identity-descriptor"), layout_value(base, layout)])
    return _with_hex(base, stem, binary[0], "", "", layout.descriptor)


def _link_sources(base: Any, folder: str, networks: Sequence[NetworkNodes], layout: Layout) -> list[Any]:
    sources = []
    by_name = {network.name: network for network in networks}
    for item in layout.initializers:
        if item.strategy != "link":
            continue
        raw = by_name[item.network].initializers[item.pool]
        node = base.Command(
            f"#{folder}/npu_link_{item.network}_{item.pool}.c",
            raw,
            messages.function(actions.write_link_object, "SOURCES  $TARGET", "NEURALART_NETWORK", "NEURALART_POOL"),
            NEURALART_NETWORK=item.network,
            NEURALART_POOL=item.pool,
        )
        base.Depends(node, base.Value(fingerprint("memory/startup/link_object.py"), name="link-object"))
        sources.append(node[0])
    return sources


def make_initializers(
    env: Any,
    networks: Sequence[NetworkNodes],
    folder: str,
    variant: VariantConfig,
    *,
    board_layout: bool,
    board: Board | None = None,
) -> InitializerNodes:
    """Declare images, descriptor and start-up code for the networks of one program.

    Args:
        env: Any environment of the tool.
        networks: All networks of the program; for one board.
        folder: Where the files go, relative to the top folder.
        variant: Its slots and reserved ranges.
        board_layout: The program is laid out as the board says: check the pools against it.
        board: Where the program runs, if that is not the board that its relocatable model was compiled for.

    Raises:
        NeuralArtError: The networks are for different boards, or something has no place.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    board = board or board_of(networks)
    layout = layout_of(networks, variant, board_layout=board_layout, board=board)
    facts = [network.facts for network in networks]
    board_value = base.Value(identity(board), name=f"board {board.name}")
    sources = base.Command(
        [f"#{folder}/npu_memory_init.c", f"#{folder}/npu_memory_init.h"],
        facts,
        messages.function(
            actions.write_sources, f"MEMORY   {folder}/npu_memory_init.c", "NEURALART_BOARD", "NEURALART_BOARD_LAYOUT"
        ),
        NEURALART_BOARD=board.name,
        NEURALART_BOARD_LAYOUT=board_layout,
        NEURALART_LAYOUT=layout,
    )
    rooms = ("memory/startup/startup.py", "memory/plan/plan.py")
    base.Depends(
        sources, [base.Value(fingerprint(*rooms), name="memory-start-up"), board_value, layout_value(base, layout)]
    )
    contract = base.Command(
        [f"#{folder}/network_io.h", f"#{folder}/network_io.json"],
        facts,
        messages.function(actions.write_io, f"SOURCES  {folder}/network_io.h", "NEURALART_BOARD"),
        NEURALART_BOARD=board.name,
        NEURALART_LAYOUT=layout,
    )
    base.Depends(contract, [base.Value(fingerprint("memory/startup/network_io.py"), name="io-contract"), board_value])
    if layout.loaded is not None:
        base.Depends(contract, layout_value(base, layout))
    by_name = {network.name: network for network in networks}
    linked = {item.network for item in layout.initializers if item.strategy == "link"}
    images: list[Image] = []
    external: list[Image] = []
    for item in layout.initializers:
        raw = by_name[item.network].initializers[item.pool]
        stem = f"#{folder}/{item.network}.{item.pool}"
        if item.strategy in _STAGED:
            images.append(_image(base, stem, raw, item.network, item.pool, item.load_address))
        elif item.strategy == "external-loader":
            external.append(_image(base, stem, raw, item.network, item.pool, item.run_address))
    descriptor = _descriptor(base, folder, networks, layout)
    if descriptor is not None:
        images.append(descriptor)
    # What is loaded has been checked, also where nobody compiles the start-up code.
    base.Requires([node for image in (*images, *external) for node in (image.binary, image.hex)], sources)
    code, headers = memory_runtime(base, networks, folder)
    places = [*(str(node.dir) for node in headers), *(each.folder for each in networks if each.name in linked)]
    return InitializerNodes(
        sources=[sources[0], *code, *_link_sources(base, folder, networks, layout)],
        # What is linked is read from the folder of its network.
        include_dirs=[base.Dir(f"#{name}") for name in dict.fromkeys([folder, *places])],
        header=sources[1],
        images=images,
        external=external,
        layout=layout,
        io_header=contract[0],
        io_json=contract[1],
        descriptor=descriptor,
        headers=headers,
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _moved(slots: Any) -> tuple[tuple[str, int], ...]:
    rows = slots.items() if isinstance(slots, dict) else [(None, None)]
    if not all(isinstance(name, str) and _is_int(address) for name, address in rows):
        raise NeuralArtError(f"slots: a mapping of names to addresses, not {slots!r}", where="MemoryInitializers")
    return tuple(sorted(slots.items()))


def _kept(reserved: Any) -> tuple[Reserved, ...]:
    try:
        rows = [(name, address, size) for name, (address, size) in sorted(reserved.items())]
    except (AttributeError, TypeError, ValueError):
        rows = [(None, None, None)]
    for name, address, size in rows:
        if not (isinstance(name, str) and _is_int(address) and _is_int(size)):
            raise NeuralArtError(
                f"reserved: a mapping of names to (address, bytes), not {reserved!r}", where="MemoryInitializers"
            )
        if not (0 <= address < address + size <= 1 << 32):
            raise NeuralArtError(
                f"reserved: {name} with {size} bytes at {address:#x} is no range of addresses",
                where="MemoryInitializers",
            )
    return tuple(Reserved(*row, Location("", 0)) for row in rows)


_KEYWORDS = ("folder", "board_layout", "slots", "reserved")


@at_read_time
def initializers_method(env: Any, *networks: Any, **options: Any) -> InitializerNodes:
    """``env.MemoryInitializers(net, ...)``: what a program with these networks needs loaded and turned on.

    Args:
        env: The construction environment.
        *networks: What ``env.Network`` returned; all networks of the program.
        **options: ``folder``: where the files go, by default below the build folder, named after the networks.
            ``board_layout``: True if the program uses the board's own code and data sections, so that they are checked
            against the pools; False (default) for a linker script of your own. ``slots``: flash slots to move, name to
            address. ``reserved``: ranges to keep free, name to (address, bytes).

    Raises:
        SCons.Errors.UserError: No network, networks for different boards, or something has no place.
    """
    refuse_cpu(networks, "MemoryInitializers")
    if not networks or not all(isinstance(network, NetworkNodes) for network in networks):
        raise SCons.Errors.UserError("MemoryInitializers takes what Network returned, one or more")
    for keyword in options:
        if keyword not in _KEYWORDS:
            raise NeuralArtError(
                f"unknown option '{keyword}'", where="MemoryInitializers", hint=nearest(keyword, list(_KEYWORDS))
            )
    for network in networks:
        refuse_relative_pools(network.name, network.pools)
    slots, reserved = _moved(options.get("slots", {})), _kept(options.get("reserved", {}))
    chosen: list[NetworkNodes] = list(networks)
    board = board_of(chosen)
    names = [network.name for network in chosen]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise NeuralArtError(f"network {twice} is given twice", where="MemoryInitializers")
    folder = options.get("folder", "")
    if not isinstance(folder, str) or Path(folder).is_absolute():
        raise NeuralArtError(f"folder: a folder below the top folder, not {folder!r}", where="MemoryInitializers")
    stem = "-".join(Path(network.folder).name for network in chosen)
    where = folder.removeprefix("#") or f"{build_dir(env)}/initializers/{stem}"
    variant = VariantConfig(
        name=stem,
        title="",
        board=board.name,
        machine="",
        networks=tuple(network.config for network in chosen),
        slots=slots,
        reserved=reserved,
    )
    return make_initializers(env, chosen, where, variant, board_layout=bool(options.get("board_layout", False)))
