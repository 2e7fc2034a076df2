"""The nouns of the address plan: who has which range of addresses, and who decided that."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.config.types import STRATEGIES as STRATEGIES

DESCRIPTOR = "identity descriptor"
_STAGING = "staging of "


def pool_owner(network: str, pool: str) -> str:
    """Owner of a pool's placement."""
    return f"pool {pool} of network {network}"


def staging_owner(network: str, pool: str) -> str:
    """Owner of the placement where a pool's initializer is kept in flash."""
    return _STAGING + pool_owner(network, pool)


def staged_pool(owner: str) -> str:
    """Owner of the pool that a staging place is for."""
    return owner.removeprefix(_STAGING)


@dataclass(frozen=True)
class Placement:
    """A range of addresses with an owner.

    Attributes:
        owner: Who, for messages: ``slot application``, ``pool xSPI2 of network digits``, ``firmware code``...
        kind: ``slot``, ``pool``, ``firmware``, ``staging``, ``descriptor``, ``reserved``.
        start: First address, in the alias of the firmware's security state.
        size: Bytes; capacity at read time, use at build time.
        chosen_by: ``file:line`` (and what) that decided the address.
        group: Ranges of one group may overlap (a virtual pool and its parts; a pool and what is staged in it).
    """

    owner: str
    kind: str
    start: int
    size: int
    chosen_by: str
    group: str

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size


@dataclass(frozen=True)
class Initializer:
    """How the constants of one pool reach it.

    Attributes:
        network: Name of the network.
        pool: fname of the pool.
        strategy: One of :data:`STRATEGIES`.
        run_address: Where the network reads them: the base of the pool.
        load_address: Where they are in flash: the pool (``flash``), a staging place (``boot-copy``), else 0.
        capacity: The most bytes that fit at both places.
        cacheable: The pool is read through the NPU cache.
    """

    network: str
    pool: str
    strategy: str
    run_address: int
    load_address: int
    capacity: int
    cacheable: bool


@dataclass(frozen=True)
class LoadPlaces:
    """Where the loader of a firmware finds its model, and the memory that it gives to it.

    Attributes:
        table: Flash address of the load table.
        model: Flash address of the model.
        params: Flash address of the constants of a split model; None: they are behind the model.
        ext_ram: Address of the memory for the relative read/write pool; None: there is none.
        ext_ram_size: Its size in bytes.
    """

    table: int
    model: int
    params: int | None
    ext_ram: int | None
    ext_ram_size: int

    @property
    def constants(self) -> int:
        """Where the constants are, or what they are behind."""
        return self.model if self.params is None else self.params


@dataclass(frozen=True)
class Layout:
    """What is known before anything is built.

    Attributes:
        board: Name of the board.
        placements: Slots, pools (declared capacity), firmware sections, reserved ranges, staging, descriptor.
        initializers: One per declared initializer, in the order of networks and of their declared pools.
        descriptor: Address of the identity descriptor; None on a board without flash.
        application: Address of the application slot in flash; None on a board that loads images in place.
        loaded: Where a relocatable model is; None: the networks are linked into the firmware.
    """

    board: str
    placements: tuple[Placement, ...]
    initializers: tuple[Initializer, ...]
    descriptor: int | None
    application: int | None
    loaded: LoadPlaces | None = None
