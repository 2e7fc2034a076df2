"""STM32_Programmer_CLI, gdb, OpenOCD and pyOCD, as far as flash runners use them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from neuralart.text.ihex import HexFile, parse
from neuralart_board.runners.process import Answer
from support.fake_bench.bench import Bench, Failure, FakeBoard, Hang, seconds_for, word_after

Tool = Callable[[Bench, list[str], Path], str]
HEAD = """      -------------------------------------------------------------------
                        STM32CubeProgrammer v{version}
      -------------------------------------------------------------------

"""
TABLE = """ST-LINK SN  : {serial}
ST-LINK FW  : V3J15M7
Board       : {board}
Voltage     : {voltage}V
SWD freq    : 8000 KHz
Connect mode: {mode}
Reset mode  : Software reset
Device ID   : 0x{device_id:03x}
Revision ID : Rev B
Device name : {name}
{size}Device type : MCU
Device CPU  : {cpu}
"""
MODES = {"HOTPLUG": "Hot Plug", "UR": "Under Reset", "NORMAL": "Normal"}


def _size(board: FakeBoard) -> str:
    inside = sum(region.size for region in board.board.memory if region.sector)
    return f"Flash size  : {inside >> 20} MBytes\n" if inside else ""


def programmer(bench: Bench, words: list[str], folder: Path) -> str:
    head = HEAD.format(version="2.12.0" if bench.fault == "old version" else "2.18.0")
    if words[0] == "-l":
        return head + _list(bench)
    settings = dict(word.split("=", 1) for word in words if re.match(r"(mode|ap|sn|port)=", word))
    try:
        board = bench.taken(settings.get("sn", ""))
        said = head + _table(bench, board, settings.get("mode", "NORMAL"))
        return said + _commands(bench, words, folder, board)
    except LookupError:
        raise Failure(f"{head}Error: No debug probe detected.\n") from None
    except Failure as failure:
        # What it printed before it failed has the table as well.
        text = failure.text if failure.text.startswith(" ") else said + failure.text
        raise Failure(text, failure.status) from None


def _list(bench: Bench) -> str:
    if bench.fault in ("no probe", "pulled"):
        return "Error: No ST-Link detected!\n"
    text = "-------- Connected ST-LINK Probes List --------\n"
    for number, board in enumerate(bench.plugged):
        text += f"\nST-Link Probe {number} :\n   ST-LINK SN  : {board.serial}\n   ST-LINK FW  : V3J15M7\n"
        text += f"   Access Port Number  : 2\n   Board Name  : {board.board.name.upper()}\n"
    return text + "-----------------------------------------------\n"


def _table(bench: Bench, board: FakeBoard, mode: str) -> str:
    head = HEAD.format(version="2.18.0") + f"ST-LINK SN  : {board.serial}\nST-LINK FW  : V3J15M7\n"
    if bench.fault == "busy":
        raise Failure(HEAD.format(version="2.18.0") + "Error: ST-LINK error (DEV_USB_COMM_ERR)\n")
    if bench.fault == "no power":
        raise Failure(head + "Voltage     : 0.00V\nError: No STM32 target found!\n")
    if bench.fault == "wrong switches" and mode == board.board.debug.mode:  # type: ignore[union-attr]
        raise Failure(head + "Voltage     : 3.28V\nError: Unable to get core ID\nError: No STM32 target found!\n")
    voltage = "3,28" if bench.fault == "locale" else "3.28"
    return TABLE.format(
        serial=board.serial,
        board=board.board.name.upper(),
        voltage=voltage,
        mode="Normal" if bench.fault == "other mode" else MODES[mode],
        device_id=board.device_id,
        name="STM32N6xx",
        size=_size(board),
        cpu="Cortex-M55",
    )


def _commands(bench: Bench, words: list[str], folder: Path, board: FakeBoard) -> str:
    if "-u" in words:
        at = words.index("-u")
        address, count, name = int(words[at + 1], 16), int(words[at + 2], 16), words[at + 3]
        _loader(words, board, address)
        (folder / name).write_bytes(board.get(address, count))
        return "Data read successfully\n"
    if "-w" in words:
        at = words.index("-w")
        address = int(words[at + 2], 16)
        _loader(words, board, address)
        bench.erase_and_write(board, address, (folder / words[at + 1]).read_bytes())
        return "File download complete\nDownload verified successfully\n"
    if "-coreReg" in words:
        found = dict(word.split("=") for word in words[words.index("-coreReg") + 1 : -1])
        assert words[-1] == "-run"
        board.running = (int(found["MSP"], 16), int(found["PC"], 16))
        return "Core run\n"
    if "-hardRst" in words:
        _reset(bench, board)
        return "Hard reset is performed\n"
    return ""


def _loader(words: list[str], board: FakeBoard, address: int) -> None:
    """External flash answers through its loader only."""
    if address >= 0x60000000 and Path(word_after(words, "-el")).name != board.board.flash["loader"]:
        raise Failure("Error: failed to read: no external loader\n")


def _reset(bench: Bench, board: FakeBoard) -> None:
    if bench.fault == "not reset":
        raise Failure("Error: reset failed: DEV_TARGET_CMD_ERR\n")
    board.resets += 1


def gdb(bench: Bench, words: list[str], folder: Path) -> str:
    said = ""
    board = None
    for line in (words[n + 1] for n, word in enumerate(words) if word == "-ex"):
        verb, *rest = line.split()
        if verb == "target":
            serial = bench.serving.get(int(rest[1].rpartition(":")[2]))
            if serial is None:
                raise Failure(f"{rest[1]}: Connection refused.\n")
            if bench.fault in ("no probe", "pulled"):
                raise Failure("Remote connection closed\n", 0)
            board = bench.taken(serial)
        elif verb == "dump":
            assert board is not None
            first, last = int(rest[3], 16), int(rest[4], 16)
            (folder / rest[2]).write_bytes(board.get(first, last - first))
        elif verb == "load":
            assert board is not None
            file = parse((folder / rest[0]).read_bytes(), rest[0])
            for address, data in _segments(file):
                try:
                    bench.erase_and_write(board, address, data)
                except LookupError:
                    # gdb goes on with the next line, and ends with 0 all the same.
                    raise Failure(said + "Remote failure reply: E31\nRemote connection closed\n", 0) from None
            said += "Start address 0x0, load size 1\nTransfer rate: 1 KB/sec.\n"
        elif verb == "monitor":
            assert board is not None
            _reset(bench, board)
        elif line.startswith("set $sp") and board is not None:
            board.running = (int(rest[-1], 16), 0)
        elif line.startswith("set $pc = 0x") and board is not None:
            board.running = (board.running[0], int(rest[-1], 16))
    return said


def _segments(file: HexFile) -> list[tuple[int, bytes]]:
    return list(file.parts)


def openocd(bench: Bench, words: list[str], folder: Path) -> str:
    said = "Open On-Chip Debugger 0.12.0\n"
    lines = [words[n + 1] for n, word in enumerate(words) if word == "-c"]
    assert word_after(words, "-f").endswith(".cfg") and lines[-1] == "shutdown"
    serial = ""
    board = None
    for line in lines:
        verb, *rest = line.split()
        if line.startswith("adapter serial"):
            if bench.fault == "old version":
                raise Failure(said + 'invalid command name "adapter serial"\n')
            serial = rest[1]
        elif verb == "init":
            reasons = {
                "busy": "Error: libusb_open() failed with LIBUSB_ERROR_ACCESS\nError: open failed\n",
                "no power": "Error: target voltage may be too low for reliable debugging\nError: init mode failed\n",
                "wrong switches": "Error: init mode failed (unable to connect to the target)\n",
            }
            if bench.fault in reasons:
                raise Failure(said + reasons[bench.fault])
            try:
                board = bench.taken(serial)
            except LookupError:
                raise Failure(said + "Error: open failed\n") from None
        elif verb == "dump_image":
            assert board is not None
            (folder / rest[0]).write_bytes(board.get(int(rest[1], 16), int(rest[2], 16)))
        elif verb == "flash":
            assert board is not None and rest[:2] == ["write_image", "erase"]
            try:
                bench.erase_and_write(board, int(rest[3], 16), (folder / rest[2]).read_bytes())
            except LookupError:
                raise Failure(
                    said + "Error: jtag status contains invalid mode value - communication failure\n"
                ) from None
            said += "wrote 4096 bytes from file part1.bin in 0.1s\n"
        elif verb == "load_image":
            assert board is not None
            board.put(int(rest[1], 16), (folder / rest[0]).read_bytes())
        elif verb == "reg":
            assert board is not None
            board.running = (int(rest[1], 16), 0) if rest[0] == "sp" else (board.running[0], int(rest[1], 16))
        elif line == "reset run":
            assert board is not None
            _reset(bench, board)
    return said


def pyocd(bench: Bench, words: list[str], folder: Path) -> str:
    if words[0] == "json":
        if bench.fault == "old version":
            raise Failure("pyocd: error: argument cmd: invalid choice: 'json'\n", 2)
        gone = bench.fault in ("no probe", "pulled")
        rows = [] if gone else [f'{{"unique_id": "{each.serial}", "info": "STM32 STLink"}}' for each in bench.plugged]
        return f'{{"pyocd_version": "0.36.0", "status": 0, "boards": [{", ".join(rows)}]}}\n'
    reasons = {
        "busy": "C Probe is already in use by another process [exclusive access]\n",
        "no power": "C Target voltage too low\n",
        "wrong switches": "C No ACK received\n",
    }
    if bench.fault in reasons:
        raise Failure(reasons[bench.fault])
    try:
        board = bench.taken(word_after(words, "-u"))
        if words[0] == "commander":
            for line in (words[n + 1] for n, word in enumerate(words) if word == "-c"):
                _pyocd_line(board, line, folder)
        elif words[0] == "load":
            data = (folder / words[-1]).read_bytes()
            bench.erase_and_write(board, int(word_after(words, "--base-address"), 16), data)
        elif words[0] == "reset":
            _reset(bench, board)
    except LookupError:
        raise Failure("C No available debug probes are connected\n") from None
    return ""


def _pyocd_line(board: FakeBoard, line: str, folder: Path) -> None:
    verb, *rest = line.split()
    if verb == "savemem":
        (folder / rest[2]).write_bytes(board.get(int(rest[0], 16), int(rest[1])))
    elif verb == "loadmem":
        board.put(int(rest[0], 16), (folder / rest[1]).read_bytes())
    else:
        stack, entry = (int(number, 16) for number in re.findall(r"wreg \w+ (0x\w+)", line))
        board.running = (stack, entry)


TOOLS: dict[str, Tool] = {"STM32_Programmer_CLI": programmer, "gdb-multiarch": gdb, "openocd": openocd, "pyocd": pyocd}


def answer(bench: Bench, words: list[str], folder: Path, seconds: float) -> Answer:
    """What :func:`neuralart_board.runners.process.call` returns."""
    bench.calls.append([str(word) for word in words])
    count = max((path.stat().st_size for path in folder.glob("part*")), default=0)
    try:
        text, status = TOOLS[Path(words[0]).name](bench, [str(word) for word in words[1:]], folder), 0
    except Failure as failure:
        text, status = failure.text, failure.status
    except Hang:
        return Answer(tuple(words), -9, "Memory Programming ...\n", late=True)
    if bench.fault == "locale":
        text += "Ger\ufffdt l\ufffduft, 3,28 V\n"
    if seconds_for(bench, count) > seconds:
        return Answer(tuple(words), -9, text, late=True)
    return Answer(tuple(words), status, text)
