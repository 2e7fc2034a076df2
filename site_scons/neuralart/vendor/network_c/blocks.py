"""Reads the epoch table of network.c, with the comments about its epochs."""

from __future__ import annotations

import re
from bisect import bisect_right

from neuralart.quick import lazy_regex
from neuralart.text.c_source import Lines, blanked
from neuralart.vendor.network_c.initializers import integer, literal, members, structs
from neuralart.vendor.network_c.types import EC, HW, HYBRID, SW, EpochBlock, Problem

_GETTER = lazy_regex(r"LL_ATON_EpochBlockItems_(\w+)\s*\(\s*(?:void)?\s*\)\s*\{")
# One pattern for each name of the type: a pattern that begins with letters is searched much faster.
_ARRAYS = tuple(
    lazy_regex(name + r"\s+(?:const\s+)?\w+\s*\[\s*\w*\s*\]\s*=\s*\{")
    for name in ("EpochBlock_ItemTypeDef", "LL_ATON_RT_EpochBlockItem_t")
)
_FLAG = lazy_regex(r"EpochBlock_Flags_(\w+)")
_EPOCH = lazy_regex(r"scheduling epoch=\s*(\d{1,9})")
_FUNCTION = lazy_regex(r"LL_ATON_(?:Start|End)_EpochBlock_(\d{1,9})(?:_\w*)?\s*\([^)]{0,200}\)\s*\{")
_OPERATOR = re.compile(r"kind=(\w{1,80})\s+node=")
_STREAM = re.compile(
    r"\[STREAM_ENG\w{0,9} (\d{1,3})\] \*/\s{0,40}/\* Emit conf for \w{1,40} node=\S{1,200} "
    r"(i|o)(?:n|ut)put ports=\d{1,3} range=(\d{1,4})\[(\d{1,12}),(\d{1,12})\]"
)
_OF_FUNCTION = lazy_regex(r"EpochBlock_(\d{1,9})")
_OF_BLOB = lazy_regex(r"_ec_blob_(?:\w*_)?(\d{1,9})(?!\d)")
_BLOB = lazy_regex(r"_ec_blob_\w+")
# Where flags are a number (the bits of the runtime's enumeration).
_NAMES = ("epoch_start", "epoch_end", "blob", "last_eb", "pure_hw", "pure_sw", "hybrid", "internal", "blob_encrypted")
_BITS = {name: 1 << bit for bit, name in enumerate(_NAMES)}
_KINDS = (("blob", EC), ("hybrid", HYBRID), ("pure_sw", SW), ("pure_hw", HW))
LAST = "last_eb"
_MOST = 1 << 53
# Of a blob: readers may count through its epochs.
_LONGEST = 1 << 16


def getter_name(text: str) -> str:
    """Suffix of the function that returns the epoch table; empty if there is none."""
    match = _GETTER.search(text) or re.search(r"LL_ATON_EpochBlockItems_(\w+)\s*\(", text)
    return match[1] if match else ""


def _table(text: str) -> tuple[int, int]:
    """Where the epoch table stands: from its type to the end of its function, or of the text."""
    arrays = [array.start() for pattern in _ARRAYS if (array := pattern.search(text))]
    getter = None if arrays else _GETTER.search(text)
    if not arrays and getter is None:
        return 0, 0
    start = getter.start() if getter else min(arrays)
    # A terminated table ends at its terminator; one that is cut off at what comes behind.
    last = text.find("EpochBlock_Flags_last_eb", start)
    behind = text.find("_Buffers_Info_", start)
    end = text.find("\n}", last if last >= 0 else start)
    return start, end if end >= 0 and last >= 0 else behind if behind >= 0 else len(text)


def _flags(text: str) -> set[str]:
    names = set(_FLAG.findall(text)) - {"NONE"}
    value = integer(text)
    return names | {name for name, bit in _BITS.items() if value is not None and value & bit}


