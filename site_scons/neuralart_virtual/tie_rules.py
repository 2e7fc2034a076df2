"""How ties are rounded, by stage: what options, variants and units say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from neuralart.errors import NeuralArtError, nearest

AWAY, UP, EVEN = "away", "up", "even"
TIES = (AWAY, UP, EVEN)
STAGES = ("convolution", "multiply", "bias", "average", "activation", "final", "input")
"""Where units round. Of the arithmetic units ``final`` is one with bytes at its output; of the others ``bias`` is one
that adds a constant, ``multiply`` one that does not."""


@dataclass(frozen=True)
class Ties:
    """The tie rule of each stage."""

    default: str = AWAY
    stages: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of_words(words: Sequence[str], where: str = "--ties") -> Ties:
        """``up`` for all stages, ``average=up`` for one. NeuralArtError: no such stage, or no such rule."""
        default, stages = AWAY, {}
        for word in words:
            stage, equals, rule = word.rpartition("=")
            if rule not in TIES:
                raise NeuralArtError(f"no tie rule is called '{rule}'", where=where, hint=nearest(rule, TIES))
            if equals and stage not in STAGES:
                raise NeuralArtError(f"no stage is called '{stage}'", where=where, hint=nearest(stage, STAGES))
            if equals:
                stages[stage] = rule
            else:
                default = rule
        return Ties(default, stages)

    def of(self, stage: str) -> str:
        """The rule of a stage."""
        return self.stages.get(stage, self.default)

    def words(self) -> tuple[str, ...]:
        """What :meth:`of_words` takes; none for the usual rule."""
        rules = [self.default] if self.default != AWAY else []
        return (*rules, *(f"{stage}={rule}" for stage, rule in sorted(self.stages.items()) if rule != self.default))

    def notes(self) -> list[str]:
        """A line if a rule is not the usual one."""
        rules = self.words()
        return [f"ties are rounded by --ties {' '.join(rules)}"] if rules else []
