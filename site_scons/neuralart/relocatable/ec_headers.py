"""Epoch-controller blobs among the params: the generated header, with its constant blobs under other names.

The section ``.const_ec_blob`` is linked in front of the weights. A blob that is copied and patched at start (it has a
``_ptr`` twin) is reached through a table of pointers; one that is used in place is named itself, for constant tables
refer to it.
"""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError

SECTION = ".const_ec_blob"
DEFINE = f'ECBLOB_CONST_SECTION=__attribute__((used, section("{SECTION}")))'
_TAG = re.compile(r"^[ \t]*ECBLOB_CONST_SECTION\b", re.M)
_DECLARED = re.compile(
    r"\bstatic\s+const\s+uint64_t\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(_ec_blob_\w+)\s*\[\s*\d*\s*\]"
)
_FAR = 400
"""Characters between the section and the declaration: comments and an alignment at most."""


def in_params(text: str, c_name: str, user: str, where: str) -> str:
    """The header for ``--ecblob-in-params``.

    Args:
        text: ``<network>_ecblobs.h``.
        c_name: Suffix of the network's functions.
        user: network.c: where the copies are, if not in the header.
        where: The file, for messages.

    Raises:
        NeuralArtError: It has no constant blobs, or one that is not understood.
    """
    names: list[str] = []
    parts: list[str] = []
    done = 0
    for tag in _TAG.finditer(text):
        found = _DECLARED.search(text, tag.end(), tag.end() + _FAR)
        if found is None:
            line = text.count("\n", 0, tag.start()) + 1
            raise NeuralArtError("no constant blob follows ECBLOB_CONST_SECTION", where=f"{where}:{line}")
        renamed = f"_ec_blob_PARAM_{c_name}_{len(names)}"
        declaration = found.group().replace(found[1], renamed, 1)
        parts += [text[done : found.start()], re.sub(r"^static\s+", "", declaration)]
        done = found.end()
        names.append(found[1])
    if not names:
        raise NeuralArtError("has no constant blobs (ECBLOB_CONST_SECTION)", where=where)
    rest = text[done:]
    end = rest.rfind("#endif")
    guarded = text.lstrip().startswith(("#ifndef", "/*")) and re.search(
        r"^\s*#\s*ifndef\s+\w+\s*\n\s*#\s*define", text, re.M
    )
    body, tail = (rest[:end], rest[end:]) if guarded and end >= 0 else (rest, "")
    table = ", ".join(f"_ec_blob_PARAM_{c_name}_{number}" for number in range(len(names)))
    lines = [f"\nconst uint64_t *_ec_blob_table[] = {{{table}}};\n"]
    for number, name in enumerate(names):
        copied = re.search(rf"\b{re.escape(name)}_ptr\b", text + user) is not None
        meant = f"_ec_blob_table[{number}]" if copied else f"_ec_blob_PARAM_{c_name}_{number}"
        lines.append(f"#define {name} {meant}\n")
    return "".join([*parts, body, *lines, tail])
