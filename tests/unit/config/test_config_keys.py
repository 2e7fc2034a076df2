"""A key of a network or a variant is declared once: what is made of the declarations agrees with everything else."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from neuralart.config import app_config, application, keys, network_sections, networks, patch, variant_keys
from neuralart.config.app_config import AppConfig, AudioConfig
from neuralart.config.application import ExternalConfig, SourcesConfig
from neuralart.config.keys import Key
from neuralart.config.types import Budgets, NetworkConfig, RelocatableConfig, SignConfig, ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.text.values import Value
from neuralart_bring.schema import tables

PAGES = Path(__file__).parents[3] / "docs" / "reference"
# Fields that no key decides, and keys that decide the fields of something else.
BESIDE = {
    NetworkConfig: {"name", "where", "places", "added"},
    VariantConfig: {"name", "folder", "where", "places", "added"},
    ToolchainConfig: set(),
    RelocatableConfig: set(),
    SignConfig: set(),
    patch.PatchConfig: {"where", "places"},
    Budgets: {"places"},
    AppConfig: {"where", "places"},
    AudioConfig: set(),
    SourcesConfig: set(),
    ExternalConfig: set(),
}
OWNERS = [
    (NetworkConfig, networks.KEYS),
    (VariantConfig, [key for key in variant_keys.KEYS if key.name != "overrides"]),
    (ToolchainConfig, variant_keys.TOOLCHAIN_KEYS),
    (RelocatableConfig, variant_keys.RELOCATABLE_KEYS),
    (SignConfig, variant_keys.SIGN_KEYS),
    (patch.PatchConfig, patch.KEYS),
    (Budgets, network_sections.BUDGET_KEYS),
    (AppConfig, app_config.KEYS),
    (AudioConfig, app_config.AUDIO_KEYS),
    (SourcesConfig, application.SOURCES_KEYS),
    (ExternalConfig, application.EXTERNAL_KEYS),
]


@pytest.mark.parametrize(("owner", "declared"), OWNERS, ids=[owner.__name__ for owner, _ in OWNERS])
def test_the_keys_decide_all_fields(owner: type, declared: list[Key]) -> None:
    decided = {name for key in declared for name in key.decides or (key.name,)}
    assert decided == {each.name for each in fields(owner)} - BESIDE[owner]
    names = keys.names(declared)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda path: path.name)
def test_a_page_has_the_tables_that_the_declarations_make(page: Path) -> None:
    text = page.read_text("utf-8")
    assert tables.filled(text, page.name) == text, "python -m neuralart_bring.schema.tables docs/reference writes them"


def test_every_table_is_on_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES.glob("*.md"))
    assert [name for name in tables.TABLES if f"<!-- keys: {name} -->\n| key |" not in text] == []


def test_tables_are_written_into_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Old\n\n<!-- keys: toolchain -->\n| key | what |\n|---|---|\n| `gone` | x |\n\nText.\n", "utf-8")
    assert tables.main([str(tmp_path)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith(
        "# Old\n\n<!-- keys: toolchain -->\n| key | what | without it |\n|---|---|---|\n| `prefix` |"
    )
    assert "| any |\n| `tolerate` |" in text and text.endswith("| none |\n\nText.\n") and "gone" not in text
    assert tables.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{page}\n", "it is right the second time"


def test_a_table_that_there_is_none_of() -> None:
    with pytest.raises(NeuralArtError, match=r"^p.md: no keys of 'bored' \(known: network, "):
        tables.filled("<!-- keys: bored -->\n| key |\n", "p.md")


@dataclass(frozen=True)
class Made:
    mood: str = "calm"
    quick: bool = False
    text: str = ""


MOOD = Key("mood", Value.text, "how it feels", option="--mood")
QUICK = Key("quick", Value.boolean, "`true`: now", option="--quick")


def test_the_default_of_a_table_is_that_of_the_field() -> None:
    rows = ["| `mood` | how it feels | `calm` |", "| `quick` | `true`: now | `false` |", "| `text` | x | nothing |"]
    text = tables.table([MOOD, QUICK, Key("text", Value.text, "x", "nothing")], Made)
    assert text.splitlines() == ["| key | what | without it |", "|---|---|---|", *rows]
    with pytest.raises(AssertionError, match="'text' needs a text for a page"):
        tables.table([Key("text", Value.text, "x")], Made)


def test_words_of_a_compile_are_those_of_values_that_are_no_defaults() -> None:
    assert keys.option_words(Made(), [MOOD, QUICK]) == ["--mood", "calm"]
    assert keys.option_words(Made("", True), [MOOD, QUICK]) == ["--quick"]
    assert keys.option_words(Made("a b", True), [QUICK, MOOD]) == ["--quick", "--mood", "a b"]


def test_words_for_a_page() -> None:
    assert keys.either(("a",)) == "`a`"
    assert keys.either(("a", "b")) == "`a` or `b`"
    assert keys.either(("a", "b", "c")) == "`a`, `b` or `c`"


def test_words_that_the_build_writes_are_options_of_the_compile() -> None:
    """A word that the command does not know would refuse nothing."""
    import argparse

    from neuralart.compilers import cli

    parser = argparse.ArgumentParser()
    cli.configure(parser)
    known = set(parser._option_string_actions)
    assert {word for key in networks.KEYS for word in (*key.taken, key.option) if word} <= known
