"""``check-image``: each check with an image that passes and one that does not, and its exact words."""

from __future__ import annotations

import argparse
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuralart import boards
from neuralart.boards.types import BoardSection, Boot, FlashWindow, Machine, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.image import check_image, elf_facts
from neuralart.memory.image.image_facts import Attributes, Part
from neuralart.network.facts import to_json
from neuralart.text import image_header
from neuralart.text.image_header import VECTOR_TABLE
from support.boards import images
from support.boards.images import BASE, COPY, HEADER, STACK, TABLE, Sect, Symbol, facts, vectors
from support.projects import smallboard

CODE = TABLE + 0x80
STAMP = "0123456789abcdef"
NOP = b"\x00\xbf"


def said(image, board=None, machine="unicorn", networks=(), **more):
    """Findings as lines: ``level check: text``."""
    board = board or images.board()
    found = check_image.check(image, board, board.machines[machine], networks, **more)
    return [f"{finding.level} {finding.check}: {finding}" for finding in found]


def test_a_good_image_has_no_findings():
    assert said(facts()) == []
    assert said(facts(), machine="silicon") == []


# ---- vector table ----


def test_table_elsewhere():
    parts = (
        Part(".text", TABLE, TABLE, 0x80, NOP * 0x40, True),
        Part(".isr_vector", TABLE + 0x80, TABLE + 0x80, 0x40, vectors(handler=TABLE + 1)),
    )
    assert said(facts(parts=parts, code=None, functions=(), entry=TABLE + 1)) == [
        "error vector-table: the vector table is at 0x34000180, the boot loader of small takes it from 0x34000100 "
        "(link it to 0x34000100, behind 256 bytes for the header)"
    ]


def test_table_known_by_its_symbol():
    image = facts(
        symbols={"g_pfnVectors": TABLE + 0x80}, parts=(Part(".all", TABLE, TABLE, 0x200, bytes(0x200), True),)
    )
    assert said(image)[0].startswith("error vector-table: the vector table is at 0x34000180, the boot loader of small")


def test_table_through_the_other_alias():
    low = 0x1000_0000
    image = facts()
    moved = replace(
        image,
        parts=tuple(replace(part, run=part.run - low, load=part.load - low) for part in image.parts),
        code=tuple((a - low, b - low) for a, b in image.code),
    )
    assert said(moved) == []


def test_table_without_bytes():
    image = facts(parts=(Part(".text", CODE, CODE, 0x80, NOP * 0x40, True),), symbols={"vector_table": TABLE})
    assert said(image) == [
        "error vector-table: the image has no bytes at its vector table 0x34000100 (keep it when linking)"
    ]


@pytest.mark.parametrize(("size", "alignment"), [(0x40, 128), (0x100, 256), (0x104, 512)])
def test_alignment_of_the_table(size, alignment):
    at = TABLE if size > 0x100 else TABLE + 0x40
    text = Part(".text", at + 0x200, at + 0x200, 0x80, NOP * 0x40, True)
    table = Part(".vectors", at, at, size, vectors(handler=at + 0x201, size=size))
    found = said(facts(parts=(table, text), code=None, functions=(), entry=at + 0x201))
    assert (
        f"error vector-table: the vector table of {size} bytes at 0x{at:08x} is not aligned to {alignment} bytes: "
        f"VTOR cannot point to it (align it to {alignment} in the linker script)"
    ) in found
    assert len(found) == (1 if at == TABLE else 2)


def test_board_that_loads_in_place():
    board = images.board(boot=None, code=BoardSection("CODE", 0, 0x1000))
    assert said(facts(), board) == [
        "error vector-table: the vector table is at 0x34000100, small takes it from 0x30000000 (link it to 0x30000000)"
    ]
    assert said(facts(), replace(board, code=None)) == []


# ---- stack ----


@pytest.mark.parametrize("stack", [STACK, STACK - 8, 0x3001_0008])
def test_stack_inside_and_at_the_end(stack):
    assert said(facts(table=vectors(stack=stack))) == []


@pytest.mark.parametrize(
    ("stack", "text"),
    [
        (0x3001_2000, "initial stack pointer 0x30012000: no memory of small is at 0x30011ffc (link for this board)"),
        (
            0,
            "initial stack pointer 0x00000000: there is nothing below it "
            "(the vector table begins with the end of the stack)",
        ),
        (STACK - 4, "initial stack pointer 0x30010ffc is no multiple of 8 (align the end of the stack)"),
        (
            0x3400_2000,
            "initial stack pointer 0x34002000: [0x34001ffc, 0x34002000) is in BANK2, which is off at reset (put the "
            "stack in a memory that is on; BANK2 is turned on by the firmware: set bit 0 of 0x50000010 (memory clock), "
            "clear bit 20 of 0x51000100 (shutdown))",
        ),
        (0x7000_1000, "initial stack pointer 0x70001000: a push to NOR (flash) is lost (put the stack in RAM)"),
    ],
)
def test_stack_elsewhere(stack, text):
    assert said(facts(table=vectors(stack=stack))) == [f"error stack: {text}"]


def test_stack_down_to_its_limit():
    """It begins in a memory that is on and grows into one that is off."""
    assert said(facts(symbols={"__stack_limit": 0x3001_0100})) == []
    image = facts(table=vectors(stack=0x3400_3000), symbols={"__stack_limit": 0x3400_0F00})
    start = "initial stack pointer 0x34003000, stack [0x34000f00, 0x34003000)"
    assert [line.partition(", which is off")[0] for line in said(image) if line.startswith("error stack")] == [
        f"error stack: {start}: [0x34001000, 0x34002000) is in BANK2",
        f"error stack: {start}: [0x34002000, 0x34003000) is in BANK3",
    ]


