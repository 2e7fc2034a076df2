"""The rooms of the package: who may import whom, what starts fast, how large a file may be."""

from __future__ import annotations

import ast
import fnmatch
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from neuralart.cli import COMMANDS
from neuralart.resources import PACKAGE

MODULES = sorted(PACKAGE.rglob("*.py"))
# From the ground up. A room imports itself and rooms of floors below; on one floor, rooms do not know each other.
FLOORS = (
    {"errors", "jsontext", "resources"},
    {"files", "fingerprint"},
    {"text", "plugins"},
    {"model", "network", "config"},
    {"vendor", "boards", "toolchain"},
    {"memory", "flashing"},
    {"patching", "app_config", "model_zoo", "compilers", "relocatable"},
    {"emulator", "report"},
    {"lint", "export"},
    {"doctor", "inspect"},
    {"applications", "own_model", "profiling", "sbom"},
    {"cli"},
    {"__main__", "completion", "scons"},
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
EXTRAS = {"numpy", "unicorn", "tflite", "flatbuffers", "ai_edge_litert", "cyclonedx", "packageurl", "shtab"}
CORE = {"SCons", "yaml", "jinja2", "elftools", "packaging", "filelock"}
SLOW = {*CORE, *EXTRAS}
LARGEST = 400
MOST_FILES = 24
# One file per operator: these folders hold a row of equals, whose order is their names.
ROWS = {"compilers/reference/operators"}
# Classes that share a name with another one, and why. At most ten.
SAME_NAME: dict[str, str] = {}
# Texts of the code that name a board, and why.
NAMES_BOARDS = {
    "cli.py": "examples of calls",
    "config/read.py": "an example in a hint",
    "memory/layout/relative_pools.py": "an example in a hint",
    "model_zoo/vocabulary.py": "the board that a family of the model zoo means",
    "network/targets.py": "targets, and whose stock profile a target has",
    "compilers/reference/options.py": "targets",
    "own_model/expected.py": "where outputs are computed unless the user names a board",
    "own_model/vectors_cli.py": "the help says which that is",
}
# Names at the top of a module that nothing in the package uses, and why they are there.
UNUSED = {
    "__init__.py:generate": "SCons calls it: the package is a tool",
    "__init__.py:exists": "SCons calls it: the package is a tool",
    "profiling/totals.py:compare_outputs": "the vendor's figures of a validation, proved on its published runs",
}


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def _imports(path: Path, *, typing: bool = True) -> tuple[tuple[str, bool], ...]:
    """(dotted name, inside a function) of each import of a module.

    Args:
        path: The module.
        typing: Imports for type checkers alone count.
    """
    return tuple(_found_imports(path, typing))


def _found_imports(path: Path, typing: bool) -> Iterator[tuple[str, bool]]:
    tree = _tree(path) if typing else ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if not typing and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inner) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_name(path)}: a relative import"
            assert node.module is not None
            yield from ((f"{node.module}.{alias.name}", id(node) in inner) for alias in node.names)


def _ours(path: Path) -> set[str]:
    """Rooms that a module imports."""
    rooms = {name.split(".")[1] for name, _ in _imports(path) if name.startswith("neuralart.")}
    return rooms - {"__version__"}


def test_every_room_has_its_floor() -> None:
    rooms = {_room(path) for path in MODULES} - {"__init__"}
    assert rooms == set(FLOOR), "put a new room on its floor (FLOORS)"


def test_every_tier_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    """pytest leaves out folders called build unless it is told otherwise."""
    patterns = pytestconfig.getini("norecursedirs")
    tiers = sorted({path.parent.name for path in (PACKAGE.parents[1] / "tests").glob("*/test_*.py")})
    assert {"build", "emulated", "graph", "unit"} <= set(tiers)
    assert [(tier, p) for tier in tiers for p in patterns if fnmatch.fnmatch(tier, p)] == []


@pytest.mark.parametrize("path", [p for p in MODULES if _room(p) != "__init__"], ids=_name)
def test_direction_of_imports(path: Path) -> None:
    room = _room(path)
    wrong = {other for other in _ours(path) - {room} if FLOOR[other] >= FLOOR[room]}
    assert wrong == set(), f"{_name(path)} imports {sorted(wrong)}"


def _dotted(path: Path) -> str:
    """Its name for an import statement; a package's ``__init__`` has the name of the package."""
    return ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


@cache
def _graph() -> dict[str, set[str]]:
    """Which module imports which, inside functions too; imports for type checkers alone do not count."""
    known = {_dotted(path) for path in MODULES}
    graph = {}
    for path in MODULES:
        found = set()
        for name, _ in _imports(path, typing=False):
            found |= {name if name in known else name.rpartition(".")[0]} & known
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


