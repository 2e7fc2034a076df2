"""Rows: the SConstruct is a program, which asks its surroundings: variables, options, the system, others' scripts."""

from __future__ import annotations

import socket
import threading
import zipfile
from collections.abc import Iterator

from support.changes.programs import VALUE, Change, program, put, put_link, reads
from support.changes.rows import row
from support.changes.sources import weights
from support.changes.tree import MODEL, OLD, VARIANT, VARIANTS, WHEEL, Tree


def variable(name: str, text: str = "2") -> Change:
    """A variable of the environment is set."""

    def change(tree: Tree) -> None:
        tree.env[name] = text

    return change


def words(*more: str) -> Change:
    """More is asked for."""
    return lambda tree: tree.words.extend(more)


# ---- the command line and the environment --------------------------------------------------------------------------

reads("60", "ARGUMENTS", 'value = ARGUMENTS.get("WHICH", "1")', words("WHICH=2"))
for _number, _name in (
    ("61", "GITHUB_SHA"),
    ("61b", "GITHUB_REF_NAME"),
    ("62", "CI_COMMIT_SHA"),
    ("62b", "CI_COMMIT_TAG"),
    ("63", "VERSION"),
    ("64", "HOSTNAME"),
    ("64b", "LOGNAME"),
    ("501", "RUNNER_NAME"),
    ("502", "TERM"),
    ("503", "SSH_CLIENT"),
    ("504", "EDITOR"),
):
    _CODE = f'import os\nvalue = os.environ.get("{_name}", "1")'
    reads(_number, f"os.environ, {_name}", _CODE, variable(_name))
_USER = "import getpass\nvalue = getpass.getuser()"
reads("505", "getpass.getuser()", _USER, variable("LOGNAME"), variable("LOGNAME", "1"))
_ZONE = 'import time\nvalue = 1 + (time.tzname[0] == "XYZ")'
reads("506", "the time zone", _ZONE, variable("TZ", "XYZ-3"))
_TARGETS = "value = len(COMMAND_LINE_TARGETS)"
reads("66", "COMMAND_LINE_TARGETS", _TARGETS, words(VARIANT))
_OPTION = 'AddOption("--which", default="1")\nvalue = GetOption("which")'
reads("507", "an option of its own", _OPTION, words("--which=2"))
reads("508", "ARGUMENTS by SCONSFLAGS", 'value = ARGUMENTS.get("WHICH", "1")', variable("SCONSFLAGS", "WHICH=2"))
_PROC = r'value = 1 + (b"\0WHICH=2\0" in b"\0" + open("/proc/self/environ", "rb").read())'
reads("69", "a file in /proc", _PROC, variable("WHICH"))
_MODULE = "from helper_of_mine import value"


def _python_path(name: str) -> Change:
    def change(tree: Tree) -> None:
        tree.write(f"../outside/{name}/helper_of_mine.py", f"value = {name}\n", OLD)
        tree.env["PYTHONPATH"] = str(tree.path(f"../outside/{name}"))

    return change


reads("509", "a module by PYTHONPATH, which leads elsewhere", _MODULE, _python_path("2"), _python_path("1"))


@row("65", "SConstruct: GetOption(num_jobs)")
def jobs(tree: Tree) -> Iterator[None]:
    program(tree, 'value = min(GetOption("num_jobs"), 2)')
    tree.jobs = 1
    yield
    tree.jobs = 2


@row("510", "SConstruct: standard input")
def standard_input(tree: Tree) -> Iterator[None]:
    program(tree, "import sys\nvalue = sys.stdin.read()")
    tree.stdin = b"1"
    yield
    tree.stdin = b"2"


@row("71", "SConstruct: umask")
def umask(tree: Tree) -> Iterator[None]:
    program(tree, "import os\nvalue = 1 + (os.umask(0o022) == 0o077)")
    yield
    tree.umask = 0o077


# ---- ways to a file ------------------------------------------------------------------------------------------------

_PACKAGES = "../outside/site-packages/value"
reads(
    "67",
    "a file in a folder named site-packages",
    f'value = open("{_PACKAGES}").read()',
    put(_PACKAGES, "2"),
    put(_PACKAGES, "1"),
)
reads("70", "a file through /proc/self/cwd", f'value = open("/proc/self/cwd/{VALUE}").read()')
_DIR_FD = """
import os
folder = os.open("../outside", os.O_RDONLY)
value = os.read(os.open("value", os.O_RDONLY, dir_fd=folder), 1).decode()
"""
reads("72", "os.open with dir_fd", _DIR_FD)
_CHDIR = 'import os\nos.chdir("../outside")\nvalue = open("value").read()\nos.chdir("../tree")'
reads("73", "os.chdir, then a relative path", _CHDIR)
reads("74", "a path of bytes", f'value = open(b"{VALUE}").read()')
_STAT = f'import os\nvalue = 1 + (os.stat("{VALUE}").st_mtime < 1e9)'


@row("511", "SConstruct: the time of a file")
def time_of_a_file(tree: Tree) -> Iterator[None]:
    tree.write(VALUE, "1", OLD)
    program(tree, _STAT)
    tree.alone = True
    yield
    tree.age(VALUE, when=WHEEL)


@row("512", "SConstruct: the mode of a file, os.access")
def mode_of_a_file(tree: Tree) -> Iterator[None]:
    tree.write(VALUE, "1", OLD).chmod(0o644)
    program(tree, f'import os\nvalue = 1 + os.access("{VALUE}", os.X_OK)')
    yield
    tree.path(VALUE).chmod(0o755)


_MMAP = f"""
import mmap
with open("{VALUE}") as file:
    value = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:1].decode()
"""
reads("513", "mmap", _MMAP)


