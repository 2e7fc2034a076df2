"""``neuralart diff``: what changed between two builds, compiles or profiles."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import project_folder
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_insight.profiling.diff_inputs import BuildSide, NetworkSide
    from neuralart_insight.profiling.estimate import EpochEstimate

_SYMBOLS = 20
"""So many are printed; the JSON has all."""


def configure_diff(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    text = "a variant that was built, its build folder, a profile.json, or whatever 'neuralart profile' takes"
    add("a", metavar="A", help=text)
    add("b", metavar="B", help="the same, newer")
    add(
        "--build",
        type=Path,
        default=project_folder.default("build"),
        metavar="DIR",
        help="build folder of variants (default: build)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs (docs/reference/diff.md)")
    form.add_argument("--markdown", action="store_true", help="for a pull request")


Match = tuple["EpochEstimate | None", "EpochEstimate | None"]


def matches(a: Sequence[EpochEstimate], b: Sequence[EpochEstimate]) -> list[Match]:
    """Epochs that compute the same operators in the same order, and those of one side alone. Numbers shift when an
    epoch is added, and types change when it moves to the CPU: neither says which is which.
    """
    keys = [[epoch.operators or (str(epoch.id),) for epoch in side] for side in (a, b)]
    found: list[Match] = []
    for word, i, i_end, j, j_end in difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if word == "equal":
            found += zip(a[i:i_end], b[j:j_end], strict=True)
        else:
            found += [(epoch, None) for epoch in a[i:i_end]]
            found += [(None, epoch) for epoch in b[j:j_end]]
    return found


def _pairs(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What differs, by name; None where one side does not have it."""
    names = dict.fromkeys((*a, *b))
    return {name: [a.get(name), b.get(name)] for name in names if a.get(name) != b.get(name)}


def _totals(side: NetworkSide) -> dict[str, float | None]:
    from neuralart_insight.profiling.estimate import known_sum, traffic_of

    figures: dict[str, float | None] = {"epochs": len(side.epochs)}
    figures |= {key: known_sum(side.epochs, key) for key in ("operations", "compute_cycles", "max_cycles")}
    for name, access in traffic_of(side.epochs).items():
        figures |= {f"{name} read": access.read, f"{name} written": access.written}
    return {**figures, "measured ms": side.duration_ms}


def _epoch(one: EpochEstimate, other: EpochEstimate, a: NetworkSide, b: NetworkSide) -> dict[str, Any]:
    """What differs between two epochs that match."""
    sides = [
        {
            "type": epoch.type,
            "max_cycles": epoch.max_cycles,
            **{f"{name} read": access.read for name, access in epoch.pools.items()},
            **{f"{name} written": access.written for name, access in epoch.pools.items()},
            "measured ms": side.durations.get(epoch.id),
        }
        for epoch, side in ((one, a), (other, b))
    ]
    return _pairs(*sides)


def network_diff(name: str, a: NetworkSide, b: NetworkSide) -> dict[str, Any]:
    """What changed in a network, for programs."""
    made: dict[str, Any] = {"name": name, "matched": 0}
    made |= {key: [] for key in ("added", "removed", "to_software", "to_hardware")}
    changed = []
    for one, other in matches(a.epochs, b.epochs):
        if one is None or other is None:
            epoch = one or other
            assert epoch is not None
            what = {"id": epoch.id, "type": epoch.type, "operators": list(epoch.operators)}
            made["added" if one is None else "removed"].append(what)
            continue
        made["matched"] += 1
        if (one.type == "SW") != (other.type == "SW"):
            made["to_software" if other.type == "SW" else "to_hardware"].append([one.id, other.id])
        if differs := _epoch(one, other, a, b):
            changed.append({"a": one.id, "b": other.id, "operators": list(other.operators), "differs": differs})
    return {**made, "changed": changed, "totals": _pairs(_totals(a), _totals(b))}


