"""A command runs again when the code in it changes, and only then. Tried on a small package in another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart import fingerprint as module
from neuralart.compilers.command_line import ADOPTED, AUTO, COMPILERS, RECORDED, REFERENCE, STEDGEAI, rooms_of
from neuralart.resources import PACKAGE

FILES = {
    "__init__.py": "",
    "cli.py": "from neuralart.room import entry\n",
    "errors.py": "class E(Exception): ...\n",
    "room/__init__.py": "",
    "room/entry.py": (
        "from __future__ import annotations\n"
        "from neuralart.errors import E\n"
        "from neuralart.other import (\n    first,\n    second,\n)\n"
        "def f():\n    from neuralart.lazy import g\n    return g\n"
    ),
    "room/table.json": "{}\n",
    "other/__init__.py": "",
    "other/first.py": "import neuralart.deep.leaf\n",
    "other/second.py": "from neuralart.other import first as again  # a comment, third\n",
    "other/third.py": "",
    "lazy.py": "g = 1\n",
    "deep/__init__.py": "",
    "deep/leaf.py": "import json\n",
    "unrelated/__init__.py": "",
    "unrelated/x.py": "from neuralart.room import entry\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of that name; what the module remembers is forgotten."""
    root = tmp_path / "neuralart"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    monkeypatch.setattr(module, "PACKAGE", root)
    return root


def _forget() -> None:
    for function in (module._look, module._modules):
        function.cache_clear()
    module.known.clear()


@pytest.fixture(autouse=True)
def _clean_caches() -> object:
    _forget()
    yield
    _forget()


def _after(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + text, "utf-8")
    _forget()


@pytest.mark.parametrize(
    "changed",
    [
        "room/entry.py",
        "room/table.json",
        "room/__init__.py",
        "errors.py",
        "other/first.py",
        "other/second.py",
        "deep/leaf.py",
        "lazy.py",
    ],
)
def test_a_change_of_what_is_used_counts(package: Path, changed: str) -> None:
    before = module.fingerprint("room")
    _after(package / changed, "\n")
    assert module.fingerprint("room") != before


@pytest.mark.parametrize("changed", ["other/third.py", "unrelated/x.py", "cli.py", "__init__.py"])
def test_a_change_of_anything_else_does_not(package: Path, changed: str) -> None:
    before = module.fingerprint("room")
    _after(package / changed, "\n# changed\n")
    assert module.fingerprint("room") == before


def test_a_new_file_of_the_room_counts(package: Path) -> None:
    before = module.fingerprint("room")
    _after(package / "other" / "third.py", "x = 1\n")
    assert module.fingerprint("room") == before
    (package / "room" / "new.yaml").write_text("", "utf-8")
    _forget()
    assert module.fingerprint("room") != before


def test_bytecode_does_not_count(package: Path) -> None:
    before = module.fingerprint("room")
    (package / "room" / "__pycache__").mkdir()
    (package / "room" / "__pycache__" / "entry.cpython-311.pyc").write_bytes(b"\0")
    _forget()
    assert module.fingerprint("room") == before


def test_a_file_alone_can_be_asked_for(package: Path) -> None:
    assert [path.relative_to(package).as_posix() for path in module.closure(("other/second.py",))] == [
        "deep/leaf.py",
        "other/__init__.py",
        "other/first.py",
        "other/second.py",
    ]


def test_the_place_of_the_package_does_not_count(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = module.fingerprint("room")
    moved = tmp_path / "elsewhere" / "neuralart"
    moved.parent.mkdir()
    package.rename(moved)
    monkeypatch.setattr(module, "PACKAGE", moved)
    _forget()
    assert module.fingerprint("room") == before


def test_it_is_16_hex_digits_and_differs_by_room(package: Path) -> None:
    one, other = module.fingerprint("room"), module.fingerprint("unrelated")
    assert one != other
    assert len(one) == 16 and int(one, 16) >= 0


@pytest.mark.parametrize(
    ("room", "inside", "outside"),
    [
        (
            "neuralart_reference",
            {"errors.py", "neuralart_reference/model/graph.py", "network/pools.py"},
            {"scons/tool.py", "summary.py"},
        ),
        ("text/ihex.py", {"text/ihex.py", "errors.py"}, {"memory/startup/startup.py", "files.py"}),
        ("memory/startup/startup.py", {"memory/regions.py", "boards/types.py", "network/facts.py"}, {"text/ihex.py"}),
        ("summary.py", {"network/facts.py"}, {"scons/variant.py", "memory/regions.py"}),
    ],
)
def test_rooms_of_the_real_package(room: str, inside: set[str], outside: set[str]) -> None:
    names = {module._name(str(path)) for path in module.closure((room,))}
    assert inside <= names
    assert not outside & names


def _copy(folder: Path) -> Path:
    """The code of the real packages in another folder."""
    for path in PACKAGE.parent.rglob("*.py"):
        place = folder / path.relative_to(PACKAGE.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())
    return folder / PACKAGE.name


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ("compilers/stedgeai/install.py", {STEDGEAI, RECORDED, ADOPTED, AUTO}),
        ("compilers/recorded.py", {RECORDED, AUTO}),
        ("compilers/adopted.py", {ADOPTED, AUTO}),
        ("neuralart_reference/lower.py", {REFERENCE, AUTO}),
        ("neuralart_reference/operators/gelu.py", {REFERENCE, AUTO}),
        ("neuralart_reference/cpu/compile.py", {REFERENCE, AUTO}),
        ("compilers/command_line.py", {REFERENCE, STEDGEAI, RECORDED, ADOPTED, AUTO}),
        ("neuralart_reference/model/tflite.py", {REFERENCE, AUTO}),
        ("compilers/cli.py", set()),
        ("neuralart_insight/lint/types.py", set()),
    ],
)
def test_a_compile_depends_on_the_code_of_its_compiler_only(
    changed: str, kinds: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACKAGE", _copy(tmp_path))
    _forget()
    before = {kind: module.fingerprint(*rooms_of(kind)) for kind in COMPILERS}
    package = tmp_path if changed.startswith("neuralart_") else tmp_path / "neuralart"
    _after(package / changed, "# a comment\n")
    assert {kind for kind in COMPILERS if module.fingerprint(*rooms_of(kind)) != before[kind]} == kinds
