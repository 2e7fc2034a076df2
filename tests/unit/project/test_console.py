"""Colors on a terminal, and what is shown of work that takes long: counted in lines, with a clock of the test's own."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator

import pytest

from neuralart import intact
from neuralart.scons.step_counter import Steps
from neuralart.text import console, progress
from neuralart.text.progress import Reporter, Work, at_work, reported


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "CLICOLOR_FORCE", progress.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Reporters whose thread never wakes up: the test calls tick."""
    monkeypatch.setattr(Reporter, "_watch", lambda self: self._stop.wait())
    before = threading.active_count()
    yield Clock()
    assert threading.active_count() <= before + 1, "every thread has ended"


# ---- colors


@pytest.mark.parametrize(
    ("environ", "terminal", "colored"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_who_gets_colors(environ: dict[str, str], terminal: bool, colored: bool) -> None:
    assert console.in_color(Terminal() if terminal else io.StringIO(), environ) is colored
    assert intact.in_color(environ, terminal) is colored, "the same where nothing is loaded"


@pytest.mark.parametrize(
    ("line", "color"),
    [
        ("scons: *** [build/a.o] Error 1", console.RED),
        ("src/main.c:3:7: error: 'x' undeclared", console.RED),
        ("src/main.c:1:10: fatal error: a.h: No such file", console.RED),
        ("neuralart run: error: a.elf: cannot read", console.RED),
        ("src/main.c:3:7: warning: unused variable 'x'", console.YELLOW),
        ("scons: warning: something", console.YELLOW),
        ("neuralart run: note: first write of AXISRAM5", console.YELLOW),
        ("scons: `digits-n6' is up to date.", console.GREEN),
        ("[3/17] CC       build/terror: x.o", ""),
        ("CC       build/app/error.o", ""),
        ("no error", ""),
        ("\x1b[31msrc/main.c:3: error: x\x1b[0m", ""),
    ],
)
def test_colors_of_lines(line: str, color: str) -> None:
    painted = f"\x1b[{color}m{line}\x1b[0m" if color else line
    assert console.painted(line) == painted
    assert console.painted(f"a\n{line}\nb\n") == f"a\n{painted}\nb\n", "line by line"


def test_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    file, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", terminal)
    streams = console.output_streams()
    assert [sys.stdout, sys.stderr] == streams == console.output_streams(), "once"
    hidden: list[str] = []
    streams[1].before = lambda: hidden.append(terminal.getvalue())
    print("x: error: y", file=sys.stderr)
    assert terminal.getvalue() == "\x1b[31mx: error: y\x1b[0m\n" and hidden[0] == ""
    assert streams[1].encoding == terminal.encoding
    console.say_result("good")
    monkeypatch.setattr(sys, "stdout", sys.stderr)
    console.say_result("very \x1b[31mgood")
    assert file.getvalue() == "good\n" and terminal.getvalue().endswith("\x1b[32mvery \\x1b[31mgood\x1b[0m\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc\n", "a\tb\r\nc\n"),
        ("12 %\r", "12 %\r"),
        ("a\rb", r"a\rb"),
        ("\x00\x07\x08\x0b\x0c\x1b[2J\x9b2J\x85", r"\x00\x07\x08\x0b\x0c\x1b[2J\x9b2J\x85"),
        ("\u202eab\u2069\u200f\u2028\u2029\ud83d", r"\u202eab\u2069\u200f\u2028\u2029\ud83d"),
        ("gr\u00fc\u00df dich, \U0001f600 \u00a0", "gr\u00fc\u00df dich, \U0001f600 \u00a0"),
    ],
)
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_no_control_character_is_sent(text: str, shown: str, stream: type[io.StringIO]) -> None:
    out = stream()
    console.OutputStream(out).write(text)
    assert out.getvalue() == shown
    console.OutputStream(out, colored=True).writelines([text])
    assert out.getvalue() == shown * 2


def test_json_stays_json() -> None:
    out = io.StringIO()
    text = "".join(map(chr, range(0x300))) + "\u2028\u202e\ud800"
    console.OutputStream(out).write(json.dumps(text))
    assert json.loads(out.getvalue()) == text and out.getvalue().isprintable()


