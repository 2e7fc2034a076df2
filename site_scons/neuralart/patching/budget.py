"""How much of each memory buffers may take, by the application's linker script.

A memory's budget is its length less a reserve (what the application itself keeps there: data, heap, stack, display
buffers; the patch list states it, the user may change it), and never more than the memory-pool file gives the pool of
that name. What fits exactly fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError, nearest
from neuralart.text.linker_script.types import LinkerScript


@dataclass(frozen=True)
class Region:
    """A memory and its budget, in bytes."""

    name: str  # in the linker script
    length: int  # in the linker script
    reserve: int  # kept free
    pool: int | None = None  # size of the pool of that name in the memory-pool file; None if it has none

    @property
    def capacity(self) -> int:
        """Bytes that buffers may take."""
        free = max(self.length - self.reserve, 0)
        return free if self.pool is None else min(free, self.pool)

    def text(self) -> str:
        """For people."""
        pool = "" if self.pool is None else f", at most {self.pool} by the memory-pool file"
        return f"{self.length} less {self.reserve} reserved{pool}"


@dataclass(frozen=True)
class Use:
    """A buffer in a memory."""

    what: str
    bytes: int


class Budget:
    """What is taken so far.

    Attributes:
        regions: By name.
        uses: By name of the region, in the order they came.
    """

    def __init__(self, script: LinkerScript, reserve: Mapping[str, int], pools: Mapping[str, int]) -> None:
        """Read the memories.

        Args:
            script: The application's linker script.
            reserve: Memory -> bytes kept free; 0 for others.
            pools: Name of a pool -> bytes; pools of other names than memories do not matter.

        Raises:
            NeuralArtError: A reserve names no memory, or is larger than it.
        """
        self.script = script
        names = tuple(memory.name for memory in script.memories)
        for name, size in reserve.items():
            if name not in names:
                raise NeuralArtError(
                    f"reserve for '{name}', no such memory", where=script.name, hint=nearest(name, names)
                )
            length = script.memory(name).length
            if size > length:
                raise NeuralArtError(f"reserve of {size} bytes in {name}, which has {length}", where=script.name)
        self.regions = {
            memory.name: Region(memory.name, memory.length, reserve.get(memory.name, 0), pools.get(memory.name))
            for memory in script.memories
        }
        self.uses: dict[str, list[Use]] = {name: [] for name in names}

    def used(self, region: str) -> int:
        """Bytes taken."""
        return sum(use.bytes for use in self.uses[region])

    def free(self, region: str) -> int:
        """Bytes left; never below 0."""
        return self.regions[region].capacity - self.used(region)

    def take(self, region: str, use: Use) -> None:
        """Put a buffer somewhere; NeuralArtError: it does not fit; every number that plays a part is told."""
        if use.bytes > self.free(region):
            before = "".join(f", {each.what} takes {each.bytes}" for each in self.uses[region])
            capacity = self.regions[region].capacity
            raise NeuralArtError(
                f"{use.what} needs {use.bytes} bytes in {region}, {self.free(region)} of {capacity} are left "
                f"({self.regions[region].text()}{before})",
                where=self.script.name,
                hint=f"make the network use less of {region} (its memory-pool file), or reserve less ({region}=SIZE)",
            )
        self.uses[region].append(use)

    def choose(self, use: Use, places: Sequence[tuple[str, str]]) -> str:
        """Put a buffer into the first memory with room for it.

        Args:
            use: The buffer.
            places: (name of a place, memory), the best first.

        Returns:
            The name of the place.

        Raises:
            NeuralArtError: None has room.
        """
        for place, region in places:
            if use.bytes <= self.free(region):
                self.take(region, use)
                return place
        left = ", ".join(f"{region} has {self.free(region)} ({self.regions[region].text()})" for _, region in places)
        raise NeuralArtError(
            f"{use.what} needs {use.bytes} bytes, no memory has room: {left}",
            where=self.script.name,
            hint="use a smaller network, or reserve less",
        )

    def stack_note(self) -> str:
        """A sentence if the stack is at the end of a memory where less is reserved than it needs; else empty.

        Nobody else notices: the linker counts the stack where ``_Min_Stack_Size`` stands, not where ``_estack`` is.
        """
        stack = self.script.stack()
        if stack is None:
            return ""
        memory, needed = stack
        region = self.regions[memory.name]
        if not self.uses[memory.name] or region.length - region.capacity >= needed:
            return ""
        return (
            f"the stack grows down from the end of {memory.name} and wants {needed} bytes, "
            f"{region.length - region.capacity} are reserved there: it would run into buffers unnoticed"
        )
