"""Rows: what was built is altered, goes, or something else takes its place."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator

from support.changes.rows import Row, add, row
from support.changes.tree import LIST, MAIN, OTHER, TEXT, THIRD, VARIANT, Tree

_HERE = f"build/{VARIANT}"
_NETWORK, _FIRMWARE = "build/networks/digits-*", "build/firmware"
# Row, what is altered: one bit of it, in place, with its time kept.
ALTERED = {
    "81": f"{_HERE}/firmware.bin",
    "82": f"{_HERE}/app/main.o",
    "83": f"{_NETWORK}/*.xSPI2.raw",
    "84": f"{_NETWORK}/digits.c",
    "86": f"{_HERE}/digits.xSPI2.bin",
    "87": f"{_HERE}/flash_plan.json",
    "701": f"{_HERE}/application.bin",
    "702": f"{_HERE}/firmware.elf",
    "703": f"{_HERE}/firmware.hex",
    "704": f"{_HERE}/descriptor.bin",
    "705": f"{_HERE}/npu_memory_init.c",
    "706": f"{_HERE}/npu_memory_init.o",
    "707": f"{_HERE}/app_networks.c",
    "708": f"{_HERE}/network_io.h",
    "709": f"{_HERE}/check.json",
    "710": f"{_HERE}/plan.json",
    "711": f"{_HERE}/index.json",
    "712": f"{_HERE}/summary.txt",
    "713": f"{_HERE}/firmware.map",
    "714": f"{_NETWORK}/network.json",
    "715": f"{_NETWORK}/manifest.json",
    "716": f"{_NETWORK}/digits.h",
    "717": f"{_NETWORK}/digits_generate_report.txt",
    "718": f"{_NETWORK}/*/digits.o",
    "719": f"{_FIRMWARE}/*/memory.ld",
    "720": f"{_FIRMWARE}/*/board_config.h",
    "721": f"{_FIRMWARE}/*/libkernels-c.a",
    "722": f"{_FIRMWARE}/*/runtime/kernels/softmax.o",
    "723": f"{_FIRMWARE}/*/boards/console.o",
}


def _altered() -> None:
    for number, pattern in ALTERED.items():

        def bit(tree: Tree, pattern: str = pattern) -> Iterator[None]:
            yield
            name = tree.one(pattern)
            tree.flip(name, tree.path(name).stat().st_size // 2)

        title = pattern.replace(f"{_HERE}/", "").replace("build/", "").replace("*", "...")
        add(Row(number, f"{title}: one bit, time kept", bit, sample=number == "82"))


_altered()
BIN, ELF, OBJECT = f"{_HERE}/firmware.bin", f"{_HERE}/firmware.elf", f"{_HERE}/app/main.o"


@row("80", "firmware.bin goes")
def goes(tree: Tree) -> Iterator[None]:
    yield
    tree.remove(BIN)


@row("85", "constants: one bit, time kept; then the title changes")
def constants_and_title(tree: Tree) -> Iterator[None]:
    yield
    tree.flip(tree.one(f"{_NETWORK}/*.xSPI2.raw"))
    tree.edit("variants.yaml", "title: Digits", "title: Numbers")


@row("94", "firmware.bin is a link to another file")
def link(tree: Tree) -> Iterator[None]:
    yield
    tree.write("../outside/firmware.bin", b"something else" * 99)
    tree.link(BIN, "../../../outside/firmware.bin")


def _older(tree: Tree, name: str) -> Iterator[None]:
    yield
    tree.copy(name, "../outside/older")
    tree.edit(MAIN)
    yield
    shutil.copy2(tree.path("../outside/older"), tree.path(name))


@row("95", "firmware.elf: the one of the build before (cp -p)")
def older_elf(tree: Tree) -> Iterator[None]:
    yield from _older(tree, ELF)


@row("724", "main.o: the one of the build before (cp -p)")
def older_object(tree: Tree) -> Iterator[None]:
    yield from _older(tree, OBJECT)


@row("725", "application.bin: the one of the build before (cp -p)")
def older_application(tree: Tree) -> Iterator[None]:
    yield from _older(tree, f"{_HERE}/application.bin")


def _simple() -> None:
    """What happens to one file."""

    def same_link(tree: Tree) -> None:
        tree.move(BIN, "../outside/firmware.bin")
        tree.link(BIN, "../../../outside/firmware.bin")

    def hard_link(tree: Tree) -> None:
        tree.path("../outside/x").hardlink_to(tree.path(BIN))
        tree.flip("../outside/x", 100)

    def exchange(tree: Tree) -> None:
        tree.move(BIN, "../outside/x")
        tree.move(f"{_HERE}/application.bin", BIN)
        tree.move("../outside/x", f"{_HERE}/application.bin")

    def cut(tree: Tree) -> None:
        with tree.kept_time(ELF):
            os.truncate(tree.path(ELF), 1000)

    def longer(tree: Tree) -> None:
        with tree.kept_time(BIN):
            tree.write(BIN, tree.path(BIN).read_bytes() + b"\0")

    def without_line(tree: Tree) -> None:
        lines = tree.read(f"{_HERE}/{LIST}").splitlines(keepends=True)
        tree.write(f"{_HERE}/{LIST}", "".join(line for line in lines if "  firmware.bin" not in line))
        tree.flip(BIN, 500)

    def forged(tree: Tree) -> None:
        before = hashlib.sha256(tree.path(BIN).read_bytes()).hexdigest()
        tree.flip(BIN, 500)
        tree.edit(f"{_HERE}/{LIST}", before, hashlib.sha256(tree.path(BIN).read_bytes()).hexdigest())

    changes: dict[str, tuple[str, Callable[[Tree], object]]] = {
        "726": ("firmware.bin is a link to what it was", same_link),
        "727": ("firmware.bin is a link to nothing", lambda tree: tree.link(BIN, "nowhere")),
        "728": ("main.o is a link to nothing", lambda tree: tree.link(OBJECT, "nowhere")),
        "729": ("firmware.bin has a hard link outside, which is edited", hard_link),
        "730": ("firmware.bin and application.bin change places", exchange),
        "731": ("firmware.elf is cut off, time kept", cut),
        "732": ("firmware.bin has a byte more, time kept", longer),
        "733": ("firmware.bin is empty", lambda tree: tree.write(BIN, "")),
        "734": ("main.o is empty", lambda tree: tree.write(OBJECT, "")),
        "735": ("main.o goes", lambda tree: tree.remove(OBJECT)),
        "736": ("the folder of the variant goes", lambda tree: tree.remove(_HERE)),
        "737": ("the folder of the networks goes", lambda tree: tree.remove("build/networks")),
        "738": ("the folder of the firmware goes", lambda tree: tree.remove("build/firmware")),
        "739": ("the build folder goes", lambda tree: tree.remove("build")),
        "740": ("the manifest of a compile goes", lambda tree: tree.remove(tree.one(f"{_NETWORK}/manifest.json"))),
        "755": ("the list of what was made in the variant's folder goes", lambda tree: tree.remove(f"{_HERE}/{LIST}")),
        "756": ("a line of that list goes, and firmware.bin is altered", without_line),
        "757": ("a list says of an altered firmware.bin what it is now", forged),
        "741": ("scons -c", lambda tree: tree.scons("-c", VARIANT)),
    }
    for number, (title, change) in changes.items():

        def happens(tree: Tree, change: Callable[[Tree], object] = change) -> Iterator[None]:
            yield
            change(tree)

        add(Row(number, title, happens))


_simple()


@row("742", "firmware.bin is a folder", refusal="firmware.bin")
def folder(tree: Tree) -> Iterator[None]:
    yield
    tree.remove(BIN)
    tree.path(BIN).mkdir()


@row("743", "firmware.bin and main.o get another mode", counts=False)
def mode(tree: Tree) -> Iterator[None]:
    yield
    tree.path(BIN).chmod(0o600)
    tree.path(OBJECT).chmod(0o444)


@row("744", "everything built gets another time", counts=False)
def times(tree: Tree) -> Iterator[None]:
    yield
    tree.age("build")


@row("745", "main.o: one bit, time kept; then main.c changes and changes back")
def object_and_source(tree: Tree) -> Iterator[None]:
    yield
    tree.flip(OBJECT, 200)
    tree.edit(MAIN, TEXT, OTHER, keep=True)
    tree.edit(MAIN, OTHER, TEXT, keep=True)


@row("746", "firmware.elf: the one of the build before; main.c changes, too")
def older_elf_and_source(tree: Tree) -> Iterator[None]:
    yield from _older(tree, ELF)
    tree.edit(MAIN, OTHER, THIRD, keep=True)


def _shipped() -> None:
    """What is altered is not shipped: a verb makes it again before it takes it."""
    application, weights = f"{_HERE}/application.bin", f"{_HERE}/digits.xSPI2.bin"
    altered = {
        "747": (["flash"], application),
        "748": (["flash"], weights),
        "749": (["flash"], f"{_HERE}/descriptor.bin"),
        "750": (["flash", "boot"], application),
        "751": (["run"], ELF),
        "752": (["export"], f"{_HERE}/npu_memory_init.c"),
        "753": (["sbom"], BIN),
        "754": (["flash", "verify"], application),
    }
    for number, (verbs, name) in altered.items():

        def shipped(tree: Tree, verbs: list[str] = verbs, name: str = name) -> Iterator[None]:
            yield
            data = tree.path(name).read_bytes()
            tree.flip(name, data.index(b"reference app") if name == ELF else len(data) // 2)
            tree.words = [f"{verb}-{VARIANT}" for verb in verbs]

        title = f"{'-, '.join(verbs)}-: {name.removeprefix(_HERE + '/')}: one bit, time kept"
        add(Row(number, title, shipped, sample=number == "747"))


_shipped()
