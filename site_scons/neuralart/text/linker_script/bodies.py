"""Bodies of output sections: which input sections of the application's objects they take."""

from __future__ import annotations

import fnmatch

from neuralart.text.linker_script.tokens import Script

_WRAPPERS = ("KEEP", "SORT", "SORT_NONE", "SORT_BY_NAME", "SORT_BY_ALIGNMENT", "SORT_BY_INIT_PRIORITY")
FUNCTIONS = (
    "ALIGN", "ABSOLUTE", "ADDR", "ALIGNOF", "ASSERT", "BYTE", "SHORT", "LONG", "QUAD", "SQUAD", "FILL", "DEFINED",
    "LENGTH", "LOADADDR", "LOG2CEIL", "MAX", "MIN", "NEXT", "ORIGIN", "PROVIDE", "PROVIDE_HIDDEN", "HIDDEN", "SIZEOF",
    "CREATE_OBJECT_SYMBOLS", "CONSTRUCTORS", "SUBALIGN", "BLOCK", "EXCLUDE_FILE", "SIZEOF_HEADERS", "ASCIZ",
)  # fmt: skip


def taken(script: Script, at: int, end: int) -> tuple[list[str], int]:
    """What begins at a word of a body: ``*(.a .b*)``, ``KEEP(*(.c))``, ``file.o(SORT(.d.*))``. Returns names of input
    sections, possibly with wildcards, and the index behind it.
    """
    if at + 1 >= end or not script.is_sign(at + 1, "("):
        return [], at + 1
    word, close = script.words[at].text, script.closing(at + 1)
    found: list[str] = []
    if word in _WRAPPERS:
        inner = at + 2
        while inner < close:
            names, inner = taken(script, inner, close)
            found += names
    elif word not in FUNCTIONS and _takes_objects(word) and not _is_member(script, at):
        found = _names(script, at + 2, close)
    return found, close + 1


def _takes_objects(files: str) -> bool:
    """Does a pattern of file names take objects of the application? (``libc.a`` does not.)"""
    return any(fnmatch.fnmatchcase(name, files) for name in ("main.o", "Src/main.o"))


def _is_member(script: Script, at: int) -> bool:
    """Is this the second half of ``archive.a:file.o``? (``:file.o`` is a file in no archive.)"""
    words = script.words
    colon = script.is_sign(at - 1, ":") and words[at - 1].stop == words[at].start
    return colon and not script.is_sign(at - 2, "{") and words[at - 2].stop == words[at - 1].start


def _names(script: Script, at: int, end: int) -> list[str]:
    """Names within the brackets behind a file's name."""
    found: list[str] = []
    while at < end:
        if at + 1 < end and script.is_sign(at + 1, "("):
            close = script.closing(at + 1)
            if script.words[at].text != "EXCLUDE_FILE":
                found += _names(script, at + 2, close)
            at = close + 1
            continue
        if not script.is_sign(at, ","):
            found.append(script.words[at].text)
        at += 1
    return found
