"""Everything a patch will do, worked out before anything is written."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.patching import family, network_files
from neuralart.patching import patchlist as lists
from neuralart.patching.apply import Piece, apply
from neuralart.patching.decide import Decision, decide
from neuralart.patching.defines import definitions
from neuralart.patching.network_files import NetworkFiles
from neuralart.patching.patchlist import BLOCK, SECTION, Operation, PatchList
from neuralart.text.c_source import Source
from neuralart.text.linker_script import read as linker_script
from neuralart.vendor import h7_files

# Who uses a macro that a patch leaves out ---------------------------------------------------------------------------

_C_FILES = (".c", ".h", ".cpp", ".hpp", ".cc")


def of_lost_macros(root: Path, folders: Sequence[str], old: Source, new: Source) -> list[str]:
    """Sentences about uses of macros that a file defined before a patch and does not define after it.

    Args:
        root: Folder that ``folders`` start from.
        folders: Where to look.
        old: The file before.
        new: The file after.
    """
    lost = {each.name for each in definitions(old)} - {each.name for each in definitions(new)}
    if not lost:
        return []
    word = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, lost)))})\b")
    notes = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix.lower() not in _C_FILES or not path.is_file() or str(path) == old.name:
                continue
            try:
                source = Source(str(path), read_bytes(path))
            except NeuralArtError:
                continue
            uses = {found.group(): found.start() for found in reversed(list(word.finditer(source.code)))}
            notes += [
                f"{source.where(at)}: uses {name}, which is defined no longer: let the network keep its input in an "
                "activation buffer, or guard this place"
                for name, at in sorted(uses.items(), key=lambda use: use[1])
                if source.alive(at)
            ]
    return notes


# ---------------------------------------------------------------------------------------------------------------------


def renderer(decision: Decision) -> Callable[[Operation, Callable[[str], bool]], str]:
    """A function that gives the text of an operation."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )

    def render(operation: Operation, defined: Callable[[str], bool]) -> str:
        try:
            text = environment.from_string(operation.template).render(
                camera=decision.camera,
                activations=decision.activations,
                images=decision.images,
                input=decision.input,
                defined=defined,
            )
            text.encode("latin-1")
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise NeuralArtError(
                f"{operation.key}: the template does not work: {error}", where=operation.where
            ) from error
        if operation.kind != BLOCK and ("\n" in text or not text.strip()):
            raise NeuralArtError(
                f"{operation.key}: the template gives '{text}', one line is needed", where=operation.where
            )
        if operation.kind == SECTION and not (text == operation.name or text.startswith(f"{operation.name}_")):
            raise NeuralArtError(
                f"{operation.key}: the template gives '{text}', which the next patch would not find again",
                where=operation.where,
            )
        return text

    return render


# ---------------------------------------------------------------------------------------------------------------------


def read_pool_sizes(path: Path, display: str = "") -> dict[str, int]:
    """Name of a pool -> bytes that a network may use.

    Raises:
        NeuralArtError: It is no such file, or a pool stands there twice.
    """
    sizes: dict[str, int] = {}
    for pool in h7_files.read_cpu_pools(path, display).pools:
        if pool.name in sizes:
            raise NeuralArtError(f"pool {pool.name} stands there twice", where=pool.where)
        sizes[pool.name] = pool.usable
    return sizes


# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What is wanted.

    Attributes:
        application: The application's folder.
        network: Where the network's files are.
        aspect_ratio: ``crop``, ``padding`` or ``fit``.
        patches: The patch list.
        reserve: Memory -> bytes, in place of those of the list.
        linker_script: In place of the list's.
        memory_pools: Memory-pool file, in place of the list's.
        force: Overwrite blocks that were changed by hand.
    """

    application: Path
    network: NetworkFiles
    aspect_ratio: str
    patches: PatchList
    reserve: Mapping[str, int] = field(default_factory=dict)
    linker_script: Path | None = None
    memory_pools: Path | None = None
    force: bool = False


@dataclass(frozen=True)
class PlannedFile:
    """A file to be patched.

    Attributes:
        path: From the root, with ``/``.
        old: Bytes now.
        new: Bytes wanted.
        pieces: What changes, by operation.
    """

    path: str
    old: bytes
    new: bytes
    pieces: Mapping[str, Piece]


@dataclass(frozen=True)
class Plan:
    """A patch.

    Attributes:
        patches: The list.
        root: Folder that paths start from.
        files: In the list's order.
        decision: Every value.
        notes: What the user should know.
    """

    patches: PatchList
    root: Path
    files: tuple[PlannedFile, ...]
    decision: Decision
    notes: tuple[str, ...]


def find_root(application: Path, patches: PatchList) -> Path | None:
    """Folder that the list's paths start from; None if files of the list are missing in both places."""
    for root in (application / patches.root, application):
        if all((root / each.path).is_file() for each in patches.files):
            return root
    return None


