"""Public trees of RT-Thread and modm, with a network of ours in them (docs/how-to/rt-thread.md, docs/how-to/modm.md).

``NEURALART_WORLDS=FOLDER`` has ``sdk-bsp-stm32h750-realthread-artpi``, ``IoT_Board`` and ``modm`` with its submodules.
The first two are copied; modm keeps a cache of devices in its own tree. It also needs ``NEURALART_LBUILD_PYTHON``, and
an ``arm-none-eabi-g++`` that has the C++ library of newlib.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from neuralart import boards, toolchain
from neuralart.config.types import ToolchainConfig
from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.image import Firmware, Load, read_elf
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from support.host_c import cpu_native
from support.models import tflite_edit
from support.projects.sconsproject import REPO

WORLDS = Path(os.environ.get("NEURALART_WORLDS", ""))
pytestmark = [
    pytest.mark.long,
    pytest.mark.arm,
    pytest.mark.skipif(not (WORLDS / "IoT_Board").is_dir(), reason="NEURALART_WORLDS is not set"),
]
EXAMPLE = REPO / "examples/rt-thread"
IDES = ("cmake", "makefile", "vsc", "eclipse", "mdk5")
BOARD = """\
schema: 1
family: cortex-m4
title: IoT Board (STM32L475)
memory:
  FLASH: {base: 0x08000000, size: 512K, kind: flash}
  RAM: {base: 0x20000000, size: 96K, kind: ram}
"""
# Keeps what the network gives where a debugger finds it.
PROBE = """\
#include <rtthread.h>
#include <string.h>
#include "neuralart_networks.h"
signed char probe_scores[10];
void probe(void) {
  const neuralart_network_t *network = neuralart_find("digits");
  if (neuralart_init(network) == 0) {
    memset(neuralart_input(network, "image")->data, -128, neuralart_input(network, "image")->bytes);
    if (neuralart_run(network) == 0) { memcpy(probe_scores, neuralart_output(network, "digit")->data, 10); }
  }
}
MSH_CMD_EXPORT(probe, run the network);
"""


@dataclass(frozen=True)
class Tree:
    """A project in a copy of a public tree."""

    top: Path  # The copy
    folder: Path  # Where ``scons`` runs
    packages: Path  # Folder of the network
    environment: dict[str, str]

    def scons(self, *words: str) -> list[str]:
        """The steps that it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "SCons", "-j2", *words],
            cwd=self.folder,
            env={**os.environ, **self.environment, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return re.findall(r"^(?:NETWORK|SOURCES|COPY|CC|AS|LINK) .*", done.stdout, re.M)

    def again(self) -> list[str]:
        """What runs although nothing has changed. RT-Thread may link anew: it makes a set of sources of its own groups
        (``building.py``), whose order differs from call to call.
        """
        return [step for step in self.scons() if not step.startswith("LINK")]


def _compilers(folder: Path) -> str:
    """A folder with the cross compiler, which finds this machine's C library."""
    found = toolchain.find(ToolchainConfig(), os.environ)
    folder.mkdir()
    for path in Path(found.folder).glob(f"{found.prefix}*"):
        (folder / path.name).symlink_to(path)
    for tool in ("gcc", "g++"):
        path = folder / f"{found.prefix}{tool}"
        path.unlink()
        path.write_text(f'#!/bin/sh\nexec {found.folder}/{path.name} {" ".join(found.libc_flags)} "$@"\n')
        path.chmod(0o755)
    return str(folder)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Tree]:
    """Copies a tree, and puts the example into a project of it."""

    def make(name: str, project: str) -> Tree:
        top = tmp_path_factory.mktemp("worlds") / "a tree"
        shutil.copytree(WORLDS / name, top, ignore=shutil.ignore_patterns(".git"))
        folder, rtt = top / project, top / "rt-thread"
        config = (folder / "rtconfig.h").read_text("utf-8")
        (folder / "rtconfig.h").write_text(config.replace("\n#endif", "\n#define PKG_USING_DIGITS\n#endif"), "utf-8")
        # Of a compiler with newlib; what is here may be another C library.
        (rtt / "components/libc/compilers/newlib/syscalls.c").unlink(missing_ok=True)
        packages = folder / "packages/digits"
        shutil.copytree(EXAMPLE, packages)
        (packages / "probe.c").write_text(PROBE)
        environment = {
            "RTT_CC": "gcc",
            "RTT_EXEC_PATH": _compilers(top.parent / "bin"),
            # A package of PyPI is called cmake, like RT-Thread's own module.
            "PYTHONPATH": os.pathsep.join([str(rtt / "tools"), str(REPO / "site_scons")]),
        }
        return Tree(top, folder, packages, environment)

    return make


