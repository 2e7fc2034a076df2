"""Instructions of each software epoch, counted on a virtual board. They are no cycles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.network.targets import CPU, flow_of
from neuralart.vendor.tables import plural, table
from neuralart_insight.profiling.measured import rounded_mean
from neuralart_insight.profiling.totals import ratio
from neuralart_virtual.emulator import RunFailure, runner
from neuralart_virtual.emulator.inputs.source import GivenInputs, RandomInputs, inputs_of
from neuralart_virtual.emulator.instructions import EpochInstructions
from neuralart_virtual.emulator.variant_networks import VariantNetwork, built_network, run_built


@dataclass(frozen=True)
class CountedEpoch:
    """What an epoch executes."""

    id: int  # Its number
    operators: tuple[str, ...]  # Kinds of the model's operators in it
    instructions: int  # Up to the return of its function


@dataclass(frozen=True)
class InstructionProfile:
    """What an inference executes on a virtual board, epoch by epoch."""

    network: str  # Its name
    machine: str  # Kind of the machine
    core: str  # What it executes, and what it is not
    kernels: str  # Of the variant: ``c``, ``dsp`` or ``mve``
    inputs: str  # Where they come from
    samples: int  # Inferences; counts are means over them, rounded up
    epochs: tuple[CountedEpoch, ...]  # In order of execution

    @property
    def total(self) -> int:
        """Of all epochs, without the scheduler."""
        return sum(epoch.instructions for epoch in self.epochs)

    def record(self) -> dict[str, Any]:
        """For programs (docs/reference/profile.md has the schema)."""
        epochs = [{**asdict(epoch), "share": ratio(epoch.instructions, self.total)} for epoch in self.epochs]
        return {**asdict(self), "total": self.total, "epochs": epochs}

    def lines(self, verbosity: int) -> list[str]:
        """For people."""
        rows: list[Sequence[Any]] = []
        before = 0
        for epoch in self.epochs:
            before += epoch.instructions
            shares = [f"{100 * each / (self.total or 1):.1f}" for each in (epoch.instructions, before)]
            rows.append([epoch.id, f"{epoch.instructions:,}", *shares, ", ".join(epoch.operators)])
        return [
            f"{self.network}: instructions on {self.machine} ({self.core}; kernels: {self.kernels}); no cycles",
            f"  {self.total:,} in the epochs of an inference; {plural(self.samples, 'sample')}, {self.inputs}",
            *(table(("epoch", "instructions", "%", "cumul %", "operators"), rows) if verbosity else ()),
        ]


def _functions(subject: VariantNetwork) -> dict[str, int]:
    """Functions of the epochs, and their numbers. NeuralArtError: nothing here can count them."""
    if subject.variant.relocatable is not None:
        what = "the epochs of a relocatable model are loaded at run time, and their addresses are not known before"
        hint = "a variant of the same network without 'relocatable'"
        raise NeuralArtError(what, where=subject.variant.said("relocatable"), hint=hint)
    network = subject.network
    core = flow_of(subject.board.target) == CPU
    pattern = f"{network.symbol}_layer_%d" if core else f"LL_ATON_Start_EpochBlock_%d_{network.symbol}"
    return {pattern % epoch.number: epoch.number for epoch in network.epochs}


def count_instructions(file: Path, build: Path, variant: str, name: str, on: str, batch: int) -> InstructionProfile:
    """Run a network (empty: the only one) of a built variant, with ``batch`` of its golden vectors if it has some.
    ``on``: ``virtual`` (the variant's machine) or ``qemu``. NeuralArtError: it is not built of today's configuration,
    its run does not end well, or nothing can count its epochs.
    """
    subject = built_network(file, build, variant, name, runs_here=True)
    counts = EpochInstructions(_functions(subject))
    machine = runner.machine_of(subject.board, "qemu" if on == "qemu" else subject.variant.machine)
    said, network = subject.config.vectors, subject.network
    given = inputs_of(file.parent / said if said else RandomInputs(batch), network)
    feed = GivenInputs(given.input_data[:batch], said or str(RandomInputs(batch)))
    try:
        one, dead = runner.NetworkRun(subject.facts, feed), subject.variant.dead_bank
        result = run_built(subject.board, machine, subject.folder, one, dead_bank=dead, counts=counts)
    except RunFailure as failure:
        # A core that waits for its debugger says nothing, so that is the better reason.
        raise NeuralArtError(counts.failed or str(failure), where=f"variant {variant}") from failure
    # An application may compute for itself before it is asked.
    samples = counts.samples[-len(feed.data) :]
    if len(samples) != len(feed.data) or any(len(each) != len(counts.functions) for each in samples):
        what = counts.failed or f"{len(samples)} of {len(feed.data)} inferences were counted"
        raise NeuralArtError(what, where=f"variant {variant} on {machine.kind}")
    epochs = tuple(
        CountedEpoch(epoch.number, epoch.operators, rounded_mean([each[epoch.number] for each in samples]))
        for epoch in network.epochs
    )
    kernels = subject.variant.kernels
    return InstructionProfile(network.name, machine.kind, result.note, kernels, feed.origin, len(feed.data), epochs)
