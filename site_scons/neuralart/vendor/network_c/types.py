"""What generated C says, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuralart.vendor.network_c.banner import Banner

USER_BUFFER = "_mem_pool__user_io_"
HW, SW, HYBRID, EC = "HW", "SW", "HYBRID", "EC"
BLOCK_KINDS = (HW, SW, HYBRID, EC)


@dataclass(frozen=True)
class Problem:
    """Something that could not be understood, or that contradicts something else.

    Attributes:
        where: ``file:line`` or the file.
        what: In words, with the numbers.
        code: Which check says so; ``unreadable`` if a value is no value.
    """

    where: str
    what: str
    code: str = "unreadable"

    @property
    def text(self) -> str:
        """One line, whatever was quoted from the file."""
        return f"{self.where}: {' '.join(self.what.split())}"


@dataclass(frozen=True)
class Pool:
    """A memory pool as two lines of comment describe it.

    Attributes:
        index: Its number.
        fname: File postfix.
        name: Report name.
        address: ``offset=``: its base; of a relative pool the one the compiler assumed.
        size: Capacity in bytes as the compiler may use it; 0: disabled.
        said: Bytes in use as the comment rounds them; 0 for ``?``.
        precision: How much ``said`` may be off, in bytes.
        exact: Bytes in use where a declaration gives them exactly, else None.
        mode: ``absolute_mode`` or ``relative_mode``.
        rights: ``READ_WRITE`` or ``READ_ONLY``.
        virtual: Made of adjoining pools.
        score: The compiler's preference; None if it is not given.
        cacheable: Through the NPU cache.
        initializers: ``use4initializers=YES``.
        offset: Where its comment begins in the text.
    """

    index: int
    fname: str
    name: str
    address: int
    size: int
    said: int
    precision: int
    exact: int | None
    mode: str
    rights: str
    virtual: bool
    score: int | float | None
    cacheable: bool
    initializers: bool
    offset: int = 0

    @property
    def told(self) -> tuple[int, int]:
        """Bytes in use, and how much the figure may be off whether the compiler rounds or cuts it."""
        return (self.said, 2 * self.precision) if self.exact is None else (self.exact, 0)

    @property
    def relative(self) -> bool:
        """Its base is a symbol."""
        return self.mode == "relative_mode"

    @property
    def writable(self) -> bool:
        """Activations may live in it."""
        return self.rights == "READ_WRITE"

    @property
    def of_user(self) -> bool:
        """No memory of the network: a buffer that the application provides."""
        return self.fname.startswith("_user_io_")


@dataclass(frozen=True)
class Quant:
    """Scales and zero points: one of each, or one per channel.

    Attributes:
        scales: Steps.
        zero_points: As integers.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """A row of a buffer table.

    Attributes:
        table: ``input``, ``output`` or ``internal``.
        name: Of the tensor.
        symbol: Base, when it is a symbol; else empty.
        base: Base, when it is an address; else 0.
        start: First byte, from the base.
        end: Behind the last byte, from the base.
        is_param: Constant.
        user_allocated: The application provides the memory.
        epoch: Last epoch that uses it; None if not given.
        body: What stands between its braces, without comments.
        offset: Where it begins in the text.
    """

    table: str
    name: str
    symbol: str
    base: int
    start: int
    end: int
    is_param: bool
    user_allocated: bool
    epoch: int | None
    body: str = field(repr=False)
    offset: int = 0

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.end - self.start


@dataclass(frozen=True)
class Port:
    """An input or output of the network.

    Attributes:
        row: Its row.
        address: Where it begins; of a relative pool as the compiler assumed it; 0 when the application provides it.
        pool: fname of its pool; empty when the application provides it, or no pool fits.
        shape: N, H, W, C.
        mem_shape: In memory order.
        channel_position: ``first``, ``last``, ``mixed`` or ``undefined``.
        dtype: ``int8``, ``uint8``, ``int16``, ``int32``, ``int64``, ``float32``, ``fxp``...; empty if not given.
        bits: Of an element; 0 if not given.
        quant: None if it is not quantized.
    """

    row: Row
    address: int
    pool: str
    shape: tuple[int, ...]
    mem_shape: tuple[int, ...]
    channel_position: str
    dtype: str
    bits: int
    quant: Quant | None


@dataclass(frozen=True)
class Block:
    """An item of the epoch table.

    Attributes:
        number: First epoch; None if the item does not tell.
        last: Last epoch; more than ``number`` only for the epoch controller.
        kind: ``HW``, ``SW``, ``HYBRID`` or ``EC``; empty if the item does not tell.
        flags: Names behind ``EpochBlock_Flags_``, sorted.
        operators: Kinds of operators in its epochs as the comments name them, each once, in order.
        blob: Symbol of its epoch-controller blob; may be empty.
        encrypted: The blob may be encrypted.
        npu_cycles: The compiler's estimate for the NPU; None if it gives none.
        total_cycles: The compiler's estimate; None if it gives none.
    """

    number: int | None
    last: int | None
    kind: str
    flags: tuple[str, ...]
    operators: tuple[str, ...]
    blob: str
    encrypted: bool
    npu_cycles: int | None
    total_cycles: int | None


@dataclass(frozen=True)
class GeneratedNetwork:
    """A network.c.

    Attributes:
        where: Its name in messages.
        text: Its text with LF line ends.
        name: Suffix of its functions.
        banner: Its first comment.
        runtime: ll_aton major, minor, micro, dev that its guard asks for; None without guard.
        guard: ``error`` or ``warning``: what the guard does; empty without guard.
        epoch_controller: It needs ``<name>_ecblobs.h``, or its options say so.
        ecblobs: Name of the blob header it includes; may be empty.
        blocks: The epoch table without its terminator.
        pools: As listed, disabled ones too.
        rows: Of all three tables, as listed.
        inputs: Rows of the input table that are no constants.
        outputs: Rows of the output table that are no constants.
        problems: What could not be understood.
    """

    where: str
    text: str = field(repr=False)
    name: str
    banner: Banner
    runtime: tuple[int, int, int, int] | None
    guard: str
    epoch_controller: bool
    ecblobs: str
    blocks: tuple[Block, ...]
    pools: tuple[Pool, ...]
    rows: tuple[Row, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    problems: tuple[Problem, ...]

    @property
    def runtime_text(self) -> str:
        """``1.1.3.262``; empty without guard."""
        return ".".join(map(str, self.runtime)) if self.runtime else ""