def test_stack_in_the_other_alias_is_a_warning():
    assert said(facts(table=vectors(stack=0x2001_1000))) == [
        "warning alias: initial stack pointer 0x20011000 is written in the other security state's alias of ALWAYS, "
        "this board runs secure (link for 0x30011000)"
    ]


# ---- reset handler ----


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (CODE, "reset handler 0x34000180 has no Thumb bit: the core faults at once (set bit 0 of the vector)"),
        (TABLE + 0x21, "reset handler 0x34000120 is in .vectors, which holds no code (is the vector table right?)"),
        (BASE + 0x801, "reset handler 0x34000800 is not inside the image's code (is the vector table right?)"),
    ],
)
def test_reset_handler(handler, text):
    found = said(facts(table=vectors(handler=handler), entry=None))
    assert found == [f"error reset: {text}"]


def test_reset_handler_in_no_memory():
    assert said(facts(table=vectors(handler=0x0800_0001), entry=None)) == [
        "error reset: reset handler 0x08000000 is not inside the image's code (is the vector table right?)",
        "error reset: reset handler 0x08000000 is in no memory of small (link for this board)",
    ]


def test_reset_handler_in_a_bank_that_is_off():
    late = Part(".late", 0x3400_1000, 0x3400_0800, 0x10, NOP * 8, True)
    found = said(facts(late, table=vectors(handler=0x3400_1001), entry=None, functions=((0x3400_1000, 8, "start"),)))
    assert found[:2] == [
        "error reset: reset handler start (0x34001000) is in .late, loaded to 0x34000800: nothing has copied it yet "
        "(let the reset handler run where it is loaded)",
        "error reset: reset handler start (0x34001000) is in BANK2, which is off at reset (BANK2 is turned on by the "
        "firmware: set bit 0 of 0x50000010 (memory clock), clear bit 20 of 0x51000100 (shutdown))",
    ]


def test_entry_of_the_elf_file():
    assert said(facts(entry=CODE + 0x21)) == [
        "warning reset: the ELF file enters at 0x340001a1, the vector table at 0x34000181 "
        "(ENTRY() in the linker script)"
    ]
    assert said(facts(entry=CODE)) == []  # linkers write it with and without the Thumb bit


# ---- size ----


def test_size_up_to_the_last_byte():
    rest = COPY - HEADER - 0x100
    constants = Part(".rodata", TABLE + 0x100, TABLE + 0x100, rest, bytes(rest))
    assert said(facts(constants)) == []
    longer = replace(constants, size=rest + 1, data=bytes(rest + 1))
    assert said(facts(longer))[0] == (
        "error size: header and image have 4097 bytes (256 + 3841), the boot loader copies exactly 4096 bytes: 1 bytes "
        "are cut off (move constants to flash, or use a boot loader that copies more and say so in the board's file)"
    )


def test_bytes_that_nobody_copies():
    found = said(facts(Part(".weights", 0x7000_0000, 0x7000_0000, 16, bytes(16))))
    assert found == [
        "error size: .weights: 16 bytes at 0x70000000 are not copied: the boot loader writes [0x34000000, 0x34001000) "
        "(program them on their own, or link them behind the code)"
    ]


def test_bytes_in_the_room_of_the_header():
    found = said(facts(Part(".early", BASE, BASE, 16, bytes(16))))
    assert found == [
        "error size: .early is loaded to 0x34000000, into the 256 bytes that the header takes (link the "
        "image to 0x34000100)"
    ]


def test_image_of_another_board():
    board = images.board()
    far = replace(board, boot=replace(board.boot, copy_to=0x3001_0000))
    (line,) = [line for line in said(facts(), far) if line.startswith("error size")]
    assert line == (
        "error size: no byte of the image is in [0x30010000, 0x30011000), where the boot loader copies to "
        "(link the image to 0x30010100)"
    )


# ---- memories ----


def no_boot(**changes):
    return images.board(boot=None, code=BoardSection("BANK1", HEADER, COPY - HEADER), **changes)


OFF = "turned on by the firmware: set bit 0 of 0x50000010 (memory clock), clear bit 20 of 0x51000100 (shutdown)"


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        (
            Part(".w", 0x3400_1000, 0x3400_1000, 16, bytes(16)),
            [
                "error memory: .w: 16 bytes are loaded to [0x34001000, 0x34001010) in BANK2, which is off at reset "
                f"(load them elsewhere and copy them later; BANK2 is {OFF})"
            ],
        ),
        (
            Part(".w", 0x2400_1000, 0x2400_1000, 16, bytes(16)),
            [
                "error memory: .w: 16 bytes are loaded to [0x34001000, 0x34001010) in BANK2, which is off at reset "
                f"(load them elsewhere and copy them later; BANK2 is {OFF})"
            ],
        ),
        (
            Part(".w", 0x5000_0000, 0x5000_0000, 16, bytes(16)),
            [
                "error memory: .w: 16 bytes are loaded to [0x50000000, 0x50000010), where small has no memory "
                "(link for this board)"
            ],
        ),
        (
            Part(".data", 0x7000_0000, CODE + 0x80, 16, bytes(16)),
            [
                "error memory: .data: 16 bytes at [0x70000000, 0x70000010) are variables in NOR (flash) "
                "(put them in RAM)"
            ],
        ),
        (Part(".data", 0x3001_0000, CODE + 0x80, 16, bytes(16)), []),
        (
            Part(".bss", 0x3400_1000, 0x3400_1000, 16),
            [
                "error memory: .bss: 16 bytes at [0x34001000, 0x34001010) are in BANK2, which is off at reset "
                f"(start-up code writes them before main(): move them; BANK2 is {OFF})"
            ],
        ),
        (
            Part(".npu_buffers", 0x3400_1000, 0x3400_1000, 16),
            [
                "warning memory: .npu_buffers: 16 bytes at [0x34001000, 0x34001010) are in BANK2, which is off at "
                "reset "
                f"(use them only after that: BANK2 is {OFF})"
            ],
        ),
        (
            Part(".bss", 0x3001_0FF8, 0x3001_0FF8, 16),
            ["error memory: .bss: 8 bytes at [0x30011000, 0x30011008) are in no memory of small (link for this board)"],
        ),
        (Part(".weights", 0x7000_0000, 0x7000_0000, 16, bytes(16)), []),
    ],
)
def test_memory_of_a_part(part, lines):
    assert [line for line in said(facts(part), no_boot()) if " memory: " in line] == lines


