"""Which of several machines builds which variants: each variant in exactly one shard, by recorded cost."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

SUFFIX = ".costs.json"
"""Beside ``variants.yaml``. It is committed: each machine must come to the same parts, whatever it has built."""


def parse(text: str) -> tuple[int, int]:
    """``2/3`` as numbers: the second of three shards. NeuralArtError: it is no shard."""
    number, _, count = text.partition("/") if len(text) < 10 else ("", "", "")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= 1000):
        hint = "K/N: the K-th of N parts, for example 1/3; N is at most 1000"
        raise NeuralArtError(f"'{text}' is no shard", where="--shard", hint=hint)
    return int(number), int(count)


def split(names: Collection[str], costs: Mapping[str, int], count: int) -> list[list[str]]:
    """Variants of each shard, whose sums of cost are about equal. The costliest variant that is left goes to the shard
    that has least. The order of ``names`` decides nothing. What has no cost counts as much as the others on average.
    """
    known = [costs[name] for name in names if name in costs]
    usual = sum(known) / len(known) if known else 1.0
    # Where nothing costs anything the number of variants counts.
    loads = [(0.0, 0, number) for number in range(count)]
    shard_of = {}
    for cost, name in sorted((-costs.get(name, usual), name) for name in {*names}):
        load, held, shard_of[name] = heapq.heappop(loads)
        heapq.heappush(loads, (load - cost, held + 1, shard_of[name]))
    return [[name for name in dict.fromkeys(names) if shard_of[name] == number] for number in range(count)]


def costs_of(project: Path) -> dict[str, int]:
    """Milliseconds by variant; none, if there is no file. NeuralArtError: it is damaged."""
    path = project.with_suffix(SUFFIX)
    try:
        costs = dict(jsontext.loads(read_bytes(path)).items()) if path.exists() else {}
        if any(type(cost) is not int or not 0 <= cost < 1 << 53 for cost in costs.values()):
            raise ValueError("a number of milliseconds is none")
    except (AttributeError, ValueError) as error:
        hint = "delete it; neuralart tool matrix --record writes it again"
        raise NeuralArtError(f"these are no costs: {error}", where=path.as_posix(), hint=hint) from error
    return costs
