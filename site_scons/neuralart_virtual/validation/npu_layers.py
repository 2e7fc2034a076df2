"""What the epochs of a network wrote on the virtual NPU, beside the tensors that LiteRT computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.network.facts import Port
from neuralart_virtual.validation.layers import LayerFigures
from neuralart_virtual.vectors import expected

if TYPE_CHECKING:
    from neuralart_virtual.npu.reference import BufferComparison, ReferenceTensor


def litert_tensors(
    model: Path, given: Sequence[Port], inputs: Sequence[bytes], cut: Sequence[str] = ()
) -> Iterator[dict[str, ReferenceTensor]]:
    """What LiteRT computes of each input, by name. NeuralArtError: it cannot run the model."""
    from neuralart_virtual.npu.reference import tensor_of

    for interpreter in expected.litert_runs(model, given, inputs, cut, every_tensor=True):
        tensors = {}
        for detail in interpreter.get_tensor_details():
            shape = [int(size) for size in detail["shape"]]
            if detail["dtype"].__name__ != "int8" or shape[:1] != [1] or len(shape) not in (2, 3, 4):
                continue
            try:
                values = interpreter.get_tensor(detail["index"])
            except ValueError:
                continue  # No operator computes it
            tensors[str(detail["name"])] = tensor_of(values, float(detail["quantization"][0]))
        yield tensors


def npu_layers(comparison: BufferComparison) -> tuple[LayerFigures, ...]:
    """What epochs wrote on the virtual NPU: buffers that are like a tensor, then the others by their addresses."""
    figures = [
        LayerFigures(
            int(pair.epoch),
            pair.pair.tensor if pair.pair.factor == 1 else f"{pair.pair.factor:.3g} x {pair.pair.tensor}",
            "int8",
            (1, *pair.shape),
            pair.largest,
            pair.largest * (pair.scale or 1.0) / pair.pair.factor,
            pair.exceeding,
            allowed=pair.allowed,
            equal=1 - pair.different,
        )
        for pair in comparison.pairs
    ]
    for epoch, output in comparison.unpaired:
        name, note = f"0x{output.start:08x}", "like no tensor of the model"
        about = int(epoch), name, f"{8 * output.size} bits", (output.elements,)
        figures.append(LayerFigures(*about, None, None, note=note, allowed=None))
    return tuple(sorted(figures, key=lambda layer: layer.epoch))
