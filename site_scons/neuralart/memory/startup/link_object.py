"""``link`` initializers: the raw file of a pool becomes an object in the image (``npu_link_<network>_<pool>.c``)."""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError

ALIGNMENT = 64  # lines of the NPU cache, two lines of the CPU's
_SYMBOL = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
# What stands for itself in a string of C and in one of the GNU assembler.
_PLAIN = re.compile(r"[A-Za-z0-9_ ./+,:=@%(){}\[\]~#^&;!$'-]+", re.ASCII)


def symbol(network: str, pool: str) -> str:
    """Stem of the two symbols round the constants of a pool: ``<stem>_start`` and ``<stem>_end``.

    Raises:
        NeuralArtError: The name of the pool cannot be part of a symbol.
    """
    if not _SYMBOL.fullmatch(pool):
        raise NeuralArtError(
            f"the initializer of pool '{pool}' of network {network} cannot be linked: "
            "its name has more than letters, digits and '_'",
            hint="rename the pool in its pool file (fname), or use another strategy",
        )
    return f"npu_link_{network}_{pool}"


def source(network: str, pool: str, path_in_include: str) -> str:
    """Text of a C file that has the bytes of a raw file in it.

    C with one ``asm`` in it, because every toolchain that builds the rest takes that, and no array of numbers, because
    compilers read those at some megabytes a minute. The assembler reads the raw file, no preprocessor does: who builds
    the object has to declare that it depends on the raw file, and to put the folder that the path is relative to on the
    include path (``-I``, which gcc hands on to the assembler).

    Args:
        network: Name of the network.
        pool: fname of the pool.
        path_in_include: The raw file, with ``/``, relative to a folder of the include path. No absolute path: the text
            would differ from tree to tree.

    Raises:
        NeuralArtError: The path is absolute or has characters that the assembler would read as something else.
    """
    stem = symbol(network, pool)
    where = f"pool {pool} of network {network}"
    if path_in_include.startswith("/") or re.match(r"[A-Za-z]:", path_in_include):
        raise NeuralArtError(f"the path of a linked raw file is absolute: {path_in_include}", where=where)
    if not _PLAIN.fullmatch(path_in_include):
        raise NeuralArtError(
            f"the assembler cannot take this path of a linked raw file: {path_in_include!r}",
            where=where,
            hint="use letters, digits and common punctuation",
        )
    lines = [
        f'.pushsection .rodata.{stem}, \\"a\\", %progbits',
        f".balign {ALIGNMENT}",
        f".global {stem}_start",
        f".type {stem}_start, %object",
        f"{stem}_start:",
        f'.incbin \\"{path_in_include}\\"',
        f".global {stem}_end",
        f"{stem}_end:",
        f".size {stem}_start, {stem}_end - {stem}_start",
        ".popsection",
    ]
    return "\n".join(
        [
            f"/* The constants of pool {pool} of network {network}. Generated. */",
            "__asm__(",
            *(f'    "{line}\\n"' for line in lines),
            ");",
            "",
        ]
    )
