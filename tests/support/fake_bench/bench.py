"""Boards with flash, switches and power, and a fault; the programs that reach them are beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.flashing.nor import Nor, chips_of

FAULTS = (
    "none",
    "no probe",
    "two probes",
    "sn ignored",
    "busy",
    "no power",
    "wrong switches",
    "other device",
    "other mode",
    "no FSBL",
    "old version",
    "cable pulled",
    "one bit wrong",
    "exit 0, nothing done",
    "error in the text",
    "exit 1 after success",
    "prompt",
    "slow",
    "hangs",
    "locale",
    "not reset",
)
SERIALS = ("003A00333234510A33353533", "0666FF363932424257113442")


class Failure(Exception):
    """A program ends: the text it prints, and its status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.text, self.status = text, status


class Hang(Exception):
    """A program does not come to an end."""


@dataclass
class FakeBoard:
    """A board with its probe."""

    serial: str
    board: Board
    device_id: int
    nors: dict[str, Nor] = field(default_factory=dict)
    writes: int = 0  # Times that something in it was erased
    resets: int = 0
    ram: dict[int, bytes] = field(default_factory=dict)  # What was written, by address
    running: tuple[int, int] = (0, 0)  # Stack pointer and program counter that it was started with

    def __post_init__(self) -> None:
        for chip in chips_of(self.board):
            self.nors[f"{chip.base:#x}"] = Nor(chip)
        if "fsbl" in self.board.slots:
            self.put(self.board.slots["fsbl"], b"STM2" + bytes(60))

    def nor(self, address: int) -> Nor | None:
        found = [nor for nor in self.nors.values() if nor.chip.base <= address < nor.chip.base + nor.chip.size]
        return found[0] if found else None

    def put(self, address: int, data: bytes) -> None:
        """Erase the sectors of a range and program it, as programmers do."""
        nor = self.nor(address)
        region = self.board.region_at(address)
        if nor is None and region is not None and region.kind == "ram":
            self.ram[address] = data
            return
        if nor is None:
            raise Failure("Error: failed to download data: no memory there")
        sector = nor.chip.sector
        begin = address - nor.chip.base
        first, last = begin // sector * sector, -(-(begin + len(data)) // sector) * sector
        nor.erase(first, last - first)
        nor.program(begin, data)

    def get(self, address: int, count: int) -> bytes:
        debug = self.board.debug
        if debug is not None and address == debug.idcode:
            return (0x20000000 | self.device_id).to_bytes(4, "little")[:count]
        nor = self.nor(address)
        if nor is None and address in self.ram:
            return self.ram[address][:count]
        if nor is None:
            raise Failure("Error: cannot access memory")
        return nor.read(address - nor.chip.base, count)


@dataclass
class Bench:
    """What is plugged in, and what is wrong with it."""

    plugged: list[FakeBoard]
    fault: str = "none"
    steps: int = 0  # Writes that were begun
    serving: dict[int, str] = field(default_factory=dict)  # Port of a gdb server and the probe that it has
    calls: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, fault: str = "none") -> Bench:
        board = boards.load(name)
        assert board.debug is not None
        made = [FakeBoard(serial, board, board.debug.device_id) for serial in SERIALS]
        bench = cls(made if fault in ("two probes", "sn ignored") else made[1:], fault)
        if fault == "other device":
            bench.right.device_id = 0x497
        if fault == "no FSBL" and "fsbl" in board.slots:
            nor = bench.right.nors["0x70000000"]
            nor.erase(0, nor.chip.sector)
        return bench

    @property
    def right(self) -> FakeBoard:
        """The board that is meant."""
        return self.plugged[-1]

    def repair(self) -> None:
        """Plug it in, switch it back, close the other program."""
        if self.fault == "other device" and self.right.board.debug is not None:
            self.right.device_id = self.right.board.debug.device_id
        if self.fault == "no FSBL" and "fsbl" in self.right.board.slots:
            self.right.put(self.right.board.slots["fsbl"], b"STM2" + bytes(60))
        self.fault = "none"

    def taken(self, serial: str) -> FakeBoard:
        """The board that a program reaches when it is told a serial number, or none."""
        if self.fault == "no probe" or self.fault == "pulled":
            raise LookupError("no probe")
        if self.fault == "sn ignored" or not serial:
            return self.plugged[0]
        found = [board for board in self.plugged if board.serial == serial]
        if not found:
            raise LookupError("no probe of this number")
        return found[0]

    def erase_and_write(self, board: FakeBoard, address: int, data: bytes) -> None:
        """A write with the fault in it. Failure, LookupError or Hang: what the program has to say."""
        self.steps += 1
        if self.fault == "hangs":
            raise Hang
        if self.fault == "exit 0, nothing done":
            raise Failure("File download complete\n", 0)
        if self.fault == "prompt":
            raise Failure("The sector is protected. Continue? [y/n] ", 0)
        board.writes += 1
        if self.fault == "cable pulled" and self.steps == 2:
            board.put(address, data[: len(data) // 2])
            self.fault = "pulled"
            raise LookupError("no probe")
        if self.fault == "one bit wrong" and self.steps == 2:
            data = data[:-1] + bytes([data[-1] & ~1 if data[-1] & 1 else data[-1] | 1])
        board.put(address, data)
        if self.fault == "exit 1 after success":
            raise Failure("Download complete\n", 1)
        if self.fault == "error in the text":
            raise Failure(
                "Error: Failed to download data! If it's a Flash memory, it may be not erased or protected\n", 0
            )

    @contextmanager
    def server(self, words: list[str], port: int) -> Iterator[str]:
        """ST-LINK_gdbserver: what it prints if it cannot start is the text of a Failure."""
        self.calls.append(words)
        serial = words[words.index("-i") + 1] if "-i" in words else ""
        head = "STMicroelectronics ST-LINK GDB server. Version 7.9.0\nError in initializing ST-LINK device.\nReason: "
        reasons = {
            "busy": "ST-LINK already in use",
            "no power": "Target voltage too low, 0.02 V",
            "wrong switches": "Failed to connect to device. Please check power and cabling to target.",
        }
        if self.fault == "old version":
            raise Failure("ST-LINK GDB server: Error: unknown option '-el'")
        if self.fault in reasons:
            raise Failure(head + reasons[self.fault])
        try:
            self.serving[port] = self.taken(serial).serial
        except LookupError:
            raise Failure(head + "No ST-LINK detected") from None
        try:
            yield ""
        finally:
            del self.serving[port]


def seconds_for(bench: Bench, count: int) -> float:
    """How long a program needs."""
    return 5 + count / 15_000 if bench.fault == "slow" else 1


def word_after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1] if option in words else ""
