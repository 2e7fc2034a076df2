"""Skips what this machine cannot run, with the reason; where everything is installed, refuses to."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Images of containers like to set PYTHONDONTWRITEBYTECODE: then every worker compiles all tests and the package anew,
# and pytest rewrites the hypothesis package: a minute of a run. So it comes before these are imported. Processes that
# tests start find what is written here, and keep to the variable themselves.
sys.dont_write_bytecode = False


def _temporary_folder() -> None:
    """Tests work in memory, where a machine has room for that and the user names no other folder: they make hundreds
    of copies of a built tree, which take a disk ten times as long. What a test leaves goes with it, unless it fails.
    """
    memory = Path("/dev/shm")
    if "TMPDIR" in os.environ or not memory.is_dir() or not hasattr(os, "ST_NOEXEC"):
        return
    room = os.statvfs(memory)
    if os.access(memory, os.W_OK) and not room.f_flag & os.ST_NOEXEC and room.f_bavail * room.f_frsize >= 6 << 30:
        os.environ["TMPDIR"] = tempfile.tempdir = str(memory)


_temporary_folder()

from hypothesis import HealthCheck, settings  # noqa: E402

from neuralart.config.types import ToolchainConfig  # noqa: E402
from neuralart.errors import NeuralArtError  # noqa: E402
from support.projects import compile_answers, lock_files  # noqa: E402
from support.projects.sconsproject import common  # noqa: E402

# No test fails because the machine is busy.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

# There is a worker for each core: further threads of NumPy's library would only wait for each other, and burn it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _arm_reason() -> str:
    from neuralart import toolchain

    try:
        toolchain.find(ToolchainConfig(), os.environ)
    except NeuralArtError as error:
        return str(error)
    return ""


_REASONS = {
    "arm": _arm_reason,
    "qemu": lambda: "" if shutil.which("qemu-system-arm") else "qemu-system-arm is not installed",
    "gdb": lambda: "" if shutil.which("gdb-multiarch") else "gdb-multiarch is not installed",
    "browser": lambda: "" if shutil.which("chromium") else "chromium is not installed",
    "hostcc": lambda: "" if shutil.which("cc") else "no C compiler for this machine",
    "real": lambda: "" if os.environ.get("NEURALART_REAL_DATA") else "NEURALART_REAL_DATA is not set",
}


def pytest_configure(config: pytest.Config) -> None:
    """``./sconsw test`` has installed everything: what is missing would be tests that vanish without a word.

    Everywhere else, tests of what is not installed are skipped, with the reason.
    """
    if not os.environ.get("NEURALART_COMPLETE") or hasattr(config, "workerinput"):
        return
    lacking = lock_files.not_installed(lock_files.ALL)
    lacking += [text for name, reason in _REASONS.items() if name != "real" and (text := reason())]
    lacking += [f"{name} is not installed" for name in ("make", "openocd") if not shutil.which(name)]
    if lacking:
        raise pytest.UsageError(f"NEURALART_COMPLETE is set, and no test may be skipped: {'; '.join(lacking)}")


# ``./sconsw test --coverage`` measures tests that are `seen`. What computes at length is not: seen, it takes three
# times as long, and shows hardly a line that others do not show.
_UNSEEN = {"long", "fuzz", "torture", "zoo", "qemu", "gdb", "browser", "hostcc", "real"}
_SEEN_TIERS = {"unit", "graph"}
_TESTS = Path(__file__).parent


@functools.cache
def _reason(marker: str, modules: tuple[str, ...]) -> str:
    """Why tests with the mark cannot run here; empty if they can."""
    if marker != "needs":
        return _REASONS[marker]() if marker in _REASONS else ""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return f"{' and '.join(missing)} not installed: ./sconsw test installs all" if missing else ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        markers = list(item.iter_markers())
        names = {marker.name for marker in markers}
        # A property is tested with hundreds of examples.
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("long")
            names.add("long")
        if not names & _UNSEEN and os.path.relpath(item.path, _TESTS).partition(os.sep)[0] in _SEEN_TIERS:
            item.add_marker("seen")
        for marker in markers:
            if reason := _reason(marker.name, marker.args if marker.name == "needs" else ()):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What is collected stays: whoever looks for garbage among it, does so ten thousand times."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


@pytest.fixture(scope="session", autouse=True)
def _answers(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compilers answer all workers of this run once."""
    folder = common(tmp_path_factory) / "answers"
    folder.mkdir(exist_ok=True)
    compile_answers.install(folder)


@pytest.fixture
def anew() -> Iterator[None]:
    """Everything is compiled, whoever has compiled it."""
    with compile_answers.off():
        yield


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Figures of the long run: what was really done, printed at the end of the session."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, ())]
    figures = [text for each in reports for name, text in getattr(each, "user_properties", ()) if name == "figure"]
    if figures and os.environ.get("NEURALART_TORTURE"):
        terminalreporter.section("torture")
        for text in figures:
            terminalreporter.line(text)
