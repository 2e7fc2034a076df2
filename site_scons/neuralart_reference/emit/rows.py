"""Rows of the buffer tables, before they become C or JSON."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart_reference.emit.ctext import dtype_of_ctype
from neuralart_reference.emit.emission import Emission
from neuralart_reference.model.graph import DTYPE_BYTES, Quantization, Tensor
from neuralart_reference.planning.lifetimes import Constant
from neuralart_reference.planning.planner import PoolPlan

GUARD = 64
"""``offset_limit`` lies this far behind the end, but never behind the pool."""


@dataclass(frozen=True)
class Row:
    """A buffer."""

    name: str  # tensor name or label
    plan: PoolPlan | None  # its pool; None if the application provides it
    start: int  # offset of the first byte
    size: int  # bytes
    owner: tuple[str, int] | None  # port whose buffer it lies in, if the application provides it
    is_param: bool  # weights, or other constants of the compiler
    first: int  # first epoch that touches it
    epoch: int  # last epoch that touches it
    written: int  # epoch after which it is complete; of inputs and constants, the last that reads them
    shape: tuple[int, ...]  # N, H, W, C (weights: as the model has them)
    memory: tuple[int, ...]  # shape in memory order
    letter: str  # ``L``, ``F`` or ``U``: channels last, first, undefined
    dtype: str  # tensor dtype; ``uint8`` for opaque bytes
    quantization: Quantization | None  # None if not quantized

    @property
    def pool(self) -> str:
        """fname of its pool; empty if the application provides it."""
        return self.plan.fname if self.plan is not None else ""

    @property
    def address(self) -> int:
        """Address as the pool file has it; 0 if the application provides it."""
        return self.plan.address + self.start if self.plan is not None else 0

    @property
    def end(self) -> int:
        """Offset of the first byte behind it."""
        return self.start + self.size

    @property
    def limit(self) -> int:
        """End with the guard, capped by the pool."""
        return min(self.end + GUARD, self.plan.size) if self.plan is not None else self.end

    @property
    def onnx_order(self) -> tuple[int, ...]:
        """How tools name shapes."""
        return _channels_first(self.shape) if len(self.shape) >= 3 else self.shape


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Channels moved to the second place."""
    return (shape[0], shape[-1], *shape[1:-1])


def _place(emission: Emission, address: int, size: int) -> tuple[PoolPlan, int]:
    plan = emission.plan.pool_of(address, size)
    return plan, address - plan.address


def tensor_row(emission: Emission, number: int, position: str) -> Row:
    """A row of an activation; its channels are ``last``, ``first`` or ``undefined``."""
    tensor = emission.tensor(number)
    owner = emission.owner(number)
    plan, start = (None, 0) if owner is not None else _place(emission, emission.address(number), tensor.bytes)
    shape = tensor.shape or (1,)
    # The lowering admits chfirst of a .tflite only where both orders are the same bytes.
    memory = _channels_first(shape) if position == "first" and not emission.model.channels_first else shape
    if position == "first" and emission.model.channels_first:
        shape = (shape[0], *shape[2:], shape[1])
    first, last = emission.epochs_of(number)
    return Row(
        name=tensor.name,
        plan=plan,
        start=start,
        size=tensor.bytes,
        owner=owner,
        is_param=False,
        first=first,
        epoch=last,
        written=emission.written_in(number),
        shape=shape,
        memory=memory,
        letter={"last": "L", "first": "F", "undefined": "U"}[position],
        dtype=tensor.dtype,
        quantization=tensor.quantization,
    )


def constant_row(emission: Emission, item: Constant) -> Row:
    """A row of a constant: as the model has it, or a plain list of elements if the compiler made it."""
    address = emission.plan.constant_address[item.key]
    plan, start = _place(emission, address, len(item.data))
    tensor: Tensor | None = emission.tensor(item.tensor) if item.tensor is not None else None
    dtype = tensor.dtype if tensor is not None else dtype_of_ctype(item.ctype) or "uint8"
    elements = len(item.data) // DTYPE_BYTES.get(dtype, 1)
    shape = (tensor.shape if tensor is not None else ()) or (elements,)
    first = emission.constant_epochs.get(item.key, item.epoch)
    return Row(
        name=item.label,
        plan=plan,
        start=start,
        size=len(item.data),
        owner=None,
        is_param=True,
        first=first,
        epoch=item.epoch,
        written=item.epoch,
        shape=shape,
        memory=shape,
        letter="L" if len(shape) >= 2 else "U",
        dtype=dtype,
        quantization=tensor.quantization if tensor is not None else None,
    )


def port_rows(emission: Emission, kind: str) -> list[Row]:
    """Rows of the inputs or of the outputs."""
    return [
        tensor_row(emission, number, emission.channel_position(kind, index))
        for index, number in enumerate(emission.port_tensors(kind))
    ]


def constant_rows(emission: Emission) -> list[Row]:
    """Rows of all constants."""
    return [constant_row(emission, item) for item in emission.plan.constants]


def internal(emission: Emission) -> list[int]:
    """Placed tensors that are neither input nor output."""
    return sorted(emission.plan.tensors.keys() - emission.program.border)


def internal_rows(emission: Emission) -> list[Row]:
    """Rows of the activations that are neither input nor output."""
    return [
        tensor_row(emission, root, "last" if len(emission.tensor(root).shape) >= 2 else "undefined")
        for root in internal(emission)
    ]