def test_parts_that_run_through_neighbors():
    """BANK1 and BANK2 have no gap between them; the first is on, the second is not."""
    part = Part(".rodata", 0x3400_0FF0, 0x3400_0FF0, 32, bytes(32))
    (line,) = [line for line in said(facts(part), no_boot()) if " memory: " in line]
    assert line.startswith("error memory: .rodata: 16 bytes are loaded to [0x34001000, 0x34001010) in BANK2")


def test_what_startup_clears_goes_by_its_symbols():
    part = Part(".npu_buffers", 0x3400_1000, 0x3400_1000, 16)
    symbols = {"_sbss": 0x3400_1008, "_ebss": 0x3400_1020}
    (line,) = said(facts(part, symbols=symbols), no_boot())
    assert line.startswith("error memory: .npu_buffers: 16 bytes at [0x34001000, 0x34001010) are in BANK2")
    (line,) = said(facts(replace(part, name=".bss"), symbols={"_sbss": 0x3001_0000, "_ebss": 0x3001_0010}), no_boot())
    assert line.startswith("warning memory: .bss")


def test_rom():
    rom = MemoryRegion("ROM", 0x1800_0000, 0x1000, "rom")
    board = no_boot(memory=(*smallboard.MEMORY, rom))
    assert said(facts(Part(".w", 0x1800_0000, 0x1800_0000, 4, bytes(4))), board) == [
        "error memory: .w: 4 bytes are loaded to [0x18000000, 0x18000004) in ROM, which is read-only "
        "(link for RAM or flash)"
    ]


def test_flash_that_is_not_mapped_yet():
    window = FlashWindow("NOR", 0x5200_0000, 0x30000001, 0x30000001, 0x5000_0040, 5, mapped_by_boot=False)
    part = Part(".weights", 0x7000_0000, 0x7000_0000, 4, bytes(4))
    assert said(facts(part), no_boot(windows=(window,))) == [
        "warning memory: .weights: 4 bytes are loaded to [0x70000000, 0x70000004) in NOR, which does not "
        "answer at reset "
        "(an external loader programs it; NOR answers when 0x52000000 & 0x30000001 == 0x30000001, with clock bit 5 of "
        "0x50000040)"
    ]
    assert said(facts(part), no_boot(windows=(replace(window, mapped_by_boot=True),))) == []


# ---- core ----

M55 = Attributes(arch=21, profile="M", fp_arch=8, mve=2, vfp_args=1)
BUILD = "(build it with -mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -mthumb)"


def test_m55_code_on_the_virtual_core():
    assert said(facts(attributes=M55)) == [
        "error cpu: code for Armv8.1-M mainline, but machine unicorn (cortex-m33) executes Armv8-M mainline: "
        "an undefined "
        f"instruction stops it {BUILD}",
        "error cpu: the image uses MVE, but machine unicorn (cortex-m33) has none: an undefined instruction "
        f"stops it {BUILD}",
        "error cpu: the image may use double precision, but machine unicorn (cortex-m33) has a single-precision FPU "
        f"{BUILD}",
    ]
    assert said(facts(attributes=M55), machine="silicon") == []


H7_FLAGS = ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb")


@pytest.mark.parametrize(
    ("core", "found", "lines"),
    [
        ("cortex-m7", Attributes(13, "M", 8, False, 0, 1), []),
        (
            "cortex-m7",
            images.M33,
            [
                "error cpu: code for Armv8-M mainline, but machine silicon (cortex-m7) executes Armv7E-M: an undefined "
                "instruction stops it (build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)"
            ],
        ),
        (
            "cortex-m55",
            Attributes(13, "M", 8, False, 0, 1),
            [
                "warning cpu: code for Armv7E-M, machine silicon (cortex-m55) is Armv8.1-M mainline: was it made for "
                "another board? (build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)"
            ],
        ),
        (
            "cortex-m7",
            Attributes(10, "A", 5, False, 0, 1),
            [
                "error cpu: code for architecture 10, profile A, but machine silicon (cortex-m7) executes Armv7E-M: an "
                "undefined instruction stops it (build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard "
                "-mthumb)",
                "error cpu: the image uses VFPv4, an FPU that no Cortex-M has "
                "(build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)",
            ],
        ),
        (
            "cortex-m3",
            Attributes(10, "M", 6, True, 0, 1),
            [
                "error cpu: the image uses VFPv4-D16, but machine silicon (cortex-m3) has no FPU "
                "(build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)",
                "error cpu: the image passes floats in FPU registers, but machine silicon (cortex-m3) has no FPU "
                "(build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)",
            ],
        ),
        (
            "cortex-m7",
            Attributes(13, "M", 8, False, 0, 0),
            [
                "warning cpu: the image passes floats in core registers, code for machine silicon (cortex-m7) in FPU "
                "registers (-mfloat-abi=hard) (the two kinds cannot be linked together: build it with -mcpu=cortex-m7 "
                "-mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)"
            ],
        ),
        (
            "cortex-m7",
            None,
            [
                "warning cpu: the image has no build attributes: its instruction set is not checked "
                "(build it with -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb)"
            ],
        ),
        (
            "ibex",
            images.M33,
            [
                "warning cpu: core ibex is not known here: the instruction set is not checked (known: cortex-m0, "
                "cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, cortex-m23, cortex-m33, cortex-m55, cortex-m85)"
            ],
        ),
    ],
)
def test_core(core, found, lines):
    board = images.board(cpu=core, machines={"silicon": Machine("silicon", H7_FLAGS)})
    assert said(facts(attributes=found), board, "silicon") == lines


