"""A lint rule: constants must leave room for their successors."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.findings import WARNING
from neuralart.plugins import register
from neuralart_insight.lint.types import Facts, Hit, Rule


def _update_room(facts: Facts) -> Iterator[Hit]:
    if facts.board is None or "size" not in facts.board.flash:
        return
    half = int(facts.board.flash["size"]) // 2
    for network in facts.networks:
        weights = sum(pool.weights for pool in network.pools)
        if weights > half:
            yield Hit(network.where, f"network {network.name} has {weights} bytes of constants, half a flash is {half}")


RULE = Rule(
    "update-room",
    WARNING,
    "constants that take more than half of the flash",
    "An update over the air keeps the old ones until the new ones are whole.",
    "a smaller network, or a larger flash",
    ("board", "network"),
    _update_room,
)
register("lint", RULE.id, RULE, protocol=1)
