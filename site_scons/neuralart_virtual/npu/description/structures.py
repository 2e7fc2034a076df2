"""Structures of generated C as registers: one function per kind of unit.

Most members go to a field as they are; the rest follows what public headers and networks show. A value
that does not fit its field is an error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuralart_virtual.network_c.epochs import Structure
from neuralart_virtual.npu import registers
from neuralart_virtual.npu.description.values import StructureReader
from neuralart_virtual.npu.state import ARITH_ENTRIES, UnitState

# Register: fields and the members that they take; "+16" for shifts whose middle stands for none.
_PLAIN = {
    "STRENG": """
CTRL DIR=dir RAW=raw RAW_OUT=raw_out NOINC=noinc CONT=continuous NOBLK=noblk LSBMODE=align_right
FOFFSET =frame_offset
FRPTOFF =loop_offset
FRAME_RPT =frame_loop_cnt
LIMIT =frame_tot_cnt
ENCR_MSB EN=cipher_en
""",
    "CONVACC": """
CTRL GEN1SUM=accumulate_gen_first AFILTMODE=afilt_mode SIMD=simd KT1=kt1_mode KSETEN=kseten
CTRL FUNSIGNED=f_unsigned KUNSIGNED=k_unsigned FSTAT=fstat DEEPMODE=deepmode DSS2MODE=dss2mode
DFORMAT FROUND=rounding_f FSAT=saturation_f FRNDMODE=round_mode_f FBYTES=inbytes_f FSHIFT+16=shift_f
DFORMAT ROUND=rounding_o SAT=saturation_o OBYTES=outbytes_o OUTSHIFT=shift_o RAW=raw_o
DFORMAT INSHIFT=shift_a
FFORMAT HEIGHT=fHeight
KFORMAT WIDTH=kernelWidth HEIGHT=kernelHeight BTCDEPTH=batchDepth NR=nKernels
SAMPLE HSTRD=hstride VSTRD=vstride FSTATCNT=fstatcnt
FSUB FSUB=fsub
ZFBIAS ZFBIAS=zfbias
""",
    "ARITH": """
CTRL ROUND=rounding_o SAT=saturation_o OBYTES=outbytes_o DUALIN=dualinput COMBINEBC=combinebc
CTRL CLIPOUT=clipout OP=operation
INSHIFTER FBYTESX=inbytes_x FSHIFTX+16=shift_x FROUNDX=rounding_x FSATX=saturation_x
INSHIFTER FRNDMODEX=round_mode_x FOBYTESX=outbytes_x
INSHIFTER FBYTESY=inbytes_y FSHIFTY+16=shift_y FROUNDY=rounding_y FSATY=saturation_y
INSHIFTER FRNDMODEY=round_mode_y FOBYTESY=outbytes_y
SHIFT AX=Ax_shift BY=By_shift C=C_shift RES=shift_o
CLIPRANGE CLIPMIN=clipmin CLIPMAX=clipmax
""",
    "ACTIV": """
CTRL TYPE=operation FBYTES=inbytes_f FSHIFT+16=shift_f FROUND=rounding_f FSAT=saturation_f
CTRL FRNDMODE=round_mode_f FOBYTES=outbytes_f ROUND=rounding_o SAT=saturation_o OBYTES=outbytes_o
FUNC SIGNEDOP=signedop OUTSHIFT=shift_o BSHIFT=shift_b CSHIFT=shift_c BWIDTH=bwidth
ACTIVPARAM PARAM=parameter FUNC=shift_norm
ACTIVPARAM2 PARAM2=parameter_2
FSUB FSUB=fsub
""",
    "POOL": """
