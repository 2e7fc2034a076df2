"""``env.PatchedSources(...)``: copies of an application's sources, fitted to its network; the originals stay."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

from neuralart.config import patch as settings
from neuralart.config.keywords import said_by, value_of
from neuralart.config.patch import PatchConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.app_config import AppConfigNodes
from neuralart.scons.cpu_network import CpuNetworkNodes
from neuralart.scons.failures import at_read_time, caller, in_action
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir, literal, named, readable
from neuralart.scons.pools import source_file
from neuralart.scons.registry import Registry
from neuralart.scons.scanning import NO_INCLUDES

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.patching.includes import IncludeDir
    from neuralart.patching.network_files import NetworkFiles
    from neuralart.patching.patchlist import PatchList
    from neuralart.patching.plan import Request

FOLDER = "patched"
_PATHS = ("linker_script", "memory_pools")


@dataclass(frozen=True)
class PatchedNodes:
    """What ``env.PatchedSources`` returns.

    Attributes:
        folder: Where the copies are, relative to the top folder.
        root: Folder of the application that paths start from, as commands name it.
        patched: The copies that differ from their originals.
        copied: The others.
        sources: C among them, to be compiled instead of the originals.
        include_dirs: For CPPPATH, instead of the application's own.
        index: ``patched.json``: what was decided.
        linker_script: The script that the application is linked with.
        folders: Folders of the application that were copied, from its root.
        aspect_ratio: How the camera's picture becomes the network's.
        identity: A hash of how they were made.
    """

    folder: str
    root: str
    patched: list[Any]
    copied: list[Any]
    sources: list[Any]
    include_dirs: list[Any]
    index: Any
    linker_script: Any
    folders: tuple[str, ...]
    aspect_ratio: str
    identity: str

    @property
    def files(self) -> list[Any]:
        """All copies, and the index."""
        return [*self.patched, *self.copied, self.index]


def _patch(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.patching import mirror, plan

    folder = env["NEURALART_PATCH_FOLDER"]

    def work() -> None:
        try:
            made = plan.make(env["NEURALART_PATCH_REQUEST"])
            mirror.write(made, Path(folder), env["NEURALART_PATCH_INCLUDE"], without=env["NEURALART_PATCH_WITHOUT"])
        except NeuralArtError as error:
            # A build cannot be told to force it. What it has made itself can go.
            ours = error.where == folder or error.where.startswith(f"{folder}/")
            hint = f"delete {folder}, it is made again" if ours else error.hint.partition(", or say --force")[0]
            raise NeuralArtError(error.what, where=error.where, hint=hint) from error
        for note in made.notes:
            print(f"{folder}: note: {note}", file=sys.stderr)

    in_action(work, target, env)


def refuse_npu(board: Board, where: str) -> NoReturn:
    """Why no application is patched for a board with an NPU.

    Raises:
        NeuralArtError: Always.
    """
    from neuralart.patching import family

    family.check_target(board.target, where)
    raise NeuralArtError(
        f"board {board.name} has an NPU: no application is patched for it",
        where=where,
        hint="only applications of networks that run on the core are",
    )


def _network_files(env: Any, network: Any, name: str, where: str) -> tuple[NetworkFiles, list[Any]]:
    """Where the network's files are, and those of them that a patch reads.

    Raises:
        NeuralArtError: It is called otherwise, is for an NPU, or is neither a network nor a folder.
    """
    from neuralart.patching.network_files import NetworkFiles

    if isinstance(network, NetworkNodes):
        refuse_npu(network.board, where)
    if isinstance(network, CpuNetworkNodes):
        if network.name != name:
            raise NeuralArtError(
                f"the application is written for a network called '{name}', this one is '{network.name}'",
                where=where,
                hint=f"env.Network('{name}', ...)",
            )
        folder = Path(network.folder)
        files = NetworkFiles(folder / f"{name}_c_info.json", folder, folder)
        wanted = {path.name for path in files.all(name)}
        return files, [node for node in network.files if PurePosixPath(str(node)).name in wanted]
    try:
        node = env.fs.Dir(literal(env, network))
    except (TypeError, AttributeError):
        raise NeuralArtError(
            f"the network is what Network returned, or a folder, not {network!r}", where=where
        ) from None
    found = NetworkFiles.in_folder(readable(node), name)
    if not found.c_info.is_file():
        raise NeuralArtError("no such file", where=str(found.c_info), hint="name the folder that generate wrote")
    files = NetworkFiles(*(Path(named(env, p.absolute())) for p in (found.c_info, found.headers, found.sources)))
    return files, [env.fs.File(str(path.absolute())) for path in found.all(name) if path.is_file()]


def _optional(env: Any, config: PatchConfig, key: str) -> Any:
    text = getattr(config, key)
    return source_file(env, text, f"patch: {key}", config.said(key)) if text else None


def _application(env: Any, config: PatchConfig, where: str) -> tuple[Path, PatchList, Any]:
    """The application's folder, its patch list, and the node of that where it is the user's own.

    Raises:
        NeuralArtError: There is no such folder, or no list fits.
    """
    from neuralart.patching import plan

    said = config.said("application") or where
    try:
        application = readable(env.fs.Dir(config.application))
    except TypeError:
        raise NeuralArtError(f"application: {config.application} is a file, not a folder", where=said) from None
    own = _optional(env, config, "list") if settings.is_file(config.list) else None
    try:
        patches = plan.choose_list(application, str(readable(own)) if own is not None else config.list)
    except NeuralArtError as error:
        hint = error.hint.replace("--list", "list:")
        raise NeuralArtError(f"{error.where}: {error.what}", where=said, hint=hint) from error
    return application, patches, own


def list_of(env: Any, config: PatchConfig, where: str) -> PatchList:
    """The patch list of an application.

    Raises:
        NeuralArtError: There is no such folder, or no list fits.
    """
    return _application(env, config, where)[1]


def _reads(env: Any, request: Request, application: Path, config: PatchConfig) -> tuple[Request, list[Any]]:
    """The request with the files that the user names, and what is read besides the network and the copied folders.

    Raises:
        NeuralArtError: A file does not exist.
    """
    from neuralart.patching import plan

    script, pools = (_optional(env, config, key) for key in _PATHS)
    name = request.patches.network
    own_script, *own_pools = plan.inputs(replace(request, application=application))[len(request.network.all(name)) :]
    if script is None and not own_script.is_file():
        raise NeuralArtError(
            f"the linker script is missing: {own_script}",
            where=config.said("application") or request.patches.name,
            hint="name the one that the application is linked with: linker_script",
        )
    found = replace(
        request,
        linker_script=_named(env, script) if script is not None else None,
        memory_pools=_named(env, pools) if pools is not None else None,
    )
    nodes = [script if script is not None else env.fs.File(str(own_script.absolute()))]
    nodes += [pools] if pools is not None else [env.fs.File(str(path.absolute())) for path in own_pools]
    return found, nodes


def _named(env: Any, node: Any) -> Path:
    return Path(str(node) if node.has_builder() else named(env, Path(node.srcnode().get_abspath())))


def make_patched(
    env: Any,
    config: PatchConfig,
    network: Any,
    folder: str,
    headers: Sequence[AppConfigNodes] = (),
    where: str = "PatchedSources",
) -> PatchedNodes:
    """Declare the copies of an application.

    Args:
        env: Paths in ``config`` are relative to its current SConscript.
        config: Which application, and how; the aspect ratio must be there.
        network: What ``env.Network`` returned, or the folder of a network's files.
        folder: Where the copies go, relative to the top folder.
        headers: Generated headers: they take the place of those of the same name.
        where: For messages about what no file says.

    Raises:
        NeuralArtError: A file is missing, no patch list fits, or the network is no such one.
    """
    from neuralart.patching import includes, mirror, plan

    registry: Registry = env["NEURALART_REGISTRY"]
    application, patches, own = _application(env, config, where)
    root = plan.find_root(application, patches)
    assert root is not None  # a list that fits has it
    files, sources = _network_files(env, network, patches.network, where)
    shown = Path(named(env, application.absolute()))
    request, read = _reads(
        env, plan.Request(shown, files, config.aspect_ratio, patches, dict(config.reserve)), application, config
    )
    without = sorted({PurePosixPath(str(node)).name for nodes in headers for node in nodes.files})
    listing = mirror.listing(root, patches, without)
    script = read[0]
    read += [env.fs.File(str((root / path).absolute())) for path in listing]
    read += [own] if own is not None else []
    # The paths are texts here and files there; the contents of the list count by their file, or as part of the room.
    said = repr((replace(request, patches=patches.name), config.include, without))  # type: ignore[arg-type]
    identity = hashlib.sha256(said.encode()).hexdigest()[:16]

    def make() -> PatchedNodes:
        base = registry.base
        nodes = base.Command(
            [base.fs.File(f"#{folder}/{path}") for path in (*listing, mirror.INDEX)],
            sources,
            messages.function(
                _patch,
                f"PATCH    {folder}",
                "NEURALART_PATCH_FOLDER",
                "NEURALART_PATCH_INCLUDE",
                "NEURALART_PATCH_WITHOUT",
            ),
            NEURALART_PATCH_REQUEST=request,
            NEURALART_PATCH_FOLDER=folder,
            NEURALART_PATCH_INCLUDE=list(config.include),
            NEURALART_PATCH_WITHOUT=without,
            source_scanner=NO_INCLUDES,
        )
        base.Depends(nodes, read)
        # Whoever compiles a copy finds the headers.
        base.Requires(nodes, [node for each in headers for node in each.files])
        base.Depends(nodes, base.Value(identity, name="patch"))
        base.Depends(nodes, base.Value(fingerprint("patching"), name="patching"))
        # Only what differs is written, so what is there must stay to be compared.
        base.Precious(nodes)
        by_path = dict(zip(listing, nodes, strict=False))
        changed = {each.path for each in patches.files}
        path = includes.include_path(root, patches.folders, config.include or patches.folders)
        return PatchedNodes(
            folder=folder,
            root=named(env, root.absolute()),
            patched=[node for name, node in by_path.items() if name in changed],
            copied=[node for name, node in by_path.items() if name not in changed],
            sources=[node for name, node in by_path.items() if PurePosixPath(name).suffix.lower() in mirror.SOURCES],
            include_dirs=[
                *(node for nodes in headers for node in nodes.include_dirs),
                *(_include_dir(base, each, root, folder) for each in path),
            ],
            index=nodes[-1],
            linker_script=script,
            folders=patches.folders,
            aspect_ratio=config.aspect_ratio,
            identity=identity,
        )

    made = registry.once("patched", folder, make)
    if (made.identity, made.index.sources) != (identity, sources):
        raise NeuralArtError(
            f"{folder} holds copies for another network, or with other settings",
            where=config.said("application") or where,
            hint="give one of them a folder of its own",
        )
    return made


def _include_dir(base: Any, each: IncludeDir, root: Path, folder: str) -> Any:
    from neuralart.patching import includes

    if each.base == includes.OUTPUT:
        return base.Dir(f"#{folder}/{each.path}")
    return base.fs.Dir(str((root / each.path).absolute()))


@at_read_time
def patched_method(env: Any, application: Any, network: Any, **keywords: Any) -> PatchedNodes:
    """``env.PatchedSources(application, net, aspect_ratio=..., ...)``: an application's sources, fitted to a network.

    Args:
        env: The construction environment.
        application: The application's folder.
        network: What ``env.Network`` returned, or the folder of a network's files.
        **keywords: The keys of ``patch:``; paths may be nodes. ``app_config``: what ``env.AppConfig`` returned: its
            header takes the place of the application's. ``folder``: where the copies go, relative to the top folder.

    Returns:
        Nodes by attribute.

    Raises:
        SCons.Errors.UserError: A keyword is unknown or wrong, a file is missing, or it is no such application.
    """
    where = "PatchedSources"
    header, folder = keywords.pop("app_config", None), keywords.pop("folder", "")
    if header is not None and not isinstance(header, AppConfigNodes):
        raise NeuralArtError(f"app_config takes what AppConfig returned, not {header!r}", where=where)
    if not isinstance(folder, str) or Path(folder).is_absolute():
        raise NeuralArtError(f"folder: a folder below the top folder, not {folder!r}", where=where)
    for key in _PATHS:
        if keywords.get(key) is not None:
            keywords[key] = literal(env, keywords[key])
    with said_by(where):
        given = {key: value for key, value in keywords.items() if value is not None}
        config = settings.resolve(settings.read_settings(value_of(given, where)))
    assert config is not None  # the section is there, if empty
    line = caller(env)
    places = dict.fromkeys(config.places, line)
    ratio = header.config.aspect_ratio if header is not None else ""
    said = header.config.said("aspect_ratio") if header is not None else ""
    config = replace(config, application=literal(env, application), where=line, places=places)
    config = replace(config, aspect_ratio=settings.aspect_ratio(config, ratio, said, where))
    name = PurePosixPath(Path(config.application).name).name or "application"
    stem = Path(network.folder).name if isinstance(network, CpuNetworkNodes) else "network"
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{name}-{stem}"
    return make_patched(env, config, network, place, [header] if header is not None else [], where)
