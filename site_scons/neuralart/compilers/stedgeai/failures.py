"""Explains the tool's messages by a table of patterns, which users can extend."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from warnings import catch_warnings, simplefilter

from neuralart.compilers.stedgeai.run import ToolRun
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass
from neuralart.resources import PACKAGE
from neuralart.text.values import Value
from neuralart.text.yaml_values import check_schema, read

TABLES = "NEURALART_FAILURES"
SCHEMA = 1
OWN_TABLE = PACKAGE / "compilers" / "stedgeai" / "failures.yaml"
_ERROR = re.compile(
    r"^\s*(?:\S+ \S+ \[\w+\] \S+ - )?"  # CubeMX puts its own words before
    r"((?:E\d{3}\(\w+\)|CLI ERROR|LOAD ERROR|NOT IMPLEMENTED|INTERRUPT|TOOLS? ERROR|INTERNAL ERROR):\s*.*)$",
    re.M,
)
_CODE = re.compile(r"(E\d{3}\(\w+\)|[A-Z]+ [A-Z]+|INTERRUPT):")
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_LONGEST = 220
_NAMES = 5


@dataclass(frozen=True)
class Failure:
    """The reason why the tool failed."""

    id: str  # Of the table's entry; empty if none fits
    said: str  # The tool's own line
    cause: str  # What it means; empty if unknown
    hint: str  # What to do; may be empty

    @property
    def text(self) -> str:
        """One line: the cause and the tool's category, or its own words for an unknown cause."""
        if not self.cause:
            return self.said
        code = _CODE.match(self.said)
        return f"{self.cause} [{code[1]}]" if code is not None else self.cause


@dataclass(frozen=True)
class FailureEntry:
    """A row of the table."""

    id: str  # A word
    pattern: re.Pattern[str]  # What is looked for
    text: str  # Cause of a failure, or text of a warning
    hint: str = ""  # What to do


@dataclass(frozen=True)
class FailureTable:
    """Failures and warnings, in the order in which they are tried."""

    failures: tuple[FailureEntry, ...]
    warnings: tuple[FailureEntry, ...]


def _template(value: Value, pattern: re.Pattern[str], more: Sequence[str] = ()) -> str:
    """A text whose {words} are groups of the pattern."""
    text = value.text()
    known = [*pattern.groupindex, *more]
    try:
        if any(form for _, _, form, _ in Formatter().parse(text)):
            raise ValueError  # {name:>2000000000} would take as many bytes
        text.format_map(dict.fromkeys(known, ""))
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise value.error(
            f"{{{error.args[0] if error.args else '?'}}} is no group of the pattern"
            if isinstance(error, KeyError)
            else f"'{text}' is no text with {{names}} in it",
            f"possible: {', '.join('{' + name + '}' for name in known) or 'none: write {{ for a brace'}",
        ) from error
    return text


def _entry(value: Value, text_key: str) -> FailureEntry:
    keys = ("id", "pattern", text_key) + (("hint",) if text_key == "cause" else ())
    fields = value.fields(keys)
    for key in ("id", "pattern", text_key):
        if key not in fields:
            raise value.error(f"'{key}' is missing")
    raw = fields["pattern"].text()
    try:
        with catch_warnings():
            simplefilter("error")  # of signs that a later Python takes for operators
            pattern = re.compile(raw, re.M)
    except (FutureWarning, DeprecationWarning, re.error, RecursionError, OverflowError, ValueError) as error:
        raise fields["pattern"].error(f"is no regular expression: {error}") from error
    if pattern.search(""):
        raise fields["pattern"].error("matches nothing at all, so it would always fit")
    more = () if text_key == "cause" else ("count", "names")
    hint = _template(fields["hint"], pattern) if "hint" in fields else ""
    name = fields["id"].matching(_ID, "a word of small letters, digits and -")
    return FailureEntry(name, pattern, _template(fields[text_key], pattern, more), hint)


def load(path: Path, display: str = "") -> FailureTable:
    """Read a table. NeuralArtError with ``file:line``: it is none."""
    top = read(path, display)
    check_schema(top, SCHEMA)
    fields = top.fields(("schema", "failures", "warnings"))
    kinds = (("failures", "cause"), ("warnings", "text"))
    return FailureTable(
        *(tuple(_entry(item, word) for item in fields[key].items()) if key in fields else () for key, word in kinds)
    )


def tables(environ: Mapping[str, str], files: Sequence[str] = ()) -> FailureTable:
    """Join all tables: the named ones, those of ``NEURALART_FAILURES`` (a list like PATH), ours."""
    named = [*files, *(entry for entry in environ.get(TABLES, "").split(os.pathsep) if entry)]
    found = [load(Path(name), name) for name in named]
    found.append(load(OWN_TABLE, "neuralart:compilers/stedgeai/failures.yaml"))
    return FailureTable(
        tuple(entry for table in found for entry in table.failures),
        tuple(entry for table in found for entry in table.warnings),
    )


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def _fill(template: str, found: re.Match[str]) -> str:
    return _shorten(template.format_map({name: (text or "").strip() for name, text in found.groupdict().items()}))


def explain(lines: Sequence[str], table: FailureTable, status: int) -> Failure:
    """Find the cause of a failure in the cleaned output of the tool and its exit status."""
    text = "\n".join(lines)
    errors = _ERROR.findall(text)
    said = _shorten(errors[-1]) if errors else ""
    for entry in table.failures:
        found = entry.pattern.search(text)
        if found is not None:
            line = said or _shorten(found.group().splitlines()[0])
            return Failure(entry.id, line, _fill(entry.text, found), _fill(entry.hint, found))
    last = _shorten(lines[-1]) if lines else "it printed nothing"
    ended = f"ended with status {status}" if status >= 0 else f"was killed by signal {-status}"
    return Failure("", said or f"{ended}; its last words: {last}", "", "")


def warnings(lines: Sequence[str], table: FailureTable) -> list[str]:
    """List the warnings of a successful run, one line for each kind."""
    text = "\n".join(lines)
    said = []
    for entry in table.warnings:
        found = list(entry.pattern.finditer(text))
        if not found:
            continue
        names = list(dict.fromkeys(m["name"] for m in found if "name" in entry.pattern.groupindex and m["name"]))
        shown = ", ".join(names[:_NAMES]) + (f" and {len(names) - _NAMES} more" if len(names) > _NAMES else "")
        groups = {name: found[0][name] or "" for name in entry.pattern.groupindex}
        said.append(_shorten(entry.text.format_map({**groups, "count": len(names) or len(found), "names": shown})))
    return said


def error_of(failure: Failure, *, where: str, tool: str, log: str) -> NeuralArtError:
    """Make the error for the user; ``where``: what was compiled, ``log``: the file of the tool's whole output."""
    hint = f"{failure.hint}; log: {log}" if failure.hint else f"log: {log}"
    return NeuralArtError(f"{tool}: {failure.text}", where=where, hint=hint)


def late(run: ToolRun, seconds: float, *, where: str, tool: str, log: str) -> NeuralArtError:
    """Make the message for a run that exceeded its time."""
    last = f"its last line: {_shorten(run.lines[-1])}" if run.lines else "it printed nothing"
    reached = f" at {run.reached}" if run.reached else ""
    what = f"{tool}: ended after {seconds:g} s (timeout){reached}; {last}"
    return NeuralArtError(what, where=where, hint=f"a larger timeout; log: {log}")
