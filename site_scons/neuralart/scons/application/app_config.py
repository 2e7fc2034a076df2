"""``NeuralArtAppConfig`` and ``env.AppConfig``: a network and a few settings become an application's header.
env.NeuralArtAppConfig("build/app_config.h", net, NEURALART_APPCONFIG={"use_case": "image_classification", ...})
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Builder

from neuralart import plugins
from neuralart.config import app_config as settings
from neuralart.config.app_config import AppConfig
from neuralart.config.keys import PATH, said_by, value_of
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.quick import dataclass, replace
from neuralart.scons import making, node_plans
from neuralart.scons.commands import Variable, function, lazily, words
from neuralart.scons.failures import at_read_time, caller, in_action
from neuralart.scons.network.compilers import source_file
from neuralart.scons.network.nodes import Compiled, check_compiled
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.paths import build_dir, literal, named, place, top
from neuralart.scons.registry import code_value, fact, registry_of
from neuralart.text.console import say
from neuralart.text.values import Location

if TYPE_CHECKING:
    from neuralart.app_config.application import Application


NAME = "NeuralArtAppConfig"
FACTS = "network.json"
_ROOMS = ("app_config", "config/app_config.py")


@dataclass(frozen=True)
class AppConfigPlan:
    """A header that will be made."""

    config: AppConfig  # The settings, with all paths as commands have them
    generation: str  # Which kind of header it is
    names: tuple[str, ...]  # Names of the files that come out, the header first
    model_name: str  # For the display
    board: str  # Name of the network's board
    network: str  # Name of the network, for messages
    without: str  # Folder of the build, which is no part of an application
    reads: list[Any]  # Files that are read besides the network's facts
    narrow_display: bool = False  # The display of the board takes a greeting in two parts

    @property
    def identity(self) -> str:
        """A hash of all that decides the contents, except files."""
        config = replace(self.config, where=Location("", 0))
        said = repr((config, self.generation, self.model_name, self.board, self.without, self.narrow_display))
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def section_of(env: Any, schema: Any, where: str, given: Any, variable: str = "") -> Any:
    """Settings from the keys of a section, checked as those of a YAML file; paths may be nodes, and None is left out.
    ``schema``: the module that reads such a section. ``variable``: the construction variable that holds the keys.
    NeuralArtError: A key is unknown, or has a value that it cannot have.
    """
    if not isinstance(given, dict):
        raise NeuralArtError(f"{variable} must be a dict, not {given!r}", where=where)
    paths = [key.name for key in schema.KEYS if key.form == PATH]
    given = {key: literal(env, item) if key in paths else item for key, item in given.items() if item is not None}
    with said_by(where):
        made = schema.resolve(schema.read_settings(value_of(given, where)))
    line = caller(env)
    return replace(made, where=line, places=dict.fromkeys(made.places, line))


def _application(env: Any, config: AppConfig, without: str) -> Application | None:
    """The application's folder, looked through once however many headers are for it."""
    from neuralart.app_config import application as applications

    if not config.application:
        return None
    shown, where = config.application, config.said("application")
    return registry_of(env).once(
        "application", shown, lambda: applications.find(top(env) / shown, shown, where, without=top(env) / without)
    )


def _placed(env: Any, config: AppConfig) -> tuple[AppConfig, list[Any]]:
    """The settings with all paths as commands have them, and the files among them."""
    found: dict[str, Any] = {}
    files = []
    for key in ("class_names_file", "template"):
        text = getattr(config, key)
        if text:
            node = source_file(env, text, f"app_config: {key}", config.said(key))
            files.append(node)
            found[key] = named(env, place(node))
    if config.application:
        found["application"] = named(env, Path(env.fs.Dir(config.application).srcnode().get_abspath()))
    return replace(config, **found), files


def make_plan(env: Any, config: AppConfig, network: str, board: str, model_name: str) -> AppConfigPlan:
    """Plan a header. NeuralArtError: a file or the application is missing, or nothing says which kind of header is
    wanted.
    """
    from neuralart.app_config import generate
    from neuralart.app_config.kinds import kind_of

    config, reads = _placed(env, config)
    without = build_dir(env)
    application = _application(env, config, without)
    generation = generate.generation_of(config, application)
    if application is not None:
        reads += [env.fs.File(str(top(env) / application.root / name)) for name in application.inputs()]
    names = (generation.header, *kind_of(config.use_case, config.model_type).companions)
    narrow = bool(board) and registry_of(env).board(board, config.said()).narrow_display
    return AppConfigPlan(config, generation.name, names, model_name, board, network, without, reads, narrow)


