"""What the recognizers of kinds share."""

from __future__ import annotations

import json
import re
from functools import lru_cache

_HEAD = 1 << 16
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*')


def head(data: bytes) -> str:
    """The first 64 KiB as text."""
    return data[:_HEAD].decode("utf-8", "replace")


def is_text(data: bytes) -> bool:
    """No zero byte in the first 64 KiB, and not empty."""
    return bool(data.strip()) and b"\0" not in data[:_HEAD]


@lru_cache(maxsize=2)
def json_keys(data: bytes) -> frozenset[str]:
    """Names of the members of a JSON object, also of one with ``//`` comments; empty if it is none."""
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"/"):
        return frozenset()
    for tried in (data, _COMMENT.sub(lambda m: m.group() if m.group().startswith(b'"') else b"", data)):
        try:
            document = json.loads(tried.decode("utf-8-sig", "replace"), strict=False)
        except (ValueError, RecursionError):
            continue
        return frozenset(document) if isinstance(document, dict) else frozenset()
    return frozenset()


def outer_names(data: bytes) -> frozenset[str]:
    """Names in quotes before a colon anywhere in the first 64 KiB: for JSON that is damaged."""
    return frozenset(re.findall(r'"(\w{1,64})"\s*:', head(data)))
