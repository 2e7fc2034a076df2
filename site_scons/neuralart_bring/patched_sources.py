"""``env.PatchedSources(...)``: copies of an application's sources, fitted to its network; the originals stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from neuralart.config.patch import PatchConfig
from neuralart.errors import NeuralArtError
from neuralart.scons import node_plans
from neuralart.scons.application.app_config import AppConfigNodes
from neuralart.scons.application.patches import PatchedNodes
from neuralart.scons.failures import at_read_time
from neuralart.scons.network.nodes import CompiledNodes, CpuNetworkNodes
from neuralart.scons.paths import build_dir, literal, named
from neuralart.scons.registry import registry_of
from neuralart_bring import scons as patch_builder
from neuralart_bring.scons import list_of as list_of
from neuralart_bring.scons import refuse_npu as refuse_npu
from neuralart_bring.scons import root_of as root_of

if TYPE_CHECKING:
    from neuralart_bring.patching.mirror import IncludeDir


FOLDER = "patched"


def _nodes_of(env: Any, network: Any, where: str) -> list[Any]:
    """Nodes of what a user gave for a network. NeuralArtError: It is neither a network nor a folder."""
    if isinstance(network, CompiledNodes):
        return network.files
    try:
        return [env.fs.Dir(literal(env, network))]
    except (TypeError, AttributeError):
        what = f"the network is what Network returned, or a folder, not {network!r}"
        raise NeuralArtError(what, where=where) from None


def make_patched(
    env: Any,
    config: PatchConfig,
    network: Any,
    folder: str,
    headers: Sequence[AppConfigNodes] = (),
    where: str = "PatchedSources",
) -> PatchedNodes:
    """Declare the copies of an application. ``config``: which application, and how; the aspect ratio must be there.
    ``network``: what ``env.Network`` returned, or the folder of a network's files. ``folder``: where the copies go,
    relative to the top folder. NeuralArtError: A file is missing, no patch list fits, or the network is no such one.
    """
    from neuralart_bring.patching import mirror

    registry = registry_of(env)
    generated = [node for each in headers for node in each.files]
    plan = patch_builder.make_plan(env, config, _nodes_of(env, network, where), generated, where)
    patches = plan.request.patches

    def make() -> PatchedNodes:
        base = registry.base
        target, source = base.fs.File(f"#{folder}/{mirror.INDEX}"), base.fs.Dir(str(plan.root.absolute()))
        builder, variables = patch_builder.NAME, patch_builder.VARIABLES
        index, *copies = node_plans.make(env, builder, variables, plan, target, [source, *plan.sources])
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
        what = f"{folder} holds copies for another network, or with other settings"
        hint = "give one of them a folder of its own"
        raise NeuralArtError(what, where=config.said("application") or where, hint=hint)
    return made


def _include_dir(base: Any, each: IncludeDir, root: Path, folder: str) -> Any:
    from neuralart_bring.patching import mirror

    if each.base == mirror.OUTPUT:
        return base.Dir(f"#{folder}/{each.path}")
    return base.fs.Dir(str((root / each.path).absolute()))


@at_read_time
def patched_method(env: Any, application: Any, network: Any, **keywords: Any) -> PatchedNodes:
    """``env.PatchedSources(application, net, aspect_ratio=..., ...)``: an application's sources, fitted to a network.

    ``application``: its folder; ``network``: what ``env.Network`` returned, or the folder of a network's files.
    ``**keywords``: the keys of ``patch:``; paths may be nodes; ``app_config``: what ``env.AppConfig`` returned: its
    header takes the place of the application's; ``folder``: where the copies go, relative to the top folder.
    SCons.Errors.UserError: a keyword is unknown or wrong, a file is missing, or it is no such application.
    """
    where = "PatchedSources"
    header, folder = keywords.pop("app_config", None), keywords.pop("folder", "")
    if header is not None and not isinstance(header, AppConfigNodes):
        raise NeuralArtError(f"app_config takes what AppConfig returned, not {header!r}", where=where)
    if not isinstance(folder, str) or Path(folder).is_absolute():
        raise NeuralArtError(f"folder: a folder below the top folder, not {folder!r}", where=where)
    ratio = header.config.aspect_ratio if header is not None else ""
    said = header.config.said("aspect_ratio") if header is not None else ""
    config = patch_builder.settings_of(env, application, keywords, where, ratio, said)
    name = PurePosixPath(Path(config.application).name).name or "application"
    stem = Path(network.folder).name if isinstance(network, CpuNetworkNodes) else "network"
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{name}-{stem}"
    return make_patched(env, config, network, place, [header] if header is not None else [], where)
