"""Record of a quantization file ``<model>_OE_<version>_Q.json``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from neuralart.inspect.tables import plural
from neuralart.inspect.views import report_parts as parts
from neuralart.vendor import q_json
from neuralart.vendor.q_json import QFile


def as_record(found: QFile) -> dict[str, Any]:
    """The record of a file that has been read."""
    types = Counter(tensor.type for tensor in found.tensors.values())
    return {
        "kind": "q_json",
        "version": found.version,
        **parts.core(found.core),
        **parts.fields(found, "model signature exported"),
        "inputs": [parts.port(port) for port in found.inputs],
        "outputs": [parts.port(port) for port in found.outputs],
        "types": dict(sorted(types.items())),
        "tensors": [
            {
                **parts.fields(tensor, "name type quantized"),
                "per_channel": len(tensor.scales) > 1,
                **parts.fields(tensor, "scales zero_points channel_position user_allocated"),
            }
            for tensor in found.tensors.values()
        ],
        "nodes": [{"name": name, "layers": list(layers)} for name, layers in found.originals.items()],
        "notes": list(found.notes),
    }


def record(path: Path) -> dict[str, Any]:
    """What the file says. Raises NeuralArtError: it cannot be read or is damaged."""
    return as_record(q_json.read(path))


def text(record: dict[str, Any]) -> str:
    """For people."""
    inserted = sum(not node["layers"] for node in record["nodes"])
    types = ", ".join(f"{count} {name or 'of unknown type'}" for name, count in record["types"].items())
    floating = [tensor["name"] for tensor in record["tensors"] if not tensor["quantized"]]
    lines = [
        f"quantization of {record['model'] or 'a model'}, exported as {record['exported'] or 'unknown'}",
        f"  tool      ST Edge AI Core {record['core_version'] or 'unknown'}",
        f"  nodes     {len(record['nodes'])}, of which {inserted} inserted by the front end",
        f"  tensors   {len(record['tensors'])}: {types or 'none'}",
        f"  without scale: {plural(len(floating), 'tensor')}"
        + (f", for example {', '.join(floating[:4])}" if floating else ""),
    ]
    for title in ("inputs", "outputs"):
        for port in record[title]:
            shape = "x".join(map(str, port["shape"]))
            lines.append(f"  {title[:-1]:<9} {port['name']} {shape} {port['type'].lower()}{port['bits'] or ''}")
    return "\n".join([*lines, *parts.notes(record)]) + "\n"
