"""Chooses how the constants of a pool get there: the strategy that the user names, or the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from neuralart import plugins
from neuralart.boards.types import Board, MemoryRegion
from neuralart.config.types import STRATEGIES
from neuralart.errors import NeuralArtError, nearest
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.quick import dataclass, replace

DESCRIPTOR = "identity descriptor"
_STAGING = "staging of "


def pool_owner(network: str, pool: str) -> str:
    """The owner of a pool's placement."""
    return f"pool {pool} of network {network}"


def staging_owner(network: str, pool: str) -> str:
    """The owner of the flash range that keeps a pool's initializer."""
    return _STAGING + pool_owner(network, pool)


def staged_pool(owner: str) -> str:
    """The pool's owner, from that of its staging place."""
    return owner.removeprefix(_STAGING)


@dataclass(frozen=True)
class Placement:
    """A range of addresses with an owner."""

    owner: str  # who, for messages: slot application, pool xSPI2 of network digits, firmware code...
    kind: str  # slot, pool, firmware, staging, descriptor, reserved
    start: int  # first address, in the alias of the firmware's security state
    size: int  # bytes; capacity at read time, use at build time
    chosen_by: str  # file:line (and what) that decided the address
    group: str  # ranges of one group may overlap (a virtual pool and its parts; a pool and what is staged in it)

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size


@dataclass(frozen=True)
class Initializer:
    """How the constants of one pool reach it."""

    network: str  # name of the network
    pool: str  # fname of the pool
    strategy: str  # one of STRATEGIES
    run_address: int  # where the network reads them: the base of the pool
    load_address: int  # where they are in flash: the pool (flash), a staging place (boot-copy), else 0
    capacity: int  # the most bytes that fit at both places
    cacheable: bool  # the pool is read through the NPU cache


@dataclass(frozen=True)
class LoadPlaces:
    """Where the loader of a firmware finds its model, and the memory that it gives to it."""

    table: int  # flash address of the load table
    model: int  # flash address of the model
    params: int | None  # flash address of the constants of a split model; None: they are behind the model
    ext_ram: int | None  # address of the memory for the relative read/write pool; None: there is none
    ext_ram_size: int  # its size in bytes

    def defines(self, exec_ram: int) -> tuple[str, ...]:
        """Macros that tell a loading application these places; ``exec_ram``: bytes of memory for code of the model."""
        return (
            f"NEURALART_LOAD_TABLE=0x{self.table:08x}u",
            f"NEURALART_EXEC_RAM={exec_ram}u",
            f"NEURALART_EXT_RAM_ADDRESS=0x{self.ext_ram or 0:08x}u",
            f"NEURALART_EXT_RAM_SIZE={self.ext_ram_size}u",
        )

    @property
    def constants(self) -> int:
        """Address of the model's constants, or of what is in front of them."""
        return self.model if self.params is None else self.params

    def home(self, *, writable: bool) -> int | None:
        """Address of the relative pool with these rights; None: it has no memory."""
        return self.ext_ram if writable else self.constants


@dataclass(frozen=True)
class Layout:
    """The places of everything, before anything is built."""

    board: str  # name of the board
    # Slots, pools (declared capacity), firmware sections, reserved ranges, staging, descriptor.
    placements: tuple[Placement, ...]
    # One per declared initializer, in the order of networks and of their declared pools.
    initializers: tuple[Initializer, ...]
    descriptor: int | None  # address of the identity descriptor; None on a board without flash
    application: int | None  # address of the application slot in flash; None on a board that loads images in place
    loaded: LoadPlaces | None = None  # where a relocatable model is; None: the networks are linked into the firmware


FLASH, BOOT_COPY, LINK, EXTERNAL, RELOCATABLE = STRATEGIES
# Ways into a RAM pool.
_INTO_RAM = (BOOT_COPY, LINK, EXTERNAL)
# What a plugin's strategy can be built on.
WAYS = (FLASH, BOOT_COPY, LINK, EXTERNAL)


@dataclass(frozen=True)
class Constants:
    """The constants of a pool, for the files of a strategy."""

    network: str  # name of the network
    pool: str  # fname of the pool
    run_address: int  # where the network reads them
    load_address: int  # where they lie in flash; 0: they are not in flash
    data: bytes


