"""What rules look at, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from neuralart.boards.types import Board
from neuralart.lint.runtime_header import RuntimeHeader
from neuralart.network.facts import LL_ATON
from neuralart.network.pools import PoolFile
from neuralart.text.linker_script.types import LinkerScript
from neuralart.vendor.profile import ProfileFile
from neuralart.vendor.q_json import QFile

ERROR, WARNING, NOTE = "error", "warning", "note"
LEVELS = (ERROR, WARNING, NOTE)


@dataclass(frozen=True)
class Finding:
    """A trap that was found.

    Attributes:
        rule: Id of the rule.
        level: ``error``, ``warning`` or ``note``.
        where: ``file:line``, or the file.
        message: What is so, with the numbers that show it.
        hint: What to do about it.
    """

    rule: str
    level: str
    where: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.message} ({self.hint})" if self.hint else self.message
        return " ".join(f"{self.where}: {self.level}: {text} [{self.rule}]".split())


@dataclass(frozen=True)
class Hit:
    """What a rule's function yields; the rule's own level and hint hold where none is given."""

    where: str
    message: str
    level: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Pool:
    """A pool as a network uses it.

    Attributes:
        fname: File postfix.
        name: Report name.
        address: Base.
        used: Highest offset used, in bytes.
        weights: Bytes of constants in it.
        writable: Activations may be in it.
        relative: Its base is a symbol.
        virtual: Made of adjoining pools.
        cacheable: Through the NPU cache.
        where: ``file:line`` of what decided its address.
    """

    fname: str
    name: str
    address: int
    used: int
    weights: int
    writable: bool = True
    relative: bool = False
    virtual: bool = False
    cacheable: bool = False
    where: str = ""

    @property
    def end(self) -> int:
        """First address behind what is used of it."""
        return self.address + self.used


@dataclass(frozen=True)
class Step:
    """An epoch, or several of the epoch controller.

    Attributes:
        number: Of the first one.
        kind: ``HW``, ``SW``, ``HYBRID`` or ``EC``.
        operators: In it.
        where: ``file:line``.
    """

    number: int
    kind: str
    operators: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class RawFile:
    """An initializer beside a network: pool, file name, bytes, their SHA-256."""

    pool: str
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Network:
    """A compiled network.

    Attributes:
        name: C name.
        where: Its file, or its place in the project file.
        runtime: as in ``network.json``.
        guard: Version of the runtime that its C asks for; None if it does not.
        guard_kind: ``error`` or ``warning``: what the guard does about another one.
        guard_where: ``file:line`` of it.
        pools: In the compiler's order.
        steps: In execution order.
        floats: Buffers inside of it that hold floats: name and place.
        blob_header: Name of the header with blobs that it includes; empty: none.
        files: Names of the files beside it that begin with its own file's name; None: not known.
        raws: Initializers beside it.
        mixed: Contradictions between it and the files beside it.
        declared: Pools whose initializer is declared; None: not known.
        strategies: How constants reach their pools, by fname.
        model: File name of the model, and the place that names it; empty if not known.
        model_where: The place.
        loaded: It becomes a relocatable model: a loader gives relative pools their address.
    """

    name: str
    where: str
    runtime: str = LL_ATON
    guard: tuple[int, int, int, int] | None = None
    guard_kind: str = ""
    guard_where: str = ""
    pools: tuple[Pool, ...] = ()
    steps: tuple[Step, ...] = ()
    floats: tuple[tuple[str, str], ...] = ()
    blob_header: str = ""
    files: frozenset[str] | None = None
    raws: tuple[RawFile, ...] = ()
    mixed: tuple[tuple[str, str], ...] = ()
    declared: tuple[str, ...] | None = None
    strategies: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    model_where: str = ""
    loaded: bool = False

    @property
    def used(self) -> tuple[Pool, ...]:
        """Pools of which something is used; a virtual pool only where none of its own parts says so."""
        plain = [pool for pool in self.pools if pool.used and not pool.virtual]
        virtual = [
            pool
            for pool in self.pools
            if pool.used and pool.virtual and not any(pool.address <= each.address < pool.end for each in plain)
        ]
        return (*plain, *virtual)


@dataclass(frozen=True)
class Source:
    """A text of the application.

    Attributes:
        file: Its name for messages.
        kind: ``c``, ``linker`` or ``make``.
        text: With LF line ends.
        code: The same with blanks for comments and texts in quotes; for C only.
    """

    file: str
    kind: str
    text: str
    code: str = ""


@dataclass(frozen=True)
class HexFile:
    """An Intel HEX file of one piece: its address, length and SHA-256."""

    file: str
    address: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Facts:
    """All that is looked at together.

    Attributes:
        board: None: not known.
        networks: Of one program.
        pool_files: Pool files that were given.
        sources: C and build files of the application.
        scripts: Its linker scripts.
        runtimes: Headers of the runtime that it brings.
        profiles: Profile files.
        exports: Quantization files of the vendor's front end.
        models: Model files and the places that name them.
        hexes: Intel HEX files.
    """

    board: Board | None = None
    networks: tuple[Network, ...] = ()
    pool_files: tuple[PoolFile, ...] = ()
    sources: tuple[Source, ...] = ()
    scripts: tuple[LinkerScript, ...] = ()
    runtimes: tuple[RuntimeHeader, ...] = ()
    profiles: tuple[ProfileFile, ...] = ()
    exports: tuple[QFile, ...] = ()
    models: tuple[tuple[str, str], ...] = ()
    hexes: tuple[HexFile, ...] = ()

    @property
    def secure(self) -> bool:
        """The firmware runs in the secure state."""
        return self.board is not None and self.board.security == "secure"


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        id: Short name.
        level: Of its findings, unless one of them says otherwise.
        finds: What it finds, as a phrase.
        why: What happens there.
        hint: What to do about it.
        looks_at: What it needs: ``board``, ``network``, ``sources``, ``linker script`` and the like.
        check: Its function.
    """

    id: str
    level: str
    finds: str
    why: str
    hint: str
    looks_at: tuple[str, ...]
    check: Callable[[Facts], Iterator[Hit]]
