"""A program in QEMU, with the images beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run_in_qemu(elf: Path, images: list[Path]) -> str:
    """What a program says first."""
    process = subprocess.Popen(
        [
            *("qemu-system-arm", "-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "stdio"),
            *("-kernel", str(elf)),
            *(word for image in images for word in ("-device", f"loader,file={image}")),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        return process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()
