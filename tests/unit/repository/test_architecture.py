"""The packages and their rooms: who may import whom, what starts fast, how large a file may be."""

from __future__ import annotations

import ast
import fnmatch
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from neuralart import cli
from neuralart.resources import PACKAGE
from support.projects.packages import MODULES
from support.projects.packages import dotted as _dotted
from support.projects.packages import name_of as _name

CORE_MODULES = [path for path in MODULES if path.is_relative_to(PACKAGE)]
# The core, from the ground up. A room imports itself and rooms of floors below; rooms of one floor do not know each
# other.
FLOORS = (
    {"command", "errors", "intact", "jsontext", "quick", "resources"},
    {"files", "findings", "fingerprint", "project_folder"},
    {"build", "text", "plugins", "products", "outputs"},
    {"own_commands", "network", "config"},
    {"vendor", "boards", "toolchain"},
    {"budgets", "memory", "flashing"},
    {"app_config", "compilers", "relocatable"},
    {"summary"},
    {"applications"},
    {"cli"},
    {"__main__", "scons"},
)
# The packages, from the ground up; on one floor, packages do not know each other.
PACKAGES = (
    {"neuralart"},
    {"neuralart_board", "neuralart_fleet", "neuralart_reference"},
    {"neuralart_bring"},
    {"neuralart_virtual"},
    {"neuralart_insight"},
)
PACKAGE_FLOOR = {package: number for number, packages in enumerate(PACKAGES) for package in packages}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
EXTRAS = {
    "numpy",
    "onnx",
    "rich",
    "unicorn",
    "tflite",
    "flatbuffers",
    "ai_edge_litert",
    "cyclonedx",
    "packageurl",
    "shtab",
    "bokeh",
    "squarify",
    "watchfiles",
    "grpc",
    "zstandard",
}
CORE = {"SCons", "yaml", "jinja2", "elftools", "packaging", "filelock"}
SLOW = {*CORE, *EXTRAS}
LARGEST = 400
MOST_FILES = 24
# One file per operator, or per expected header: these folders hold a row of equals, whose order is their names.
ROWS = {"neuralart_reference/operators", "tests/golden/app_config"}
# Classes that share a name with another one, and why. At most ten.
SAME_NAME: dict[str, str] = {}
# Texts of the code that name a board, and why.
NAMES_BOARDS = {
    "own_commands.py": "examples of calls",
    "neuralart_board/commands.py": "examples of calls",
    "neuralart_bring/commands.py": "examples of calls",
    "neuralart_virtual/commands.py": "examples of calls",
    "neuralart_bring/adopt/entries.py": "what trees call the boards besides their names",
    "config/read.py": "an example in a hint",
    "memory/layout/relative_pools.py": "an example in a hint",
    "neuralart_virtual/loading/load_cli.py": "the board that ST's script takes unless told otherwise",
    "neuralart_virtual/npu_cli.py": "the board whose memories a relocatable model gets unless told otherwise",
    "neuralart_bring/model_zoo/sections.py": "the board that a family of the model zoo means",
    "network/targets.py": "targets, and whose stock profile a target has",
    "compilers/options.py": "targets",
    "neuralart_virtual/vectors/expected.py": "where outputs are computed unless the user names a board",
    "neuralart_virtual/vectors/vectors_cli.py": "the help says which that is",
}
# Calls that only some systems have, and what is done on the others.
ELSEWHERE = {
    "scons/fork_server.py:os.fork": "each compile starts Python",
    "intact.py:posix": "where there is none, os is loaded instead",
}
# Names at the top of a module that nothing in the package uses, and why they are there.
UNUSED = {
    "__init__.py:generate": "SCons calls it: the package is a tool",
    "__init__.py:exists": "SCons calls it: the package is a tool",
    "neuralart_bring/modm/__init__.py:add": "a tool that lbuild writes calls it",
    "neuralart_bring/platformio.py:add": "scripts of PlatformIO projects call it",
    "neuralart_bring/rt_thread.py:network": "SConscripts of RT-Thread projects call it",
    "neuralart_bring/scons/__init__.py:METHODS": "variants ask the plugin for it: scons/application/patches.py",
    "neuralart_reference/kinds.py:KINDS": "the kinds of plugins ask for it: neuralart.plugins.kinds()",
    "neuralart_insight/kinds.py:KINDS": "the kinds of plugins ask for it: neuralart.plugins.kinds()",
}


