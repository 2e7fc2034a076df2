"""The virtual board. All ways in which a run ends badly are results, not wrong usage: the command exits with 2."""

from __future__ import annotations

from neuralart.errors import NeuralArtError


class RunFailure(NeuralArtError):
    """The firmware ran, or should have run, and did not do what was expected."""


class MachineStop(RunFailure):
    """The machine stopped: a bank that is off, a fault, an emulator that ended, no answer in time."""


class LinkFailure(RunFailure):
    """The firmware answered, but not what the protocol or the network demands."""


class Difference(RunFailure):
    """An output differs from its golden vector."""
