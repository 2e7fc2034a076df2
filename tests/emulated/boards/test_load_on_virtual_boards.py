"""`neuralart load` with the real gdb and a real TCP serial port, on the virtual STM32N6 and on QEMU."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from neuralart import boards, cli
from support.boards.firmware import have_gcc, have_qemu
from support.boards.virtual_serial import offered
from support.relocatable.loading import EXTERNAL, VECTORS, Made, first_vectors, make_firmware, make_model

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytest.importorskip("serial", reason="pyserial is not installed: pip install scons-neuralart[serial]")
pytestmark = [
    pytest.mark.arm,
    pytest.mark.gdb,
    pytest.mark.long,
    pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH"),
    pytest.mark.skipif(not shutil.which("gdb-multiarch"), reason="no gdb-multiarch"),
]
TABLE = 0x70FF0000  # As the boards' files have it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("load it")


def application(folder: Path, name: str, machine: str, *defines: str) -> Path:
    board = boards.load(name)
    memories = ("xSPI1", "xSPI2") if machine == "unicorn" else ()
    defines = ("NEURALART_VALIDATION_LINK", "NEURALART_EXEC_RAM=0x40000u", *defines)
    return make_firmware(folder / name, board, machine, memories, defines, table=TABLE)


@pytest.fixture(scope="module")
def digits(folder: Path) -> Made:
    return make_model(folder / "digits", "external", name="digits")


@pytest.fixture(scope="module")
def mobilenet(folder: Path) -> Made:
    return make_model(folder / "mobilenet", "external", name="mobilenet", model="mobilenet", split=True)


def test_two_models_on_the_virtual_n6(
    folder: Path, digits: Made, mobilenet: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    elf = application(folder, "stm32n6570-dk", "unicorn", *EXTERNAL)
    with offered("stm32n6570-dk", folder, "--mapped", "xSPI1") as board:

        def load(made: Made, *more: str, status: int = 0) -> str:
            assert cli.main(["load", "-i", str(made.image), *board.words, "--application", str(elf), *more]) == status
            said = capsys.readouterr()
            return said.out + said.err

        said = load(digits, "--vectors", str(VECTORS), "--log", str(folder / "load.log"))
        assert "digits: 20 vectors bit-exact" in said and "no split model" in said
        assert f"Flashing '{digits.image}' at address 0x71000000 (size={digits.size}).." in said
        counts = [int(count.replace(",", "")) for count in re.findall(r"^  \d+ +([\d,]+) +\d+\.\d$", said, re.M)]
        total = re.search(r"^  total +([\d,]+)  a virtual board: instructions \(by 1,000\) are no time$", said, re.M)
        assert total and len(counts) == 6 and sum(counts) == int(total[1].replace(",", "")) > 100_000
        assert " ms" not in said and "inf/s" not in said
        assert "digits: 20 vectors bit-exact" in (folder / "load.log").read_text("utf-8")

        said = load(mobilenet, "--mode", "xip", "--vectors", str(first_vectors(folder, 1, "mobilenet")))
        assert "mobilenet: 1 vectors bit-exact" in said and f"Params         : '{mobilenet.params}'" in said
        assert "at address 0x71800000" in said and "the board runs" not in said

        # What the flash holds is the other one: it says so, and nothing is taken for a success.
        said = load(digits, "--mode", "no-flash", status=1)
        assert re.search(r"the board runs 'mobilenet' [0-9a-f]{16}, not 'digits' [0-9a-f]{16} of ", said)
        assert "Resetting the board." in said and "Flashing" not in said


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_the_same_on_qemu(folder: Path, digits: Made, capsys: pytest.CaptureFixture[str]) -> None:
    """The same files, whose pools are all external and relative."""
    second = make_model(folder / "digits", "external", name="second", split=True)
    elf = application(folder, "mps3-an547", "qemu", "NEURALART_EXT_RAM_ADDRESS=0x80000000u", EXTERNAL[1])
    with offered("mps3-an547", folder) as board:
        for made, mode in ((digits, "copy"), (second, "xip")):
            words = ["load", "-i", str(made.image), *board.words, "--application", str(elf), "--mode", mode]
            assert cli.main([*words, "--vectors", str(VECTORS)]) == 0
            said = capsys.readouterr().out
            assert "vectors bit-exact" in said and "-  nothing is counted here" in said


@pytest.mark.parametrize(("kind", "board"), [("internal", "stm32n6570-dk"), ("external", "stm32n6570-dk-psram")])
def test_a_model_that_no_variant_has_built(
    kind: str, board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The application is built for the memories of the model: those of the chip, or the board's PSRAM."""
    made = make_model(tmp_path / "made here", kind, name="digits", split=True)
    with offered(board, tmp_path, "--mapped", "xSPI1") as place:
        words = ["load", "-i", str(made.image), *place.words, "--address", "0x72000000,0x73000000"]
        assert cli.main([*words, "--vectors", str(VECTORS)]) == 0
    said = capsys.readouterr().out
    assert f"Building the loading application of '{board}'.." in said and "digits: 20 vectors bit-exact" in said
    assert re.search(r"^  total +[1-9][\d,]+  a virtual board", said, re.M), "it tells its epochs"


def test_a_model_that_the_board_has_no_memory_for(
    digits: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["load", "-i", str(digits.image), "--port", "socket://127.0.0.1:9", "--server", "127.0.0.1:9"]
    assert cli.main(words) == 1
    said = capsys.readouterr().err
    assert "in the relative pool xSPI1, but this board has no memory for it" in said and said.count("\n") <= 2
    assert "such as stm32n6570-dk-psram" in said
