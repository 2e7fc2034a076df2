"""Programs that print text, on a core of QEMU: with plain C kernels, with those for an extension, or with both."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from neuralart.boards.types import Board
from neuralart.resources import firmware_dir
from neuralart_virtual.emulator import qemu
from support.boards.firmware import Builder

RUNTIME = firmware_dir() / "runtime"
MVE, DSP = RUNTIME / "kernels_mve", RUNTIME / "kernels_dsp"
CHECKS = tuple(Path(__file__).with_name(f"kernels_{name}_check.c") for name in ("mve", "more", "floats"))
PLAIN = RUNTIME / "kernels"
LAST_LINE = "done"
_FUNCTION = re.compile(r"^void (na_\w+)\(|^(?:NA_BROADCAST_(?:KERNEL|NUMBERS)|REQUANTIZE)\((na_\w+),", re.MULTILINE)


def functions(source: Path) -> tuple[str, ...]:
    """Kernels that a C file defines."""
    return tuple(a or b for a, b in _FUNCTION.findall(source.read_text("utf-8")))


def replaced(folder: Path = MVE) -> list[Path]:
    """Files of the kernels for an extension; each stands for the file of the same name among the plain C kernels."""
    return sorted(folder.glob("*.c"))


def renamed(source: Path) -> tuple[str, ...]:
    """Definitions that give the kernels of a file other names: ``c_add_s8`` for ``na_add_s8``."""
    return tuple(f"{name}=c_{name.removeprefix('na_')}" for name in functions(source))


def board_objects(builder: Builder) -> list[Path]:
    root = firmware_dir() / "boards"
    sources = [*sorted(root.glob("*.c")), root / "drivers" / f"{builder.board.console.driver}.c"]
    return [builder.object(source) for source in sources]


def both_kernels(builder: Builder, folder: Path = MVE) -> list[Path]:
    """Objects with the kernels for an extension, and with the plain C ones under other names: of all files that there
    are for any extension, so that one program serves all.
    """
    names = sorted({path.name for kind in (MVE, DSP) for path in replaced(kind)})
    faster = [folder / name if (folder / name).is_file() else PLAIN / name for name in names]
    return [builder.object(s) for s in faster] + [builder.object(PLAIN / s, renamed(PLAIN / s)) for s in names]


def compared(builder: Builder, folder: Path, defines: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """What the programs of :data:`CHECKS` say: for each kernel the layers, those whose output varies, and those that
    differ.
    """
    found: dict[str, tuple[int, int, int]] = {}
    for check in CHECKS:
        objects = [*board_objects(builder), *both_kernels(builder, folder), builder.object(check, tuple(defines))]
        lines = text_of(builder.board, builder.link(builder.folder / f"{check.stem}.elf", objects), timeout=120)
        assert [line for line in lines if line.startswith("different")] == []
        for name, *numbers in map(str.split, lines):
            layers, varied, different = map(int, numbers)
            found[name] = layers, varied, different
    return found


def text_of(
    board: Board, elf: Path, loads: Sequence[tuple[Path, int]] = (), options: Sequence[str] = (), timeout: float = 60
) -> list[str]:
    """The lines that an image prints until it says ``done``.

    Args:
        board: With a machine ``qemu``.
        elf: The image.
        loads: Raw files and their addresses.
        options: More words for QEMU.
        timeout: Seconds.
    """
    words = [*qemu.arguments(qemu.PROGRAM, board.machines["qemu"], elf, loads), *options]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    watch = threading.Timer(timeout, process.kill)
    watch.start()
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == LAST_LINE or lines[-1].startswith("firmware fault"):
                break
    finally:
        watch.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
    if not lines or lines[-1] != LAST_LINE:
        raise RuntimeError(f"{elf.name} did not end: {lines[-5:]}")
    return lines[:-1]