def choose_list(application: Path, name: str = "") -> PatchList:
    """The list that is named, else the one whose files the application has.

    Raises:
        NeuralArtError: There is none, or it is an STM32N6 application.
    """
    if not application.is_dir():
        raise NeuralArtError("no such folder", where=str(application))
    candidates = [lists.load(name)] if name else [lists.load(each) for each in lists.names()]
    fitting = [each for each in candidates if find_root(application, each) is not None]
    if len(fitting) == 1:
        family.check_target(fitting[0].target, str(application))
        return fitting[0]
    if fitting:
        listed = ", ".join(each.name for each in fitting)
        raise NeuralArtError(f"several patch lists fit: {listed}", where=str(application), hint="name one: --list NAME")
    seen = family.looks_like_n6(application)
    if seen:
        raise family.refuse_n6(str(application), f"it has {seen}")
    missing = "; ".join(
        f"{each.name} wants "
        + ", ".join(f.path for f in each.files if not (application / each.root / f.path).is_file())
        + f" in {each.root}"
        for each in candidates
    )
    raise NeuralArtError(
        f"no patch list fits this application: {missing}",
        where=str(application),
        hint="give the folder of the application, or a patch list of your own: --list FILE.yaml",
    )


def inputs(request: Request) -> tuple[Path, ...]:
    """Files that the result depends on, besides the application's mirrored folders."""
    root = find_root(request.application, request.patches) or request.application
    found = [*request.network.all(request.patches.network), _linker_script(request, root)]
    pools = _memory_pools(request, root)
    return tuple(found if pools is None else [*found, pools])


def _linker_script(request: Request, root: Path) -> Path:
    return request.linker_script or root / request.patches.linker_script


def _memory_pools(request: Request, root: Path) -> Path | None:
    if request.memory_pools is not None or not request.patches.memory_pools:
        return request.memory_pools
    found = request.application / request.patches.memory_pools
    return found if root != request.application and found.is_file() else None


def make(request: Request, before: Mapping[str, Mapping[str, Piece]] | None = None) -> Plan:
    """Work out a patch; nothing is written.

    Args:
        request: What is wanted.
        before: Pieces of an earlier patch in place, by file.

    Raises:
        NeuralArtError: Something cannot be done; nothing will be done.
    """
    what = request.patches
    root = find_root(request.application, what)
    if root is None:
        choose_list(request.application, "")
        raise NeuralArtError(f"files of patch list {what.name} are missing", where=str(request.application))
    network = network_files.read(request.network, what.network)
    script = linker_script.read(_linker_script(request, root)).complete()
    pool_file = _memory_pools(request, root)
    pools = read_pool_sizes(pool_file) if pool_file is not None else {}
    decision = decide(what, network, script, request.aspect_ratio, request.reserve, pools)
    render = renderer(decision)
    files, notes = [], list(decision.notes)
    for each in what.files:
        path = root / each.path
        data = read_bytes(path)
        source = Source(str(path), data)
        done = apply(source, each, what.markers, render, force=request.force, before=(before or {}).get(each.path))
        for section, where in done.sections:
            try:
                script.place(section)
            except NeuralArtError as error:
                raise NeuralArtError(
                    f"{error.what} (written by {where})", where=error.where, hint=error.hint
                ) from error
        if decision.camera.crop_x and any("camera.crop_x" in skipped.template for skipped in done.skipped):
            notes.append(_crop_note(decision, str(path), next(skipped.name for skipped in done.skipped)))
        files.append(PlannedFile(each.path, data, done.data, done.pieces))
        notes += of_lost_macros(root, what.folders, source, Source(str(path), done.data))
    return Plan(what, root, tuple(files), decision, tuple(notes))


def _crop_note(decision: Decision, path: str, macro: str) -> str:
    camera = decision.camera
    return (
        f"{path}: crop sets {camera.width} as width and height, so an origin that the application computes as half "
        f"their difference is 0 and the picture is cut at its left edge; the middle begins at column {camera.crop_x}, "
        f"{camera.crop_x_text} (an application that defines {macro} gets it set)"
    )


def diff(plan: Plan) -> str:
    """What would change, as a unified diff of the application's files; empty if nothing would."""
    parts: list[str] = []
    for each in plan.files:
        old, new = (_lines(data) for data in (each.old, each.new))
        for line in difflib.unified_diff(old, new, f"a/{each.path}", f"b/{each.path}"):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(data: bytes) -> list[str]:
    """Lines as git counts them; what is no UTF-8 is shown as escapes."""
    pieces = data.split(b"\n")
    ended = [piece + b"\n" for piece in pieces[:-1]]
    return [line.decode("utf-8", "backslashreplace") for line in (*ended, *filter(None, pieces[-1:]))]


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
