"""The larger networks, built by ``scons`` and run whole on the virtual boards."""

from __future__ import annotations

import pytest

from support.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.long]


def test_they_are_bit_exact(sources: Project) -> None:
    variants = ("mobilenet-n6", "heatmap-n6", "detector-an547", "mobilenet-an547")
    out = sources.run(*(f"run-{variant}" for variant in variants), timeout=600).out
    found = [line.split(" (")[0] for line in out.splitlines() if "bit-exact" in line]
    assert found == [
        "mobilenet: 10 vectors bit-exact on unicorn",
        "heatmap: 6 vectors bit-exact on unicorn",
        "detector: 6 vectors bit-exact on qemu",
        "mobilenet: 10 vectors bit-exact on qemu",
    ]
