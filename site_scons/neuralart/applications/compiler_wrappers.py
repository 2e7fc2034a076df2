"""Another gcc than the one that a tree was written for: scripts in front of it leave out flags that it refuses."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import write_text

_DRIVERS = ("arm*-gcc", "arm*-g++", "arm*-c++")
# ``case`` compares whole words: nothing in them is ever read as shell.
_SCRIPT = """\
#!/bin/sh
for word do
    shift
    case "$word" in {patterns}) ;; *) set -- "$@" "$word" ;; esac
done
exec {program} "$@" {added}
"""


def wrappers(words: Sequence[str], toolchain: Path | None, tools: Path, where: str, system: str = sys.platform) -> None:
    """Write scripts (in ``tools``) with the names of the cross compiler's programs (in ``toolchain``).
    NeuralArtError: This system runs no shell scripts, there is no compiler in the folder, or a file cannot be written.
    """
    found = sorted({path for name in _DRIVERS for path in toolchain.glob(name)} if toolchain is not None else ())
    if system == "win32" or not found:
        missing = "this system runs no shell scripts" if found else "no compiler for Arm to put a script in front of"
        raise NeuralArtError(f"toolchain: tolerate: {missing}", where=where)
    patterns = "|".join("*".join(map(shlex.quote, word.split("*"))) for word in words if not word.startswith("+"))
    added = " ".join(shlex.quote(word[1:]) for word in words if word.startswith("+"))
    for path in found:
        program, made = shlex.quote(str(path.absolute())), tools / path.name
        text = _SCRIPT.format(patterns=patterns or "''", program=program, added=added)
        # The same again is left alone: CMake looks at the time of its compiler.
        if not made.is_file() or made.read_bytes() != text.encode():
            write_text(made, text)
        made.chmod(0o755)
