"""What differs between the epochs of two compiles on the NPU: units, streams, products, and what they computed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuralart.errors import NeuralArtError
from neuralart_insight.report import npu_epochs
from neuralart_insight.report.npu_epochs import Epoch
from neuralart_virtual.vectors.npu_buffers import difference, nearly_equal

if TYPE_CHECKING:
    from neuralart_insight.profiling.diff_inputs import NetworkSide
    from neuralart_virtual.vectors.npu_buffers import KeptBuffer, KeptEpochs
    from neuralart_virtual.virtual_npu import NpuOptions

Names = Mapping[str, tuple[str, ...]]
Match = tuple[Epoch | None, Epoch | None]
Key = Callable[[Epoch], Any]


def _work(epoch: Epoch) -> Any:
    """What a compile of the same model with other tools or options seldom changes: products, and bytes that leave."""
    return epoch["kind"], epoch["kernels"], epoch["macs"], sorted(npu_epochs.moved(epoch, writes=True).values())


def _written(epoch: Epoch) -> Any:
    return epoch["kind"], epoch["kernels"], sum(npu_epochs.moved(epoch, writes=True).values())


def _aligned(a: Sequence[Epoch], b: Sequence[Epoch], keys: Sequence[Key]) -> list[Match]:
    """Epochs with equal keys in the same order; between those with the next key; then as many of one kind in order."""
    if not keys:
        if [epoch["kind"] for epoch in a] == [epoch["kind"] for epoch in b]:
            return list(zip(a, b, strict=True))
        return [*((epoch, None) for epoch in a), *((None, epoch) for epoch in b)]
    ours, theirs = ([repr(keys[0](epoch)) for epoch in side] for side in (a, b))
    found: list[Match] = []
    for word, i, i_end, j, j_end in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        equal = word == "equal"
        found += zip(a[i:i_end], b[j:j_end], strict=True) if equal else _aligned(a[i:i_end], b[j:j_end], keys[1:])
    return found


def _by_values(a: Sequence[Epoch], b: Sequence[Epoch], close: Callable[[str, str], bool]) -> list[tuple[int, int]]:
    """The longest list of pairs in both orders that wrote nearly the same values."""
    near = [[one["kind"] == other["kind"] and close(one["epoch"], other["epoch"]) for other in b] for one in a]
    most = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            most[i][j] = max(most[i + 1][j], most[i][j + 1], near[i][j] + most[i + 1][j + 1])
    found, i, j = list[tuple[int, int]](), 0, 0
    while i < len(a) and j < len(b):
        if near[i][j] and most[i][j] == 1 + most[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif most[i][j] == most[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _figures(epoch: Epoch) -> dict[str, Any]:
    sides = {"read": False, "written": True}
    moved = {word: npu_epochs.moved(epoch, writes=writes) for word, writes in sides.items()}
    return {
        "does": npu_epochs.units(epoch),
        "MACs": epoch["macs"],
        **{f"{pool} {word}": size for word, side in moved.items() for pool, size in side.items()},
        "settings": epoch["settings"] or None,
        "unknown": epoch["missing"] or None,
    }


class EpochValues(NamedTuple):
    """What an epoch of both compiles wrote in all inferences."""

    buffers: int  # That were compared
    equal: int
    reordered: int  # The same values at other places
    steps: int | None  # Largest difference of integers
    real: float | None  # Largest difference of real numbers


class _Values:
    """What both compiles wrote for the same inputs."""

    def __init__(self, a: KeptEpochs, b: KeptEpochs) -> None:
        self._sides = a, b
        self._by_epoch = [[self._grouped(vector) for vector in side.vectors] for side in (a, b)]

    @staticmethod
    def _grouped(vector: Sequence[KeptBuffer]) -> dict[str, list[KeptBuffer]]:
        found: dict[str, list[KeptBuffer]] = {}
        for buffer in vector:
            found.setdefault(buffer.epoch, []).append(buffer)
        return found

    def close(self, a: str, b: str) -> bool:
        """Whether epochs wrote nearly the same in the first inference."""
        ours, theirs = (side[0].get(label, []) for side, label in zip(self._by_epoch, (a, b), strict=True))
        return bool(ours) and nearly_equal(self._sides[0], ours, self._sides[1], theirs)

    def of(self, a: str, b: str) -> EpochValues | None:
        """By the numbers of the epochs; None: their buffers do not have the same form."""
        differences = []
        for one, other in zip(*self._by_epoch, strict=True):
            ours, theirs = one.get(a, []), other.get(b, [])
            if not ours or [(x.size, x.elements) for x in ours] != [(y.size, y.elements) for y in theirs]:
                return None
            pairs = zip(ours, theirs, strict=True)
            differences += [difference(self._sides[0], x, self._sides[1], y) for x, y in pairs]
        known = [each for each in differences if each is not None]
        return EpochValues(
            len(differences),
            len(differences) - len(known),
            sum(each.reordered for each in known),
            max((each.steps for each in known if each.steps is not None), default=None),
            max((each.real for each in known if each.real is not None), default=None),
        )


def of_both(
    a: NetworkSide, b: NetworkSide, vectors: Path | None, options: NpuOptions, done: Callable[[int, int], None]
) -> tuple[tuple[KeptEpochs, ...], str]:
    """What both sides compute of the same inputs, kept or computed now, or why that is not known. ``vectors``: golden
    vectors with those inputs; None: those that one side was kept beside. ``options``: if they say nothing, those of
    the side that was kept hold.
    """
    folder = next((each for each in (vectors, a.vectors, b.vectors) if each is not None), None)
    if folder is None:
        return (), ""
    from neuralart_virtual.emulator import vectors as golden
    from neuralart_virtual.tie_rules import Ties
    from neuralart_virtual.vectors.npu_buffers import hash_of
    from neuralart_virtual.vectors.npu_outputs import NpuVectors
    from neuralart_virtual.virtual_npu import NpuOptions

    inputs = golden.load(folder).input_data
    known = next((each.kept for each in (a, b) if each.kept is not None), None)
    if known is not None and options == NpuOptions():
        options = NpuOptions(known.assume, Ties.of_words(known.ties))
    found = []
    for side in (a, b):
        if side.kept is not None and side.kept.inputs == hash_of(inputs):
            found.append(side.kept)
        elif side.code is None:
            return (), f"no values are compared: one side has none for the inputs of {folder.as_posix()}"
        else:
            try:
                network = NpuVectors(side.code, options)
                if sum(port.bytes for port in network.inputs) != len(inputs[0]):
                    return (), f"no values are compared: {side.code.name} has inputs of another size"
                found.append(network.compute(inputs, lambda count: done(count, len(inputs)))[1])
            except NeuralArtError as error:
                return (), f"no values are compared: {error}"
    return tuple(found), ""


def in_words(values: Mapping[str, Any]) -> str:
    """``equal``, ``3 steps`` and the like; of a record."""
    apart = values["buffers"] - values["equal"] - values["reordered"]
    if not apart:
        return "other order" if values["reordered"] else "equal"
    words = [] if values["steps"] is None else [f"{values['steps']} step{'' if values['steps'] == 1 else 's'}"]
    words += [] if values["real"] is None else [f"{values['real']:.3g}"]
    return " and ".join(words) or "differ"


def npu_diff(
    a: Sequence[Epoch], b: Sequence[Epoch], names: tuple[Names, Names] = ({}, {}), kept: Sequence[KeptEpochs] = ()
) -> dict[str, Any]:
    """What changed, for programs. ``names``: of the tensors that epochs write, by their numbers, where a c_info.json
    tells them; ``kept``: what both sides wrote for the same inputs, if that is known.
    """
    sides = zip((a, b), names, strict=True)
    named = {id(epoch): side.get(epoch["epoch"]) for epochs, side in sides for epoch in epochs}
    keys: list[Key] = [lambda epoch: named[id(epoch)] or _work(epoch)] if all(names) else []
    made: dict[str, Any] = {"paired": 0, "equal": 0, "moved": 0, "added": [], "removed": [], "changed": []}
    values, seen = _Values(*kept) if kept else None, []
    keys += [_work] if values is not None else [_work, _written]
    pairs, matches = _by_values(a, b, values.close) if values is not None else [], list[Match]()
    starts = [(-1, -1), *pairs]
    for (i, j), (i_end, j_end) in zip(starts, [*pairs, (len(a), len(b))], strict=True):
        matches += [(a[i], b[j])] if i >= 0 else []
        matches += _aligned(a[i + 1 : i_end], b[j + 1 : j_end], keys)
    for one, other in matches:
        if one is None or other is None:
            epoch = one or other
            assert epoch is not None
            made["added" if one is None else "removed"].append(
                {"epoch": epoch["epoch"], "does": npu_epochs.units(epoch), "macs": epoch["macs"]}
            )
            continue
        made["paired"] += 1
        figures = _figures(one), _figures(other)
        differs = {key: [side.get(key) for side in figures] for key in dict.fromkeys((*figures[0], *figures[1]))}
        differs = {key: pair for key, pair in differs.items() if pair[0] != pair[1]}
        found = values.of(one["epoch"], other["epoch"]) if values is not None else None
        row = {"a": one["epoch"], "b": other["epoch"], "differs": differs}
        row["values"] = None if found is None else found._asdict()
        if found is not None:
            seen.append(row)
        places = [[(stream["writes"], stream["address"]) for stream in epoch["streams"]] for epoch in (one, other)]
        if differs or (found is not None and found.equal < found.buffers):
            made["changed"].append(row)
        if not differs:
            made["equal" if sorted(places[0]) == sorted(places[1]) else "moved"] += 1
    made["values"] = _summary(seen, len(kept[0].vectors)) if kept else None
    return made


def _summary(rows: Sequence[Mapping[str, Any]], vectors: int) -> dict[str, Any]:
    words = [in_words(row["values"]) for row in rows]
    different = [row for row, word in zip(rows, words, strict=True) if word not in ("equal", "other order")]
    steps = [row["values"]["steps"] for row in rows if row["values"]["steps"] is not None]
    return {
        **{"vectors": vectors, "epochs": len(rows), "equal": words.count("equal")},
        **{"reordered": words.count("other order"), "steps": max(steps, default=None)},
        "first": [different[0]["a"], different[0]["b"]] if different else None,
    }


def lines_of(record: Mapping[str, Any]) -> list[str]:
    """The summary in at most two lines; none without epochs."""
    if not record["paired"] + len(record["added"]) + len(record["removed"]):
        return []
    other = record["paired"] - record["equal"] - record["moved"]
    counts = f"{record['equal']} equal, {record['moved']} at other addresses alone, {other} differ"
    ends = f"{len(record['added'])} added, {len(record['removed'])} removed"
    lines = [f"what its epochs do: {record['paired']} paired: {counts}; {ends}"]
    if (values := record["values"]) is not None:
        counts = f"{values['equal']} of {values['epochs']} epochs equal, {values['reordered']} in another order"
        text = f"what they compute of {values['vectors']} vectors: {counts}"
        if values["first"]:
            most = "" if values["steps"] is None else f", by up to {values['steps']} steps"
            text += f"; the first that differs{most}: {shown(*values['first'])}"
        lines.append(text)
    return lines


def shown(a: str, b: str) -> str:
    """Numbers of a pair."""
    return a if a == b else f"{a} -> {b}"
