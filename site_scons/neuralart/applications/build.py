"""Builds a program from the user's tree and generated files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from neuralart.applications import commands, errorlines, external, lock_facts, overlay, version_lock
from neuralart.applications.staging import Generated, Staged, Tree, ignored, scan, stage
from neuralart.config.application import CMAKE, CUBEIDE, EXTERNAL, MAKE, NATIVE, ApplicationConfig
from neuralart.errors import NeuralArtError
from neuralart.files import alone_with, read_bytes, write_bytes
from neuralart.quick import dataclass, field, replace
from neuralart.text.c_source import decode
from neuralart.text.console import say


@dataclass(frozen=True)
class ApplicationRequest:
    """What an application is built from."""

    config: ApplicationConfig  # the application: an external one, or a linked program
    generated: tuple[Generated, ...]  # files that go into the tree
    work: Path  # folder for the copy, the log and what the build leaves
    output: Path  # the program
    root: Path = Path()  # what paths of the application are relative to
    jobs: int = 1  # how many compiles at a time
    libc: str = ""  # C library of the variant, where the tree does not name one
    core: str = ""  # ``CM55``, ``CM7``: which library of the runtime fits; empty: any
    tolerate: tuple[str, ...] = ()  # of ``toolchain:``
    toolchain: Path | None = None  # folder in front of PATH; None: PATH as it is
    made_with: str = ""  # what else counts: what was built with something else is not built upon


@dataclass(frozen=True)
class StagedTree:
    """The files of the copy, before it is made."""

    tree: Tree  # the user's folder
    staged: Staged  # generated files in it
    files: dict[str, Path] = field(repr=False)  # path -> where its bytes are, of both
    shown: str = ""  # the user's folder as messages name it


@dataclass(frozen=True)
class BuiltProgram:
    """The result of a build."""

    program: bytes = field(repr=False)  # its bytes
    changes: overlay.Changes | None = None  # of the copy; None for a program that was linked already
    notes: tuple[str, ...] = ()  # what is worth a look


def patterns(config: ApplicationConfig) -> tuple[str, ...]:
    """List patterns of files that are not copied: results of the user's builds, and what the user excludes."""
    given = config.external
    assert given is not None
    below = "" if given.directory == "." else f"{given.directory}/"
    own = [f"/{below}build/"]
    if config.kind == CUBEIDE:
        own.append(f"/{below}{given.configuration}/")
    return (*own, *given.exclude)


def inputs(config: ApplicationConfig, root: Path, avoid: Sequence[Path] = ()) -> Tree:
    """List files of the user's tree that a build depends on, none that git ignores. NeuralArtError: no such folder."""
    assert config.external is not None
    folder = root / config.external.folder
    return scan(folder, patterns(config), avoid, config.said("folder"), ignored(folder))


def plan(request: ApplicationRequest) -> StagedTree:
    """List the files of the copy; writes none. NeuralArtError: no folder, or generated files have no place."""
    config = request.config
    assert config.external is not None
    tree = inputs(config, request.root, (request.work,))
    staged = stage(request.generated, config.external.stage, tree.files)
    kept = {name: path for name, path in tree.files.items() if name not in staged.superseded}
    shown = PurePosixPath(Path(config.external.folder).as_posix()).as_posix()
    return StagedTree(tree, staged, {**kept, **staged.files}, shown)


def lock(request: ApplicationRequest, made: StagedTree) -> lock_facts.LockFacts:
    """Read which versions the parts of the application belong to. NeuralArtError: a file cannot be read."""
    said = {"libc": request.libc, "libc_where": request.config.said("libc"), "core": request.core}
    return lock_facts.gather(request.generated, made.files, shown=made.shown, **said)


def _known_file(made: StagedTree, tree: Path, start: Path) -> Callable[[str, str], str]:
    """Names of files in the copy become those of the user's, or of the generated ones."""
    root = tree.resolve()

    def known(file: str, folder: str) -> str:
        path = Path(folder or start) / file
        try:
            name = path.resolve().relative_to(root).as_posix()
        except ValueError:
            return file
        source = made.staged.files.get(name)
        if source is not None:
            return source.as_posix()
        return f"{made.shown}/{name}" if name in made.files else name

    return known


