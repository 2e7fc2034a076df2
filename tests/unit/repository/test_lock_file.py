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

from neuralart_insight.doctor.python_environment import EXTRAS, PACKAGES
from support.projects.lock_files import ALL, BUILD, FAST, REPO, counts, locked, pins, text_of
from support.projects.lock_files import EXTRAS as FILES

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (("linux", "posix", "Linux"), ("win32", "nt", "Windows"), ("darwin", "posix", "Darwin"))


def environment_of(python: str, platform: tuple[str, str, str] = PLATFORMS[0]) -> dict[str, str]:
    """As markers see a system."""
    return {
        **{key: str(value) for key, value in default_environment().items()},
        **{"python_version": python, "python_full_version": f"{python}.9", "sys_platform": platform[0]},
        **{"os_name": platform[1], "platform_system": platform[2], "implementation_name": "cpython"},
        "platform_python_implementation": "CPython",
    }


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
    environment = environment_of(python, platform)
    versions: dict[str, list[str]] = {}
    for requirement, _ in locked(file):
        if counts(requirement, environment):
            (pin,) = requirement.specifier
            versions.setdefault(canonicalize_name(requirement.name), []).append(pin.version)
    for requirement in wanted(FILES[file]):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert len(found) == 1 and requirement.specifier.contains(found[0]), f"{requirement}: {found}: lock again"
    assert not {name: found for name, found in versions.items() if len(found) > 1}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("python", PYTHONS)
def test_what_those_need_in_turn_is_in_it_and_nothing_else(file: str, python: str) -> None:
    """pip looks for no dependencies: all that any package asks for on Linux, also for an extra, is an entry that fits.

    What a package asks for is what it says where it is installed, which is for this Python.
    """
    environment = environment_of(python)
    versions = pins(file, environment)
    todo = [*wanted(FILES[file]), *(Requirement(text) for text in PROJECT["build-system"]["requires"])]
    reached: set[tuple[str, str]] = set()
    unknown: set[str] = set()
    while todo:
        needed = todo.pop()
        name = canonicalize_name(needed.name)
        assert name in versions and needed.specifier.contains(versions[name]), (
            f"{needed}, locked: {versions.get(name)}: lock again"
        )
        for extra in {"", *needed.extras} - {known for package, known in reached if package == name}:
            reached.add((name, extra))
            needs = requirements_of(name, versions[name])
            if needs is None:
                unknown.add(f"{name} {versions[name]}")
            for each in needs or ():
                if counts(each, {**environment, "extra": extra}):
                    todo.append(each)
    names = {name for name, _ in reached}
    assert names <= versions.keys()
    if unknown:
        pytest.skip(f"what these need is not known, for they are not installed: {', '.join(sorted(unknown))}")
    assert names == versions.keys(), "lock again"


def requirements_of(name: str, version: str) -> list[Requirement] | None:
    """What a package asks for, with its markers; none where this very version is not installed."""
    try:
        package = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    return [Requirement(text) for text in package.requires or ()] if package.version == version else None


@pytest.mark.parametrize("file", FILES)
def test_every_entry_is_one_version_with_hashes(file: str) -> None:
    entries = locked(file)
    assert len(entries) > 20
    for requirement, hashes in entries:
        assert [pin.operator for pin in requirement.specifier] == ["=="], requirement
        assert not requirement.extras, f"{requirement}: its packages are entries themselves"
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


@pytest.mark.parametrize("file", FILES)
def test_it_names_no_place_to_get_packages_from(file: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links|--trusted|@ ", text_of(file))


@pytest.mark.parametrize(("less", "more"), [(BUILD, FAST), (FAST, ALL)])
def test_what_is_there_for_less_is_not_installed_again_for_more(less: str, more: str) -> None:
    everything = {(each.name, str(each.specifier)): hashes for each, hashes in locked(more)}
    for each, hashes in locked(less):
        assert everything.get((each.name, str(each.specifier))) == hashes, f"{each}: lock again"


def test_a_build_is_light() -> None:
    names = {canonicalize_name(each.name) for each, _ in locked(BUILD)}
    assert not names & {"mypy", "ruff", "ai-edge-litert", "hypothesis", "pytest", "numpy", "cmake", "pillow"}
    assert {"scons", "unicorn", "rich"} <= names


def test_the_fast_tests_need_no_oracle() -> None:
    names = {canonicalize_name(each.name) for each, _ in locked(FAST)}
    assert not names & {"mypy", "ruff", "ai-edge-litert", "onnx", "onnxruntime", "bokeh", "mkdocs", "cmake", "pillow"}
    assert {"pytest", "pytest-xdist", "hypothesis", "numpy"} <= names


@pytest.mark.parametrize("file", FILES)
def test_its_size_is_said(file: str) -> None:
    """``./sconsw`` prints the number in the third line: what lies on the disk then, with what Python compiles."""
    (said,) = re.findall(r"\A#.*\n#.*\n# About (\d+) MB installed\.$", text_of(file), re.M)
    if lacking := [name for name, version in pins(file).items() if requirements_of(name, version) is None]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    paths = [each.locate() for name in pins(file) for each in metadata.distribution(name).files or ()]
    size = sum(path.stat().st_blocks * 512 for path in map(Path, map(str, paths)) if path.is_file()) / 1e6
    assert 0.7 * size < int(said) < 1.3 * size, f"say about {size:.0f} MB"
    # With pip and setuptools, 25 MB, the environment of the fast tests is below 250 MB.
    assert file != FAST or int(said) + 25 < 250, "move something from the extra test to test-all"


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


def test_each_extra_for_users_is_installed_and_used() -> None:
    """``.ci/installed`` names them; the others are for those who work on this project."""
    names = re.findall(r"^([a-z]+)\|.+\|.+$", (REPO / ".ci/installed").read_text("utf-8"), re.M)
    ours = {"build", "models", "oracle", "docs", "test", "lint", "test-all", "audit"}
    assert sorted(names) == sorted(set(PROJECT["project"]["optional-dependencies"]) - ours)
