"""What built an image, by its own words: compiler, C library, core and flags. What cannot be told is said so."""

from __future__ import annotations

import re
from pathlib import Path

from neuralart.files import read_bytes
from neuralart.memory.image import elf_facts
from neuralart.memory.image.code_checks import ARCHITECTURES
from neuralart.text.elf import Elf

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
    """Compiler, C library, architecture and optimization of a linked program. NeuralArtError: It is none for Arm."""
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
