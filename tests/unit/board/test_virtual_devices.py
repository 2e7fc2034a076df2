"""Register models of the virtual board, and the command line's own checks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart.resources import package_parent
from neuralart_virtual.emulator import runner
from neuralart_virtual.emulator.devices import ClockController, RegisterFile, Usart
from neuralart_virtual.emulator.power import Power


def test_a_register_tells_when_it_changes():
    told = []
    registers = RegisterFile("X", 0x1000, 0x1000, {4: 7}, told.append)
    registers.write(4, 7)
    registers.write(8, 1)
    assert told == [8]
    assert (registers.read(4), registers.read(8), registers.read(12)) == (7, 1, 0)


def test_set_and_clear_twins():
    rcc = ClockController("RCC", 0x1000, 0x2000)
    rcc.write(0x24C, 0b0001)
    rcc.write(0x24C + 0x800, 0b0110)
    assert rcc.read(0x24C) == 0b0111
    rcc.write(0x24C + 0x1000, 0b0011)
    assert rcc.read(0x24C) == 0b0100
    assert rcc.read(0x24C + 0x800) == rcc.read(0x24C + 0x1000) == 0


def usart():
    starved = []
    port = Usart(0x52001000, lambda: starved.append(True))
    return port, starved


def test_a_port_that_is_off_neither_sends_nor_receives():
    port, _ = usart()
    port.feed(b"x")
    port.write(Usart.TDR, 65)
    assert port.take_sent() == b"" and port.read(Usart.ISR) == 0 and port.read(Usart.RDR) == 0
    port.write(Usart.CR1, Usart.UE | Usart.TE)
    port.write(Usart.TDR, 66)
    assert port.take_sent() == b"B"
    assert port.read(Usart.ISR) == Usart.TXE | Usart.TC
    port.write(Usart.CR1, Usart.UE | Usart.RE)
    assert port.read(Usart.ISR) == Usart.RXNE
    assert port.read(Usart.RDR) == ord("x")
    assert port.read(Usart.ISR) == 0


def test_bytes_stay_in_order_over_several_portions():
    port, _ = usart()
    port.write(Usart.CR1, Usart.UE | Usart.RE)
    port.feed(b"ab")
    first = received(port)
    port.feed(b"cd")
    assert bytes([first, *(received(port) for _ in range(3))]) == b"abcd"


def received(port):
    assert port.read(Usart.ISR) & Usart.RXNE
    return port.read(Usart.RDR)


def test_an_access_done_twice_moves_one_byte():
    """The emulator repeats the access during which its slice of time ends."""
    port, _ = usart()
    port.write(Usart.CR1, Usart.UE | Usart.RE | Usart.TE)
    port.feed(b"ab")
    assert [received(port), port.read(Usart.RDR), received(port)] == [*b"aab"]
    for byte in b"xy":
        port.read(Usart.ISR)
        port.write(Usart.TDR, byte)
        port.write(Usart.TDR, byte)
    assert port.take_sent() == b"xy"
    port.write(Usart.TDR, ord("y"))
    assert port.take_sent() == b"", "it was fetched between the two"


def test_only_patient_looking_counts_as_waiting():
    port, starved = usart()
    port.write(Usart.CR1, Usart.UE | Usart.RE | Usart.TE)
    for _ in range(10 * Usart.PATIENCE):
        port.read(Usart.ISR)
        port.write(Usart.TDR, 0)
    assert not starved
    for _ in range(Usart.PATIENCE):
        port.read(Usart.ISR)
    assert len(starved) == 1


def test_power_after_reset():
    board = boards.load("stm32n6570-dk")
    power = Power(board)
    off = {region.name for region in board.memory if power.missing(region)}
    unmapped = {window.region for window in board.windows if not window.mapped_by_boot}
    assert off == {region.name for region in board.memory if not region.on_at_reset} | unmapped
    assert unmapped == {"xSPI1"}
    assert {"AXISRAM3", "AXISRAM4", "AXISRAM5", "AXISRAM6"} <= off


def test_a_memory_that_nothing_turns_on():
    board = boards.load("stm32n6570-dk")
    region = replace(board.region("DTCM"), on_at_reset=False)
    assert Power(board).missing(region) == "DTCM is off after reset, and nothing here turns it on"


def test_the_machine_of_a_board():
    board = boards.load("stm32n6570-dk")
    assert runner.machine_of(board, "").kind == "unicorn"
    with pytest.raises(NeuralArtError, match=r"no machine 'unicron' .did you mean 'unicorn'"):
        runner.machine_of(board, "unicron")
    with pytest.raises(NeuralArtError, match="machine silicon cannot be run here"):
        runner.machine_of(board, "silicon")
    silicon = replace(board, machines={"silicon": board.machines["silicon"]})
    with pytest.raises(NeuralArtError, match="no virtual machine of this board exists"):
        runner.machine_of(silicon, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--load", "x.raw"], "'x.raw' is not FILE@ADDRESS"),
        (["--load", "@0x10"], "'@0x10' is not FILE@ADDRESS"),
        (["--load", "x@0xzz"], "'x@0xzz' is not FILE@ADDRESS"),
        (["--load", "x@0x100000000"], "address 0x100000000 has more than 32 bits"),
        (["--random", "0"], "'0' is no number of vectors"),
        (["--random", "-1"], "'-1' is no number of vectors"),
        (["--timeout", "0"], "'0' is not a time in seconds"),
        (["--timeout", "nan"], "'nan' is not a time in seconds"),
        (["--timeout", "soon"], "'soon' is not a time in seconds"),
    ],
)
def test_wrong_words(capsys, words, message):
    with pytest.raises(SystemExit) as caught:
        cli.main(["run", "--board", "stm32n6570-dk", "--elf", "x.elf", *words])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--network", "n.json", "--random", "1", "--input", "x"], "1 --network and 2 --vectors, --input and --random"),
        (["--network", "n.json", "--labels", "a", "--labels", "b"], "1 --network and 2 --labels"),
        (["--network", "n.json", "--labels", "[1"], "--labels: not a JSON list"),
        (["--network", "n.json", "--labels", "nowhere.txt"], "nowhere.txt: cannot read"),
        ([], "no network to run"),
        (["--network", "nowhere/n.json", "--vectors", "v"], "cannot read"),
    ],
)
def test_wrong_input_is_one_line(capsys, words, message):
    assert cli.main(["run", "--board", "stm32n6570-dk", "--elf", "x.elf", *words]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom neuralart import cli\n"
        "try:\n    cli.main(['run', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'unicorn', 'numpy', 'elftools', 'yaml', 'subprocess', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'heavy: {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(package_parent())}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--vectors" in done.stdout
