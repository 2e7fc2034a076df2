"""Rows: links lead elsewhere, folders change places, headers come in front of others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from support.changes.rows import row
from support.changes.sources import weights
from support.changes.tree import MAIN, MODEL, OLD, OTHER, TEXT, WHEEL, Tree


def two_versions(tree: Tree, when: float | None = OLD) -> None:
    """main.c twice beside the project, as a.c and b.c, of the same size and time."""
    tree.write("../outside/a.c", tree.read(MAIN), when)
    tree.write("../outside/b.c", tree.read(MAIN).replace(TEXT, OTHER), when)
    if when is None:
        known = tree.path("../outside/a.c").stat()
        os.utime(tree.path("../outside/b.c"), ns=(known.st_atime_ns, known.st_mtime_ns))


@row("20", "main.c is a link: another target of the same size and old time", sample=True)
def link(tree: Tree) -> Iterator[None]:
    two_versions(tree)
    tree.link(MAIN, "../../../outside/a.c")
    yield
    tree.link(MAIN, "../../../outside/b.c")


@row("20b", "main.c is a link: another target of the same size and recent time")
def link_recent(tree: Tree) -> Iterator[None]:
    two_versions(tree, None)
    tree.link(MAIN, "../../../outside/a.c")
    yield
    tree.link(MAIN, "../../../outside/b.c")


@row("21", "main.c is a chain of links: the middle one leads elsewhere, old times")
def chain(tree: Tree) -> Iterator[None]:
    two_versions(tree)
    tree.link("../outside/middle", "a.c")
    tree.link(MAIN, "../../../outside/middle")
    yield
    tree.link("../outside/middle", "b.c")


@row("22", "main.c is a link whose target goes")
def broken(tree: Tree) -> Iterator[None]:
    two_versions(tree)
    tree.link(MAIN, "../../../outside/a.c")
    yield
    tree.remove("../outside/a.c")


@row("201", "main.c becomes a link to another version of the same size and time")
def becomes_a_link(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    two_versions(tree)
    yield
    tree.link(MAIN, "../../../outside/b.c")


@row("202", "main.c, a link, becomes a file of the same contents", counts=False)
def becomes_a_file(tree: Tree) -> Iterator[None]:
    two_versions(tree)
    tree.link(MAIN, "../../../outside/a.c")
    yield
    shutil.copy2(tree.path("../outside/a.c"), tree.path("../outside/copy"))
    tree.move("../outside/copy", MAIN)


@row("23", "main.c has a hard link outside, which is edited")
def hard_link(tree: Tree) -> Iterator[None]:
    tree.path("../outside/main.c").hardlink_to(tree.path(MAIN))
    yield
    tree.edit("../outside/main.c")


@row("203", "main.c has a hard link outside, which is edited, time of 2020 kept")
def hard_link_old(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    tree.path("../outside/main.c").hardlink_to(tree.path(MAIN))
    yield
    tree.edit("../outside/main.c", keep=True)


@row("24", "folder app is renamed, a copy with its times edited in its place")
def renamed(tree: Tree) -> Iterator[None]:
    yield
    tree.move("firmware/app", "firmware/app.before")
    tree.copy("firmware/app.before", "firmware/app")
    tree.edit(MAIN, keep=True)


@row("24b", "folder app is renamed, a copy edited in its place, times of 2020")
def renamed_old(tree: Tree) -> Iterator[None]:
    tree.age("firmware/app")
    yield
    tree.move("firmware/app", "firmware/app.before")
    tree.copy("firmware/app.before", "firmware/app")
    tree.edit(MAIN, keep=True)


@row("25", "folder app is renamed, edited, renamed back")
def renamed_back(tree: Tree) -> Iterator[None]:
    yield
    tree.move("firmware/app", "firmware/elsewhere")
    tree.edit("firmware/elsewhere/main.c", keep=True)
    tree.move("firmware/elsewhere", "firmware/app")


@row("204", "two folders change places, times of 2020")
def exchanged(tree: Tree) -> Iterator[None]:
    tree.copy("firmware/app", "firmware/app2")
    tree.edit("firmware/app2/main.c")
    tree.age("firmware")
    yield
    tree.move("firmware/app", "firmware/app3")
    tree.move("firmware/app2", "firmware/app")


# What main.c includes; the header that it finds is far behind in the include path.
_FAR = "firmware/runtime/include"


def includes(tree: Tree, name: str) -> None:
    """Let main.c include a header of the runtime's folder."""
    tree.write(f"{_FAR}/{name}", '#define TORTURE "reference application"\n', OLD)
    tree.edit(MAIN, '#include "start.h"', f'#include "start.h"\n#include "{name}"')
    tree.edit(MAIN, TEXT, "TORTURE")


def shadowing(tree: Tree, place: str, name: str) -> None:
    """A header of the same name in a folder that comes before."""
    tree.write(f"{place}/{name}", '#define TORTURE "seference application"\n', OLD)


@row("26", "a header comes in front of another")
def shadowing_header(tree: Tree) -> Iterator[None]:
    includes(tree, "torture.h")
    yield
    shadowing(tree, "firmware/boards", "torture.h")


@row("26b", "a header comes in front of another, beside the source")
def shadowing_beside(tree: Tree) -> Iterator[None]:
    includes(tree, "torture.h")
    yield
    shadowing(tree, "firmware/app", "torture.h")


@row("27", "a header comes in front of another, in a folder named build")
def shadowing_in_build(tree: Tree) -> Iterator[None]:
    includes(tree, "build/torture.h")
    yield
    shadowing(tree, "firmware/app", "build/torture.h")


