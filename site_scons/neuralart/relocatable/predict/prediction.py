"""What the install predictor is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.memory.findings import Finding

ERRORS = {
    0: "NONE",
    -1: "INVALID_BIN",
    -2: "MEMORY",
    -3: "NOT_SUPPORTED",
    -4: "ARG",
    -5: "INVALID_HDL",
    -6: "INSTALL",
    -7: "PARAM_ADDR",
    -8: "PARAM_DESC",
}


@dataclass(frozen=True)
class Room:
    """A piece of memory.

    Attributes:
        start: Its address.
        size: Bytes.
    """

    start: int
    size: int

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.start + self.size

    def shares(self, other: Room) -> int:
        """Bytes that both have."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True)
class Firmware:
    """What loads the image.

    Attributes:
        version: Runtime: major, minor, micro, extra.
        secure: Runs in the secure state.
        dbg_info: Compiled with LL_ATON_EB_DBG_INFO.
    """

    version: tuple[int, int, int, int]
    secure: bool
    dbg_info: bool

    @property
    def ours(self) -> bool:
        """The reference runtime's loader: it checks more, and everything before it writes."""
        return self.version[0] == 0

    @property
    def text(self) -> str:
        """``1.1.3.262``."""
        return ".".join(str(number) for number in self.version)


@dataclass(frozen=True)
class Call:
    """Arguments of the install.

    Attributes:
        at: Address of the image.
        ram: Executive RAM.
        ext_ram: External RAM; None: not given.
        params: Address of a split model's params; 0: not given.
        copy: Mode COPY instead of XIP.
        clear: Mode CLEAR too.
    """

    at: int
    ram: Room
    ext_ram: Room | None = None
    params: int = 0
    copy: bool = False
    clear: bool = False

    @property
    def mode(self) -> str:
        """``XIP``, ``COPY``, with ``, CLEAR``."""
        return ("COPY" if self.copy else "XIP") + (", CLEAR" if self.clear else "")


@dataclass(frozen=True)
class Prediction:
    """What will happen.

    Attributes:
        code: What the install returns.
        reason: Why, if that is an error.
        remedy: What to do about it.
        ram_needed: Bytes of executive RAM.
        ext_ram_needed: Bytes of external RAM.
        steps: What is done, in the loader's order.
        unnoticed: What the loader lets pass: errors that show when the model runs, and warnings.
    """

    code: int
    reason: str
    remedy: str
    ram_needed: int
    ext_ram_needed: int
    steps: tuple[str, ...]
    unnoticed: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """``PARAM_ADDR``, as the interface names the code."""
        return ERRORS[self.code]

    @property
    def works(self) -> bool:
        """It installs, and nothing is known that breaks it later."""
        return self.code == 0 and all(finding.level != "error" for finding in self.unnoticed)


class Refused(Exception):
    """The loader's answer.

    Attributes:
        code: Key of :data:`ERRORS`.
        reason: Why.
        remedy: What to do about it.
    """

    def __init__(self, code: int, reason: str, remedy: str = "") -> None:
        self.code, self.reason, self.remedy = code, reason, remedy
        super().__init__(code, reason, remedy)
