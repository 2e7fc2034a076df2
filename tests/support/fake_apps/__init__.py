"""Made-up applications of users, with builds of their own, and networks of the made-up tool for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from neuralart.resources import package_parent
from support.fake_stedgeai import install, middlewares
from support.models.stedgeai_case import make as make_case

HERE = Path(__file__).parent


def application(folder: Path, kind: str, version: str = "4.0.1", **headers) -> Path:
    """A user's tree: ``make``, ``cmake`` or ``cube``, with the runtime of a version in its Middlewares."""
    shutil.copytree(HERE / kind, folder)
    return middlewares.add(folder, version, **headers)


def network(folder: Path, version: str = "4.0.1", profile: str = "default") -> list[str]:
    """Compile the network ``net`` with the made-up tool; its files as arguments of ``application build``."""
    case = make_case(folder / "model")
    root = install(folder / "st", version)
    return compile_again(case, root, profile)


def compile_again(case: Path, root: Path, profile: str = "default") -> list[str]:
    """The same once more, after a change of its model."""
    words = ["compile", "--compiler", "stedgeai", "-m", "net.tflite", "-n", "net", "--target", "stm32n6"]
    words += ["--st-neural-art", f"{profile}@na.json", "--output", "out", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "neuralart", *words],
        cwd=case,
        env={
            **os.environ,
            "PYTHONPATH": str(package_parent()),
            "STEDGEAI_CORE_DIR": str(root),
            "NEURALART_CACHE_DIR": str(root.parent / "cache"),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return generated(case / "out")


def generated(folder: Path) -> list[str]:
    """What an application copies of a compile, as arguments."""
    from neuralart.applications.staging import is_copied

    return [f"--generated=net:{path}" for path in sorted(folder.iterdir()) if path.is_file() and is_copied(path.name)]
