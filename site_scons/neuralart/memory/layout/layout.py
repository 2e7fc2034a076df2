"""Gives slots, pools, firmware and everything else in flash their places, before anything is built. The pool files of
the user decide where networks are; everything else moves round them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.conflicts import claim, head, refuse_conflicts
from neuralart.memory.layout.flash_areas import FOUND, areas, place_of, room_at, slot_addresses, slot_placements
from neuralart.memory.layout.placements import Layout, Placement, pool_owner
from neuralart.memory.layout.relative_pools import load_places, placed_pools
from neuralart.memory.layout.staging import drafts, in_flash, initializer
from neuralart.memory.layout.strategies import LayoutNetwork, without_linked
from neuralart.memory.regions import firmware_spans, fold_alias, memory_end, memory_list
from neuralart.network.targets import CPU, flow_of
from neuralart.resources import stable_name

__all__ = ["LayoutNetwork", "make_layout"]


def make_layout(
    board: Board, variant: VariantConfig, networks: Sequence[LayoutNetwork], *, with_firmware: bool = True
) -> Layout:
    """Give every owner a place.

    ``variant``: its slots, reserved ranges, and where its networks' strategies were written; ``networks``: all of the
    image, in order; ``with_firmware``: the image is laid out as the board says (not by the user's own linker script).

    Placements are in the order: slots, firmware, reserved, pools, descriptor, staging. NeuralArtError: a strategy
    cannot work, something is not in a memory or not at a sector, or two owners whose range is fixed, or one of them and
    the beginning of a pool, or two pools of one network are in one place.
    """
    found = areas(board)
    places = load_places(board, variant)
    networks = [network if network.loaded else without_linked(network) for network in networks]
    if places is not None:
        networks = [replace(network, pools=placed_pools(network.pools, places)) for network in networks]
    declared = [draft for network in networks for draft in drafts(board, variant, network, found)]
    pools = [pool for network in networks for pool in _pools(board, network)]
    reserved = _reserved(board, variant)
    merged = slot_addresses(board, variant, found)
    borders = [p.start for p in (*pools, *reserved)] + [merged[name][0] for name in FOUND if name in merged]
    loaded = f"network {networks[0].name}" if places is not None else ""
    fixed = slot_placements(board, merged, found, borders, loaded)
    application = next((p for p in fixed if board.boot is not None and p.owner == f"slot {board.boot.slot}"), None)
    fixed += [
        Placement(s.owner, "firmware", s.start, s.end - s.start, board.place(s.owner.split()[1]), s.group)
        for s in (firmware_spans(board) if with_firmware else ())
    ]
    fixed += reserved
    # The slot gives the address of constants that are in it.
    held = [p for p in pools if places is not None and p.start == places.constants]
    _check(board, [*fixed, *(p for p in pools if p not in held)])
    _check_aliases(board, fixed, pools)
    anchor = application.start + application.size if application is not None else None
    descriptor: Placement | None = None
    staging: dict[str, Placement] = {}
    # A network on the core without initializers is a part of the firmware: nothing of it is described or staged.
    if declared or flow_of(board.target) != CPU:
        descriptor, staging = in_flash(variant, found, declared, merged, [*fixed, *pools], anchor)
    made = [*fixed, *pools, *([descriptor] if descriptor else []), *staging.values()]
    _check(board, [p for p in made if p not in held])
    return Layout(
        board=board.name,
        placements=tuple(made),
        initializers=tuple(initializer(draft, staging) for draft in declared),
        descriptor=descriptor.start if descriptor else None,
        application=application.start if application is not None else None,
        loaded=places,
    )


def _check(board: Board, placements: Sequence[Placement]) -> None:
    """Pools count with their beginning only: how much of them is used is known when the network is compiled."""
    claims = {p: head(p) if p.kind == "pool" else claim(p) for p in placements}

    def allowed(one: Placement, other: Placement, sector_only: bool) -> bool:
        kinds = {one.kind, other.kind}
        # What the user keeps to themselves is their own affair, sector by sector.
        return kinds == {"pool"} or (kinds == {"reserved"} and sector_only)

    refuse_conflicts(board, claims, allowed)


def _check_aliases(board: Board, fixed: Sequence[Placement], pools: Sequence[Placement]) -> None:
    """The reader of a pool file knows no board: two of its pools may be the same memory in both security states."""
    for network in dict.fromkeys(p.group for p in pools):
        own = {p: replace(claim(p), group=p.owner) for p in pools if p.group == network}
        claims = {**{p: claim(p) for p in fixed}, **own}
        refuse_conflicts(
            board, claims, lambda one, other, sector_only: {one.kind, other.kind} != {"pool"} or sector_only
        )


def _pools(board: Board, network: LayoutNetwork) -> list[Placement]:
    """Pools with an address in a memory of the board, no larger than the memory. What else a pool file lists (a PSRAM
    that another board has) matters only if the network uses it.
    """
    made = []
    for pool in network.pools.enabled:
        if pool.mode != "USEMODE_ABSOLUTE" or board.region_at(pool.address) is None:
            continue
        start = fold_alias(board, pool.address)
        size = min(pool.size, room_at(board, start))
        where = stable_name(pool.where) if pool.where else network.where
        made.append(
            Placement(pool_owner(network.name, pool.fname), "pool", start, size, where, f"network {network.name}")
        )
    return made


def _reserved(board: Board, variant: VariantConfig) -> list[Placement]:
    made = []
    for each in variant.reserved:
        where = str(each.where) if each.where.file else place_of(variant, "reserved")
        owner = f"reserved {each.name}"
        region = board.region_at(each.address)
        start = each.address if region is None else fold_alias(board, each.address)
        end = memory_end(board, start) if region is not None else start
        if start + each.size > end:
            what = f"{owner} [0x{start:08x}, 0x{start + each.size:08x}): there is no memory at 0x{end:08x}"
            raise NeuralArtError(what, where=where, hint=memory_list(board))
        made.append(Placement(owner, "reserved", start, each.size, where, owner))
    return made
