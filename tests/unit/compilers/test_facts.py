"""``network.json`` that is damaged: one line, whatever is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart.network import facts
from support.projects import smallboard

GOOD = json.loads(facts.to_json(smallboard.network(smallboard.pool("A", 0x3400_0000, 16, weights=8))))


def read(data: Any) -> facts.Network:
    return facts.from_json(json.dumps(data), "network.json")


def test_what_was_written_is_read() -> None:
    assert facts.to_json(read(GOOD)) == json.dumps(GOOD, indent=1, sort_keys=True) + "\n"


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [path for key, inner in rows for path in [(*at, key), *_paths(inner, (*at, key))]]


def _changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    data = json.loads(json.dumps(data))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def _wrong(value: Any, key: Any) -> list[Any]:
    """What cannot stand in place of a value."""
    candidates: list[Any] = [None, {}, "x", 1.5, True, [None], {"a": 1}, [[]]]
    if key in ("macc", "activations"):
        candidates.remove(None)  # it is unknown
    if isinstance(value, bool):
        candidates.remove(True)
    elif isinstance(value, float):
        candidates.remove(1.5)
    elif isinstance(value, int):
        candidates += [-1] if key in ("address", "size", "used", "weights", "activations", "bytes", "macc") else []
    elif isinstance(value, str):
        candidates.remove("x")
    elif isinstance(value, dict):
        candidates.remove({})  # it lacks what must be there; the next candidate has what must not
    return candidates


@pytest.mark.parametrize("path", _paths(GOOD), ids=lambda path: ".".join(map(str, path)))
def test_values_of_another_type(path: tuple[Any, ...]) -> None:
    """None of them passes, and none of them is more than a line."""
    inner = GOOD
    for key in path:
        inner = inner[key]
    for value in _wrong(inner, path[-1]):
        with pytest.raises(NeuralArtError) as caught:
            read(_changed(GOOD, path, value))
        assert str(caught.value).startswith("network.json: "), value
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "null", "3", "{", '{"schema": 2}', "[" * 100000])
def test_something_else(text: str) -> None:
    with pytest.raises(NeuralArtError, match=r"^network.json: "):
        facts.from_json(text, "network.json")


def test_what_is_not_known_stays_so() -> None:
    unknown = _changed(_changed(GOOD, ("macc",), None), ("pools", 0, "activations"), None)
    network = read(unknown)
    assert (network.macc, network.pools[0].activations, network.symbol) == (None, None, network.name)
    again = json.loads(facts.to_json(network))
    assert again == unknown
    assert "c_name" not in again
    other = read({**unknown, "c_name": "Default"})
    assert (other.symbol, json.loads(facts.to_json(other))["c_name"]) == ("Default", "Default")
