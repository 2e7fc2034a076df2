"""Inputs and outputs of a network as the legacy API shows them."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.compilers.reference.cpu.cpu_network import Array, CpuNetwork
from neuralart.model.graph import DTYPE_BYTES, Quantization, Tensor

_FORMATS = {
    "float32": "FLOAT",
    "int8": "S8",
    "uint8": "U8",
    "int16": "S16",
    "uint16": "U16",
    "int32": "S32",
    "int64": "S64",
    "bool": "BOOL",
}


@dataclass(frozen=True)
class PortView:
    """An input or output."""

    number: int  # from 1
    tensor: Tensor  # what it is
    array: Array  # memory it lies in
    offset: int  # bytes into that
    provided: bool  # the application provides the memory
    constant: bool  # it is a constant of the model
    shape: tuple[int, int, int, int]  # batch, height, width, channels; 1 where the tensor has no such axis

    @property
    def format(self) -> str:
        """Macro of its element format."""
        return f"AI_BUFFER_FORMAT_{_FORMATS.get(self.tensor.dtype, 'NONE')}"

    @property
    def elements(self) -> int:
        """How many."""
        return self.tensor.bytes // DTYPE_BYTES[self.tensor.dtype]

    @property
    def quantization(self) -> Quantization | None:
        """None if it is not quantized."""
        return self.tensor.quantization


def shape_of(tensor: Tensor) -> tuple[int, int, int, int]:
    """Batch, height, width and channels of a tensor; further axes in front of these count as the batch."""
    shape = list(tensor.shape)
    channels = shape.pop() if shape else 1
    width = shape.pop() if len(shape) > 1 else 1
    height = shape.pop() if len(shape) > 1 else 1
    batch = 1
    for size in shape:
        batch *= size
    return batch, height, width, channels


def views(network: CpuNetwork, kind: str) -> tuple[PortView, ...]:
    """All ports of a kind, ``input`` or ``output``."""
    emission = network.emission
    found = []
    for number, tensor in enumerate(emission.port_tensors(kind), start=1):
        key = ("tensor", emission.program.root(tensor))
        # An output may be a constant of the model.
        array = network.activations.get(key) or network.constants[key]
        found.append(
            PortView(
                number,
                emission.tensor(tensor),
                array,
                emission.program.offset(tensor),
                emission.owner(tensor) is not None,
                key not in network.activations,
                shape_of(emission.tensor(tensor)),
            )
        )
    return tuple(found)
