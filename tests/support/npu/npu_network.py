"""A small compiled network of our own, in both forms: structures of network.c, and a program of the epoch controller.

Four hardware epochs and two software ones. The structures and the registers are written down one
beside the other, each as its reader wants it; nothing turns the one into the other.

    1  a copy without sign: x + 128
    2  convolution 3x3 of 4 channels to 8, multiplication by a vector, bias, maximum of 2x2
    3  two accelerators, each with half of the channels, that share a stream of kernels; a function by segments
    4  global average
    5  dequantize, 6 softmax
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.npu.run import load
from neuralart_virtual.npu.state import NpuState
from support.npu import npu_build as build
from support.npu.npu_blob import Program

RAM, FLASH, NAME = 0x342E0000, 0x71000000, "made"
SIDE, DEPTH, COUNT = 6, 4, 8
HALF = SIDE // 2
# Bytes in RAM: input, copy, pooled, activation, average, real numbers, output.
INPUT, COPY, POOLED, ACTIVATED, AVERAGE, REALS, OUTPUT = 0, 0x100, 0x200, 0x300, 0x400, 0x500, 0x600
# Bytes in flash.
KERNELS, FACTORS, CONSTANTS, SECOND, OUTER, INNER, SCALE, ZERO = 0, 0x200, 0x240, 0x300, 0x400, 0x440, 0x500, 0x510
SIZE = 0x520
IN_ELEMENTS, MIDDLE, COARSE = SIDE * SIDE * DEPTH, SIDE * SIDE * COUNT, HALF * HALF * COUNT


@dataclass
class Weights:
    """What stands in flash."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def __post_init__(self) -> None:
        rng = self.rng
        self.kernels = rng.integers(-128, 128, (COUNT, 3, 3, DEPTH), dtype=np.int8)
        self.factors = rng.integers(8000, 16000, COUNT, dtype=np.int16)
        self.constants = rng.integers(-(1 << 22), 1 << 22, COUNT, dtype=np.int32)
        # Kernels of both halves of the channels, one behind the other.
        self.second = rng.integers(-128, 128, (2, COUNT, 4), dtype=np.int8)
        self.outer = np.array([0, 1, 66, 68], np.uint8)
        self.inner = rng.integers(-200, 200, (6, 3), dtype=np.int16)
        self.scale = np.array([0.125], np.float32)
        self.zero = np.array([-3], np.int8)

    def data(self) -> bytes:
        flash = bytearray(SIZE)
        for at, values in (
            *[(KERNELS, self.kernels), (FACTORS, self.factors), (CONSTANTS, self.constants), (SECOND, self.second)],
            *[(OUTER, self.outer), (INNER, self.inner), (SCALE, self.scale), (ZERO, self.zero)],
        ):
            flash[at : at + values.nbytes] = values.tobytes()
        return bytes(flash)


@dataclass
class Epoch:
    """An epoch in both forms."""

    number: int
    units: list[tuple[str, int, dict[str, Any]]]  # Call, unit, members of its structure
    links: list[tuple[tuple[str, int, int], tuple[str, int]]]
    state: NpuState  # The same as registers


def epochs(weights: Weights) -> list[Epoch]:
    """The hardware epochs."""
    return [_copy(), _first(weights), _second(weights), _average()]


def _link(state: NpuState, links: list[tuple[tuple[str, int, int], tuple[str, int]]]) -> None:
    for destination, source in links:
        state.link(destination, (source, 1, 0))


def _raw(direction: int, base: int, start: int, size: int, frames: int = 1, **more: Any) -> dict[str, Any]:
    """Members of a raw stream of bytes."""
    place = f"{{(unsigned char *)(0x{base:08x}UL) /* Equivalent hex address = 0x{base:08x}UL */}}"
    members = {"dir": direction, "raw": 1, "addr_base": place, "offset_start": start, "offset_end": start + size}
    members |= {"offset_limit": start + size + 64, "frame_offset": size, "frame_tot_cnt": frames}
    return {**members, "nbits_in": 8, "nbits_out": 8, **more}


