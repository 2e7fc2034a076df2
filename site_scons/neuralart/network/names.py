"""What a network may be called."""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_KEYWORDS = frozenset(
    (
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern"),
        *("float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed"),
        *("sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while"),
    )
)


def check_name(name: str, where: str) -> None:
    """Refuse (NeuralArtError) what is no C identifier of at most 63 characters, or a keyword, as a network's name."""
    if not _IDENTIFIER.fullmatch(name) or name in _KEYWORDS:
        raise NeuralArtError(
            f"'{name}' is not a C identifier", where=where, hint="letters, digits and _, no digit first, 63 at most"
        )
