"""The command line that the generators of the models share."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def main(arguments: list[str], folder: Path, files: Mapping[str, bytes], report: str) -> int:
    """Write generated files, or with ``--check`` compare them with what is there.

    Args:
        arguments: Of the command line.
        folder: Of the model.
        files: Relative path -> bytes.
        report: A line about the model.

    Returns:
        The exit status.
    """
    different = []
    for name, data in files.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            continue
        different.append(name)
        if not arguments:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    print(report)
    if arguments and different:
        print(f"not as generated: {', '.join(different)}", file=sys.stderr)
        return 1
    return 0


def understood(arguments: list[str]) -> bool:
    """Whether the arguments are ones; says so on stderr if not."""
    if arguments in ([], ["--check"]):
        return True
    print("usage: generate.py [--check]", file=sys.stderr)
    return False
