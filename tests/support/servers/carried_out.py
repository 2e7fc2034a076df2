"""Programs carried out byte by byte, with checksums instead of sums: whatever is lost changes the outputs."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterator

from neuralart.compilers.request import BorderOptions
from neuralart_reference.ir import Call, Program, TensorArg
from neuralart_reference.lower import lower
from neuralart_reference.planning.overlap import WINDOWED
from neuralart_reference.planning.sharing import IN_PLACE
from support.models.networks import Network


def positions(call: Call) -> Iterator[tuple[range, list[int]]]:
    """What each position writes, and the bytes under its window, relative to output and input."""
    p = {name: int(value) for name, value in call.args[-1].fields}
    into, out = p.get("input_channels", p.get("channels")), p.get("output_channels", p.get("channels"))
    for number, (y, x) in enumerate(itertools.product(range(p["output_height"]), range(p["output_width"]))):
        rows = [y * p["stride_height"] - p["pad_top"] + k for k in range(p["kernel_height"])]
        columns = [x * p["stride_width"] - p["pad_left"] + k for k in range(p["kernel_width"])]
        inside = [r * p["input_width"] + c for r in rows for c in columns if 0 <= r < p["input_height"]]
        inside = [at for at, c in zip(inside, columns * len(rows), strict=False) if 0 <= c < p["input_width"]]
        yield range(number * out, (number + 1) * out), [at * into + c for at in inside for c in range(into)]


def carried_out(program: Program, address: Callable[[int], int], memory: bytearray) -> list[bytes]:
    """The outputs, checksums of what was read.

    A windowed kernel fills each position with garbage before it reads what it needs for it, any other kernel all of its
    output; one that works in place reads each element before it writes that.
    """

    def start(arg: TensorArg) -> int:
        return address(program.root(arg.tensor)) + program.offset(arg.tensor) + arg.offset

    def size(arg: TensorArg) -> int:
        return program.tensors[arg.tensor].bytes

    for number in program.inputs:
        at = start(TensorArg(number, ""))
        memory[at : at + program.tensors[number].bytes] = random.Random(number).randbytes(program.tensors[number].bytes)
    for call in program.calls:
        reads = [arg for arg in call.args if isinstance(arg, TensorArg) and not arg.written]
        (write,) = [arg for arg in call.args if isinstance(arg, TensorArg) and arg.written]
        target, length = start(write), size(write)
        if call.kernel in WINDOWED:
            for filled, needed in positions(call):
                memory[target + filled.start : target + filled.stop] = bytes([0xA5]) * len(filled)
                seed = zlib.crc32(bytes(memory[start(reads[0]) + at] for at in needed))
                memory[target + filled.start : target + filled.stop] = random.Random(seed).randbytes(len(filled))
        elif call.kernel in IN_PLACE:
            for at in range(length):
                memory[target + at] = sum(7 * memory[start(arg) + at % size(arg)] for arg in reads) + 1 & 0xFF
        else:
            memory[target : target + length] = b"\xa5" * length
            seed = zlib.crc32(b"".join(bytes(memory[start(arg) : start(arg) + size(arg)]) for arg in reads))
            memory[target : target + length] = random.Random(seed).randbytes(length)
    return [bytes(memory[start(TensorArg(n, "")) :][: program.tensors[n].bytes]) for n in program.outputs]


def random_network(seed: int) -> Program:
    """Convolutions, pools and sums over small pictures, some of them read by several operators."""
    rng = random.Random(seed)
    net = Network(rng.randint(4, 9), rng.randint(1, 5))
    values = [net.input]
    for _ in range(rng.randint(3, 10)):
        source = values[-1] if rng.random() < 0.8 else rng.choice(values)
        small = net.shape(source)[1] < 3
        kind = rng.choice(["conv", "conv", "depthwise", "pool", "pad", "add"])
        kernel, stride = (1, 1) if small else (rng.choice([1, 3]), rng.choice([1, 2]))
        if kind == "conv":
            values.append(net.conv(source, rng.randint(1, 9), kernel, stride))
        elif kind == "depthwise":
            values.append(net.depthwise(source, kernel, stride))
        elif kind == "pool" and not small:
            values.append(net.pool(source, 2, stride))
        elif kind == "pad" and not small:
            values.append(net.conv(net.pad(source), rng.randint(1, 9), 3, 2, "VALID"))
        else:
            other = rng.choice([v for v in values if net.shape(v) == net.shape(source)])
            values.append(net.add(other, source))
    outputs = {values[-1], *rng.sample(values[1:], 1)} - {net.input}
    return lower(net.model([net.input], sorted(outputs)), BorderOptions())
