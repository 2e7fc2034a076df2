"""The registers of the NPU as a table of facts: units, offsets, fields, values after reset.

From public headers of the STM32N6 and from running public networks. Words of 32 bits; a field
that is not listed is not used by the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# Where the NPU stands in the STM32N6, and how far its units are apart.
BASE_SECURE, BASE = 0x580E0000, 0x480E0000
SIZE, STRIDE = 0x20000, 0x1000
EN, CLR, CONFCLR, RUNNING = 1 << 0, 1 << 1, 1 << 30, 1 << 31
# Windows of coefficient memories: offset of the first word, number of words.
ARITH_WINDOW, ACTIV_ROM0, ACTIV_ROM1 = (0x400, 768), (0x400, 32), (0x800, 256)

# Kind, first ip, instances, type/major.minor of VERSION, more bits of VERSION; below: its registers
# with "field high:low=reset". One without fields has 32 bits; behind "=" stands its value after reset.
_TABLE = """
CLKCTRL 0x00 1 0x1f/1.2 0
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
 AGATES0 0x8
 AGATES1 0xc
 BGATES 0x10
INTCTRL 0x01 1 0x1e/1.1 0x04200000
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
 INTREG 0x8
 INTSET 0xc
 INTCLR 0x10
 INTORMSK0 0x14 =0xffffffff
 INTORMSK1 0x18 =0xffffffff
 INTORMSK2 0x1c =0xffffffff
 INTORMSK3 0x20 =0xffffffff
 INTANDMSK0 0x24 =0xffffffff
 INTANDMSK1 0x28 =0xffffffff
 INTANDMSK2 0x2c =0xffffffff
 INTANDMSK3 0x30 =0xffffffff
BUSIF 0x02 2 0x1d/5.0 0
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
STRSWITCH 0x04 1 0x00/1.6 0x291b0000
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
STRENG 0x05 10 0x01/5.0 0x3e0000
 CTRL 0x0 EN 0 CLR 1 SINGLE 2 DIR 3 NOINC 4 ISTART 5 SUBSAMPLE 6 CONT 7 RAW 8 RAW_OUT 9 \
DESCR 10 \
NOBLK 11 ROUND 12 BEFORCE 13 LSBMODE 14 SIGNEXT 15 SIZE0 19:16 SIZE1 23:20 SIZE2 27:24 \
SERDES 29:28 CONFCLR 30 RUNNING 31
 ADDR 0x8
 FSIZE 0xc WIDTH 15:0 HEIGHT 31:16
 DEPTH 0x10 SIZE 15:0 OFFSET 31:16
 STRD 0x14 LOFF 15:0 FGAP 21:16 BGAP 29:24
 FOFFSET 0x18
 FRAME_RPT 0x1c
 FRPTOFF 0x20
 POS 0x24 POS0 1:0=0 POS1 3:2=1 POS2 5:4=2 WSWAP 8 HSWAP 9 BSWAP 10 THROTTLE 15:12 \
GAPCYCLES 31:16=8
 EVENT 0x28 EN_OFLOW_FRM 19 EN_ILLCFG 20 FRMTRG_EN 23 FRMTRG_SRC 28:24
 STOPTAG 0x2c EN 0 TAG 31:16=65497
 LIMITEN 0x30 ADDRLIMIT 0 STOPPREFTC 1=1 FRAMELIMIT 2 AUTOCLR 3 DOFF_MSB 31:16
 LIMIT 0x34
 LIMITADDR 0x38
 IRQ 0x3c RAW_OFLOW_FRM 3
 ENCR_LSB 0x40
 ENCR_MSB 0x44 EN 12
 CID_CACHE 0x48 LOFF_MSB 31:16
 EXTSYNC 0x4c EN 0
CONVACC 0x0f 4 0x17/5.1 0x60000
 CTRL 0x0 EN 0 CLR 1 NOSUM 2 KT1 3 NO1SUM 4 SIMD 6:5 AFILTMODE 9:8 GEN1SUM 10 FC 11 FUNSIGNED 20 \
KUNSIGNED 21 KSETEN 23:22 FSTAT 24 DEEPMODE 28 DSS2MODE 29 CONFCLR 30
 KFORMAT 0x8 WIDTH 7:0=3 HEIGHT 15:8=3 BTCDEPTH 23:16=1 NR 31:24=1
 SAMPLE 0xc LPAD 1:0 RPAD 3:2 TPAD 5:4 BPAD 7:6 HSTRD 10:8=1 VSTRD 14:12=1 FSTATCNT 31:16
 DFORMAT 0x10 INSHIFT 5:0=8 FRNDMODE 7:6 OUTSHIFT 13:8=8 ORNDMODE 15:14 ROUND 16 SAT 17 RAW 18 \
