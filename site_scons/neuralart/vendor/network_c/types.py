"""The contents of generated C, as data."""

from __future__ import annotations

from typing import NamedTuple

from neuralart.quick import dataclass, field
from neuralart.vendor.network_c.banner import Banner

USER_BUFFER = "_mem_pool__user_io_"
HW, SW, HYBRID, EC = "HW", "SW", "HYBRID", "EC"
BLOCK_KINDS = (HW, SW, HYBRID, EC)


class Problem(NamedTuple):
    """A part that could not be read, or a contradiction."""

    where: str  # ``file:line`` or the file
    what: str  # In words, with the numbers
    code: str = "unreadable"  # Which check says so; ``unreadable`` if a value is no value

    @property
    def text(self) -> str:
        """One line, even if it quotes the file."""
        return f"{self.where}: {' '.join(self.what.split())}"


@dataclass(frozen=True)
class Pool:
    """A memory pool, as its two lines of comment describe it."""

    index: int  # Its number
    fname: str  # File postfix
    name: str  # Report name
    address: int  # ``offset=``: its base; of a relative pool the one the compiler assumed
    size: int  # Capacity in bytes as the compiler may use it; 0: disabled
    said: int  # Bytes in use as the comment rounds them; 0 for ``?``
    precision: int  # How much ``said`` may be off, in bytes
    exact: int | None  # Bytes in use where a declaration gives them exactly, else None
    mode: str  # ``absolute_mode`` or ``relative_mode``
    rights: str  # ``READ_WRITE`` or ``READ_ONLY``
    virtual: bool  # Made of adjoining pools
    score: int | float | None  # The compiler's preference; None if it is not given
    cacheable: bool  # Through the NPU cache
    initializers: bool  # ``use4initializers=YES``
    offset: int = 0  # Where its comment begins in the text
    where: str = ""  # ``file:line`` for messages, where a reader has asked for it

    @property
    def told(self) -> tuple[int, int]:
        """Bytes in use, and the error of the figure, whether the compiler rounds or cuts it."""
        return (self.said, 2 * self.precision) if self.exact is None else (self.exact, 0)

    @property
    def relative(self) -> bool:
        """Whether its base is a symbol."""
        return self.mode == "relative_mode"

    @property
    def writable(self) -> bool:
        """Whether activations may be in it."""
        return self.rights == "READ_WRITE"

    @property
    def of_user(self) -> bool:
        """Whether the application provides it: it is no memory of the network."""
        return self.fname.startswith("_user_io_")


class Quant(NamedTuple):
    """Scales and zero points: one of each, or one per channel."""

    scales: tuple[float, ...]  # Steps
    zero_points: tuple[int, ...]  # As integers


@dataclass(frozen=True)
class BufferRow:
    table: str  # ``input``, ``output`` or ``internal``
    name: str  # Of the tensor
    symbol: str  # Base, when it is a symbol; else empty
    base: int  # Base, when it is an address; else 0
    start: int  # First byte, from the base
    end: int  # Behind the last byte, from the base
    is_param: bool  # Constant
    user_allocated: bool  # The application provides the memory
    epoch: int | None  # Last epoch that uses it; None if not given
    body: str = field(repr=False)  # What stands between its braces, without comments
    offset: int = 0  # Where it begins in the text
    where: str = ""  # ``file:line`` for messages, where a reader has asked for it

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.end - self.start


class NetworkPort(NamedTuple):
    row: BufferRow  # Its row
    address: int  # Where it begins; of a relative pool as the compiler assumed it; 0 when the application provides it
    pool: str  # fname of its pool; empty when the application provides it, or no pool fits
    shape: tuple[int, ...]  # N, H, W, C
    mem_shape: tuple[int, ...]  # In memory order
    channel_position: str  # ``first``, ``last``, ``mixed`` or ``undefined``
    dtype: str  # ``int8``, ``uint8``, ``int16``, ``int32``, ``int64``, ``float32``, ``fxp``...; empty if not given
    bits: int  # Of an element; 0 if not given
    quant: Quant | None  # None if it is not quantized


class EpochBlock(NamedTuple):
    """An item of the epoch table."""

    number: int | None  # First epoch; None if the item does not tell
    last: int | None  # Last epoch; more than ``number`` only for the epoch controller
    kind: str  # ``HW``, ``SW``, ``HYBRID`` or ``EC``; empty if the item does not tell
    flags: tuple[str, ...]  # Names behind ``EpochBlock_Flags_``, sorted
    operators: tuple[str, ...]  # Kinds of operators in its epochs as the comments name them, each once, in order
    blob: str  # Symbol of its epoch-controller blob; may be empty
    encrypted: bool  # The blob may be encrypted
    npu_cycles: int | None  # The compiler's estimate for the NPU; None if it gives none
    total_cycles: int | None  # The compiler's estimate; None if it gives none
    # Stream engines, by comments: ``i`` (reads) or ``o``, engine, pool, first byte in the pool, byte behind the last
    streams: tuple[tuple[str, int, int, int, int], ...] = ()
    start: str = ""  # The function that starts it; empty if there is none
    end: str = ""  # The function that ends it; empty if there is none


@dataclass(frozen=True)
class GeneratedNetwork:
    where: str  # Its name in messages
    text: str = field(repr=False)  # Its text with LF line ends
    name: str  # Suffix of its functions
    banner: Banner  # Its first comment
    # ll_aton major, minor, micro, dev that its guard asks for; None without guard
    runtime: tuple[int, int, int, int] | None
    guard: str  # ``error`` or ``warning``: what the guard does; empty without guard
    epoch_controller: bool  # It needs ``<name>_ecblobs.h``, or its options say so
    ecblobs: str  # Name of the blob header it includes; may be empty
    blocks: tuple[EpochBlock, ...]  # The epoch table without its terminator
    pools: tuple[Pool, ...]  # As listed, disabled ones too
    rows: tuple[BufferRow, ...]  # Of all three tables, as listed
    inputs: tuple[NetworkPort, ...]  # Rows of the input table that are no constants
    outputs: tuple[NetworkPort, ...]  # Rows of the output table that are no constants
    problems: tuple[Problem, ...]  # What could not be understood

    @property
    def runtime_text(self) -> str:
        """The runtime's version, ``1.1.3.262``; empty without a guard."""
        return ".".join(map(str, self.runtime)) if self.runtime else ""
