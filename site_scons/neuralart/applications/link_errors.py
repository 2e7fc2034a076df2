"""Turns errors of compiler and linker into one line with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from neuralart.applications import errorlines
from neuralart.errors import NeuralArtError, similar
from neuralart.quick import dataclass

_LINKER = re.compile(r"^(?:\S*[/\\])?(?:[\w.+-]*-)?ld(?:\.bfd|\.exe)?: ")
_IN_FUNCTION = re.compile(r"^(?P<file>.+): in function [`'](?P<function>.+)':$")
_UNDEFINED = re.compile(r"^(?P<where>.*?): undefined reference to [`'](?P<name>.+)'$")
_TWICE = re.compile(r"^(?P<where>.*?): multiple definition of [`'](?P<name>.+?)'; (?P<first>.+?): first defined here$")
_OVERFLOW = re.compile(r"^region [`'](?P<region>.+)' overflowed by (?P<bytes>\d+) bytes?$")
_ASSERTED = re.compile(r"^(?P<region>\w+) is too small: ")
_ENTRY = re.compile(r"warning: cannot find entry symbol (?P<name>\S+?);")
_NO_LIBRARY = re.compile(r"^cannot find -l(?P<name>[^\s:]+)")
# The object or archive in front of a place.
_OBJECT = re.compile(r"^.*?\.(?:o|obj|a|lib)(?:\([^)]*\))?:(?=[^(])")
_C_LIBRARY = re.compile(r"(lib(?:c|c_nano|g|m|gcc|stdc\+\+)\.a)\(")
_OURS = re.compile(r"(?:^|/)firmware/(?:boards|program|runtime|h747)/")
_REGIONS = re.compile(r"^(\S+) +0x([0-9a-f]+) +0x([0-9a-f]+)(?: +[a-z!]+)?$", re.M)
_USERS = re.compile(r"^ (\.\S+|COMMON)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$", re.M)
_NOT_LOADED = (".debug", ".comment", ".ARM.attributes", ".stab", ".note.GNU")
_SHOWN = 3

_MATH = r"(?:a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|log(?:2|10|1p)?|pow|sqrt|cbrt|hypot|fmod|l?l?round|floor|ceil)[fl]?"
# What undefined names usually mean.
_HINTS = (
    (r"main", "write 'int main(void)' in one of the files of application: {sources: {files}}"),
    (
        r"_+(?:heap|bss|data|stack)_?\w*|_(?:estack|sidata|sdata|edata|sbss|ebss|end)|end",
        "a linker script defines it: yours must, or leave 'linker_script' out",
    ),
    (
        r"_(?:write|read|close|lseek|fstat|isatty|sbrk|exit|kill|getpid)|sbrk|std(?:in|out|err)",
        "the C library needs it: define it, or leave 'linker_script' out, then it is the board's console",
    ),
    (r"__cxa_\w+|__gxx_\w+|std::.+|operator .+|vtable for .+|_Z\w+", "a part of C++: libraries: [stdc++]"),
    (_MATH, "a function of the C library's mathematics: libraries: [m]"),
    (r"(?:HAL|BSP|LL(?!_ATON))_\w+", "a part of the board's HAL: name its sources in 'files'"),
    (
        r"(?:ll_sw_|LL_ATON_LIB_|forward_)\w+",
        "a part of the vendor's runtime: application: {sources: {runtime: FOLDER}}",
    ),
    (
        r"neuralart_\w+|na_\w+",
        "a part of this project's runtime: with 'linker_script' or a program of your own, link all of firmware/runtime",
    ),
)


class MissingName(NamedTuple):
    """An undefined name, and where it is used."""

    name: str
    where: str  # ``file:line``, without debug information the object
    user: str = ""  # function that refers to it
    library: str = ""  # archive of the C library that the function is in


@dataclass(frozen=True)
class ProgramFacts:
    """Facts about a program besides the linker's text; gathered only if needed."""

    symbols: Callable[[], Iterable[str]] = lambda: ()  # names that its objects and archives define
    map_text: Callable[[], str] = lambda: ""  # the linker's map; empty: there is none


def place(text: str) -> str:
    """Shorten a linker's place: ``src/main.c:7`` of ``build/obj/main.o:./src/main.c:7``; without debug information the
    object or the file.
    """
    return re.sub(r"^(?:\./)+", "", _OBJECT.sub("", text, count=1)).partition(":(")[0]


def _lines(text: str) -> list[str]:
    return [_LINKER.sub("", line.rstrip()) for line in text.splitlines()]


def references(text: str) -> Iterator[MissingName]:
    """List undefined names in the linker's order, each once."""
    user = file = ""
    known = set()
    for line in _lines(text):
        inside = _IN_FUNCTION.match(line)
        if inside is not None:
            user, file = inside["function"], inside["file"]
        missing = _UNDEFINED.match(line)
        if missing is not None and missing["name"] not in known:
            known.add(missing["name"])
            library = _C_LIBRARY.search(missing["where"]) or _C_LIBRARY.search(file)
            yield MissingName(missing["name"], place(missing["where"]), user, library[1] if library is not None else "")


