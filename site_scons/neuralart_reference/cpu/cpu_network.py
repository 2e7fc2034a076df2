"""What the writers of the CPU flow know: names and places of all arrays of a network, and its inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from neuralart_reference.cpu.placing import Placed, offset_of
from neuralart_reference.emit.emission import Emission
from neuralart_reference.model.graph import DTYPE_BYTES, Quantization, Tensor

Key = tuple[str, int]
"""Of a tensor that owns memory (``tensor``, number), working memory (``scratch``, epoch), a constant, or a port of the
application (``user``, tensor)."""
_LONGEST = 48


@dataclass(frozen=True)
class Array:
    """Memory of a tensor, of working memory or of a constant."""

    name: str  # C name, also in ``c_info.json``
    number: int  # activation buffer or array of weights that it is in, from 1; 0: the application provides it
    offset: int  # bytes from the beginning of that
    size: int  # bytes


@dataclass(frozen=True)
class Weights:
    """An array of constants in ``N_data_params.c``."""

    name: str  # in ``c_info.json``
    symbol: str  # C name
    data: bytes = field(repr=False)  # its bytes

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)


@dataclass(frozen=True)
class CpuNetwork:
    """Input of every writer."""

    emission: Emission  # as in the NPU flow; addresses of its plan are those of :mod:`~.placing`
    placed: Placed  # where everything is
    split: bool = False  # each constant is an array of its own
    binary: bool = False  # the weights are in a file too
    memories: str = ""  # as the user named the memory-pool file, without folders; empty: none

    @property
    def name(self) -> str:
        """C name."""
        return self.emission.name

    @property
    def macro(self) -> str:
        """Beginning of its macros."""
        return f"AI_{self.name.upper()}"

    @property
    def activation_sizes(self) -> tuple[int, ...]:
        """Bytes of each activation buffer, by number."""
        return tuple(pool.used for pool in self.placed.activations)

    @cached_property
    def weights(self) -> tuple[Weights, ...]:
        """Arrays of constants: one, or one for each constant; one of no bytes if there are none."""
        if self.split and self.emission.plan.constants:
            names = {key: array.name for key, array in self.constants.items()}
            return tuple(
                Weights(names[item.key], f"s_{self.name}_{names[item.key]}_u64", item.data)
                for item in self.emission.plan.constants
            )
        data = self.emission.plan.images.get(self.placed.weights.fname, b"")
        return (Weights(self.placed.weights.name, f"s_{self.name}_weights_array_u64", data),)

    @cached_property
    def activations(self) -> Mapping[Key, Array]:
        """Tensors and working memories, in the order of their planning, then what the application provides."""
        plan = self.emission.plan
        found: dict[Key, Array] = {}
        for block in plan.blocks:
            address = plan.address(block)
            found[block.key] = Array(
                self._names[block.key], self.placed.number(address), offset_of(address), block.size
            )
        for root in self.emission.user_owned:
            key = ("tensor", root)
            found[key] = Array(self._names[key], 0, 0, self.emission.tensor(root).bytes)
        return found

    def face(self, root: int) -> int:
        """The tensor that a memory is shown as: an input or output at its beginning, else the one that owns it."""
        program = self.emission.program
        for port in (*program.inputs, *program.outputs):
            if program.root(port) == root and not program.offset(port):
                return port
        return root

    @cached_property
    def port_arrays(self) -> Mapping[int, Array]:
        """Inputs and outputs that their memory is not shown as: they lie within it."""
        program, found = self.emission.program, {}
        for port in (*program.inputs, *program.outputs):
            root = program.root(port)
            whole = self.activations.get(("tensor", root)) or self.constants["tensor", root]
            if self.face(root) != port or ("tensor", root) not in self.activations:
                size, offset = self.emission.tensor(port).bytes, whole.offset + program.offset(port)
                found[port] = Array(self._names["port", port], whole.number, offset, size)
        return found

    @cached_property
    def constants(self) -> Mapping[Key, Array]:
        """Constants, in the order of their first use."""
        plan = self.emission.plan
        found: dict[Key, Array] = {}
        for number, item in enumerate(plan.constants, start=1):
            place = (number, 0) if self.split else (1, offset_of(plan.constant_address[item.key]))
            found["constant", number] = Array(self._names["constant", number], *place, len(item.data))
        return {item.key: array for item, array in zip(plan.constants, found.values(), strict=True)}

    @cached_property
    def _names(self) -> Mapping[Key, str]:
        plan, emission = self.emission.plan, self.emission
        wanted: list[tuple[Key, str]] = []
        for block in plan.blocks:
            kind, number = block.key
            written = self.face(number) if kind == "tensor" else next(iter(emission.program.calls[number].writes), None)
            name = emission.tensor(written).name if written is not None else f"layer{number}"
            wanted.append((block.key, name if kind == "tensor" else f"{name}_scratch0"))
        wanted += [(("tensor", root), emission.tensor(self.face(root)).name) for root in emission.user_owned]
        wanted += [(("constant", number), item.label) for number, item in enumerate(plan.constants, start=1)]
        ports = dict.fromkeys((*emission.program.inputs, *emission.program.outputs))
        wanted += [(("port", port), emission.tensor(port).name) for port in ports]
        return _unique(wanted)


def identifier(text: str) -> str:
    """Any text as a part of a C name: it begins with a letter."""
    clean = "".join(char if char.isascii() and char.isalnum() else "_" for char in text).strip("_")[:_LONGEST]
    return clean if clean[:1].isalpha() else f"t{clean}"


def _unique(wanted: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """C names that differ, whatever the model calls its tensors."""
    taken: set[str] = set()
    found: dict[Key, str] = {}
    for key, text in wanted:
        base = identifier(text)
        name, count = f"{base}_array", 1
        # Names that differ only in case would be hard to tell apart in a listing.
        while name.lower() in taken:
            count += 1
            name = f"{base}_{count}_array"
        taken.add(name.lower())
        found[key] = name
    return found


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
