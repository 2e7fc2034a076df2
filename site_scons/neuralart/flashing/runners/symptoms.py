"""What programs say when they fail, and what it means. Words give a reason; they never prove that something worked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from neuralart.boards.types import Board


@dataclass(frozen=True)
class Symptom:
    """A reason that programs give."""

    says: re.Pattern[str]  # What one of them prints
    what: str  # What is so; ``{line}``: the line that it prints
    hint: str  # What to do; ``{switches}`` is filled in


def _symptom(says: str, what: str, hint: str) -> Symptom:
    return Symptom(re.compile(says, re.IGNORECASE), what, hint)


# The first that fits; what is nearer to the cause stands first.
SYMPTOMS = (
    _symptom(r"\[y/n\]|press any key|\(yes/no\)", "it asks a question", "answer it once by hand"),
    _symptom(
        r"already in use|in use by another|DEV_USB_COMM_ERR|LIBUSB_ERROR_(BUSY|ACCESS)|resource busy|exclusive access",
        "another program has the probe, or the system does not let you use it",
        "close debuggers and gdb servers; on Linux install ST's udev rules",
    ),
    _symptom(
        r"voltage[^\n]{0,20}too low|not powered|no power|voltage\s*:\s*0(?:[.,]0\d*)?\s*V\b",
        "the board has no power",
        "plug in its power supply, look at the power jumper",
    ),
    _symptom(
        r"no (?:debug probe|st-?link|connected debug|available debug)|probe[^\n]{0,30}not found|open failed"
        r"|no device found|unable to open|DEV_NOT_FOUND|no matching",
        "no probe answers",
        "plug in the board's ST-LINK cable; 'neuralart boards --connected' lists probes",
    ),
    _symptom(
        r"no stm32 target|core id|DEV_(?:TARGET|CONNECT|NO_DEVICE)|connect to (?:the )?(?:target|device)"
        r"|init mode failed|examination failed|no ACK|target not|cannot halt|timed out while"
        r"|remote failure|doesn't support read_memory",
        "the device does not answer",
        "{switches}",
    ),
    _symptom(
        r"connection (?:refused|timed out|reset)|remote connection closed",
        "the gdb server does not answer",
        "does it still run? SERVER=HOST:PORT says where",
    ),
    _symptom(
        r"external ?loader|\.stldr|loader init",
        "the external loader does not work",
        "is the board in development mode, and its loader in the folder of STM32CubeProgrammer?",
    ),
    _symptom(
        r"unknown (?:option|argument|target)|invalid (?:option|command)|unrecognized|wrong (?:command|argument)",
        "it does not take the command: {line}",
        "another version of it may; DRY=1 shows the whole command",
    ),
    _symptom(r"protected|failed to erase|error erasing", "the flash does not take it", "is it write protected?"),
    _symptom(r"no space left|disk full", "the disk is full", "make room in the folder for temporary files"),
)
_ERROR = re.compile(r"^.*?\b(?:error|fail(?:ed|ure)|fatal|cannot|unable)\b.*$", re.IGNORECASE | re.MULTILINE)


def switches_of(board: Board) -> str:
    """Both positions of a board's boot switches, in words."""
    words = [f"{mode}: {text}" for mode, text in sorted(board.switches.items())]
    return "boot switches: " + "; ".join(words) if words else "power, cable, reset?"


def complains(text: str) -> bool:
    """Whether a program speaks of an error."""
    return _ERROR.search(text) is not None


def reason(text: str, board: Board) -> tuple[str, str]:
    """What a program that failed says: the meaning and what to do, or its own words and nothing."""
    for symptom in SYMPTOMS:
        if found := symptom.says.search(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 :].splitlines()[0].strip()
            return symptom.what.replace("{line}", line), symptom.hint.format(switches=switches_of(board))
    own = _ERROR.search(text)
    lines = text.strip().splitlines()
    return f"it says: {own[0].strip() if own else lines[-1].strip()}" if lines else "it says nothing", ""