def users(map_text: str, region: str) -> list[tuple[int, str]]:
    """List the largest users of a region: bytes and names."""
    head, _, body = map_text.partition("\nLinker script and memory map\n")
    found = {name: (int(origin, 16), int(size, 16)) for name, origin, size in _REGIONS.findall(head)}
    if region not in found:
        return []
    others = sorted(start for start, _ in found.values() if start > found[region][0])
    start, end = found[region][0], others[0] if others else 1 << 32
    sizes: dict[str, int] = {}
    for section, address, size, file in _USERS.findall(body):
        if start <= int(address, 16) < end and not section.startswith(_NOT_LOADED):
            # .bss.buffer of main.o
            name = section.split(".", 2)[-1] if section.count(".") > 1 else section
            name += f" of {PurePath(file.strip()).name}"
            sizes[name] = sizes.get(name, 0) + int(size, 16)
    return sorted(((size, name) for name, size in sizes.items() if size), key=lambda each: (-each[0], each[1]))


def _largest(map_text: str, region: str) -> str:
    said = [f"{name}, {size} bytes" for size, name in users(map_text, region)[:_SHOWN]]
    remedy = "make one of these smaller, or the region larger in the linker script"
    return f"largest: {'; '.join(said)}; {remedy}" if said else ""


def _full(lines: list[str], known: ProgramFacts) -> NeuralArtError | None:
    full = [match for line in lines if (match := _OVERFLOW.match(line)) is not None]
    if full:
        region, *more = full
        what = f"region {region['region']} is full: {region['bytes']} bytes too many"
        what += "".join(f", and {each['bytes']} in {each['region']}" for each in more)
        return NeuralArtError(what, hint=_largest(known.map_text(), region["region"]))
    for line in lines:
        said = _ASSERTED.match(line)
        if said is not None:
            return NeuralArtError(line, hint=_largest(known.map_text(), said["region"]))
    return None


def _twice(lines: list[str]) -> NeuralArtError | None:
    match = next((match for line in lines if (match := _TWICE.match(line)) is not None), None)
    if match is None:
        return None
    where, first = place(match["where"]), place(match["first"])
    hint = "remove one of them, or make it static"
    ours = [_OURS.search(each) is not None for each in (where, first)]
    if any(ours):
        # Whatever the order of the link: the user's place comes first.
        where, first = (first, where) if ours[0] else (where, first)
        file = first.rpartition(":")[0]
        hint = f"rename it; or define all that the program uses of {file}, then yours are taken"
    return NeuralArtError(f"'{match['name']}' is defined twice, here and in {first}", where=where, hint=hint)


def _undefined(text: str, known: ProgramFacts) -> NeuralArtError | None:
    missing = list(references(text))
    # That main is missing explains more than what else is.
    chosen = next((each for each in missing if each.name == "main"), missing[0] if missing else None)
    if chosen is None:
        return None
    name = chosen.name
    hint = next((hint for pattern, hint in _HINTS if re.fullmatch(pattern, name)), "")
    near = similar(name, [each for each in known.symbols() if not each.startswith(("_", "$"))], cutoff=0.75)
    more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
    if name == "main":
        what = "no main(), which the start-up code calls"
        return NeuralArtError(what, hint=f"{near} {hint}" if near else hint)
    hint = near or hint or "name the source file or the library that has it in application: {sources: ...}"
    if chosen.library:
        said = f"{chosen.user} of {chosen.library} needs '{name}', which nothing defines{more}"
        return NeuralArtError(said, hint=hint)
    by = f", which {chosen.user} uses" if chosen.user else ""
    return NeuralArtError(f"nothing defines '{name}'{by}{more}", where=chosen.where, hint=hint)


def no_entry(text: str) -> NeuralArtError | None:
    """Detect a link without an entry point, which ld only warns about. None: the program has its entry."""
    match = _ENTRY.search(text)
    if match is None:
        return None
    what = f"no entry: the linker script starts the program at '{match['name']}', which nothing defines"
    return NeuralArtError(what, hint="define it, or leave 'linker_script' out: the board's start-up code is taken then")


def of_link(text: str, known: ProgramFacts | None = None) -> NeuralArtError | None:
    """Explain a failed link; None: unknown. ``text``: of GNU ld; ``known``: further facts about the program."""
    known = known or ProgramFacts()
    lines = _lines(text)
    found = _twice(lines) or _undefined(text, known) or _full(lines, known) or no_entry(text)
    if found is not None:
        return found
    for line, raw in zip(lines, text.splitlines(), strict=True):
        missing = _NO_LIBRARY.match(line)
        if missing is not None:
            hint = "application: {sources: {libraries}}: a name as behind -l, or the path of an archive"
            return NeuralArtError(f"there is no library '{missing['name']}' for this core", hint=hint)
        if _LINKER.match(raw) and "warning: " not in line and not _IN_FUNCTION.match(line):
            return NeuralArtError(line)
    return None


def of_compile(text: str) -> NeuralArtError | None:
    """Explain a failed compile by gcc's first error; None: unknown."""
    found = errorlines.find(text.splitlines())
    if found is None or not found.where:
        return None
    count = len(re.findall(r":\d+: (?:fatal )?error: ", text))
    more = f" (the first of {count} errors)" if count > 1 else ""
    return NeuralArtError(f"{found.what}{more}", where=place(found.where), hint=found.hint)


def symbols(nm_text: str) -> set[str]:
    """Read the names in the output of ``nm --format=posix``."""
    return {parts[0] for line in nm_text.splitlines() if len(parts := line.split()) >= 2 and len(parts[1]) == 1}
