"""What the recognizers of kinds share, and what a file looks like that none of them takes."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from neuralart.model.filekind import describe

_HEAD = 1 << 16
_COMMENT = re.compile(rb'"(?:\\.|[^"\\\n])*"|//[^\n]*')
_ENDINGS = {
    (".h", ".hpp"): "a C header, none with epoch-controller blobs",
    (".c", ".cpp"): "C source, no generated network",
    (".map",): "a linker map",
    (".ld", ".lkr"): "a linker script",
    (".ini",): "a list of options",
    (".npy", ".npz"): "arrays of NumPy",
    (".md",): "a document",
    (".log",): "a log",
}
_SOURCE = re.compile(r"^\s*#\s*(?:include|define|ifndef|pragma)\b", re.M)
_CPU = re.compile(r'#\s*include\s+"(?:stai(?:_\w+)?|ai_platform(?:_interface)?|ai_datatypes_defines)\.h"')
_XML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|html|svg|\w+[ >])", re.I)


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


def looks_like(data: bytes, name: str) -> str:
    """What bytes of no known kind look like; ``name``: the file's, without its folder."""
    if not data:
        return "an empty file"
    if not data.strip(b"\xff") or not data.strip(b"\0"):
        return f"{len(data):,} bytes of 0x{data[0]:02X}, as of an erased memory"
    known = describe(data)
    if not is_text(data) or not known.startswith(("text", "no known")):
        return known
    keys = sorted(json_keys(data))
    if keys:
        return f"JSON with the keys {', '.join(key[:32] for key in keys[:6])}{' ...' if len(keys) > 6 else ''}"
    if data.lstrip()[:1] in (b"{", b"["):
        return "JSON without names, or damaged"
    text = head(data)
    if _CPU.search(text):
        return "generated C without the tables of the Neural-ART compiler (of a CPU target, or one of its interfaces)"
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    said = next((words for endings, words in _ENDINGS.items() if ending in endings), "")
    if said:
        return said
    if _SOURCE.search(text):
        return "C source, no generated network"
    if _XML.match(text):
        return "a page or XML"
    lines = data.count(b"\n") + 1
    first = " ".join(next((line for line in text.splitlines() if line.strip()), "").split())
    return f"{lines:,} lines of text, beginning with '{first[:40]}'"