@row("28", "a hidden header comes in front of another")
def shadowing_hidden(tree: Tree) -> Iterator[None]:
    includes(tree, ".torture.h")
    yield
    shadowing(tree, "firmware/app", ".torture.h")


@row("205", "a header comes into the variant's folder, which is first of all")
def shadowing_in_the_variant(tree: Tree) -> Iterator[None]:
    includes(tree, "torture.h")
    tree.own = ["build/digits-n6/torture.h"]
    yield
    shadowing(tree, "build/digits-n6", "torture.h")


@row("206", "a header comes into the build folder (build/zz.h)")
def shadowing_in_the_build_folder(tree: Tree) -> Iterator[None]:
    includes(tree, "zz.h")
    tree.move(f"{_FAR}/zz.h", "firmware/runtime/zz.h")
    tree.edit(MAIN, '"zz.h"', '"../zz.h"')
    tree.own = ["build/zz.h"]
    yield
    shadowing(tree, "build", "zz.h")


@row("207", "a shadowing header goes")
def shadow_goes(tree: Tree) -> Iterator[None]:
    includes(tree, "torture.h")
    shadowing(tree, "firmware/boards", "torture.h")
    yield
    tree.remove("firmware/boards/torture.h")


@row("208", "a link takes the place of a header, old times")
def header_link(tree: Tree) -> Iterator[None]:
    includes(tree, "torture.h")
    tree.write("../outside/torture.h", '#define TORTURE "seference application"\n', OLD)
    yield
    tree.link(f"{_FAR}/torture.h", "../../../../outside/torture.h")


@row("209", "a folder of headers comes in front of another's, as a link")
def header_folder(tree: Tree) -> Iterator[None]:
    includes(tree, "more/torture.h")
    tree.write("../outside/torture.h", '#define TORTURE "seference application"\n', OLD)
    yield
    tree.link("firmware/app/more", "../../../outside")


def _two_firmwares(tree: Tree, when: float | None) -> None:
    tree.copy("firmware", "../outside/firmware-a")
    tree.copy("firmware", "../outside/firmware-b")
    tree.edit("../outside/firmware-b/app/main.c", keep=True)
    if when is not None:
        tree.age("../outside", when=when)
    tree.link("firmware", "../outside/firmware-a")


@row("29", "firmware is a link to a folder: another folder, times of 2020")
def folder_link(tree: Tree) -> Iterator[None]:
    _two_firmwares(tree, OLD)
    yield
    tree.link("firmware", "../outside/firmware-b")


@row("29b", "firmware is a link to a folder: another folder, recent equal times")
def folder_link_recent(tree: Tree) -> Iterator[None]:
    _two_firmwares(tree, None)
    yield
    tree.link("firmware", "../outside/firmware-b")


@row("210", "models is a link to a folder: another folder, times of 1980")
def models_link(tree: Tree) -> Iterator[None]:
    tree.copy("models", "../outside/models-a")
    weights(tree)
    tree.copy("models", "../outside/models-b")
    tree.remove("models")
    tree.age("../outside", when=WHEEL)
    tree.link("models", "../outside/models-a")
    yield
    tree.link("models", "../outside/models-b")


@row("30", "the model is a link outside, its target replaced, time of 1980 kept")
def model_link(tree: Tree) -> Iterator[None]:
    tree.move(MODEL, "../outside/digits.tflite")
    tree.link(MODEL, "../../../outside/digits.tflite")
    tree.age("../outside/digits.tflite", when=WHEEL)
    yield
    tree.copy("../outside/digits.tflite", "../outside/new.tflite")
    weights(tree, WHEEL, "../outside/new.tflite")
    tree.move("../outside/new.tflite", "../outside/digits.tflite")


@row("31", "main.c gets a name in other letters")
def case(tree: Tree) -> Iterator[None]:
    yield
    tree.move(MAIN, "firmware/app/Main.c")


@row("211", "variants.yaml is a link: another target, old times")
def variants_link(tree: Tree) -> Iterator[None]:
    text = tree.read("variants.yaml")
    for name in "12":
        tree.write(
            f"../outside/{name}.yaml", text.replace("network: digits}", f"network: digits, defines: [T={name}]}}"), OLD
        )
    tree.link("variants.yaml", "../outside/1.yaml")
    yield
    tree.link("variants.yaml", "../outside/2.yaml")


@row("212", "site_scons is a link (a submodule elsewhere): another version of the package")
def package_link(tree: Tree) -> Iterator[None]:
    for name, length in (("a", 32), ("b", 16)):
        tree.copy("site_scons", f"../outside/{name}/site_scons")
        tree.copy("firmware", f"../outside/{name}/firmware")
        hexadecimal = f"../outside/{name}/site_scons/neuralart/text"
        tree.edit(f"{hexadecimal}/ihex.py", "\n_ROW = 32", f"\n_ROW = {length}")
        tree.remove(f"{hexadecimal}/__pycache__")
    tree.age("../outside")
    tree.remove("site_scons")
    tree.link("site_scons", "../outside/a/site_scons")
    yield
    tree.link("site_scons", "../outside/b/site_scons")


@row("213", "the whole tree moves, and is edited there, times kept")
def tree_moves(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN, keep=True)
    tree.root.rename(tree.base / "elsewhere")
    shutil.copytree(tree.base / "elsewhere", tree.root, symlinks=True)
    shutil.rmtree(tree.base / "elsewhere")
