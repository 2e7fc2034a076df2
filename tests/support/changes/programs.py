"""Rows: the SConstruct is a program, which reads something by any way that Python has, and that changes.

What it reads is 1 or 2, and chooses the variants file, which differs in a define.
"""

from __future__ import annotations

import sqlite3
import textwrap
from collections.abc import Callable, Iterator

from support.changes.rows import Row, add, row
from support.changes.tree import OLD, VARIANTS, WHEEL, Tree

_HEAD = "DefaultEnvironment(tools=[])\nenv = Environment(tools=[])\n"
_TOOL = 'env.Tool("neuralart", toolpath=["#site_scons"])\n'
BUILD = """\
project = env.NeuralArtProject(f"variants-{value}.yaml")
project.check_targets(BUILD_TARGETS)
project.build(COMMAND_LINE_TARGETS, everything=GetOption("clean"))
Default(list(project.file.config.default))
project.print_summaries_at_exit(COMMAND_LINE_TARGETS)
"""
VALUE = "../outside/value"
Change = Callable[[Tree], object]


def program(tree: Tree, code: str, *, before: str = "", build: str = BUILD) -> None:
    """An SConstruct that computes ``value``, and what it chooses from."""
    for name in "12":
        text = VARIANTS.replace("network: digits}", f"network: digits, defines: [T={name}]}}")
        tree.write(f"variants-{name}.yaml", text)
    tree.write("SConstruct", _HEAD + textwrap.dedent(before) + _TOOL + textwrap.dedent(code) + "\n" + build)


def put(name: str, text: str = "", when: float = OLD) -> Change:
    """A file comes, or gets other contents."""
    return lambda tree: tree.write(name, text, when)


def put_link(name: str, target: str) -> Change:
    """A link comes, or leads elsewhere."""
    return lambda tree: tree.link(name, target)


def nothing(tree: Tree) -> None:
    """No change."""


def reads(
    number: str,
    title: str,
    code: str,
    change: Change = put(VALUE, "2"),  # noqa: B008 - a function
    first: Change = nothing,
    *,
    sample: bool = False,
) -> None:
    """A row: what computes ``value``; what changes; what is there at first beside a file with 1."""

    def program_reads(tree: Tree) -> Iterator[None]:
        tree.write(VALUE, "1", OLD)
        first(tree)
        program(tree, code)
        yield
        change(tree)

    add(Row(number, f"SConstruct: {title}", program_reads, sample=sample))


# ---- files and folders -----------------------------------------------------------------------------------------

_OPEN = f'with open("{VALUE}") as file:\n    value = file.read()'
reads("40", "a file by open", _OPEN, put(VALUE, "2", WHEEL), sample=True)
reads("41", "a file by open, same size, time of 2020 kept", f'value = open("{VALUE}").read()')
reads("42", 'a file by open with mode "r+"', f'value = open("{VALUE}", "r+").read()')


def _database(*lines: str) -> Change:
    def change(tree: Tree) -> None:
        base = sqlite3.connect(tree.path("../outside/base"))
        for line in lines:
            base.execute(line)
        base.commit()
        base.close()

    return change


_SQL = """
import sqlite3
value = sqlite3.connect("../outside/base").execute("select x from t").fetchone()[0]
"""
_FIRST = _database("create table t (x)", "insert into t values ('1')")
reads("43", "a database of sqlite", _SQL, _database("update t set x = '2'"), _FIRST)
reads("44", "os.path.getsize", f'import os\nvalue = os.path.getsize("{VALUE}")', put(VALUE, "22"))
_EXISTS = 'import os\nvalue = 1 + os.path.exists("../outside/flag")'
reads("45", "os.path.exists", _EXISTS, put("../outside/flag"))
_LINK = "../outside/link"
reads("46", "os.readlink", f'import os\nvalue = os.readlink("{_LINK}")', put_link(_LINK, "2"), put_link(_LINK, "1"))
_GLOB = 'import glob\nvalue = 1 + len(glob.glob("../outside/*.x"))'
reads("47", "glob", _GLOB, put("../outside/new.x"))
_LIST, _ONE = 'import os\nvalue = len(os.listdir("../outside/f"))', put("../outside/f/one")
reads("48", "os.listdir, a hidden file comes", _LIST, put("../outside/f/.two"), _ONE)
reads("48b", "os.listdir, a file named build comes", _LIST, put("../outside/f/build"), _ONE)
_WALK = 'import os\nvalue = sum(len(names) for _, _, names in os.walk("../outside/f"))'
_DEEP = "../outside/f/deep/down/"
reads("48c", "os.walk, a file in a subfolder comes", _WALK, put(f"{_DEEP}two"), put(f"{_DEEP}one"))
_SCAN = 'import os\nvalue = sum(each.stat().st_size for each in os.scandir("../outside/f"))'
reads("48d", "os.scandir, sizes of files", _SCAN, put("../outside/f/one", "12"), put("../outside/f/one", "1"))

# ---- other programs, and ways around Python's own open -----------------------------------------------------------


def _tag(name: str) -> Change:
    def change(tree: Tree) -> None:
        if not tree.path("../outside/r").exists():
            tree.git("init", "-q", "../outside/r")
        tree.git("-C", "../outside/r", "commit", "-q", "--allow-empty", "-m", name)
        tree.git("-C", "../outside/r", "tag", name)

    return change


