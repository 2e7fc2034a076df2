"""The layers of models on a Cortex-M55, one by one: our MVE kernels beside CMSIS-NN; `mve.py --cmsis-nn` prints them.

CMSIS-NN is compiled from a folder that the user has: nothing of it is here. Both get the same weights, inputs and
shapes, the same compiler and the same options.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuralart.compilers.request import CompileRequest
from neuralart.errors import NeuralArtError
from neuralart.network.targets import NPU
from neuralart.vendor import mpool
from neuralart_reference.common_steps import lowered
from neuralart_reference.ir import Call, ConstArg, StructArg
from support.boards.firmware import PREFIX, Builder, run_tool
from support.host_c import mve

HARNESS = Path(__file__).with_name("mve_cmsis_nn.c")
KERNELS = ("na_conv2d_s8", "na_depthwise_conv2d_s8", "na_fully_connected_s8", "na_add_s8")
"""In the order of mve_cmsis_nn.c."""
CONV, DEPTHWISE, FULLY, ADD = range(4)
CALIBRATION = 30_000_000  # as in mve_count.h
TABLE = 0x60000000  # DDR of the board; its pool holds networks, of which there are none here
ROOM = 64 << 20  # bytes of it
# What the functions that the harness calls may need: s8 alone
FOLDERS = ("ConvolutionFunctions", "FullyConnectedFunctions", "BasicMathFunctions", "NNSupportFunctions")
_NUMBER = re.compile(r"(?<![\w.])-?\d+")


@dataclass(frozen=True)
class Layer:
    """A call of a kernel with its numbers.

    Attributes:
        kind: Of KERNELS.
        text: Its shape in words.
        parameters: Fields of its C structure.
        constants: Bytes of filter, bias, multiplier and shift (or scale); empty where it has none.
        inputs: Bytes of each input.
        outputs: Bytes of the output.
    """

    kind: int
    text: str
    parameters: tuple[int, ...]
    constants: tuple[bytes, ...]
    inputs: tuple[int, ...]
    outputs: int


@dataclass(frozen=True)
class Count:
    """Executed instructions of a layer.

    Attributes:
        ours: Of our kernel.
        theirs: Of CMSIS-NN.
        prepared: Of what CMSIS-NN prepares once: sums of weights. Our kernel makes them each time.
        different: Outputs that differ.
    """

    ours: int
    theirs: int
    prepared: int
    different: int


# ---- layers of a model


def _layer(call: Call) -> Layer | None:
    """A layer that both sides have; None for what CMSIS-NN has no kernel for."""
    kind, fields = KERNELS.index(call.kernel), call.args[-1]
    assert isinstance(fields, StructArg)
    numbers = tuple(int(word) for _, value in fields.fields for word in _NUMBER.findall(value))
    named = {name: int(value) for name, value in fields.fields if _NUMBER.fullmatch(value)}
    data = tuple(arg.data if isinstance(arg, ConstArg) else b"" for arg in call.args[1:-2])
    if kind == ADD:
        (_, shape), *_ = fields.fields
        lists = [[int(word) for word in _NUMBER.findall(part)] for part in re.findall(r"\{([^{}]+)\}", shape)]
        count = math.prod(lists[0])
        if any(step[-1] != 1 or any(step[:-1]) for step in lists[1:]):
            return None  # broadcast
        return Layer(kind, f"ADD {count}", numbers, (), (count, count), count)
    if not data[0]:
        return None  # weights that are computed
    if kind == FULLY:
        depth, units, batches = named["depth"], named["units"], named["batches"]
        return Layer(kind, f"FULLY_CONNECTED {depth} to {units}", numbers, data, (batches * depth,), batches * units)
    sizes = {
        side: [named[f"{side}_{axis}"] for axis in ("height", "width", "channels")] for side in ("input", "output")
    }
    window = f"{named['kernel_height']}x{named['kernel_width']}"
    step = f"/{named['stride_height']}" if named["stride_height"] > 1 else ""
    name = "DEPTHWISE_CONV_2D" if kind == DEPTHWISE else "CONV_2D"
    text = f"{name} {window}{step}, {'x'.join(map(str, sizes['input']))} to {sizes['output'][-1]}"
    counts = [named["batches"] * math.prod(sizes[side]) for side in ("input", "output")]
    return Layer(kind, text, numbers, data, (counts[0],), counts[1])


def layers(model: Path, pools: Path) -> list[Layer]:
    """The layers of a model that both sides have."""
    request = CompileRequest(model=model, mpool=pools, name="network", report=False)
    _, program, _ = lowered(request, NPU, lambda: mpool.read(pools, None), lambda _text: None)
    found = [_layer(call) for call in program.calls if call.kernel in KERNELS]
    return [layer for layer in found if layer is not None]


# ---- the table that the harness reads


def _factors(scales: bytes) -> tuple[bytes, bytes]:
    """Multipliers and shifts of factors in float64."""
    pairs = []
    for (scale,) in struct.iter_unpack("<d", scales):
        part, shift = math.frexp(scale)
        multiplier = round(part * 2**31)
        if multiplier == 2**31:
            multiplier, shift = 2**30, shift + 1
        pairs.append((multiplier, shift))
    multipliers, shifts = zip(*pairs, strict=True)
    return struct.pack(f"<{len(pairs)}i", *multipliers), struct.pack(f"<{len(pairs)}i", *shifts)


def table(found: Sequence[Layer]) -> bytes:
    """What lies at TABLE: table_t of mve_cmsis_nn.c and all that it points to, with drawn inputs."""
    rng = np.random.default_rng(3)
    head = 16 + 40 * len(found)
    blob = bytearray(-(-head // 16) * 16)

    def put(data: bytes) -> int:
        if not data:
            return 0
        address = TABLE + len(blob)
        # Up to the next one, and some: CMSIS-NN reads beyond the end of a tensor.
        blob.extend(data + bytes(-len(data) % 16 + 16))
        return address

    rows = []
    for layer in found:
        parameters = put(struct.pack(f"<{len(layer.parameters)}i", *layer.parameters))
        inputs = [put(rng.integers(0, 256, size, np.uint8).tobytes()) for size in layer.inputs]
        filters, bias, multiplier, shift, scale = b"", b"", b"", b"", b""
        if layer.kind == FULLY:
            filters, bias, scale = layer.constants
            multiplier, shift = _factors(scale)
        elif layer.kind != ADD:
            filters, bias, multiplier, shift = layer.constants
        places = [put(data) for data in (filters, bias, multiplier, shift, scale)]
        rows.append((layer.kind, parameters, inputs[0], inputs[-1], *places, layer.outputs))
    size = max(layer.outputs for layer in found) + 64
    first = TABLE + len(blob)
    ours, theirs, scratch = first, first + size // 16 * 16 + 16, first + 2 * (size // 16 * 16 + 16)
    if scratch + (4 << 20) > TABLE + ROOM:
        raise NeuralArtError("layers are too large to be measured")
    struct.pack_into("<4I", blob, 0, len(found), ours, theirs, scratch)
    for number, row in enumerate(rows):
        struct.pack_into("<10I", blob, 16 + 40 * number, *row)
    return bytes(blob)


# ---- the image


def build(builder: Builder, folder: Path, kernels: Sequence[Path], common: Sequence[Path]) -> Path:
    """The image with our kernels and CMSIS-NN's, from its folder (the one with Include and Source)."""
    header = folder / "Include" / "arm_nnfunctions.h"
    if not header.is_file():
        hint = "a checkout of CMSIS-NN: the folder with Include and Source"
        raise NeuralArtError("no Include/arm_nnfunctions.h", where=str(folder), hint=hint)
    names = sorted(path for part in FOLDERS for path in (folder / "Source" / part).glob("arm_*_s8*.c"))
    names += sorted((folder / "Source" / "TransposeFunctions").glob("arm_transpose_s8.c"))
    include = [f"-I{folder / 'Include'}", f"-I{builder.folder}"]
    objects = []
    for source in (*names, HARNESS):
        target = builder.folder / f"cmsis-{source.stem}.o"
        own = [f"-I{mve.RUNTIME / 'include'}", f"-I{mve.RUNTIME.parent / 'boards'}", f"-DTABLE=0x{TABLE:x}u"]
        run_tool([f"{PREFIX}gcc", *builder.flags, *include, *own, "-c", str(source), "-o", str(target)])
        objects.append(target)
    return builder.link(builder.folder / "cmsis.elf", [*common, *kernels, *objects])


def count(builder: Builder, elf: Path, found: Sequence[Layer], options: Sequence[str]) -> Iterator[Count]:
    """Run the layers of a model."""
    path = elf.with_name("table.raw")
    path.write_bytes(table(found))
    lines = [line.split() for line in mve.text_of(builder.board, elf, [(path, TABLE)], options, 600)]
    ticks = int(next(words[1] for words in lines if words[0] == "calibration"), 16)
    for words in lines:
        if words[0] == "layer":
            *counted, different = (int(word, 16) for word in words[1:])
            yield Count(*(round(value * CALIBRATION / ticks) for value in counted), different)