def _package(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).parts[0]


def _room(path: Path) -> str:
    """The room of a module of the core."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py") if path.is_relative_to(PACKAGE) else ""


def _long_room(path: Path) -> str:
    """The room, with the package in front of it where that is not the core."""
    return _room(path) if path.is_relative_to(PACKAGE) else "/".join(path.relative_to(PACKAGE.parent).parts[:2])


@dataclass(frozen=True)
class Import:
    """An import of a module."""

    name: str  # Dotted
    inside: bool  # In a function
    typing: bool  # For type checkers alone


@dataclass(frozen=True)
class Source:
    """What the rules look at, of one module."""

    lines: int
    imports: tuple[Import, ...]
    classes: tuple[str, ...]
    attributes: frozenset[str]  # ``name.attribute``, wherever it stands


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(path)))


@cache
def _source(path: Path) -> Source:
    classes, attributes = [], set()
    for node in _nodes(path):
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                attributes.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.ClassDef):
            classes.append(node.name)
        else:
            assert not (isinstance(node, ast.ImportFrom) and node.level), f"{_name(path)}: a relative import"
    imports = tuple(_found_imports(_tree(path).body, inside=False, typing=False))
    return Source(len(path.read_text("utf-8").splitlines()), imports, tuple(classes), frozenset(attributes))


def _found_imports(body: Sequence[ast.AST], *, inside: bool, typing: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, inside, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (Import(f"{node.module}.{alias.name}", inside, typing) for alias in node.names)
        elif isinstance(node, ast.If):
            alone = typing or (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
            yield from _found_imports(node.body, inside=inside, typing=alone)
            yield from _found_imports(node.orelse, inside=inside, typing=typing)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            within = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _found_imports([*ast.iter_child_nodes(node)], inside=within, typing=typing)


def _broken(rule: Callable[[Path], str]) -> list[str]:
    """Modules that break a rule, which is a text for those: all of them at once, not a test each."""
    return [f"{_name(path)}: {said}" for path in MODULES if (said := rule(path))]


def _ours(path: Path) -> set[str]:
    """Rooms that a module imports."""
    names = (each.name for each in _source(path).imports)
    rooms = {name.split(".")[1] for name in names if name.startswith("neuralart.")}
    return rooms - {"__version__", "generate"}


def test_every_room_has_its_floor() -> None:
    rooms = {_room(path) for path in CORE_MODULES} - {"__init__"}
    assert rooms == set(FLOOR), "put a new room on its floor (FLOORS)"


def test_every_tier_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """pytest leaves out folders called build unless it is told otherwise."""
    patterns = pytestconfig.getini("norecursedirs")
    tests = PACKAGE.parents[1] / "tests"
    tiers = sorted({part for path in tests.rglob("test_*.py") for part in path.relative_to(tests).parts[:-1]})
    assert {"build", "emulated", "graph", "unit"} <= set(tiers)
    assert [(tier, p) for tier in tiers for p in patterns if fnmatch.fnmatch(tier, p)] == []


def test_packages_know_only_those_below() -> None:
    """The core imports none of the others, not even in a function: it works alone."""

    def wrong(path: Path) -> str:
        mine = _package(path)
        others = {each.name.split(".")[0] for each in _source(path).imports} & PACKAGE_FLOOR.keys() - {mine}
        return ", ".join(sorted(other for other in others if PACKAGE_FLOOR[other] >= PACKAGE_FLOOR[mine]))

    assert {_package(path) for path in MODULES} == PACKAGE_FLOOR.keys(), "put a new package on its floor (PACKAGES)"
    assert _broken(wrong) == []


def test_direction_of_imports() -> None:
    def wrong(path: Path) -> str:
        if not path.is_relative_to(PACKAGE):
            return ""
        room = _room(path)
        return ", ".join(sorted(other for other in _ours(path) - {room} if FLOOR[other] >= FLOOR[room]))

    assert _broken(lambda path: wrong(path) if _room(path) != "__init__" else "") == []


@cache
def _graph() -> dict[str, set[str]]:
    """Which module imports which, inside functions too; imports for type checkers alone do not count."""
    known = {_dotted(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        found = set()
        for each in _source(path).imports:
            if not each.typing:
                found |= {each.name if each.name in known else each.name.rpartition(".")[0]} & known
        # The package itself holds the version; its tool is loaded by SCons alone.
        graph[_dotted(path)] = found - {_dotted(path), PACKAGE.name}
    return graph


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes each of which leads to every other of its group."""
    left = {node: set(after) for node, after in graph.items()}
    # What leads nowhere, or what nothing leads to, is in no circle.
    while True:
        ends = {node for node, after in left.items() if not after & left.keys()}
        ends |= left.keys() - {other for after in left.values() for other in after}
        if not ends:
            break
        left = {node: after for node, after in left.items() if node not in ends}

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = (left[todo.pop()] & left.keys()) - seen
            seen |= new
            todo += new
        return seen

    behind = {node: reached(node) for node in left}
    groups = {tuple(sorted(other for other in behind[node] if node in behind[other])) for node in left}
    return sorted(list(group) for group in groups if group)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "x"}, "c": {"a"}, "x": {"y"}, "y": set(), "m": {"n", "a"}, "n": {"m"}, "z": {"z"}}
    assert _circles(graph) == [["a", "b", "c"], ["m", "n"], ["z"]]


