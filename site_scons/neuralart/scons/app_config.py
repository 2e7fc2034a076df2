"""``env.AppConfig(...)``: the configuration header of an application, from its network and a few settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.config.app_config import AppConfig
from neuralart.errors import NeuralArtError
from neuralart.scons.builders import app_config as builder
from neuralart.scons.builders.plans import GIVEN
from neuralart.scons.builders.variables import carried
from neuralart.scons.compiled import Compiled, check_compiled
from neuralart.scons.failures import at_read_time
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry

FOLDER = "app_config"


@dataclass(frozen=True)
class AppConfigNodes:
    """What ``env.AppConfig`` returns.

    Attributes:
        header: ``app_config.h`` or ``ai_model_config.h``.
        companions: What belongs beside it: tables of anchors or of a spectrogram.
        include_dirs: For CPPPATH.
        folder: Where the files are, relative to the top folder.
        generation: Which kind of header it is.
        config: What it was made from.
        identity: A hash of that and of the network.
    """

    header: Any
    companions: list[Any]
    include_dirs: list[Any]
    folder: str
    generation: str
    config: AppConfig
    identity: str

    @property
    def files(self) -> list[Any]:
        """All files."""
        return [self.header, *self.companions]

    @property
    def sources(self) -> list[Any]:
        """C among the companions, to be compiled into the program."""
        return [node for node in self.companions if str(node).endswith(".c")]


def make_app_config(
    env: Any, network: Compiled, config: AppConfig, folder: str, model_name: str = ""
) -> AppConfigNodes:
    """Declare a header, once for each file.

    Args:
        env: Paths in ``config`` are relative to its current SConscript.
        network: The network that it describes.
        config: The settings.
        folder: Where the files go, relative to the top folder.
        model_name: Name of the model, for the display; the file's unless given.

    Raises:
        NeuralArtError: A file or the application is missing, nothing says which kind of header is wanted, or another
            header is there already.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    plan = builder.make_plan(
        env, config, network.name, network.board.name, model_name or Path(network.config.model).name
    )
    own = carried(env, registry.base, builder.VARIABLES)
    target = f"{folder}/{plan.names[0]}"

    def make() -> AppConfigNodes:
        base = registry.base
        nodes = base.NeuralArtAppConfig(base.File(f"#{target}"), network.facts, **{GIVEN: plan}, **own)
        return AppConfigNodes(
            nodes[0], list(nodes[1:]), [base.Dir(f"#{folder}")], folder, plan.generation, plan.config, plan.identity
        )

    made = registry.once("app_config", target, make)
    if (made.identity, made.header.sources) != (plan.identity, [network.facts]):
        raise NeuralArtError(
            f"{target} is there already, with other settings or for another network",
            where=config.said() or f"AppConfig('{network.name}')",
            hint="give one of them a folder of its own",
        )
    return made


def of_variant(env: Any, networks: Sequence[Compiled], folder: str) -> list[AppConfigNodes]:
    """Headers of those networks of a variant that have settings for one.

    Args:
        env: Any environment of the tool.
        networks: All networks of the variant.
        folder: The variant's, relative to the top folder.
    """
    mine = [(network, network.config.app_config) for network in networks]
    wanted = [(network, config) for network, config in mine if config is not None]
    return [
        make_app_config(env, network, config, folder if len(wanted) == 1 else f"{folder}/{network.name}")
        for network, config in wanted
    ]


@at_read_time
def app_config_method(env: Any, network: Any, config: AppConfig | None = None, **keywords: Any) -> AppConfigNodes:
    """``env.AppConfig(net, use_case=..., ...)``: ``app_config.h`` or ``ai_model_config.h`` for an application.

    Args:
        env: The construction environment.
        network: What ``env.Network`` returned.
        config: Settings that are ready, instead of keywords.
        **keywords: The keys of ``app_config:``; paths may be nodes. ``folder``: where the files go, relative to the top
            folder. ``model_name``: for the display.

    Returns:
        Nodes by attribute.

    Raises:
        SCons.Errors.UserError: A keyword is unknown or wrong, a file is missing, or nothing says which kind of header
            is wanted.
    """
    check_compiled(network, "AppConfig")
    where = f"AppConfig('{network.name}')"
    folder, model_name = keywords.pop("folder", ""), keywords.pop("model_name", "")
    for name, text in (("folder", folder), ("model_name", model_name)):
        if not isinstance(text, str) or (name == "folder" and Path(text).is_absolute()):
            raise NeuralArtError(f"{name} must be text, not {text!r}", where=where)
    if config is not None:
        if not isinstance(config, AppConfig):
            raise NeuralArtError(f"config must be an AppConfig, not {config!r}", where=where)
        if keywords:
            raise NeuralArtError(f"config and '{next(iter(keywords))}' cannot both be there", where=where)
    else:
        config = builder.settings_of(env, where, keywords)
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{Path(network.folder).name}"
    return make_app_config(env, network, config, place, model_name)
