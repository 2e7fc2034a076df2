"""The machine that edits at random draws every key that is declared, or says why not."""

from __future__ import annotations

import pytest

from neuralart.config import networks, variant_keys
from support.projects.machine_edits import CODE, LEFT_OUT, MODEL_KEYS, NETWORK_KEYS, SOURCES, VARIANT_KEYS
from support.projects.sconsproject import REPO

TABLES = [
    (networks.KEYS, {**NETWORK_KEYS, **{key: VARIANT_KEYS[key] for key in ("mpool", "strategies")}}),
    (variant_keys.KEYS, {key: values for key, values in VARIANT_KEYS.items() if key not in ("mpool", "strategies")}),
    (variant_keys.RELOCATABLE_KEYS, MODEL_KEYS),
]


@pytest.mark.parametrize(("declared", "drawn"), TABLES, ids=["network", "variant", "relocatable"])
def test_every_declared_key(declared: tuple, drawn: dict[str, list[str]]) -> None:
    names = {key.name for key in declared}
    assert names - drawn.keys() <= LEFT_OUT.keys(), "draw it, or say why not"
    assert drawn.keys() <= names
    assert all(len(set(values)) == len(values) > 1 for values in drawn.values())


@pytest.mark.parametrize(("name", "choices"), [*SOURCES, *CODE])
def test_every_text_is_there(name: str, choices: list[str]) -> None:
    assert choices[0] in (REPO / name).read_text("utf-8")