def _plan(target: list[Any], source: list[Any], env: Any) -> AppConfigPlan:
    """The header that the construction variables describe."""
    where = f"{NAME}('{target[0]}')"
    config = section_of(env, settings, where, env["NEURALART_APPCONFIG"], "NEURALART_APPCONFIG")
    compiled = node_plans.behind(source, CompilePlan)
    if compiled is not None:
        network, board, model = compiled.config.name, compiled.board.name, Path(compiled.config.model).name
    else:
        network = board = ""
        model = source[0].name
    board = board or str(env.subst(env["NEURALART_BOARD"]))
    return make_plan(env, config, network, board, str(env.subst(env["NEURALART_MODEL_NAME"])) or model)


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add the tables that belong to the header: of anchors or of a spectrogram, by use case. SCons.Errors.UserError: A
    setting is wrong, a file is missing, or the target has another name than the application includes.
    """
    first = target[0]
    facts = [node for node in source if node.name == FACTS]
    if not facts and node_plans.behind(source[:1], CompilePlan) is not None:
        facts = [node for node in source[0].get_executor().get_all_targets() if node.name == FACTS]
    if not facts:
        hint = "give what NeuralArtNetwork returned"
        raise NeuralArtError(f"{NAME}: no {FACTS} among the sources", where=str(first), hint=hint)
    plan = node_plans.given(env, AppConfigPlan) or _plan(target, source, env)
    if first.name != plan.names[0]:
        raise NeuralArtError(f"{NAME}: this application includes {plan.names[0]}", where=str(first), hint="call it so")
    nodes = [first, *(first.dir.File(name) for name in plan.names[1:])]
    node_plans.remember(first, plan)
    env.Depends(nodes, plan.reads)
    env.Depends(nodes, fact(plan.identity, name=f"app_config of {plan.network}"))
    env.Depends(nodes, code_value(env, "app_config", *_ROOMS))
    use_case = plugins.find("use_cases", f"{plan.config.use_case}/{plan.config.model_type}")
    if use_case.code:
        env.Depends(nodes, fact(use_case.code, name="plugin-of-use-case"))
    # A file that stays the same is left alone, so it must be there to look at.
    env.Precious(nodes)
    making.watch(env, nodes)
    return nodes, facts


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.app_config import application as applications
    from neuralart.app_config import generate, tensors

    plan = node_plans.of(target, AppConfigPlan, NAME)
    config = plan.config
    path = Path(str(source[0]))
    application = None
    if config.application:
        folder = Path(config.application).absolute()
        without = Path(plan.without).absolute()
        application = applications.find(folder, config.application, config.said("application"), without)
    made = generate.header(
        config,
        tensors.read(path, str(source[0])),
        classes=generate.class_names(config, Path()),
        application=application,
        generation=plan.generation,
        model_name=plan.model_name,
        board=plan.board,
        narrow_display=plan.narrow_display,
        template=Path(config.template) if config.template else None,
        template_display=config.template,
    )
    texts = {made.name: made.text, **made.companions}
    for node in target:
        file = Path(str(node))
        data = texts[file.name].encode()
        if not file.is_file() or file.read_bytes() != data:
            write_text(file, texts[file.name])
    for note in made.notes:
        say(f"{target[0]}: note: {note}", file=sys.stderr)


VARIABLES = (
    *words(
        "NEURALART_APPCONFIG",
        "HEADER   $TARGET",
        function(_write, "$NEURALART_APPCONFIGCOMSTR"),
        emit,
        "`[writes the header]`",
    ),
    Variable("NEURALART_APPCONFIG", "dict", None, "Keys of `app_config:` ([app-config.md](app-config.md)).", make=dict),
    Variable("NEURALART_MODEL_NAME", "text", "", "Name of the model, for the display; empty: the model's file."),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    env["BUILDERS"].setdefault(
        NAME,
        SCons.Builder.Builder(action=lazily("NEURALART_APPCONFIG"), emitter="$NEURALART_APPCONFIGEMITTER", suffix=".h"),
    )


FOLDER = "app_config"


@dataclass(frozen=True)
class AppConfigNodes:
    """What ``env.AppConfig`` returns."""

    header: Any  # ``app_config.h`` or ``ai_model_config.h``
    companions: list[Any]  # What belongs beside it: tables of anchors or of a spectrogram
    include_dirs: list[Any]  # For CPPPATH
    folder: str  # Where the files are, relative to the top folder
    generation: str  # Which kind of header it is
    config: AppConfig  # What it was made from
    identity: str  # A hash of that and of the network

    @property
    def files(self) -> list[Any]:
        """All files."""
        return [self.header, *self.companions]

    @property
    def sources(self) -> list[Any]:
        """The C among the companions, for the program."""
        return [node for node in self.companions if str(node).endswith(".c")]


def make_app_config(
    env: Any, network: Compiled, config: AppConfig, folder: str, model_name: str = ""
) -> AppConfigNodes:
    """Declare a header, once for each file. ``folder``: where the files go, relative to the top folder. ``model_name``:
    name of the model, for the display; the file's unless given. NeuralArtError: A file or the application is missing,
    nothing says which kind of header is wanted, or another header is there already.
    """
    registry = registry_of(env)
    plan = make_plan(env, config, network.name, network.board.name, model_name or Path(network.config.model).name)
    target = f"{folder}/{plan.names[0]}"

    def make() -> AppConfigNodes:
        base = registry.base
        nodes = node_plans.make(env, NAME, VARIABLES, plan, base.File(f"#{target}"), network.facts)
        return AppConfigNodes(
            nodes[0], list(nodes[1:]), [base.Dir(f"#{folder}")], folder, plan.generation, plan.config, plan.identity
        )

    made = registry.once("app_config", target, make)
    if (made.identity, made.header.sources) != (plan.identity, [network.facts]):
        what = f"{target} is there already, with other settings or for another network"
        hint = "give one of them a folder of its own"
        raise NeuralArtError(what, where=config.said() or f"AppConfig('{network.name}')", hint=hint)
    return made


def of_variant(env: Any, networks: Sequence[Compiled], folder: str) -> list[AppConfigNodes]:
    """Headers of those networks of a variant that have settings for one.
    ``folder``: the variant's, relative to the top folder.
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

    ``network``: what ``env.Network`` returned; ``config``: settings that are ready, instead of keywords.
    ``**keywords``: the keys of ``app_config:``; paths may be nodes; ``folder``: where the files go, relative to the top
    folder; ``model_name``: for the display. SCons.Errors.UserError: a keyword is unknown or wrong, a file is missing,
    or nothing says which kind of header is wanted.
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
        config = section_of(env, settings, where, keywords)
    place = folder.removeprefix("#").rstrip("/") or f"{build_dir(env)}/{FOLDER}/{Path(network.folder).name}"
    return make_app_config(env, network, config, place, model_name)
