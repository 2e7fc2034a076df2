"""Everything a patch will do, worked out before anything is written."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, searched
from neuralart.resources import TEMPLATE_RULES
from neuralart.text.c_source import CSource
from neuralart.vendor import h7_files
from neuralart_bring.linker_script import read as linker_script
from neuralart_bring.patching import network_files
from neuralart_bring.patching.apply import PatchedPiece, apply
from neuralart_bring.patching.edit_sites import definitions
from neuralart_bring.patching.network_files import NetworkFiles
from neuralart_bring.patching.patch_values import Decision, decide
from neuralart_bring.patching.patchlist import BLOCK, SECTION, Operation, PatchList, choose_list, find_root

if TYPE_CHECKING:
    from jinja2 import Template

_C_FILES = (".c", ".h", ".cpp", ".hpp", ".cc")


def of_lost_macros(root: Path, folders: Sequence[str], old: CSource, new: CSource) -> list[str]:
    """Sentences about uses of macros that a file below ``root`` defined before a patch and does not define after it."""
    lost = {each.name for each in definitions(old)} - {each.name for each in definitions(new)}
    if not lost:
        return []
    word = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, lost)))})\b")
    notes = []
    for folder in folders:
        for path in sorted(searched(root / folder, deep=True).rglob("*")):
            if path.suffix.lower() not in _C_FILES or not path.is_file() or str(path) == old.name:
                continue
            try:
                source = CSource(str(path), read_bytes(path))
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


@cache
def _compiled(template: str) -> Template:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    rules = {"undefined": jinja2.StrictUndefined, **TEMPLATE_RULES}
    return ImmutableSandboxedEnvironment(**rules).from_string(template)


def renderer(decision: Decision) -> Callable[[Operation, Callable[[str], bool]], str]:
    """A function that gives the text of an operation."""
    import jinja2

    values = {name: getattr(decision, name) for name in ("camera", "activations", "images", "input")}

    def refuse(operation: Operation, what: str) -> NeuralArtError:
        return NeuralArtError(f"{operation.key}: the template {what}", where=operation.where)

    def render(operation: Operation, defined: Callable[[str], bool]) -> str:
        try:
            text = _compiled(operation.template).render(values, defined=defined)
            text.encode("latin-1")
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise refuse(operation, f"does not work: {error}") from error
        if operation.kind != BLOCK and ("\n" in text or not text.strip()):
            raise refuse(operation, f"gives '{text}', one line is needed")
        if operation.kind == SECTION and not (text == operation.name or text.startswith(f"{operation.name}_")):
            raise refuse(operation, f"gives '{text}', which the next patch would not find again")
        return text

    return render


def read_pool_sizes(path: Path, display: str = "") -> dict[str, int]:
    """Name of a pool -> bytes that a network may use. NeuralArtError: it is no such file, or a pool is there twice."""
    sizes: dict[str, int] = {}
    for pool in h7_files.read_cpu_pools(path, display).pools:
        if pool.name in sizes:
            raise NeuralArtError(f"pool {pool.name} stands there twice", where=pool.where)
        sizes[pool.name] = pool.usable
    return sizes


@dataclass(frozen=True)
class PatchRequest:
    application: Path  # the application's folder
    network: NetworkFiles  # where the network's files are
    aspect_ratio: str  # ``crop``, ``padding`` or ``fit``
    patches: PatchList  # the patch list
    reserve: Mapping[str, int] = field(default_factory=dict)  # memory -> bytes, in place of those of the list
    linker_script: Path | None = None  # in place of the list's
    memory_pools: Path | None = None  # memory-pool file, in place of the list's
    force: bool = False  # overwrite blocks that were changed by hand


@dataclass(frozen=True)
class PlannedFile:
    path: str  # from the root, with ``/``
    old: bytes  # bytes now
    new: bytes  # bytes wanted
    pieces: Mapping[str, PatchedPiece]  # what changes, by operation


@dataclass(frozen=True)
class Plan:
    patches: PatchList  # the list
    root: Path  # folder that paths start from
    files: tuple[PlannedFile, ...]  # in the list's order
    decision: Decision  # every value
    notes: tuple[str, ...]  # what the user should know


def inputs(request: PatchRequest) -> tuple[Path, ...]:
    """Files that the result depends on, besides the application's mirrored folders."""
    root = find_root(request.application, request.patches) or request.application
    found = [*request.network.all(request.patches.network), _linker_script(request, root)]
    pools = _memory_pools(request, root)
    return tuple(found if pools is None else [*found, pools])


def _linker_script(request: PatchRequest, root: Path) -> Path:
    return request.linker_script or root / request.patches.linker_script


def _memory_pools(request: PatchRequest, root: Path) -> Path | None:
    if request.memory_pools is not None or not request.patches.memory_pools:
        return request.memory_pools
    found = request.application / request.patches.memory_pools
    return found if root != request.application and found.is_file() else None


def make(request: PatchRequest, before: Mapping[str, Mapping[str, PatchedPiece]] | None = None) -> Plan:
    """Work out a patch; writes nothing. ``before``: pieces of an earlier one, by file. NeuralArtError: it cannot be."""
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
        path, data = root / each.path, read_bytes(root / each.path)
        source = CSource(str(path), data)
        done = apply(source, each, what.markers, render, force=request.force, before=(before or {}).get(each.path))
        for section, where in done.sections:
            try:
                script.place(section)
            except NeuralArtError as error:
                said = f"{error.what} (written by {where})"
                raise NeuralArtError(said, where=error.where, hint=error.hint) from error
        if decision.camera.crop_x and any("camera.crop_x" in skipped.template for skipped in done.skipped):
            notes.append(_crop_note(decision, str(path), next(skipped.name for skipped in done.skipped)))
        files.append(PlannedFile(each.path, data, done.data, done.pieces))
        notes += of_lost_macros(root, what.folders, source, CSource(str(path), done.data))
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
    pairs = ((_lines(each.old), _lines(each.new), f"a/{each.path}", f"b/{each.path}") for each in plan.files)
    lines = (line for pair in pairs for line in difflib.unified_diff(*pair))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes) -> list[str]:
    """Lines as git counts them; what is no UTF-8 is shown as escapes."""
    pieces = data.split(b"\n")
    ended = [piece + b"\n" for piece in pieces[:-1]]
    return [line.decode("utf-8", "backslashreplace") for line in (*ended, *filter(None, pieces[-1:]))]


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()
