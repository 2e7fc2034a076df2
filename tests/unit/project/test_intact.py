"""What stamps compare: files, the ways that lead to them, names in folders, variables that something reads."""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import subprocess
import sys
from binascii import crc32
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralart import intact
from neuralart.resources import PACKAGE
from support.projects.packages import MODULES, dotted


def _set_back(path: Path, state: os.stat_result) -> None:
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def _rewritten(path: Path) -> None:
    path.write_text("int b;", "utf-8")


def _renamed_over(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("int b;", "utf-8")
    _set_back(other, path.stat())
    other.rename(path)


@pytest.mark.parametrize("change", [_rewritten, _renamed_over])
@pytest.mark.parametrize("at", [0, 315_532_800, 1_577_836_800])  # 1970, 1980, 2020
def test_equal_size_and_time_are_not_equal_files(tmp_path: Path, change: Callable[[Path], None], at: int) -> None:
    path = tmp_path / "a.c"
    path.write_text("int a;", "utf-8")
    os.utime(path, (at, at))
    before, state = intact.state(str(path)), path.stat()
    assert intact.state(str(path)) == before
    change(path)
    _set_back(path, state)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert intact.state(str(path)) != before


def test_a_file_that_comes_or_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    assert intact.state(str(path)) == intact.way(str(path)) == intact.names_in(str(path)) == 0
    path.touch()
    assert intact.state(str(path)) and intact.way(str(path))
    assert intact.state("\0") == intact.way("\0") == 0


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``top.c -> middle.c -> real/a.c``, and ``folder -> real``; ``same`` has the same files by other names."""
    monkeypatch.chdir(tmp_path)
    for name in ("real", "same"):
        Path(name).mkdir()
    Path("real/a.c").touch()
    os.link("real/a.c", "same/a.c")
    Path("middle.c").symlink_to("real/a.c")
    Path("top.c").symlink_to("middle.c")
    Path("folder").symlink_to("real")
    return tmp_path


@pytest.mark.parametrize(("link", "target"), [("top.c", "same/a.c"), ("middle.c", "same/a.c"), ("folder", "same")])
def test_a_link_that_leads_elsewhere(linked: Path, link: str, target: str) -> None:
    """Though there is the same file by another name."""
    file, way = intact.state("top.c"), intact.way(link)
    assert intact.way(link) == way
    Path(link).unlink()
    Path(link).symlink_to(target)
    assert intact.state("top.c") == file and intact.way(link) != way


def test_a_folder_takes_the_place_of_its_link(linked: Path) -> None:
    way = intact.way("folder")
    Path("folder").unlink()
    Path("real").rename("folder")
    assert intact.way("folder") not in (way, 0)


def test_what_is_in_a_folder_is_no_matter_of_the_way(tmp_path: Path) -> None:
    before = intact.way(str(tmp_path))
    (tmp_path / "new").touch()
    assert intact.way(str(tmp_path)) == before


@pytest.mark.parametrize("name", ["zz.h", ".hidden.h", "build", "deep/x.h"])
def test_names_that_count(tmp_path: Path, name: str) -> None:
    before, state = intact.names_in(str(tmp_path)), tmp_path.stat()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    _set_back(tmp_path, state)  # as programs do that copy, or unpack
    folder = [1, intact.way(str(tmp_path)), before]
    assert _changed(tmp_path, folder) == f"folder {tmp_path}: files came or went"
    shutil.rmtree(tmp_path)
    assert _changed(tmp_path, folder) == f"{tmp_path} is gone"
    tmp_path.mkdir()
    assert _changed(tmp_path, [0, 0, 0]) == f"{tmp_path} is new"
    assert _changed(tmp_path, [1, 1, before]) == f"{tmp_path} leads elsewhere"


def _changed(path: Path, folder: list[int]) -> str:
    """What is said of a folder with this state, way and names."""
    return ", ".join(intact.changed([{"at": str(path), "files": {}, "folder": folder}]))


@pytest.mark.parametrize("name", sorted(intact.OURS))
def test_names_that_count_nowhere(tmp_path: Path, name: str) -> None:
    before = intact.names_in(str(tmp_path))
    (tmp_path / name).touch()
    assert intact.names_in(str(tmp_path)) == before


def test_an_empty_folder_is_not_none(tmp_path: Path) -> None:
    assert intact.names_in(str(tmp_path)) != 0


# ---- variables of the environment

# What else is read, and decides nothing that is built.
SHOWN = {
    *("NO_COLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS"),  # how it is shown
    *("CROSS_COMPILE",),  # by `neuralart relocatable build`
    *("GRPC_VERBOSITY",),  # set for a library
    "STM32_CUBE_IDE_DIR",  # by a flash runner
}


def _names_read() -> Iterator[tuple[str, str]]:
    """Variables that code of this package reads, and where."""
    for path in MODULES:
        module, text = dotted(path), path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "environ" in text else ():
            key: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                if node.func.attr in ("get", "setdefault", "pop") and ast.unparse(node.func.value).endswith("environ"):
                    key = node.args[0]
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
                key = node.slice
            elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("environ"):
                key = node.left
            if key is not None:
                yield from ((name, f"{path.name}:{node.lineno}") for name in _values(key, module))


def _values(key: ast.expr, module: str) -> Iterator[str]:
    if isinstance(key, ast.Constant):
        yield str(key.value)
    elif isinstance(key, ast.IfExp):
        yield from (*_values(key.body, module), *_values(key.orelse, module))
    elif isinstance(key, ast.NamedExpr):
        yield from _values(key.value, module)
    elif isinstance(key, ast.Attribute) and ast.unparse(key) == "kind.VARIABLE":
        yield "NEURALART_CACHE"
    elif isinstance(key, ast.JoinedStr):
        assert ast.unparse(key) == "f'{config.VARIABLE}_TOKEN'"
        yield "NEURALART_CACHE_TOKEN"
    else:
        assert isinstance(key, (ast.Name, ast.Attribute)), ast.unparse(key)
        value: Any = getattr(importlib.import_module(module), ast.unparse(key).rpartition(".")[2], None)
        # A variable of a loop: those of child_environment are in the list by test_what_commands_get_counts.
        yield from (value,) if isinstance(value, str) else ()


def test_all_variables_that_are_read_count() -> None:
    seen = dict(_names_read())
    assert {"PATH", "HOME", "STEDGEAI_CORE_DIR", "NEURALART_TOOLCHAIN", "NEURALART_CACHE"} <= seen.keys()
    others = {name: place for name, place in seen.items() if name not in intact.environment(dict.fromkeys(seen, ""))}
    assert others.keys() - SHOWN - {"SCONSFLAGS"} == set(), others  # whose words count


def test_what_commands_get_counts() -> None:
    registry = pytest.importorskip("neuralart.scons.registry")
    assert {name for name in registry._PASSED_ON if not name.startswith(intact.PREFIXES)} <= intact.VARIABLES


@pytest.mark.parametrize("name", ["GITHUB_RUN_ID", "CI_COMMIT_SHA", "SSH_TTY", "PWD", "SHLVL", "FLAVOR", "LS_COLORS"])
def test_what_nothing_reads_does_not_count(name: str) -> None:
    """A description reads no variable: that is what makes it one."""
    assert intact.environment({name: "1"}) == intact.environment({})


@pytest.mark.parametrize("name", ["PATH", "HOME", "PYTHONPATH", "PYTHONWARNINGS", "NEURALART_NEW", "SCONS_X"])
def test_what_something_reads_counts(name: str) -> None:
    assert intact.environment({name: "1"}) != intact.environment({name: "2"})
    assert len(intact.environment({name: ""})) == 2


def test_nothing_heavy_is_loaded() -> None:
    code = f"import sys; sys.path.insert(0, {str(PACKAGE)!r}); import intact; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"os", "json", "pathlib", "re", "typing", "hashlib", "subprocess", "zlib"} & {*done.stdout.split()}
    assert len(done.stdout.split()) < 30


def test_each_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any number of variants, and a folder's names are not read as long as it is as it was."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("a", "b", "folder/c"):
        Path(name).touch()
    folder = [intact.state("folder"), intact.way("folder"), intact.names_in("folder")]
    groups: list[list[dict[str, object]]] = [[{"at": ".", "files": {name: intact.state(name)}}] for name in ("a", "b")]
    groups.append([{"at": "folder", "files": {"c": intact.state("folder/c")}, "folder": folder}])
    world = {"words": [], "default": ["one"], "environ": intact.environment(os.environ), "groups": [2]}
    variant = {"world": "w", "groups": [0, 1]}
    data = {"format": intact.FORMAT, "remembered": [], "worlds": {"w": world}}
    data |= {"groups": groups, "variants": {"one": variant, "two": variant}}
    (tmp_path / intact.NAME).write_text(intact.with_checksum(json.dumps(data)), "utf-8")
    asked: list[str] = []

    def counted(path: str) -> os.stat_result:
        asked.append(path)
        return os.lstat(path)

    monkeypatch.setattr(os, "stat", counted)
    monkeypatch.setattr(os, "listdir", asked.append)
    assert intact.answer(".", ["one", "two"]) == ["one", "two"]
    assert sorted(asked) == ["a", "b", "folder", "folder/c"]


# ---- stamps that are damaged


@pytest.mark.parametrize(
    "damage",
    [
        *("", "[]", "{}", "[" * 9999, "\ud800", "null", '{"format": 8}', '{"format": 8, "variants": 5}'),
        *('{"format": 8, "variants": {"a": {"world": "w", "groups": ["g"]}}, "worlds": {}, "groups": {}}',),
        *('{"format": 8, "variants": {"a": {"world": {}, "groups": [1]}}, "worlds": {}, "groups": [[]]}',),
        *('{"format": 8, "variants": {"a": 1}, "worlds": [1], "groups": [[]]}', '{"format": 7}'),
    ],
)
def test_damaged_stamps_answer_nothing(tmp_path: Path, damage: str) -> None:
    data = damage.encode("utf-8", "surrogatepass")
    for checked in (data, b"%d %b" % (1 + crc32(data), data)):
        (tmp_path / intact.NAME).write_bytes(checked)
        assert not intact.say(str(tmp_path), ["a"])


def test_a_flipped_bit_of_stamps_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the number of a group it would let another variant's files answer."""
    monkeypatch.chdir(tmp_path)
    world = {"words": [], "default": ["a"], "environ": intact.environment(os.environ), "groups": []}
    data = {"format": intact.FORMAT, "remembered": [], "worlds": {"w": world}, "groups": [[], []]}
    text = intact.with_checksum(json.dumps({**data, "variants": {"a": {"world": "w", "groups": [1]}}})).encode()
    path = Path(intact.NAME)
    for bit in range(8 * len(text)):
        damaged = bytearray(text)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert intact.load(intact.NAME) is None, bit
    path.write_bytes(text)
    assert intact.answer(".", []) == ["a"]
    world = {"words": [], "default": [], "environ": intact.environment(os.environ), "groups": []}
    good: dict[str, object] = {"at": ".", "files": {}}
    data = {"format": intact.FORMAT, "remembered": [good], "worlds": {"w": world}}
    data |= {"variants": {"a": {"world": "w", "groups": [0]}}}
    wrong: tuple[Any, ...] = ({}, [], None, 7, {**good, "files": [1 << 40]}, {**good, "folder": [0]}, {"files": {}})
    for place in (good, *wrong, {**good, "folder": 7}, {**good, "way": "x"}):
        for group in ([place], {"p": place}):
            text = json.dumps({**data, "groups": [group]})
            (tmp_path / intact.NAME).write_text(intact.with_checksum(text), "utf-8")
            right = place is good and isinstance(group, list)
            assert intact.answer(str(tmp_path), ["a"]) == (["a"] if right else []), group
