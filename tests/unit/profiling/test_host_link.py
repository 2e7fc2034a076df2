"""The host link: codec and session, against a firmware that is a few lines of Python."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart_virtual.emulator import LinkFailure, MachineStop, host_link
from neuralart_virtual.emulator.host_link import (
    LONGEST,
    Damaged,
    Decoder,
    Frame,
    RemoteNetwork,
    Session,
    Text,
    encode,
    parse_hello,
)

FRAMES = st.builds(Frame, st.sampled_from("HIOEQD"), st.binary(max_size=60))
# Text for people never contains the start byte.
TEXTS = st.binary(min_size=1, max_size=20).filter(lambda data: 1 not in data).map(Text)


def decode(data: bytes, cut: int = 1 << 30) -> list:
    decoder = Decoder()
    return [event for at in range(0, len(data), cut) for event in decoder.feed(data[at : at + cut])]


def wire(events: list) -> bytes:
    return b"".join(encode(event) if isinstance(event, Frame) else event.data for event in events)


def joined(events: list) -> list:
    """Neighboring texts are one."""
    result: list = []
    for event in events:
        if isinstance(event, Text) and result and isinstance(result[-1], Text):
            event = Text(result.pop().data + event.data)
        result.append(event)
    return result


def test_a_frame_byte_by_byte():
    body = b"I" + b"\x03\0\0\0" + b"\0ab"
    assert encode(Frame("I", b"\0ab")) == b"\x01" + body + struct.pack("<I", zlib.crc32(body))
    assert encode(Frame("D", b"")).hex() == "014400000000" + struct.pack("<I", zlib.crc32(b"D\0\0\0\0")).hex()


@given(st.lists(FRAMES | TEXTS, max_size=8), st.integers(1, 30))
def test_frames_and_text_come_out_as_they_went_in(events, cut):
    assert joined(decode(wire(events), cut)) == joined(events)


@given(st.binary(max_size=200), st.integers(1, 30))
def test_no_bytes_break_the_decoder(data, cut):
    decoder = Decoder()
    events = [event for at in range(0, len(data), cut) for event in decoder.feed(data[at : at + cut])]
    kept = sum(len(event.data) for event in events if isinstance(event, Text)) + len(decoder.pending)
    kept += sum(len(encode(event)) for event in events if isinstance(event, Frame))
    # Every byte is text, a frame, pending, or the given-up start byte of something damaged.
    assert kept + sum(isinstance(event, Damaged) for event in events) == len(data)


@given(FRAMES, st.data())
def test_one_flipped_bit_is_always_seen(frame, data):
    whole = bytearray(encode(frame))
    # The length is looked at separately: a longer one waits for bytes that do not come.
    at = data.draw(st.sampled_from([1, *range(6, len(whole))]))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    events = decode(bytes(whole))
    assert frame not in events
    assert isinstance(events[0], Damaged) and "CRC 0x" in events[0].reason


@given(FRAMES, FRAMES)
def test_the_frame_behind_a_damaged_one_is_found(first, second):
    whole = bytearray(encode(first))
    whole[-1] ^= 0xFF
    # A 0x01 in the ruins may start a false frame that swallows what follows: then more bytes are needed to see it.
    ruins = bytes(whole[1:])
    if 1 in ruins:
        return
    assert decode(bytes(whole) + encode(second))[-1] == second


def test_an_impossible_length_does_not_wait_for_it():
    events = decode(b"\x01I" + struct.pack("<I", LONGEST + 1) + encode(Frame("D", b"")))
    assert events[0] == Damaged("I", f"length {LONGEST + 1}")
    assert events[-1] == Frame("D", b"")


def hello_payload(version: int = 1) -> bytes:
    first = b"\x03toy\x04abcd" + b"\x01" + struct.pack("<I", 4) + b"\x02" + struct.pack("<II", 2, 3)
    return bytes([version, 2]) + first + b"\x01b\x00" + b"\x00" + b"\x00"


def test_hello():
    assert parse_hello(hello_payload()) == (RemoteNetwork("toy", "abcd", (4,), (2, 3)), RemoteNetwork("b", "", (), ()))


@pytest.mark.parametrize("length", range(len(hello_payload())))
def test_a_hello_that_is_cut_short(length):
    with pytest.raises(LinkFailure, match="cut short"):
        parse_hello(hello_payload()[:length])


def test_a_hello_of_another_version():
    with pytest.raises(LinkFailure, match="host link version 9, this program 1"):
        parse_hello(hello_payload(version=9))


class Script:
    """A transport that plays back; ``None`` is a machine that stops."""

    def __init__(self, *portions: bytes | None) -> None:
        self.portions = list(portions)
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def read(self, seconds: float) -> bytes:
        portion = self.portions.pop(0) if self.portions else b""
        if portion is None:
            raise MachineStop("stopped")
        return portion

    def waiting_for(self) -> str:
        return "the script is over"

    def spent(self) -> float | None:
        return None

    def idle(self) -> bool:
        return False


class Machine(Script):
    """A machine that computes so many seconds each time somebody looks, and speaks when it has computed enough."""

    def __init__(self, step: float, answers: dict[float, bytes], *, waits: bool = False) -> None:
        super().__init__()
        self.step, self.answers, self.waits, self.computed = step, dict(answers), waits, 0.0

    def read(self, seconds: float) -> bytes:
        self.computed += self.step
        due = [at for at in self.answers if at <= self.computed]
        return b"".join(self.answers.pop(at) for at in sorted(due))

    def spent(self) -> float | None:
        return self.computed

    def idle(self) -> bool:
        return self.waits


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on by so many seconds each time it is asked."""
    state = [0.0, 1.0]

    def now() -> float:
        state[0] += state[1]
        return state[0]

    monkeypatch.setattr(host_link.time, "monotonic", now)
    return state


