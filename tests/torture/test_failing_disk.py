"""Builds whose disk is full, forbids something or breaks: SCons says so in a line, and the next build is a clean one's.

A library in front of libc lets one change below the build folder fail, in SCons, in our commands or in gcc.
"""

from __future__ import annotations

import errno
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.models.two_states import TARGETS, TwoStates
from support.projects.torture import LONG, in_time, many, progress

SOURCE = Path(__file__).resolve().parents[1] / "support" / "servers" / "failing_disk.c"
pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.arm,
    pytest.mark.hostcc,
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD and the calls of glibc"),
    pytest.mark.skipif(not LONG, reason="part of the long run: ./sconsw test --torture"),
]
WORDS = struct.Struct("=5I")
NEVER = 0xFFFFFFFF


class FailingDisk:
    """The library, and the words that it shares with this process."""

    def __init__(self, folder: Path, place: Path) -> None:
        library, self.state = folder / "failing_disk.so", folder / "state"
        words = ["cc", "-shared", "-fPIC", "-O1", "-Wno-nonnull-compare", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(words, check=True)
        self.arm(NEVER, 0)
        self.environment = {"LD_PRELOAD": str(library), "FAILING_STATE": str(self.state), "FAILING_PLACE": str(place)}

    def arm(self, number: int, code: int) -> None:
        """A full disk stays full; what else goes wrong does so once."""
        self.state.write_bytes(WORDS.pack(0, number, code, 0, code == errno.ENOSPC))

    def happened(self) -> tuple[int, bool]:
        """How many changes there were; did one fail?"""
        done, _, _, hit, _ = WORDS.unpack(self.state.read_bytes())
        return done, bool(hit)


def test_builds_on_a_failing_disk(tmp_path: Path, tell: Callable[[str], None]) -> None:
    tree = TwoStates(tmp_path)
    tree.prepare("flash", "export")
    disk = FailingDisk(tmp_path, tree.project.path("build"))
    chance = random.Random(14)
    wrong: list[object] = []
    hits: dict[str, int] = {}
    for verb in ("build", "flash", "export"):
        words = TARGETS[verb]
        tree.switch()
        disk.arm(NEVER, 0)
        tree.project.run("-j2", *words, env=disk.environment)
        changes, _ = disk.happened()
        assert changes > 20, "the library is in front of nothing"
        hits[verb] = 0
        for number in range(many(2, 40 if verb == "build" else 12)):
            before = len(wrong)
            code = (errno.ENOSPC, errno.EACCES, errno.EIO)[number % 3]
            tree.switch()
            at = chance.randrange(changes)
            disk.arm(at, code)
            done = tree.project.run_raw("-j2", *words, env=disk.environment)
            _, hit = disk.happened()
            hits[verb] += hit
            if not in_time():
                break
            said = [f"change {at} of {changes}, {os.strerror(code)}, exit {done.code}: {done.out[-300:]}{done.err}"]
            if "Traceback" in done.out + done.err or (done.code and "scons: *** " not in done.err):
                wrong.append((verb, said))
            if not done.code and hit:
                now, wanted = tree.project.results(), tree.known[verb, tree.state]
                wrong += [(verb, name, "is wrong, exit 0", said) for name in wanted if now.get(name) != wanted[name]]
            wrong += [(verb, name, "half-written", said) for name in tree.halves()]
            wrong += [(verb, each, said) for each in tree.differences(verb)]
            progress(f"{verb} {number}, {hits[verb]} hits, {wrong[before:]}")
    tell(f"scons: changes of the disk that failed: {', '.join(f'{verb} {count}' for verb, count in hits.items())}")
    assert wrong == []
    assert not in_time() or min(hits.values()) >= 6
