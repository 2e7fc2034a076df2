"""Public trees of RT-Thread in NEURALART_WORLDS, with a network of ours in them (docs/how-to/rt-thread.md).

``NEURALART_WORLDS=FOLDER`` has ``sdk-bsp-stm32h750-realthread-artpi`` and ``IoT_Board``; the trees are copied, and nothing in
them is changed.
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
from neuralart_virtual.emulator.image import Load, read_elf
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from support import tflite_edit
from support.sconsproject import REPO

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
            # RT-Thread sorts sources of its own groups by hashes, and links anew when they differ.
            "PYTHONHASHSEED": "0",
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
    """The scores of a run on the virtual ART-Pi: the start-up code is RT-Thread's, clocks and scheduler are left out."""
    from elftools.elf.elffile import ELFFile

    firmware = read_elf(image)
    entry, probe = (firmware.symbols.needed(name) & ~1 for name in ("entry", "probe"))
    far = probe - entry - 4
    j1, j2 = (1 - ((far >> bit ^ far >> 24) & 1) for bit in (23, 22))
    call = struct.pack(
        "<HH",
        0xF000 | (far >> 24 & 1) << 10 | far >> 12 & 0x3FF,
        0xD000 | j1 << 13 | j2 << 11 | far >> 1 & 0x7FF,
    )
    wait = bytes.fromhex("30bf fde7")
    instead = {entry: call + wait, firmware.symbols.needed("SystemInit") & ~1: bytes.fromhex("7047")}

    def changed(load: Load) -> Load:
        data = bytearray(load.data)
        for address, code in instead.items():
            if load.address <= address < load.end:
                data[address - load.address : address - load.address + len(code)] = code
        return replace(load, data=bytes(data))

    board = boards.load("art-pi")
    machine = UnicornBoard(board, board.machines["unicorn"], replace(firmware, loads=tuple(map(changed, firmware.loads))))
    with pytest.raises(MachineStop, match="the core sleeps at entry"):
        machine.read(60.0)
    with image.open("rb") as stream:
        symbol = ELFFile(stream).get_section_by_name(".symtab").get_symbol_by_name("probe_scores")[0]
    return struct.unpack("10b", machine.memory(symbol["st_value"], 10))


def _here(folder: Path, packages: Path) -> tuple[int, ...]:
    """What the same C gives on this machine."""
    (folder / "rtthread.h").write_text("#define MSH_CMD_EXPORT(command, text)\n")
    (folder / "main.c").write_text(
        "#include <stdio.h>\nextern signed char probe_scores[10];\nvoid probe(void);\nint main(void) {\n"
        '  probe();\n  for (int n = 0; n < 10; n++) printf("%d ", probe_scores[n]);\n  return 0;\n}\n'
    )
    sources = [*packages.glob("net/*.c"), *packages.glob("net/runtime/**/*.c"), packages / "probe.c", folder / "main.c"]
    includes = [folder, packages / "net", *packages.glob("net/**/include")]
    words = ["cc", "-ffp-contract=off", *(f"-I{path}" for path in includes), *map(str, sources), "-lm", "-o"]
    subprocess.run([*words, str(folder / "probe")], check=True)
    return tuple(map(int, subprocess.run([folder / "probe"], capture_output=True, text=True).stdout.split()))


@pytest.mark.hostcc
def test_builds_of_the_art_pi(art_pi: Tree, tmp_path: Path) -> None:
    assert art_pi.scons() == [], "a null build runs nothing"
    if sys.platform != "win32":
        pytest.importorskip("unicorn")
        scores = _probe(art_pi.folder / "rt-thread.elf")
        assert scores == _here(tmp_path, art_pi.packages) and any(scores)
    tflite_edit.reverse_weights(art_pi.packages / "digits.tflite")
    steps = [step for step in art_pi.scons() if not step.startswith("SOURCES")]
    assert [step.split()[0] for step in steps] == ["NETWORK", "CC", "LINK"] and "digits_data_params" in steps[1], steps
    assert art_pi.scons() == []


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
    assert made.scons() == []
    tflite_edit.reverse_weights(made.packages / "digits.tflite")
    steps = [step.split()[0] for step in made.scons() if not step.startswith("SOURCES")]
    assert steps == ["NETWORK", "CC", "LINK"]
