"""What the doctor says, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OK, MISSING, BROKEN, UNFIT = "ok", "missing", "broken", "unfit"
ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Host:
    """The machine to look at."""

    environ: Mapping[str, str]  # Of the process
    system: str  # ``windows``, ``linux`` or ``mac``
    seconds: float = 10.0  # Time limit of each answer
    usual_places: bool = True  # Look where installers put programs, besides PATH


@dataclass(frozen=True)
class Need:
    """Who needs a tool."""

    build: tuple[str, ...] = ()  # Targets that cannot be built without it: names of variants
    use: tuple[str, ...] = ()  # Targets that build but cannot do their work: ``run-<variant>`` and the like


@dataclass(frozen=True)
class ToolRow:
    """A tool."""

    tool: str  # Its name
    # ``ok``; ``missing``; ``broken``: it is there and does not answer; ``unfit``: it is there, but another version or
    # without a part that is needed
    status: str
    version: str = ""  # What it says of itself; empty if unknown
    path: str = ""  # The program, or the folder of an installation
    details: tuple[str, ...] = ()  # Facts about it
    problem: str = ""  # Why it is not ok, in words
    means: str = ""  # What does not work without it
    get: str = ""  # How to get it
    need: Need = field(default_factory=Need)  # Who in the project needs it
    blocks: bool = False  # Something that was asked for does not work because of it


@dataclass(frozen=True)
class Remark:
    """Something about several tools, or about places."""

    id: str  # Short name
    level: str  # ``error``, ``warning`` or ``note``
    message: str  # What is so
    remedy: str = ""  # What to do about it

    def __str__(self) -> str:
        text = f"{self.message} ({self.remedy})" if self.remedy else self.message
        return " ".join(text.split())


@dataclass(frozen=True)
class Examination:
    """All of it."""

    neuralart: str  # Version of this package
    system: str  # ``linux``, ``windows`` or ``mac``
    project: str  # The project file as named; empty without one
    targets: tuple[str, ...]  # What was asked for
    rows: tuple[ToolRow, ...]  # Tools, in the order of the table in docs/reference/doctor.md
    remarks: tuple[Remark, ...]  # Errors first

    @property
    def ok(self) -> bool:
        """Nothing is missing that was asked for."""
        return not any(row.blocks for row in self.rows)
