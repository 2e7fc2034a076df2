"""Record of a header with epoch-controller blobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import findings, plural, table
from neuralart.inspect.views import report_parts as parts
from neuralart.vendor.network_c import ecblobs
from neuralart.vendor.network_c.ecblobs import EpochBlob


def _blob(blob: EpochBlob) -> dict[str, Any]:
    return {
        **parts.fields(blob, "symbol number words bytes form copy_words encrypted address"),
        "relocations": [
            {"id": each.id, "index": each.index, "symbol": each.symbol, "patches": each.patches}
            for each in blob.relocations
        ],
    }


def record(path: Path) -> dict[str, Any]:
    """What such a header says.

    Raises:
        NeuralArtError: It cannot be read, or is none.
    """
    header = ecblobs.read(path)
    return {
        "kind": "ecblobs",
        "name": header.name,
        "blobs": [_blob(blob) for blob in header.blobs],
        "words": sum(blob.words for blob in header.blobs),
        "bytes": header.bytes,
        "copy_bytes": sum(8 * blob.copy_words for blob in header.blobs),
        "relocated_by": sorted({each.id for blob in header.blobs for each in blob.relocations}),
        "encrypted": sum(blob.encrypted is True for blob in header.blobs),
        "findings": [{"code": each.code, "where": each.where, "text": each.what} for each in header.problems],
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    blobs = record["blobs"]
    copies = f", {record['copy_bytes']:,} more in RAM for copies" if record["copy_bytes"] else ""
    lines = [
        f"epoch-controller blobs of network '{record['name'] or 'unknown'}': {plural(len(blobs), 'blob')}, "
        f"{record['bytes']:,} bytes{copies}"
    ]
    rows = (
        [
            blob["symbol"],
            blob["words"],
            blob["form"],
            {True: "yes", False: "no", None: "-"}[blob["encrypted"]],
            ", ".join(each["id"] for each in blob["relocations"]) or "-",
        ]
        for blob in blobs
    )
    lines += table(("blob", "words", "form", "encrypted", "relocated by"), rows)
    return "\n".join([*lines, *findings(record)]) + "\n"
