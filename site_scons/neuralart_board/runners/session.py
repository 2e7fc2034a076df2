"""A probe on this machine, alone and while it is ours; what devices say of themselves, what an image is made of."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

from neuralart import products
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.flashing.runners import FlashJob
from neuralart.text.elf import Elf
from neuralart_board.runners.process import Answer


@dataclass(frozen=True)
class ConnectedProbe:
    """A debug probe on this machine."""

    serial: str  # Its serial number
    board: str = ""  # What it says it is soldered to
    firmware: str = ""  # Version of its firmware
    port: str = ""  # Where the system has it


@dataclass(frozen=True)
class Identity:
    """What a device says of itself."""

    device_id: int | None  # DEV_ID; None: it cannot be asked
    voltage: str = ""  # As the probe measures it
    mode: str = ""  # How the program says that it connected
    flash_size: int | None = None  # Bytes of flash inside the device; None: unknown


@dataclass
class ProbeSession:
    """A probe that is ours while this lasts."""

    job: FlashJob  # What is done
    program: Path  # What does it
    serial: str  # The probe; empty: the only one, which has no number
    folder: Path  # For files on their way; programs start here
    number: int = 0  # Of the last file
    answers: list[Answer] = field(default_factory=list)  # What programs said

    def written(self, data: bytes, suffix: str = ".bin") -> str:
        """The name of a new file with these bytes. NeuralArtError: the disk is full."""
        path = self.file(suffix)
        write_bytes(path, data)
        return path.name

    def file(self, suffix: str) -> Path:
        """The name of a new file, of letters that no program takes for something else."""
        self.number += 1
        return self.folder / f"part{self.number}{suffix}"


def number_in(text: str, label: str) -> str:
    """What stands behind a label and a colon in a program's table; empty: it has no such line."""
    found = re.search(rf"^\s*{label}\s*:[ \t]*(\S[^\r\n]*?)\s*$", text, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else ""


def image_parts(elf: Path, board: Board) -> tuple[list[tuple[int, bytes]], int, int]:
    """Address and bytes of each part of an image, its stack pointer and its entry, from its vector table."""
    file = Elf(products.read(elf), str(elf))
    # Not segments: the first may begin with headers of the file, in front of the vector table.
    placed = [(file.load_address(each), each) for each in file.sections if each.allocated and each.filled]
    parts = [(at, file.bytes_of(each, each.name)) for at, each in placed if at is not None]
    for address, data in parts:
        region = board.region_at(address)
        if region is None:
            raise NeuralArtError(f"{len(data)} bytes at 0x{address:08x}: no memory of {board.name}", where=str(elf))
    if not parts or len(parts[0][1]) < 8:
        raise NeuralArtError("nothing of it is loaded", where=str(elf), hint="is it a linked image?")
    stack, entry = struct.unpack_from("<2I", min(parts)[1])
    return parts, stack, entry


_DEVICES = Path("/sys/bus/usb/devices")
_ST = "0483"
# Products that are ST-LINKs: V2, V2-1, V3.
_PROBES = ("3744", "3748", "374")


def usb_probes(devices: Path | None = None) -> list[ConnectedProbe]:
    """ST-LINKs by the serial numbers of their USB descriptors; none where the system does not show them."""
    folder = devices or _DEVICES
    found = []
    for device in sorted(folder.iterdir()) if folder.is_dir() else []:
        if _text(device / "idVendor") == _ST and _text(device / "idProduct").startswith(_PROBES):
            ports = sorted(path.name for path in device.glob("*/tty/tty*"))
            port = f"/dev/{ports[0]}" if ports else ""
            found.append(ConnectedProbe(_text(device / "serial"), _text(device / "product"), port=port))
    return [probe for probe in found if probe.serial]


def serial_port(serial: str, where: str) -> str:
    """The serial port of a probe (empty: of the only one). NeuralArtError: there is none, or several."""
    found = [each for each in usb_probes() if each.port and serial in ("", each.serial)]
    if len(found) != 1:
        known = ", ".join(f"{each.port} ({each.serial})" for each in found)
        what = f"{len(found)} serial ports of probes: {known}" if found else "no serial port of a probe is found"
        raise NeuralArtError(what, where=where, hint="name it, for example /dev/ttyACM0")
    return found[0].port


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