_ROUNDED = {"rounding_o": 1, "saturation_o": 1, "round_mode_o": 1}
_BYTES = {"inbytes_x": 1, "outbytes_x": 1, "inbytes_y": 1, "outbytes_y": 1}


def _copy() -> Epoch:
    arith = {**_BYTES, "round_mode_o": 1, "outbytes_o": 1, "shift_o": 14, "scalar": 1, "combinebc": 1}
    arith |= {"operation": "ARITH_AFFINE", "bcast": "ARITH_BCAST_SCALAR", "A_scalar": 16384, "B_scalar": 32}
    arith |= {"C_scalar": "(short)0", "A_vector": "{0}"}
    units = [
        ("Arithacc", 0, arith),
        ("Streng_Tensor", 9, _raw(0, RAM, INPUT, IN_ELEMENTS)),
        ("Streng_Tensor", 4, _raw(1, RAM, COPY, IN_ELEMENTS)),
    ]
    links = [(("ARITH", 0, 0), ("STRENG", 9)), (("STRENG", 4, 0), ("ARITH", 0))]
    state = NpuState()
    build.arithmetic(
        state, CTRL={"ROUND": 0, "SAT": 0, "COMBINEBC": 1}, SHIFT={"RES": 14}, COEFFAC={"A": 16384}, COEFFB={"B": 32}
    )
    build.engine(state, 9, RAM + INPUT, IN_ELEMENTS)
    build.engine(state, 4, RAM + COPY, IN_ELEMENTS, write=True)
    _link(state, links)
    return Epoch(1, units, links, state)


def _address(offset: int) -> str:
    return f"{{((unsigned char *)(ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR(0x{FLASH:08x}UL + {offset})))}}"


def _first(weights: Weights) -> Epoch:
    conv = {**_ROUNDED, "simd": 1, "f_unsigned": 1, "fsub": 128, "inbytes_f": 1, "shift_o": 4, "outbytes_o": 2}
    conv |= {"fWidth": SIDE, "fHeight": SIDE, "kernelWidth": 3, "kernelHeight": 3, "nKernels": COUNT}
    conv |= {"batchDepth": DEPTH, "hstride": 1, "vstride": 1, "right_crop": SIDE - 1, "bot_crop": SIDE - 1}
    conv |= {f"{side}_padding": 1 for side in ("left", "right", "top", "bot")}
    by_channel = {"scalar": 0, "operation": "ARITH_AFFINE", "bcast": "ARITH_BCAST_CHAN", "fWidth": SIDE}
    by_channel |= {"fHeight": SIDE, "fChannels": COUNT, "batchDepth": COUNT, "inbytes_x": 2, "outbytes_x": 2}
    by_channel |= _ROUNDED
    factor = {**by_channel, "outbytes_o": 2, "shift_o": 14, "A_scalar": 1, "A_vector": _address(FACTORS)}
    factor |= {"vec_precision": "{16, 16, 16}"}
    constant = {**by_channel, "outbytes_o": 1, "shift_o": 20, "A_scalar": 17929, "combinebc": 1}
    constant |= {"C_vector": _address(CONSTANTS), "vec_precision": "{16, 16, 32}"}
    pool = {**_ROUNDED, "operation": "POOL_MAX", "inputX": SIDE, "inputY": SIDE, "outputX": HALF, "outputY": HALF}
    pool |= {"poolWinX": 2, "poolWinY": 2, "strideX": 2, "strideY": 2, "batchSize": COUNT, "inbytes_f": 1}
    pool |= {"outbytes_f": 1, "outbytes_o": 1, "rightCrop": SIDE - 1, "bottomCrop": SIDE - 1}
    units = [
        *[("Convacc", 1, conv), ("Arithacc", 0, factor), ("Arithacc", 3, constant), ("Poolacc", 1, pool)],
        ("Streng_Tensor", 8, _raw(0, RAM, COPY, IN_ELEMENTS)),
        ("Streng_Tensor", 7, _raw(0, FLASH, KERNELS, weights.kernels.size)),
        ("Streng_Tensor", 2, _raw(1, RAM, POOLED, COARSE)),
    ]
    links = [(("CONVACC", 1, 0), ("STRENG", 8)), (("CONVACC", 1, 1), ("STRENG", 7)), (("ARITH", 0, 0), ("CONVACC", 1))]
    links += [(("ARITH", 3, 0), ("ARITH", 0)), (("POOL", 1, 0), ("ARITH", 3)), (("STRENG", 2, 0), ("POOL", 1))]
    state = NpuState()
    unit = build.convolution(state, 1, CTRL={"FUNSIGNED": 1}, DFORMAT={"OUTSHIFT": 4}, FSUB={"FSUB": 128})
    unit.set("KFORMAT", WIDTH=3, HEIGHT=3, BTCDEPTH=DEPTH, NR=COUNT)
    unit.set("FFORMAT", WIDTH=SIDE * DEPTH, HEIGHT=SIDE)
    unit.set("SAMPLE", TPAD=1, BPAD=1, LPAD=1, RPAD=1)
    unit.set("FHCROP", RIGHT=SIDE * DEPTH - 1)
    unit.set("FVCROP", BOTTOM=SIDE - 1)
    _by_channel(state, 0, 14, 2, [(int(a), 0) for a in weights.factors])
    _by_channel(state, 3, 20, 1, [(17929, int(c)) for c in weights.constants])
    unit = build.setup(state, "POOL", 1, CTRL={"FBYTES": 1, "ROUND": 1, "SAT": 1, "CROPEN": 1})
    unit.set("RNDCTRL", FOBYTES=1, OBYTES=1, ORNDMODE=1)
    unit.set("PDIMS", WINX=2, WINY=2, STRDX=2, STRDY=2, BSIZE=COUNT)
    unit.set("FDIMS", FEATX=SIDE * COUNT, FEATY=SIDE)
    unit.set("OUTDIMS", FEATX=HALF, FEATY=HALF)
    unit.set("XCROP", RCROP=SIDE * COUNT - 1)
    unit.set("YCROP", BCROP=SIDE - 1)
    build.engine(state, 8, RAM + COPY, IN_ELEMENTS)
    build.engine(state, 7, FLASH + KERNELS, weights.kernels.size)
    build.engine(state, 2, RAM + POOLED, COARSE, write=True)
    _link(state, links)
    return Epoch(2, units, links, state)


