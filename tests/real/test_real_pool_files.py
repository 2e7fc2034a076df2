"""The readers on files that real tools and people wrote; NEURALART_REAL_DATA names the folder."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from neuralart.compilers.options import choices
from neuralart.errors import NeuralArtError
from neuralart.network.pools import default_initializers
from neuralart.text.json_values import parse
from neuralart.vendor import mpool, profile

pytestmark = pytest.mark.real

ROOT = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")
MAGNITUDE = {"BYTES": 1, "KBYTES": 1 << 10, "MBYTES": 1 << 20}


def files(*patterns: str) -> list[Path]:
    found = {path for pattern in patterns for path in ROOT.rglob(pattern)} if ROOT.is_dir() else set()
    return sorted(found)


def test_there_is_something_to_read():
    assert files("*.mpool"), f"no .mpool below {ROOT}"
    assert files("*neural*art*.json"), f"no profile file below {ROOT}"


@pytest.mark.parametrize("path", files("*.mpool"), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pool_file(path):
    """Equal to what the standard library reads; where that refuses, we refuse with a place."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        with pytest.raises(NeuralArtError) as caught:
            mpool.read(path, "x.mpool")
        assert re.fullmatch(r"x\.mpool:\d+:\d+", caught.value.where)
        assert "\n" not in str(caught.value)
        return
    pools = mpool.read(path)
    listed = raw["memory"]["mempools"]
    assert [pool.fname for pool in pools.pools] == [entry["fname"] for entry in listed]
    for pool, entry in zip(pools.pools, listed, strict=True):
        for key, value in (("offset", pool.address), ("size", pool.size)):
            assert value == int(entry[key]["value"], 0) * MAGNITUDE[entry[key]["magnitude"]]
        assert pool.rights == entry["prop"]["rights"]
        assert pool.constants_preferred == any(
            str(entry["prop"].get(key)).lower() == "true" for key in ("constants_preferred", "constantsPreferred")
        )
    assert default_initializers(pools)


@pytest.mark.parametrize(
    "path", files("*neural*art*.json", "user_neuralart*.json"), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_profile_file(path):
    """Every profile reads, or misses its pool file only; its options are all known."""
    names = parse(path.read_bytes(), path.name, relaxed=True).value["Profiles"]
    assert names
    for name in names:
        try:
            found = profile.read(path, name)
        except NeuralArtError as error:
            assert "no such file" in error.what
            found = profile.read(path, name, need_pools=False)
        else:
            assert found.mpool.is_file()
        assert isinstance(choices(found.options).notes, tuple)
