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
    first = -1
    for tag in _TAG.finditer(text):
        if first < 0:
            first = tag.start()
        found = _DECLARED.search(text, tag.end(), tag.end() + _FAR)
        if found is None:
            line = text.count("\n", 0, tag.start()) + 1
            raise NeuralArtError("no constant blob follows ECBLOB_CONST_SECTION", where=f"{where}:{line}")
        renamed = found[1].replace("_ec_blob_", "_ec_blob_PARAM_", 1)
        declaration = found.group().replace(found[1], renamed, 1)
        parts += [text[done : found.start()], re.sub(r"^static\s+", "", declaration)]
        done = found.end()
        names.append(found[1])
    if not names:
        raise NeuralArtError("has no constant blobs (ECBLOB_CONST_SECTION)", where=where)
    renamed_all = [n.replace("_ec_blob_", "_ec_blob_PARAM_", 1) for n in names]
    lines = [f"extern const uint64_t {n}[];\n" for n in renamed_all]
    table = ", ".join(f"&{n}[0]" for n in renamed_all)
    lines.append(f"const uint64_t *_ec_blob_table[] = {{{table}}};\n")
    for number, name in enumerate(names):
        copied = re.search(rf"\b{re.escape(name)}_ptr\s*\[", text + user) is not None
        # Until 2.2 a blob that is copied is called <blob>_reloc, and the copy <blob>.
        copied = copied or not name.rsplit("_", 1)[-1].isnumeric()
        meant = f"_ec_blob_table[{number}]" if copied else renamed_all[number]
        lines.append(f"#define {name} {meant}\n")
    head = parts[0]
    return "".join([head[:first], *lines, head[first:], *parts[1:], text[done:]])
