"""The reader of linker scripts, budgets and sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.text import sizes
from neuralart_bring.linker_script.read import parse
from neuralart_bring.linker_script.types import LinkerScript
from neuralart_bring.patching import plan
from neuralart_bring.patching.patch_values import Budget, BufferUse
from support.boards.h747_app import LINKER_TEXT


def script(text: str) -> LinkerScript:
    return parse(text.encode(), "a.ld").complete()


# Budgets --------------------------------------------------------------------------------------------------------------


def test_what_fits_exactly_fits() -> None:
    budget = Budget(script(LINKER_TEXT), {"AXIRAM": 24 << 10}, {"AXIRAM": 450 << 10})
    assert budget.regions["AXIRAM"].capacity == 450 << 10
    budget.take("AXIRAM", BufferUse("a", 449 << 10))
    assert budget.choose(BufferUse("b", 1 << 10), [("AXIRAM", "AXIRAM"), ("SDRAM", "SDRAM")]) == "AXIRAM"
    assert budget.free("AXIRAM") == 0
    assert budget.choose(BufferUse("c", 1), [("AXIRAM", "AXIRAM"), ("SDRAM", "SDRAM")]) == "SDRAM"
    assert budget.choose(BufferUse("nothing", 0), [("AXIRAM", "AXIRAM")]) == "AXIRAM"


def test_what_does_not_fit_is_told_with_every_number() -> None:
    budget = Budget(script(LINKER_TEXT), {"DTCMRAM": 8192}, {"DTCMRAM": 100_000})
    budget.take("DTCMRAM", BufferUse("first", 60_000))
    with pytest.raises(NeuralArtError) as caught:
        budget.take("DTCMRAM", BufferUse("second", 40_001))
    for text in (
        "second needs 40001",
        "40000 of 100000",
        "131072 less 8192 reserved",
        "at most 100000",
        "first takes 60000",
    ):
        assert text in str(caught.value)
    with pytest.raises(NeuralArtError) as caught:
        budget.choose(BufferUse("huge", 1 << 26), [("a", "DTCMRAM"), ("b", "SDRAM")])
    assert "DTCMRAM has 40000" in str(caught.value) and "SDRAM has 33554432" in str(caught.value)


def test_reserves_that_make_no_sense() -> None:
    with pytest.raises(NeuralArtError, match=r"reserve for 'AXIRAN', no such memory \(did you mean 'AXIRAM'"):
        Budget(script(LINKER_TEXT), {"AXIRAN": 1}, {})
    with pytest.raises(NeuralArtError, match="reserve of 524289 bytes in AXIRAM, which has 524288"):
        Budget(script(LINKER_TEXT), {"AXIRAM": 524289}, {})


def test_the_stack_at_the_end_of_a_memory_is_told() -> None:
    for reserve, said in ((0, True), (1023, True), (1024, False)):
        budget = Budget(script(LINKER_TEXT), {"AXIRAM": reserve}, {})
        assert budget.stack_note() == ""  # nothing in there to run into
        budget.take("AXIRAM", BufferUse("a", 1))
        assert ("wants 1024 bytes" in budget.stack_note()) is said


# Sizes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("8B", 8),
        ("1024KB", 1 << 20),
        ("72K", 73728),
        ("72k", 73728),
        ("1M", 1 << 20),
        ("0x400", 1024),
        ("128000KB", 131072000),
        ("4G", 1 << 32),
        (" 2 MB ", 2 << 20),
        ("010", 10),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert sizes.parse(text, "here") == size


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5K", "1T", "5G", "1 K B", "0x", "1KiB", "99999999999", "１"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(NeuralArtError, match="here: "):
        sizes.parse(text, "here")


@pytest.mark.parametrize(
    ("size", "bytes_"),
    [
        ('{"value": "440", "magnitude": "KBYTES"}', 450_560),
        ('{"value": "20000", "magnitude": "KBYTES"}', 20_480_000),
        ('{"value": 8, "magnitude": "BYTES"}', 8),
        ('{"value": "0x10", "magnitude": "MBYTES"}', 16 << 20),
        ('{"value": "7"}', 7),
        ('"96KB"', 98_304),
    ],
)
def test_pool_sizes(size: str, bytes_: int, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    other = '{"name": "B", "size": "1M", "usable_size": "1K"}'
    path.write_text('{"memory": {"mempools": [{"name": "A", "size": ' + size + "}, " + other + "]}}")
    assert plan.read_pool_sizes(path) == {"A": bytes_, "B": 1024}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "the document has no 'memory'"),
        ("[]", "the document must be an object { }, not a list"),
        ('{"memory": {"mempools": 1}}', "mempools must be a list [ ], not a number"),
        ('{"memory": {"mempools": [1]}}', "pool 0 must be an object { }, not a number"),
        ('{"memory": {"mempools": [{"name": "A"}]}}', "pool A has no 'size'"),
        ('{"memory": {"mempools": [{"name": "A", "size": {}}]}}', "size of pool A has no 'value'"),
        (
            '{"memory": {"mempools": [{"name": "A", "size": {"value": "4", "magnitude": "KiB"}}]}}',
            "size of pool A is 'KiB'",
        ),
        (
            '{"memory": {"mempools": [{"name": "A", "size": {"value": "4K", "magnitude": "BYTES"}}]}}',
            "size of pool A is '4K'",
        ),
        (
            '{"memory": {"mempools": [{"name": "A", "size": {"value": true, "magnitude": "BYTES"}}]}}',
            "size of pool A must be a number or a text, not true or false",
        ),
        ('{"memory": {"mempools": [{"name": "A", "size": "1"}, {"name": "A", "size": "1"}]}}', "stands there twice"),
        ('{"memory":', "p.json:1"),
    ],
)
def test_what_is_no_pool_file(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(NeuralArtError) as caught:
        plan.read_pool_sizes(tmp_path / "p.json", "p.json")
    assert said in str(caught.value) and str(caught.value).startswith("p.json:")