def test_no_circle_of_imports_among_modules() -> None:
    """Also those inside functions: two modules that need each other are one."""
    assert _circles(_graph()) == []


SUBROOMS = sorted({path.parent for path in MODULES})


@pytest.mark.parametrize("folder", SUBROOMS, ids=_name)
def test_no_circle_of_imports_among_the_rooms_of_a_folder(folder: Path) -> None:
    """Rooms side by side, all that is in them included; a folder's own files may put its rooms together."""
    names = {_dotted(path): path for path in MODULES}
    rooms = {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}

    def room_of(name: str) -> str:
        path = names[name]
        inside = path.relative_to(folder).parts if path.is_relative_to(folder) else ("",)
        return inside[0] if inside[0] in rooms else ""

    graph: dict[str, set[str]] = {room: set() for room in rooms}
    for name, after in _graph().items():
        room = room_of(name)
        if room:
            graph[room] |= {other for other in map(room_of, after) if other not in ("", room)}
    assert _circles(graph) == []


def test_the_package_itself_imports_its_tool_only_when_asked() -> None:
    imports = _source(PACKAGE / "__init__.py").imports
    inside = [each.inside for each in imports if each.name.startswith("neuralart.")]
    assert inside and all(inside)


# Extras, and the rooms that may import them.
ALLOWED = {
    "text": {"rich"},
    "neuralart_bring/completion.py": {"shtab"},
    "neuralart_fleet/scons": {"watchfiles"},
    "neuralart_virtual/emulator": {"unicorn"},
    "neuralart_virtual/npu_cli.py": {"numpy"},
    "neuralart_insight/sbom": {"cyclonedx", "packageurl"},
    "neuralart_insight/report": {"bokeh", "squarify"},
    "neuralart_fleet/remote": {"grpc", "zstandard"},
}
# Folders that are loaded as a whole, in a function, where they are needed: extras stand at the top of their modules.
LOADED_LATE = {
    "neuralart_reference/onnx": {"onnx", "numpy"},
    **{f"neuralart_virtual/npu{room}": {"numpy"} for room in ("", "/description", "/software", "/units")},
}


