"""Pools without an address of their own: a relocatable model has them, a program must not.

A network is static or relocatable, never both: ``relocatable:`` derives a second specification, with its own compile.
Its constants are read from the slot of the model, its activations are in the memory that the firmware gives to the
loader. The address in the pool file only says which memory it was made for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart.boards.types import Board, MemoryRegion
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.flash_areas import place_of
from neuralart.memory.layout.strategies import Layout, LoadPlaces
from neuralart.network.facts import Network, PoolUse, Port
from neuralart.network.pools import EXTERNAL, MemoryPool, PoolFile, check_relative
from neuralart.vendor.profile import RELOCATABLE_PROFILE

ALL_BUFFERS = "--all-buffers-info"


def derive(config: NetworkConfig) -> NetworkConfig:
    """What to compile for a relocatable model.

    ``config``: the network as its owner describes it. Returns the same with ``--all-buffers-info``, without strategies
    (a loader brings the constants), and with the profile ``relocatable`` of the board if it names neither a profile nor
    pools. Pools that it names stay: they are checked by :func:`check_pools`, never changed. So does an adopted network,
    which is compiled already.
    """
    if config.adopted is not None:
        return replace(config, strategies=())
    own = config.profile or config.mpool
    options = config.options if ALL_BUFFERS in config.options else (*config.options, ALL_BUFFERS)
    return replace(config, profile=config.profile if own else f"{RELOCATABLE_PROFILE}@", options=options, strategies=())


def check_pools(pools: PoolFile) -> None:
    """Refuse pools that a relocatable model cannot have. ``pools``: those of the derived network. NeuralArtError: an
    external pool is absolute, or see :func:`neuralart.network.pools.check_relative`.
    """
    for pool in pools.enabled:
        if pool.address >= EXTERNAL and not pool.relative:
            what = f"pool {pool.fname} at 0x{pool.address:08x} is USEMODE_ABSOLUTE"
            what += ": the external memories of a relocatable model get their place when it is installed"
            hint = 'give it "mode": "USEMODE_RELATIVE", or disable it with size 0'
            raise NeuralArtError(what, where=pool.where, hint=hint)
    check_relative(pools)


RELATIVE, ABSOLUTE = "USEMODE_RELATIVE", "USEMODE_ABSOLUTE"


def load_places(board: Board, variant: VariantConfig) -> LoadPlaces | None:
    """The addresses where the loader of a variant looks for its model. ``board``: the board that it runs on;
    ``variant``: its ``slots:`` win. Returns None: the networks of the variant are linked into its firmware.
    NeuralArtError: the board says nothing about relocatable models.
    """
    if variant.relocatable is None:
        return None
    slots = board.relocatable
    if slots is None:
        what = f"relocatable: board {board.name} does not say where relocatable models are loaded from"
        hint = "its file needs 'relocatable: {table: 0x..., model: 0x..., params: 0x...}'"
        raise NeuralArtError(what, where=place_of(variant, "relocatable"), hint=hint)
    moved = dict(variant.slots)
    region = next((r for r in board.memory if r.name == slots.ext_ram and _comes_up(board, r)), None)
    return LoadPlaces(
        table=moved.get("load_table", slots.table),
        model=moved.get("relocatable", slots.model),
        params=moved.get("relocatable_params", slots.params) if variant.relocatable.split else None,
        ext_ram=region.base if region is not None else None,
        ext_ram_size=region.size if region is not None else 0,
    )


def _comes_up(board: Board, region: MemoryRegion) -> bool:
    """The memory is fitted, and reset, boot chain or start-up code brings it up."""
    mapped = any(window.region == region.name and window.mapped_by_boot for window in board.windows)
    return bool(region.size) and (region.on_at_reset or mapped or region.enable is not None)


def placed_pools(pools: PoolFile, places: LoadPlaces) -> PoolFile:
    """The pools with the addresses that a loader gives to the relative ones. A relative read/write pool on a board
    without memory for it keeps the address of its file, where there is no memory: that matters only if the network uses
    it.
    """

    def moved(pool: MemoryPool) -> MemoryPool:
        home = places.home(writable=pool.writable) if pool.mode == RELATIVE else None
        if home is None:
            return pool
        size = min(pool.size, places.ext_ram_size) if pool.writable else pool.size
        return replace(pool, address=home, size=size, mode=ABSOLUTE)

    return replace(pools, pools=tuple(map(moved, pools.pools)))


def placed(network: Network, places: LoadPlaces) -> Network:
    """Facts with a loader's addresses of the relative pools. NeuralArtError: the board has no such memory."""

    def moved(pool: PoolUse) -> PoolUse:
        if pool.mode != RELATIVE:
            return pool
        home = places.home(writable=pool.rights == "ACC_WRITE")
        if home is None and pool.used:
            what = f"network {network.name} has {pool.used} bytes in the relative pool {pool.fname}"
            hint = "a board with 'relocatable: {ext_ram: REGION}' whose boot chain brings that memory up"
            hint += ", such as stm32n6570-dk-psram; or disable the pool with size 0"
            what += ", but this board has no memory for it"
            raise NeuralArtError(what, where=f"network {network.name}", hint=hint)
        return pool if home is None else replace(pool, address=home, mode=ABSOLUTE)

    pools = tuple(map(moved, network.pools))
    shifts = {new.fname: new.address - old.address for old, new in zip(network.pools, pools, strict=True)}

    def shifted(ports: Sequence[Port]) -> tuple[Port, ...]:
        return tuple(replace(port, address=port.address + shifts.get(port.pool, 0)) for port in ports)

    return replace(network, pools=pools, inputs=shifted(network.inputs), outputs=shifted(network.outputs))


def placed_in(layout: Layout, networks: Sequence[Network]) -> list[Network]:
    """Facts with the addresses that the layout's firmware gives to relative pools."""
    return [network if layout.loaded is None else placed(network, layout.loaded) for network in networks]


_HINT = "make it USEMODE_ABSOLUTE, or the network a relocatable model (relocatable: of the variant, or NetworkRel)"


def refuse_relative_pools(network: str, pools: PoolFile) -> None:
    """Refuse a network for a program before a compile. ``network``: its C name. NeuralArtError: a pool is relative."""
    for pool in pools.enabled:
        if pool.relative and not pool.epoch_controller and not pool.in_c:
            what = f"pool {pool.fname} of network {network} is USEMODE_RELATIVE: in a program nothing says where it is"
            raise NeuralArtError(what, where=pool.where, hint=_HINT)
