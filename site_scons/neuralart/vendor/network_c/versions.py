"""Releases of ST Edge AI Core and what they leave in their files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A release.

    Attributes:
        core: Its version.
        build: Number behind it.
        runtime: ll_aton version that its networks ask for.
        branches: Values of GIT_BRANCH seen with it.
        front_end: Version in the names of its exported models.
    """

    core: str
    build: str
    runtime: tuple[int, int, int, int]
    branches: tuple[str, ...]
    front_end: str


RELEASES = (
    Release("2.0.0", "20049", (1, 0, 0, 16), ("STAI-2.0",), "3_1_0"),
    Release("2.1.0", "20194", (1, 1, 0, 31), ("STAI-2.1",), "3_2_0"),
    Release("2.2.0", "20266", (1, 1, 1, 14), ("STAI-2.2",), "3_3_0"),
    Release("3.0.0", "20426", (1, 1, 3, 8), ("STAI-3.0",), "3_3_1"),
    Release("4.0.0", "20500", (1, 1, 3, 262), ("STAI-4.0",), "3_3_1"),
    Release("4.0.1", "20581", (1, 1, 3, 275), ("STAI-4.0",), "3_3_1"),
)


def of_runtime(runtime: tuple[int, int, int, int] | None) -> Release | None:
    """The release whose networks ask for that runtime; None if none is known."""
    return next((release for release in RELEASES if release.runtime == runtime), None)


def of_branch(branch: str) -> tuple[Release, ...]:
    """Releases that write that GIT_BRANCH."""
    return tuple(release for release in RELEASES if branch in release.branches)