SUBROOMS = sorted({path.parent for path in MODULES if path.parent != PACKAGE} | {PACKAGE})


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
    inside = [inner for name, inner in _imports(PACKAGE / "__init__.py") if name.startswith("neuralart.")]
    assert inside and all(inside)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_of_other_packages(path: Path) -> None:
    """SCons only in its room, extras only in functions of their rooms, nothing else that is not declared."""
    for name, inside in _imports(path):
        top = name.split(".")[0]
        if top == "neuralart" or top in sys.stdlib_module_names:
            continue
        if top == "SCons":
            assert _room(path) == "scons", f"{_name(path)} imports SCons"
        elif top in EXTRAS:
            allowed = {"emulator": {"unicorn"}, "sbom": {"cyclonedx", "packageurl"}, "completion": {"shtab"}}
            assert inside and top in allowed.get(_room(path), ()), f"{_name(path)} imports {name}"
        else:
            assert top in CORE, f"{_name(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_size_of_a_module(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= LARGEST, f"{_name(path)} has {lines} lines: it does more than one thing"


@pytest.mark.parametrize("folder", SUBROOMS, ids=_name)
def test_number_of_files_of_a_folder(folder: Path) -> None:
    files = len(list(folder.glob("*.py")))
    assert files <= MOST_FILES or _name(folder) in ROWS, f"{files} files side by side hide their order: make rooms"


def test_a_class_name_stands_for_one_class() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(_name(path))
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert several.keys() == SAME_NAME.keys(), several
    assert len(SAME_NAME) <= 10


def _defined(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and constants of a module; what a decorator registers needs no other use."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any(ast.unparse(each).startswith("operator(") for each in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name) and each.id != "__all__")


def _used(tree: ast.Module, me: str) -> Iterator[str]:
    """Dotted names that a module uses: its own, of other modules, and those that its tables name in texts."""
    alias = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            alias |= {each.asname or each.name: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            alias |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            yield from (f"{node.module}.{each.name}" for each in node.names)
    for top in tree.body:
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != getattr(top, "name", ""):
                yield f"{me}.{node.id}"
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield f"{alias.get(node.value.id, '')}.{node.attr}"
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from (f"*.{name}" for name in re.findall(r"\w[.:](\w+)\Z", node.value))


def test_what_only_tests_use_is_gone() -> None:
    used = {name for path in MODULES for name in _used(_tree(path), _dotted(path))}
    commands = {module for module, _ in COMMANDS.values()}
    unused = set()
    for path in MODULES:
        module = _dotted(path)
        for name in _defined(_tree(path)):
            called = module in commands and name.startswith(("run", "configure"))
            called |= name == "add_to"  # of each builder's module
            if not called and not {f"{module}.{name}", f"*.{name}"} & used and not name.startswith("__"):
                unused.add(f"{_name(path)}:{name}")
    assert unused == set(UNUSED)


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_no_calls_that_only_some_systems_have(path: Path) -> None:
    posix = {"fcntl", "pwd", "grp", "termios", "resource", "pty", "posix"}
    assert not {name for name, _ in _imports(path)} & posix
    calls = {f"os.{name}" for name in ("fork", "getuid", "geteuid", "chown", "mkfifo", "killpg", "setsid", "uname")}
    used = {
        f"os.{node.attr}"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
    }
    assert not used & calls


def test_no_code_asks_for_the_name_of_a_board() -> None:
    """What other code must know of a board is a key of its file."""
    boards = [path.stem for path in (PACKAGE / "boards" / "data").glob("*.yaml")]
    found: dict[str, set[str]] = {}
    for path in MODULES:
        owners = [
            node for node in ast.walk(_tree(path)) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        ]
        docs = {id(node.body[0].value) for node in owners if node.body and isinstance(node.body[0], ast.Expr)}
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                found.setdefault(_name(path), set()).update(each for each in boards if each in node.value)
    assert {name for name, names in found.items() if names} == NAMES_BOARDS.keys()


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_json_has_one_way_in(path: Path) -> None:
    """``json.loads`` alone ends in a RecursionError for a deep text, and keeps the last of two equal keys."""
    own = {"jsontext.py", "inspect/own_kinds.py"}
    calls = {
        ast.unparse(node) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)
    }
    assert not calls & {"json.loads", "json.load"} or _name(path) in own, "read it with neuralart.jsontext"


def _loaded(code: str) -> set[str]:
    """Modules that are loaded after some code has run."""
    script = f"import json, sys\n{code}\nsys.stderr.write(json.dumps(sorted(sys.modules)))\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}


def test_importing_the_package_is_cheap() -> None:
    assert not _loaded("import neuralart") & SLOW


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_cheap(command: str) -> None:
    arguments = ["neuralart", *([command] if command else []), "--help"]
    code = (
        f"sys.argv = {arguments!r}\nfrom neuralart.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
    )
    loaded = _loaded(code)
    assert not loaded & SLOW
    assert not loaded & {"subprocess", "asyncio", "email", "http", "unittest"}
