"""Checks, before anything is compiled, whether the parts of an application belong together. A network needs the runtime
that its compiler was released with: headers and sources of ll_aton, and the library of kernels. The C compiler finds
one mismatch at best, and does not say which tool or folder is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from neuralart.applications import lock_facts, runtime
from neuralart.applications.lock_facts import CHOICE, Archive, Kinds, LockFacts, NetworkStamp, is_wrapper
from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.sources import SourceSet
from neuralart.applications.staging import Generated
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import searched
from neuralart.quick import dataclass
from neuralart.vendor.releases import Release, of_runtime
from neuralart.vendor.runtime_header import RuntimeHeader

ERROR, NOTE = "error", "note"
_TAKE = "take Middlewares/ST/AI of the installation that compiles the network, or compile with the one it is of"


@dataclass(frozen=True)
class Conflict:
    """Two places with different versions."""

    level: str  # ``error``, or ``note`` where it may be meant
    what: str  # in words; names the other place
    where: str  # ``file:line``
    hint: str = ""  # what to do

    @property
    def error(self) -> NeuralArtError:
        """Make the error of it."""
        return NeuralArtError(self.what, where=self.where, hint=self.hint)

    @property
    def text(self) -> str:
        """The conflict and its remedy, in one line."""
        return " ".join((f"{self.what} ({self.hint})" if self.hint else self.what).split())

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def _said(version: tuple[int, int, int, int]) -> str:
    text = ".".join(map(str, version))
    if version[0] == 0:
        return f"{text} (the reference compiler's)"
    release = of_runtime(version)
    return f"{text} (ST Edge AI Core {release.core})" if release is not None else text


def _headers(facts: LockFacts) -> Iterator[Conflict]:
    for network in facts.networks:
        if network.runtime is None or not facts.headers:
            continue
        wrong = [header for header in facts.headers if header.version != network.runtime]
        if not wrong:
            continue
        header = wrong[0]
        text = f"network {network.name} is made for runtime {_said(network.runtime)}, the application has "
        other = f"{_said(header.version)} at {header.where}"
        if len(wrong) < len(facts.headers):
            yield Conflict(NOTE, f"{text}also {other}", network.where, "which one is compiled?")
        else:
            yield Conflict(ERROR, f"{text}{other}", network.where, _remedy(network, header))


def _remedy(network: NetworkStamp, header: RuntimeHeader) -> str:
    assert network.runtime is not None
    if network.runtime[0] == 0:
        return "compile the network with compiler: stedgeai, or leave the vendor's runtime out of the application"
    if header.ours:
        return "the runtime of this project runs only what the reference compiler makes"
    quiet = "; its guard would only warn, and it would misbehave when it runs" if network.guard == "warning" else ""
    return f"{_TAKE}{quiet}"


def _several(facts: LockFacts) -> Iterator[Conflict]:
    stamped = [(network, network.runtime) for network in facts.networks if network.runtime is not None]
    for network, mine in stamped[1:]:
        first, other = stamped[0]
        if mine != other:
            what = f"network {network.name} is made for runtime {_said(mine)}, network {first.name} for "
            what += f"{_said(other)} at {first.where}: no program has both"
            yield Conflict(ERROR, what, network.where, "compile all networks with the same version")


def _tools(facts: LockFacts) -> Iterator[Conflict]:
    for network in facts.networks:
        release = of_runtime(network.runtime)
        if release is None or network.tool is None:
            continue
        core = ".".join(map(str, network.tool.numbers))
        if core != release.core:
            what = f"network {network.name} is of ST Edge AI Core {release.core} by its guard, and of {core} by its "
            what += f"report at {network.tool_where}: files of two compiles are mixed"
            yield Conflict(ERROR, what, network.where, "compile it again")


def _wanted(facts: LockFacts) -> tuple[str, Release] | None:
    """The release that everything else must be of, and who says so: the network, else the headers."""
    told = [(f"network {each.name} is made by", each.runtime, each.where) for each in facts.networks]
    told += [("the headers are those of", each.version, each.where) for each in facts.headers]
    for text, version, where in told:
        release = of_runtime(version)
        if release is not None:
            return f"{text} ST Edge AI Core {release.core} ({where})", release
    return None


def _linked(facts: LockFacts) -> tuple[Archive, ...]:
    """The libraries that count: those that build files name, else those in the tree that could be linked."""
    found = facts.mentions or facts.archives
    return tuple(each for each in found if each.name.compiler == "GCC" and not each.name.pic)


def _cores(facts: LockFacts) -> Iterator[Conflict]:
    linked = _linked(facts)
    if facts.core and linked and not any(each.name.core == facts.core for each in linked):
        what = f"{linked[0].name.text} is for another core than {facts.core}"
        yield Conflict(ERROR if facts.mentions else NOTE, what, linked[0].where, "link the right one")


def _libraries(facts: LockFacts) -> Iterator[Conflict]:
    wanted = _wanted(facts)
    linked = [each for each in _linked(facts) if not facts.core or each.name.core == facts.core]
    if wanted is None or not linked:
        return
    said, release = wanted
    core = tuple(int(part) for part in release.core.split("."))
    same = [each for each in linked if each.name.release is not None and each.name.release[:2] == core[:2]]
    if not same:
        yield Conflict(ERROR, f"{said}, the library is {linked[0].name.said}", linked[0].where, _TAKE)
    elif all(each.name.release != core for each in same):
        yield Conflict(NOTE, f"{said}, the library is {same[0].name.said}", same[0].where)


def _c_library(facts: LockFacts) -> Iterator[Conflict]:
    if not facts.libraries:
        return
    names = {each.text for each in (mention.name for mention in facts.mentions)}
    for archive in facts.archives:
        linked = not names or archive.name.text in names
        if archive.path is None or not linked or archive.name.compiler != "GCC" or archive.name.pic:
            continue
        if facts.core and archive.name.core != facts.core:
            continue
        need = runtime.needed_library(archive.path)
        if need is not None and all(each.name != need.libc for each in facts.libraries):
            other = facts.libraries[0]
            what = f"{archive.name.text} is compiled for {need.libc} ({need.member} needs {need.symbol}), the "
            what += f"application is linked with {other.name} ({other.where})"
            hint = f"link with {need.libc}, in variants.yaml toolchain: {{libc: {need.libc}}}"
            yield Conflict(ERROR, what, archive.where, hint)


def _processing(facts: LockFacts) -> Iterator[Conflict]:
    wrappers = [each for each in facts.kinds if is_wrapper(each)]
    if not wrappers:
        return
    wrapper = wrappers[0]
    release = f" (wrapper {wrapper.release})" if wrapper.release else ""
    for choice in facts.choices:
        if any(choice.name in each.values for each in wrappers):
            continue
        if not choice.name:
            what = f"the number {choice.number}, which every release of the wrapper gives to something else"
            hint = f"write its name; {_names(wrapper, choice.number)}"
        else:
            what = f"{choice.name}, the post-processing at {wrapper.file}{release} has no such"
            hint = nearest(choice.name, tuple(wrapper.values))
        yield Conflict(ERROR, f"{CHOICE} is {what}", choice.where, hint)
    for other in facts.kinds:
        yield from _renumbered(other, wrapper)


def _names(wrapper: Kinds, number: int | None) -> str:
    fitting = [name for name, (value, _) in wrapper.values.items() if value == number]
    return f"here {number} is {fitting[0]}" if fitting else f"here nothing is {number}"


def _renumbered(other: Kinds, wrapper: Kinds) -> Iterator[Conflict]:
    """Another header gives a name of the wrapper another number: the compiler takes whichever comes last."""
    for name, (value, where) in other.values.items():
        if other is not wrapper and name in wrapper.values and wrapper.values[name][0] != value:
            number, there = wrapper.values[name]
            hint = "leave the definition to the post-processing's own header"
            yield Conflict(ERROR, f"{name} is {value}, but {number} at {there}", where, hint)
            return


_Rule = Callable[[LockFacts], Iterator[Conflict]]
RULES: tuple[_Rule, ...] = (_several, _tools, _headers, _libraries, _cores, _c_library, _processing)


def conflicts(facts: LockFacts) -> tuple[Conflict, ...]:
    """List all conflicts, errors first. NeuralArtError: a library cannot be read."""
    found = [conflict for rule in RULES for conflict in rule(facts)]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: each.level != ERROR))


def check(facts: LockFacts) -> tuple[Conflict, ...]:
    """Refuse parts that do not belong together; returns warnings. NeuralArtError: the first conflict."""
    found = conflicts(facts)
    errors = [conflict for conflict in found if conflict.level == ERROR]
    if errors:
        first = errors[0]
        more = f"; {len(errors) - 1} more of this kind: neuralart application check" if len(errors) > 1 else ""
        raise NeuralArtError(first.what, where=first.where, hint=f"{first.hint}{more}")
    return found


def parts(chosen: SourceSet, vendor: VendorRuntime | None) -> list[Path]:
    """List headers and libraries that have a version. ``vendor``: None if the runtime is this project's."""
    found = [*chosen.archives]
    folders = [*chosen.include_dirs, *(vendor.include_dirs if vendor is not None else ())]
    for folder in folders:
        found += [
            path for path in sorted(searched(folder).iterdir()) if path.suffix == ".h" and lock_facts.is_read(path.name)
        ]
    found += [vendor.archive] if vendor is not None and vendor.archive is not None else []
    return found


def check_sources(
    chosen: SourceSet,
    vendor: VendorRuntime | None,
    files: Sequence[Generated],
    *,
    libc: str = "",
    libc_where: str = "",
    core: str = "",
    shown: Callable[[Path], str] = Path.as_posix,
) -> tuple[Conflict, ...]:
    """:func:`check` for a program that SCons compiles.

    ``chosen``: the user's sources; ``vendor``: the vendor's runtime; None: that of this project; ``files``: the
    networks' files; ``libc``: ``picolibc``, ``newlib`` or ``newlib-nano``; ``libc_where``: who says so; ``core``:
    ``CM55``, ``CM7``; ``shown``: how messages name a part. Returns what may be meant. NeuralArtError: the first
    mismatch, or a part cannot be read.
    """
    looked_at = {shown(path): path for path in parts(chosen, vendor)}
    facts = lock_facts.gather(files, looked_at, libc=libc, libc_where=libc_where, core=core)
    return check(facts)