_DESCRIBE = """
import subprocess
words = ["git", "-C", "../outside/r", "describe", "--tags"]
value = subprocess.check_output(words, text=True).strip()
"""
reads("49", "git describe by subprocess", _DESCRIBE, _tag("2"), _tag("1"))
reads("50", "os.popen", f'import os\nwith os.popen("cat {VALUE}") as pipe:\n    value = pipe.read()')
_COPY = f'"cp", "{VALUE}", "../outside/copy"'
_COPIED = 'value = open("../outside/copy").read()'
reads("51", "os.spawnlp", f'import os\nos.spawnlp(os.P_WAIT, "cp", {_COPY})\n{_COPIED}')
_FORK = f"""
import os
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, open("{VALUE}", "rb").read())
    os._exit(0)
os.wait()
value = os.read(reader, 1).decode()
"""
reads("52", "os.fork, the child reads", _FORK)
_POOL = f"""
import multiprocessing, os
with multiprocessing.get_context("fork").Pool(1) as pool:
    value = pool.apply(os.path.getsize, ["{VALUE}"])
"""
reads("53", "a pool of multiprocessing", _POOL, put(VALUE, "22"))
_CTYPES = f"""
import ctypes
libc, data = ctypes.CDLL(None), ctypes.create_string_buffer(1)
libc.read(libc.open(b"{VALUE}", 0), data, 1)
value = data.raw.decode()
"""
reads("54", "open and read of libc by ctypes", _CTYPES)
_THREAD = f"""
import threading
texts = []
thread = threading.Thread(target=lambda: texts.append(open("{VALUE}").read()))
thread.start()
thread.join()
value = texts[0]
"""
reads("55", "a file in a thread", _THREAD)
_SPAWN = f"""
import os, shutil
child = os.posix_spawn(shutil.which("cp"), [{_COPY}], os.environ)
os.waitpid(child, 0)
{_COPIED}
"""
reads("401", "os.posix_spawn", _SPAWN)
reads("402", "os.system", f'import os\nos.system("cp {VALUE} ../outside/copy")\n{_COPIED}')
_CHILD = f"""
import subprocess, sys
value = subprocess.check_output([sys.executable, "-c", "print(open('{VALUE}').read(), end='')"], text=True)
"""
reads("403", "a Python of its own reads", _CHILD)

# ---- scripts and modules -----------------------------------------------------------------------------------------

_SCRIPT = 'value = SConscript("sub/SConscript")'
_SUB = "sub/SConscript"
_OPENS = 'value = open("../../outside/value").read()\nReturn("value")\n'
reads("56", "an SConscript reads a file", _SCRIPT, first=put(_SUB, _OPENS))
_SUBS = ['value = "1"\nReturn("value")\n', 'value = "2"\nReturn("value")\n']
reads("57", "an SConscript is edited, same size", _SCRIPT, put(_SUB, _SUBS[1], WHEEL), put(_SUB, _SUBS[0]))
reads("57b", "an SConscript, same size, time of 2020 kept", _SCRIPT, put(_SUB, _SUBS[1]), put(_SUB, _SUBS[0]))
_IMPORT = 'import sys\nsys.path.insert(0, "../outside")\nfrom helper import value'
_HELPER, _TEXTS = "../outside/helper.py", ('value = "1"\n', 'value = "2"\n')
reads("58", "an imported module, same size", _IMPORT, put(_HELPER, _TEXTS[1], WHEEL), put(_HELPER, _TEXTS[0]))
_TITLE = "an imported module: other size, time of 2020 kept, bytecode"
reads("58b", _TITLE, _IMPORT, put(_HELPER, "value = 2\n"), put(_HELPER, _TEXTS[0]))
_EXEC = f'exec(open("{_HELPER}").read())'
reads("404", "exec of a file, same size, time of 2020 kept", _EXEC, put(_HELPER, _TEXTS[1]), put(_HELPER, _TEXTS[0]))
_VARIABLES = (
    'settings = Variables("custom.py")\nsettings.Add("W")\nvalue = Environment(tools=[], variables=settings)["W"]'
)
reads("405", 'Variables("custom.py")', _VARIABLES, put("custom.py", "W=2\n"), put("custom.py", "W=1\n"))


@row("59", "SConstruct: a file that is read in front of Tool")
def before_tool(tree: Tree) -> Iterator[None]:
    tree.write(VALUE, "1", OLD)
    program(tree, "", before=f'value = open("{VALUE}").read()\n')
    yield
    tree.write(VALUE, "2", OLD)


@row("406", 'SConstruct: Variables("custom.py") in front of Tool')
def variables_before_tool(tree: Tree) -> Iterator[None]:
    tree.write("custom.py", "W=1\n", OLD)
    program(tree, "", before=_VARIABLES + "\n")
    yield
    tree.write("custom.py", "W=2\n", OLD)


@row("407", "SConstruct itself: same size, time of 2020 kept")
def script(tree: Tree) -> Iterator[None]:
    program(tree, 'value = "1"')
    tree.age("SConstruct")
    yield
    tree.edit("SConstruct", 'value = "1"', 'value = "2"', keep=True)


@row("408", "an imported module: same size, time kept, bytecode: Python's own limit", counts=False)
def bytecode(tree: Tree) -> Iterator[None]:
    tree.write(_HELPER, _TEXTS[0], OLD)
    program(tree, _IMPORT)
    tree.alone = True  # The bytecode decides, in a clean build as well
    yield
    tree.write(_HELPER, _TEXTS[1], OLD)
