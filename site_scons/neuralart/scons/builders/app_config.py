"""``NeuralArtAppConfig``: a network and a few settings become the configuration header of an application.

env.NeuralArtAppConfig("build/app_config.h", net, NEURALART_APPCONFIG={"use_case": "image_classification", ...})
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Builder

from neuralart import plugins
from neuralart.config import app_config as settings
from neuralart.config.app_config import AppConfig
from neuralart.config.keys import said_by, value_of
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons.builders import plans
from neuralart.scons.builders.actions import function, lazily
from neuralart.scons.builders.variables import Variable, words
from neuralart.scons.compile_plan import CompilePlan
from neuralart.scons.failures import at_read_time, caller, in_action
from neuralart.scons.paths import build_dir, literal, named, place, top
from neuralart.scons.pools import source_file
from neuralart.scons.registry import Registry
from neuralart.text.values import Location

if TYPE_CHECKING:
    from neuralart.app_config.application import Application

NAME = "NeuralArtAppConfig"
FACTS = "network.json"
_ROOMS = ("app_config", "config/app_config.py")
_PATHS = ("application", "template", "class_names_file")


@dataclass(frozen=True)
class AppConfigPlan:
    """One header.

    Attributes:
        config: The settings, with all paths as commands have them.
        generation: Which kind of header it is.
        names: Names of the files that come out, the header first.
        model_name: For the display.
        board: Name of the network's board.
        network: Name of the network, for messages.
        without: Folder of the build, which is no part of an application.
        reads: Files that are read besides the network's facts.
        narrow_display: The display of the board takes a greeting in two parts.
    """

    config: AppConfig
    generation: str
    names: tuple[str, ...]
    model_name: str
    board: str
    network: str
    without: str
    reads: list[Any]
    narrow_display: bool = False

    @property
    def identity(self) -> str:
        """A hash of all that decides about the contents, but for what is read."""
        config = replace(self.config, where=Location("", 0))
        said = repr((config, self.generation, self.model_name, self.board, self.without, self.narrow_display))
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def settings_of(env: Any, where: str, given: dict[str, Any]) -> AppConfig:
    """Settings from the keys of ``app_config:``, checked as those of a YAML file; paths may be nodes.

    Args:
        env: Its variables are expanded in paths.
        where: Who says them, for messages.
        given: The keys; those that are None are left out.

    Raises:
        NeuralArtError: A key is unknown, or has a value that it cannot have.
    """
    given = {key: value for key, value in given.items() if value is not None}
    given |= {key: literal(env, given[key]) for key in _PATHS if key in given}
    with said_by(where):
        made = settings.resolve(settings.read_settings(value_of(given, where)))
    assert made is not None  # the section is there, if empty
    place = caller(env)
    return replace(made, where=place, places=dict.fromkeys(made.places, place))


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
            found[key] = named(env, place(node))
    if config.application:
        found["application"] = named(env, Path(env.fs.Dir(config.application).srcnode().get_abspath()))
    return replace(config, **found), files


def make_plan(env: Any, config: AppConfig, network: str, board: str, model_name: str) -> AppConfigPlan:
    """Work out a header.

    Args:
        env: Paths in ``config`` are relative to its current SConscript.
        config: The settings.
        network: Name of the network.
        board: Name of its board.
        model_name: For the display.

    Raises:
        NeuralArtError: A file or the application is missing, or nothing says which kind of header is wanted.
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
    registry: Registry = env["NEURALART_REGISTRY"]
    narrow = bool(board) and registry.board(board, config.said()).narrow_display
    return AppConfigPlan(config, generation.name, names, model_name, board, network, without, reads, narrow)


def _plan(target: list[Any], source: list[Any], env: Any) -> AppConfigPlan:
    """The header that the construction variables describe."""
    where = f"{NAME}('{target[0]}')"
    keys = env["NEURALART_APPCONFIG"]
    if not isinstance(keys, dict):
        raise NeuralArtError(f"NEURALART_APPCONFIG must be a dict, not {keys!r}", where=where)
    compiled = plans.behind(source, CompilePlan)
    if compiled is not None:
        network, board, model = compiled.config.name, compiled.board.name, Path(compiled.config.model).name
    else:
        network = board = ""
        model = source[0].name
    board = board or str(env.subst(env["NEURALART_BOARD"]))
    model_name = str(env.subst(env["NEURALART_MODEL_NAME"])) or model
    return make_plan(env, settings_of(env, where, dict(keys)), network, board, model_name)


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add the tables that belong to the header: of anchors or of a spectrogram, by use case.

    Raises:
        SCons.Errors.UserError: A setting is wrong, a file is missing, or the target has another name than the
            application includes.
    """
    first = target[0]
    facts = [node for node in source if node.name == FACTS]
    if not facts and plans.behind(source[:1], CompilePlan) is not None:
        facts = [node for node in source[0].get_executor().get_all_targets() if node.name == FACTS]
    if not facts:
        raise NeuralArtError(
            f"{NAME}: no {FACTS} among the sources", where=str(first), hint="give what NeuralArtNetwork returned"
        )
    plan = plans.given(env, AppConfigPlan) or _plan(target, source, env)
    if first.name != plan.names[0]:
        raise NeuralArtError(f"{NAME}: this application includes {plan.names[0]}", where=str(first), hint="call it so")
    nodes = [first, *(first.dir.File(name) for name in plan.names[1:])]
    plans.remember(first, plan)
    env.Depends(nodes, plan.reads)
    env.Depends(nodes, env.Value(plan.identity, name=f"app_config of {plan.network}"))
    env.Depends(nodes, env.Value(fingerprint(*_ROOMS), name="app_config"))
    use_case = plugins.find("use_cases", f"{plan.config.use_case}/{plan.config.model_type}")
    if use_case.code:
        env.Depends(nodes, env.Value(use_case.code, name="plugin-of-use-case"))
    # A file that stays the same is left alone, so it must be there to look at.
    env.Precious(nodes)
    return nodes, facts


def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.app_config import application as applications
    from neuralart.app_config import generate, tensors
    from neuralart.files import write_text

    def work() -> None:
        plan = plans.of(target, AppConfigPlan, NAME)
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
            print(f"{target[0]}: note: {note}", file=sys.stderr)

    in_action(work, target, env)


VARIABLES = (
    *words(
        "NEURALART_APPCONFIG",
        "HEADER   $TARGET",
        function("NEURALART_APPCONFIG", _write),
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
