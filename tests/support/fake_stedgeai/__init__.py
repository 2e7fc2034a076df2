"""A made-up ST Edge AI Core: documented files, messages and failures of each version; the contents are ours."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from support.fake_stedgeai.versions import VERSIONS

__all__ = ["VERSIONS", "add_profiles", "calls", "install"]
_FOLDER = {"win32": "windows", "darwin": "mac"}.get(sys.platform, "linux")
_PROGRAM = Path(__file__).with_name("program.py")


def install(root: Path, version: str = "4.0.1") -> Path:
    """Write an installation of a version; what it is asked is recorded in it."""
    root = root.absolute()
    folder = root / "Utilities" / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "stedgeai"
    words = [sys.executable, "-I", "-S", str(_PROGRAM), version, str(root)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    program.chmod(0o755)
    return root


def add_profiles(root: Path, pools: str, version: str = "4.0.1") -> Path:
    """Give an installation profiles, all with these pools, where its version has them; returns their file."""
    folder = root / "Utilities" / _FOLDER / "targets" / "stm32" / "resources"
    folder = folder if version < "3" else folder / "NPU" / "STM32N6xx"
    (folder / "mpools").mkdir(parents=True)
    (folder / "mpools" / "stm32n6.mpool").write_text(pools)
    options = {"default": "--Os", "minimal": "--native-float", "allmems--O3": "--native-float --Os --optimization 3"}
    text = json.dumps(
        {n: {"memory_pool": "./mpools/stm32n6.mpool", "options": o} for n, o in options.items()}, indent=1
    )
    (folder / "neural_art.json").write_text(f'{{ // made up\n"Globals": {{}}, "Profiles": {text} }}\n')
    return folder / "neural_art.json"


def calls(root: Path, command: str = "") -> list[dict]:
    """What an installation was asked: ``argv``, ``cwd``, ``environment``; of one command, or all."""
    path = root / "calls.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    return [call for call in found if not command or call["argv"][:1] == [command]]
