"""Finds the line of a build's output that says why it failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from neuralart.quick import dataclass

_LONGEST = 300
_ENTERING = re.compile(r"^\S*make(?:\.exe)?(?:\[\d+\])?: (Entering|Leaving) directory [`'\"](.+?)['\"]\s*$")
_FILE = r"(?P<file>(?:[A-Za-z]:[/\\])?[^\s:*][^:\n]*?)"
_LINE = r":(?P<line>\d+)(?::(?P<column>\d+))?"


@dataclass(frozen=True)
class Found:
    """The reason why a build failed."""

    where: str  # ``file:line:column`` as the user knows the file; may be empty
    what: str  # in the words of the program
    hint: str = ""  # what to do, where it is known


def _pattern(expression: str, hint: str = "") -> tuple[re.Pattern[str], str]:
    return re.compile(expression), hint


# What gcc of others refuses of trees written for ST's.
_TOLERATE = "toolchain: {tolerate: ['%s']}"
_REFUSED = rf"^(?:{_FILE}{_LINE}: |\S*?(?:gcc|g\+\+|cc1|cc1plus|as)(?:\.exe)?: )(?:fatal )?error: "
_QUOTED = "['\"\u2018\u2019]"
_GUARD_HINT = "the runtime in the application is of another version than the compiler of the network"
# Expression and hint, by how much they say: the compiler's error before the make rule that failed because of it.
_PATTERNS = (
    _pattern(
        rf"{_REFUSED}(?P<what>unrecognized command[- ]line option {_QUOTED}(?P<flag>-.+?){_QUOTED}.*)$",
        _TOLERATE % "{flag}",
    ),
    _pattern(rf"{_REFUSED}(?P<what>cannot read spec file .*)$", "install the C library that it belongs to"),
    _pattern(rf"{_REFUSED}(?P<what>.*{_QUOTED}float_t{_QUOTED}.*)$", _TOLERATE % "+-fpermitted-flt-eval-methods=c11"),
    _pattern(rf"{_REFUSED}(?P<what>.*{_QUOTED}PRI[a-zA-Z]+64{_QUOTED}.*)$", _TOLERATE % "+-D__int64_t_defined=1"),
    _pattern(rf"^{_FILE}{_LINE}: (?:fatal )?error: (?P<what>#error \W?Possible mismatch in ll_aton.*)$", _GUARD_HINT),
    _pattern(
        rf"^{_FILE}{_LINE}: (?:fatal )?error: (?P<what>\S+_ecblobs\.h: No such file.*)$",
        "this network has no epoch controller, so there is no such header: do not include it in the application",
    ),
    _pattern(rf"^{_FILE}{_LINE}: (?:fatal |internal compiler )?error: (?P<what>.+)$"),
    _pattern(rf"{_REFUSED}(?P<what>.+)$"),
    _pattern(rf"^{_FILE}:(?P<line>\d+): Error: (?P<what>.+)$"),
    _pattern(
        r"^.*?ld(?:\.exe|\.bfd)?: (?P<what>region .+ overflowed by \d+ bytes)$", "the linker script's region is full"
    ),
    _pattern(rf"^(?:\S*ld(?:\.exe|\.bfd)?: )?{_FILE}{_LINE}: (?P<what>(?:undefined reference|multiple definition).*)$"),
    _pattern(r"^(?:\S*ld(?:\.exe|\.bfd)?: )?(?P<what>.*(?:undefined reference to|multiple definition of) .*)$"),
    _pattern(r"^\S*ld(?:\.exe|\.bfd)?: (?P<what>(?:cannot find|cannot open|error:).*)$"),
    _pattern(rf"^CMake Error(?: at {_FILE}:(?P<line>\d+))?(?: \([^)]*\))?:\s*(?P<what>.*)$"),
    _pattern(
        r"^(?:\S*sh: (?:\d+: |line \d+: )?|\S*make(?:\.exe)?(?:\[\d+\])?: )"
        r"(?P<what>\S+: (?:command not found|not found|No such file or directory))$",
        "is the program on PATH?",
    ),
    _pattern(r"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\* (?P<what>No rule to make target .*)$"),
    _pattern(rf"^{_FILE}:(?P<line>\d+): \*\*\* (?P<what>.+)$"),
    _pattern(r"^(?:ninja: )?(?:error|Error|ERROR): (?P<what>.+)$"),
    _pattern(r"^(?P<what>Build Failed\. .*)$"),
    _pattern(r"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\* (?P<what>.+)$"),
)


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def _folders(lines: Sequence[str]) -> list[str]:
    """The folder that make was in at each line; empty: where it was started."""
    stack: list[str] = []
    found = []
    for line in lines:
        match = _ENTERING.match(line)
        if match is not None:
            if match[1] == "Entering":
                stack.append(match[2])
            elif stack:
                stack.pop()
        found.append(stack[-1] if stack else "")
    return found


def _following(lines: Sequence[str], number: int) -> str:
    """CMake writes what is wrong below the line that says where."""
    text = []
    for line in lines[number + 1 : number + 8]:
        if line.strip():
            text.append(line)
        elif text:
            break
    return _shorten(" ".join(text))


_NEW = re.compile(
    rf"^(?:\S*ld(?:\.exe|\.bfd)?: )?(?:\S+\.o:)?{_FILE}{_LINE}: (?P<kind>warning|note)?|^(?P<cmake>CMake Error)"
    rf"|^(?P<linker>\S*(?:ld|cc1|cc1plus|as|gcc|g\+\+|ninja)(?:\.exe|\.bfd)?): "
    r"|^(?P<other>.*: (?:in function|undefined ref|multiple def))"
)
_MOST = 200


def diagnostics(lines: Sequence[str], known: Callable[[str, str], str]) -> list[str]:
    """All errors that a build printed, with the lines below that belong to them (source, caret, CMake's text), as
    editors find them. ``lines`` and ``known``: as of :func:`find`. Of thousands, the first 200 lines.
    """
    found: list[str] = []
    wanted = False
    for line, folder in zip(lines, _folders(lines), strict=True):
        new = _NEW.match(line)
        if new is None:
            wanted = wanted and (line[:1] in ("", " "))
        elif new["kind"] != "note":
            wanted = new["kind"] is None
        if wanted:
            file = new["file"] if new is not None else None
            found.append(line.replace(file, known(file, folder), 1) if file else line)
    more = [f"... {len(found) - _MOST} lines more"] if len(found) > _MOST else []
    return found[:_MOST] + more


def find(lines: Sequence[str], known: Callable[[str, str], str] = lambda file, _folder: file) -> Found | None:
    """Find the first line of the most telling kind; None if nothing was printed. ``known``: maps a printed file name
    and make's folder to the user's name of the file.
    """
    plain = [line.rstrip("\r\n") for line in lines]
    folders = _folders(plain)
    for pattern, hint in _PATTERNS:
        for number, line in enumerate(plain):
            match = pattern.match(line)
            if match is None:
                continue
            groups = match.groupdict()
            what = _shorten(groups["what"]) or _following(plain, number)
            where = known(groups["file"], folders[number]) if groups.get("file") else ""
            for part in ("line", "column"):
                where += f":{groups[part]}" if where and groups.get(part) else ""
            return Found(where, what or _shorten(line), hint.replace("{flag}", groups.get("flag") or ""))
    last = next((line for line in reversed(plain) if line.strip()), "")
    return Found("", f"its last words: {_shorten(last)}") if last else None
