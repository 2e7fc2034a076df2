"""`neuralart load` before a board is touched: options of st_load_and_run.py, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_board.runners import process
from neuralart_board.runners.process import CUBE_IDE, Answer
from neuralart_virtual.loading import deployment
from neuralart_virtual.loading.deployment import table
from support.fake_bench import loads, matrix
from support.fake_bench.bench import Bench
from support.projects.sconsproject import REPO
from support.relocatable.rel_images import ROM, Recipe, build

# As the help of ST's script and its manual have them.
THEIRS = ("--input", "-i", "--board", "--address", "--mode", "--cube-ide-dir", "--log", "--verbosity", "-v")
THEIRS += ("--debug", "--no-color")
WORDS = ["copy", "xip", "ext", "clear", "no-overlay", "no-flash", "no-run", "usbc", "max-speed"]
OWN = build(Recipe(version=(0, 1, 0, 0), split=True))
CLANG = build(Recipe(version=(0, 1, 0, 0), flags=0x80695D22))


def test_each_option_of_the_script_is_on_the_page_and_taken(capsys: pytest.CaptureFixture[str]) -> None:
    page = (REPO / "docs/reference/load.md").read_text("utf-8")
    left = " ".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
    with pytest.raises(SystemExit):
        cli.main(["load", "--help"])
    text = capsys.readouterr().out
    for option in THEIRS:
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", left), option
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", text), option
    assert [word for word in WORDS if f"`--mode {word}`" not in left] == [] and CUBE_IDE in left


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mode", "max-sped"], "'max-sped' is not possible (did you mean 'max-speed'? known: "),
        (["--mode", "xpi"], "'xpi' is not possible (did you mean 'xip'? known: "),
        (["--mode", "copy,xip"], "copy or xip, not both"),
        (["--mode", "no-run,no-flash"], "no-flash or no-run, not both"),
        (["--address", "1,2,3"], "'1,2,3' is not NET or NET,PARAMS"),
        (["--address", "0x1g"], "'0x1g' is not a 32-bit address"),
        (["--timeout", "-1"], "'-1' is no number above 0"),
        (["--baud", "fast"], "'fast' is no number above 0"),
    ],
)
def test_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["load", *words])
    assert ended.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--board", "stm32n6570"], "did you mean 'stm32n6570-dk'"),
        (["--board", "stm32h747i-disco"], "board stm32h747i-disco has no"),
        (["-i", "missing_rel.bin"], "missing_rel.bin"),
        (["-i", "x.tflite"], "not a relocatable model: a TensorFlow Lite model"),
        (
            ["-i", "vendor_rel.bin"],
            "a model for runtime 1.1.3.262 (atonn-v1.1.3-262-g7cc65410 (RELOC.GCC)): the loading",
        ),
        (["-i", "split_rel.bin"], "the model is split: copy both files of the build"),
        (
            ["-i", "clang_rel.bin", "--mode", "xip"],
            "has addresses in its code (clang) (only --mode copy can move them)",
        ),
        (["--address", "0x60000000"], "not within the flash [0x70000000, 0x78000000)"),
        (["--address", "0x77fff000"], "'model' at 0x77fff000: no multiple of its sectors"),
        (["--address", "0x71000100"], "'model' at 0x71000100: no multiple of its sectors of 65536"),
        (["--address", "0x70100000"], "'model' at 0x70100000: would overwrite the slot 'application'"),
        (["--address", "0x71000000,0x73000000"], "the model is not split: it has no params for 0x73000000"),
        (["--address", "0x70ff0000"], "share the erase sector"),
        (["--cube-ide-dir", "nowhere"], "nowhere: no STM32CubeIDE is there (--cube-ide-dir or STM32_CUBE_IDE_DIR:"),
        (["--application", "x.tflite"], "damaged ELF file"),
        (["--port", "/dev/no-such-port"], "/dev/no-such-port: the port fails"),
        (["--vectors", "nowhere"], "nowhere"),
        (["--runner", "acme"], "acme"),
        (["--runner", "virtual"], "runner virtual writes a file, and machine silicon boots from none"),
        (["some-folder"], "a folder and a model"),
    ],
)
def test_refused_before_the_board_is_touched(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("serial", reason="pyserial is not installed")
    bench = Bench.of(matrix.N6)
    matrix.patch(monkeypatch, bench, tmp_path)
    monkeypatch.setenv(CUBE_IDE, "")
    monkeypatch.chdir(tmp_path)
    if "--port" not in words:
        monkeypatch.setattr(
            "neuralart_virtual.loading.deployment.SerialTransport", lambda url, baud: loads.FakeSerial(bench)
        )
    for name, data in {
        "x.tflite": b"\x1c\0\0\0TFL3" + bytes(90),
        "vendor_rel.bin": build().data,
        "split_rel.bin": OWN.data,
        "clang_rel.bin": CLANG.put("rel0", ROM + 0x100).data,
    }.items():
        (tmp_path / name).write_bytes(data)
    assert cli.main(["load", *loads.files(tmp_path), *words]) == 1
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err and err.count("\n") <= 2, err
    assert bench.right.writes == 0


def test_a_file_in_the_place_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network_rel.bin"
    path.write_bytes(OWN.data)
    assert cli.main(["load", str(path)]) == 1
    assert f"{path}: is no folder of a built variant (-i FILE: a relocatable model)" in capsys.readouterr().err


def test_params_are_found_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench.of(matrix.N6)
    matrix.patch(monkeypatch, bench, tmp_path)
    (tmp_path / "kws_rel.bin").write_bytes(OWN.data)
    (tmp_path / "kws_rel_params.bin").write_bytes(OWN.params or b"")
    words = ["load", "-i", str(tmp_path / "kws_rel.bin"), "--mode", "xip,no-run", "--log", str(tmp_path / "log")]
    assert cli.main([*words, "--address", "0x72000000,0x73000000", "-v", "0"]) == 0
    assert capsys.readouterr().out == "", "errors alone"
    assert bench.right.get(0x72000000, len(OWN.data)) == OWN.data
    assert bench.right.get(0x73000000, len(OWN.params)) == OWN.params
    assert bench.right.get(loads.TABLE + 12, 8) == bytes.fromhex("0000007200000073")
    said = (tmp_path / "log").read_text("utf-8")
    assert "Params         : " in said and "at address 0x73000000" in said and "Loading" not in said


def test_a_model_of_no_variant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its application is built, if it can be; and words of ST's script that change nothing say so."""
    bench = Bench.of(matrix.N6)
    matrix.patch(monkeypatch, bench, tmp_path)
    words = loads.files(tmp_path)
    (tmp_path / "firmware.elf").unlink()
    monkeypatch.setenv("NEURALART_TOOLCHAIN", str(tmp_path / "nowhere"))
    assert cli.main(["load", *words, "--mode", "copy,max-speed,usbc"]) == 1
    said = capsys.readouterr()
    assert "Building the loading application of 'stm32n6570-dk'.." in said.out
    assert "note: --mode usbc: no effect: it talks over the serial port alone" in said.out
    assert "note: --mode max-speed: no effect: it leaves clocks and baud rate" in said.out
    assert "no loading application beside the model, and none can be built: " in said.err and bench.right.writes == 0


