"""A stand-in for STM32_SigningTool_CLI: takes its words, keeps its habits, fails as releases of it are known to.

It writes the header that ``-nk`` asks for, with padding that differs from call to call, as the vendor's does. Which
release it plays and how it fails are its first words, which :func:`install` writes into the program.
"""

from __future__ import annotations

import os
import shlex
import struct
import sys
from pathlib import Path

HEADER, TABLE = 0x240, 0x400
FLAGS = {"-s": 0, "-nk": 0, "-align": 0, "-bin": 1, "-t": 1, "-hv": 1, "-o": 1, "-pubk": 1, "-prvk": 1}


def install(folder: Path, version: str = "2.21.0", fault: str = "none") -> Path:
    """Put the program into a folder; returns it."""
    program = folder / "STM32_SigningTool_CLI"
    start = shlex.join([sys.executable, __file__, version, fault])
    program.write_text(f'#!/bin/sh\nexec {start} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def image(program: bytes, kind: str, *, align: bool, signed: bool) -> bytes:
    """Header and payload; without ``align`` the vector table comes right behind the header."""
    payload = bytes(TABLE - HEADER if align else 0) + program
    payload += bytes(-len(payload) % 32)
    made = bytearray(os.urandom(HEADER))
    made[:0xA0] = bytes(0xA0)
    made[:4] = b"STM2"
    if signed:
        made[4:100] = os.urandom(96)
    # The entry point is the word at 0x404, whatever it is.
    entry = int.from_bytes((bytes(HEADER) + payload)[TABLE + 4 : TABLE + 8], "little")
    struct.pack_into("<8I", made, 0x64, sum(payload), 0x20300, len(payload), entry, 0, 0xFFFFFFFF, 0, 0)
    struct.pack_into("<3I", made, 0x84, 0x80000000, 0x1A0, 0x10 if kind == "fsbl" else 0)
    struct.pack_into("<2I", made, 0xA0, 0xFFFF5453, 0x1A0)
    return bytes(made) + payload


def main(words: list[str]) -> int:
    """One call."""
    version, fault, *words = words
    if words == ["--version"]:
        print(f"STM32 Signing Tool v{version}")
        return 0
    given: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word not in FLAGS:
            print(f"Error: unknown option {word}")
            return 1
        given[word] = words.pop(0) if FLAGS[word] else ""
    new = tuple(int(part) for part in version.split(".")[:2]) >= (2, 21)
    if "-align" in given and not new:
        print("Error: unknown option -align")
        return 1
    program = Path(given["-bin"]).read_bytes()
    if fault == "other program":
        program = program[:8] + bytes(len(program) - 8)
    made = image(program, given["-t"], align="-align" in given or not new, signed="-nk" not in given)
    if fault == "silent":
        print("Error: Unable to open the file")
        return 0
    if fault == "short":
        made = made[:-64]
    if fault == "checksum":
        made = made[:0x64] + bytes(4) + made[0x68:]
    Path(given["-o"]).write_bytes(made)
    print("Header version 2.3 preparation is success")
    return 1 if fault == "exit 1" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
