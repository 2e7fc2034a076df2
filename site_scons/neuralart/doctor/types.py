"""What the doctor says, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

OK, MISSING, BROKEN, UNFIT = "ok", "missing", "broken", "unfit"
ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Need:
    """Who needs a tool.

    Attributes:
        build: Targets that cannot be built without it: names of variants.
        use: Targets that build but cannot do their work: ``run-<variant>`` and the like.
    """

    build: tuple[str, ...] = ()
    use: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.build, *self.use)


@dataclass(frozen=True)
class Row:
    """A tool.

    Attributes:
        tool: Its name.
        status: ``ok``; ``missing``; ``broken``: it is there and does not answer; ``unfit``: it is there, but another
            version or without a part that is needed.
        version: What it says of itself; empty if unknown.
        path: The program, or the folder of an installation.
        details: Facts about it.
        problem: Why it is not ok, in words.
        means: What does not work without it.
        get: How to get it.
        need: Who in the project needs it.
        blocks: Something that was asked for does not work because of it.
    """

    tool: str
    status: str
    version: str = ""
    path: str = ""
    details: tuple[str, ...] = ()
    problem: str = ""
    means: str = ""
    get: str = ""
    need: Need = field(default_factory=Need)
    blocks: bool = False


@dataclass(frozen=True)
class Remark:
    """Something about several tools, or about places.

    Attributes:
        id: Short name.
        level: ``error``, ``warning`` or ``note``.
        message: What is so.
        remedy: What to do about it.
    """

    id: str
    level: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.message} ({self.remedy})" if self.remedy else self.message
        return " ".join(text.split())


@dataclass(frozen=True)
class Report:
    """All of it.

    Attributes:
        neuralart: Version of this package.
        system: ``linux``, ``windows`` or ``mac``.
        project: The project file as named; empty without one.
        targets: What was asked for.
        rows: Tools, in the order of the table in docs/reference/doctor.md.
        remarks: Errors first.
    """

    neuralart: str
    system: str
    project: str
    targets: tuple[str, ...]
    rows: tuple[Row, ...]
    remarks: tuple[Remark, ...]

    @property
    def ok(self) -> bool:
        """Nothing is missing that was asked for."""
        return not any(row.blocks for row in self.rows)