OBYTES 21:20=3 FBYTES 23:22=2 FSHIFT 29:24=16 FROUND 30 FSAT 31
 FFORMAT 0x14 WIDTH 15:0=65535 HEIGHT 31:16=65535
 FHCROP 0x18 LEFT 15:0 RIGHT 31:16=65535
 FVCROP 0x1c TOP 15:0 BOTTOM 31:16=65535
 KFILT 0x20 TOT 7:0=1 FIRST 15:8 LAST 23:16
 AFILT 0x24 TOT 7:0=1 FIRST 15:8 LAST 23:16
 ZFRAME 0x28 LEFT 7:0 RIGHT 15:8 TOP 23:16 BOTTOM 31:24
 ITER 0x2c PERIOD 15:0 NUMBER 19:16
 FSUB 0x30 FSUB 23:0
 ZFBIAS 0x34 ZFBIAS 15:0
DECUN 0x13 2 0x19/1.10 0
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
ACTIV 0x15 2 0x1b/1.1 0
 CTRL 0x0 EN 0 CLR 1 TYPE 3:2 FBYTES 7:6=2 FSHIFT 13:8=16 FROUND 14 FSAT 15 FRNDMODE 17:16 \
FOBYTES 19:18=2 ROUND 20 SAT 21 OBYTES 23:22=2 ORNDMODE 25:24 CONFCLR 30
 ACTIVPARAM 0x8 PARAM 15:0 FUNC 19:16
 FUNC 0xc OUTSHIFT 5:0 CSHIFT 11:6 BSHIFT 16:12 SIGNEDOP 20 BWIDTH 25:23
 ACTIVPARAM2 0x10 PARAM2 15:0
 FSUB 0x14 FSUB 23:0
ARITH 0x17 4 0x1a/1.0 0
 CTRL 0x0 EN 0 CLR 1 CNT1 2 CNT2 3 CNT3 4 ROUND 5 SAT 6 COEFFA 7 DUALIN 8 OP 14:9 COEFFB 21 \
COEFFC 22 LOGICALOP 23 ORNDMODE 25:24 OBYTES 27:26=2 COMBINEBC 28 CLIPOUT 29 CONFCLR 30
 SHIFT 0x8 AX 4:0 BY 9:5 C 14:10 RES 20:15
 INCCNT 0xc INCVAL 26:0
 RSTCNT1 0x10 RSTCNT 26:0
 RSTCNT2 0x14 RSTCNT 26:0
 RSTCNT3 0x18 RSTCNT 26:0
 COEFFAC 0x1c A 15:0 C 31:16
 COEFFB 0x20 B 15:0
 ADDROFFSET 0x24 OFFSET1 8:0 OFFSET2 17:9 OFFSET3 26:18
 INCOFFSET 0x28 VAL 8:0
 TRANSLATEADDR 0x2c EN 0
 COEFFADDR 0x30 ADDR 8:0
 INSHIFTER 0x34 FBYTESX 1:0=2 FSHIFTX 7:2=16 FROUNDX 8 FSATX 9 FRNDMODEX 11:10 FOBYTESX 13:12=2 \
FBYTESY 17:16=2 FSHIFTY 23:18=16 FROUNDY 24 FSATY 25 FRNDMODEY 27:26 FOBYTESY 29:28=2
 CLIPRANGE 0x38 CLIPMAX 15:0 CLIPMIN 31:16
POOL 0x1b 2 0x1c/1.1 0
 CTRL 0x0 EN 0 CLR 1 TYPE 5:2 ROUND 6 SAT 7 OUTSHIFT 13:8 DUALLINE 14 CROPEN 15 FBYTES 17:16=2 \
FSHIFT 23:18=16 FROUND 24 FSAT 25 CONFCLR 30
 PDIMS 0x8 WINX 2:0 WINY 5:3 STRDX 9:6 STRDY 13:10 TPAD 16:14 BPAD 19:17 LPAD 22:20 RPAD 25:23 \
BSIZE 29:26
 FDIMS 0xc FEATX 11:0 FEATY 27:16
 OUTDIMS 0x10 FEATX 11:0 FEATY 27:16
 MULVAL 0x14 MULVAL 15:0
 XCROP 0x18 LCROP 11:0 RCROP 27:16
 YCROP 0x1c TCROP 11:0 BCROP 27:16
 RNDCTRL 0x20 FOBYTES 1:0=2 FRNDMODE 3:2 OBYTES 17:16=2 ORNDMODE 19:18
RECBUF 0x1d 1 0x20/3.2 0
 CTRL 0x0 EN 0 CLR 1 CONFCLR 30
