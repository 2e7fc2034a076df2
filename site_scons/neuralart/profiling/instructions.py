"""Instructions of each software epoch, counted on a virtual board. They are no cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.emulator import RunFailure, runner
from neuralart.emulator.built import BuiltNetwork, built_network, run_built
from neuralart.emulator.inputs.source import GivenInputs, RandomInputs, inputs_of
from neuralart.emulator.instructions import EpochInstructions
from neuralart.errors import NeuralArtError
from neuralart.profiling.estimate import NetworkEstimate
from neuralart.profiling.measured import rounded_mean
from neuralart.profiling.totals import ratio

MACHINES = ("virtual", "qemu")
HEADS = ("epoch", "instructions", "%", "cumul %", "operators")


@dataclass(frozen=True)
class InstructionProfile:
    """What an inference executes on a virtual board, epoch by epoch."""

    machine: str  # Kind of the machine
    core: str  # What it executes, and what it is not
    kernels: str  # ``c`` or ``mve``
    inputs: str  # Where they come from
    samples: int  # Inferences; counts are means over them, rounded up
    epochs: tuple[tuple[int, int], ...]  # Number of the epoch and instructions, in order of execution

    @property
    def total(self) -> int:
        """Of all epochs, without the scheduler."""
        return sum(count for _, count in self.epochs)


def _check(subject: BuiltNetwork, estimate: NetworkEstimate) -> None:
    """NeuralArtError: nothing here can count the epochs of this variant."""
    if subject.variant.relocatable is not None:
        what = "the epochs of a relocatable model are loaded at run time, and their addresses are not known before"
        hint = "a variant of the same network without 'relocatable'"
        raise NeuralArtError(what, where=subject.variant.said("relocatable"), hint=hint)
    others = [epoch.id for epoch in estimate.epochs if epoch.type not in ("SW", "NONE")]
    if others:
        what = f"epoch {others[0]} of network {estimate.name} is for the NPU, which no virtual board has"
        raise NeuralArtError(what, where=f"variant {subject.variant.name}")


def count_instructions(
    file: Path, build: Path, variant: str, name: str, estimate: NetworkEstimate, on: str, batch: int
) -> InstructionProfile:
    """Run a network of a variant on a virtual board, with golden vectors where it has some, and count.

    Args:
        file: The project file.
        build: The build folder.
        variant: The variant.
        name: Its network; empty: the only one.
        estimate: What is known of its epochs.
        on: ``virtual`` (the variant's machine) or ``qemu``.
        batch: How many inferences.

    Raises:
        NeuralArtError: The variant is not built of today's configuration, or its epochs cannot be counted.
    """
    subject = built_network(file, build, variant, name, runs_here=True)
    _check(subject, estimate)
    machine = runner.machine_of(subject.board, "qemu" if on == "qemu" else subject.variant.machine)
    said, network = subject.config.vectors, subject.network
    given = inputs_of(file.parent / said if said else RandomInputs(batch), network)
    feed = GivenInputs(given.input_data[:batch], said or str(RandomInputs(batch)))
    counts = EpochInstructions({f"LL_ATON_Start_EpochBlock_{e.id}_{network.name}": e.id for e in estimate.epochs})
    try:
        result = run_built(
            subject.board,
            machine,
            subject.folder,
            runner.NetworkRun(subject.facts, feed),
            dead_bank=subject.variant.dead_bank,
            counts=counts,
        )
    except RunFailure as failure:
        # A core that waits for its debugger says nothing, so that is the better reason.
        raise NeuralArtError(counts.failed or str(failure), where=f"variant {variant}") from failure
    if len(counts.samples) != len(feed.data) or any(len(each) != len(counts.functions) for each in counts.samples):
        what = counts.failed or f"{len(counts.samples)} inferences were counted, not {len(feed.data)}"
        raise NeuralArtError(what, where=f"variant {variant} on {machine.kind}")
    epochs = tuple((id, rounded_mean([each[id] for each in counts.samples])) for id in counts.samples[0])
    return InstructionProfile(
        machine.kind, result.note, subject.variant.kernels, feed.origin, len(counts.samples), epochs
    )


def instruction_record(found: InstructionProfile) -> dict[str, Any]:
    """For programs (docs/reference/profile.md has the schema)."""
    epochs = [{"id": id, "instructions": n, "share": ratio(n, found.total)} for id, n in found.epochs]
    more = {"samples": found.samples, "total": found.total, "epochs": epochs}
    return {"machine": found.machine, "core": found.core, "kernels": found.kernels, "inputs": found.inputs, **more}


def instruction_rows(found: InstructionProfile, estimate: NetworkEstimate) -> list[Sequence[Any]]:
    """Cells of the table."""
    operators = {epoch.id: ", ".join(epoch.operators) for epoch in estimate.epochs}
    rows: list[Sequence[Any]] = []
    before = 0
    for id, count in found.epochs:
        before += count
        shares = [f"{100 * each / (found.total or 1):.1f}" for each in (count, before)]
        rows.append([id, f"{count:,}", *shares, operators[id]])
    return rows


def instruction_title(found: InstructionProfile) -> str:
    """What the table is of."""
    plural = "s" if found.samples > 1 else ""
    said = f"instructions on {found.machine} ({found.core}; kernels: {found.kernels}); no cycles"
    return f"{said}\n  {found.total:,} in the epochs of an inference; {found.samples} sample{plural}, {found.inputs}"
