"""The text of variants.yaml."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from neuralart.model_zoo.convert import Imported

# What YAML takes for text without quotes, in its oldest and its newest reading.
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", ".inf", ".nan"})
_WIDTH = 110


def scalar(value: object) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.startswith(("---", "...")):
        return text
    return json.dumps(text, ensure_ascii=False)


def _lines(settings: Mapping[str, object], indent: str) -> list[str]:
    made: list[str] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            made += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            items = [scalar(item) for item in value]
            line = f"{indent}{key}: [{', '.join(items)}]"
            made += [line] if len(line) <= _WIDTH else [f"{indent}{key}:", *(f"{indent}  - {item}" for item in items)]
        else:
            made.append(f"{indent}{key}: {scalar(value)}")
    return made


def text(imported: Imported, origin: str) -> str:
    """A whole file: one network and one variant.

    Args:
        imported: What was converted.
        origin: Name of the file it came from.
    """
    shown = "".join(char if " " <= char <= "~" else "?" for char in origin)
    return "\n".join(
        [
            f"# From {shown}, a configuration of the model zoo ({imported.release}), by neuralart import.",
            "schema: 1",
            "",
            "networks:",
            f"  {imported.network}:",
            *_lines(imported.settings, "    "),
            "",
            "variants:",
            f"  {imported.variant}:",
            *_lines(imported.variant_settings, "    "),
            "",
        ]
    )