@pytest.fixture(scope="module")
def art_pi(tree: Callable[[str, str], Tree]) -> Tree:
    made = tree("sdk-bsp-stm32h750-realthread-artpi", "projects/art_pi_blink_led")
    made.scons()
    return made


def _probe(image: Path) -> tuple[int, ...]:
    """Scores of a run on the virtual ART-Pi: the start-up code is RT-Thread's; clocks and scheduler are left out."""
    firmware = read_elf(image)
    entry, probe = (firmware.symbols.needed(name) & ~1 for name in ("entry", "probe"))
    far = probe - entry - 4
    j1, j2 = (1 - ((far >> bit ^ far >> 24) & 1) for bit in (23, 22))
    call = struct.pack(
        "<HH", 0xF000 | (far >> 24 & 1) << 10 | far >> 12 & 0x3FF, 0xD000 | j1 << 13 | j2 << 11 | far >> 1 & 0x7FF
    )
    wait = bytes.fromhex("30bf fde7")
    instead = {entry: call + wait, firmware.symbols.needed("SystemInit") & ~1: bytes.fromhex("7047")}

    def changed(load: Load) -> Load:
        data = bytearray(load.data)
        for address, code in instead.items():
            if load.address <= address < load.end:
                data[address - load.address : address - load.address + len(code)] = code
        return replace(load, data=bytes(data))

    return _scores(
        image, replace(firmware, loads=tuple(map(changed, firmware.loads))), "art-pi", "entry", "probe_scores"
    )


def _scores(image: Path, firmware: Firmware, name: str, end: str, variable: str) -> tuple[int, ...]:
    """Run an image up to the WFI of a function, and read what it left."""
    from elftools.elf.elffile import ELFFile

    board = boards.load(name)
    machine = UnicornBoard(board, board.machines["unicorn"], firmware)
    with pytest.raises(MachineStop, match=f"the core sleeps at {end}"):
        machine.read(60.0)
    with image.open("rb") as stream:
        symbol = ELFFile(stream).get_section_by_name(".symtab").get_symbol_by_name(variable)[0]
    return struct.unpack("10b", machine.memory(symbol["st_value"], 10))


def _here(folder: Path, network: Path) -> tuple[int, ...]:
    """What the same C gives on this machine."""
    program = cpu_native.build(network, "digits", folder / "here")
    return struct.unpack("10b", cpu_native.run(program, b"\x80" * 256))


@pytest.mark.hostcc
def test_builds_of_the_art_pi(art_pi: Tree, tmp_path: Path) -> None:
    assert art_pi.again() == [], "a null build runs nothing"
    if sys.platform != "win32":
        pytest.importorskip("unicorn")
        scores = _probe(art_pi.folder / "rt-thread.elf")
        assert scores == _here(tmp_path, art_pi.packages / "net") and any(scores)
    tflite_edit.reverse_weights(art_pi.packages / "digits.tflite")
    steps = [step for step in art_pi.scons() if not step.startswith("SOURCES")]
    assert [step.split()[0] for step in steps] == ["NETWORK", "CC", "LINK"] and "digits_data_params" in steps[1], steps
    assert art_pi.again() == []


