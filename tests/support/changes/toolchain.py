"""Rows: the compiler, or what it starts and reads, is another one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.changes.rows import row
from support.changes.tree import OLD, Tree

PREFIX = "arm-none-eabi-"
GCC = f"{PREFIX}gcc"
# Options of equal length: another code.
_OPTIONS = ("-fno-inline", "-fno-ivopts")
TOOLS = "../outside/tools"


def asked(tree: Tree, *words: str) -> str:
    """What the compiler says."""
    done = subprocess.run(
        [Path(tree.env["NEURALART_TOOLCHAIN"], GCC), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def kept(tree: Tree) -> Path:
    """The compiler of this run, which keeps its answers."""
    return Path(tree.env["NEURALART_TOOLCHAIN"], GCC)


def script(tree: Tree, name: str, text: str, when: float | None = OLD) -> None:
    """A program that is a script of the shell."""
    tree.write(name, f"#!/bin/sh\n{text}\n", when).chmod(0o755)


def install(tree: Tree, folder: str = TOOLS, gcc: str = "") -> None:
    """A folder with all programs of the compiler as links, and ``gcc`` as a script; the build takes them from there."""
    common = kept(tree)
    tree.path(folder).mkdir(parents=True)
    for program in sorted(common.parent.glob(f"{PREFIX}*")):
        if program.name != GCC:
            tree.link(f"{folder}/{program.name}", str(program.resolve()))
    script(tree, f"{folder}/{GCC}", gcc or f'exec "{common}" {_OPTIONS[0]} "$@"')


def choose(tree: Tree, folder: str = TOOLS) -> None:
    """Build with the programs of a folder."""
    tree.env["NEURALART_TOOLCHAIN"] = str(tree.path(folder))


@row("100", "gcc, a script, is edited: another code, the same version")
def edited(tree: Tree) -> Iterator[None]:
    install(tree)
    choose(tree)
    yield
    tree.edit(f"{TOOLS}/{GCC}", *_OPTIONS)


@row("101", "gcc is edited: size and time kept")
def edited_time_kept(tree: Tree) -> Iterator[None]:
    install(tree)
    choose(tree)
    yield
    tree.edit(f"{TOOLS}/{GCC}", *_OPTIONS, keep=True)


@row("102", "gcc is replaced by another of the same size and time, by rename")
def replaced(tree: Tree) -> Iterator[None]:
    install(tree)
    choose(tree)
    yield
    tree.copy(f"{TOOLS}/{GCC}", "../outside/new")
    tree.edit("../outside/new", *_OPTIONS, keep=True)
    tree.move("../outside/new", f"{TOOLS}/{GCC}")


def _alternatives(tree: Tree) -> None:
    """gcc is a link to one of two, of equal size and time."""
    install(tree)
    for name, option in zip("ab", _OPTIONS, strict=True):
        script(tree, f"../outside/{name}-gcc", f'exec "{kept(tree)}" {option} "$@"')
    tree.link("../outside/alternative", "a-gcc")
    tree.link(f"{TOOLS}/{GCC}", "../alternative")


@row("103", "gcc is a link (update-alternatives): to another of the same size and time")
def link(tree: Tree) -> Iterator[None]:
    _alternatives(tree)
    tree.link(f"{TOOLS}/{GCC}", "../a-gcc")
    choose(tree)
    yield
    tree.link(f"{TOOLS}/{GCC}", "../b-gcc")


@row("103b", "gcc is a chain of links: the middle one leads to another")
def chain(tree: Tree) -> Iterator[None]:
    _alternatives(tree)
    choose(tree)
    yield
    tree.link("../outside/alternative", "b-gcc")


def _by_path(tree: Tree, *folders: str) -> None:
    del tree.env["NEURALART_TOOLCHAIN"]
    own = [str(tree.path(folder)) for folder in folders]
    tree.env["PATH"] = ":".join([*own, *tree.env["PATH"].split(":")])


def _two(tree: Tree) -> None:
    common = kept(tree)
    for name, option in zip("ab", _OPTIONS, strict=True):
        install(tree, f"../outside/{name}", f'exec "{common}" {option} "$@"')


@row("104", "PATH: another gcc comes first")
def path_variable(tree: Tree) -> Iterator[None]:
    _two(tree)
    _by_path(tree, "../outside/a", "../outside/b")
    yield
    first, second, *rest = tree.env["PATH"].split(":")
    tree.env["PATH"] = ":".join([second, first, *rest])


@row("104b", "a gcc comes into a folder of PATH that is before the other's")
def comes_into_path(tree: Tree) -> Iterator[None]:
    _two(tree)
    tree.path("../outside/first").mkdir()
    _by_path(tree, "../outside/first", "../outside/a")
    yield
    for path in sorted(tree.path("../outside/b").iterdir()):
        tree.copy(str(path), f"../outside/first/{path.name}")


@row("104c", "a folder of PATH that was not there comes, with a gcc")
def folder_of_path_comes(tree: Tree) -> Iterator[None]:
    _two(tree)
    _by_path(tree, "../outside/first", "../outside/a")
    yield
    tree.move("../outside/b", "../outside/first")


@row("104d", "a folder of PATH is a link: to another folder, times equal")
def folder_of_path_link(tree: Tree) -> Iterator[None]:
    _two(tree)
    tree.link("../outside/first", "a")
    _by_path(tree, "../outside/first")
    yield
    tree.link("../outside/first", "b")


@row("901", "NEURALART_TOOLCHAIN names another folder")
def variable(tree: Tree) -> Iterator[None]:
    _two(tree)
    choose(tree, "../outside/a")
    yield
    choose(tree, "../outside/b")


@row("902", "the toolchain's folder is a link: to another folder, times equal")
def folder_link(tree: Tree) -> Iterator[None]:
    _two(tree)
    tree.link("../outside/tools", "a")
    choose(tree)
    yield
    tree.link("../outside/tools", "b")


@row("903", "gcc goes")
def goes(tree: Tree) -> Iterator[None]:
    install(tree)
    choose(tree)
    yield
    tree.remove(f"{TOOLS}/{GCC}")


_PADS = 'real "$@" || exit\nfor out; do :; done\ncase $out in *.ENDING) printf "\\0\\0\\0\\0" >> "$out" ;; esac'


def _objcopy(tree: Tree, pads: bool) -> str:
    real = tree.path(f"{TOOLS}/{PREFIX}objcopy").resolve()
    return _PADS.replace("real", f'"{real}"', 1).replace("ENDING", "bin" if pads else "not")


@row("105", "objcopy becomes one that pads")
def objcopy(tree: Tree) -> Iterator[None]:
    install(tree)
    choose(tree)
    yield
    text = _objcopy(tree, pads=True)
    tree.remove(f"{TOOLS}/{PREFIX}objcopy")
    script(tree, f"{TOOLS}/{PREFIX}objcopy", text)


@row("105b", "objcopy is edited: size and time kept")
def objcopy_time_kept(tree: Tree) -> Iterator[None]:
    install(tree)
    text, then = _objcopy(tree, pads=False), _objcopy(tree, pads=True)
    tree.remove(f"{TOOLS}/{PREFIX}objcopy")
    script(tree, f"{TOOLS}/{PREFIX}objcopy", text)
    choose(tree)
    yield
    script(tree, f"{TOOLS}/{PREFIX}objcopy", then)


def _with_headers(tree: Tree) -> None:
    """A compiler with a folder of headers of its own; kernels do without, which saves most of the time."""
    common, headers = kept(tree), tree.path(f"{TOOLS}/include")
    install(tree, gcc=f'case "$*" in */kernels/*) exec "{common}" "$@" ;; esac\nexec "{common}" -I"{headers}" "$@"')
    tree.write(f"{TOOLS}/include/nothing.h", "", OLD)
    choose(tree)


# Sources include it more than once.
_HEADER = '#pragma once\n#include_next <stdint.h>\nstatic const char torture[] __attribute__((used)) = "A";\n'


@row("106", "a header of the toolchain: same size, time of 2020 kept")
def header(tree: Tree) -> Iterator[None]:
    _with_headers(tree)
    tree.write(f"{TOOLS}/include/stdint.h", _HEADER, OLD)
    yield
    tree.edit(f"{TOOLS}/include/stdint.h", '"A"', '"B"', keep=True)


@row("106b", "a header of the toolchain comes in front of another")
def header_comes(tree: Tree) -> Iterator[None]:
    _with_headers(tree)
    yield
    tree.write(f"{TOOLS}/include/stdint.h", _HEADER, OLD)


def _starts(tree: Tree, program: str, before: str, after: str, *, whole: bool) -> Iterator[None]:
    """gcc stays as it is, a program that it starts is edited with its size and time kept.

    Args:
        tree: The tree.
        program: Its name.
        before: What it adds to its arguments at first.
        after: What it adds then.
        whole: It decides about objects: the compiler that keeps its answers does not know of it.
    """
    real, common = asked(tree, f"-print-prog-name={program}"), kept(tree)
    real_gcc = Path(asked(tree, "-print-prog-name=gcc"))
    more = f'-B"{tree.path(f"{TOOLS}/lib")}/"'
    plain = f'exec "{common}" "$@"'
    compiled = f'exec {Path("/usr/bin") / GCC if not real_gcc.is_absolute() else real_gcc} {more} "$@"'
    chosen = 'case "$*" in */kernels/*) KEPT ;; esac\nREAL' if whole else 'case " $* " in *" -c "*) KEPT ;; esac\nREAL'
    install(tree, gcc=chosen.replace("KEPT", plain).replace("REAL", compiled))
    for name, words in (("a", before), ("b", after)):
        script(tree, f"{TOOLS}/{name}", f'exec "{real}" {words} "$@"')
    tree.copy(f"{TOOLS}/a", f"{TOOLS}/lib/{program}")
    choose(tree)
    yield
    tree.copy(f"{TOOLS}/b", f"{TOOLS}/lib/{program}")


@row("904", "ld: size and time kept")
def linker(tree: Tree) -> Iterator[None]:
    yield from _starts(tree, "ld", "--defsym=torture=1", "--defsym=torture=2", whole=False)


@row("905", "cc1, the compiler proper: size and time kept")
def compiler_proper(tree: Tree) -> Iterator[None]:
    yield from _starts(tree, "cc1", *_OPTIONS, whole=True)


@row("906", "as, the assembler: size and time kept")
def assembler(tree: Tree) -> Iterator[None]:
    yield from _starts(tree, "as", "--defsym torture=1", "--defsym torture=2", whole=True)


_LIBRARY = "*lib:\n--start-group %(libgcc) {} --end-group\n"


@row("907", "the C library: same size, time of 2020 kept")
def library(tree: Tree) -> Iterator[None]:
    common, place = kept(tree), tree.path(f"{TOOLS}/lib")
    specs = f'-specs="{place}/own.specs"'
    install(tree, gcc=f'case " $* " in *" -c "*) exec "{common}" "$@" ;; esac\nexec "{common}" "$@" {specs}')
    tree.write(f"{TOOLS}/lib/own.specs", _LIBRARY.format(place / "libc.a"), OLD)
    target = ["-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb", "--specs=picolibc.specs"]
    below = asked(tree, *target, "-print-multi-directory")
    (real,) = Path("/usr/lib/picolibc/arm-none-eabi/lib", below).glob("libc.a")
    tree.copy(str(real), f"{TOOLS}/lib/libc.a")
    data = tree.path(f"{TOOLS}/lib/libc.a").read_bytes()
    tree.write(f"{TOOLS}/lib/libc.a", data, OLD)
    choose(tree)
    yield
    tree.write(f"{TOOLS}/lib/libc.a", _other_code(data), OLD)


def _other_code(archive: bytes) -> bytes:
    """As if another compiler had made it: its comments say so, which become part of an image."""
    assert b"GCC: (" in archive
    return archive.replace(b"GCC: (", b"gcc: (")
