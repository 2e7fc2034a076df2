"""A symbolic link in the place of an output is replaced, by whoever writes: never written through, never kept."""

from __future__ import annotations

import ast
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralart import cli, files
from neuralart.applications import external
from neuralart.applications.commands import Commands
from neuralart.compilers import fileset
from neuralart.flashing.nor import Chip, Nor
from neuralart.resources import PACKAGE
from support.projects.packages import MODULES, name_of

REPO = Path(__file__).resolve().parents[3]
DIGITS = REPO / "models" / "digits" / "digits.tflite"

COMPILE = ("--model", str(DIGITS), "--target", "stm32n6", "--name", "net", "--quiet")
COMPILE += ("--st-neural-art", f"default@{PACKAGE / 'boards' / 'data' / 'profiles' / 'stm32n6570-dk.json'}")

# Who writes otherwise than by neuralart.files, and where: into a folder or under a name that nobody else has.
OTHERS = {
    "files.py": 1,
    "applications/external.py": 1,  # the log, which was deleted before
    "applications/overlay.py": 1,  # a new file of neuralart.files
    "compilers/stedgeai/run.py": 1,  # a folder of its own
    "neuralart_insight/doctor/compilers.py": 1,  # a temporary folder
    "neuralart_virtual/emulator/boot_chain.py": 1,  # a temporary folder
    "neuralart_board/runners/programmer.py": 1,  # a line at a time, in a file that it makes anew
    "neuralart_board/runners/process.py": 2,  # a temporary folder
    "neuralart_bring/own_model/project.py": 1,  # a temporary folder
    "neuralart_bring/patching/journal.py": 1,  # a folder of its own, tested there
    "neuralart_fleet/remote/client.py": 1,  # a new file of neuralart.files
}
WRITES = {"write_bytes", "copyfile", "copy", "copy2", "copytree", "move", "truncate", "symlink_to", "hardlink_to"}


def writers(text: str) -> list[int]:
    """Lines that write a file themselves."""
    found = []
    ours = {"files", "_files", "write_bytes"}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        words = [
            each.value for each in [*node.args, *(k.value for k in node.keywords)] if isinstance(each, ast.Constant)
        ]
        opened = name in ("open", "fdopen") and any(isinstance(w, str) and set(w) & set("wax+") for w in words)
        owner = ""
        if name in ("write_text", *WRITES) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
        if opened or (owner and owner not in ours and (name != "copy" or owner == "shutil")):
            found.append(node.lineno)
    return found


def test_writers_are_found() -> None:
    for text in ("path.write_text(x)", "path.open('wb')", "open(p, mode='a')", "shutil.copy(a, b)", "p.write_bytes(b)"):
        assert writers(text), text
    assert not writers("write_text(path, x)\nopen(p)\np.open('rb')\nx.copy()\nfiles.write_text(p, x)")


def test_everybody_writes_by_one_function() -> None:
    """So what tests of neuralart.files say holds for all of them."""
    found = {path: len(writers(path.read_text("utf-8"))) for path in MODULES}
    assert {name_of(path): count for path, count in found.items() if count} == OTHERS


def command(*words: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        own = [word.format(path=path, folder=path.parent) for word in words]
        assert cli.main(own) == 1 and path.is_symlink(), "what a user names is looked at first"
        assert cli.main([*own, "--force"]) == 0

    return run


def set_of_files(path: Path) -> None:
    fileset.write_set(path.parent, "net", {path.name: b"new", "manifest.json": b"{}"})


def log(path: Path) -> None:
    external.run(Commands(((sys.executable, "-c", "print(1)"),), path.parent, path), path, {})


def nor(path: Path) -> None:
    Nor(Chip(0x70000000, 1 << 16, 4096)).save(path)


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "text": ("a.txt", lambda path: files.write_text(path, "new")),
    "network.c": ("net.c", set_of_files),
    "log": ("build.log", log),
    "flash": ("flash.nor", nor),
    "compile": ("net.c", command("compile", *COMPILE, "--output", "{folder}")),
    "sbom": ("sbom.json", command("sbom", "--output", "{path}")),
    "sign": ("a.bin", command("tool", "sign", "{folder}/../image.bin", "--output", "{path}")),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("there", [True, False], ids=["file", "dangling"])
def test_a_link_is_replaced(name: str, there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, write = WRITERS[name]
    (tmp_path / "image.bin").write_bytes(struct.pack("<II", 0x34100000, 0x34000401) + bytes(4088))
    other = tmp_path / "other"
    if there:
        other.write_text("theirs")
    path = tmp_path / "out" / file
    path.parent.mkdir()
    path.symlink_to(other)
    write(path)
    assert path.is_file() and not path.is_symlink() and path.read_bytes()
    assert other.exists() == there and (not there or other.read_text() == "theirs")