# ---- semihosting ----


def with_code(body, **changes):
    image = facts()
    text = replace(image.parts[1], size=len(body), data=body)
    return facts(**{"parts": (image.parts[0], text), "code": ((CODE, CODE + len(body)),), **changes})


def test_semihosting_breakpoints_are_named():
    code = (NOP * 0x11 + b"\xab\xbe" + NOP + b"\xab\xdf" + b"\xbc\xba" + b"\xab\xbe").ljust(0x80, b"\0")
    assert said(with_code(code)) == [
        "error semihosting: 4 semihosting traps (BKPT 0xAB and SVC 0xAB and HLT 0x3C) stop the core without "
        "a debugger: at "
        "main+0x2 (0x340001a2), main+0x6 (0x340001a6), main+0x8 (0x340001a8) and 1 more "
        "(link without semihosting (rdimon.specs, librdimon, libsemihost))"
    ]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(b"\xab\xbe\xab\xbe" + NOP * 30, id="data in front of the code"),
        pytest.param(b"\x00\xbf\x00\xbf" + b"\x00\xf8\xab\xbe" + NOP * 28, id="second half of an instruction"),
        pytest.param(NOP * 30 + b"\x00\xbe\xff\xdf", id="other breakpoints"),
        pytest.param(b"\x00\xbf\x00\xbf\x00\xab\xbe\x00" + NOP * 28, id="odd address"),
    ],
)
def test_what_only_looks_like_semihosting(code):
    assert said(with_code(code, code=((CODE + 4, CODE + len(code)),))) == []


def test_without_symbols_it_is_a_warning():
    assert said(with_code(NOP * 4 + b"\xab\xbe" + NOP * 4, code=None, functions=())) == [
        "warning semihosting: 1 halfwords may be semihosting breakpoints (BKPT 0xAB) or data: at 0x34000188 "
        "(check the ELF file with its symbols)"
    ]


# ---- networks ----


def net(*pools, name="net", stamp=STAMP, runtime="neuralart"):
    return replace(smallboard.network(*pools, name=name), abi_stamp=stamp, runtime=runtime)


TEXT = Part(".rodata", CODE + 0x80, CODE + 0x80, 17, STAMP.encode() + b"\0")
BINARY = Part(".rodata", CODE + 0x80, CODE + 0x80, 8, bytes.fromhex(STAMP))


@pytest.mark.parametrize("part", [TEXT, BINARY])
def test_stamp_as_text_and_as_bytes(part):
    assert said(facts(part), networks=[net()]) == []


def test_stamp_missing():
    assert said(facts(), networks=[net()]) == [
        "error stamp: abi stamp 0123456789abcdef of network net is not in the image (link the image with "
        "this network's C)"
    ]


def table(*rows):
    """The reference application's table of networks, with its texts, behind the code."""
    base = CODE + 0x80
    texts, pointers = b"", b""
    start = base + 4 + 12 * len(rows)
    for name, stamp in rows:
        pointers += struct.pack("<3I", start + len(texts), 0, start + len(texts) + len(name) + 1)
        texts += name.encode() + b"\0" + stamp.encode() + b"\0"
    data = struct.pack("<I", len(rows)) + pointers + texts
    return facts(
        Part(".rodata", base, base, len(data), data),
        symbols={"app_network_count": base, "app_networks": base + 4},
        sizes={"app_networks": 12 * len(rows)},
    )


def test_stamps_of_the_table():
    other = "f" * 16
    assert said(table(("net", STAMP)), networks=[net()]) == []
    assert said(table(("net", STAMP))) == [
        "warning stamp: the networks of the image are not checked: net (give each with --network)"
    ]
    assert said(table(("net", other)), networks=[net()]) == [
        "error stamp: the image was linked for abi stamp ffffffffffffffff of network net, its network.json has "
        "0123456789abcdef (link the image again)"
    ]
    assert said(table(("net", STAMP), ("more", other)), networks=[net()]) == [
        "error stamp: the image expects network more (abi stamp ffffffffffffffff), which is not among those given "
        "(give its network.json with --network, or link the image without it)"
    ]
    assert said(table(("net", STAMP), ("camera", STAMP)), networks=[net()]) == [], "the same network, another way to it"
    assert said(table(("net", STAMP)), networks=[net(), net(name="second", stamp="a" * 16)]) == [
        "error stamp: abi stamp aaaaaaaaaaaaaaaa of network second is not in the image; it has net "
        "(link the image with this network's C)"
    ]


