"""SCons itself, with all that it has started, is killed, or its disk fails: the next call makes what a clean one makes.

After half of the kills the sources get the contents back that they had before the killed build.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from support.torture import LONG
from support.two_states import TARGETS, TwoStates

pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.arm,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system"),
]
KILLS = {"build": 60, "load": 25, "flash": 20, "export": 20, "verify": 20} if LONG else {"build": 3}


def test_builds_are_killed(tmp_path: Path, tell: Callable[[str], None]) -> None:
    tree = TwoStates(tmp_path)
    tree.prepare(*(verb for verb in TARGETS if verb in KILLS and verb != "build"))
    chance = random.Random(14)
    wrong, hits = [], dict.fromkeys(KILLS, 0)
    for verb, count in KILLS.items():
        for number in range(count):
            tree.switch()
            if verb == "verify":
                tree.finish("flash")
            hits[verb] += tree.kill(verb, chance)
            if chance.random() < 0.5:
                tree.switch()
                if verb == "verify":
                    tree.finish("flash")
            differences = tree.differences(verb)
            wrong += [(verb, number, differences)] if differences else []
    tell(f"scons: kills behind the first write: {', '.join(f'{verb} {hits[verb]} of {KILLS[verb]}' for verb in KILLS)}")
    assert wrong == []
    # A verification changes nothing that is built.
    assert all(hits[verb] >= count // 3 for verb, count in KILLS.items() if verb != "verify")