def test_colors_of_others_pass_in_a_build_alone() -> None:
    text = "\x1b[01m\x1b[Ka.c:\x1b[m\x1b[K \x1b[2J\x1b]0;title\x07"
    commands, build = io.StringIO(), io.StringIO()
    console.OutputStream(commands).write(text)
    console.OutputStream(build, colored=True).write(text)
    assert "\x1b" not in commands.getvalue()
    assert build.getvalue() == "\x1b[01m\x1b[Ka.c:\x1b[m\x1b[K \\x1b[2J\\x1b]0;title\\x07"


def test_a_stream_that_lacks_letters() -> None:
    raw = io.BytesIO()
    stream = console.OutputStream(io.TextIOWrapper(raw, "ascii"))
    stream.write("gr\u00fcn\n")
    stream.flush()
    assert raw.getvalue() == b"gr\\xfcn\n"


def test_a_line_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    console.say("a\nerror: b\r\tc\u2028", "d")
    assert capsys.readouterr().out == "a\\nerror: b\\r\tc\\u2028\nd\n"


# ---- what takes long


@pytest.mark.parametrize(
    ("done", "total", "unit", "seconds", "said"),
    [
        (0, 0, "", 12, "12 s"),
        (0, 0, "pass 3", 12.4, "pass 3, 12 s"),
        (0, 20, "vectors", 5, "0 of 20 vectors, 5 s"),
        (5, 20, "vectors", 10, "5 of 20 vectors, 0.5/s, 30 s left"),
        (20, 20, "vectors", 10, "20 of 20 vectors, 2/s, 0 s left"),
        (5, 20, "vectors", 0, "5 of 20 vectors, 0 s"),
    ],
)
def test_rate_and_time_left(done: int, total: int, unit: str, seconds: float, said: str) -> None:
    assert Work("x", 100.0, done=done, total=total, unit=unit).state(100.0 + seconds) == said


def test_a_line_each_ten_seconds_of_silence(sleeping: Clock) -> None:
    out = io.StringIO()
    reporter = Reporter(out, live=False, clock=sleeping)
    work = reporter.start("RUN      digits-n6", 1)
    seen = []
    for _ in range(35):
        sleeping.now += 1
        reporter.tick()
        seen.append(out.getvalue().count("\n"))
    assert [seen.index(count) + 1 for count in (1, 2, 3)] == [10, 20, 30] and seen[-1] == 3
    assert out.getvalue().splitlines()[0] == "... RUN      digits-n6: 10 s"
    # A step that begins breaks the silence; both are named.
    work.show(7, 20, "vectors")
    reporter.start("CC       a.o", 2)
    sleeping.now += 9
    reporter.tick()
    assert out.getvalue().count("\n") == 3
    sleeping.now += 1
    reporter.tick()
    assert out.getvalue().splitlines()[3:] == [
        "... RUN      digits-n6: 7 of 20 vectors, 0.156/s, 84 s left; CC       a.o: 10 s"
    ]
    reporter.close()
    sleeping.now += 100
    reporter.tick()
    assert out.getvalue().count("\n") == 4, "what is done is not at work"


def test_many_steps_are_still_one_line(sleeping: Clock) -> None:
    out, alive = io.StringIO(), set(range(9))
    reporter = Reporter(out, live=False, clock=sleeping)
    for number in range(9):
        reporter.start(f"step {number}", number, lambda number=number: number in alive)  # type: ignore[misc]
    sleeping.now += 10
    reporter.tick()
    assert out.getvalue() == "... step 0: 10 s; step 1: 10 s; step 2: 10 s; step 3: 10 s; 5 more\n"
    alive.clear()
    sleeping.now += 10
    reporter.tick()
    assert out.getvalue().count("\n") == 1, "all of them have ended"
    reporter.close()


def test_a_bar_after_two_seconds(sleeping: Clock) -> None:
    pytest.importorskip("rich")
    out = Terminal()
    reporter = Reporter(out, live=True, clock=sleeping)
    work = reporter.start("RUN      digits-n6", 1)
    work.show(1, 4, "vectors")
    sleeping.now += 1.9
    reporter.tick()
    assert out.getvalue() == ""
    sleeping.now += 0.1
    reporter.tick()
    assert "1 of 4 vectors, 0.5/s, 6 s left" in out.getvalue()
    reporter.tick()
    assert out.getvalue().count("\n") == 0, "the same line"
    reporter.hide()
    assert out.getvalue().endswith("\x1b[2K"), "nothing of it stays"
    reporter.close()
    assert "?25h" in out.getvalue(), "the cursor is back"