def test_overlap_of_image_and_pools():
    pools = [smallboard.pool("B1", BASE + 0x180, 0x10), smallboard.pool("ALW", 0x3001_0FF0, 0x10)]
    image = facts(Part(".data", 0x3001_0000, CODE + 0x80, 16, bytes(16)), TEXT, symbols={"__stack_limit": 0x3001_0F00})
    assert said(
        replace(image, parts=(*image.parts[:3], replace(TEXT, run=CODE + 0x90, load=CODE + 0x90))),
        networks=[net(*pools)],
    ) == [
        "error overlap: .text of the image [0x34000180, 0x34000200) and pool B1 of network net [0x34000180, "
        "0x34000190) "
        "have 16 bytes in common (move the pool, or link the image elsewhere)",
        "error overlap: the stack [0x30010f00, 0x30011000) and pool ALW of network net [0x30010ff0, 0x30011000) "
        "have 16 bytes in common (move the pool, or link the image elsewhere)",
    ]


def test_pool_in_the_other_alias():
    """Not an error: the bytes are the same. But a firewall may close that address to a secure firmware."""
    found = said(facts(TEXT), networks=[net(smallboard.pool("ALW", 0x2001_0800, 0x10))])
    assert found == [
        "warning alias: pool ALW of network net is at 0x20010800, the non-secure alias of ALWAYS: the firmware is "
        "secure, and so is the NPU as start-up code sets it up; their address is 0x30010800 "
        "(give the pool its secure address, unless your firewall is set up for this one)"
    ]


def test_pool_in_no_memory():
    found = said(facts(TEXT), networks=[net(smallboard.pool("X", 0x5000_0000, 4))])
    assert len(found) == 1 and found[0].startswith(
        "error overlap: board small: pool X of network net: there is no memory at 0x50000000"
    )


def test_runtime():
    mine, vendors = net(), net(runtime="ll_aton")
    assert said(facts(TEXT), machine="silicon", networks=[mine]) == [
        "error runtime: network net is made for runtime neuralart, which computes without the NPU (compile it with the "
        "vendor's compiler; if it is meant: allow_reference_on_hardware: true in the variant, "
        "--allow-reference-on-hardware by hand)"
    ]
    assert said(facts(TEXT), machine="silicon", networks=[mine], allow_reference=True) == []
    assert said(facts(TEXT), machine="silicon", networks=[vendors]) == []
    assert said(facts(TEXT), networks=[vendors]) == [], "the virtual NPU runs it"
    board = images.board()
    board = replace(board, machines={"qemu": replace(board.machines["unicorn"], kind="qemu")})
    assert said(facts(TEXT), board, "qemu", networks=[vendors]) == [
        "error runtime: network net is made for runtime ll_aton, machine qemu has no NPU "
        "(machine unicorn has a virtual one; or a network of the reference compiler)"
    ]
    assert said(facts(TEXT), networks=[net(runtime="network_runtime")]) == [], "of the core alone, all of it in C"


def test_all_findings_are_listed():
    image = facts(table=vectors(stack=1, handler=2), attributes=M55, entry=None)
    assert {line.split(":")[0] for line in said(image, networks=[net()])} == {
        "error stack",
        "error reset",
        "error cpu",
        "error stamp",
    }


# ---- binaries ----


def binary(size=0x200, **more):
    return vectors(handler=CODE + 1, **more).ljust(0x80, b"\0") + NOP * ((size - 0x80) // 2)


def read(data, name="firmware.bin", address=None):
    return check_image.read(Path(name), data, images.board(), address)


def test_binary_where_the_board_boots():
    assert said(read(binary())) == []
    assert said(read(binary(), address=BASE)) == [
        "error vector-table: the vector table is at 0x34000000, the boot loader of small takes it from 0x34000100 "
        "(link it to 0x34000100, behind 256 bytes for the header)",
        "error size: the image is loaded to 0x34000000, into the 256 bytes that the header takes "
        "(link the image to 0x34000100)",
    ]


def test_application_with_room_for_the_header():
    image = read(b"\xff" * HEADER + binary(COPY - HEADER))
    assert (image.kind, said(image)) == ("application", [])
    # The virtual bank behind what is copied is off, which is one more finding.
    assert said(read(b"\xff" * HEADER + binary(COPY - HEADER + 2)))[:1] == [
        "error size: header and image have 4098 bytes (256 + 3842), the boot loader copies exactly 4096 bytes: 2 bytes "
        "are cut off (move constants to flash, or use a boot loader that copies more and say so in the board's file)"
    ]


SIGNED = images.board(
    boot=Boot("application", BASE, COPY, VECTOR_TABLE, "2.3"),
    code=BoardSection("BANK1", VECTOR_TABLE, COPY - VECTOR_TABLE),
)


def signed(size=0x200, changes=(), cut=0):
    """An image with a header, some words changed and the end cut off; its findings."""
    start = BASE + VECTOR_TABLE
    body = vectors(handler=start + 0x81).ljust(0x80, b"\0") + NOP * ((size - 0x80) // 2)
    data = bytearray(image_header.make(body, "application"))
    for at, value in changes:
        struct.pack_into("<I", data, at, value)
    image = check_image.read(Path("firmware.bin"), bytes(data[: len(data) - cut]), SIGNED)
    assert image.kind == "signed"
    return said(image, SIGNED)


def test_signed_image():
    remedy = "sign it again"
    assert signed() == []
    assert signed(changes=[(0x70, BASE + VECTOR_TABLE + 0x83)]) == [
        "error reset: the signed header enters at 0x34000483, the vector table at 0x34000481 (sign it again)"
    ]
    assert signed(changes=[(0x70, BASE + VECTOR_TABLE + 0x80)])[0].startswith("error reset: the signed header enters")
    announced = "the signed header: truncated: 960 of"
    assert signed(changes=[(0x6C, 0x1000)]) == [f"error header: {announced} 4,096 bytes are there ({remedy})"]
    # What is announced too much is padding: no byte is lost, the checksum tells.
    assert signed(changes=[(0x6C, 960 + 256)]) == [f"warning header: {announced} 1,216 bytes are there ({remedy})"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ([(0x6C, 0x3A0)], "checksum 0x"),
        ([(0x64, 1)], "checksum 0x00000001, the payload has 0x"),
        ([(0x78, BASE)], "load address 0x34000000, not 0xffffffff"),
        ([(0x8C, 3)], "binary type 0x3 is neither 0x10 (fsbl) nor 0"),
        ([(0x400, 5)], "no vector table at 0x400"),
        ([(0xA0, 0)], "extension 0x00000000 instead of"),
    ],
)
def test_a_header_that_does_not_describe_its_image(changes, problem):
    assert any(line.startswith(f"error header: the signed header: {problem}") for line in signed(changes=changes))


@pytest.mark.parametrize("cut", [1, 32, 256, 0x100 + 64])
def test_an_image_that_is_cut_off(cut):
    assert signed(cut=cut)[0].startswith(f"error header: the signed header: truncated: {960 - cut} of 960 bytes")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "x.bin: the file is empty (build it again)"),
        (
            b":020000040800F2\r\n",
            "x.bin: an Intel HEX file, not a binary (give the ELF file or the .bin it was made of)",
        ),
        (b"1234567", "x.bin: 7 bytes: not even a stack pointer and a reset handler (8 bytes) (build it again)"),
        (
            b"\xff" * HEADER,
            "x.bin: 256 bytes: not even a stack pointer and a reset handler (8 bytes) behind a header of 256 "
            "(build it again)",
        ),
        (
            b"STM2" + bytes(HEADER),
            "x.bin: header of unknown version at 0x0 (0x00000000 or 0x00000000) (versions 2.1 and 2.3 are known)",
        ),
    ],
)
def test_files_that_are_no_binary(data, text):
    with pytest.raises(NeuralArtError) as caught:
        read(data, "x.bin")
    assert str(caught.value) == text


