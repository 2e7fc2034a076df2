"""The inferences of one network: what is fed, what came out, and how close that is to what is known."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from neuralart import products
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Nor
from neuralart.network import facts
from neuralart.network.facts import NETWORK_RUNTIME, NEURALART, Network
from neuralart.relocatable.format import container
from neuralart.relocatable.format.types import Image
from neuralart_virtual.emulator import Difference, RunFailure
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.emulator.inputs.preprocessing import library
from neuralart_virtual.emulator.inputs.source import Feed, inputs_of
from neuralart_virtual.emulator.vectors import BIT_EXACT, Closeness
from neuralart_virtual.virtual_npu import NO_REFERENCE, NpuOptions, says, within


@dataclass(frozen=True)
class NetworkRun:
    """A network to run."""

    network: Path  # Path of its ``network.json``
    feed: Feed  # Where its inputs come from; outputs are compared only with those of golden vectors
    model: Path | None = None  # The relocatable model that the firmware loads; None: it is linked in
    params: Path | None = None  # The params of a split one
    closeness: Closeness = BIT_EXACT  # How close outputs must come
    npu: NpuOptions = field(default_factory=NpuOptions)  # How the virtual NPU runs it, if that does


@dataclass(frozen=True)
class NetworkResult:
    """A network that was run; outputs that are known came out as close as wanted."""

    name: str  # C name
    vectors: int  # How many inferences
    how: str = "bit-exact"  # ``bit-exact``, or the bounds; empty: nothing was compared
    outputs: tuple[bytes, ...] = ()  # What came out of each inference, if nothing was compared
    npu: tuple[str, ...] | None = None  # Notes of the virtual NPU; None: the machine alone computed it
    within: str = NO_REFERENCE  # How far the virtual NPU's outputs are from a reference

    @property
    def note(self) -> str:
        """What computed it, where that is not the machine alone; else empty."""
        return "" if self.npu is None else "; ".join((says(self.within), *self.npu))


@dataclass(frozen=True)
class RunResult:
    """A run that went well: anything else is an exception."""

    machine: str  # Kind of the machine
    note: str  # What that machine is and is not, in a few words
    networks: tuple[NetworkResult, ...]  # In the order given
    console: tuple[str, ...]  # Lines of text that the firmware printed
    notes: tuple[str, ...] = ()  # What else a user should know of this run
    ended: str = ""  # How a program of the user's own ended; else empty


@dataclass(frozen=True)
class Check:
    """What is to be run: facts, vectors, and what the firmware must call it."""

    network: Network
    vectors: golden.Vectors
    name: str
    stamp: str
    loaded: bool
    closeness: Closeness = BIT_EXACT
    compile: Path | None = None  # Its folder, if the virtual NPU is to run it
    npu: NpuOptions = field(default_factory=NpuOptions)
    image: Image | None = None  # The relocatable model that the virtual NPU is to run


def refuse_vendor(image: Image) -> None:
    """NeuralArtError: a relocatable model is for the vendor's runtime; the loading application runs ours only."""
    if image.context.version[0] != 0:
        version = ".".join(str(part) for part in (*image.context.version, image.context.extra))
        what = f"a model for runtime {version} ({image.context.description})"
        raise NeuralArtError(f"{what}: the loading application runs {NEURALART} only", where=image.where)


def check_of(one: NetworkRun) -> Check:
    network = facts.load(one.network)
    if network.runtime == NETWORK_RUNTIME:
        what = f"network {network.name} is made for runtime {network.runtime}: virtual boards run {NEURALART} only"
        raise NeuralArtError(what, where=str(one.network))
    vectors = inputs_of(one.feed, network)
    if one.model is None:
        folder = one.network.parent if network.runtime != NEURALART else None
        return Check(network, vectors, network.name, network.abi_stamp, False, one.closeness, folder, one.npu)
    params = None if one.params is None else products.read(one.params)
    image = container.parse(products.read(one.model), str(one.model), params)
    if network.runtime == NEURALART:
        refuse_vendor(image)
    theirs = (one.network.parent, one.npu, image) if network.runtime != NEURALART else ()
    return Check(network, vectors, image.context.c_name, container.stamp_of(image), True, one.closeness, *theirs)


