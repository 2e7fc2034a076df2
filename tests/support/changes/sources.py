"""Rows: sources and models get other contents, with any time."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from support.changes.rows import Row, add, row
from support.changes.toolchain import choose, install, kept
from support.changes.tree import MAIN, MODEL, OLD, OTHER, TEXT, THIRD, VARIANTS, WHEEL, Tree
from support.models import tflite_edit


def weights(tree: Tree, when: float | None = None, model: str = MODEL) -> None:
    """Another weight in a model, of the same size."""
    tflite_edit.change_weight(tree.path(model))
    if when is not None:
        tree.age(model, when=when)


def variants(tree: Tree, *, network: str = "", variant: str = "", top: str = "") -> None:
    """Write variants.yaml with more keys."""
    text = VARIANTS.replace("vectors}", f"vectors{network and ', ' + network}}}")
    tree.write(
        "variants.yaml", text.replace("network: digits}", f"network: digits{variant and ', ' + variant}}}") + top
    )


@row("01", "main.c: plain edit", sample=True)
def plain(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)


@row("02", "main.c: same size, time kept, which is recent")
def recent_time_kept(tree: Tree) -> Iterator[None]:
    tree.age(MAIN, when=time.time() - 60)
    yield
    tree.edit(MAIN, keep=True)


def _kept_times() -> None:
    """Contents change, the time stays."""
    times = {
        "03": ("same size, time of 2020 kept", OLD, OTHER),
        "04": ("other size, time of 2020 kept", OLD, '"the reference application"'),
        "107": ("same size, time of 1970 kept", 0, OTHER),
        "108": ("same size, time before 1970 kept", -86_400, OTHER),
        "109": ("same size, time of 2100 kept", 4_102_444_800, OTHER),
        "110": ("same size, time of three days ago kept", time.time() // 1 - 3 * 86_400, OTHER),
    }
    for number, (title, when, text) in times.items():

        def time_kept(tree: Tree, when: float = when, text: str = text) -> Iterator[None]:
            tree.age(MAIN, when=when)
            yield
            tree.edit(MAIN, TEXT, text, keep=True)

        add(Row(number, f"main.c: {title}", time_kept, sample=number == "03"))


_kept_times()


def _other(tree: Tree) -> Path:
    """Another version of main.c beside the project, of the same size and time."""
    return tree.write("../outside/main.c", tree.read(MAIN).replace(TEXT, OTHER), OLD)


@row("05", "main.c: cp -p of another version with the same old time")
def cp_p(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    yield
    shutil.copy2(_other(tree), tree.path(MAIN))


@row("06", "main.c: mv of another version with the same old time")
def mv(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    yield
    _other(tree).replace(tree.path(MAIN))


@row("07", "main.c: tar x of another version, all times fixed")
def tar(tree: Tree) -> Iterator[None]:
    tree.age("firmware")
    yield
    tree.copy("firmware", "../outside/firmware")
    tree.edit(f"../outside/{MAIN}")
    words = ["tar", "-C", "../outside", f"--mtime=@{OLD}", "--sort=name", "-cf", "../outside/x.tar", "firmware"]
    assert tree.call(words).returncode == 0
    assert tree.call(["tar", "xf", "../outside/x.tar"]).returncode == 0


@row("08", "main.c: as rsync does: beside it, its time set, renamed")
def rsync(tree: Tree) -> Iterator[None]:
    tree.age(MAIN)
    yield
    tree.write("firmware/app/.main.c.Xy12ab", tree.read(MAIN).replace(TEXT, OTHER), OLD)
    tree.move("firmware/app/.main.c.Xy12ab", MAIN)


@row("09", "weights: same size, time of 1980 (from a wheel)")
def weights_of_a_wheel(tree: Tree) -> Iterator[None]:
    tree.age(MODEL, when=WHEEL)
    yield
    weights(tree, WHEEL)


@row("10", "weights: same size, recent time kept")
def weights_time_kept(tree: Tree) -> Iterator[None]:
    yield
    with tree.kept_time(MODEL):
        weights(tree)


@row("11", "weights: plain edit", sample=True)
def weights_plain(tree: Tree) -> Iterator[None]:
    yield
    weights(tree)


@row("14", "header: same size, time of 2020 kept")
def header(tree: Tree) -> Iterator[None]:
    tree.age("firmware")
    yield
    tree.edit("firmware/app/host_link.h", "E_PARAMS = 10", "E_PARAMS = 11", keep=True)


def other_text(number: int) -> str:
    """A text for main.c, of the same length as each other."""
    return f'"{number:03}erence application"'


@row("18", "main.c: six edits with the time kept, each right behind a build")
def right_behind(tree: Tree) -> Iterator[None]:
    yield
    now = TEXT
    for text in map(other_text, (1, 2, 1, 2, 3)):
        tree.edit(MAIN, now, text, keep=True)
        yield
        tree.expect(text)
        now = text
    tree.edit(MAIN, now, TEXT, keep=True)


def _during(tree: Tree, *, keep: bool) -> Iterator[None]:
    yield
    now = TEXT
    for number, step in enumerate(("NETWORK", "main.o", "LINK", "firmware.bin")):
        tree.edit(MAIN, now, other_text(2 * number))
        weights(tree)
        running = tree.start()
        running.until(step)
        now = other_text(2 * number + 1)
        tree.edit(MAIN, other_text(2 * number), now, keep=keep)
        running.end()
    tree.edit(MAIN, now, OTHER, keep=keep)


@row("19", "main.c: same-size edits with the time kept during builds")
def during_builds_time_kept(tree: Tree) -> Iterator[None]:
    yield from _during(tree, keep=True)


@row("19b", "main.c: plain edits during builds")
def during_builds(tree: Tree) -> Iterator[None]:
    yield from _during(tree, keep=False)


@row("111", "main.c: edited behind its compile, before the build ends, time kept")
def behind_its_compile(tree: Tree) -> Iterator[None]:
    compiler, flag = kept(tree), tree.path("../outside/compiled")
    waits = f'"{compiler}" "$@" || exit\ncase "$*" in *app/main.c*) touch "{flag}"; sleep 2 ;; esac'
    install(tree, gcc=waits)
    choose(tree)
    yield
    tree.remove(str(flag))
    tree.edit(MAIN)
    running = tree.start()
    while not flag.exists():
        time.sleep(0.01)
    tree.edit(MAIN, OTHER, THIRD, keep=True)
    assert running.end() == 0, running.lines


@row("112", "kernel source: time of 2020 kept")
def kernel(tree: Tree) -> Iterator[None]:
    tree.age("firmware")
    yield
    tree.edit("firmware/runtime/kernels/softmax.c", "#include", "\n\n#include", keep=True)


@row("113", "a kernel source comes, with an old time")
def new_kernel(tree: Tree) -> Iterator[None]:
    tree.age("firmware")
    yield
    tree.write("firmware/runtime/kernels/zz_new.c", "int zz_new(void) { return 1; }\n", OLD)


@row("114", "a kernel source that the network needs goes")
def kernel_goes(tree: Tree) -> Iterator[None]:
    yield
    tree.remove("firmware/runtime/kernels/softmax.c")


@row("115", "linker script of the package: time of 2020 kept")
def linker_script(tree: Tree) -> Iterator[None]:
    tree.age("firmware")
    yield
    tree.edit("firmware/boards/sections.ld", "SECTIONS", "/* torture */ SECTIONS", keep=True)
    tree.edit("firmware/boards/console.c", "#include", "\n#include", keep=True)


@row("128", "the model goes")
def no_model(tree: Tree) -> Iterator[None]:
    yield
    tree.remove(MODEL)


@row("129", "the model is cut off, time of 2020 kept")
def cut_model(tree: Tree) -> Iterator[None]:
    tree.age(MODEL)
    yield
    data = tree.path(MODEL).read_bytes()
    tree.write(MODEL, data[: len(data) // 2], OLD)


@row("130", "main.c: only its time changes", counts=False)
def touched(tree: Tree) -> Iterator[None]:
    yield
    os.utime(tree.path(MAIN))


@row("131", "main.c: an older version with its older time (from an archive)")
def older(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    tree.age(MAIN)


@row("132", "main.c is empty")
def empty(tree: Tree) -> Iterator[None]:
    yield
    tree.write(MAIN, "", OLD)


@row("133", "all files get one old time, then weights and main.c change with it")
def whole_archive(tree: Tree) -> Iterator[None]:
    tree.age(".")
    yield
    tree.edit(MAIN, keep=True)
    weights(tree, OLD)


@row("134", "relocatable model: weights, time of 1980 kept")
def relocatable(tree: Tree) -> Iterator[None]:
    text = re.sub(r"network: digits}", "network: digits, relocatable: true}", VARIANTS)
    tree.write("variants.yaml", text)
    tree.age(MODEL, when=WHEEL)
    yield
    weights(tree, WHEEL)


@row("135", "main.c: two edits of the same size at once behind a build, time kept")
def twice_at_once(tree: Tree) -> Iterator[None]:
    yield
    tree.edit(MAIN)
    yield
    tree.edit(MAIN, OTHER, TEXT, keep=True)
    tree.edit(MAIN, TEXT, THIRD, keep=True)
