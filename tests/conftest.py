"""Skips what this machine cannot run, with the reason."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError

# Images of containers like to set PYTHONDONTWRITEBYTECODE: then every worker compiles all tests and the package anew,
# which is a minute of a run. Processes that tests start find what is written here, and keep to the variable themselves.
sys.dont_write_bytecode = False
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
    "hostcc": lambda: "" if shutil.which("cc") else "no C compiler for this machine",
    "real": lambda: "" if os.environ.get("NEURALART_REAL_DATA") else "NEURALART_REAL_DATA is not set",
}


# ``./sconsw test`` measures coverage in tests that are `seen`. What computes at length is not: seen, it takes three
# times as long, and shows hardly a line that others do not show.
_UNSEEN = {"long", "fuzz", "torture", "zoo", "qemu", "hostcc", "real"}
_SEEN_TIERS = {"unit", "graph"}


def _seen(item: pytest.Item) -> bool:
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    marked = any(marker.name in _UNSEEN for marker in item.iter_markers())
    return not drawn and not marked and item.path.parent.name in _SEEN_TIERS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons: dict[str, str] = {}
    for item in items:
        if _seen(item):
            item.add_marker("seen")
        for marker in item.iter_markers():
            if marker.name in _REASONS:
                if marker.name not in reasons:
                    reasons[marker.name] = _REASONS[marker.name]()
                if reasons[marker.name]:
                    item.add_marker(pytest.mark.skip(reason=reasons[marker.name]))
