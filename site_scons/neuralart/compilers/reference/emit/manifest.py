"""``manifest.json``: size and hashes of every file of a run, for staging and reports."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping

SCHEMA = 1
NAME = "manifest.json"


def manifest(network: str, files: Mapping[str, bytes]) -> str:
    """The JSON text.

    Args:
        network: C name.
        files: Name -> content of everything that is listed.
    """
    rows = [
        {
            "name": name,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "crc32": f"{zlib.crc32(data):08x}",
        }
        for name, data in sorted(files.items())
    ]
    return json.dumps({"schema": SCHEMA, "network": network, "files": rows}, indent=1) + "\n"
