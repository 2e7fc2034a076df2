"""What the writers know: a planned program and the choices that shape the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from neuralart.compilers.request import BorderOptions
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.network.targets import relative_symbol
from neuralart_reference.ir import Program
from neuralart_reference.model.graph import Model, Tensor
from neuralart_reference.planning.planner import MemoryPlan, PoolPlan

NUMERICS = "litert-2.20"
TOOL = "neuralart-reference"


@dataclass(frozen=True)
class Emission:
    """Input of every writer."""

    name: str  # C name of the network
    target: str  # ``--target``
    model: Model  # the model it came from
    program: Program  # its lowering
    plan: MemoryPlan  # where everything is
    pools: PoolFile  # the pool file
    border: BorderOptions = field(default_factory=BorderOptions)  # types and channel positions asked for
    # Owners whose memory the application provides -> (``input`` | ``output``, index)
    user_owned: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    all_buffers: bool = False  # emit the table of internal buffers
    options: tuple[tuple[str, str], ...] = ()  # options in effect, for the banner: (name, C-like value)
    arguments: str = ""  # the command line without folders, for reports
    notes: tuple[str, ...] = ()  # what was asked for and has no effect here

    def tensor(self, number: int) -> Tensor:
        """A tensor of the program."""
        return self.program.tensors[number]

    def owner(self, number: int) -> tuple[str, int] | None:
        """Which port's buffer a tensor lies in, if the application provides it."""
        return self.user_owned.get(self.program.root(number))

    def address(self, number: int) -> int:
        """Absolute address of a tensor that the compiler placed."""
        root = self.program.root(number)
        if root in self.plan.tensors:
            return self.plan.tensors[root] + self.program.offset(number)
        return self.plan.constant_address["tensor", root] + self.program.offset(number)

    def disabled(self) -> tuple[PoolPlan, ...]:
        """Pools of size 0."""
        return tuple(PoolPlan(pool, pool.fname, pool.name, 0, 0, 0, 0) for pool in self.pools.pools if not pool.size)

    def physical(self) -> tuple[PoolPlan, ...]:
        """Pools that are not made of others."""
        return tuple(pool for pool in self.plan.pools if not pool.parts)

    def base(self, plan: PoolPlan) -> str:
        """The base of a pool as a C expression of type ``uintptr_t`` or ``unsigned long``."""
        if plan.pool.relative:
            return f"(uintptr_t){relative_symbol(plan.fname, self.name)}"
        return f"0x{plan.address:08x}UL"

    def port_tensors(self, kind: str) -> tuple[int, ...]:
        """Tensor numbers of ``input`` or ``output``."""
        return self.program.inputs if kind == "input" else self.program.outputs

    def channel_position(self, kind: str, index: int) -> str:
        """``first``, ``last`` or ``undefined`` of a port."""
        asked = self.border.inputs_ch_position if kind == "input" else self.border.outputs_ch_position
        word = (
            asked[index if len(asked) > 1 else 0] if asked else ("chfirst" if self.model.channels_first else "chlast")
        )
        rank = len(self.tensor(self.port_tensors(kind)[index]).shape)
        if rank >= 3 and word == "chfirst":
            return "first"
        return "last" if rank >= 2 else "undefined"

    def epochs_of(self, number: int) -> tuple[int, int]:
        """First and last epoch that touches a tensor's memory; (0, 0) if none does."""
        return self._epochs.get(self.program.root(number), (0, 0))

    def written_in(self, number: int) -> int:
        """Epoch after which a tensor is complete; of inputs, the last epoch that reads them."""
        return self._written.get(self.program.root(number), self.epochs_of(number)[1])

    @cached_property
    def _written(self) -> dict[int, int]:
        calls = enumerate(self.program.calls)
        return {self.program.root(number): epoch for epoch, call in calls for number in call.writes}

    @cached_property
    def _epochs(self) -> dict[int, tuple[int, int]]:
        """Owner of memory -> first and last epoch that touches it."""
        found: dict[int, tuple[int, int]] = {}
        for epoch, call in enumerate(self.program.calls):
            for number in (*call.reads, *call.writes):
                root = self.program.root(number)
                found[root] = (found.get(root, (epoch, epoch))[0], epoch)
        return found

    @cached_property
    def constant_epochs(self) -> dict[tuple[str, int], int]:
        """Key of a constant -> first epoch that uses it."""
        return {key: epoch for (epoch, _), key in reversed(self.plan.constant_of.items())}


def user_symbol(name: str, kind: str, index: int) -> str:
    """The variable that holds the address of a buffer of the application."""
    return f"_mem_pool__user_io_{kind}_{index}_{name}"


def score(pool: MemoryPool) -> int:
    """How desirable a pool is for activations, 0 to 100: 50 for throughput, 50 for latency."""
    return {"HIGH": 50, "MID": 35, "LOW": 10}[pool.throughput] + {"LOW": 50, "MID": 40, "HIGH": 15}[pool.latency]
