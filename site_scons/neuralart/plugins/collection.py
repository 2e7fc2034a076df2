"""The plugins of this process: registered, found, and blamed for their errors in one line."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError, nearest
from neuralart.plugins import origins
from neuralart.plugins.kinds import GROUP, KINDS, Kind
from neuralart.plugins.origins import FOLDER, OWN, Origin, loaded, of_project, own_modules, place, prints_named, said
from neuralart.quick import dataclass, lazy_regex

PAGE = "docs/reference/plugins.md"
# What a plugin prints in these is for people: output of a command, of a compile, of ``scons``.
_FOR_PEOPLE = ("run", "compile", "add_to", "declare", "tool_loaded", "project_begins", "project_read")
_NAME = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")


@dataclass(frozen=True)
class Plugin:
    """A registered plugin."""

    kind: str  # Which kind, as in :func:`kinds`
    name: str  # Its name
    made: Any  # The object itself; the kind's protocol says what it offers
    source: Origin  # Where it came from
    file: Path  # The module that registered it

    @cached_property
    def code(self) -> str:
        """A hash of its code; empty for our own, whose rooms have fingerprints."""
        from neuralart.fingerprint import fingerprint_of

        return "" if self.source is OWN else fingerprint_of(self.source.files(self.file))

    def error(self, what: str, hint: str = "") -> NeuralArtError:
        """Make an error that blames the plugin, in one line."""
        return self.source.error(f"{_kind(self.kind).one} '{self.name}': {what}", hint)

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the plugin; errors as of :meth:`run`."""
        return self.run(method, getattr(self.made, method), *args)

    def run(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """Run code of the plugin. NeuralArtError: its own; or it failed otherwise, and its line is named."""
        if self.source is OWN:
            return function(*args)
        try:
            if what in _FOR_PEOPLE:
                return function(*args)
            with prints_named(self.source, f"{_kind(self.kind).one} '{self.name}'", f"in {what}"):
                return function(*args)
        except NeuralArtError:
            raise
        except (Exception, SystemExit) as error:
            raise self.failed(what, error) from error

    def guarded(self, method: str) -> Callable[..., Any]:
        """Wrap a method of the plugin so that it fails as in :meth:`run`."""
        return partial(self.call, method)

    def failed(self, what: str, error: BaseException) -> NeuralArtError:
        """Make an error that names the failing line of its code."""
        text = f"{_kind(self.kind).one} '{self.name}' failed in {what}: {said(error)}"
        return NeuralArtError(text, where=place(self.source, error), hint=self.source.remedy("repair it"))


class _Collection:
    """What is known so far. One for the process, as Python's modules are."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Plugin]] = {}
        self.project: Path | None = None
        self.loading: Origin = OWN
        #: Sources that were loaded, by kind and text.
        self.done: set[tuple[str, Origin]] = set()


_known = _Collection()


@cache
def kinds() -> Mapping[str, Kind]:
    """List all kinds, by name: those of the core, then those of other packages."""
    points = [(OWN, module) for module in origins.of_distribution("neuralart.kinds").values()]
    points += [(origin, origin.module) for origin in origins.of_others("neuralart.kinds")]
    known = {kind.name: kind for kind in KINDS}
    for origin, module in points:
        try:
            brought = tuple(importlib.import_module(module).KINDS)
            known |= {kind.name: kind for kind in brought if known.setdefault(kind.name, kind) is kind}
        except Exception as error:
            what = f"its kinds of plugins cannot be loaded: {said(error)}"
            raise origin.error(what, origin.remedy("repair it")) from error
    return known


def _kind(name: str) -> Kind:
    own = next((kind for kind in KINDS if kind.name == name), None)
    if own is None and name not in kinds():
        raise NeuralArtError(f"there is no kind of plugin '{name}'", hint=nearest(name, tuple(kinds())))
    return own or kinds()[name]


def _entries(kind: str) -> dict[str, Plugin]:
    return _known.entries.setdefault(kind, {})


def _registering() -> Path:
    """The file of the module that is being imported; else of the caller."""
    frame = sys._getframe(2)
    caller = Path(frame.f_code.co_filename)
    while frame.f_code.co_name != "<module>":
        if frame.f_back is None:
            return caller
        frame = frame.f_back
    return Path(frame.f_code.co_filename)


def register(kind: str, name: str, plugin: Any, *, protocol: int) -> None:
    """Make something known. A plugin's module calls it when it is imported.

    ``kind``: ``compilers``, ``boards``, ... (:func:`kinds`); ``name``: what users write to get
    it; ``plugin``: what the protocol of the kind asks for; ``protocol``: the version of that protocol that it was
    written for. NeuralArtError: there is no such kind, the version is another one, something that the protocol asks for
    is missing, or the name is taken.
    """
    about = _kind(kind)
    file = _registering()
    if origins.is_ours(file):
        # Also when another plugin's module imports it.
        _entries(kind)[name] = Plugin(kind, name, plugin, OWN, file)
        return
    source = _known.loading if _known.loading is not OWN else Origin(str(file))
    what = f"{about.one} '{name}'"
    if file.suffix != ".py":
        text = f"{what} is registered by {file.name}, which commands do not read"
        raise source.error(text, f"put it into {FOLDER}/NAME.py")
    if not _NAME.fullmatch(name):
        raise source.error(f"{what}: no name for a plugin", "letters, digits and . _ / + -, a letter or digit first")
    if protocol != about.version:
        raise source.error(
            f"{what} is written for protocol {protocol} of {kind}, this version of scons-neuralart has {about.version}",
            f"{source.remedy('install a version that fits')}; {PAGE} says what a protocol asks for",
        )
    missing = [member for member in members(about) if not hasattr(plugin, member)]
    if missing:
        raise source.error(f"{what} has no {', '.join(missing)}", f"{PAGE} says what a plugin offers")
    _load_own(about)
    taken = _entries(kind).get(name)
    if taken is not None and taken.file != file:
        raise source.taken(what, taken.source)
    _entries(kind)[name] = Plugin(kind, name, plugin, source, file)


def protocol_of(kind: Kind) -> type:
    """Find the class that declares what plugins of a kind offer."""
    module, _, name = kind.protocol.partition(":")
    found: type = getattr(importlib.import_module(module), name)
    return found


def members(kind: Kind) -> list[str]:
    """List the public attributes and methods of a kind's protocol."""
    found: dict[str, None] = {}
    for each in reversed(protocol_of(kind).__mro__[:-1]):
        if each.__module__ != "typing":
            found |= dict.fromkeys(inspect.get_annotations(each))
            found |= dict.fromkeys(member for member, value in vars(each).items() if callable(value))
    return sorted(member for member in found if not member.startswith("_"))


def _load_own(kind: Kind) -> None:
    for module in dict.fromkeys(own_modules(kind).values()):
        importlib.import_module(module)


def _sources(kind: Kind) -> Iterator[Origin]:
    yield from origins.of_others(kind.group)
    yield from of_project(kind, _known.project)


def _load(kind: Kind, source: Origin) -> None:
    """Import the module of a source, once."""
    if (kind.name, source) in _known.done:
        return
    before, _known.loading = _known.loading, source
    try:
        loaded(kind, source)
    finally:
        _known.loading = before
    if source.name and source.name not in _entries(kind.name):
        hint = f"call neuralart.plugins.register('{kind.name}', '{source.name}', ...) in it"
        raise source.error(f"{kind.one} '{source.name}': its module {source.module} registers none of that name", hint)
    entry = _entries(kind.name).get(source.name)
    if entry is not None and entry.source is OWN:
        raise source.taken(f"{kind.one} '{source.name}'", OWN)
    _known.done.add((kind.name, source))


def package_of(kind: str, name: str) -> str:
    """Find which of our packages brings a plugin, without importing it; empty: none of ours."""
    return own_modules(_kind(kind)).get(name, "").partition(".")[0]


def own(kind: str) -> tuple[Plugin, ...]:
    """List our own plugins of a kind, in their order; others are not loaded."""
    _load_own(_kind(kind))
    return tuple(entry for entry in known(kind) if entry.source is OWN)


def find(kind: str, name: str, where: str = "") -> Plugin:
    """Find a plugin by name; others' are loaded only if the name is not ours. ``where``: who asks. NeuralArtError:
    there is none, two have this name, or it cannot be loaded.
    """
    about = _kind(kind)
    entries = _entries(kind)
    modules = own_modules(about)
    if name in modules:
        importlib.import_module(modules[name])  # and none of the others
    elif any(point.startswith("_") for point in modules):
        _load_own(about)
    if name in entries and entries[name].source is OWN:
        return entries[name]
    for source in _sources(about):
        if source.name in ("", name):
            _load(about, source)
    if name not in entries:
        raise NeuralArtError(f"no {about.one} '{name}'", where=where, hint=nearest(name, names(kind)))
    return entries[name]


def added(kind: str) -> tuple[Plugin, ...]:
    """List others' plugins of a kind, by name. NeuralArtError: one cannot be loaded."""
    about = _kind(kind)
    for source in _sources(about):
        _load(about, source)
    return tuple(entry for entry in known(kind) if entry.source is not OWN)


def every(kind: str) -> tuple[Plugin, ...]:
    """List all plugins of a kind: ours in their order, then others' by name. NeuralArtError: one cannot be loaded."""
    return (*own(kind), *added(kind))


def names(kind: str, asked: str = "") -> tuple[str, ...]:
    """List all names of a kind, sorted, without importing entry points. ``asked``: if it is one of ours, others are not
    searched. NeuralArtError: a file of the project is broken.
    """
    about = _kind(kind)
    if asked in own_modules(about):
        return (asked,)
    known = {point: None for point in own_modules(about) if not point.startswith("_")}
    if len(known) < len(own_modules(about)):
        _load_own(about)
    for source in _sources(about):
        if source.name:
            known[source.name] = None
        else:
            _load(about, source)
    return tuple(sorted({*known, *_entries(kind)}))


def known(kind: str) -> tuple[Plugin, ...]:
    """List what is loaded of a kind: ours in their order, then others' by name."""
    entries = _entries(kind).values()
    added = sorted((entry for entry in entries if entry.source is not OWN), key=lambda entry: entry.name)
    order = list(own_modules(_kind(kind)))  # They may have been imported in another one
    ours = [entry for entry in entries if entry.source is OWN]
    return (*sorted(ours, key=lambda entry: order.index(entry.name) if entry.name in order else 0), *added)


def problems(kind: str) -> list[NeuralArtError]:
    """Load all plugins of a kind; describe those that fail."""
    about = _kind(kind)
    _load_own(about)
    found: list[NeuralArtError] = []
    for source in _sources(about):
        try:
            _load(about, source)
        except NeuralArtError as error:
            found.append(error)
    return found


def code_of(kind: str) -> str:
    """Hash others' code of a kind, for commands that may run any of it; empty if there is none."""
    # Without plugins of others, the module with the kind is not needed.
    if not origins.of_others(f"{GROUP}{kind}") and not origins.project_files(_known.project):
        return ""
    return " ".join(f"{plugin.name}={plugin.code}" for plugin in added(kind))


def blamed(error: BaseException) -> NeuralArtError | None:
    """Turn an error of a plugin's code into one line; None if none of the lines is a plugin's."""
    others = [entry for entries in _known.entries.values() for entry in entries.values() if entry.source is not OWN]
    # A helper belongs to the first that imports it; a module to the plugin that it registered.
    files = {str(path): entry for entry in reversed(others) for _, path in entry.source.files(entry.file)}
    files |= {str(entry.file): entry for entry in others}
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in files:
            return files[frame.filename].failed(frame.name, error)
    return None


def use_project(top: Path) -> None:
    """Set the project, whose ``site_scons/neuralart_plugins`` is searched."""
    if _known.project != top:
        _drop(lambda source: source.folder is not None)
        _known.project = top


def forget() -> None:
    """Forget others' plugins, so that they are searched and imported again."""
    _drop(lambda source: bool(source.module))
    _known.project = None
    origins.forget()
    kinds.cache_clear()


def _drop(which: Callable[[Origin], bool]) -> None:
    """Forget the plugins of some sources, and their modules."""
    for entries in _known.entries.values():
        for name in [name for name, entry in entries.items() if which(entry.source)]:
            origins.unload(entries.pop(name).source)
    for done in [done for done in _known.done if which(done[1])]:
        origins.unload(done[1])
        _known.done.discard(done)
