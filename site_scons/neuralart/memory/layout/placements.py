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

    @property
    def constants(self) -> int:
        """Where the constants are, or what they are behind."""
        return self.model if self.params is None else self.params

    def home(self, *, writable: bool) -> int | None:
        """Address of the relative pool with such rights; None: there is no memory for it."""
        return self.ext_ram if writable else self.constants


@dataclass(frozen=True)
class Layout:
    """What is known before anything is built."""

    board: str  # name of the board
    # Slots, pools (declared capacity), firmware sections, reserved ranges, staging, descriptor.
    placements: tuple[Placement, ...]
    # One per declared initializer, in the order of networks and of their declared pools.
    initializers: tuple[Initializer, ...]
    descriptor: int | None  # address of the identity descriptor; None on a board without flash
    application: int | None  # address of the application slot in flash; None on a board that loads images in place
    loaded: LoadPlaces | None = None  # where a relocatable model is; None: the networks are linked into the firmware
