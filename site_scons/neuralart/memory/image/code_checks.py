"""Checks whether a core executes the instructions of an image, and whether they need a debugger; and what built it.
Numbers: "Addenda to, and Errata in, the ABI for the Arm Architecture", public attributes. What includes what: the
instruction sets of Armv7-M, Armv8-M baseline and mainline, Armv8.1-M, as their architecture manuals define them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

from neuralart.boards.types import Board, Machine
from neuralart.files import read_bytes
from neuralart.findings import Finding, error, warning
from neuralart.memory.image import elf_facts
from neuralart.memory.image.image_facts import Attributes, ImageFacts
from neuralart.quick import dataclass
from neuralart.text.elf import Elf

_V7M, _V6M, _V6SM, _V7EM, _V8MB, _V8MM, _V81MM = 10, 11, 12, 13, 16, 17, 21
ARCHITECTURES = {
    **{_V6M: "Armv6-M", _V6SM: "Armv6S-M", _V7M: "Armv7-M", _V7EM: "Armv7E-M", _V8MB: "Armv8-M baseline"},
    **{_V8MM: "Armv8-M mainline", _V81MM: "Armv8.1-M mainline"},
}
_OLD = frozenset({_V6M, _V6SM})
_MAIN8 = _OLD | {_V7M, _V7EM, _V8MB, _V8MM}
# With 16 registers, as M-profile FPUs have; the others have 32 or belong to NEON (Tag_FP_arch).
_FPU_16 = {4: "VFPv3-D16", 6: "VFPv4-D16", 8: "FPv5-D16"}
_FPU_OTHER = {1: "VFPv1", 2: "VFPv2", 3: "VFPv3", 5: "VFPv4", 7: "FP for Armv8"}
FPU_NONE, FPU_SINGLE, FPU_DOUBLE = 0, 1, 2


@dataclass(frozen=True)
class Core:
    """The instruction sets of a core."""

    native: int  # its own architecture (Tag_CPU_arch)
    executes: frozenset[int]  # architectures whose instructions it has
    fpu: int  # 0 none, 1 single precision, 2 double precision
    mve: int = 0  # 0 none, 1 integer, 2 integer and floating point


# As the boards here have them: FPU and MVE are options of some cores.
CORES = {
    "cortex-m0": Core(_V6SM, _OLD, FPU_NONE),
    "cortex-m0plus": Core(_V6SM, _OLD, FPU_NONE),
    "cortex-m3": Core(_V7M, _OLD | {_V7M}, FPU_NONE),
    "cortex-m4": Core(_V7EM, _OLD | {_V7M, _V7EM}, FPU_SINGLE),
    "cortex-m7": Core(_V7EM, _OLD | {_V7M, _V7EM}, FPU_DOUBLE),
    "cortex-m23": Core(_V8MB, _OLD | {_V8MB}, FPU_NONE),
    "cortex-m33": Core(_V8MM, _MAIN8, FPU_SINGLE),
    "cortex-m55": Core(_V81MM, _MAIN8 | {_V81MM}, FPU_DOUBLE, 2),
    "cortex-m85": Core(_V81MM, _MAIN8 | {_V81MM}, FPU_DOUBLE, 2),
}


def _architecture(found: Attributes) -> str:
    if found.profile not in ("M", ""):
        return f"architecture {found.arch}, profile {found.profile}"
    return ARCHITECTURES.get(found.arch, f"architecture {found.arch}")


def cpu(board: Board, machine: Machine, image: ImageFacts) -> Iterator[Finding]:
    """Check that the core executes the image: the emulated one on ``unicorn``, else the board's own."""
    if image.kind != "elf":
        return
    name = machine.model or "cortex-m33" if machine.kind == "unicorn" else board.cpu
    core, found = CORES.get(name), image.attributes
    build = "build it with " + " ".join(machine.cpu_flags)
    if found is None:
        yield warning("cpu", "the image has no build attributes: its instruction set is not checked", build)
        return
    if core is None:
        what = f"core {name} is not known here: the instruction set is not checked"
        yield warning("cpu", what, "known: " + ", ".join(CORES))
        return
    text, who = _architecture(found), f"machine {machine.kind} ({name})"
    own = ARCHITECTURES[core.native]
    if found.profile not in ("M", "") or found.arch not in core.executes:
        yield error("cpu", f"code for {text}, but {who} executes {own}: an undefined instruction stops it", build)
    elif found.arch in (_V7M, _V7EM) and core.native >= _V8MB:
        yield warning("cpu", f"code for {text}, {who} is {own}: was it made for another board?", build)
    if found.mve > core.mve:
        yield error("cpu", f"the image uses MVE, but {who} has none: an undefined instruction stops it", build)
    yield from _floats(who, core, machine, found, build)


def _floats(who: str, core: Core, machine: Machine, found: Attributes, build: str) -> Iterator[Finding]:
    unit = (_FPU_16 | _FPU_OTHER).get(found.fp_arch, f"FPU {found.fp_arch}")
    if found.fp_arch in _FPU_OTHER:
        yield error("cpu", f"the image uses {unit}, an FPU that no Cortex-M has", build)
    elif found.fp_arch and core.fpu == FPU_NONE:
        yield error("cpu", f"the image uses {unit}, but {who} has no FPU", build)
    elif found.fp_arch and not found.single_only and core.fpu == FPU_SINGLE:
        yield error("cpu", f"the image may use double precision, but {who} has a single-precision FPU", build)
    if found.vfp_args not in (0, 1):
        return
    hard = found.vfp_args == 1
    option = "-mfloat-abi="
    wanted = next((flag.removeprefix(option) for flag in machine.cpu_flags if flag.startswith(option)), "") or "soft"
    if hard and core.fpu == FPU_NONE:
        yield error("cpu", f"the image passes floats in FPU registers, but {who} has no FPU", build)
    elif hard != (wanted == "hard"):
        has, wants = ("FPU", "core") if hard else ("core", "FPU")
        what = f"the image passes floats in {has} registers, code for {who} in {wants} registers ({option}{wanted})"
        yield warning("cpu", what, "the two kinds cannot be linked together: " + build)


