"""The tables of keys in the documentation, made from their declarations. ``python -m neuralart_bring.schema.tables
docs/reference`` writes them into the pages, each below a line like ``<!-- keys: network -->``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from neuralart.config import app_config, application, network_sections, networks, patch, variant_keys
from neuralart.config.keys import NETWORK, PROJECT, VARIANT, Key, default_of, every_key
from neuralart.config.types import NetworkConfig, RelocatableConfig, SignConfig, ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text


def table(keys: Sequence[Key], owner: type | None) -> str:
    """Write the rows of a documentation page; the column of defaults needs the dataclass ``owner``."""
    lines = ["| key | what |", "|---|---|"] if owner is None else ["| key | what | without it |", "|---|---|---|"]
    for key in keys:
        row = f"| `{key.name}` | {key.doc} |"
        if owner is not None:
            row += f" {key.without}".rstrip() + " |" if key.without or key.needed else f" `{_shown(owner, key.name)}` |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def _shown(owner: type, name: str) -> str:
    value = default_of(owner, name)
    assert isinstance(value, (bool, int, str)) and value != "", f"'{name}' needs a text for a page"
    return str(value).lower() if isinstance(value, bool) else str(value)


TABLES: dict[str, Callable[[], str]] = {
    "network": lambda: table(networks.KEYS, NetworkConfig),
    "variant": lambda: table(variant_keys.KEYS, VariantConfig),
    "toolchain": lambda: table(variant_keys.TOOLCHAIN_KEYS, ToolchainConfig),
    "patch": lambda: table(patch.KEYS, patch.PatchConfig),
    "relocatable": lambda: table(variant_keys.RELOCATABLE_KEYS, RelocatableConfig),
    "sign": lambda: table(variant_keys.SIGN_KEYS, SignConfig),
    "app_config": lambda: table(app_config.KEYS, app_config.AppConfig),
    "audio": lambda: table(app_config.AUDIO_KEYS, app_config.AudioConfig),
    "sources": lambda: table(application.SOURCES_KEYS, application.SourcesConfig),
    "external": lambda: table(application.EXTERNAL_KEYS, application.ExternalConfig),
    "budgets": lambda: table(network_sections.BUDGET_KEYS, None),
}
for _of in (NETWORK, VARIANT, PROJECT):
    for _, _added in every_key(_of):
        TABLES |= {name: partial(table, *section) for name, section in _added.sections.items()}
_TABLE = re.compile(r"(<!-- keys: (\S+) -->\n)(?:\|.*\n)*")


def filled(page: str, where: str = "page") -> str:
    """A page (``where``: its name) with its tables as declared. NeuralArtError: it asks for an unknown table."""

    def made(found: re.Match[str]) -> str:
        if found[2] not in TABLES:
            raise NeuralArtError(f"no keys of '{found[2]}'", where=where, hint=f"known: {', '.join(TABLES)}")
        return found[1] + TABLES[found[2]]()

    return _TABLE.sub(made, page)


def main(arguments: Sequence[str]) -> int:
    """Write the tables into the pages of a folder."""
    for path in sorted(Path(arguments[0] if arguments else "docs/reference").glob("*.md")):
        text = path.read_text("utf-8")
        new = filled(text, str(path))
        if new != text:
            write_text(path, new)
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
