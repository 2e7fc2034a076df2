"""What a run on the virtual NPU may be told: by options of commands, or by ``assume:`` and ``ties:`` of a variant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from neuralart.config.keys import VARIANT, AddedKey
from neuralart.plugins import register
from neuralart.text.values import Value
from neuralart_virtual.tie_rules import Ties

if TYPE_CHECKING:
    from neuralart_virtual.npu.memory import NpuMemory
    from neuralart_virtual.npu.run import EpochResult

_REFERENCES = {"ai-edge-litert": "LiteRT", "onnxruntime": "onnxruntime"}  # By what is in the name of a reference
NO_REFERENCE = "not compared with LiteRT: no reference"
_MODE = re.compile(r"[A-Z]+\.[A-Z0-9]+=[0-9]+")


def says(within: str) -> str:
    """What may be claimed of a result; ``within``: how far it is from a reference, or NO_REFERENCE."""
    return f"the virtual NPU executes the compiled network; {within}; a model, not the chip; no time"


def within(reference: str, steps: int | None, real: float | None) -> str:
    """How far outputs are from a reference: integers in steps, real numbers as they are; None: there are none such.
    ``reference``: who computed it.
    """
    words = [] if steps is None else [f"{steps} step{'' if steps == 1 else 's'}"]
    words += [] if real is None else [f"{real:.3g}"]
    apart, unit = " and ".join(words), "" if real is None else ", in real numbers"
    for mark, name in _REFERENCES.items():
        if mark in reference:
            return f"within {apart} of {name}{unit}"
    who = reference.partition(",")[0] or "an unknown source"
    return f"within {apart} of outputs by {who}{unit}; {NO_REFERENCE}"


class EpochObserver(Protocol):
    """Sees each epoch of each inference; what it writes to memory stays."""

    def begins(self, memory: NpuMemory) -> None:
        """The inputs of the next inference are in memory."""

    def __call__(self, result: EpochResult) -> None:
        """An epoch is done."""


@dataclass(frozen=True)
class NpuOptions:
    """How a compiled network runs."""

    assume: tuple[str, ...] = ()  # Modes that are not known for sure: ``POOL.TYPE=2``
    ties: Ties = field(default_factory=Ties)
    observer: EpochObserver | None = None  # With one, each epoch tells how far its buffers may be from a reference

    @staticmethod
    def of_keys(added: Mapping[str, Any], observer: EpochObserver | None = None) -> NpuOptions:
        """Those of a variant, by the values of its keys."""
        return NpuOptions(added.get("assume", ()), Ties.of_words(added.get("ties", ())), observer)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare ``--assume`` and ``--ties``."""
    several = partial(parser.add_argument, action="append", default=[])
    text = "virtual NPU: execute a mode that is not known for sure, as the message that stops at it says"
    several("--assume", metavar="UNIT.FIELD=VALUE", help=text)
    text = "virtual NPU: how ties are rounded: away (default), up, even; or of one stage: average=up"
    several("--ties", metavar="[STAGE=]RULE", help=text)


def of_arguments(args: argparse.Namespace) -> NpuOptions:
    """What those options say. NeuralArtError: no such stage or rule."""
    return NpuOptions(tuple(args.assume), Ties.of_words(args.ties))


def _modes(value: Value) -> tuple[str, ...]:
    return tuple(item.matching(_MODE, "UNIT.FIELD=VALUE, for example POOL.TYPE=2") for item in value.items())


def _ties(value: Value) -> tuple[str, ...]:
    words = value.texts() if value.is_list else (value.text(),)
    Ties.of_words(words, str(value.where))
    return words


_DOC = (
    "list of modes that the virtual NPU executes though they are not known for sure: `[POOL.TYPE=2]` ([npu.md](npu.md))"
)
register("keys", "assume", AddedKey(VARIANT, _modes, _DOC, "such a mode stops the run"), protocol=1)
_DOC = "how the virtual NPU rounds ties: `away`, `up` or `even`, or a list with rules of stages: `[up, average=away]`"
register("keys", "ties", AddedKey(VARIANT, _ties, _DOC, "`away`"), protocol=1)