class Strategy(Protocol):
    """How the constants of a pool leave the build.

    The layout and the start-up code know the ways in :data:`WAYS`; a strategy takes one of them and adds files: another
    format for a programmer, a table in C. C files become part of the program.

    Attributes:
        way: ``flash``, ``boot-copy``, ``link`` or ``external-loader``: who brings the constants to their pool.
    """

    way: str

    def files(self, network: str, pool: str) -> tuple[str, ...]:
        """Names of the files that it adds, without folders. Pure: nothing is written."""

    def make(self, constants: Constants) -> Mapping[str, bytes]:
        """The contents of these files.

        NeuralArtError: the constants do not fit.
        """


@dataclass(frozen=True)
class _PlainStrategy:
    way: str

    def files(self, network: str, pool: str) -> tuple[str, ...]:
        """What images and descriptor do not say needs no file."""
        return ()

    def make(self, constants: Constants) -> Mapping[str, bytes]:
        """Nothing."""
        return {}


for _name in STRATEGIES:
    plugins.register("strategies", _name, _PlainStrategy(_name), protocol=1)


def way_of(name: str, where: str) -> str:
    """The way that a strategy takes: itself, or what a plugin builds on. ``name``: what the user wrote; empty: by rule;
    ``where``: ``file:line``. NeuralArtError: there is no such strategy, or its plugin is wrong.
    """
    if not name or name in STRATEGIES:
        return name
    plugin = plugins.find("strategies", name, where)
    if plugin.made.way not in WAYS:
        raise plugin.error(f"its way is '{plugin.made.way}'", f"possible: {', '.join(WAYS)}")
    return str(plugin.made.way)


@dataclass(frozen=True)
class LayoutNetwork:
    """A network as it is known before it is compiled."""

    name: str  # C name
    pools: PoolFile
    declared: tuple[str, ...]  # fnames of the pools whose initializer is declared, in order
    strategies: Mapping[str, str]  # how initializers reach their pools, by fname; the rest follow the rule
    where: str  # file:line of the network, for messages
    loaded: bool = False  # it becomes a relocatable model: a loader brings the constants of all pools


def by_rule(region: MemoryRegion) -> str:
    """The default strategy of a pool in this memory."""
    return FLASH if region.kind == "flash" else BOOT_COPY


def _joined_parts(name: str, pools: PoolFile) -> tuple[str, ...]:
    """fnames of the pools whose names, joined with ``_``, make up a name; empty if it is no such name. That is how a
    compiler names the virtual pool that it makes of adjoining pools.
    """
    for names in ({pool.fname: pool.fname for pool in pools.pools}, {pool.name: pool.fname for pool in pools.pools}):
        found = _split(name, names)
        if len(found) > 1:
            return found
    return ()


def _split(text: str, names: Mapping[str, str]) -> tuple[str, ...]:
    if text in names:
        return (names[text],)
    for name, fname in names.items():
        if text.startswith(f"{name}_"):
            rest = _split(text[len(name) + 1 :], names)
            if rest:
                return (fname, *rest)
    return ()


def _check_name(network: LayoutNetwork, name: str, key: str, where: str) -> None:
    """Refuse what is no enabled pool: misspelled, disabled, or the name of a virtual pool."""
    enabled = [pool.fname for pool in network.pools.enabled]
    if name in enabled:
        return
    what = f"{key} of network {network.name}"
    parts = ", ".join(_joined_parts(name, network.pools))
    if parts:
        text = f"{what}: '{name}' is the virtual pool that the compiler makes of {parts}"
        text += "; it has no file of its own, each part has one"
        raise NeuralArtError(text, where=where, hint=f"name the parts: {parts}")
    disabled = next((pool for pool in network.pools.pools if pool.fname == name), None)
    if disabled is not None:
        text = f"{what}: pool {name} is disabled, its size is 0"
        raise NeuralArtError(text, where=where, hint=f"give it a size at {disabled.where}")
    text = f"{what}: no pool '{name}' in {network.pools.path}"
    raise NeuralArtError(text, where=where, hint=nearest(name, enabled))