def _foreign(path: Path, one: Import) -> bool:
    """An import that this module may not have."""
    top = one.name.split(".")[0]
    if top in PACKAGE_FLOOR or top in sys.stdlib_module_names:
        return False
    if top == "SCons":
        return path.relative_to(PACKAGE.parent).parts[1].removesuffix(".py") != "scons"
    if top in LOADED_LATE.get(_name(path.parent), ()):
        return False
    if top in EXTRAS:
        return not one.inside or top not in ALLOWED.get(_long_room(path), ())
    return top not in CORE


def test_imports_of_other_packages() -> None:
    """SCons only in the room ``scons`` of each package, extras only in functions of their rooms, nothing else that is
    not declared.
    """
    assert _broken(lambda path: " ".join(each.name for each in _source(path).imports if _foreign(path, each))) == []


def test_folders_that_are_loaded_late() -> None:
    late = tuple(folder.replace("/", ".") for folder in LOADED_LATE)
    outside = [path for path in MODULES if _name(path.parent) not in LOADED_LATE]
    found = [(path, each) for path in outside for each in _source(path).imports if each.name.startswith(late)]
    assert found and all(each.inside or each.typing for _, each in found), found


def test_size_of_a_module() -> None:
    """What is longer does more than one thing."""
    lengths = {_name(path): _source(path).lines for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LARGEST} == {}


def test_number_of_files_of_a_folder() -> None:
    """Files side by side hide their order: make rooms."""
    files = {_name(folder): len(list(folder.glob("*.py"))) for folder in SUBROOMS}
    tests = PACKAGE.parents[1] / "tests"
    folders = [folder for folder in (tests, *tests.rglob("*")) if folder.is_dir()]
    files |= {f"tests/{folder.relative_to(tests).as_posix()}": len(list(folder.glob("*.[pch]*"))) for folder in folders}
    assert {name: count for name, count in files.items() if count > MOST_FILES and name not in ROWS} == {}


def test_a_class_name_stands_for_one_class() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for name in _source(path).classes:
            found.setdefault(name, []).append(_name(path))
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert several.keys() == SAME_NAME.keys(), several
    assert len(SAME_NAME) <= 10


