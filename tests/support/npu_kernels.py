"""Calls of software kernels as generated C makes them, with the memory that they work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuralart.vendor.network_c.epochs import Description
from neuralart.vendor.network_c.read import parse
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.software import dispatch

BASE = 0x34000000
RNG = np.random.default_rng(5)


def reals(*shape: int) -> Any:
    return RNG.normal(0, 2, shape).astype(np.float32)


def bytes8(*shape: int) -> Any:
    return RNG.integers(-128, 128, shape, dtype=np.int8)


@dataclass
class Function:
    """A function of network.c with one call, and the memory that it works on."""

    call: str
    members: dict[str, Any] = field(default_factory=dict)
    before: str = ""  # C in front of the call
    memory: NpuMemory = field(default_factory=NpuMemory)
    at: int = 0
    structure: str = ""

    def __post_init__(self) -> None:
        self.memory.add("RAM", BASE, np.zeros(1 << 16, np.uint8))

    def place(self, values: Any) -> int:
        """Put an array into memory; returns its address."""
        address = BASE + self.at
        self.at = -(-(self.at + values.nbytes) // 16) * 16
        self.memory.view(address, values.nbytes)[:] = np.frombuffer(values.tobytes(), np.uint8)
        return address

    def tensor(self, name: str, values: Any, *, signed: bool = True) -> int:
        """A tensor (batch, height, width, channels) of the structure."""
        address = self.place(values)
        for axis, size, stride in zip("bhwc", values.shape, values.strides, strict=True):
            self.members[f"{name}.dim.tensor_{axis}"] = size
            self.members[f"{name}.stride.{axis}"] = stride
        self.members[f"{name}.dim.num_elem"] = values.size
        self.members[f"{name}.mem.start_offset"] = f"((unsigned char *)(0x{address:08x}UL))"
        self.members[f"{name}.format.is_signed"] = int(signed)
        return address

    def constant(self, name: str, *values: float, kind: str = "<f4") -> None:
        """A list of constants."""
        data = np.array(values, kind)
        address = self.place(data)
        self.members[f"{name}.mem.start_offset"] = f"((unsigned char *)(0x{address:08x}UL))"
        self.members[f"{name}.dim.num_elem"] = data.size
        self.members[f"{name}.format.is_signed"] = 1

    def run(self) -> list[Any]:
        """Run the call. Returns the outputs that it noted."""
        fields = "".join(f"    .{name} = {value},\n" for name, value in self.members.items())
        body = f"  Some_sw_info info = {{\n{fields}  }};\n" if self.members else self.before
        call = self.call if "(" in self.call else f"ll_sw_forward_{self.call}(&info)"
        text = f"static void LL_ATON_End_EpochBlock_1(const void *e)\n{{\n{body}\n  {call};\n}}\n"
        text += "void *LL_ATON_EpochBlockItems_x(void) {\n}\n"
        description = Description(parse(text, "x.c"))
        return dispatch.run(
            description.function("LL_ATON_End_EpochBlock_1"), StructureReader(description, self.memory, {})
        )

    def result(self, address: int, like: Any) -> Any:
        """What stands at an address now."""
        return self.memory.view(address, like.nbytes).copy().view(like.dtype).reshape(like.shape)
