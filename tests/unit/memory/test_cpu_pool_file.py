"""Memory-pool files of CPU targets: three spellings, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart_reference.cpu.placing import ActivationMemory, parse_pools, read

DATA = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")
REAL = sorted(DATA.rglob("mempools_*.json"))


def text(*pools: Any) -> bytes:
    return json.dumps({"memory": {"mempools": list(pools)}}).encode()


def parsed(*pools: Any) -> list[tuple[str, int]]:
    return [(pool.name, pool.size) for pool in parse_pools(text(*pools), "p.json")]


def amount(value: Any, magnitude: str = "KBYTES") -> dict[str, Any]:
    return {"value": value, "magnitude": magnitude}


def test_sizes_as_texts() -> None:
    """The documented spelling; the address is in no unit and of no use."""
    pools = (
        {"name": "SRAM1", "size": "128KB", "usable_size": "96KB", "address": "0x20000000"},
        {"name": "SRAM2", "size": "1 MB"},
        {"name": "SRAM3", "size": "0x1000"},
        {"name": "SRAM4", "size": 4096},
        {"name": "OFF", "size": "0"},
    )
    assert parsed(*pools) == [("SRAM1", 98304), ("SRAM2", 1 << 20), ("SRAM3", 4096), ("SRAM4", 4096), ("OFF", 0)]


def test_sizes_as_value_and_magnitude() -> None:
    """As ``mempools_<board>.json`` has them: a KBYTE is 1024 bytes."""
    made = parse_pools(
        text(
            {
                "name": "DTCMRAM",
                "prop": {"throughput": "HIGH", "latency": "LOW"},
                "size": amount("120"),
                "offset": amount("0", "BYTES"),
            },
            {"name": "AXIRAM", "prop": {"throughput": "HIGH"}, "size": amount("440"), "offset": amount("0", "BYTES")},
            {"name": "SDRAM", "size": amount("0x4E20"), "offset": amount("0xD0000000", "BYTES")},
        ),
        "p.json",
    )
    assert [(p.name, p.size, p.throughput, p.latency) for p in made] == [
        ("DTCMRAM", 122_880, "HIGH", "LOW"),
        ("AXIRAM", 450_560, "HIGH", "MID"),
        ("SDRAM", 20_480_000, "MID", "MID"),
    ]
    assert made[1].where == "p.json:1:194"


def test_usable_sizes() -> None:
    """As an IDE writes them: what may be used counts."""
    pool = {"name": "RAM", "size": amount("512"), "usable_size": amount("400"), "offset": amount("0", "BYTES")}
    assert parsed(pool) == [("RAM", 409_600)]


def test_read_only_pools_are_not_for_activations() -> None:
    flash = {"name": "FLASH", "prop": {"rights": "ACC_READ"}, "size": "1MB"}
    assert parsed(flash, {"name": "RAM", "prop": {"rights": "ACC_WRITE"}, "size": "1KB"}) == [("RAM", 1024)]


def test_comments_are_read() -> None:
    data = b'{ // which\n"memory": {"mempools": [{"name": "RAM", "size": "1KB"}]}}'
    assert parse_pools(data, "p.json") == (ActivationMemory("RAM", 1024, where="p.json:2:25"),)


GOOD = {"name": "RAM", "size": "1KB"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[]", "p.json:1:1: the document must be an object { }, not a list"),
        (b"{}", "p.json:1:1: the document has no 'memory'"),
        (b'{"memory": {"pools": []}}', "p.json:1:12: memory has no 'mempools' (it has: pools)"),
        (b'{"memory": {"mempools": {}}}', "p.json:1:25: mempools must be a list [ ], not an object"),
        (text(), "no pool for activations: none is listed"),
        (text({"name": "A", "size": 0}), "no pool for activations: A 0 (give a pool in RAM a size)"),
        (text(7), "pool 0 must be an object { }, not a number"),
        (text({"size": "1KB"}), "pool 0 has no 'name' (it has: size)"),
        (text({"name": "A"}), "pool A has no 'size' (it has: name)"),
        (text({"name": "", "size": 1}), "name of pool 0 is empty"),
        (text({"name": "a b", "size": 1}), "'a b' cannot be the name"),
        (text({"name": "Weights_Array", "size": 1}), "'Weights_Array' cannot be the name"),
        (text({"name": "x" * 65, "size": 1}), "cannot be the name"),
        (text(GOOD, {"name": "ram", "size": 1}), "pool 'ram' is there twice, first at p.json:1:"),
        (text({**GOOD, "size": "12QB"}), "size of pool RAM is '12QB', not a size (such as 4096, 0x1000, 72K"),
        (text({**GOOD, "size": "-1"}), "size of pool RAM is '-1', not a size"),
        (text({**GOOD, "size": -1}), "size of pool RAM is -1 bytes, possible are 0 to 4294967296"),
        (text({**GOOD, "size": True}), "size of pool RAM must be a number, a text or value and magnitude, not true"),
        (text({**GOOD, "size": None}), "size of pool RAM must be a number, a text or value and magnitude, not null"),
        (text({**GOOD, "size": 1.5}), "size of pool RAM must be a number, a text or value and magnitude, not a number"),
        (text({**GOOD, "size": "8GB"}), "size of pool RAM is 8589934592 bytes"),
        (text({**GOOD, "size": amount("4", "KBYTE")}), "magnitude of size of pool RAM is 'KBYTE' (did you mean"),
        (text({**GOOD, "size": amount("4KB")}), "size of pool RAM is '4KB' (a decimal or hexadecimal number"),
        (text({**GOOD, "size": {"magnitude": "BYTES"}}), "size of pool RAM has no 'value'"),
        (text({**GOOD, "usable_size": "2KB"}), "pool RAM: usable_size of 2048 bytes is more than its size of 1024"),
        (text({**GOOD, "prop": {"latency": "FAST"}}), "latency of pool RAM is 'FAST' (known: HIGH, LOW, MID)"),
        (text({**GOOD, "prop": {"throughput": 3}}), "throughput of prop of pool RAM must be a text, not a number"),
        (text({**GOOD, "prop": 3}), "prop of pool RAM must be an object { }, not a number"),
        (b'{"memory": {"mempools": [{"name": "RAM", "size": "1KB"},,]}}', "p.json:1:"),
    ],
)
def test_refused(data: bytes, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        parse_pools(data, "p.json")
    assert said in str(caught.value)
    assert caught.value.where.startswith("p.json:1:")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["memory", "mempools", "name", "size", "prop", "value", "magnitude", "usable_size"]), x
            )
        ),
    )
)
def test_anything_is_read_or_refused(data: Any) -> None:
    with contextlib.suppress(NeuralArtError):
        parse_pools(json.dumps(data).encode(), "p.json")


@pytest.mark.parametrize("name", ["stm32h747i-disco", "mps2-an500"])
def test_stock_files(name: str) -> None:
    assert all(pool.size for pool in read(Path(boards.load(name).memory_pools)))


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="no mempools_*.json in NEURALART_REAL_DATA")
def test_real_files() -> None:
    for path in REAL:
        made = read(path)
        assert made[0].name == "DTCMRAM" and made[0].size in (120 * 1024, 100 * 1024), path
        assert [pool.name for pool in made] == ["DTCMRAM", "AXIRAM", "SDRAM"]
