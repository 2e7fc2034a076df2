"""Calls of software kernels as generated C makes them, with the memory that they work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuralart.vendor.network_c.read import parse
from neuralart_virtual.network_c.epochs import Description
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.software import dispatch

BASE = 0x34000000
NAME = "LL_ATON_End_EpochBlock_1"
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

    def text(self) -> str:
        """The network.c that has this function only."""
        fields = "".join(f"    .{name} = {value},\n" for name, value in self.members.items())
        body = f"  Some_sw_info info = {{\n{fields}  }};\n" if self.members else self.before
        call = self.call if "(" in self.call else f"ll_sw_forward_{self.call}(&info)"
        text = f"static void {NAME}(const void *e)\n{{\n{body}\n  {call};\n}}\n"
        return text + "void *LL_ATON_EpochBlockItems_x(void) {\n}\n"

    def run(self) -> list[Any]:
        """Run the call. Returns the outputs that it noted."""
        return run(self.text(), self.memory)

    def result(self, address: int, like: Any) -> Any:
        """What stands at an address now."""
        return self.memory.view(address, like.nbytes).copy().view(like.dtype).reshape(like.shape)


def run(text: str, memory: NpuMemory) -> list[Any]:
    """Run the calls of a network.c that has one function. Returns the outputs that they noted."""
    description = Description(parse(text, "x.c"))
    return dispatch.run(description.function(NAME), StructureReader(description, memory, {}))


# ---- text of C ----


def tensors(name: str, *places: tuple[int, tuple[int, ...], int, int]) -> str:
    """An array of tensor shapes: address, shape, bytes of an element, channels that lie together."""
    text = items = ""
    for number, (address, shape, element, batch) in enumerate(places):
        text += f"  static const uint32_t {name}_shape_{number}[] = {{ {', '.join(map(str, shape))} }};\n"
        items += f"    {{ .addr_base = {{(unsigned char *)(0x{address:08x}UL)}}, .offset_start = 0, .offset_end = "
        items += f"{int(np.prod(shape)) * element}, .nbits = {8 * element}, .shape = {name}_shape_{number}, "
        items += f".batch = {batch} }},\n"
    return f"{text}  static const LL_LIB_TensorShape_TypeDef {name}[] = {{\n{items}  }};\n"


def numbers(name: str, values: tuple[int, ...]) -> str:
    return f"  static const int32_t {name}[] = {{ {', '.join(map(str, values))} }};\n"


def moves() -> Function:
    """Calls that split, pad, cut lines and make space of depth, one after the other."""
    work = Function("")
    x = bytes8(2, 4, 4, 4)
    source, target = work.place(x), work.place(np.zeros(1 << 12, np.int8))
    work.before = tensors("whole", (source, (1, 4, 4, 4), 1, 4))
    work.before += tensors("parts", *[(target + i * 32, (1, 2, 4, 4), 1, 2) for i in range(2)])
    work.before += tensors("image", (target, (1, 8, 8, 1), 1, 1)) + tensors("lines", (target, (16, 1), 1, 1))
    for name, address in (("from", source), ("to", target)):
        work.before += f"  unsigned char* {name} = ((unsigned char *)((0x{address:08x}UL + 0)));\n"
        work.before += f"  unsigned char* {name}_end = ((unsigned char *)((0x{address:08x}UL + 256)));\n"
    work.before += numbers("least", (1, 3, 4, 4)) + numbers("cut", (0, -16, 0, 0)) + numbers("none", (0, 0, 0, 0))
    work.before += numbers("more", (0, 32, 0, 0)) + numbers("shape", (1, 7, 4, 4)) + numbers("steps", (112, 16, 4, 1))
    work.before += numbers("reads", (8, 8, 1, 16, 12, 2)) + numbers("writes", (14, 8, 1, 16, 12, 2))
    work.before += "  const float value = 1.5;\n"
    calls = [
        "LL_ATON_LIB_Split(&whole[0], true, &parts, 2, 4, 1, 1, 3, 5, 6)",
        "LL_ATON_LIB_Split(&whole[0], false, &parts, 2, 4, 1, 1, 7, 5, 6)",
        "LL_ATON_LIB_DMA_DepthToSpace(whole, 1, image, 2, 2, 0, 4)",
        "LL_ATON_LIB_DMA_Outputs_Slice_SplitLike(&whole[0], &lines[0], 16, 4, 4, 8, 8, 1, 2)",
        "LL_ATON_LIB_Pad(from, to, from_end, to_end, least, 0, 1, 112, *((int32_t*)&value), 1, 48, cut, none, more,"
        " more, shape, steps, 4, 2, 3)",
        "LL_ATON_LIB_Pad_4Loop(from, from_end, from_end, to, to_end, to_end, 7, 2, reads, writes, 2, 3)",
    ]
    work.call = ";\n  ".join(calls)
    return work