CTRL TYPE=operation ROUND=rounding_o SAT=saturation_o OUTSHIFT=shift_o FBYTES=inbytes_f
CTRL FSHIFT+16=shift_f FROUND=rounding_f FSAT=saturation_f DUALLINE=dualLine
RNDCTRL FOBYTES=outbytes_f FRNDMODE=round_mode_f OBYTES=outbytes_o
PDIMS WINX=poolWinX WINY=poolWinY STRDX=strideX STRDY=strideY TPAD=topPad BPAD=bottomPad
PDIMS LPAD=leftPad RPAD=rightPad BSIZE=batchSize
FDIMS FEATY=inputY
OUTDIMS FEATX=outputX FEATY=outputY
MULVAL MULVAL=mulval
YCROP TCROP=topCrop BCROP=bottomCrop
""",
}
# Padding inside the accelerator; what is more goes to ZFRAME.
_MOST_PADDING = 2
_SCALARS, _CHANNELS, _HEIGHT, _WIDTH, _PLANE = (
    f"ARITH_BCAST_{name}" for name in ("SCALAR", "CHAN", "HEIGHT", "WIDTH", "HEIGHT_WIDTH")
)


class Filler:
    """Fills the registers of one unit from one structure."""

    def __init__(self, reader: StructureReader, structure: Structure, unit: UnitState) -> None:
        """The unit gets its values after reset first."""
        self.reader, self.structure, self.unit = reader, structure, unit
        unit.reset()

    def number(self, member: str) -> int:
        """A member; 0 if the structure does not have it."""
        return self.reader.number(self.structure, member)

    def set(self, register: str, field: str, value: int, member: str) -> None:
        """Set a field. NeuralArtError: the value of the member does not fit."""
        offset, bits = registers.place(self.unit.kind, register, field)
        if not -(1 << (bits.width - 1)) <= value < 1 << bits.width:
            where = f"{register}.{field}" if field else register
            what = f"gives {value}, more than the {bits.width} bits of {self.unit.kind} {where}"
            raise self.reader.error(self.structure, member, what)
        self.unit.words[offset] = registers.put(self.unit.word(offset), bits, value)

    def plain(self) -> None:
        """All fields that take a member as it is."""
        for line in _PLAIN[self.unit.kind].strip().split("\n"):
            register, *rules = line.split()
            for rule in rules:
                field, _, member = rule.partition("=")
                name, _, more = field.partition("+")
                self.set(register, name, self.number(member) + int(more or 0), member)

    def rounding(self, register: str) -> None:
        """ORNDMODE: bit 0 the mode, bit 1 the rectifier."""
        value = self.number("round_mode_o") | self.number("relu_mode_o") << 1
        self.set(register, "ORNDMODE", value, "round_mode_o")


def _stream(fill: Filler) -> None:
    fill.plain()
    number = fill.number
    fill.set("CTRL", "SINGLE", int(number("frame_tot_cnt") == 1), "frame_tot_cnt")
    extends = number("align_right") == 1 and number("nbits_unsigned") == 0
    fill.set("CTRL", "SIGNEXT", int(extends), "nbits_unsigned")
    _lanes(fill)
    base = fill.reader.address(fill.structure, "addr_base")
    start, limit = number("offset_start"), number("offset_limit")
    fill.set("ADDR", "", base + start, "offset_start")
    if number("raw"):
        bits = number("nbits_out") if number("dir") else number("nbits_in")
        whole = (number("offset_end") - start) * 8 // max(bits, 1)
        fill.set("FSIZE", "", number("frame_count") or whole, "offset_end")
    else:
        fill.set("FSIZE", "WIDTH", number("fwidth"), "fwidth")
        fill.set("FSIZE", "HEIGHT", number("fheight"), "fheight")
        fill.set("DEPTH", "SIZE", number("batch_depth"), "batch_depth")
        pixel = number("batch_offset")
        line = number("line_offset") or number("fwidth") * pixel
        fill.set("DEPTH", "OFFSET", pixel & 0xFFFF, "batch_offset")
        fill.set("LIMITEN", "DOFF_MSB", pixel >> 16, "batch_offset")
        fill.set("STRD", "LOFF", line & 0xFFFF, "line_offset")
        fill.set("CID_CACHE", "LOFF_MSB", line >> 16, "line_offset")
    fill.set("LIMITEN", "FRAMELIMIT", 1, "frame_tot_cnt")
    if limit:
        fill.set("LIMITEN", "ADDRLIMIT", 1, "offset_limit")
        fill.set("LIMITADDR", "", base + limit - 1, "offset_limit")
    if number("sync_with_other") and not number("dir"):
        fill.set("EVENT", "FRMTRG_EN", 1, "sync_with_other")
        fill.set("EVENT", "FRMTRG_SRC", number("sync_dma"), "sync_dma")


def _lanes(fill: Filler) -> None:
    """Bits in the three byte lanes of a stream; the difference of widths is a gap in memory."""
    memory, stream = fill.number("nbits_in"), fill.number("nbits_out")
    if fill.number("dir"):
        memory, stream = stream, memory
    if memory > stream:
        gap = "FGAP" if fill.number("mem_lsb") else "BGAP"
        fill.set("STRD", gap, memory - stream, "nbits_in")
        memory = stream
    sizes = [min(max(memory - 8 * lane, 0), 8) for lane in range(3)]
    lanes = 3 if stream > 16 else 2 if stream > 8 else 1
    if not fill.number("align_right"):
        # Bits stand at the upper end of the stream's lanes.
        sizes[:lanes] = sizes[:lanes][::-1]
    for lane, size in enumerate(sizes):
        fill.set("CTRL", f"SIZE{lane}", size, "nbits_in")


def _convolution(fill: Filler) -> None:
    fill.plain()
    fill.rounding("DFORMAT")
    number = fill.number
    fill.set("CTRL", "NOSUM", int(number("accumulate") == 0), "accumulate")
    fill.set("CTRL", "NO1SUM", int(number("accumulate_first") == 0), "accumulate_first")
    for prefix, used in (("afilt", number("afilt_mode") != 0), ("kfilt", number("kfilt_tot") > 0)):
        for name in ("TOT", "FIRST", "LAST") if used else ():
            member = f"{prefix}_{name.lower()}"
            fill.set(prefix.upper(), name, number(member), member)
    depth = number("batchDepth")
    fill.set("FFORMAT", "WIDTH", number("fWidth") * depth, "fWidth")
    inside = not (number("deepmode") or number("dss2mode") or number("zfbias"))
    for side, name, size, factor in (
        ("top", "TOP", "kernelHeight", 1),
        ("bot", "BOTTOM", "kernelHeight", 1),
        ("left", "LEFT", "kernelWidth", depth),
        ("right", "RIGHT", "kernelWidth", depth),
    ):
        member = f"{side}_padding"
        pads = number(member)
        near = max(min(pads, number(size) - 1, _MOST_PADDING), 0) if inside else 0
        fill.set("SAMPLE", f"{name[0]}PAD", near, member)
        fill.set("ZFRAME", name, (pads - near) * factor, member)
    if number("left_crop"):
        fill.set("FHCROP", "LEFT", number("left_crop") * depth, "left_crop")
    if number("right_crop"):
        fill.set("FHCROP", "RIGHT", number("right_crop") * depth + depth - 1, "right_crop")
    for side, name in (("top_crop", "TOP"), ("bot_crop", "BOTTOM")):
        if number(side):
            fill.set("FVCROP", name, number(side), side)


def _arithmetic(fill: Filler) -> None:
    fill.plain()
    fill.rounding("CTRL")
    for member, register, field in (
        ("A_scalar", "COEFFAC", "A"),
        ("C_scalar", "COEFFAC", "C"),
        ("B_scalar", "COEFFB", "B"),
    ):
        fill.set(register, field, fill.number(member) & 0xFFFF, member)
    if not fill.number("scalar"):
        _counters(fill)


def _counters(fill: Filler) -> None:
    """Vectors of coefficients, and the counters that walk through them."""
    name = fill.structure.members.get("bcast", "")
    depth, width = fill.number("batchDepth"), fill.number("fWidth")
    height, channels = fill.number("fHeight"), fill.number("fChannels")
    # Entries, elements of an entry, elements until the first entry comes again.
    rules = {
        _SCALARS: (1, 1, 0),
        _CHANNELS: (channels, 1, depth),
        _HEIGHT: (height, width * depth, width * height * depth),
        _WIDTH: (width, depth, width * depth),
        _PLANE: (height * width, depth, height * width * depth),
    }
    if name not in rules:
        raise fill.reader.error(fill.structure, "bcast", f"is '{name[:60]}', which is unknown")
    count, run, period = rules[name]
    vector = name == _CHANNELS
    for field, value in {"COEFFA": 1, "COEFFB": 1, "COEFFC": 1, "CNT1": 1}.items():
        fill.set("CTRL", field, value, "scalar")
    fill.set("CTRL", "CNT2", int(vector), "bcast")
    fill.set("CTRL", "CNT3", int(vector), "bcast")
    fill.set("INCCNT", "INCVAL", max(run - 1, 0), "batchDepth")
    fill.set("RSTCNT1", "RSTCNT", max(period - 1, 0), "batchDepth")
    fill.set("INCOFFSET", "VAL", int(name != _SCALARS), "bcast")
    back = depth - 1 if vector else count - 1
    fill.set("ADDROFFSET", "OFFSET1", -back & 0x1FF, "batchDepth")
    if vector:
        fill.set("RSTCNT2", "RSTCNT", width * height * depth - 1, "fWidth")
        fill.set("RSTCNT3", "RSTCNT", width * height * channels - 1, "fChannels")
        fill.set("ADDROFFSET", "OFFSET2", 1, "fChannels")
        fill.set("ADDROFFSET", "OFFSET3", -(channels - 1) & 0x1FF, "fChannels")
    _coefficients(fill, min(count, ARITH_ENTRIES))


def _coefficients(fill: Filler, count: int) -> None:
    reader, structure = fill.reader, fill.structure
    precision = reader.numbers(structure, "vec_precision") or (16, 16, 16)
    if len(precision) != 3:
        raise reader.error(structure, "vec_precision", f"has {len(precision)} numbers, not 3")
    columns = {}
    for name, bits in zip("ABC", precision, strict=True):
        scalar = fill.number(f"{name}_scalar")
        values = reader.vector(structure, f"{name}_vector", count, bits)
        if values is not None and name == "C" and scalar == -1:
            values = [-value for value in values]
        columns[name] = values if values is not None else [scalar] * count
    for entry in range(count):
        a, b, c = (columns[name][entry] for name in "ABC")
        if fill.number("combinebc"):
            b, c = c >> 16, c & 0xFFFF
        fill.unit.coefficients[2 * entry] = (a & 0xFFFF) | (b & 0xFFFF) << 16
        fill.unit.coefficients[2 * entry + 1] = c & 0xFFFF


def _activation(fill: Filler) -> None:
    fill.plain()
    fill.rounding("CTRL")
    sizes = {"ROM0": registers.ACTIV_ROM0[1], "ROM1": registers.ACTIV_ROM1[1] // 2 * 6}
    found = {}
    for name, most in sizes.items():
        address, size = fill.reader.address(fill.structure, f"{name}_vector"), fill.number(f"{name}_nbytes")
        if not 0 <= size <= most:
            raise fill.reader.error(fill.structure, f"{name}_nbytes", f"is {size}, at most {most}")
        member = f"{name}_vector"
        found[name] = fill.reader.bytes(fill.structure, member, address, size).tobytes() if size else b""
    outer = np.frombuffer(found["ROM0"], np.uint8)
    fill.unit.coefficients[: len(outer)] = outer
    inner = np.frombuffer(found["ROM1"][: len(found["ROM1"]) // 6 * 6], "<u2").reshape(-1, 3).astype(np.uint32)
    first = registers.ACTIV_ROM0[1]
    fill.unit.coefficients[first : first + 2 * len(inner) : 2] = inner[:, 0] | inner[:, 1] << np.uint32(16)
    fill.unit.coefficients[first + 1 : first + 2 * len(inner) : 2] = inner[:, 2]


def _pooling(fill: Filler) -> None:
    fill.plain()
    fill.rounding("RNDCTRL")
    number, depth = fill.number, fill.number("batchSize")
    for member in ("avgnopad", "pad_val_en"):
        if number(member):
            raise fill.reader.error(fill.structure, member, "is set: this chip does not have it")
    fill.set("CTRL", "CROPEN", 1, "leftCrop")
    fill.set("FDIMS", "FEATX", number("inputX") * depth, "inputX")
    fill.set("XCROP", "LCROP", number("leftCrop") * depth, "leftCrop")
    fill.set("XCROP", "RCROP", number("rightCrop") * depth + depth - 1, "rightCrop")


FILLERS: dict[str, tuple[str, Callable[[Filler], None]]] = {
    "LL_Streng_TensorInit": ("STRENG", _stream),
    "LL_Convacc_Init": ("CONVACC", _convolution),
    "LL_Arithacc_Init": ("ARITH", _arithmetic),
    "LL_Activacc_Init": ("ACTIV", _activation),
    "LL_Poolacc_Init": ("POOL", _pooling),
}
