"""Small networks whose outputs a real board recorded, rebuilt as programs of the NPU.

Their network.c is not public. The chain is the compiler's usual one: convolution, multiplication,
bias, maximum, global average, last scale. One thing is free per model: the shift of the convolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuralart_reference.model import reader
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.state import NpuState, UnitState
from neuralart_virtual.npu.units.rounding import Ties
from support.npu import npu_build as build

# Model, folder of its records, shift of the convolution, rows of the kernel by accelerator.
MODELS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "baseline_conv2d_16f_3x3_int8": ("Conv2d_16f_3x3", 3, (3,)),
    "baseline_conv2d_1x1_int8": ("Conv2d_1x1", 2, (1,)),
    "baseline_conv2d_3x3_int8": ("Conv2d_3x3", 3, (3,)),
    "baseline_conv2d_64f_3x3_int8": ("conv2d_64f_3x3", 4, (3,)),
    "baseline_conv2d_pool_int8": ("Conv2d_poll", 3, (3,)),
    "baseline_depthwise_3x3_int8": ("Depthwise_3x3", 2, (3,)),
    "baseline_conv2d_32f_5x5_int8": ("Conv2d_32f_5x5", 4, (3, 2)),
    "baseline_conv2d_32f_7x7_int8": ("Conv2d_32f_7x7", 5, (3, 2, 2)),
}
_IN, _OUT, _KERNELS = build.RAM, build.RAM + 0x20000, build.FLASH


@dataclass(frozen=True)
class Recorded:
    """A model's numbers, and what a board and TFLite gave for its inputs."""

    inputs: np.ndarray[Any, Any]  # (samples, height, width, channels)
    board: np.ndarray[Any, Any]  # (samples, channels)
    kernels: np.ndarray[Any, Any]  # (kernels, height, width, channels)
    bias: np.ndarray[Any, Any]
    scales: tuple[float, np.ndarray[Any, Any], float, float]  # Input, kernels, middle, output
    zeros: tuple[int, int, int]  # Input, middle, output
    pooled: bool


def read(model: Path, records: Path) -> Recorded:
    """Read a model and its records."""
    graph = reader.read(model)
    first, last = graph.operators[0], graph.operators[-1]
    x, weights, bias = (graph.tensors[i] for i in first.inputs[:3])
    middle, end = graph.tensors[first.outputs[0]], graph.tensors[last.outputs[0]]
    depthwise = "DEPTHWISE" in first.kind
    taps = np.frombuffer(weights.data, np.int8).reshape(weights.shape).astype(np.int64)
    if depthwise:
        channels = taps.shape[3]
        taps = np.einsum("hwc,ck->khwc", taps[0], np.eye(channels, dtype=np.int64))
    with np.load(records) as arrays:
        board = arrays["c_outputs_1"].reshape(10, -1).astype(int)
        inputs = arrays["c_inputs_1"].astype(np.int8)
    quant = [t.quantization for t in (x, weights, middle, end)]
    scales = (quant[0].scales[0], np.array(quant[1].scales), quant[2].scales[0], quant[3].scales[0])
    zeros = (quant[0].zero_points[0], quant[2].zero_points[0], quant[3].zero_points[0])
    constant = np.frombuffer(bias.data, np.int32).astype(np.int64)
    return Recorded(inputs, board, taps, constant, scales, zeros, len(graph.operators) == 3)


def _normal(value: float) -> int:
    """The shift that brings a number to 15 bits."""
    shift = 0
    while abs(value) * 2.0**shift < 16384:
        shift += 1
    while round(abs(value) * 2.0**shift) > 32767:
        shift -= 1
    return shift


def outputs(given: Recorded, shift: int, rows: tuple[int, ...], ties: Ties) -> np.ndarray[Any, Any]:
    """What the virtual NPU gives for all inputs: shape (samples, channels)."""
    memory = build.memory(1 << 20, 1 << 17)
    state = _program(given, shift, rows, memory)
    found = []
    for sample in given.inputs:
        memory.view(_IN, sample.size)[:] = sample.reshape(-1).view(np.uint8)
        build.run(state, memory, ties=ties, work=1 << 32)
        found.append(build.plain(memory, _OUT, given.board.shape[1]))
    return np.array(found)