def _failed(
    request: ApplicationRequest, outcome: external.Outcome, found: errorlines.Found | None, log: Path
) -> NeuralArtError:
    ended = f"ended with status {outcome.status}" if outcome.status >= 0 else f"was killed by signal {-outcome.status}"
    said = found.what if found is not None else "it printed nothing"
    hint = f"{found.hint}; log: {log}" if found is not None and found.hint else f"log: {log}"
    where = (found.where if found is not None else "") or request.config.said()
    return NeuralArtError(f"{outcome.program} {ended}: {said}", where=where, hint=hint)


def _notes(request: ApplicationRequest, made: StagedTree) -> list[str]:
    notes = [f"{made.shown}: {note}" for note in made.tree.notes]
    beside = "is of another compile of the network that is put beside it: left out"
    notes += [f"{made.shown}/{name} {beside}" for name in made.staged.superseded]
    given = request.config.external
    if request.config.kind == MAKE and given is not None and given.variables:
        makefiles = {
            f"{made.shown}/{name}": decode(read_bytes(path))
            for name, path in made.files.items()
            if path.name in ("Makefile", "makefile", "GNUmakefile") or path.suffix == ".mk"
        }
        notes += commands.overruled(given.variables, makefiles)
    return notes


def _external(request: ApplicationRequest, environ: Mapping[str, str], listen: Callable[[str], None]) -> BuiltProgram:
    config = request.config
    given = config.external
    assert given is not None
    made = plan(request)
    notes = _notes(request, made)
    notes += [str(conflict) for conflict in version_lock.check(lock(request, made))]
    work = request.work.absolute()
    tree, log = work / overlay.TREE, work / external.LOG
    made_with = "\n".join([request.made_with, *request.tolerate])
    settings = "\n".join([made_with, *(f"{name}={value}" for name, value in given.variables)])
    with alone_with(work / overlay.RECORD):
        changes = overlay.synchronize(made.files, work, made.tree.folders, made.staged.files, settings)
        child = external.environment(environ, request.toolchain)
        if request.tolerate:
            external.wrappers(request.tolerate, request.toolchain, work / "tools", config.said("tolerate"))
            child = external.environment(child, work / "tools")
        kind = MAKE if given.build == NATIVE else config.kind
        run = commands.commands(
            config,
            lambda: commands.find_program(kind, given.executable, request.root, child, config.said("executable")),
            tree,
            work,
            jobs=request.jobs,
            what=made.shown if given.directory == "." else f"{made.shown}/{given.directory}",
            core=request.core,
        )
        notes += run.notes
        run = replace(run, identity=f"{made_with}\n{run.identity}")
        before = external.look(run.artefact)
        since = time.time_ns()
        outcome = external.run(run, log, child, listen)
        if outcome.status:
            known = _known_file(made, tree, run.folder)
            found = errorlines.find(outcome.lines, known)
            say(*errorlines.diagnostics(outcome.lines, known), file=sys.stderr)
            raise _failed(request, outcome, found, request.work / external.LOG)
        data = external.judge(
            run.artefact,
            before,
            [(name, tree / place) for name, place in made.staged.networks],
            shown=given.artefact or run.artefact.relative_to(tree).as_posix(),
            folder=run.private if config.kind == CMAKE and run.private is not None else run.folder,
            since=since,
            where=config.said("artefact"),
            log=(request.work / external.LOG).as_posix(),
        )
        link_map = run.artefact.with_suffix(".map")
        write_bytes(work / "link.map", read_bytes(link_map) if link_map.is_file() else b"")
    return BuiltProgram(data, changes, tuple(notes))


def discard(output: Path) -> None:
    """Remove the program of an earlier build. NeuralArtError: it cannot be removed."""
    try:
        output.unlink(missing_ok=True)
    except OSError as error:
        raise NeuralArtError(f"cannot be replaced: {error.strerror}", where=str(output)) from error


def build(
    request: ApplicationRequest, environ: Mapping[str, str], listen: Callable[[str], None] = lambda _text: None
) -> BuiltProgram:
    """Build the program of an application into the output. ``environ``: of this process; ``listen``: gets the progress.
    NeuralArtError: the parts do not fit together, the build fails or leaves no program; the output is then empty.
    """
    config = request.config
    discard(request.output)
    if config.kind in EXTERNAL:
        result = _external(request, environ, listen)
    elif config.elf:
        where = config.said("elf")
        path = request.root / config.elf
        if not path.is_file():
            raise NeuralArtError(f"no file {path}", where=where, hint="paths are relative to the project file")
        result = BuiltProgram(external.read_program(path, config.elf, where))
    else:
        raise NeuralArtError(f"an application of kind {config.kind} has no build of its own", where=config.said())
    write_bytes(request.output, result.program)
    return result
