"""``env.AppConfig(...)``: the configuration header of an application, from its network and a few settings."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.config import app_config as settings
from neuralart.config.app_config import AppConfig
from neuralart.config.keywords import said_by, value_of
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.compiled import Compiled, check_compiled
from neuralart.scons.failures import at_read_time, caller, in_action
from neuralart.scons.paths import build_dir, literal, named, top
from neuralart.scons.pools import source_file
from neuralart.scons.registry import Registry
from neuralart.text.values import Location

if TYPE_CHECKING:
    from neuralart.app_config.application import Application

FOLDER = "app_config"
_ROOMS = ("app_config", "config/app_config.py")
_PATHS = ("application", "template", "class_names_file")


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


def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.app_config import application as applications
    from neuralart.app_config import generate, tensors
    from neuralart.files import write_text

    def work() -> None:
        config: AppConfig = env["NEURALART_APP_CONFIG"]
        path = Path(str(source[0]))
        application = None
        if config.application:
            without = Path(env["NEURALART_APP_CONFIG_WITHOUT"]).absolute()
            folder = Path(config.application).absolute()
            application = applications.find(folder, config.application, config.said("application"), without)
        template = Path(config.template) if config.template else None
        made = generate.header(
            config,
            tensors.read(path, str(source[0])),
            classes=generate.class_names(config, Path()),
            application=application,
            generation=env["NEURALART_GENERATION"],
            model_name=env["NEURALART_MODEL_NAME"],
            board=env["NEURALART_BOARD"],
            narrow_display=env["NEURALART_NARROW_DISPLAY"],
            template=template,
            template_display=config.template,
        )
        texts = {made.name: made.text, **made.companions}
        for node in target:
            file = Path(str(node))
            data = texts[file.name].encode()
            if not file.is_file() or file.read_bytes() != data:
                write_text(file, texts[file.name])
        for note in made.notes:
            print(f"{target[0]}: note: {note}", file=sys.stderr)

    in_action(work, target, env)


def _application(env: Any, config: AppConfig, without: str) -> Application | None:
    """The application's folder, looked through once however many headers are for it."""
    from neuralart.app_config import application as applications

    if not config.application:
        return None
    registry: Registry = env["NEURALART_REGISTRY"]
    shown, where = config.application, config.said("application")
    return registry.once(
        "application",
        shown,
        lambda: applications.find(top(env) / shown, shown, where, without=top(env) / without),
    )


def _placed(env: Any, config: AppConfig) -> tuple[AppConfig, list[Any]]:
    """The settings with all paths as commands have them, and the files among them.

    Raises:
        NeuralArtError: A file does not exist.
    """
    found: dict[str, Any] = {}
    files = []
    for key in ("class_names_file", "template"):
        text = getattr(config, key)
        if text:
            node = source_file(env, text, f"app_config: {key}", config.said(key))
            files.append(node)
            found[key] = str(node) if node.has_builder() else named(env, Path(node.srcnode().get_abspath()))
    if config.application:
        found["application"] = named(env, Path(env.fs.Dir(config.application).srcnode().get_abspath()))
    return replace(config, **found), files


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
    from neuralart.app_config import generate
    from neuralart.app_config.kinds import KINDS

    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    config, files = _placed(env, config)
    without = build_dir(env)
    application = _application(env, config, without)
    generation = generate.generation_of(config, application)
    shown = model_name or Path(network.config.model).name
    board = network.board
    said = repr((replace(config, where=Location("", 0)), generation.name, shown, board.name, board.narrow_display))
    identity = hashlib.sha256(said.encode()).hexdigest()[:16]
    target = f"{folder}/{generation.header}"

    def make() -> AppConfigNodes:
        names = (generation.header, *KINDS[config.use_case, config.model_type].companions)
        nodes = base.Command(
            [base.File(f"#{folder}/{name}") for name in names],
            network.facts,
            messages.function(
                _write,
                f"HEADER   {target}",
                "NEURALART_GENERATION",
                "NEURALART_MODEL_NAME",
                "NEURALART_BOARD",
                "NEURALART_NARROW_DISPLAY",
                "NEURALART_APP_CONFIG_WITHOUT",
            ),
            NEURALART_APP_CONFIG=config,
            NEURALART_APP_CONFIG_WITHOUT=without,
            NEURALART_GENERATION=generation.name,
            NEURALART_MODEL_NAME=shown,
            NEURALART_BOARD=board.name,
            NEURALART_NARROW_DISPLAY=board.narrow_display,
        )
        base.Depends(nodes, files)
        if application is not None:
            base.Depends(nodes, [base.fs.File(str(top(env) / application.root / n)) for n in application.inputs()])
        base.Depends(nodes, base.Value(identity, name=f"app_config of {network.name}"))
        base.Depends(nodes, base.Value(fingerprint(*_ROOMS), name="app_config"))
        # A file that stays the same is left alone, so it must be there to look at.
        base.Precious(nodes)
        return AppConfigNodes(
            nodes[0], list(nodes[1:]), [base.Dir(f"#{folder}")], folder, generation.name, config, identity
        )

    made = registry.once("app_config", target, make)
    if (made.identity, made.header.sources) != (identity, [network.facts]):
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


def _settings(env: Any, where: str, given: dict[str, Any]) -> AppConfig:
    """Settings from keywords, checked as those of a YAML file."""
    for key in _PATHS:
        if given.get(key) is not None:
            given[key] = literal(env, given[key])
    given = {key: value for key, value in given.items() if value is not None}
    with said_by(where):
        value = value_of(given, where)
        made = settings.resolve(settings.read_settings(value))
    assert made is not None  # the section is there, if empty
    place = caller(env)
    return replace(made, where=place, places=dict.fromkeys(made.places, place))


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
        config = _settings(env, where, keywords)
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{Path(network.folder).name}"
    return make_app_config(env, network, config, place, model_name)