def _spoken(text: str) -> dict[int, list[re.Match[str]]]:
    """What comments say of each epoch: kinds of operators, and stream engines."""
    marks = list(_EPOCH.finditer(text)) or list(_FUNCTION.finditer(text))
    places = [mark.start() for mark in marks]
    found: dict[int, list[re.Match[str]]] = {}
    for match in (match for pattern in (_OPERATOR, _STREAM) for match in pattern.finditer(text)):
        mark = bisect_right(places, match.start()) - 1
        if mark >= 0:
            found.setdefault(int(marks[mark][1]), []).append(match)
    return found


def _number(named: dict[str, str], problems: list[Problem], where: str, name: str) -> int | None:
    value = integer(named[name]) if name in named else None
    if name in named and (value is None or not 0 <= value < _MOST):
        problems.append(Problem(where, f"{name} is '{named[name][:40]}', no number", "epoch"))
        return None
    return value


def _from_names(named: dict[str, str]) -> int | None:
    """The epoch as symbols spell it, where the table has no debug information."""
    places = ((_OF_FUNCTION, "start_epoch_block"), (_OF_FUNCTION, "end_epoch_block"), (_OF_BLOB, "blob_address"))
    found = next((match for pattern, name in places if (match := pattern.search(named.get(name, "")))), None)
    return literal(found[1].lstrip("0") or "0") if found else None


def _block(
    named: dict[str, str], flags: set[str], of: dict[int, list[re.Match[str]]], where: str, problems: list[Problem]
) -> EpochBlock:
    number = _number(named, problems, where, "epoch_num")
    if number is None:
        number = _from_names(named)
    last = _number(named, problems, where, "last_epoch_num")
    if last is not None and not (number or 0) <= last < (number or 0) + _LONGEST:
        what = f"last_epoch_num is {last}, of a block that begins with epoch {number}"
        problems.append(Problem(where, what, "epoch"))
        last = None
    last = number if last is None else last
    blob = _BLOB.search(named.get("blob_address", ""))
    kind = next((kind for flag, kind in _KINDS if flag in flags), EC if blob else "")
    if not kind:
        shown = named.get("flags", "")[:60]
        problems.append(Problem(where, f"epoch {number} has no kind: its flags are '{shown}'", "epoch"))
    operators: list[str] = []
    if number is not None and last is not None:
        # By what the comments name, not by the range: a damaged one may be anything.
        spoken = sorted(epoch for epoch in of if number <= epoch <= last) if last != number else [number]
        operators = [match[1] for epoch in spoken for match in of.get(epoch, ()) if match.re is _OPERATOR]
    return EpochBlock(
        number=number,
        last=last,
        kind=kind,
        flags=tuple(sorted(flags)),
        operators=tuple(dict.fromkeys(operators)),
        blob=blob.group().removesuffix("_address") if blob else "",
        encrypted="blob_encrypted" in flags,
        npu_cycles=_number(named, problems, where, "estimated_npu_cycles"),
        total_cycles=_number(named, problems, where, "estimated_tot_cycles"),
        streams=tuple(
            (match[2], int(match[1]), int(match[3]), int(match[4]), int(match[5]))
            for match in of.get(-1 if number is None else number, ())
            if match.re is _STREAM
        ),
        start=_function(named.get("start_epoch_block", "")),
        end=_function(named.get("end_epoch_block", "")),
    )


def _function(text: str) -> str:
    found = text.strip("& ()")
    return "" if found in ("NULL", "0") else found


def blocks(text: str, where: str, lines: Lines) -> tuple[list[EpochBlock], list[Problem]]:
    """Read the table up to its terminator."""
    start, end = _table(text)
    found: list[EpochBlock] = []
    problems: list[Problem] = []
    if end <= start:
        return [], []
    spoken = _spoken(text)
    terminated = False
    elements, broken = structs(blanked(text[start:end], directives=True))
    for offset, body in elements:
        named = members(body)
        if not named:
            continue
        flags = _flags(named.get("flags", ""))
        if LAST in flags:
            terminated = True
            break
        found.append(_block(named, flags, spoken, f"{where}:{lines.of(start + offset)}", problems))
    if not terminated:
        start += broken[0] if broken else 0
        place = f"{where}:{lines.of(start)}"
        problems.append(Problem(place, f"the epoch table has no terminator after {len(found)} items", "cut-off"))
    return found, problems
