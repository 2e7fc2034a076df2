"""The lock files: all packages that are asked for, in versions that fit, with hashes and without an index."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from neuralart_insight.doctor.surroundings import EXTRAS, PACKAGES

REPO = Path(__file__).resolve().parents[2]
# What ./sconsw installs for a build, and for tests; the extra of pyproject.toml that each is made of.
BUILD, ALL = "requirements-build.lock", "requirements.lock"
FILES = {BUILD: "build", ALL: "test"}
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (("linux", "posix", "Linux"), ("win32", "nt", "Windows"), ("darwin", "posix", "Darwin"))


def text_of(file: str) -> str:
    return (REPO / file).read_text("utf-8")


def locked(file: str) -> list[tuple[Requirement, list[str]]]:
    """Each entry with its hashes."""
    lines = text_of(file).splitlines()
    logical = re.sub(r"\\\n", " ", "\n".join(line for line in lines if not line.startswith("#")))
    found = []
    for line in filter(None, map(str.strip, logical.splitlines())):
        head, *hashes = re.split(r"\s+--hash=", line)
        found.append((Requirement(head.strip()), hashes))
    return found


def wanted(extra: str) -> list[Requirement]:
    """What pyproject.toml asks for, extras of this project's own resolved."""
    project = PROJECT["project"]
    found = [Requirement(text) for text in project["dependencies"]]
    asked, seen = [extra], set()
    while asked:
        name = asked.pop()
        if name in seen:
            continue
        seen.add(name)
        for text in project["optional-dependencies"][name]:
            requirement = Requirement(text)
            if requirement.name == project["name"]:
                asked += requirement.extras
            else:
                found.append(requirement)
    return found


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS, ids=[each[0] for each in PLATFORMS])
def test_it_fits_what_is_asked_for(file: str, python: str, platform: tuple[str, str, str]) -> None:
    """Of each package exactly one version counts, and that one is in the range."""
    environment = {
        **default_environment(),
        **{"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform[0]},
        **{"os_name": platform[1], "platform_system": platform[2]},
    }
    versions: dict[str, list[str]] = {}
    for requirement, _ in locked(file):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            (pin,) = requirement.specifier
            versions.setdefault(canonicalize_name(requirement.name), []).append(pin.version)
    for requirement in wanted(FILES[file]):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert len(found) == 1 and requirement.specifier.contains(found[0]), f"{requirement}: {found}: lock again"
    assert not {name: found for name, found in versions.items() if len(found) > 1}


@pytest.mark.parametrize("file", FILES)
def test_what_those_need_in_turn_is_in_it_and_nothing_else(file: str) -> None:
    """As the packages say that are installed here, for this Python and this system."""
    pins = {
        canonicalize_name(each.name): next(iter(each.specifier)).version for each, _ in locked(file) if _counts(each)
    }
    todo = [*wanted(FILES[file]), *(Requirement(text) for text in PROJECT["build-system"]["requires"])]
    reached: set[tuple[str, str]] = set()
    while todo:
        needed = todo.pop()
        name = canonicalize_name(needed.name)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        assert name in pins and needed.specifier.contains(pins[name]), f"{needed}, locked: {pins.get(name)}: lock again"
        for extra in {"", *needed.extras}:
            if (name, extra) not in reached:
                reached.add((name, extra))
                todo += _needs(name, extra)
    assert {name for name, _ in reached} == pins.keys(), "lock again"


def _counts(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate()


def _needs(name: str, extra: str) -> list[Requirement]:
    """What an installed package needs, for one of its extras (empty: without)."""
    found = [Requirement(text) for text in metadata.distribution(name).requires or ()]
    chosen = [each for each in found if each.marker is None or each.marker.evaluate({"extra": extra})]
    for each in chosen:
        each.marker = None
    return chosen


@pytest.mark.parametrize("file", FILES)
def test_every_entry_is_one_version_with_hashes(file: str) -> None:
    entries = locked(file)
    assert len(entries) > 20
    for requirement, hashes in entries:
        assert [pin.operator for pin in requirement.specifier] == ["=="], requirement
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("file", FILES)
def test_it_names_no_place_to_get_packages_from(file: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted|@ ", text_of(file))


def test_what_a_build_has_is_not_installed_again_for_tests() -> None:
    everything = {(each.name, str(each.specifier)): hashes for each, hashes in locked(ALL)}
    for each, hashes in locked(BUILD):
        assert everything.get((each.name, str(each.specifier))) == hashes, f"{each}: lock again"


def test_a_build_is_light() -> None:
    names = {canonicalize_name(each.name) for each, _ in locked(BUILD)}
    assert not names & {"mypy", "ruff", "ai-edge-litert", "hypothesis", "pytest", "numpy", "cmake", "pillow"}
    assert {"scons", "unicorn", "rich"} <= names


@pytest.mark.parametrize("file", FILES)
def test_its_size_is_said(file: str) -> None:
    """``./sconsw`` prints the number in the third line. What is installed here may be that of another system."""
    (said,) = re.findall(r"\A#.*\n#.*\n# About (\d+) MB installed\.$", text_of(file), re.M)
    names = {canonicalize_name(each.name) for each, _ in locked(file) if _counts(each)}
    size = sum(each.size or 0 for name in names for each in metadata.distribution(name).files or ()) / 1e6
    assert 0.7 * size < int(said) < 1.3 * size, f"say about {size:.0f} MB"


@pytest.mark.parametrize("file", FILES)
def test_what_builds_the_project_is_in_it(file: str) -> None:
    """``./sconsw`` installs the project without build isolation: nothing is fetched without its hash."""
    names = {canonicalize_name(requirement.name) for requirement, _ in locked(file)}
    for text in (*PROJECT["build-system"]["requires"], "editables"):
        assert canonicalize_name(Requirement(text).name) in names


def test_doctor_asks_for_what_the_project_asks_for() -> None:
    asked = {canonicalize_name(each.name): each.specifier for each in wanted("emulator")}
    for name, range_ in {**PACKAGES, **EXTRAS}.items():
        assert asked[canonicalize_name(name)] == Requirement(f"{name}{range_}").specifier
