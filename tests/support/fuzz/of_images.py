"""Kinds of files that reach a board, and of what is remembered about a board."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart import boards
from neuralart.applications import runtime
from neuralart.flashing import plan as plans
from neuralart.flashing.nor import Nor, chip_of, load_for, program_plan
from neuralart.memory.layout import identity
from neuralart.relocatable.format import load_table
from neuralart.text import image_header
from neuralart_virtual.emulator import boot_chain, image
from support.boards import images
from support.fuzz.damage import aimed, damage, header_words, json_tree, text
from support.fuzz.judge import Kind, Said, command, findings
from support.fuzz.of_networks import look

_BOARD = boards.load("stm32n6570-dk")
_CHIP = chip_of(_BOARD)
_FILES = {"application": bytes(range(256)) * 20, "net": b"\x5a" * 0x1800, "descriptor": b"NAID" * 8}
_KINDS = {"application": "application", "net": "model", "descriptor": "descriptor"}


def _writes(folder: Path) -> list[plans.Write]:
    made = []
    for number, (name, data) in enumerate(_FILES.items()):
        (folder / f"{name}.bin").write_bytes(data)
        place = _CHIP.base + 0x100000 * (number + 1)
        made.append(plans.write_of(name, _KINDS[name], folder / f"{name}.bin", place, f"{name}.bin"))
    return made


def _device(folder: Path) -> None:
    """A plan, its files, and a flash that was written by it."""
    (folder / "flash_plan.json").write_text(plans.make(_BOARD.name, _writes(folder)))
    nor = Nor(_CHIP)
    program_plan(plans.read(folder / "flash_plan.json"), nor, top=folder)
    nor.save(folder / "device.nor")


def _of_device(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        _device(Path(folder))
        return (Path(folder) / name).read_bytes()


def _words(verb: str, plan: str = "flash_plan.json", nor: str = "device.nor") -> Any:
    def line(path: Path) -> list[object]:
        here = path.parent
        return [verb, "--plan", here / plan, "--nor", here / nor, "--top", here]

    return command(line, differs=verb == "verify")


def _nor_refit(data: bytes) -> bytes:
    """With the checksum that the bytes have."""
    return data[:32] + struct.pack("<I", zlib.crc32(data[36:], zlib.crc32(data[8:32]))) + data[36:]


def _nor_accepted(good: bytes, bad: bytes, read: Said) -> str:
    if _nor_refit(bad) != bad:
        return "a false 'valid': the CRC-32 of the file is not that in it"
    return "" if good != bad or read.code == 0 else "the good file differs from its plan"


def _plan_accepted(good: bytes, bad: bytes, read: object) -> str:
    for row in json.loads(bad)["writes"]:
        data = _FILES[Path(row["file"]).stem]
        if (len(data), hashlib.sha256(data).hexdigest()) != (row["bytes"], row["sha256"]):
            return f"a false 'valid': {row}"
    return ""


def _as_planned(good: bytes, bad: bytes, read: object) -> str:
    return "" if good == bad else "a false 'valid': a changed file was taken"


def _run_plan(path: Path) -> object:
    look(path)
    for number in range(2):
        machine = replace(_BOARD.machines[next(iter(_BOARD.machines))], kind=("unicorn", "qemu")[number])
        boot_chain.of_plan(path, _BOARD, machine, path.parent)
    return None


def _elf(path: Path) -> object:
    image.read_elf(path)
    return look(path)


def _header_refit(data: bytes) -> bytes:
    made = bytearray(data)
    layout = image_header.header_at(data, 0)
    if layout is not None and len(data) > layout.size:
        payload = data[layout.size :]
        struct.pack_into("<I", made, layout.checksum, sum(payload) & 0xFFFFFFFF)
        struct.pack_into("<I", made, layout.checksum + 8, len(payload))
    return bytes(made)


def _header(path: Path) -> image_header.BootImage:
    found = look(path)
    assert found["kind"], found
    data = path.read_bytes()
    list(image_header.find(data))
    made = image_header.read(data, where=str(path))
    image_header.problems(made)
    return made


def _header_accepted(good: bytes, bad: bytes, read: image_header.BootImage) -> str:
    if image_header.problems(read):
        return ""
    payload = bad[read.layout.size : read.layout.size + read.image_length]
    if len(payload) != read.image_length or sum(payload) & 0xFFFFFFFF != read.checksum:
        return "a false 'valid': the payload has another sum"
    return ""


def _archive(members: Sequence[tuple[str, bytes]]) -> bytes:
    made = b"!<arch>\n"
    for name, data in members:
        made += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return made


_OBJECT = images.elf(kind=1, symbols=(images.Symbol("__errno", 0, 0), images.Symbol("f", 0, 1)))
_ARCHIVE = _archive(
    [
        ("/", b"\0\0\0\0"),
        ("//", b"a_rather_long_name.o/\n"),
        ("/0", _OBJECT),
        ("short.o/", _OBJECT),
        ("x.txt/", b"text"),
    ]
)
_BARE = struct.pack("<2I", 0x34100000, 0x34000501) + bytes(range(256)) * 6
_ENTRIES = [
    identity.Entry("0123456789abcdef", "xSPI2", 0x71000000, 4096, 0x12345678, 0),
    identity.Entry("0123456789abcdef", "octoFlash", 0x71100000, 512, 0x1, 0),
]


def _descriptor_refit(data: bytes) -> bytes:
    total = int.from_bytes(data[8:12], "little")
    return data[:12] + struct.pack("<I", zlib.crc32(data[16 : min(total, len(data))])) + data[16:]


def _descriptor_accepted(good: bytes, bad: bytes, read: object) -> str:
    total = int.from_bytes(bad[8:12], "little")
    if zlib.crc32(bad[16:total]) != int.from_bytes(bad[12:16], "little") or bad[total:].strip(b"\xff"):
        return "a false 'valid': CRC-32 or what follows"
    return ""


def _symbols(data: bytes, rng: random.Random) -> bytes:
    """Damage of an ELF file: its header, its tables of segments and sections (both of 32-bit words), or anywhere."""
    sections = int.from_bytes(data[32:36], "little")
    places = [*range(16, 52, 4), *range(52, 180, 4), *range(sections, len(data) - 3, 4)]
    return aimed(lambda _: [at for at in places if at + 4 <= len(data)])(data, rng)


KINDS = [
    Kind("program.elf", [images.elf()], _elf, _symbols),
    Kind(
        "checked.elf",
        [images.elf()],
        findings(lambda p: ["tool", "check-image", "--json", "--board", _BOARD.name, p]),
        _symbols,
        cost=10,
    ),
    Kind(
        "firmware.bin",
        [_BARE],
        findings(lambda p: ["tool", "check-image", "--json", "--board", _BOARD.name, p]),
        damage,
        cost=10,
    ),
    Kind("library.a", [_ARCHIVE], runtime.needed_library, text),
    Kind("binary.a", [_ARCHIVE], runtime.needed_library, damage),
    Kind(
        "signed.bin",
        [
            image_header.make(_BARE, kind, version)
            for kind in ("fsbl", "application")
            for version in image_header.LAYOUTS
        ],
        _header,
        aimed(header_words(0x408), _header_refit),
        accepted=_header_accepted,
    ),
    Kind(
        "unsigned.bin",
        [_BARE],
        command(lambda p: ["tool", "sign", p, "-o", p.parent / "made"]),
        aimed(header_words(64)),
        made="made",
        cost=2,
    ),
    Kind(
        "descriptor.bin",
        [identity.build(_ENTRIES), identity.build(_ENTRIES).ljust(4096, b"\xff")],
        look,
        aimed(header_words(128), _descriptor_refit),
        accepted=_descriptor_accepted,
    ),
    Kind(
        "load_table.bin",
        [load_table.make(("xip", "clear"), [(0x71000000, 0), (0x71100000, 0x71200000)])],
        look,
        aimed(header_words(64)),
    ),
    Kind("application.bin", [b"\xff" * 0x400 + _BARE], look, damage),
    Kind(
        "device.nor",
        [_of_device("device.nor")],
        _words("verify"),
        aimed(header_words(48), _nor_refit),
        prepare=_device,
        accepted=_nor_accepted,
        cost=4,
    ),
    Kind("loaded.nor", [_of_device("device.nor")], lambda p: load_for(p, _BOARD), aimed(header_words(48), _nor_refit)),
    Kind(
        "flash_plan.json",
        [_of_device("flash_plan.json")],
        _words("flash", nor="made"),
        json_tree,
        prepare=_device,
        accepted=_plan_accepted,
        made="made",
        cost=4,
    ),
    Kind(
        "run_plan.json",
        [_of_device("flash_plan.json")],
        _run_plan,
        json_tree,
        prepare=_device,
        accepted=_plan_accepted,
        cost=2,
    ),
    Kind(
        "net.bin",
        [_FILES["net"]],
        _words("flash", nor="made"),
        damage,
        prepare=_device,
        accepted=_as_planned,
        made="made",
        cost=4,
    ),
]