# Thumb encodings of the semihosting traps (Semihosting for AArch32 and AArch64, release 2.0).
TRAPS = {0xBEAB: "BKPT 0xAB", 0xDFAB: "SVC 0xAB", 0xBABC: "HLT 0x3C"}
_SHOWN = 3
_WIDE = 0xE800  # a first halfword from here on has a second one


def _in_code(data: bytes, base: int) -> Iterator[tuple[int, int]]:
    """(address, instruction) of the traps in straight Thumb code."""
    halves = struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])
    at = 0
    while at < len(halves):
        if halves[at] in TRAPS:
            yield base + 2 * at, halves[at]
        at += 2 if halves[at] >= _WIDE else 1


def _anywhere(data: bytes, base: int) -> Iterator[tuple[int, int]]:
    """Every halfword that looks like BKPT 0xAB, be it code, data, or the second half of an instruction."""
    pattern = struct.pack("<H", 0xBEAB)
    at = data.find(pattern)
    while at >= 0:
        if (base + at) % 2 == 0:
            yield base + at, 0xBEAB
        at = data.find(pattern, at + 1)


def _traps(image: ImageFacts) -> Iterator[tuple[int, int]]:
    """(address, instruction) of each semihosting trap. Certain where mapping symbols tell code from data
    (``image.code``); else possible ones, BKPT only, in what holds code: a constant may look the same.
    """
    parts = [part for part in image.loaded if part.executable]
    if image.code is None:
        for part in parts:
            yield from _anywhere(part.data, part.run)
        return
    for start, end in image.code:
        home = next((part for part in parts if part.run <= start < part.run + len(part.data)), None)
        if home is not None:
            yield from _in_code(home.data[start - home.run : end - home.run], start)


def semihosting(image: ImageFacts) -> Iterator[Finding]:
    """Check for semihosting instructions: they ask a debugger for a service, and stop the core if there is none."""
    hits = list(_traps(image))
    if not hits:
        return
    more = f" and {len(hits) - _SHOWN} more" if len(hits) > _SHOWN else ""
    places = ", ".join(image.place(address) for address, _ in hits[:_SHOWN]) + more
    if image.code is None:
        what = f"{len(hits)} halfwords may be semihosting breakpoints (BKPT 0xAB) or data: at {places}"
        yield warning("semihosting", what, "check the ELF file with its symbols")
    else:
        kinds = " and ".join(text for code, text in TRAPS.items() if any(hit[1] == code for hit in hits))
        what = f"{len(hits)} semihosting traps ({kinds}) stop the core without a debugger: at {places}"
        yield error("semihosting", what, "link without semihosting (rdimon.specs, librdimon, libsemihost)")


_COMPILER = re.compile(rb"GCC: \([^)\0]*\) ([\d.]+)")
_PRODUCER = re.compile(rb"GNU (?:C|C\+\+)\d+ [^\0]+")
_OPTIMIZED = re.compile(rb" (-O(?:fast|[0-3sgz]?))(?![^ \0])")
_MARKS = {
    "picolibc": {"__aeabi_read_tp", "_set_tls", "__tls_base"},
    "newlib-nano": {"_printf_i", "_printf_common", "__ssputs_r", "__malloc_free_list"},
    "newlib": {"__sfvwrite_r", "__ssprint_r", "__malloc_av_"},
    "newlib of which kind is not told": {"_impure_ptr", "__errno", "__sinit"},
}
_ARCHIVE = re.compile(r"^(?:LOAD )?(\S*lib[cg](?:_nano)?\.a)(?:\(|$)", re.M)


def of_program(path: Path) -> str:
    """Read compiler, C library, architecture and optimization of a program. NeuralArtError: no ELF file for Arm."""
    data = read_bytes(path)
    facts, elf = elf_facts.read(path, data), Elf(data, str(path))
    parts = [(elf.section(name), name) for name in (".comment", ".debug_str")]
    comment, strings = (elf.bytes_of(part, name) if part is not None else b"" for part, name in parts)
    gccs = dict.fromkeys(f"gcc {version.decode()}" for version in _COMPILER.findall(comment))
    symbols = {*facts.symbols, *(name for _, _, name in facts.functions)}
    link_map = path.parent / "application/link.map"  # of a build of the user's own
    archives = _ARCHIVE.findall(read_bytes(link_map).decode("utf-8", "replace")) if link_map.is_file() else []
    if archives:
        libc = "newlib-nano" if "_nano" in archives[0] else "picolibc" if "picolibc" in archives[0] else "newlib"
    else:
        libc = next((library for library, marks in _MARKS.items() if symbols & marks), "C library not told")
    said = [" and ".join(gccs) or "compiler not told", libc]
    if facts.attributes is not None:
        floats = "hard" if facts.attributes.vfp_args == 1 else "soft"
        said.append(f"{ARCHITECTURES.get(facts.attributes.arch, 'another architecture')}, {floats} float ABI")
    flags = {each[-1].decode() for text in _PRODUCER.findall(strings) if (each := _OPTIMIZED.findall(text))}
    return ", ".join([*said, *(["/".join(sorted(flags))] if flags else [])])