def test_binary_beyond_the_address_space_and_without_a_place():
    with pytest.raises(NeuralArtError, match=r"512 bytes at 0xfffffff0 end behind 4 GiB"):
        read(binary(), address=0xFFFF_FFF0)
    with pytest.raises(NeuralArtError, match=r"board small does not say where a binary goes \(say it with --address\)"):
        check_image.read(Path("x.bin"), binary(), images.board(boot=None, code=None))
    with pytest.raises(NeuralArtError, match="--address is for a binary"):
        read(images.elf(), address=BASE)


def test_stamp_in_a_binary():
    assert said(read(binary() + bytes.fromhex(STAMP)), networks=[net()]) == []
    assert said(read(binary()), networks=[net()])[0].startswith(
        "error stamp: abi stamp 0123456789abcdef of network net"
    )


# ---- ELF files ----


def test_facts_of_an_elf_file():
    image = read(images.elf(), "a.elf")
    assert [(part.name, part.run, len(part.data), part.executable) for part in image.parts] == [
        (".vectors", TABLE, 0x40, False),
        (".text", CODE, 0x80, True),
    ]
    assert image.attributes == images.M33
    assert image.code == ((CODE, CODE + 0x80),)
    assert image.functions == ((CODE, 0x20, "reset_handler"),)
    assert image.entry == CODE + 1
    assert said(image) == []


def test_load_addresses_and_bss_of_an_elf_file():
    sections = (
        Sect(".vectors", TABLE, vectors()),
        Sect(".text", CODE, NOP * 0x40, 6),
        Sect(".data", 0x3001_0000, b"1234", 3, load=CODE + 0x80),
        Sect(".bss", 0x3001_0010, b"", 3, 8, size=0x20),
        Sect(".comment", 0, b"not loaded", 0),
    )
    image = read(images.elf(sections, (Symbol("$t", CODE, 2),)), "a.elf")
    assert [(p.name, p.run, p.load, p.size, p.data) for p in image.parts[2:]] == [
        (".data", 0x3001_0000, CODE + 0x80, 4, b"1234"),
        (".bss", 0x3001_0010, 0x3001_0010, 0x20, b""),
    ]
    assert said(image) == []


def test_elf_file_without_sections():
    image = read(images.elf(table=False), "a.elf")
    assert [part.name for part in image.parts] == ["segment 0", "segment 1"]
    assert (image.attributes, image.code) == (None, None)
    assert [line.split(":")[0] for line in said(image)] == ["warning cpu"]


def test_mapping_symbols_part_code_from_data():
    code = NOP * 4 + b"\xab\xbe" * 2 + b"\xab\xbe" + NOP
    sections = (Sect(".vectors", TABLE, vectors()), Sect(".text", CODE, code, 6))
    marks = (Symbol("$t", CODE, 2), Symbol("$d.1", CODE + 8, 2), Symbol("$t.realtime", CODE + 12, 2))
    image = read(images.elf(sections, marks), "a.elf")
    assert image.code == ((CODE, CODE + 8), (CODE + 12, CODE + 16))
    (line,) = said(image)
    assert line.startswith(
        "error semihosting: 1 semihosting traps (BKPT 0xAB) stop the core without a debugger: at 0x3400018c"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (images.elf(kind=1), "a.elf: ET_REL: not a linked executable (link it first)"),
        (
            images.elf(machine=62),
            "a.elf: EM_X86_64, 32 bits, little endian: not for a 32-bit little-endian Arm core "
            "(was it built by the host's compiler?)",
        ),
        (
            images.elf((Sect(".bss", 0x3001_0000, b"", 3, 8, size=4),)),
            "a.elf: nothing in it is to be loaded (was it linked with --gc-sections and no KEEP?)",
        ),
        (
            images.elf((Sect(".text", 0xFFFF_FFF0, bytes(32), 6),)),
            "a.elf: .text: 32 bytes at 0xfffffff0 end behind 4 GiB",
        ),
        (
            images.elf(tags=b"A\xff\0\0\0aeabi\0"),
            "a.elf: damaged ELF file: a block of 255 bytes runs over the end (link it again)",
        ),
    ],
)
def test_elf_files_that_are_refused(data, text):
    with pytest.raises(NeuralArtError) as caught:
        read(data, "a.elf")
    assert str(caught.value) == text


