"""``neuralart device list``: the debug probes on this machine, and the boards behind them."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart_board.boards_cli import table

if TYPE_CHECKING:
    from neuralart_board.runners.session import ConnectedProbe


@dataclass(frozen=True)
class ConnectedBoard:
    """A probe, and what it says of the device behind it; what is not known is empty."""

    serial: str  # Serial number of the probe
    board: str = ""  # What it is soldered to
    voltage: str = ""  # As the probe measures it
    device_id: str = ""  # DEV_ID of the device
    port: str = ""  # Serial port


def show(*, as_json: bool) -> int:
    """Print all probes."""
    boards = connected()
    if as_json:
        print(json.dumps([asdict(board) for board in boards], indent=1))
        return 0
    rows = [("SERIAL", "BOARD", "VOLTAGE", "DEVICE ID", "PORT")]
    rows += [tuple(value or "-" for value in asdict(board).values()) for board in boards]  # type: ignore[misc]
    print("\n".join(table(rows)) if boards else "no debug probe is connected")
    return 0


def connected() -> list[ConnectedBoard]:
    """All probes: as the system lists them, and with STM32CubeProgrammer also what is behind each."""
    from neuralart_board.runners.cubeprogrammer import CubeProgrammer
    from neuralart_board.runners.session import usb_probes

    listed = {probe.serial: probe for probe in usb_probes()}
    programmer = CubeProgrammer().found()
    if programmer is None:
        return [ConnectedBoard(each.serial, each.board, port=each.port) for each in listed.values()]
    with tempfile.TemporaryDirectory(prefix="neuralart-") as name:
        try:
            probes = CubeProgrammer().probes(programmer, Path(name))
        except NeuralArtError:
            probes = []
        seen = {probe.serial for probe in probes}
        probes += [probe for probe in listed.values() if probe.serial not in seen]
        return [_asked(programmer, Path(name), probe, listed) for probe in probes]


def _asked(program: Path, folder: Path, probe: ConnectedProbe, listed: dict[str, ConnectedProbe]) -> ConnectedBoard:
    from neuralart_board.runners import process
    from neuralart_board.runners.session import number_in

    words = [str(program), "-c", "port=SWD", "mode=HOTPLUG", f"sn={probe.serial}"]
    text = process.call(words, folder, process.CONNECTING).text
    # Another probe's numbers would be wrong ones.
    text = text if number_in(text, "ST-LINK SN") == probe.serial else ""
    board = number_in(text, "Board") or probe.board
    port = listed[probe.serial].port if probe.serial in listed else ""
    return ConnectedBoard(probe.serial, board, number_in(text, "Voltage"), number_in(text, "Device ID"), port)
