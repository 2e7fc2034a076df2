"""SCons itself, with all that it has started, is killed, or its disk fails: the next call makes what a clean one makes.

After half of the kills the sources get the contents back that they had before the killed build.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.models.two_states import TARGETS, TwoStates
from support.projects.torture import LONG, in_time, progress

pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.arm,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system"),
    pytest.mark.skipif(not LONG, reason="part of the long run: ./sconsw test --torture"),
]
KILLS = {"build": 60, "load": 25, "flash": 20, "export": 20, "verify": 20}


def test_builds_are_killed(tmp_path: Path, tell: Callable[[str], None]) -> None:
    tree = TwoStates(tmp_path)
    tree.prepare(*(verb for verb in TARGETS if verb in KILLS and verb != "build"))
    chance = random.Random(14)
    wrong, hits = [], dict.fromkeys(KILLS, 0)
    done: Counter[str] = Counter()
    order = [verb for verb, count in KILLS.items() for _ in range(count)]
    chance.shuffle(order)
    try:
        for verb in order:
            if not in_time():
                break
            tree.switch()
            if verb == "verify":
                tree.finish("flash")
            hits[verb] += tree.kill(verb, chance)
            back = chance.random() < 0.5
            if back:
                tree.switch()
                if verb == "verify":
                    tree.finish("flash")
            differences = tree.differences(verb)
            wrong += [(verb, done[verb], differences)] if differences else []
            done[verb] += 1
            progress(f"{verb} {done[verb]}, {hits[verb]} hits, sources {'back' if back else 'kept'}, {differences}")
    finally:
        shown = ", ".join(f"{verb} {hits[verb]} of {done[verb]}" for verb in KILLS)
        tell(f"scons: kills behind the first change: {shown}")
    assert wrong == []
    # A run that was cut short has too few of each to say anything about their number.
    assert not in_time() or all(hits[verb] >= done[verb] // 3 for verb in KILLS)
