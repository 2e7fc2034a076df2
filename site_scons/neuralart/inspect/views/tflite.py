"""Record of a TensorFlow Lite model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.inspect.tables import plural, table
from neuralart.inspect.views import report_parts as parts
from neuralart.model.graph import Tensor


def _tensor(tensor: Tensor) -> dict[str, Any]:
    quant = tensor.quantization
    return {
        **parts.fields(tensor, "name shape dtype"),
        "scale": None if quant is None else list(quant.scales) if quant.per_channel else quant.scale,
        "zero_point": None if quant is None else list(quant.zero_points) if quant.per_channel else quant.zero_point,
    }


def record(path: Path) -> dict[str, Any]:
    """What a model is made of. Raises NeuralArtError: it cannot be read, is damaged, or has several graphs."""
    from collections import Counter

    from neuralart.model import tflite

    model = tflite.read(path)
    kinds = Counter(operator.kind for operator in model.operators)
    constants = [tensor for tensor in model.tensors if tensor.data is not None]
    types = Counter(tensor.dtype for tensor in model.tensors if tensor.data is None)
    return {
        "kind": "tflite",
        "name": model.stem,
        "inputs": [_tensor(model.tensors[number]) for number in model.inputs],
        "outputs": [_tensor(model.tensors[number]) for number in model.outputs],
        "operators": dict(sorted(kinds.items())),
        "operator_count": len(model.operators),
        "tensors": len(model.tensors),
        "constants": len(constants),
        "constant_bytes": sum(len(tensor.data or b"") for tensor in constants),
        "activation_types": dict(sorted(types.items())),
    }


def text(record: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"TensorFlow Lite model '{record['name']}': {plural(record['operator_count'], 'operator')}, "
        f"{record['constant_bytes']:,} bytes of constants"
    ]
    for title in ("inputs", "outputs"):
        rows = (
            [
                tensor["name"],
                "x".join(map(str, tensor["shape"])) or "scalar",
                tensor["dtype"],
                _quant(tensor["scale"], tensor["zero_point"]),
            ]
            for tensor in record[title]
        )
        lines += ["", f"{title}:", *table(("name", "shape", "type", "scale, zero point"), rows)]
    counts = sorted(record["operators"].items(), key=lambda item: (-item[1], item[0]))
    return "\n".join([*lines, "", *table(("operator", "count"), counts)]) + "\n"


def _quant(scale: Any, zero: Any) -> str:
    if scale is None:
        return "-"
    return "per channel" if isinstance(scale, list) else f"{scale:.9g}, {zero}"
