"""``NeuralArtPatchedSources``: an application and its network become copies of its sources, fitted to the network.
env.NeuralArtPatchedSources("build/patched/patched.json", ["my application", net], NEURALART_PATCH={...})
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

import SCons.Builder

from neuralart import plugins
from neuralart.config import patch as settings
from neuralart.config.patch import PatchConfig
from neuralart.errors import NeuralArtError
from neuralart.scons import making, node_plans
from neuralart.scons.application.app_config import section_of
from neuralart.scons.commands import NO_INCLUDES, Variable, function, lazily, words
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.network.compilers import source_file
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.paths import literal, named, place, readable
from neuralart.scons.registry import code_value, fact
from neuralart.scons.tool import late_method
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart_bring.patching.network_files import NetworkFiles
    from neuralart_bring.patching.patchlist import PatchList
    from neuralart_bring.patching.plan import PatchRequest


NAME = "NeuralArtPatchedSources"
METHODS = "neuralart_bring.patched_sources"
"""The module of what variants call, see :mod:`neuralart.scons.application.patches`."""


@dataclass(frozen=True)
class PatchPlan:
    """The copies of one application."""

    config: PatchConfig  # Which application, and how
    request: PatchRequest  # The same with the network's files, as the patch itself takes it
    root: Path  # Folder of the application that paths start from
    listing: tuple[str, ...]  # Files that are copied, from the root
    without: list[str]  # Names of files that generated headers take the place of
    sources: list[Any]  # Files of the network that are read
    reads: list[Any]  # What is read besides: the linker script first
    headers: list[Any]  # Generated headers

    @property
    def identity(self) -> str:
        """A hash of how the copies are made."""
        # The paths are texts here and files there; the contents of the list count by their file, or as part of the
        # room.
        request = replace(self.request, patches=self.request.patches.name)  # type: ignore[arg-type]
        return hashlib.sha256(repr((request, self.config.include, self.without)).encode()).hexdigest()[:16]


def refuse_npu(board: Board, where: str) -> NoReturn:
    """Why no application is patched for a board with an NPU."""
    from neuralart_bring.patching.patchlist import check_target

    check_target(board.target, where)
    hint = "only applications of networks that run on the core are"
    raise NeuralArtError(f"board {board.name} has an NPU: no application is patched for it", where=where, hint=hint)


def network_in(env: Any, folder: Any, name: str) -> tuple[NetworkFiles, list[Any]]:
    """Where the files of a network that lies in a folder are, and those of them that a patch reads.
    NeuralArtError: There is no network in it.
    """
    from neuralart_bring.patching.network_files import NetworkFiles

    found = NetworkFiles.in_folder(readable(folder), name)
    if not found.c_info.is_file():
        raise NeuralArtError("no such file", where=str(found.c_info), hint="name the folder that generate wrote")
    files = NetworkFiles(*(Path(named(env, p.absolute())) for p in (found.c_info, found.headers, found.sources)))
    return files, [env.fs.File(str(path.absolute())) for path in found.all(name) if path.is_file()]


def network_of(
    env: Any, made: Sequence[Any], compiled: CompilePlan, name: str, where: str
) -> tuple[NetworkFiles, list[Any]]:
    """The same of a network that the build compiles. NeuralArtError: It is called otherwise, or is for an NPU."""
    from neuralart_bring.patching.network_files import NetworkFiles

    if compiled.pools is not None:
        refuse_npu(compiled.board, where)
    if compiled.config.name != name:
        what = f"the application is written for a network called '{name}', this one is '{compiled.config.name}'"
        raise NeuralArtError(what, where=where, hint=f"env.Network('{name}', ...)")
    folder = Path(named(env, Path(made[0].dir.get_abspath())))
    files = NetworkFiles(folder / f"{name}_c_info.json", folder, folder)
    wanted = {path.name for path in files.all(name)}
    return files, [node for node in made if node.name in wanted]


def _optional(env: Any, config: PatchConfig, key: str) -> Any:
    text = getattr(config, key)
    return source_file(env, text, f"patch: {key}", config.said(key)) if text else None


def _application(env: Any, config: PatchConfig, where: str) -> tuple[Path, PatchList, Any, Path]:
    """The application's folder, its patch list, the node of that where it is the user's own, and where paths start."""
    from neuralart_bring.patching.patchlist import choose_list, find_root

    said = config.said("application") or where
    try:
        application = readable(env.fs.Dir(config.application))
    except TypeError:
        raise NeuralArtError(f"application: {config.application} is a file, not a folder", where=said) from None
    own = _optional(env, config, "list") if settings.is_file(config.list) else None
    try:
        patches = choose_list(application, str(readable(own)) if own is not None else config.list)
    except NeuralArtError as error:
        hint = error.hint.replace("--list", "list:")
        raise NeuralArtError(f"{error.where}: {error.what}", where=said, hint=hint) from error
    root = find_root(application, patches)
    assert root is not None  # a list that fits has it
    return application, patches, own, root


def list_of(env: Any, config: PatchConfig, where: str) -> PatchList:
    """The patch list of an application. NeuralArtError: There is no such folder, or no list fits."""
    return _application(env, config, where)[1]


def root_of(env: Any, config: PatchConfig, where: str) -> Path:
    """The folder that paths of a patch start from."""
    return _application(env, config, where)[3]


def _reads(env: Any, request: PatchRequest, application: Path, config: PatchConfig) -> tuple[PatchRequest, list[Any]]:
    """The request with the files that the user names, and what is read besides the network and the copied folders."""
    from neuralart_bring.patching import plan

    script, pools = (_optional(env, config, key) for key in ("linker_script", "memory_pools"))
    name = request.patches.network
    own_script, *own_pools = plan.inputs(replace(request, application=application))[len(request.network.all(name)) :]
    if script is None and not own_script.is_file():
        what = f"the linker script is missing: {own_script}"
        hint = "name the one that the application is linked with: linker_script"
        raise NeuralArtError(what, where=config.said("application") or request.patches.name, hint=hint)
    found = replace(
        request,
        linker_script=_named(env, script) if script is not None else None,
        memory_pools=_named(env, pools) if pools is not None else None,
    )
    nodes = [script if script is not None else env.fs.File(str(own_script.absolute()))]
    nodes += [pools] if pools is not None else [env.fs.File(str(path.absolute())) for path in own_pools]
    return found, nodes


def _named(env: Any, node: Any) -> Path:
    return Path(named(env, place(node)))


def make_plan(
    env: Any, config: PatchConfig, network: Sequence[Any], headers: Sequence[Any] = (), where: str = NAME
) -> PatchPlan:
    """Work out the copies of an application. ``config``: which application, and how; the aspect ratio must be there.
    NeuralArtError: A file is missing, no patch list fits, or the network is no such one.
    """
    from neuralart_bring.patching import mirror, plan

    application, patches, own, root = _application(env, config, where)
    compiled = node_plans.behind(network, CompilePlan)
    if compiled is not None:
        made = network[0].get_executor().get_all_targets()
        files, sources = network_of(env, made, compiled, patches.network, where)
    else:
        files, sources = network_in(env, network[0].disambiguate(), patches.network)
    shown = Path(named(env, application.absolute()))
    request, read = _reads(
        env, plan.PatchRequest(shown, files, config.aspect_ratio, patches, dict(config.reserve)), application, config
    )
    without = sorted({node.name for node in headers})
    listing = mirror.listing(root, patches, without)
    read += [env.fs.File(str((root / path).absolute())) for path in listing]
    read += [own] if own is not None else []
    return PatchPlan(config, request, root, listing, without, sources, read, list(headers))


def settings_of(
    env: Any, application: Any, given: Any, where: str, ratio: str = "", said: str = "", variable: str = ""
) -> PatchConfig:
    """Settings from the keys of ``patch:``: see :func:`~neuralart.scons.application.app_config.section_of`.
    ``ratio``: aspect ratio of a generated header, and ``said``, where that was said; empty: there is none.
    """
    config: PatchConfig = section_of(env, settings, where, given, variable)
    config = replace(config, application=literal(env, application))
    return replace(config, aspect_ratio=settings.aspect_ratio(config, ratio, said, where))


def _plan(target: list[Any], source: list[Any], env: Any) -> PatchPlan:
    """The copies that the construction variables describe."""
    where = f"{NAME}('{target[0]}')"
    if len(source) < 2:
        raise NeuralArtError("the sources are an application's folder and a network", where=where)
    headers = env.arg2nodes(env["NEURALART_PATCH_HEADERS"], env.fs.File)
    config = settings_of(env, source[0], env["NEURALART_PATCH"], where, variable="NEURALART_PATCH")
    return make_plan(env, config, source[1:], headers, where)


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add the copies of every folder that holds a file to be patched.
    SCons.Errors.UserError: A setting is wrong, a file is missing, or it is no such application.
    """
    from neuralart_bring.patching import mirror

    plan = node_plans.given(env, PatchPlan) or _plan(target, source, env)
    first = target[0]
    if first.name != mirror.INDEX:
        raise NeuralArtError(f"{NAME}: the index of the copies is called {mirror.INDEX}", where=str(first))
    nodes = [first, *(first.dir.File(path) for path in plan.listing)]
    node_plans.remember(first, plan)
    env.Depends(nodes, plan.reads)
    # A compile of a copy finds the headers.
    env.Requires(nodes, plan.headers)
    env.Depends(nodes, fact(plan.identity, name="patch"))
    env.Depends(nodes, code_value(env, "patching", "neuralart_bring/patching"))
    # Only what differs is written, so what is there must stay to be compared.
    env.Precious(nodes)
    making.watch(env, nodes)
    return nodes, plan.sources