EPOCHCTRL 0x1e 1 0x21/1.1 0x0f040000
 CTRL 0x0 EN 0 CLR 1 AUTOCLR 2 SM 3 CONFCLR 30 RUNNING 31
 ADDR 0x8
 IRQ 0xc IRQ 0
 ENCR_LSB 0x10
 ENCR_MSB 0x14 EN 12
 CID_CACHE 0x18
 LABEL 0x1c
 BC 0x20
"""


@dataclass(frozen=True)
class RegisterField:
    """Some bits of a register."""

    name: str
    low: int  # Number of its lowest bit
    width: int  # In bits
    reset: int  # Its value after reset


@dataclass(frozen=True)
class Register:
    """A word of a unit."""

    name: str
    offset: int  # Bytes from the unit's base
    reset: int  # The word after reset
    fields: dict[str, RegisterField]


@dataclass(frozen=True)
class UnitKind:
    """A kind of unit, and how many of it there are."""

    name: str
    first_ip: int  # Number of the first one: its base is that times 4 KiB
    count: int
    version: int  # The word of VERSION
    registers: dict[str, Register]  # By name

    @cached_property
    def by_offset(self) -> dict[int, Register]:
        """Its registers by their offsets."""
        return {register.offset: register for register in self.registers.values()}


def _field(name: str, place: str) -> RegisterField:
    bits, _, reset = place.partition("=")
    high, _, low = bits.rpartition(":")
    first = int(low)
    return RegisterField(name, first, int(high) - first + 1 if high else 1, int(reset or 0))


def _register(line: str) -> Register:
    name, offset, *rest = line.split()
    if rest and rest[0].startswith("="):
        return Register(name, int(offset, 0), int(rest[0][1:], 0), {})
    fields = [_field(word, place) for word, place in zip(rest[::2], rest[1::2], strict=True)]
    reset = sum(field.reset << field.low for field in fields)
    return Register(name, int(offset, 0), reset, {field.name: field for field in fields})


def _kinds(table: str) -> dict[str, UnitKind]:
    found = {}
    for part in re.split(r"\n(?=\w)", table.strip()):
        head, *lines = part.split("\n")
        name, first, count, version, more = head.split()
        numbers = re.split("[/.]", version)
        word = int(numbers[0], 0) | int(numbers[2]) << 8 | int(numbers[1]) << 12 | int(more, 0)
        registers = [_register(line) for line in lines]
        by_name = {register.name: register for register in registers}
        found[name] = UnitKind(name, int(first, 0), int(count), word, by_name)
    return found


KINDS = _kinds(_TABLE)
# Unit and number by ip.
UNITS = {kind.first_ip + i: (kind.name, i) for kind in KINDS.values() for i in range(kind.count)}
VERSION = 0x4

# The stream switch: sources by their number in a LINK field; destinations by their register's offset.
SOURCES = {
    first + i: (name, i)
    for name, first, count in (
        ("STRENG", 0, 10),
        ("CONVACC", 10, 4),
        ("DECUN", 14, 2),
        ("ACTIV", 16, 2),
        ("ARITH", 18, 4),
        ("POOL", 22, 2),
        ("RECBUF", 24, 3),
    )
    for i in range(count)
}
LINKS = {source: number for number, source in SOURCES.items()}
DESTINATIONS = {
    first + 4 * (ports * i + port): (name, i, port)
    for name, first, count, ports in (
        ("STRENG", 0x08, 10, 1),
        ("CONVACC", 0x30, 4, 3),
        ("DECUN", 0x60, 2, 2),
        ("ACTIV", 0x70, 2, 1),
        ("ARITH", 0x78, 4, 2),
        ("POOL", 0x98, 2, 1),
        ("RECBUF", 0xA0, 1, 3),
    )
    for i in range(count)
    for port in range(ports)
}
DESTINATION_AT = {port: offset for offset, port in DESTINATIONS.items()}
# The fields of a destination's register.
DESTINATION = _register("DST 0x0 EN0 0 LINK0 5:1 FNR0 15:8 EN1 16 LINK1 21:17 TICKTYPE 23 FNR1 31:24")


def place(kind: str, register: str, field: str = "") -> tuple[int, RegisterField]:
    """Byte offset of a register in its unit, and its field; without a name: all of its bits."""
    found = KINDS[kind].registers[register]
    return found.offset, found.fields[field] if field else RegisterField("", 0, 32, found.reset)


def put(word: int, field: RegisterField, value: int) -> int:
    """A word with a value in a field; more bits than the field has are cut off."""
    mask = (1 << field.width) - 1
    return (word & ~(mask << field.low)) | (value & mask) << field.low


def get(word: int, field: RegisterField, *, signed: bool = False) -> int:
    """The value of a field of a word, without a sign or in two's complement."""
    value = word >> field.low & ((1 << field.width) - 1)
    return value - (1 << field.width) if signed and value >> (field.width - 1) else value
