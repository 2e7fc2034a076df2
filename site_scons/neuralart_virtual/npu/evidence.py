"""What records of a board say of assumptions of the model: the network runs with each tie rule, fed by the record.

Each epoch is fed with what the board had, so a difference is one of that epoch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neuralart.errors import NeuralArtError
from neuralart_virtual.npu.run import EpochResult, VirtualNetwork, load
from neuralart_virtual.tie_rules import STAGES, TIES, Ties
from neuralart_virtual.validation_link.layer_files import BoardInference, LayerTensor

CONFIRMED, REFUTED, OPEN = "confirmed", "refuted", "open"
# Rounds of choosing a rule for each stage; a choice may decide what another stage shows.
_ROUNDS = 3


class BufferEvidence(NamedTuple):
    """A buffer of the record beside that of the model."""

    epoch: str
    address: int
    elements: int
    different: int  # Elements
    modes: frozenset[str]  # Assumed modes that the epoch needed


@dataclass
class ModelRun:
    """Inferences by the model, beside those of the records."""

    buffers: list[BufferEvidence] = field(default_factory=list)

    @property
    def different(self) -> int:
        """Elements of all buffers that differ."""
        return sum(buffer.different for buffer in self.buffers)


@dataclass(frozen=True)
class StageEvidence:
    """What the records say of how a stage rounds."""

    stage: str
    different: dict[str, int]  # Elements that differ, by rule; other stages have the best rules

    @property
    def best(self) -> str:
        """The rule with the fewest differences, the first of equals."""
        return min(TIES, key=lambda rule: self.different[rule])

    def verdict(self, rule: str) -> str:
        """``confirmed``: it alone leaves fewest differences, ``refuted``: another leaves fewer; else ``open``."""
        fewest = min(self.different.values())
        if self.different[rule] > fewest:
            return REFUTED
        return CONFIRMED if list(self.different.values()).count(fewest) == 1 else OPEN


class _Fed:
    """Observes a run: compares buffers with the record, and puts those of the record in their places."""

    def __init__(self, network: VirtualNetwork, tensors: Sequence[LayerTensor], run: ModelRun) -> None:
        self._network, self._left, self._run = network, list(tensors), run

    def __call__(self, result: EpochResult) -> None:
        assumptions = self._network.settings.assumptions
        modes = frozenset(assumptions.used)
        assumptions.used.clear()
        for output in result.outputs:
            size = output.size * output.elements
            for tensor in self._left:
                place = tensor.address, len(tensor.data)
                if tensor.first <= int(result.label) <= tensor.last and place == (output.start, size):
                    self._left.remove(tensor)
                    memory = self._network.memory.view(output.start, size)
                    data = np.frombuffer(tensor.data, np.uint8)
                    apart = (memory != data).reshape(output.elements, output.size).any(1)
                    different = int(np.count_nonzero(apart))
                    self._run.buffers.append(
                        BufferEvidence(result.label, output.start, output.elements, different, modes)
                    )
                    memory[:] = data
                    break


class Evidence:
    """Records beside the network that they are of."""

    def __init__(self, path: Path, records: Sequence[BoardInference], assume: Sequence[str]) -> None:
        """``path``: network.c. NeuralArtError: a file is missing or wrong, or a record is of other inputs."""
        self._path, self._records, self._assume = path, records, assume
        wanted = [port.row.bytes for port in load(path, assume=assume).network.inputs]
        for record in records:
            given = [len(data) for data in record.inputs]
            if given != wanted:
                what = f"a record has inputs of {given} bytes, the network's own are {wanted}"
                raise NeuralArtError(what, where=path.name, hint="is it the record of this compile?")
        self.tensors = sum(len(record.tensors) for record in records)
        self.best = self.run(Ties())
        if not self.best.buffers:
            what = f"none of the {self.tensors} recorded tensors is where an epoch of the network writes"
            hint = "are they of this compile, by firmware that sends tensors of layers?"
            raise NeuralArtError(what, where=path.name, hint=hint)

    def run(self, ties: Ties) -> ModelRun:
        """All inferences with these rules. NeuralArtError: an epoch cannot be executed."""
        network, done = load(self._path, assume=self._assume, ties=ties), ModelRun()
        for record in self._records:
            for port, data in zip(network.network.inputs, record.inputs, strict=True):
                network.set_input(port.row.name, data)
            network.run(_Fed(network, record.tensors, done))
        return done

    def stages(self, done: Callable[[int, int], None]) -> list[StageEvidence]:
        """What the records say of each stage. ``done``: told runs that are done, and how many there are at most."""
        chosen: dict[str, str] = {}
        counts: dict[tuple[tuple[str, str], ...], ModelRun] = {}
        for round_number in range(_ROUNDS):
            stages = []
            for at, stage in enumerate(STAGES):
                different = {}
                for rule in TIES:
                    rules = {**chosen, stage: rule}
                    key = tuple(sorted(item for item in rules.items() if item[1] != Ties().default))
                    if key not in counts:
                        counts[key] = self.run(Ties(stages=rules))
                    different[rule] = counts[key].different
                    if counts[key].different < self.best.different:
                        self.best = counts[key]
                stages.append(StageEvidence(stage, different))
                done(round_number * len(STAGES) + at + 1, _ROUNDS * len(STAGES))
            found = {one.stage: one.best for one in stages if one.best != Ties().default}
            if found == chosen:
                break
            chosen = found
        return stages

    def modes(self) -> dict[str, tuple[int, int]]:
        """By each assumed mode that was needed: elements of the epochs that need it, and how many of them differ."""
        names = sorted({mode for buffer in self.best.buffers for mode in buffer.modes})
        needing = {name: [buffer for buffer in self.best.buffers if name in buffer.modes] for name in names}
        return {name: (sum(b.elements for b in own), sum(b.different for b in own)) for name, own in needing.items()}