def one_line(data):
    """Findings or a refusal, never anything else."""
    try:
        image = read(data, "a.elf")
    except NeuralArtError as refusal:
        assert "\n" not in str(refusal) and len(str(refusal)) < 1000
        return
    for line in said(image, networks=[net()]):
        assert "\n" not in line
    check_image.as_data(image, images.board(), images.board().machines["unicorn"], [], [])


WHOLE = images.elf()


def test_every_truncation():
    for size in range(len(WHOLE)):
        one_line(WHOLE[:size])


@example([(466, 4)])  # an executable section without a mapping symbol
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_bytes_changed(changes):
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    one_line(bytes(data))


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=2000),
        st.binary(max_size=500).map(lambda tail: b"\x7fELF\x01\x01\x01" + tail),
        st.binary(max_size=1000).map(lambda tail: b"STM2" + tail),
    )
)
def test_random_bytes(data):
    one_line(data)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_random_attributes(data):
    for text in (data, b"A" + data, images.attributes()[: len(data)] + data):
        try:
            elf_facts.parse_attributes(text)
        except ValueError as error:
            assert "\n" not in str(error)


def test_attributes_of_every_kind():
    body = b"\x05name\0\x04raw\0\x20\x01text\0\x41also\0\x43conf\0\x30\x02\x88\x01\x05" + bytes((6, 21))
    file = b"\x01" + struct.pack("<I", 5 + len(body)) + body
    other = b"\x02" + struct.pack("<I", 6) + b"\0"
    vendor = b"aeabi\0" + other + file
    foreign = struct.pack("<I", 9) + b"abcd\0"
    data = b"A" + foreign + struct.pack("<I", 4 + len(vendor)) + vendor
    assert elf_facts.parse_attributes(data) == Attributes(arch=21, mve=2)


# ---- command ----


def run(*words):
    parser = argparse.ArgumentParser()
    check_image.configure(parser)
    return check_image.run(parser.parse_args([str(word) for word in words]))


N6 = 0x3400_0400


def n6_elf(stack=0x3002_0000, more=(), tags=None):
    sections = (Sect(".vectors", N6, vectors(stack, N6 + 0x81)), Sect(".text", N6 + 0x80, NOP * 0x40, 6), *more)
    return images.elf(sections, (Symbol("$t", N6 + 0x80, 2),), entry=N6 + 0x81, tags=tags)


def test_command(tmp_path, capsys):
    path = tmp_path / "firmware.elf"
    path.write_bytes(n6_elf())
    assert run(path, "--board", "stm32n6570-dk") == 0
    out, err = capsys.readouterr()
    assert out == f"{path}: fits stm32n6570-dk (unicorn): 1280 bytes of 1048576 that the boot loader copies\n"
    assert err == ""


def test_command_lists_all_errors(tmp_path, capsys):
    path = tmp_path / "firmware.elf"
    path.write_bytes(n6_elf(0x342E_0010, [Sect(".w", 0x3410_0000, bytes(0x1000))]))
    facts_file = tmp_path / "network.json"
    facts_file.write_text(to_json(net()), encoding="utf-8")
    assert run(path, "--board", "stm32n6570-dk", "--network", facts_file) == 1
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == 3 and all(line.startswith(f"{path}: error: ") for line in lines)
    assert "AXISRAM5 is turned on by the firmware: set bit 2 of 0x5602824c (memory clock), clear bit 20" in lines[0]
    assert "header and image have 1052672 bytes (1024 + 1051648)" in lines[1]
    assert "abi stamp 0123456789abcdef of network net is not in the image" in lines[2]


def test_json(tmp_path, capsys):
    path = tmp_path / "firmware.elf"
    path.write_bytes(n6_elf(0x342E_0010))
    assert run(path, "--board", "stm32n6570-dk", "--machine", "silicon", "--json") == 1
    data = json.loads(capsys.readouterr().out)
    (finding,) = data.pop("findings")
    assert data == {
        "schema": 1,
        "image": str(path),
        "kind": "elf",
        "board": "stm32n6570-dk",
        "machine": "silicon",
        "ok": False,
        "errors": 1,
        "warnings": 0,
        "vector_table": N6,
        "initial_sp": 0x342E_0010,
        "reset": N6 + 0x81,
        "slot_bytes": 0x500,
        "copy_size": 1 << 20,
        "attributes": {"arch": 17, "profile": "M", "fp_arch": 8, "single_only": True, "mve": 0, "vfp_args": 1},
        "networks": [],
    }
    assert set(finding) == {"check", "level", "message", "remedy"}
    assert (finding["check"], finding["level"]) == ("stack", "error")


def test_command_refuses_wrong_words(tmp_path, capsys):
    path = tmp_path / "firmware.elf"
    path.write_bytes(n6_elf())
    with pytest.raises(NeuralArtError, match=r"no machine 'unicron' \(did you mean 'unicorn'\?"):
        run(path, "--board", "stm32n6570-dk", "--machine", "unicron")
    with pytest.raises(NeuralArtError, match="cannot read"):
        run(tmp_path / "none.elf", "--board", "stm32n6570-dk")
    with pytest.raises(SystemExit):
        run(path, "--board", "stm32n6570-dk", "--address", "0x1FFFFFFFF")
    assert "is not a 32-bit address" in capsys.readouterr().err


