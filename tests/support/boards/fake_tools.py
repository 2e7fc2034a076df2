"""A PATH of made-up programs that note how they were called."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

GCC = """\
case "$1" in
-dumpfullversion) echo {version};;
-print-file-name={file}) echo /lib/{file};;
-print-file-name=*) echo "${{1#*=}}";;
*) {link};;
esac
"""


@dataclass
class FakeMachine:
    """Folders for PATH, a home, and a log of all calls."""

    root: Path
    folders: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "home").mkdir(parents=True, exist_ok=True)
        (self.root / "tmp").mkdir(exist_ok=True)

    @property
    def log(self) -> Path:
        return self.root / "calls.log"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join(map(str, self.folders)),
            "HOME": str(self.root / "home"),
            "NEURALART_STEDGEAI_ROOTS": "",
            "NEURALART_CACHE_DIR": str(self.root / "cache"),
        }

    def folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        if path not in self.folders:
            self.folders.append(path)
        return path

    def program(self, name: str, body: str, folder: str = "bin", *, path: Path | None = None) -> Path:
        """A shell script: ``body`` after the call was noted."""
        file = (path or self.folder(folder)) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\necho "{name} $* in $PWD" >> "{self.log}"\n{body}\n')
        file.chmod(0o755)
        return file

    def says(self, name: str, text: str, folder: str = "bin") -> Path:
        # Nothing else is on this PATH: only what the shell itself can do.
        return self.program(name, f"printf '%s\\n' '{text}'", folder)

    def gcc(
        self, version: str = "12.2.1", file: str = "picolibc.specs", link: str = "echo /lib/libc.a", **where
    ) -> Path:
        return self.program("arm-none-eabi-gcc", GCC.format(version=version, file=file, link=link), **where)

    def stedgeai(self, version: str = "4.0.1-20581 7ed50de05", atonn: bool = True, root: str = "STEdgeAI/4.0") -> Path:
        """An installation; name it with STEDGEAI_CORE_DIR, or put its folder on PATH."""
        home = self.root / root
        tools = home / "Utilities" / "linux"
        self.program("stedgeai", f"echo 'ST Edge AI Core v{version}'\necho '  STM32CubeAI 12.0.1'", path=tools)
        if atonn:
            self.program("atonn", "exit 1", path=tools)
        return home

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.is_file() else []
