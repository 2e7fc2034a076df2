"""What the doctor says, as data."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.vendor.tools import Remark, ToolRow


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
