"""Debug probes of ST on this machine, as the operating system lists them."""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.flashing.runners.session import ConnectedProbe

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
