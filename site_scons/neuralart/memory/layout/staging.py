"""Places the identity descriptor and the constants that the firmware copies into RAM at its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout import identity, slots
from neuralart.memory.layout.conflicts import claim
from neuralart.memory.layout.flash_areas import Area, Demand, area_at, by_sectors, place, round_up
from neuralart.memory.layout.placements import DESCRIPTOR, Placement
from neuralart.memory.layout.strategies import BOOT_COPY
from neuralart.memory.layout.unplaced import Draft
from neuralart.memory.regions import Span


def in_flash(
    variant: VariantConfig,
    found: Sequence[Area],
    drafts: Sequence[Draft],
    merged: Mapping[str, tuple[int, str]],
    others: Sequence[Placement],
    anchor: int | None,
) -> tuple[Placement | None, dict[str, Placement]]:
    """The descriptor, and a staging place for each initializer that is copied at the start.

    Args:
        variant: For messages.
        found: Flash of the board.
        drafts: All declared initializers.
        merged: Address and ``file:line`` of slots, ``descriptor`` and ``staging`` among them if the variant says.
        others: Everybody who has a place already.
        anchor: The end of the application's slot: places from there on come first.

    Returns:
        None without a flash or without anything to describe in a full one; staging places by owner.

    Raises:
        NeuralArtError: There is no room.
    """
    copied = [draft for draft in drafts if draft.strategy == BOOT_COPY]
    if not found:
        if copied:
            raise NeuralArtError(
                f"{copied[0].owner}: the board has no flash with known sectors that could keep its initializer",
                where=copied[0].where,
                hint="strategy link or external-loader, or 'flash:' in the board's file",
            )
        return None, {}
    described = sum(1 for draft in drafts if draft.described)
    pools = [by_sectors(found, claim(p)) for p in others if p.kind == "pool"]
    fixed = [by_sectors(found, claim(p)) for p in others if p.kind != "pool"]
    descriptor = _asked_descriptor(found, identity.size_of(described), merged)
    staging = _asked_staging(found, copied, merged)
    fixed += [claim(p) for p in (descriptor, *staging.values()) if p is not None]
    demands = [] if descriptor else [Demand(DESCRIPTOR, identity.size_of(described))]
    waiting = [] if staging else copied
    spans = _fit(found, demands, waiting, fixed, pools, anchor)
    if spans is None:
        if not described:
            return None, {}
        raise _no_room(variant, found, demands, waiting, fixed)
    if descriptor is None:
        where = f"{slots.place_of(variant, 'slots')} (first fit)"
        descriptor = _placement(DESCRIPTOR, "descriptor", spans[DESCRIPTOR], where)
    for draft in waiting:
        staging[draft.owner] = _placement(draft.owner, "staging", spans[draft.owner], f"{draft.where} (first fit)")
    return descriptor, staging


def _placement(owner: str, kind: str, span: Span, where: str) -> Placement:
    return Placement(owner, kind, span.start, span.end - span.start, where, owner)


def _asked_descriptor(found: Sequence[Area], size: int, merged: Mapping[str, tuple[int, str]]) -> Placement | None:
    if "descriptor" not in merged:
        return None
    at, where = merged["descriptor"]
    return _asked(_area(found, at), DESCRIPTOR, "descriptor", at, size, where)


def _asked_staging(
    found: Sequence[Area], copied: Sequence[Draft], merged: Mapping[str, tuple[int, str]]
) -> dict[str, Placement]:
    """One behind the other from the address that the variant says."""
    if "staging" not in merged:
        return {}
    at, where = merged["staging"]
    area = _area(found, at)
    made: dict[str, Placement] = {}
    for draft in copied:
        made[draft.owner] = _asked(area, draft.owner, "staging", at, draft.size, where)
        at = made[draft.owner].end
    return made


def _area(found: Sequence[Area], address: int) -> Area:
    area = area_at(found, address)
    assert area is not None, "slots.addresses saw to that"
    return area


def _asked(area: Area, owner: str, kind: str, at: int, size: int, where: str) -> Placement:
    """Whole sectors at an address that the variant asks for."""
    span = Span(owner, owner, at, at + round_up(size, area.sector))
    if span.end > area.end:
        raise NeuralArtError(
            f"{span} runs over the end of {area.name} at 0x{area.end:08x}",
            where=where,
            hint=f"let slots: {kind}: begin further down, or leave it out: a place is found then",
        )
    return _placement(owner, kind, span, where)


def _fit(
    found: Sequence[Area],
    demands: Sequence[Demand],
    copied: Sequence[Draft],
    fixed: Sequence[Span],
    pools: Sequence[Span],
    anchor: int | None,
) -> dict[str, Span] | None:
    """As large as the pools if that is possible, else all of them smaller by the same factor."""
    largest = max((draft.size for draft in copied), default=1)
    shift = 0
    while True:
        wanted = [*demands, *(Demand(draft.owner, max(1, draft.size >> shift)) for draft in copied)]
        spans = place(found, wanted, fixed, pools, anchor)
        if spans is not None or largest >> shift <= 1:
            return spans
        shift += 1


def _no_room(
    variant: VariantConfig,
    found: Sequence[Area],
    demands: Sequence[Demand],
    copied: Sequence[Draft],
    fixed: Sequence[Span],
) -> NeuralArtError:
    owners = [demand.owner for demand in demands] + [draft.owner for draft in copied]
    held = ", ".join(str(span) for span in sorted(fixed, key=lambda s: s.start) if area_at(found, span.start))
    return NeuralArtError(
        f"no free erase sector for {' and '.join(owners)} in {', '.join(area.name for area in found)}",
        where=copied[0].where if copied else slots.place_of(variant, "slots"),
        hint=f"the flash is taken by {held or 'pools'}",
    )