def test_a_busy_computer_does_not_end_a_run(clock):
    """Nine times the limit passes while the machine computes a ninth of it, again and again between its words."""
    clock[1] = 9.0
    words = {float(second): b"." for second in range(1, 5)}
    machine = Machine(0.5, {**words, 5.0: encode(Frame("O", b"\0done"))})
    lines: list[str] = []
    assert Session(machine, timeout=10.0, on_text=lines.append).infer(0, b"") == b"done"
    assert clock[0] > 80


def test_words_of_the_firmware_are_an_answer_to_the_limit():
    """It computes ten times the limit in all, and says something in between."""
    machine = Machine(0.1, {**{n * 0.9: b"still here\n" for n in range(1, 11)}, 10.0: encode(Frame("O", b"\0done"))})
    assert Session(machine, timeout=1.0).infer(0, b"") == b"done"


@pytest.mark.parametrize(
    ("machine", "step", "message"),
    [
        (Machine(0.25, {}), 0.0, "no answer after 2 s of computing: waited for outputs; the script is over"),
        (Machine(0.0, {}), 1.0, "no answer after 20 s in which it hardly computed: waited for outputs"),
        (Machine(0.0, {}, waits=True), 0.0, "no answer can come: waited for outputs"),
    ],
)
def test_a_limit_says_which_one_it_is(machine, step, message, clock):
    clock[1] = step
    with pytest.raises(MachineStop, match=message) as caught:
        Session(machine, timeout=2.0).infer(0, b"")
    assert caught.value.hint == "--timeout S allows S seconds of computing without a word"


def test_a_session():
    lines: list[str] = []
    hello, out, done = (encode(Frame(*f)) for f in (("H", hello_payload()), ("O", b"\x01xyz"), ("D", b"")))
    script = Script(b"good ", b"morning\r\nab", b"c\n" + hello[:5], hello[5:] + b"rest", out + done)
    session = Session(script, timeout=1.0, on_text=lines.append)
    assert [network.name for network in session.hello()] == ["toy", "b"]
    assert session.infer(1, b"in") == b"xyz"
    session.quit()
    assert script.written == encode(Frame("I", b"\x01in")) + encode(Frame("Q", b""))
    assert lines == ["good morning", "abc"]
    session.flush_text()
    assert lines == ["good morning", "abc", "rest"]


def test_a_board_that_was_started_twice():
    """The hello of before was still on its way. Another one than the first, or a third, is an error as ever."""
    hello, out = encode(Frame("H", hello_payload())), encode(Frame("O", b"\x01xyz"))
    session = Session(Script(hello, hello + out, hello), timeout=1.0)
    session.hello()
    assert session.infer(1, b"in") == b"xyz"
    with pytest.raises(LinkFailure, match="'H', expected 'O'"):
        session.infer(1, b"in")


@pytest.mark.parametrize(
    ("portions", "error", "message"),
    [
        ([encode(Frame("E", b"\x05\x01two words"))], LinkFailure, "^the firmware reports error 261: two words$"),
        ([encode(Frame("D", b""))], LinkFailure, "sent a frame of type 'D', expected 'O'"),
        ([encode(Frame("O", b"\x02xy"))], LinkFailure, "outputs of network 02 arrived, expected those of 0"),
        ([encode(Frame("O", b""))], LinkFailure, "outputs of network none arrived"),
        ([encode(Frame("O", b"\0x"))[:-1] + b"?"], LinkFailure, "a frame of type 'O' arrived damaged: CRC 0x"),
        ([b"half a line", None], MachineStop, "^stopped$"),
        ([b"firmware fault: PC 0x10\n"], MachineStop, "^firmware fault: PC 0x10$"),
        # Died in the middle of a frame: the report looks like its payload.
        ([encode(Frame("O", bytes(99)))[:20] + b"\nfirmware fault: PC 0x2\n"], MachineStop, "^firmware fault: PC 0x2$"),
        (
            [encode(Frame("O", bytes(99)))[:20]],
            MachineStop,
            "no answer after 0.01 s of silence: .*; an unfinished frame of 20 byt",
        ),
        ([], MachineStop, "no answer after 0.01 s of silence: waited for outputs; the script is over"),
    ],
)
def test_what_a_session_says_to_trouble(portions, error, message):
    with pytest.raises(error, match=message):
        Session(Script(*portions), timeout=0.01).infer(0, b"")
