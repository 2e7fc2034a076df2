"""What rules look at, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from neuralart.boards.types import Board
from neuralart.findings import ERROR as ERROR
from neuralart.findings import NOTE as NOTE
from neuralart.findings import WARNING as WARNING
from neuralart.network.facts import LL_ATON
from neuralart.network.pools import PoolFile
from neuralart.plugins import register
from neuralart.vendor.profile import ProfileFile
from neuralart.vendor.runtime_header import RuntimeHeader
from neuralart_bring.linker_script.types import LinkerScript
from neuralart_insight.vendor.q_json import QFile


@dataclass(frozen=True)
class Hit:
    """What a rule's function yields; the rule's own level and hint hold where none is given."""

    where: str
    message: str
    level: str = ""
    hint: str = ""


@dataclass(frozen=True)
class LintedPool:
    """A pool as a network uses it."""

    fname: str  # File postfix
    name: str  # Report name
    address: int  # Base
    used: int  # Highest offset used, in bytes
    weights: int  # Bytes of constants in it
    writable: bool = True  # Activations may be in it
    relative: bool = False  # Its base is a symbol
    virtual: bool = False  # Made of adjoining pools
    cacheable: bool = False  # Through the NPU cache
    where: str = ""  # ``file:line`` of what decided its address

    @property
    def end(self) -> int:
        """First address behind what is used of it."""
        return self.address + self.used


@dataclass(frozen=True)
class Step:
    """An epoch, or several of the epoch controller."""

    number: int  # Of the first one
    kind: str  # ``HW``, ``SW``, ``HYBRID`` or ``EC``
    operators: tuple[str, ...]  # In it
    where: str  # ``file:line``


@dataclass(frozen=True)
class RawFile:
    """An initializer beside a network: pool, file name, bytes, their SHA-256."""

    pool: str
    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class LintedNetwork:
    """A compiled network."""

    name: str  # C name
    where: str  # Its file, or its place in the project file
    runtime: str = LL_ATON  # as in ``network.json``
    guard: tuple[int, int, int, int] | None = None  # Version of the runtime that its C asks for; None if it does not
    guard_kind: str = ""  # ``error`` or ``warning``: what the guard does about another one
    guard_where: str = ""  # ``file:line`` of it
    pools: tuple[LintedPool, ...] = ()  # In the compiler's order
    steps: tuple[Step, ...] = ()  # In execution order
    floats: tuple[tuple[str, str], ...] = ()  # Buffers inside of it that hold floats: name and place
    blob_header: str = ""  # Name of the header with blobs that it includes; empty: none
    # Names of the files beside it that begin with its own file's name; None: not known
    files: frozenset[str] | None = None
    raws: tuple[RawFile, ...] = ()  # Initializers beside it
    mixed: tuple[tuple[str, str], ...] = ()  # Contradictions between it and the files beside it
    declared: tuple[str, ...] | None = None  # Pools whose initializer is declared; None: not known
    strategies: Mapping[str, str] = field(default_factory=dict)  # How constants reach their pools, by fname
    model: str = ""  # File name of the model, and the place that names it; empty if not known
    model_where: str = ""  # The place
    loaded: bool = False  # It becomes a relocatable model: a loader gives relative pools their address

    @property
    def used(self) -> tuple[LintedPool, ...]:
        """Pools of which something is used; a virtual pool only where none of its own parts says so."""
        plain = [pool for pool in self.pools if pool.used and not pool.virtual]
        used = (pool for pool in self.pools if pool.used and pool.virtual)
        virtual = [pool for pool in used if not any(pool.address <= each.address < pool.end for each in plain)]
        return (*plain, *virtual)


@dataclass(frozen=True)
class Source:
    """A text of the application."""

    file: str  # Its name for messages
    kind: str  # ``c``, ``linker`` or ``make``
    text: str  # With LF line ends
    code: str = ""  # The same with blanks for comments and texts in quotes; for C only


@dataclass(frozen=True)
class HexPiece:
    """An Intel HEX file of one piece: its address, length and SHA-256."""

    file: str
    address: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Facts:
    """All that is looked at together."""

    board: Board | None = None  # None: not known
    networks: tuple[LintedNetwork, ...] = ()  # Of one program
    pool_files: tuple[PoolFile, ...] = ()  # Pool files that were given
    sources: tuple[Source, ...] = ()  # C and build files of the application
    scripts: tuple[LinkerScript, ...] = ()  # Its linker scripts
    runtimes: tuple[RuntimeHeader, ...] = ()  # Headers of the runtime that it brings
    profiles: tuple[ProfileFile, ...] = ()  # Profile files
    exports: tuple[QFile, ...] = ()  # Quantization files of the vendor's front end
    models: tuple[tuple[str, str], ...] = ()  # Model files and the places that name them
    hexes: tuple[HexPiece, ...] = ()  # Intel HEX files

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


Check = Callable[[Facts], Iterator[Hit]]


def rule(text: str) -> Callable[[Check], Check]:
    """Register a function as a rule, in the order of the documentation; its name is the rule's: ``_ns_alias`` of
    ``ns-alias``. The ``text`` has a line ``LEVEL: what it looks at``, one of what it finds, at least one of why that is
    a trap, and one of what to do about it.
    """
    head, finds, *why, hint = (line.strip() for line in text.splitlines())
    level, _, looks_at = head.partition(": ")

    def add(check: Check) -> Check:
        name = check.__name__.strip("_").replace("_", "-")
        made = Rule(name, level, finds, " ".join(why), hint, tuple(looks_at.split(", ")), check)
        register("lint", name, made, protocol=1)
        return check

    return add