@contextlib.contextmanager
def as_failure(check: Check) -> Iterator[None]:
    """What the virtual NPU does not execute is how a run ends, not wrong usage."""
    try:
        yield
    except NeuralArtError as error:
        if check.compile is None or isinstance(error, RunFailure):
            raise
        raise RunFailure(error.what, where=error.where, hint=error.hint) from None


def _compare(check: Check, number: int, outputs: bytes) -> None:
    """Demand that outputs are as close as wanted. Difference: they are not."""
    try:
        golden.compare(check.vectors, number, outputs, check.network, check.closeness)
    except Difference as difference:
        if check.compile is None or not check.closeness.exact:
            raise
        steps, real = golden.largest_difference(check.vectors, number, outputs)
        bound = "cos: 0.99" if steps is None or real is not None else f"max_lsb: {steps}"
        hint = f"the virtual NPU is a model, not the chip: 'check: {{{bound}}}' of the network says how close is enough"
        if check.vectors.oracle.startswith("virtual NPU "):
            words = shlex.join(["neuralart", "diff", check.vectors.where, check.compile.as_posix()])
            hint = f"expected by {check.vectors.oracle}; '{words}' shows which epochs differ"
        raise Difference(difference.what, where=difference.where, hint=hint) from None


def _within(vectors: golden.Vectors, apart: Sequence[tuple[int | None, float | None]]) -> str:
    """How far all outputs are from the golden vectors, in words."""
    if not apart:
        return NO_REFERENCE
    steps = max((each[0] for each in apart if each[0] is not None), default=None)
    return within(vectors.oracle, steps, max((each[1] for each in apart if each[1] is not None), default=None))


def inferences(
    check: Check,
    infer: Callable[[bytes], bytes],
    notes: Callable[[], Sequence[str]] | None,
    on_vector: Callable[[str, int, int], None] | None,
) -> NetworkResult:
    """Feed every input; ``notes`` are of the virtual NPU. Difference: known outputs are not as close as wanted."""
    vectors, unknown, apart = check.vectors, list[bytes](), list[tuple[int | None, float | None]]()
    for number, inputs in enumerate(vectors.input_data):
        with as_failure(check):
            outputs = infer(inputs)
        if vectors.output_data:
            _compare(check, number, outputs)
            if notes is not None:
                apart.append(golden.largest_difference(vectors, number, outputs))
        else:
            unknown.append(outputs)
        if on_vector is not None:
            on_vector(check.name, number + 1, vectors.count)
    how = "" if unknown else str(check.closeness)
    said = tuple(notes()) if notes is not None else None
    return NetworkResult(check.name, vectors.count, how, tuple(unknown), said, _within(vectors, apart))


def run_loaded(
    board: Board, nor: Nor, runs: Sequence[NetworkRun], on_vector: Callable[[str, int, int], None] | None = None
) -> RunResult:
    """Relocatable models for the vendor's runtime, from a flash onto the memories of a board by its load table: no
    firmware runs, the virtual NPU executes the epochs. RunFailure: the flash does not hold the models, a loader would
    refuse one, or an output differs. NeuralArtError: as :func:`run`.
    """
    library("numpy", "the virtual NPU")
    from neuralart_virtual.npu.on_board import LoadedNetwork

    results, modes = list[NetworkResult](), list[str]()
    for number, one in enumerate(runs):
        check = check_of(one)
        if check.image is None or check.compile is None:
            raise NeuralArtError(f"network {check.name} needs the firmware that it runs in", hint="give it with --elf")
        with as_failure(check):
            network = LoadedNetwork(board, nor, number, check.image, check.compile, check.npu)
        modes.append(network.mode)
        # What the network notes, it notes while it runs.
        results.append(inferences(check, network.infer, partial(getattr, network, "notes"), on_vector))
    return RunResult("unicorn", f"loaded in mode {' and '.join(dict.fromkeys(modes))}", tuple(results), ())