def _defined(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and constants of a module; what a decorator registers needs no other use."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any(ast.unparse(each).startswith(("operator(", "rule(")) for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name) and each.id != "__all__")


def _used(path: Path, me: str) -> Iterator[str]:
    """Dotted names that a module uses: its own, of other modules, and those that its tables name in texts."""
    alias = {}
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            alias |= {each.asname or each.name: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            alias |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            yield from (f"{node.module}.{each.name}" for each in node.names)
    for top in _tree(path).body:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != getattr(top, "name", ""):
                yield f"{me}.{node.id}"
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield f"{alias.get(node.value.id, '')}.{node.attr}"
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from (f"*.{name}" for name in re.findall(r"\w[.:](\w+)\Z", node.value))


def test_what_only_tests_use_is_gone() -> None:
    used = {name for path in MODULES for name in _used(path, _dotted(path))}
    commands = {plugin.made.module for plugin in cli.commands().values()}
    unused = set()
    for path in MODULES:
        module = _dotted(path)
        for name in _defined(_tree(path)):
            called = module in commands and name.startswith(("run", "configure"))
            called |= name == "add_to"  # of each builder's module
            if not called and not {f"{module}.{name}", f"*.{name}"} & used and not name.startswith("__"):
                unused.add(f"{_name(path)}:{name}")
    assert unused == set(UNUSED)


def test_no_calls_that_only_some_systems_have() -> None:
    posix = {"fcntl", "pwd", "grp", "termios", "resource", "pty", "posix"}
    calls = {f"os.{name}" for name in ("fork", "getuid", "geteuid", "chown", "mkfifo", "killpg", "setsid", "uname")}

    def wrong(path: Path) -> str:
        source = _source(path)
        found = {each.name for each in source.imports} & posix | source.attributes & calls
        return " ".join(sorted(each for each in found if f"{_name(path)}:{each}" not in ELSEWHERE))

    assert _broken(wrong) == []


def test_no_code_asks_for_the_name_of_a_board() -> None:
    """What other code must know of a board is a key of its file."""
    boards = [path.stem for path in (PACKAGE / "boards" / "data").glob("*.yaml")]
    found: dict[str, set[str]] = {}
    for path in MODULES:
        owners = [node for node in _nodes(path) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        docs = {id(node.body[0].value) for node in owners if node.body and isinstance(node.body[0], ast.Expr)}
        constants = [node for node in _nodes(path) if isinstance(node, ast.Constant) and id(node) not in docs]
        text = "\0".join(node.value for node in constants if isinstance(node.value, str))
        found[_name(path)] = {board for board in boards if board in text}
    assert {name for name, names in found.items() if names} == NAMES_BOARDS.keys()


def test_json_has_one_way_in() -> None:
    """``json.loads`` alone ends in a RecursionError for a deep text, and keeps the last of two equal keys."""
    # The others read it with neuralart.jsontext. Of stamps, what is wrong in whatever way is no stamp.
    own = {"jsontext.py", "neuralart_insight/inspect/own_kinds.py"}
    calls = {"json.loads", "json.load"}
    assert _broken(lambda path: " ".join(_source(path).attributes & calls) if _name(path) not in own else "") == []


def test_the_rules_see_what_they_are_for(tmp_path: Path) -> None:
    """In the text of a module: each form of an import and of a name."""
    text = (
        "import os.path, fcntl\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a.b import c, d\n"
        "else:\n    import e\nclass A:\n    class B:\n        def f(self):\n            try:\n                pass\n"
        "            except E:\n                import g\n            match self:\n                case 1:\n"
        "                    import h\n                    os.fork(json.loads(x)(y).z)\n"
        "async def i():\n    with j:\n        for k in l:\n            while m:\n                import n\n"
    )
    path = tmp_path / "module.py"
    path.write_text(text, encoding="utf-8")
    source = _source.__wrapped__(path)
    seen = [(each.name, each.inside, each.typing) for each in source.imports]
    assert seen[:6] == [
        *(("os.path", False, False), ("fcntl", False, False), ("typing.TYPE_CHECKING", False, False)),
        *(("a.b.c", False, True), ("a.b.d", False, True), ("e", False, False)),
    ]
    assert seen[6:] == [("g", True, False), ("h", True, False), ("n", True, False)]
    assert (source.classes, source.lines) == (("A", "B"), len(text.splitlines()))
    assert source.attributes == {"os.fork", "json.loads"}


def _all_loaded(code: str) -> list[str]:
    """Modules that are loaded after some code has run."""
    script = f"import json, sys\n{code}\nsys.stderr.write(json.dumps(sorted(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stderr.splitlines()[-1])
    return found


def _loaded(code: str) -> set[str]:
    """The packages of all of them."""
    return {name.split(".")[0] for name in _all_loaded(code)}


def test_relocatable_models_are_made_without_the_readers_of_projects() -> None:
    """New weights are a matter of an eighth of a second; loading them, or what reads ELF, takes a third of it."""
    modules = "build.build_cli", "build.builder", "verify.report", "verify.verifier"
    loaded = _all_loaded(f"import {', '.join(f'neuralart.relocatable.{name}' for name in modules)}")
    others = ("neuralart.config", "neuralart.boards", "neuralart.text.elf", "neuralart.text.values", "yaml", "elftools")
    assert not [name for name in loaded if name.startswith(others)]
    assert len([name for name in loaded if name.startswith("neuralart")]) <= 48, loaded


def test_importing_the_package_is_cheap() -> None:
    assert not _loaded("import neuralart") & SLOW


def test_help_is_cheap() -> None:
    """Of all commands, one after the other in one process: what one of them loads stays there and is seen."""
    code = (
        f"from neuralart.cli import main\nfor words in {[[], *([command] for command in cli.commands())]!r}:\n"
        "    sys.argv = ['neuralart', *words, '--help']\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code, (words, end.code)\n"
        "    else:\n        raise AssertionError(f'{words}: no help')\n"
    )
    loaded = _loaded(code)
    assert not loaded & SLOW
    assert not loaded & {"subprocess", "asyncio", "email", "http", "unittest"}
