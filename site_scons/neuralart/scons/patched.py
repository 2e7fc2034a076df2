"""``env.PatchedSources(...)``: copies of an application's sources, fitted to its network; the originals stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from neuralart.config.patch import PatchConfig
from neuralart.errors import NeuralArtError
from neuralart.scons.app_config import AppConfigNodes
from neuralart.scons.builders import patched_sources as builder
from neuralart.scons.builders.plans import GIVEN
from neuralart.scons.builders.variables import carried
from neuralart.scons.compiled import CompiledNodes, CpuNetworkNodes
from neuralart.scons.failures import at_read_time
from neuralart.scons.paths import build_dir, literal, named
from neuralart.scons.registry import Registry

if TYPE_CHECKING:
    from neuralart.patching.mirror import IncludeDir

FOLDER = "patched"


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


def _nodes_of(env: Any, network: Any, where: str) -> list[Any]:
    """Nodes of what a user gave for a network.

    Raises:
        NeuralArtError: It is neither a network nor a folder.
    """
    if isinstance(network, CompiledNodes):
        return network.files
    try:
        return [env.fs.Dir(literal(env, network))]
    except (TypeError, AttributeError):
        raise NeuralArtError(
            f"the network is what Network returned, or a folder, not {network!r}", where=where
        ) from None


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
    from neuralart.patching import mirror

    registry: Registry = env["NEURALART_REGISTRY"]
    generated = [node for each in headers for node in each.files]
    plan = builder.make_plan(env, config, _nodes_of(env, network, where), generated, where)
    patches = plan.request.patches
    own = carried(env, registry.base, builder.VARIABLES)

    def make() -> PatchedNodes:
        base = registry.base
        index, *copies = base.NeuralArtPatchedSources(
            base.fs.File(f"#{folder}/{mirror.INDEX}"),
            [base.fs.Dir(str(plan.root.absolute())), *plan.sources],
            **{GIVEN: plan},
            **own,
        )
        by_path = dict(zip(plan.listing, copies, strict=False))
        changed = {each.path for each in patches.files}
        path = mirror.include_path(plan.root, patches.folders, config.include or patches.folders)
        return PatchedNodes(
            folder=folder,
            root=named(env, plan.root.absolute()),
            patched=[node for name, node in by_path.items() if name in changed],
            copied=[node for name, node in by_path.items() if name not in changed],
            sources=[node for name, node in by_path.items() if PurePosixPath(name).suffix.lower() in mirror.SOURCES],
            include_dirs=[
                *(node for nodes in headers for node in nodes.include_dirs),
                *(_include_dir(base, each, plan.root, folder) for each in path),
            ],
            index=index,
            linker_script=plan.reads[0],
            folders=patches.folders,
            aspect_ratio=config.aspect_ratio,
            identity=plan.identity,
        )

    made = registry.once("patched", folder, make)
    if (made.identity, made.index.sources) != (plan.identity, plan.sources):
        raise NeuralArtError(
            f"{folder} holds copies for another network, or with other settings",
            where=config.said("application") or where,
            hint="give one of them a folder of its own",
        )
    return made


def _include_dir(base: Any, each: IncludeDir, root: Path, folder: str) -> Any:
    from neuralart.patching import mirror

    if each.base == mirror.OUTPUT:
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
    ratio = header.config.aspect_ratio if header is not None else ""
    said = header.config.said("aspect_ratio") if header is not None else ""
    config = builder.settings_of(env, application, keywords, where, ratio, said)
    name = PurePosixPath(Path(config.application).name).name or "application"
    stem = Path(network.folder).name if isinstance(network, CpuNetworkNodes) else "network"
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{name}-{stem}"
    return make_patched(env, config, network, place, [header] if header is not None else [], where)
