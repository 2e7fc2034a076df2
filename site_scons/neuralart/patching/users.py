"""Who uses a macro that a patch leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.patching.defines import definitions
from neuralart.text.c_source import Source

_C_FILES = (".c", ".h", ".cpp", ".hpp", ".cc")


def of_lost_macros(root: Path, folders: Sequence[str], old: Source, new: Source) -> list[str]:
    """Sentences about uses of macros that a file defined before a patch and does not define after it.

    Args:
        root: Folder that ``folders`` start from.
        folders: Where to look.
        old: The file before.
        new: The file after.
    """
    lost = {each.name for each in definitions(old)} - {each.name for each in definitions(new)}
    if not lost:
        return []
    word = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, lost)))})\b")
    notes = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix.lower() not in _C_FILES or not path.is_file() or str(path) == old.name:
                continue
            try:
                source = Source(str(path), read_bytes(path))
            except NeuralArtError:
                continue
            uses = {found.group(): found.start() for found in reversed(list(word.finditer(source.code)))}
            notes += [
                f"{source.where(at)}: uses {name}, which is defined no longer: let the network keep its input in an "
                "activation buffer, or guard this place"
                for name, at in sorted(uses.items(), key=lambda use: use[1])
                if source.alive(at)
            ]
    return notes