def test_h747_image():
    """Code in internal flash, buffers in SDRAM that the firmware brings up itself."""
    board = boards.load("stm32h747i-disco")
    tags = images.attributes(((6, 13), (7, 0x4D), (10, 8), (28, 1)))
    sections = (
        Sect(".isr_vector", 0x0800_0000, vectors(0x2002_0000, 0x0800_0401, 0x298)),
        Sect(".text", 0x0800_0400, NOP * 0x40, 6),
        Sect(".bss", 0x2000_0000, b"", 3, 8, size=0x100),
        Sect(".NN_Activation_Buffer_SDRAM", 0xD000_0000, b"", 3, 8, size=0x100),
    )
    data = images.elf(sections, (Symbol("$t", 0x0800_0400, 2),), tags=tags, entry=0x0800_0401)
    image = check_image.read(Path("h7.elf"), data, board)
    (line,) = said(image, board, "silicon")
    assert line.startswith(
        "warning memory: .NN_Activation_Buffer_SDRAM: 256 bytes at [0xd0000000, 0xd0000100) are in SDRAM"
    )


# ---- real tools ----

SOURCE = r"""
extern unsigned __stack_top;
void reset_handler(void);
__attribute__((section(".vectors"), used)) void *const vector_table[16] = {&__stack_top, (void *)reset_handler};
volatile float out;
volatile unsigned constant = 0xBEABBEABu;
__attribute__((noinline)) unsigned table(unsigned n) {
  /* A literal pool with the pattern of BKPT 0xAB in it. */
  return n * 0xBEABBEABu;
}
void reset_handler(void) {
#ifndef NO_FLOAT
  out = out * 1.5f;
#endif
  constant = table(constant);
#ifdef SEMIHOSTING
  __asm__ volatile("bkpt 0xab");
#endif
  for (;;) {
  }
}
"""
SCRIPT = """
ENTRY(reset_handler)
SECTIONS {
  .vectors 0x34000400 : { KEEP(*(.vectors)) }
  .text 0x34000480 : { *(.text*) *(.rodata*) }
  .data 0x30000000 : AT(0x34000800) { *(.data*) }
  .bss 0x30000100 (NOLOAD) : { *(.bss*) *(COMMON) }
  __stack_top = 0x30020000;
  /DISCARD/ : { *(.ARM.exidx*) }
}
"""
M33_FLAGS = ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")


def compiled(folder, *flags, name="a.elf"):
    from support.boards.firmware import run_tool

    (folder / "a.c").write_text(SOURCE, encoding="utf-8")
    (folder / "a.ld").write_text(SCRIPT, encoding="utf-8")
    words = ["arm-none-eabi-gcc", "-mthumb", "-Os", "-ffreestanding", "-nostdlib", "-Wl,--build-id=none", *flags]
    run_tool([*words, "-T", str(folder / "a.ld"), str(folder / "a.c"), "-o", str(folder / name)])
    return folder / name


def checked(path, machine="unicorn"):
    board = boards.load("stm32n6570-dk")
    return said(check_image.read(path, path.read_bytes(), board), board, machine)


@pytest.mark.arm
def test_what_gcc_makes(tmp_path):
    """Also: the constant in the literal pool is no breakpoint."""
    path = compiled(tmp_path, *M33_FLAGS)
    image = elf_facts.read(path, path.read_bytes())
    assert b"\xab\xbe\xab\xbe" in next(part.data for part in image.parts if part.name == ".text")
    assert image.attributes == images.M33
    assert checked(path) == []


@pytest.mark.arm
def test_semihosting_in_what_gcc_makes(tmp_path):
    (line,) = checked(compiled(tmp_path, *M33_FLAGS, "-DSEMIHOSTING"))
    assert line.startswith(
        "error semihosting: 1 semihosting traps (BKPT 0xAB) stop the core without a debugger: at reset_handler+0x"
    )


@pytest.mark.arm
def test_stripped(tmp_path):
    lines = checked(compiled(tmp_path, *M33_FLAGS, "-DSEMIHOSTING", "-s"))
    assert [line.partition(" may")[0] for line in lines] == ["warning semihosting: 3 halfwords"]


@pytest.mark.arm
@pytest.mark.parametrize(
    ("flags", "machine", "levels"),
    [
        (("-mcpu=cortex-m55", "-mfloat-abi=hard"), "unicorn", ["error", "error", "error"]),
        (("-mcpu=cortex-m55", "-mfloat-abi=hard"), "silicon", []),
        (("-mcpu=cortex-m55+nomve", "-mfloat-abi=hard"), "unicorn", ["error", "error"]),
        (("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"), "silicon", ["warning"]),
        (("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), "unicorn", ["warning"]),
        (("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=softfp"), "unicorn", ["warning"]),
        (("-mcpu=cortex-m23", "-DNO_FLOAT"), "unicorn", ["warning"]),
        (("-mcpu=cortex-a7", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"), "unicorn", ["error", "error"]),
    ],
)
def test_cores_that_gcc_knows(tmp_path, flags, machine, levels):
    lines = checked(compiled(tmp_path, *flags), machine)
    assert [line.split(":")[0] for line in lines] == [f"{level} cpu" for level in levels]


@pytest.mark.arm
def test_binary_of_what_gcc_makes(tmp_path):
    from support.boards.firmware import run_tool

    elf = compiled(tmp_path, *M33_FLAGS)
    path = tmp_path / "a.bin"
    run_tool(["arm-none-eabi-objcopy", "-O", "binary", str(elf), str(path)])
    lines = checked(path)
    assert [line.partition(" may")[0] for line in lines] == ["warning semihosting: 4 halfwords"]