def _archive(value: str) -> Change:
    def change(tree: Tree) -> None:
        with zipfile.ZipFile(tree.path("../outside/mine.zip"), "w") as file:
            file.writestr(zipfile.ZipInfo("helper.py"), f"value = {value}\n")
        tree.age("../outside/mine.zip")

    return change


_ZIP = 'import sys\nsys.path.insert(0, "../outside/mine.zip")\nfrom helper import value'
reads("514", "a module in a zip archive, same size, time of 2020 kept", _ZIP, _archive("2"), _archive("1"))


def _distribution(version: str) -> Change:
    return put("../outside/mine-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: mine\nVersion: {version}\n")


_METADATA = (
    'import sys\nfrom importlib import metadata\nsys.path.insert(0, "../outside")\nvalue = metadata.version("mine")'
)
reads("515", "the version of an installed package", _METADATA, _distribution("2"), _distribution("1"))
_LINKED = "../outside/link"
reads(
    "516",
    "a file through a link, which leads elsewhere",
    f'value = open("{_LINKED}").read()',
    put_link(_LINKED, "b"),
    lambda tree: [tree.write("../outside/a", "1", OLD), tree.write("../outside/b", "2", OLD), tree.link(_LINKED, "a")],
)


@row("68", "SConstruct: a hidden file in the build folder")
def hidden_in_build(tree: Tree) -> Iterator[None]:
    tree.write("build/.value", "1", OLD)
    tree.own, tree.alone = ["build/.value"], True
    program(tree, 'value = open("build/.value").read()')
    yield
    tree.write("build/.value", "2", OLD)


@row("75", "SConstruct: another process by UDP")
def another_process(tree: Tree) -> Iterator[None]:
    answers = [b"1"]
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            data, who = server.recvfrom(10)
            if data == b"end":
                server.close()
                return
            server.sendto(answers[0], who)

    threading.Thread(target=serve, daemon=True).start()
    port, tree.alone = server.getsockname()[1], True
    asks = f'line.sendto(b"?", ("127.0.0.1", {port}))\nvalue = line.recv(1).decode()\nline.close()'
    program(tree, f"import socket\nline = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n{asks}")

    def end() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.sendto(b"end", ("127.0.0.1", port))

    tree.ends.append(end)
    yield
    answers[0] = b"2"


# ---- scripts of others --------------------------------------------------------------------------------------------

_SITE = """
import SCons.Environment
plain = SCons.Environment.Base.Tool
def Tool(env, *words, **named):
    made = plain(env, *words, **named)
    project = getattr(env, "NeuralArtProject", None)
    if project is not None:
        env.NeuralArtProject = lambda path: project("variants-NUMBER.yaml")
    return made
SCons.Environment.Base.Tool = Tool
"""


def site(tree: Tree, place: str, number: str) -> None:
    """Another variants file than the SConstruct says."""
    for name in "12":
        text = VARIANTS.replace("network: digits}", f"network: digits, defines: [T={name}]}}")
        tree.write(f"variants-{name}.yaml", text)
    tree.write(f"{place}/site_init.py", _SITE.replace("NUMBER", number), OLD)


@row("76", "site_scons/site_init.py comes", sample=True)
def site_comes(tree: Tree) -> Iterator[None]:
    yield
    site(tree, "site_scons", "1")


@row("76b", "site_scons/site_init.py: same size, time of 2020 kept")
def site_edited(tree: Tree) -> Iterator[None]:
    site(tree, "site_scons", "1")
    yield
    site(tree, "site_scons", "2")


@row("77", "~/.scons/site_scons/site_init.py comes")
def home_site_comes(tree: Tree) -> Iterator[None]:
    yield
    site(tree, "../home/.scons/site_scons", "1")


@row("78", "~/.scons/site_scons/site_init.py: same size, time of 2020 kept")
def home_site_edited(tree: Tree) -> Iterator[None]:
    site(tree, "../home/.scons/site_scons", "1")
    yield
    site(tree, "../home/.scons/site_scons", "2")


@row("517", "~/.scons/site_scons/site_init.py goes")
def home_site_goes(tree: Tree) -> Iterator[None]:
    site(tree, "../home/.scons/site_scons", "1")
    yield
    tree.remove("../home/.scons")


@row("518", "another SConstruct is named by SCONSFLAGS")
def another_script(tree: Tree) -> Iterator[None]:
    program(tree, 'value = "1"')
    tree.copy("SConstruct", "Other")
    tree.edit("Other", 'value = "1"', 'value = "2"')
    yield
    tree.env["SCONSFLAGS"] = "-f Other"


@row("519", "a description becomes a program")
def becomes_a_program(tree: Tree) -> Iterator[None]:
    tree.write(VALUE, "2", OLD)
    yield
    program(tree, f'value = open("{VALUE}").read()')
    tree.age("SConstruct", when=tree.path("variants.yaml").stat().st_mtime)


# ---- targets of one's own ------------------------------------------------------------------------------------------


@row("520", "SConstruct: a command of its own, its source with time of 2020 kept")
def own_command(tree: Tree) -> Iterator[None]:
    tree.write("notes.txt", "one\n", OLD)
    program(tree, 'value = "1"\nenv.Command("build/notes.txt", "notes.txt", Copy("$TARGET", "$SOURCE"))')
    tree.words = ["build/notes.txt"]
    yield
    tree.write("notes.txt", "two\n", OLD)


@row("521", "SConstruct: env.Network without variants, weights with time of 1980 kept")
def own_network(tree: Tree) -> Iterator[None]:
    build = f'net = env.Network("digits", model="{MODEL}", board="stm32n6570-dk")\nDefault(net.files)\n'
    program(tree, "", build=build)
    tree.age(MODEL, when=WHEEL)
    tree.words = []
    yield
    weights(tree, WHEEL)
