"""Damaged relocatable models: one line or findings; no traceback, and no accepted image with an address that escapes.

10,000 images; ``NEURALART_FUZZ=10000`` runs 100,000 (ten for each).
"""

from __future__ import annotations

import os
import traceback
from collections import Counter

import pytest

from support.relocatable import rel_fuzz, rel_images

COUNT = 10 * int(os.environ.get("NEURALART_FUZZ", "2000"))
PART = 5000

pytestmark = [pytest.mark.fuzz, pytest.mark.long]


@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_damaged_images(first: int) -> None:
    bad, fates = [], Counter()
    for seed in range(first, min(first + PART, COUNT)):
        try:
            text, fate = rel_fuzz.wrong(seed)
        except Exception:
            text, fate = traceback.format_exc(), "traceback"
        fates[fate] += 1
        if text:
            bad.append((seed, text))
    assert bad[:5] == []
    # Damage that is always refused, or never seen, would prove nothing.
    if sum(fates.values()) >= 1000:
        assert min(fates["refused"], fates["found"], fates["accepted"]) > sum(fates.values()) / 50, fates


def test_the_judge_sees_what_it_must() -> None:
    """Its own reading: silent on sound images, and it finds a word that was moved out by hand."""
    for built in rel_fuzz.SOUND:
        assert list(rel_fuzz.escaped(bytes(built.data), built.params)) == []
    for name, value in (("got0", rel_images.RAM + 5249), ("pointer1", 0x20000311), ("rel0", 0x40000100), ("got1", 5)):
        built = rel_images.build(rel_images.FULL).put(name, value)
        assert len(list(rel_fuzz.escaped(bytes(built.data), None))) == 1, name
