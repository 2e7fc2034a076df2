"""What the context counts, against the pool table and the bytes of the params: nothing more, nothing less."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.memory.findings import Finding, error, warning
from neuralart.relocatable.format.addresses import ACTIV, MIXED, PARAM, RELOC, align8, ec_front
from neuralart.relocatable.format.types import Image


def _within(image: Image, name: str, value: int, kind: int, what: str) -> Iterator[Finding]:
    """A number that pools of one kind, and the mixed ones, must have room for.

    It may be less than their sizes: those may be rounded, and have gaps.
    """
    own = sum(pool.size for pool in image.pools if pool.data == kind)
    room = own + sum(pool.size for pool in image.pools if pool.data == MIXED)
    if value > room + 8 * len(image.pools) or (own and not value):
        yield error("pools", f"{name} of the context is {value}, the pools of the table have {room} bytes for {what}")


def _holders(image: Image) -> list[tuple[int, int]]:
    """Stretches of the params that pools say are theirs, blobs in front included; sorted."""
    front = ec_front(image)
    found = [(0, front)] if front else []
    for pool in image.pools:
        if pool.data in (PARAM, MIXED):
            extra = front if pool.type == RELOC and pool.data == PARAM else 0
            found.append((pool.foff, pool.foff + extra + align8(pool.size)))
    return sorted(found)


def _nobodys(image: Image) -> Iterator[Finding]:
    """Bytes of the params that no pool holds."""
    blob, size = image.params, image.context.params_bin_sz
    if blob is None:
        listed = sum(align8(pool.size) for pool in image.pools if pool.data in (PARAM, MIXED))
        if size != listed:
            yield warning("pools", f"params_bin_sz is {size}, the pools of the table have {listed} bytes of params")
        return
    end, at = min(len(blob), ec_front(image) + size), 0
    for first, behind in [*_holders(image), (end, end)]:
        if first > at and at < end:
            count = min(first, end) - at
            text = f"{count} bytes of params from params+0x{at:x} belong to no pool"
            if any(blob[at : at + count]):
                yield error("pools", text, "the table's sizes are wrong, or the params are of another build")
            else:
                yield warning("pools", f"{text}; they are zero")
        at = max(at, behind)


def check(image: Image) -> Iterator[Finding]:
    """All of them."""
    yield from _within(image, "acts_sz", image.context.acts_sz, ACTIV, "activations")
    yield from _within(image, "params_sz", image.context.params_sz, PARAM, "constants")
    yield from _nobodys(image)
