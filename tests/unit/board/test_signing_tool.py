"""``neuralart tool sign --by vendor``: what the vendor's tool gets; only a right image of the program counts."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.text import image_header
from neuralart_board.signing.vendor_tool import arguments
from support.boards import fake_signing_tool

STACK, RESET = 0x34100000, 0x34000455
PROGRAM = struct.pack("<211I", STACK, RESET, *(0x34000501 + 4 * n for n in range(209))) + bytes(range(200))


@pytest.fixture
def sign(tmp_path, monkeypatch, capsys):
    """Signs :data:`PROGRAM`; returns the status, the image if there is one, and what was said."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "firmware.bin").write_bytes(PROGRAM)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.chdir(tmp_path)

    def go(*words, version="2.21.0", fault="none"):
        fake_signing_tool.install(tmp_path / "bin", version, fault)
        status = main(["tool", "sign", "firmware.bin", "-o", "signed.bin", "--by", "vendor", *words])
        made = Path("signed.bin")
        return status, made.read_bytes() if made.exists() else None, "".join(capsys.readouterr())

    return go


@pytest.mark.parametrize("version", ["2.16.0", "2.20.0", "2.21.0", "2.22.1"])
def test_each_release_makes_an_image_that_starts(sign, version):
    status, made, said = sign(version=version)
    image = image_header.read(made)
    assert (status, image_header.problems(image), image.vector_table) == (0, [], 0x400)
    assert made[0x400:].startswith(PROGRAM)
    assert said.endswith("type application, entry 0x34000455, vector table at 0x400; no signature\n")


def test_with_keys_the_image_has_a_signature(sign):
    status, made, said = sign("--option=-pubk", "--option=public.pem", "--option=-prvk", "--option=private.pem")
    assert (status, image_header.read(made).signed) == (0, True)
    assert said.endswith("; signed\n")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("silent", "wrote nothing; it said: Error: Unable to open the file"),
        ("short", "the signed image is wrong: truncated: "),
        ("checksum", "the signed image is wrong: checksum 0x00000000, the payload has 0x"),
        ("other program", "the image that it wrote holds another program"),
    ],
)
def test_only_what_was_written_counts(sign, fault, what):
    status, made, said = sign(fault=fault)
    assert (status, made) == (1, None)
    assert said.startswith(f"neuralart sign: error: STM32_SigningTool_CLI 2.21.0: {what}")
    assert said.count("\n") == 1


def test_a_failure_that_is_none(sign):
    """Releases are known that end with 1 and have written a right image."""
    assert sign(fault="exit 1")[0] == 0


def test_an_option_that_the_tool_does_not_know_is_its_own_error(sign):
    status, made, said = sign("--option=-rsa")
    assert (status, made) == (1, None)
    assert "wrote nothing; it said: Error: unknown option -rsa" in said


def test_without_the_tool(sign, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    status, made, said = sign()
    assert (status, made) == (1, None)
    assert said.startswith("neuralart sign: error: --by vendor: STM32_SigningTool_CLI: ")
    assert "it comes with STM32CubeProgrammer" in said


def test_an_option_without_the_tool_is_refused(tmp_path, capsys):
    assert main(["tool", "sign", str(tmp_path / "x"), "-o", str(tmp_path / "y"), "--option=-nk"]) == 1
    assert "--option is for the vendor's tool (add --by vendor)" in capsys.readouterr().err


def test_words():
    given = arguments(Path("in.bin"), Path("out.bin"), "application", "2.3", (), align=True)
    assert given == ["-s", "-bin", "in.bin", "-nk", "-t", "ssbl", "-hv", "2.3", "-o", "out.bin", "-align"]
    given = arguments(Path("in.bin"), Path("out.bin"), "fsbl", "2.1", ("-prvk", "k"), align=False)
    assert given == ["-s", "-bin", "in.bin", "-prvk", "k", "-t", "fsbl", "-hv", "2.1", "-o", "out.bin"]