def test_lines_where_rich_is_not_installed(sleeping: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_has_rich", lambda: False)
    out = Terminal()
    reporter = Reporter(out, live=True, clock=sleeping)
    reporter.start("RUN      digits-n6", 1)
    sleeping.now += 10
    reporter.tick()
    assert out.getvalue() == "... RUN      digits-n6: 10 s\n"
    reporter.close()


def test_the_thread_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks for the time between two sleeps, and for nothing else."""
    slept: list[float] = []

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            slept.append(timeout or 0.0)
            return len(slept) > 3

    monkeypatch.setattr(threading, "Event", Event)
    reporter = Reporter(io.StringIO(), live=False, clock=Clock())
    reporter._watch()
    assert slept == [1.0] * 4


# ---- commands that SCons has started


@pytest.mark.parametrize(("how", "lines"), [("report", ["\x1e3 20 vectors", "\x1e0 0 pass 3"]), ("off", [])])
def test_a_command_of_scons_draws_nothing(
    how: str, lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(progress.VARIABLE, how)
    before = threading.active_count()
    with at_work("run digits-n6") as work:
        work.show(3, 20, "vectors")
        work.say("pass 3")
        assert threading.active_count() == before
    said = capsys.readouterr()
    assert [line for line in said.out.split("\n") if line] == lines and said.err == ""


def test_a_command_of_people_ends_its_thread(capsys: pytest.CaptureFixture[str]) -> None:
    # Threads of tests before may end meanwhile: they are not counted.
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), at_work("compile net"):
        (thread,) = set(threading.enumerate()) - before
        raise KeyboardInterrupt
    thread.join(5)
    assert not thread.is_alive()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("line", "taken", "numbers"),
    [
        ("\x1e3 20 vectors of x\n", True, (3, 20, "vectors of x")),
        ("\x1e0 0 pass 3\n", True, (0, 0, "pass 3")),
        ("\x1e\n", True, (0, 0, "")),
        ("\x1ea b c\n", True, (0, 0, "")),
        ("\x1e3\n", True, (0, 0, "")),
        ("3 20 vectors\n", False, (0, 0, "")),
    ],
)
def test_numbers_of_a_command(line: str, taken: bool, numbers: tuple[int, int, str]) -> None:
    work = Work("x", 0.0)
    assert reported(line, work) is taken
    assert (work.done, work.total, work.unit) == numbers


# ---- numbers of steps


class Step:
    """A node as SCons has them: made by an executor, which several may share."""

    state, always_build, prerequisites, depends = 0, False, None, ()

    def __init__(self, *sources: Step, lines: int = 1, peer: Step | None = None) -> None:
        self.sources = sources
        self.executor = peer.executor if peer else self
        self.lines = lines

    def get_action_list(self) -> list[object]:
        return [type("Action", (), {"cmdstr": "x"})] * self.lines

    def get_build_env(self) -> object:
        return None

    def disambiguate(self) -> Step:
        return self

    def has_builder(self) -> bool:
        return True

    def get_state(self) -> int:
        return self.state

    def get_executor(self) -> object:
        return self.executor


def test_steps_are_counted_by_what_makes_them() -> None:
    both = Step()
    peer = Step(peer=both)
    last = Step(both, peer, lines=2)
    for one in (both, last):
        one.always_build = True
    steps = Steps([last], lambda env: True)
    assert [steps.next(both), steps.next(last), steps.next(last)] == ["[1/3]", "[2/3]", "[3/3]"]
    assert steps.next(Step()) == "[4/4]", "what was not foreseen is counted all the same"


def test_steps_that_turn_out_to_be_up_to_date_do_not_count() -> None:
    first, second = Step(), Step()
    first.always_build = second.always_build = True
    last = Step(first, second)
    steps = Steps([last], lambda env: True)
    assert steps.next(first) == "[1/3]"
    second.state = 3
    assert steps.next(last) == "[2/2]"
    assert Steps([last], lambda env: False).next(last) == "[1/1]", "steps of other environments have no numbers"