def _program(given: Recorded, shift: int, rows: tuple[int, ...], memory: NpuMemory) -> NpuState:
    state = NpuState()
    _, height, width, _ = given.inputs.shape
    count = len(given.kernels)
    group = next(g for g in range(8, 0, -1) if count % g == 0)
    frames = count // group
    _convolutions(state, given, shift, rows, group, memory)
    _scales(state, given, shift, height * width, group)
    size = (height, width)
    last: tuple[str, int] = ("ARITH", 1)
    if given.pooled:
        size = (height // 2, width // 2)
        pool = _pool(state, 1, 0, (height, width), size, group)
        pool.set("PDIMS", WINX=2, WINY=2, STRDX=2, STRDY=2)
        state.link(("POOL", 1, 0), (last, 1, 0))
        last = ("POOL", 1)
    pool = _pool(state, 0, 10, size, (1, 1), group)
    area = size[0] * size[1]
    average = _normal(1 / area)
    pool.set("CTRL", OUTSHIFT=average - 8)
    pool.set("RNDCTRL", OBYTES=2)
    pool.set("MULVAL", MULVAL=round(2.0**average / area))
    state.link(("POOL", 0, 0), (last, 1, 0))
    ratio = given.scales[2] / given.scales[3]
    end = _normal(ratio)
    constant = round((-given.zeros[1] * ratio + given.zeros[2]) * 2.0**end)
    unit = build.arithmetic(state, 2, CTRL={"COMBINEBC": 1}, SHIFT={"AX": 8, "RES": end})
    unit.set("INSHIFTER", FBYTESX=2)
    unit.set("COEFFAC", A=round(ratio * 2.0**end), C=constant & 0xFFFF)
    unit.set("COEFFB", B=constant >> 16 & 0xFFFF)
    state.link(("ARITH", 2, 0), (("POOL", 0), 1, 0))
    build.engine(state, 9, _OUT, group, frames=frames, write=True)
    state.link(("STRENG", 9, 0), (("ARITH", 2), 1, 0))
    return state


def _convolutions(
    state: NpuState, given: Recorded, shift: int, rows: tuple[int, ...], group: int, memory: NpuMemory
) -> None:
    """One accelerator per part of the kernel's rows, each adding to the sums of the one before."""
    _, height, width, depth = given.inputs.shape
    side = given.kernels.shape[1] // 2
    first, address = 0, _KERNELS
    for index, part in enumerate(rows):
        above, below = side - first, first + part - 1 - side
        taps = given.kernels[:, first : first + part].astype(np.int8).tobytes()
        memory.view(address, len(taps))[:] = np.frombuffer(taps, np.uint8)
        unit = build.convolution(state, index)
        unit.set("KFORMAT", WIDTH=2 * side + 1, HEIGHT=part, BTCDEPTH=depth, NR=group)
        unit.set("FFORMAT", WIDTH=width * depth, HEIGHT=height)
        unit.set("SAMPLE", LPAD=side, RPAD=side, TPAD=max(above, 0), BPAD=max(below, 0))
        # Rows that no kernel of this part reaches are cut off.
        unit.set("FVCROP", TOP=max(-above, 0), BOTTOM=height - 1 - max(-below, 0))
        unit.set("DFORMAT", OUTSHIFT=shift, INSHIFT=shift)
        unit.set("FSUB", FSUB=given.zeros[0])
        unit.set("CTRL", NOSUM=int(index == 0), NO1SUM=0)
        build.engine(state, index, _IN, height * width * depth, frames=len(given.kernels) // group, step=0)
        build.engine(state, 4 + index, address, len(taps))
        state.link(("CONVACC", index, 0), (("STRENG", index), 1, 0))
        state.link(("CONVACC", index, 1), (("STRENG", 4 + index), 1, 0))
        if index:
            state.link(("CONVACC", index, 2), (("CONVACC", index - 1), 1, 0))
        first, address = first + part, address + len(taps)
    state.link(("ARITH", 0, 0), (("CONVACC", len(rows) - 1), 1, 0))


def _scales(state: NpuState, given: Recorded, shift: int, pixels: int, group: int) -> None:
    """Two multiplications by vectors: to the middle value of 16 bits, then to the output with the bias."""
    scale_in, scale_w, scale_out, _ = given.scales
    count = len(given.kernels)
    fraction = math.floor(14 - math.log2(255 * scale_out))
    factors = scale_in * scale_w * 2.0 ** (fraction + shift) * np.ones(count)
    first = _normal(factors.max())
    second = _normal(2.0**-fraction / scale_out)
    constants = np.round((given.bias * scale_in * scale_w / scale_out + given.zeros[1]) * 2.0**second).astype(np.int64)
    for index, (vector, constant, result, size) in enumerate(
        (
            (np.round(factors * 2.0**first).astype(np.int64), np.zeros(count, np.int64), first, 2),
            (np.full(count, round(2.0**-fraction / scale_out * 2**second)), constants, second, 1),
        )
    ):
        ctrl = {f"COEFF{n}": 1 for n in "ABC"} | {f"CNT{n}": 1 for n in (1, 2, 3)}
        unit = build.arithmetic(state, index, CTRL={**ctrl, "COMBINEBC": 1, "OBYTES": size}, SHIFT={"RES": result})
        unit.set("INSHIFTER", FBYTESX=2)
        unit.set("RSTCNT1", RSTCNT=group - 1)
        unit.set("RSTCNT2", RSTCNT=pixels * group - 1)
        unit.set("RSTCNT3", RSTCNT=pixels * count - 1)
        unit.set("INCOFFSET", VAL=1)
        unit.set("ADDROFFSET", OFFSET1=-(group - 1), OFFSET2=1, OFFSET3=-(count - 1))
        for entry in range(count):
            c = int(constant[entry])
            unit.coefficients[2 * entry] = int(vector[entry]) & 0xFFFF | (c >> 16 & 0xFFFF) << 16
            unit.coefficients[2 * entry + 1] = c & 0xFFFF
    state.link(("ARITH", 1, 0), (("ARITH", 0), 1, 0))


def _pool(state: NpuState, index: int, kind: int, size: tuple[int, int], out: tuple[int, int], group: int) -> UnitState:
    unit = build.setup(state, "POOL", index, CTRL={"TYPE": kind, "FBYTES": 1, "ROUND": 1, "SAT": 1})
    unit.set("RNDCTRL", OBYTES=1, ORNDMODE=1)
    unit.set("PDIMS", BSIZE=group)
    unit.set("FDIMS", FEATX=size[1] * group, FEATY=size[0])
    unit.set("OUTDIMS", FEATX=out[1], FEATY=out[0])
    return unit