def _by_channel(state: NpuState, index: int, shift: int, size: int, entries: list[tuple[int, int]]) -> None:
    """An arithmetic unit with A and a constant of 32 bits for each channel, or of 16 bits if it is 0."""
    vector = {"COEFFA": 1, "COEFFB": 1, "COEFFC": 1, "CNT1": 1, "CNT2": 1, "CNT3": 1}
    combined = int(any(c for _, c in entries))
    unit = build.arithmetic(state, index, CTRL={**vector, "OBYTES": size, "COMBINEBC": combined}, SHIFT={"RES": shift})
    unit.set("INSHIFTER", FBYTESX=2, FOBYTESX=2)
    unit.set("RSTCNT1", RSTCNT=COUNT - 1)
    unit.set("RSTCNT2", RSTCNT=MIDDLE - 1)
    unit.set("RSTCNT3", RSTCNT=MIDDLE - 1)
    unit.set("INCOFFSET", VAL=1)
    unit.set("ADDROFFSET", OFFSET1=1 - COUNT, OFFSET2=1, OFFSET3=1 - COUNT)
    for entry, (a, c) in enumerate(entries):
        unit.coefficients[2 * entry] = a & 0xFFFF | (c >> 16 & 0xFFFF) << 16
        unit.coefficients[2 * entry + 1] = c & 0xFFFF


