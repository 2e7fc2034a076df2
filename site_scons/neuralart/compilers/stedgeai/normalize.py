"""Removes dates, folders and the environment from the tool's files, so that equal inputs give equal bytes. Lines keep
their numbers; originals are kept in ``.vendor``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from neuralart import jsontext

CODE, DATA, REPORT = (".c", ".h"), (".json",), (".txt",)
DATE = "1970-01-01 00:00:00"
_RULER = 80

_BANNER_VALUE = re.compile(r'^([ \t]*\*[ \t]*--[\w-]+[ \t]*=[ \t]*")([^"\n]*[/\\][^"\n]*)(")', re.M)
_BANNER_END = "*/"
_CODE_DATES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r'(c_model_datetime\s*=\s*")[^"\n]*(")'), rf"\g<1>{DATE}\g<2>"),
    (re.compile(r'(^[ \t]*#[ \t]*define[ \t]+\w*DATE_TIME[ \t]+")[^"\n]*(")', re.M), rf"\g<1>{DATE}\g<2>"),
    (re.compile(r"(@date[ \t]+)\S[^\n]*", re.M), rf"\g<1>{DATE}"),
    # What the C preprocessor would make of them differs with each compile.
    (re.compile(r"\b__DATE__\b"), '"Jan  1 1970"'),
    (re.compile(r"\b__TIME__\b"), '"00:00:00"'),
)
_TEXT = r'"(?:[^"\\\n]|\\.)*"'
_JSON_TIME = re.compile(rf'("generated_time"\s*:\s*){_TEXT}')
_JSON_SIGNATURE = re.compile(rf'("network_signature"\s*:\s*){_TEXT}')
_JSON_ARGUMENTS = re.compile(rf'("arguments"\s*:\s*)({_TEXT})')
_JSON_ENVIRONMENT = re.compile(rf'("environment"\s*:\s*)\[\s*(?:{_TEXT}\s*(?:,\s*)?)*\]')
# A path in a command line; ones with blanks in a folder's name are known folders and were replaced before.
_PATH = re.compile(r"""(?<![\w.$/\\-])(?:[A-Za-z]:)?(?:\.{0,2}[/\\]{1,2})(?:[^\s"'/\\]+[/\\]{1,2})*([^\s"'/\\]*)""")
_REPORT_DATE = re.compile(r"^(Created date\s*:).*$", re.M)
_REPORT_PATHS = re.compile(
    r"^[ \t]*(?:Parameters|Compiler arguments|model file|workspace dir|output dir|Creating|Generated device)\b.*$", re.M
)
_REPORT_TIME = re.compile(r"^([ \t]*elapsed time \(\w+\)\s*:).*$", re.M | re.I)
_RULERS = re.compile(rf"^([ \t]*)([-=])\2{{{_RULER - 20},}}[ \t]*$", re.M)


def _forms(path: str) -> list[str]:
    """A path with separators of both kinds, plain and as JSON writes it."""
    forward = path.replace("\\", "/")
    plain = [path, forward, forward.replace("/", "\\")]
    return [*plain, *(json.dumps(each)[1:-1] for each in plain)]


def folders(known: Mapping[Path, str], texts: Mapping[str, str]) -> Callable[[str], str]:
    """Make replacements for the folders of a run (folder -> replacement; roots stay) and for further texts."""
    names: dict[str, str] = {}
    for path, stand_in in known.items():
        for each in (path.absolute(), path.resolve()):
            if len(each.parts) > 1:
                names |= dict.fromkeys(_forms(str(each)), stand_in)
    for text, stand_in in texts.items():
        names |= dict.fromkeys(_forms(text), stand_in)
    if not names:
        return lambda text: text
    longest = sorted(names, key=lambda name: (-len(name), name))
    pattern = re.compile(rf"({'|'.join(map(re.escape, longest))})(?![\w.-])")
    return lambda text: pattern.sub(lambda match: names[match[1]], text)


def _last(path: str) -> str:
    """The last component; of a folder with its slash."""
    plain = re.sub(r"[/\\]+", "/", path)
    name = PurePosixPath(plain).name
    return f"{name}/" if plain.endswith("/") and name else name


def code(text: str) -> str:
    """Normalize C: paths in the banner, dates everywhere."""
    end = text.find(_BANNER_END)
    head = text[:end] if end >= 0 else text
    text = _BANNER_VALUE.sub(lambda found: found[1] + _last(found[2]) + found[3], head) + text[len(head) :]
    for pattern, stand_in in _CODE_DATES:
        text = pattern.sub(stand_in, text)
    return text


def _arguments(text: str) -> str:
    """A command line without folders."""
    return _PATH.sub(lambda found: found[1] or _last(found[0]), text)


def data(text: str, signatures: Mapping[str, str]) -> str:
    """Normalize JSON: the environment of the run. ``signatures``: the new MD5 of each file, as the tool writes it."""
    try:
        model = jsontext.loads(text, duplicates=True)["environment"]["generated_model"]
        listed = [(str(row["name"]), str(row["signature"])) for row in model["model_files"]]
    except (ValueError, KeyError, TypeError):
        listed = []
    for name, old in listed:
        if old and name in signatures:
            text = text.replace(f'"{old}"', f'"{signatures[name]}"')
    text = _JSON_TIME.sub(rf'\g<1>"{DATE}"', text)
    text = _JSON_SIGNATURE.sub(r'\g<1>"0x0000000000000000"', text)
    text = _JSON_ENVIRONMENT.sub(r"\g<1>[]", text)
    return _JSON_ARGUMENTS.sub(lambda found: found[1] + _arguments(found[2]), text)


def report(text: str) -> str:
    """Normalize a text report: date, command lines, lines as long as the longest path."""
    text = _REPORT_DATE.sub(rf"\1 {DATE}", text)
    text = _REPORT_TIME.sub(r"\1 -", text)
    text = _REPORT_PATHS.sub(lambda found: _arguments(found[0]), text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return _RULERS.sub(lambda found: found[1] + found[2] * _RULER, text)


def normalize(files: Mapping[str, bytes], without_folders: Callable[[str], str]) -> dict[str, bytes]:
    """Normalize the files of a run; others than texts stay. ``without_folders``: from :func:`folders`."""
    result = dict(files)

    def change(suffixes: tuple[str, ...], what: Callable[[str], str]) -> None:
        for name in files:
            if name.endswith(suffixes):
                text = files[name].decode("utf-8", "surrogateescape").replace("\r\n", "\n")
                result[name] = what(without_folders(text)).encode("utf-8", "surrogateescape")

    change(CODE, code)
    signatures = {
        name: "0x" + hashlib.md5(content, usedforsecurity=False).hexdigest() for name, content in result.items()
    }
    change(DATA, lambda text: data(text, signatures))
    change(REPORT, report)
    return result
