"""Images made by clang: which programs, which of gcc's words they take, and addresses that its code cannot form."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from neuralart import toolchain
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART
from neuralart.quick import dataclass, replace
from neuralart.relocatable.build.request import WantedClang
from neuralart.relocatable.build.runtimes import Runtime
from neuralart.resources import firmware_dir

_LINKER = "ld.lld"
# The ways of gcc to be position independent, and what no clang knows.
_GCC_ALONE = {
    *("-fpic", "-mno-pic-data-is-text-relative", "-msingle-pic-base", "-mpic-register=r9", "-mno-thumb-interwork"),
    *("-fstack-reuse=all", "-fsingle-precision-constant", "-nostartfiles"),
}
_STATIC = re.compile(r"\bstatic\b[^;{}]*?=(?:[^;{}]*;|\s*\{.*?\}\s*;)", re.S)


@dataclass(frozen=True)
class Clang(toolchain.Toolchain):
    """A clang that was found; its ``version``, and in place of a C library its linker's, are lines they say."""

    compiler: ClassVar[str] = "clang"


def find(wanted: WantedClang, environ: Mapping[str, str]) -> Clang:
    """The clang of ``--custom``, else of PATH. NeuralArtError: it or its linker is missing. Only lld will do: GNU ld
    forms addresses behind r9 as if r9 were 0.
    """
    folder, names = wanted.folder, ["starm-clang"] if wanted.st else ["clang"]
    names += ["clang"] if wanted.st and folder is not None else []
    places = f"{folder / 'bin'}{os.pathsep}{folder}" if folder is not None else environ.get("PATH", os.defpath)
    found = next((Path(hit) for name in names if (hit := shutil.which(name, path=places))), None)
    if found is None:
        tried = f"in {folder}" if folder is not None else "on PATH"
        hint = "name the folder of its installation: --custom FILE with llvm_install_path"
        raise NeuralArtError(f"no {' or '.join(names)} {tried}", where=wanted.option, hint=hint)
    found = found.absolute()
    linker = Path(toolchain.ask(found, f"-print-prog-name={_LINKER}"))
    if not linker.is_absolute() or not linker.is_file():
        raise NeuralArtError(f"{found} has no {_LINKER}", where=wanted.option, hint="install lld, of the same version")
    said = [toolchain.ask(program, "--version").partition("\n")[0] for program in (found, linker)]
    return Clang(str(found.parent), found.stem.removesuffix("clang"), *said)


def runtime_for(runtime: Runtime, wanted: WantedClang) -> Runtime:
    """A runtime compiled by clang. Our firmware is made by gcc, whose enums are short; of an installation, the option
    says whether its firmware is.
    """
    own = runtime.name == NEURALART
    target = [f"--target={wanted.target}", *([f"--sysroot={wanted.sysroot}"] if wanted.sysroot else [])]
    more = ["-fshort-enums"] if own or wanted.short_enums else []
    # Memory functions are called by their names of C, which ours have.
    more += ["-meabi", "gnu"] if own else []
    return replace(
        runtime,
        # Code and constants are found from where the code is, data from r9.
        flags=(*target, *(each for each in runtime.flags if each not in _GCC_ALONE), "-fropi", "-frwpi", *more),
        link=(*target, *(each for each in runtime.link if each not in _GCC_ALONE), "-fuse-ld=lld"),
        # Kernels call memory functions, and there need not be a C library for them.
        include_dirs=(*runtime.include_dirs, *([firmware_dir() / "runtime/relocatable/freestanding"] if own else [])),
        # That of the installation is for gcc.
        script=None,
    )


def helpers(found: Clang, words: Iterable[str], gnu: Callable[[], toolchain.Toolchain]) -> Path:
    """The archive of functions that compilers call for what a core cannot do: clang's own, else that of the GNU
    compiler, for which the ABI gives them the same names. NeuralArtError: there is neither.
    """
    words = [word for word in words if word.startswith(("-m", "--target="))]
    ask = "-print-libgcc-file-name"
    own = Path(toolchain.ask(found.program, *words, "-rtlib=compiler-rt", ask))
    if own.is_file():
        return own
    try:
        return Path(toolchain.ask(gnu().program, *(word for word in words if word.startswith("-m")), ask))
    except NeuralArtError as error:
        what = f"no {own.name} beside it, and no libgcc instead: {error.what}"
        raise NeuralArtError(what, where=str(found.program), hint=error.hint) from error


def reachable(text: str, symbols: Iterable[str]) -> str:
    """network.c with its relative pools where code of clang reaches them. Their labels are variables, which that code
    looks for behind r9; a loader moves them apart. So code reads their addresses from data, and so late that no
    optimizer sees through it. Tables keep the labels: they are made by the linker.
    """
    for symbol in symbols:
        declared = re.compile(rf"\bextern\b[^;{{}}]*\b{re.escape(symbol)}\b[^;]*;")
        if (found := declared.search(text)) is None:
            continue
        head, rest = text[: found.end()], text[found.end() :]
        parts, done = [], 0
        for table in (*_STATIC.finditer(rest), None):
            end = table.start() if table else len(rest)
            parts.append(re.sub(rf'(?<!")\b{re.escape(symbol)}\b', f"((unsigned char *)at_{symbol})", rest[done:end]))
            parts.append(table.group() if table else "")
            done = table.end() if table else end
        text = f"{head}\nstatic unsigned char *volatile at_{symbol} = (unsigned char *){symbol};{''.join(parts)}"
    return text