@pytest.mark.parametrize("ide", IDES)
def test_project_files(art_pi: Tree, ide: str) -> None:
    """They name files of the tree, and none of this package."""
    before = {path for path in art_pi.folder.rglob("*") if path.is_file()}
    began = max(path.stat().st_mtime_ns for path in before)
    art_pi.scons(f"--target={ide}")
    written = [path for path in art_pi.folder.rglob("*") if path.is_file() and path.stat().st_mtime_ns > began]
    texts = {path.name: path.read_text("utf-8", "replace") for path in written if path.suffix not in (".o", ".dblite")}
    assert texts and not any(str(REPO) in text for text in texts.values()), sorted(texts)
    assert ide == "eclipse" or any("digits" in text for text in texts.values()), sorted(texts)


def test_a_board_of_which_one_knows_the_memories(tree: Callable[[str, str], Tree]) -> None:
    made = tree("IoT_Board", "examples/01_basic_led_blink")
    (made.packages / "iot.yaml").write_text(BOARD)
    script = made.packages / "SConscript"
    script.write_text(script.read_text("utf-8").replace('"art-pi"', '"iot.yaml"'), "utf-8")
    shutil.copy(made.folder / "SConscript", made.packages.parent / "SConscript")
    (made.packages.parent / "SConscript").write_text("objs = SConscript('digits/SConscript')\nReturn('objs')\n")
    assert made.scons()[-1].startswith("LINK")
    assert made.again() == []
    tflite_edit.reverse_weights(made.packages / "digits.tflite")
    steps = [step.split()[0] for step in made.scons() if not step.startswith("SOURCES")]
    assert steps == ["NETWORK", "CC", "LINK"]


@pytest.mark.hostcc
def test_modm(tmp_path: Path) -> None:
    """Its image runs as it is: start-up code, static constructors, the network."""
    lbuild, modm = os.environ.get("NEURALART_LBUILD_PYTHON", ""), WORLDS / "modm"
    if not lbuild or not modm.is_dir():
        pytest.skip("needs NEURALART_LBUILD_PYTHON and NEURALART_WORLDS/modm")
    program = subprocess.run(
        [
            "arm-none-eabi-g++",
            "-mcpu=cortex-m7",
            "-mfpu=fpv5-d16",
            "-mfloat-abi=hard",
            "-specs=nano.specs",
            "-xc++",
            "-E",
            "-",
        ],
        input="#include <cstdint>",
        capture_output=True,
        text=True,
    )
    if program.returncode:
        pytest.skip("arm-none-eabi-g++ has no C++ library of newlib")
    folder = tmp_path / "a bell"
    shutil.copytree(REPO / "examples/modm", folder)
    text = (folder / "project.xml").read_text("utf-8").replace("modm/repo.lb", f"{modm.resolve()}/repo.lb", 1)
    (folder / "project.xml").write_text(text.replace("scons-neuralart/", f"{REPO}/"), "utf-8")

    def run(*words: str) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(REPO / "site_scons"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [lbuild, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        # "Memory usage" is printed by each build of modm.
        return re.findall(r"^(?:NETWORK|SOURCES|Compiling|Archiving|Linking)\b.*", done.stdout, re.M)

    run("-c", "import sys; from lbuild.main import main; sys.argv[0] = 'lbuild'; sys.exit(main())", "build")
    assert run("-m", "SCons", "-j2")[-1].startswith("Linking")
    assert run("-m", "SCons") == []
    image = folder / "build/scons-release/doorbell.elf"
    pytest.importorskip("unicorn")
    (network,) = (folder / "build/scons-release/neuralart/networks").iterdir()
    assert _scores(image, read_elf(image), "nucleo-h743zi", "main", "scores") == _here(tmp_path, network)
    tflite_edit.reverse_weights(folder / "digits.tflite")
    steps = run("-m", "SCons")
    assert [step.rstrip(".\u00b7 ").split()[0].rstrip("\u00b7.") for step in steps] == [
        "NETWORK",
        "Compiling",
        "Archiving",
        "Linking",
    ]
    assert "digits_data_params" in steps[1]