@in_action
def _patch(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart_bring.patching import mirror
    from neuralart_bring.patching import plan as patches

    folder = PurePosixPath(str(target[0])).parent.as_posix()
    plan = node_plans.of(target, PatchPlan, NAME)
    try:
        made = patches.make(plan.request)
        mirror.write(made, Path(folder), list(plan.config.include), without=plan.without)
    except NeuralArtError as error:
        # A build cannot be told to force it. What it has made itself can go.
        ours = error.where == folder or error.where.startswith(f"{folder}/")
        hint = f"delete {folder}, it is made again" if ours else error.hint.partition(", or say --force")[0]
        raise NeuralArtError(error.what, where=error.where, hint=hint) from error
    for note in made.notes:
        say(f"{folder}: note: {note}", file=sys.stderr)


VARIABLES = (
    *words(
        "NEURALART_PATCH",
        "PATCH    ${TARGET.dir}",
        function(_patch, "$NEURALART_PATCHCOMSTR"),
        emit,
        "`[writes the copies]`",
    ),
    Variable("NEURALART_PATCH", "dict", None, "Keys of `patch:` ([patching.md](patching.md)).", make=dict),
    Variable(
        "NEURALART_PATCH_HEADERS",
        "list",
        None,
        "What `NeuralArtAppConfig` returned: it takes the place of the application's own header.",
        make=list,
    ),
)


def add_to(env: Any) -> None:
    """Add the builder, and the method that calls it."""
    env.AddMethod(late_method("neuralart_bring.patched_sources.patched_method"), "PatchedSources")
    env["BUILDERS"].setdefault(
        NAME,
        SCons.Builder.Builder(
            action=lazily("NEURALART_PATCH"),
            emitter="$NEURALART_PATCHEMITTER",
            source_factory=env.fs.Entry,
            source_scanner=NO_INCLUDES,
        ),
    )


plugins.register("builders", NAME, sys.modules[__name__], protocol=1)
