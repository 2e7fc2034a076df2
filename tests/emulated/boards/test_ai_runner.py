"""The vendor's own client talks to a made-up board, and to our firmware. Skipped where no copy of it is named."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import boards
from neuralart_virtual.emulator.image import read_elf, read_raw
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from neuralart_virtual.validation_link.client import ValidationClient, bsd16
from support.boards.board_ports import on_tcp, on_terminal
from support.boards.firmware import N6_STEPS, STAMP, WEIGHTS, Builder, have_gcc, memory_init, pixels, reference
from support.boards.validation_board import RAM, ValidationBoard, layer, network

FOLDERS = [each for each in os.environ.get("NEURALART_AI_RUNNER", "").split(os.pathsep) if each]
CLIENT = Path(__file__).parents[2] / "support" / "boards" / "ai_runner_client.py"
WHY = "NEURALART_AI_RUNNER does not name folders with the vendor's package stm_ai_runner"
pytestmark = [pytest.mark.skipif(not FOLDERS, reason=WHY), pytest.mark.skipif(os.name == "nt", reason="no terminals")]
FLASH, SRAM = 0x71000000, 0x342E0000
BLOB = bytes(n * 7 & 255 for n in range(3000))


def version(folder: str) -> str:
    found = re.search(r'__version__ = "(\d+\.\d+)', (Path(folder) / "stm_ai_runner" / "__version__.py").read_text())
    assert found is not None
    return found[1]


def start(folder, where, address, samples, tmp_path):
    batch = tmp_path / "batch.bin"
    batch.write_bytes(b"".join(samples))
    words = [sys.executable, str(CLIENT), folder, where, hex(address), str(batch)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def talk(*words):
    done = start(*words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def split(samples):
    return b"".join(samples).hex()


@pytest.mark.parametrize("folder", FOLDERS or [""], ids=lambda folder: Path(folder).name)
@pytest.mark.parametrize("framing", ["own", "both"])
def test_with_a_made_up_board(folder, framing, tmp_path):
    ours = version(folder).replace(".", "")
    board = ValidationBoard(ours if framing == "own" else framing)
    samples = [bytes(range(100, 116)), bytes(range(16))]
    with on_terminal(board) as port:
        said = talk(folder, f"serial:{port}:921600", RAM + 16, samples, tmp_path)
    assert (said["names"], said["nodes"], said["hash"]) == (["one"], 2, "0x0123")
    for mode in ("IO_ONLY", "PER_LAYER", "PER_LAYER_WITH_DATA"):
        assert said[mode]["outputs"] == [split(map(network, samples))], mode
    first, second = said["PER_LAYER_WITH_DATA"]["layers"]
    assert (first["name"], second["name"]) == ("EpochBlock_1", "EpochBlock_2")
    assert (first["data"], second["data"]) == ([split(map(layer, samples))], [])
    assert first["extra"] == ([] if ours == "31" else ["mcu_cycles:1:2:3"])
    assert (said["written"], said["read"], said["checksum"], said["refused"]) == (0, True, bsd16(BLOB), True)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not have_gcc:
        pytest.skip("arm-none-eabi-gcc is not on PATH")
    board = boards.load("stm32n6570-dk")
    folder = tmp_path_factory.mktemp("n6")
    # Some looks more at the empty port than in other tests: the client is slower.
    defines = ("NEURALART_VALIDATION_LINK", "NEURALART_VALIDATION_SILENCE=2000u", "NEURALART_CORE_HZ=1000000u")
    builder = Builder(folder / "objects", board, "unicorn", FLASH, SRAM)
    memory = memory_init(tuple(N6_STEPS))
    return builder.image(folder / "image", memory=memory, app_defines=defines, defines=("TOY_CYCLES",))


@pytest.mark.arm
@pytest.mark.parametrize("folder", FOLDERS or [""], ids=lambda folder: Path(folder).name)
@pytest.mark.parametrize("port", ["terminal", "TCP"])
def test_with_our_firmware(folder, port, image, tmp_path):
    pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
    if port == "TCP" and version(folder) == "3.1":
        pytest.skip("over TCP, this version of the client breaks after it has connected")
    board = boards.load("stm32n6570-dk")
    machine = UnicornBoard(board, board.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)])
    while machine.read(0.05):
        pass  # What it says when it starts: over TCP, the client takes it for an answer
    samples = [pixels(1), pixels(2)]
    if port == "TCP":
        with on_tcp(machine) as (host, number):
            said = talk(folder, f"socket:{host}:{number}", SRAM + 0x1000, samples, tmp_path)
    else:
        with on_terminal(machine) as name:
            said = talk(folder, f"serial:{name}:921600", SRAM + 0x1000, samples, tmp_path)
    assert (said["names"], said["nodes"], said["hash"]) == (["toy"], 3, STAMP)
    wanted = [reference(each, WEIGHTS) for each in samples]
    scores, sums = [each[:16] for each in wanted], [each[16:] for each in wanted]
    for mode in ("IO_ONLY", "PER_LAYER", "PER_LAYER_WITH_DATA"):
        assert said[mode]["outputs"] == [split(scores), split(sums)], mode
    layers = said["PER_LAYER_WITH_DATA"]["layers"]
    assert [each["data"] for each in layers] == [[split(s[::-1] for s in scores)], [split(scores)], [split(sums)]]
    assert [each["tensors"] for each in said["PER_LAYER"]["layers"]] == [["hidden"], ["scores"], ["sums"]]
    assert re.search(r"\n  total +3\.000 +\[ *0 +3,?000 +0 ", said["shown"]) and "333.33 inf/s" in said["shown"]
    if version(folder) != "3.1":
        assert "evt_pre_start:0:0:0:0:00000023:05000002:SW" in layers[0]["extra"]
    assert (said["written"], said["read"], said["checksum"], said["refused"]) == (0, True, bsd16(BLOB), True)


@pytest.mark.parametrize("folder", FOLDERS or [""], ids=lambda folder: Path(folder).name)
def test_a_board_of_the_other_framing_comes_back(folder, tmp_path):
    """The client fails, and leaves the board out of step. Ours finds it again, without a reset."""
    board = ValidationBoard({"3.1": "32", "3.2": "31"}[version(folder)])
    with on_terminal(board) as port:
        done = start(folder, f"serial:{port}:921600", RAM, [bytes(16)], tmp_path)
    assert done.returncode == 1 and "Invalid firmware" in done.stderr
    assert ValidationClient(board).network("")["name"] == "one"