def test_debug_shows_what_programs_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = process.call
    bench = Bench.of(matrix.N6)
    matrix.patch(monkeypatch, bench, tmp_path)
    assert loads.load(bench, tmp_path, monkeypatch) == 0
    capsys.readouterr()
    told: list[Answer] = []
    monkeypatch.setattr(process, "listeners", [told.append])
    real(["true"], tmp_path, 20)
    assert [answer.words for answer in told] == [("true",)]


def test_the_named_ide_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUBE_IDE, "")
    tools = tmp_path / "an ide/plugins/com.st.stm32cube.ide.mcu.externaltools.cubeprogrammer.linux64_2.2/tools/bin"
    tools.mkdir(parents=True)
    (tools / "STM32_Programmer_CLI").touch()
    assert process.find(("STM32_Programmer_CLI",), {}) is None
    process.use_ide(tmp_path / "an ide")
    assert process.find(("STM32_Programmer_CLI",), {}) == tools / "STM32_Programmer_CLI"
    with pytest.raises(NeuralArtError, match="no STM32CubeIDE is there"):
        process.use_ide(tmp_path)


def test_the_table_of_epochs() -> None:
    assert list(table([250, 750, 1000], False, 1e6))[1:] == [
        "  0                  250    25.0",
        "  1                  750    75.0",
        "  total            1,000  1.000 ms, 1000.00 inf/s",
    ]
    assert list(table([250, 750, 1000], False, 0))[-1].endswith("--cpu-mhz makes time of cycles")
    assert "inf/s" not in "".join(table([250, 750, 1000], True, 1e6)), "instructions are no time"
    assert list(table([0, 0], True, 0))[-1].endswith("-  nothing is counted here")


class Chatter:
    """A port with so many bytes, which gives one each time, as a socket does."""

    def __init__(self, count: int) -> None:
        self.left = count

    def read(self, seconds: float | None) -> bytes:
        """One of them."""
        self.left -= 1
        return b"x" if self.left >= 0 else b""


@pytest.mark.parametrize(("count", "left"), [(300, -1), (1 << 20, (1 << 20) - (1 << 16))])
def test_what_ran_before_is_not_listened_to(count: int, left: int) -> None:
    port = Chatter(count)
    deployment.discard(port)  # type: ignore[arg-type]
    assert port.left == left