def diff(a: BuildSide, b: BuildSide) -> dict[str, Any]:
    """What changed, for programs (docs/reference/diff.md has the schema)."""
    names = dict.fromkeys((*a.networks, *b.networks))
    both = [(name, a.networks[name], b.networks[name]) for name in names if name in a.networks and name in b.networks]
    if not both and len(a.networks) == len(b.networks) == 1:
        # One network, which is called otherwise.
        (old, one), (new, other) = *a.networks.items(), *b.networks.items()
        both, names = [(f"{old or '?'} -> {new or '?'}", one, other)], {}
    sides = {name: [name in a.networks, name in b.networks] for name in names}
    return {
        "kind": "neuralart-diff",
        "schema": 1,
        "a": a.label,
        "b": b.label,
        "only_a": [name for name, (one, other) in sides.items() if one and not other],
        "only_b": [name for name, (one, other) in sides.items() if other and not one],
        "networks": [network_diff(*each) for each in both],
        "ram": _pairs(a.ram, b.ram),
        "flash": _pairs(a.flash, b.flash),
        "symbols": _pairs(a.symbols, b.symbols),
        "weights_changed": [name for name, pair in _pairs(a.hashes, b.hashes).items() if all(pair)],
    }


Section = tuple[str, Sequence[str], list[list[Any]]]
_HEADS = ("what", "a", "b", "change")


def _change(one: Any, other: Any) -> str:
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        return "-"
    apart = other - one
    return f"{apart:+,.6g}" + (f" ({100 * apart / one:+.1f}%)" if one else "")


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if value else str(value)


def _rows(pairs: Mapping[str, Sequence[Any]]) -> list[list[Any]]:
    both = pairs.items()
    return [[name, *(v if isinstance(v, str) else _shown(v) for v in pair), _change(*pair)] for name, pair in both]


def sections(record: Mapping[str, Any]) -> list[Section]:
    """Tables for people: title, heads, rows. A title without rows is a sentence."""
    made: list[Section] = [(f"network '{n}' is in {s} alone", (), []) for s in "ab" for n in record[f"only_{s}"]]
    for net in record["networks"]:
        counts = f"{net['matched']} epochs match, {len(net['added'])} added, {len(net['removed'])} removed"
        made.append((f"network {net['name']}: {counts}", _HEADS, _rows(net["totals"])))
        rows = []
        for word in ("removed", "added"):
            rows += [[word, e["id"], e["type"], ", ".join(e["operators"]) or "-"] for e in net[word]]
        for word, key in (("moved to software", "to_software"), ("moved to the NPU", "to_hardware")):
            rows += [[word, f"{one} -> {other}", "", ""] for one, other in net[key]]
        if rows:
            made.append(("epochs", ("what", "epoch", "type", "operators"), rows))
        rows = [
            [f"{e['a']} -> {e['b']}" if e["a"] != e["b"] else e["b"], ", ".join(e["operators"]) or "-", *row]
            for e in net["changed"]
            for row in _rows(e["differs"])
        ]
        if rows:
            made.append(("epochs that differ", ("epoch", "operators", *_HEADS), rows))
    for key, title in (("ram", "memory in use, bytes"), ("flash", "files in flash, bytes")):
        if record[key]:
            made.append((title, _HEADS, _rows(record[key])))
    symbols = sorted(record["symbols"].items(), key=lambda item: (-abs((item[1][1] or 0) - (item[1][0] or 0)), item[0]))
    if symbols:
        title = f"functions and variables that differ: {len(symbols)}"
        made.append((title, _HEADS, _rows(dict(symbols[:_SYMBOLS]))))
    if record["weights_changed"]:
        made.append((f"weights changed: {', '.join(record['weights_changed'])}", (), []))
    return made


def _markdown(title: str, heads: Sequence[str], rows: list[list[Any]]) -> list[str]:
    lines = [f"**{title}**", ""]
    if rows:
        cells = [[str(cell).replace("|", "\\|") for cell in row] for row in (heads, ["---"] * len(heads), *rows)]
        lines += [f"| {' | '.join(row)} |" for row in cells] + [""]
    return lines


def _text(title: str, heads: Sequence[str], rows: list[list[Any]]) -> list[str]:
    from neuralart.vendor.tables import table

    return [title, *(table(heads, rows) if rows else [])]


def run_diff(args: argparse.Namespace) -> int:
    """Print what changed. NeuralArtError: a side is none, or is damaged."""
    from neuralart_insight.profiling.diff_inputs import side_of

    record = diff(side_of(args.a, args.build), side_of(args.b, args.build))
    if args.json:
        print(json.dumps(record, indent=1, allow_nan=False))
        return 0
    render: Callable[..., list[str]] = _markdown if args.markdown else _text
    found = [line for each in sections(record) if each[2] or not each[1] for line in render(*each)]
    head = f"{record['a']} -> {record['b']}"
    say(*([f"### {head}", "", *found] if args.markdown else [head, *(f"  {line}" for line in found)]))
    if not found:
        say("nothing differs")
    return 0
