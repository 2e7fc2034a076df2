"""The lock files, read: what each pins, on which systems, with which hashes."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPO = Path(__file__).resolve().parents[3]
# What ./sconsw installs for a build, for the fast tests and for all tests. Each has all of the ones before it.
BUILD, FAST, ALL = "requirements-build.lock", "requirements-test.lock", "requirements.lock"
# The extra of pyproject.toml that each is made of.
EXTRAS = {BUILD: "build", FAST: "test", ALL: "test-all"}


def text_of(file: str) -> str:
    return (REPO / file).read_text("utf-8")


@functools.cache
def locked(file: str) -> list[tuple[Requirement, list[str]]]:
    """Each entry with its hashes."""
    lines = text_of(file).splitlines()
    logical = re.sub(r"\\\n", " ", "\n".join(line for line in lines if not line.startswith("#")))
    entries = []
    for line in filter(None, map(str.strip, logical.splitlines())):
        head, *hashes = re.split(r"\s+--hash=", line)
        entries.append((Requirement(head.strip()), hashes))
    return entries


def counts(requirement: Requirement, environment: Mapping[str, str] | None = None) -> bool:
    """Whether an entry is for such a system; without ``environment``, for this one."""
    return requirement.marker is None or requirement.marker.evaluate(dict(environment or {}))


def version_of(entry: Requirement) -> str:
    (pin,) = entry.specifier
    return pin.version


def pins(file: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The version of each package that counts there."""
    return {canonicalize_name(each.name): version_of(each) for each, _ in locked(file) if counts(each, environment)}


def not_installed(file: str) -> list[str]:
    """What this environment does not have as the file has it."""
    lacking = []
    for name, version in pins(file).items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            lacking.append(f"{name} {version} is not installed")
            continue
        if installed != version:
            lacking.append(f"{name} is {installed}, not {version}")
    return lacking
