"""Progress of long work: a bar on a terminal after two seconds, elsewhere a line after ten seconds of silence. A thread
draws it. Commands of SCons draw nothing themselves: SCons does. ``NEURALART_PROGRESS`` tells them: ``off``, or
``report`` (write numbers to the pipe to SCons).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from neuralart.errors import printable
from neuralart.text import console

VARIABLE = "NEURALART_PROGRESS"
MARK = "\x1e"
"""In front of a line of numbers from a command to SCons."""
PATIENCE = 2.0
"""Seconds without a bar."""
SILENCE = 10.0
"""Seconds without a line."""
_FRAME = 0.25
_SHOWN = 4
"""Pieces of work in a line or in bars."""


@dataclass
class Work:
    title: str  # What, for people
    since: float  # On the clock of the reporter
    alive: Callable[[], bool] = lambda: True
    done: int = 0  # Parts that are done
    total: int = 0  # Parts in all; 0: unknown
    unit: str = ""  # What they are, or what it says of itself

    def show(self, done: int, total: int, unit: str) -> None:
        """Set how far it is."""
        self.done, self.total, self.unit = done, total, unit

    def say(self, unit: str) -> None:
        """Set what it does, where nothing can be counted."""
        self.show(0, 0, unit)

    def state(self, now: float) -> str:
        """Describe its progress: ``7 of 20 vectors, 0.7/s, 19 s left``; ``12 s`` if it is unknown."""
        seconds = now - self.since
        if not self.total:
            return f"{self.unit}, {seconds:.0f} s" if self.unit else f"{seconds:.0f} s"
        text = f"{self.done} of {self.total} {self.unit}"
        if not self.done or seconds <= 0:
            return f"{text}, {seconds:.0f} s"
        rate = self.done / seconds
        return f"{text}, {rate:.3g}/s, {(self.total - self.done) / rate:.0f} s left"


def reported(line: str, work: Work) -> bool:
    """Read the numbers in a line of a command; False: it is a line for people."""
    if not line.startswith(MARK):
        return False
    done, total, unit = (*line[1:].rstrip("\n").split(" ", 2), "", "")[:3]
    if done.isdecimal() and total.isdecimal():
        work.show(int(done), int(total), printable(unit))
    return True


class Reporter:
    """Shows long work on a stream; ``live``: by bars. The clock counts seconds."""

    def __init__(self, stream: TextIO, *, live: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._live = live and _has_rich()
        self._works: dict[object, Work] = {}
        self._last = clock()
        self._bars: Any = None
        self._drawn: list[str] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, title: str, key: object = None, alive: Callable[[], bool] = lambda: True) -> Work:
        """Begin work, in place of work with the same key. It ends when ``alive`` returns False."""
        with console.WRITING:
            now = self._last = self._clock()
            work = self._works[key] = Work(printable(title), now, alive)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()
        return work

    def close(self) -> None:
        """End all work."""
        self._stop.set()
        with console.WRITING:
            self.hide()
            self._works.clear()

    def hide(self) -> None:
        """Remove the bars until the next drawing."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def tick(self) -> None:
        """Draw the present state."""
        with console.WRITING:
            now = self._clock()
            self._works = {key: work for key, work in self._works.items() if work.alive()}
            if self._live:
                self._draw([work for work in self._works.values() if now - work.since >= PATIENCE][:_SHOWN], now)
            elif self._works and now - self._last >= SILENCE:
                self._last = now
                said = [f"{work.title}: {work.state(now)}" for work in self._works.values()]
                more = f"; {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
                with contextlib.suppress(OSError):
                    self._stream.write(f"... {'; '.join(said[:_SHOWN])}{more}\n")
                    self._stream.flush()

    def _draw(self, works: list[Work], now: float) -> None:
        if not works or self._drawn != [work.title for work in works]:
            self.hide()
        if not works:
            return
        bars = self._bars or _bars(self._stream, works)
        for number, work in enumerate(works):
            bars.update(number, completed=work.done, total=work.total or None, state=work.state(now))
        (bars.start if self._bars is None else bars.refresh)()
        self._bars, self._drawn = bars, [work.title for work in works]

    def _watch(self) -> None:
        while not self._stop.wait(_FRAME if self._live else SILENCE / 10):
            self.tick()


def _has_rich() -> bool:
    import importlib.util

    return importlib.util.find_spec("rich") is not None


def _bars(stream: TextIO, works: list[Work]) -> Any:
    """Bars, one for each piece of work, which are not drawn yet."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    where = Console(file=stream, no_color=not console.in_color(stream), highlight=False)
    title, state = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[state]"))
    bars = Progress(
        title,
        BarColumn(20),
        state,
        console=where,
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    for work in works:
        bars.add_task(work.title, total=None, state="")
    return bars


class _Report(Work):
    """Work of a command that SCons draws."""

    def show(self, done: int, total: int, unit: str) -> None:
        """Write the numbers to SCons."""
        # The mark is a control character, which no other text of a command can have.
        print(f"{MARK}{done} {total} {unit}", file=getattr(sys.stdout, "stream", sys.stdout), flush=True)


@contextlib.contextmanager
def at_work(title: str, *, quiet: bool = False) -> Iterator[Work]:
    """Show the work of a command while it runs. ``quiet``: show nothing."""
    how = "off" if quiet else os.environ.get(VARIABLE, "")
    if how:
        yield _Report(title, 0.0) if how == "report" else Work(title, 0.0)
        return
    streams = console.output_streams()
    terminal = next((each.stream for each in streams if each is sys.stderr and each.isatty()), None)
    reporter = Reporter(terminal or sys.stderr, live=terminal is not None)
    for stream in streams:
        stream.before = reporter.hide
    try:
        yield reporter.start(title)
    finally:
        reporter.close()
        for stream in streams:
            stream.before = lambda: None