def _second(weights: Weights) -> Epoch:
    conv = {**_ROUNDED, "simd": 1, "inbytes_f": 1, "shift_o": 3, "outbytes_o": 2, "shift_a": 3, "fWidth": HALF}
    conv |= {"fHeight": HALF, "kernelWidth": 1, "kernelHeight": 1, "nKernels": COUNT, "batchDepth": 4, "hstride": 1}
    conv |= {"vstride": 1, "right_crop": HALF - 1, "bot_crop": HALF - 1, "kfilt_tot": 2 * COUNT}
    lower = {**conv, "kfilt_first": 0, "kfilt_last": COUNT - 1}
    upper = {**conv, "accumulate": 1, "accumulate_first": 1, "kfilt_first": COUNT, "kfilt_last": 2 * COUNT - 1}
    activ = {**_ROUNDED, "operation": "ACTIV_FUNC", "inbytes_f": 2, "outbytes_f": 2, "outbytes_o": 1, "shift_o": 9}
    activ |= {"shift_b": 6, "shift_c": 8, "bwidth": 2, "shift_norm": 5, "ROM0_vector": _address(OUTER)}
    activ |= {"ROM1_vector": _address(INNER), "ROM0_nbytes": 4, "ROM1_nbytes": 36}
    raster = {"raw": 0, "fwidth": HALF, "fheight": HALF, "batch_depth": 4, "batch_offset": COUNT}
    halves = [_raw(0, RAM, POOLED + start, COARSE, **raster) for start in (0, 4)]
    units = [
        *[("Convacc", 0, lower), ("Convacc", 3, upper), ("Activacc", 1, activ)],
        *[("Streng_Tensor", 0, halves[0]), ("Streng_Tensor", 1, halves[1])],
        ("Streng_Tensor", 6, _raw(0, FLASH, SECOND, weights.second.size)),
        ("Streng_Tensor", 5, _raw(1, RAM, ACTIVATED, COARSE)),
    ]
    links = [(("CONVACC", 0, 0), ("STRENG", 0)), (("CONVACC", 3, 0), ("STRENG", 1))]
    links += [(("CONVACC", 0, 1), ("STRENG", 6)), (("CONVACC", 3, 1), ("STRENG", 6))]
    links += [(("CONVACC", 3, 2), ("CONVACC", 0)), (("ACTIV", 1, 0), ("CONVACC", 3)), (("STRENG", 5, 0), ("ACTIV", 1))]
    state = NpuState()
    for index, first in ((0, 0), (3, COUNT)):
        unit = build.convolution(state, index, DFORMAT={"OUTSHIFT": 3, "INSHIFT": 3})
        unit.set("KFORMAT", BTCDEPTH=4, NR=COUNT)
        unit.set("FFORMAT", WIDTH=HALF * 4, HEIGHT=HALF)
        unit.set("KFILT", TOT=2 * COUNT, FIRST=first, LAST=first + COUNT - 1)
        unit.set("CTRL", NOSUM=int(index == 0), NO1SUM=int(index == 0))
        unit.set("FHCROP", RIGHT=HALF * 4 - 1)
        unit.set("FVCROP", BOTTOM=HALF - 1)
        engine = build.engine(state, index // 3, RAM + POOLED + 4 * (index // 3), COARSE)
        engine.set("CTRL", RAW=0)
        engine.set("FSIZE", WIDTH=HALF, HEIGHT=HALF)
        engine.set("DEPTH", SIZE=4, OFFSET=COUNT)
        engine.set("STRD", LOFF=HALF * COUNT)
    unit = build.setup(state, "ACTIV", 1, CTRL={"TYPE": 3, "FBYTES": 2, "ROUND": 1, "SAT": 1, "OBYTES": 1})
    unit.set("CTRL", ORNDMODE=1)
    unit.set("FUNC", OUTSHIFT=9, BSHIFT=6, CSHIFT=8, BWIDTH=2)
    unit.set("ACTIVPARAM", FUNC=5)
    unit.coefficients[: len(weights.outer)] = weights.outer
    for i, (a, b, c) in enumerate(weights.inner.tolist()):
        unit.coefficients[32 + 2 * i] = a & 0xFFFF | (b & 0xFFFF) << 16
        unit.coefficients[33 + 2 * i] = c & 0xFFFF
    build.engine(state, 6, FLASH + SECOND, weights.second.size)
    build.engine(state, 5, RAM + ACTIVATED, COARSE, write=True)
    _link(state, links)
    return Epoch(3, units, links, state)


def _average() -> Epoch:
    pool = {**_ROUNDED, "operation": "POOL_GAVG", "inputX": HALF, "inputY": HALF, "outputX": 1, "outputY": 1}
    pool |= {"batchSize": COUNT, "inbytes_f": 1, "outbytes_f": 1, "outbytes_o": 1, "rightCrop": HALF - 1}
    pool |= {"bottomCrop": HALF - 1, "mulval": 29127, "shift_o": 18}
    units = [
        ("Poolacc", 0, pool),
        ("Streng_Tensor", 3, _raw(0, RAM, ACTIVATED, COARSE)),
        ("Streng_Tensor", 1, _raw(1, RAM, AVERAGE, COUNT)),
    ]
    links = [(("POOL", 0, 0), ("STRENG", 3)), (("STRENG", 1, 0), ("POOL", 0))]
    state = NpuState()
    unit = build.setup(state, "POOL", CTRL={"TYPE": 10, "FBYTES": 1, "ROUND": 1, "SAT": 1, "OUTSHIFT": 18})
    unit.set("CTRL", CROPEN=1)
    unit.set("RNDCTRL", FOBYTES=1, OBYTES=1, ORNDMODE=1)
    unit.set("PDIMS", BSIZE=COUNT)
    unit.set("FDIMS", FEATX=HALF * COUNT, FEATY=HALF)
    unit.set("OUTDIMS", FEATX=1, FEATY=1)
    unit.set("XCROP", RCROP=HALF * COUNT - 1)
    unit.set("YCROP", BCROP=HALF - 1)
    unit.set("MULVAL", MULVAL=29127)
    build.engine(state, 3, RAM + ACTIVATED, COARSE)
    build.engine(state, 1, RAM + AVERAGE, COUNT, write=True)
    _link(state, links)
    return Epoch(4, units, links, state)


# ---- network.c ----

_UNITS = {"Streng_Tensor": "STRENG", "Convacc": "CONVACC", "Arithacc": "ARITH", "Activacc": "ACTIV", "Poolacc": "POOL"}


def _structures(epoch: Epoch) -> str:
    text, number = "", epoch.number
    for call, index, members in epoch.units:
        name = f"init_{call.lower()}_{index}_{number}"
        fields = "".join(f"    .{member} = {value},\n" for member, value in members.items())
        more, gap = (", 1", "") if call.startswith("Streng") else ("", "_")
        text += f"  static const LL_{call}{gap}InitTypeDef {name} = {{\n{fields}  }};\n\n"
        text += f"  LL_{call}{gap}Init({index}, &{name}{more});\n\n"
    rows = ""
    for (kind, index, port), (source, other) in epoch.links:
        rows += (
            f"    {{ LL_Switch_Init_Dest() = ATONN_DSTPORT(STRSWITCH, 0, {kind}, {index}, {port}), "
            f"LL_Switch_Init_Source(0) = ATONN_SRCPORT(STRSWITCH, 0, {source}, {other}, 0), "
            "LL_Switch_Init_Context(0) = 1, LL_Switch_Init_Frames(0) = 0, }, /* a link */\n"
        )
    text += f"  static const LL_Switch_InitTypeDef links_{number}[] = {{\n{rows}  }};\n\n"
    text += f"  LL_Switch_Init(links_{number}, {len(epoch.links)});\n\n"
    enabled = "".join(f"    {{ {{{_UNITS[call]}, {index}}} }},\n" for call, index, _ in epoch.units)
    text += f"  static const LL_ATON_EnableUnits_InitTypeDef all_{number}[] = {{\n{enabled}  }};\n\n"
    return text + f"  LL_ATON_EnableUnits_Init(all_{number}, {len(epoch.units)});\n"


def _tensor(name: str, offset: int, width: int, base: int = RAM) -> str:
    members = {"dim.tensor_b": 1, "dim.tensor_h": 1, "dim.tensor_w": 1, "dim.tensor_c": COUNT, "dim.num_elem": COUNT}
    members |= {f"stride.{axis}": COUNT * width for axis in "bhw"} | {"stride.c": width, "format.is_signed": 1}
    place = f"((unsigned char *)(ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR(0x{base:08x}UL + {offset})))"
    return "".join(f"    .{name}.{m} = {v},\n" for m, v in {**members, "mem.start_offset": place}.items())


def _constant(name: str, offset: int) -> str:
    place = f"((unsigned char *)(ATON_LIB_PHYSICAL_TO_VIRTUAL_ADDR(0x{FLASH:08x}UL + {offset})))"
    return (
        f"    .{name}.mem.start_offset = {place},\n    .{name}.format.is_signed = 1,\n    .{name}.dim.num_elem = 1,\n"
    )


def _software() -> dict[int, str]:
    dequantize = "  Dequantizelinear_sw_info first_info = {\n" + _tensor("general.input", AVERAGE, 1)
    dequantize += _constant("is", SCALE) + _constant("izp", ZERO) + _tensor("general.output", REALS, 4)
    dequantize += (
        "    .general.type = LL_SW_DEQUANTIZELINEAR,\n  };\n\n  ll_sw_forward_dequantizelinear(&first_info);\n"
    )
    softmax = "  Softmax_sw_info second_info = {\n" + _tensor("general.input", REALS, 4)
    softmax += _tensor("general.output", OUTPUT, 4) + "    .axis = 1,\n    .general.type = LL_SW_SOFTMAX,\n  };\n\n"
    softmax += "  LL_ATON_Cache_MCU_Invalidate_Range(0x342e0500UL, 32);\n  ll_sw_forward_softmax(&second_info);\n"
    return {5: dequantize, 6: softmax}


def _function(kind: str, number: int, body: str) -> str:
    head = f"static void LL_ATON_{kind}_EpochBlock_{number}(const void *epoch_block)\n{{\n"
    return head + f"  LL_ATON_LIB_UNUSED(epoch_block);\n\n{body}\n}}\n\n"


def _item(number: int, last: int, flag: str, functions: tuple[str, str], blob: str = "") -> str:
    lines = [f".start_epoch_block = {functions[0]}", f".end_epoch_block = {functions[1]}"]
    lines += [f".blob_address = (uintptr_t)({blob}_address)"] if blob else []
    lines += [f".flags = EpochBlock_Flags_epoch_start | EpochBlock_Flags_epoch_end | EpochBlock_Flags_{flag}"]
    lines += [f".epoch_num = {number}", f".last_epoch_num = {last}"]
    return "    {\n" + "".join(f"      {line},\n" for line in lines) + "    },\n"


def _buffer(name: str, base: int, start: int, size: int, kind: str, bits: int, shape: str, param: int = 0) -> str:
    fields = {"name": f'"{name}"', "addr_base": f"{{(unsigned char *)(0x{base:08x}UL)}}", "offset_start": start}
    fields |= {"offset_end": start + size, "offset_limit": start + size + 64, "is_user_allocated": 0}
    fields |= {"is_param": param, "epoch": 1, "batch": 4, "mem_shape": shape, "mem_ndims": 4, "chpos": "CHPos_Last"}
    fields |= {"type": f"DataType_{kind}", "nbits": bits, "ndims": 4, "shape": shape}
    return "    {\n" + "".join(f"      .{member} = {value},\n" for member, value in fields.items()) + "    },\n"


def _table(title: str, shape: tuple[int, ...], rows: str) -> str:
    numbers = ", ".join(map(str, shape))
    return (
        f"const LL_Buffer_InfoTypeDef *LL_ATON_{title}_Buffers_Info_{NAME}(void)\n{{\n"
        f"  static const uint32_t shape_{title.lower()}[] = {{ {numbers} }};\n"
        f"  static const LL_Buffer_InfoTypeDef buff_info[] = {{\n{rows}"
        "    {\n      .name = NULL,\n    }\n  };\n  return buff_info;\n}\n\n"
    )


def _pools() -> str:
    text = ""
    for index, fname, name, base, size, used, rights in (
        (0, "AXISRAM5", "npuRAM5", RAM, 458752, 0x620, "READ_WRITE"),
        (1, "xSPI2", "octoFlash", FLASH, 1 << 20, SIZE, "READ_ONLY"),
    ):
        text += f"/* global pool {index} is {used} B */\n"
        text += f"/* index={index} file postfix={fname} name={name} offset=0x{base:08x}  absolute_mode size={size} "
        text += f"{rights} use4initializers={'YES' if index else 'NO'} score=50  */\n"
    return text + "\n"


def _guard() -> str:
    numbers = zip(("MAJOR", "MINOR", "MICRO", "DEV"), (1, 1, 3, 275), strict=True)
    wrong = " || ".join(f"LL_ATON_VERSION_{part} != {number}" for part, number in numbers)
    return f'#if {wrong}\n#  error "another runtime"\n#endif\n\n'


def network_c(weights: Weights, *, controller: bool) -> str:
    """The text of network.c."""
    made = epochs(weights)
    text = _pools() + _guard()
    text += f'#include "{NAME}_ecblobs.h"\n\n' if controller else ""
    items = ""
    if controller:
        items += _item(1, 4, "blob", ("NULL", "NULL"), f"_ec_blob_{NAME}_1")
    else:
        for epoch in made:
            name = f"LL_ATON_Start_EpochBlock_{epoch.number}"
            text += _function("Start", epoch.number, _structures(epoch))
            items += _item(epoch.number, epoch.number, "pure_hw", (name, "NULL"))
    for number, body in _software().items():
        text += _function("End", number, body)
        items += _item(number, number, "pure_sw", ("NULL", f"LL_ATON_End_EpochBlock_{number}"))
    text += f"const EpochBlock_ItemTypeDef *LL_ATON_EpochBlockItems_{NAME}(void) {{\n"
    text += f"  static const EpochBlock_ItemTypeDef ll_atonn_rt_epoch_block_array[] = {{\n{items}"
    text += (
        "    {\n      .flags = EpochBlock_Flags_last_eb,\n    },\n  };\n  return ll_atonn_rt_epoch_block_array;\n}\n\n"
    )
    given = _buffer("image", RAM, INPUT, IN_ELEMENTS, "INT8", 8, "shape_input")
    given += _buffer("weights", FLASH, 0, SIZE, "INT8", 8, "shape_input", 1)
    text += _table("Input", (1, SIDE, SIDE, DEPTH), given)
    result = _buffer("scores", RAM, OUTPUT, 4 * COUNT, "FLOAT", 32, "shape_output")
    return text + _table("Output", (1, 1, 1, COUNT), result)


def program(weights: Weights) -> bytes:
    """The hardware epochs as a program of the epoch controller."""
    made = Program()
    for epoch in epochs(weights):
        made.epoch(epoch.number, epoch.state)
    made.end()
    return made.data()


def ecblobs_h(data: bytes) -> str:
    """The header with the program."""
    words = struct.unpack(f"<{len(data) // 8}Q", data)
    body = ",\n".join(f"  0x{word:016x}UL" for word in words)
    symbol = f"_ec_blob_{NAME}_1"
    text = f"static const uint64_t {symbol}[{len(words)}] =\n{{\n{body}\n}};\n\n#define {symbol}_address {symbol}\n"
    return text + f"#define LL_ATON_EC_MustDecryptBlob_{NAME}_{symbol} false\n"


def write(folder: Path, *, controller: bool) -> Path:
    """All files of the network; returns the path of network.c."""
    weights = Weights()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}.c"
    path.write_text(network_c(weights, controller=controller), encoding="utf-8")
    (folder / f"{NAME}_atonbuf.xSPI2.raw").write_bytes(weights.data())
    if controller:
        (folder / f"{NAME}_ecblobs.h").write_text(ecblobs_h(program(weights)), encoding="utf-8")
    return path


def image() -> bytes:
    """An input."""
    return np.random.default_rng(3).integers(-128, 128, IN_ELEMENTS, dtype=np.int8).tobytes()


def write_vectors(folder: Path, network: Path) -> None:
    """What the network computes on memory of its own."""
    alone = load(network)
    inputs = [image(), bytes(range(IN_ELEMENTS))]
    outputs = []
    for data in inputs:
        alone.set_input("image", data)
        outputs.append(alone.run().outputs["scores"].tobytes())
    given = golden.VectorTensor("another name", "int8", (1, SIDE, SIDE, DEPTH), IN_ELEMENTS)
    scores = golden.VectorTensor("its name in the model", "float32", (1, COUNT), 4 * COUNT)
    golden.write(folder, golden.Vectors("", (given,), (scores,), tuple(inputs), tuple(outputs)), "the test")