def chosen(board: Board, network: LayoutNetwork, pool: MemoryPool, where: str) -> str:
    """The strategy of a declared pool. ``network``: whose pool it is; ``where``: ``file:line`` of the strategy, or of
    the network. NeuralArtError: the pool is in no memory, or the strategy cannot work there.
    """
    what = f"pool {pool.fname} of network {network.name}"
    asked = network.strategies.get(pool.fname, "")
    if asked and asked not in STRATEGIES and asked not in (known := plugins.names("strategies")):
        raise NeuralArtError(f"{what}: '{asked}' is no strategy", where=where, hint=nearest(asked, known))
    asked = way_of(asked, where)
    if asked == RELOCATABLE and not network.loaded:
        text = f"{what}: strategy relocatable is for variants whose firmware loads its model"
        hint = f"'relocatable: true' in the variant, or one of {', '.join(WAYS)}"
        raise NeuralArtError(text, where=where, hint=hint)
    if network.loaded and asked not in ("", RELOCATABLE):
        text = f"{what}: strategy {asked}, but the loader of a relocatable variant's firmware brings all constants"
        raise NeuralArtError(text, where=where, hint="leave the strategy out")
    if pool.mode != "USEMODE_ABSOLUTE":
        text = f"{what} is relative ({pool.mode}): only a loader gives it an address"
        hint = "'relocatable: true' in the variant, or set its mode to USEMODE_ABSOLUTE"
        raise NeuralArtError(text, where=pool.where, hint=hint)
    region = board.region_at(pool.address)
    if region is None:
        text = f"{what} at 0x{pool.address:08x} has an initializer, but board {board.name} has no memory there"
        hint = f"disable it with size 0, or move it: `neuralart boards {board.name}` lists the memories"
        raise NeuralArtError(text, where=pool.where, hint=hint)
    if network.loaded:
        return RELOCATABLE
    strategy = asked or by_rule(region)
    if region.kind == "rom":
        text = f"{what} is in {region.name}, a ROM: nothing can be brought there"
        raise NeuralArtError(text, where=where if asked else pool.where)
    if strategy == FLASH and region.kind != "flash":
        text = f"{what} is in {region.name}, which forgets at power-off: strategy flash needs a pool in flash"
        raise NeuralArtError(text, where=where, hint=f"possible: {', '.join(_INTO_RAM)}")
    if strategy in _INTO_RAM and region.kind == "flash":
        text = f"{what} is in {region.name}, which is flash and cannot be written like RAM"
        hint = "flash is the strategy for it, or move the pool into RAM"
        raise NeuralArtError(f"{text}: strategy {strategy} does not work there", where=where, hint=hint)
    return strategy


def check_names(network: LayoutNetwork, places: Mapping[str, str]) -> None:
    """Check that declared initializers and strategies name existing pools. ``places``: ``file:line`` of
    ``initializers`` and of each ``strategies.POOL``. NeuralArtError: one does not, or a strategy is for a pool without
    an initializer.
    """
    for name in network.declared:
        _check_name(network, name, "initializers", places.get("initializers", network.where))
    for name in network.strategies:
        where = places.get(f"strategies.{name}", network.where)
        _check_name(network, name, "strategies", where)
        if name not in network.declared:
            what = f"strategies of network {network.name}: pool {name} has no initializer"
            hint = f"initializers: [{', '.join([*network.declared, name])}] declares it"
            raise NeuralArtError(what, where=where, hint=hint)


def without_linked(network: LayoutNetwork) -> LayoutNetwork:
    """Remove the pools whose constants are C of the program, placed by the linker. NeuralArtError: such a pool has a
    strategy that needs a raw file.
    """
    linked = [pool for pool in network.pools.enabled if pool.in_c and pool.fname in network.declared]
    for pool in linked:
        what = f"pool {pool.fname} of network {network.name} is written as C, a part of the program"
        asked = network.strategies.get(pool.fname, LINK)
        if asked != LINK:
            text = f"{what}: strategy {asked} takes a raw file"
            raise NeuralArtError(text, where=network.where, hint='leave it out, or "fformat": "FORMAT_RAW"')
    names = {pool.fname for pool in linked}
    return replace(
        network,
        pools=replace(network.pools, pools=tuple(pool for pool in network.pools.pools if pool.fname not in names)),
        declared=tuple(name for name in network.declared if name not in names),
        strategies={name: strategy for name, strategy in network.strategies.items() if name not in names},
    )
