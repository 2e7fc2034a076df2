"""``NeuralArtNetwork``: a model becomes the C of a network, with its header, constants and descriptions.

    env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_BOARD="nucleo-n657x0-q")

A model is a source of ``CFile``, too, as a yacc file is: ``env.Program("app.elf", ["main.c", "kws.tflite"])``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import SCons.Builder
import SCons.Errors
import SCons.Scanner
import SCons.Tool
import SCons.Util

from neuralart.boards.types import Board
from neuralart.compilers.command_line import REFERENCE, rooms_of
from neuralart.config import networks
from neuralart.config.keys import PATH, WORDS, value_of
from neuralart.config.types import NetworkConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.network.targets import check_name
from neuralart.resources import firmware_dir
from neuralart.scons import making, node_plans
from neuralart.scons.commands import FARM, Process, Variable, words
from neuralart.scons.failures import at_read_time, caller
from neuralart.scons.network.compilers import SLOTS, known_profile
from neuralart.scons.network.plan import CompilePlan, make_plan
from neuralart.scons.paths import literal, named, place
from neuralart.scons.registry import fact, registry_of

_FORMS = {key.name: key.form for key in networks.KEYS}


def config_of(env: Any, name: str, model: Any, options: Mapping[str, Any]) -> NetworkConfig:
    """Make a network from keywords of an SConstruct, with the checks of variants.yaml. ``options``: its keys; mappings
    are dicts, None: not given. NeuralArtError: a key is unknown or its value wrong.
    """
    place = caller(env)
    where = str(place)
    if not isinstance(name, str):
        raise NeuralArtError(f"{name!r} is not a C identifier", where=where)
    check_name(name, where)
    if SCons.Util.is_Sequence(model) and len(model) != 1:
        raise NeuralArtError(f"networks.{name}: one model, not {len(model)}", where=where)
    adopted = isinstance(options.get("compiler"), Mapping) and "adopted" in options["compiler"]
    if model is None and not adopted:
        raise NeuralArtError(f"networks.{name}: no model", where=where)
    given = {key: _plain(env, value, _FORMS.get(key, "")) for key, value in options.items() if value is not None}
    # At the place, and with the key, that it would have in a file.
    written = value_of({"networks": {name: given}}, place).mapping()["networks"].mapping()[name]
    settings = networks.read_settings(written, networks.KEYWORDS)
    own = {"model": (literal(env, model), place)} if model is not None else {}
    return networks.resolve(name, place, own, settings)


def _plain(env: Any, value: Any, form: str | Mapping[str, str]) -> Any:
    """Text and lists for what an SConstruct may write; anything else stays for the check to refuse."""
    if isinstance(form, Mapping):
        if isinstance(value, Mapping):
            return {name: _plain(env, item, form.get(name, "")) for name, item in value.items()}
        form = form.get("", "")
    if form == PATH:
        one = value[0] if SCons.Util.is_Sequence(value) and len(value) == 1 else value
        return literal(env, one) if isinstance(one, (str, PurePath)) or hasattr(one, "get_abspath") else value
    if form == WORDS:
        # As everywhere in SCons, one text is a list of words.
        return env.Split(value) if SCons.Util.is_Sequence(value) or isinstance(value, str) else value
    return value


NAME = "NeuralArtNetwork"
MODEL_SUFFIXES = [".tflite", ".onnx"]


def any_plan(env: Any, config: NetworkConfig, board: Board, model: Any, pair: str = "") -> CompilePlan:
    """Plan a compile, or the copy of an adopted network; errors as of both."""
    if config.adopted is None:
        return make_plan(env, config, board, model, pair)
    # Few networks are adopted: no other build loads the readers of generated C.
    from neuralart.scons.network.adopted import adopted_plan

    return adopted_plan(env, config, board)


def _plan(target: list[Any], source: list[Any], env: Any) -> CompilePlan:
    """The compile that the construction variables describe. NeuralArtError: They describe none."""
    stem, dot, suffix = target[0].name.rpartition(".")
    if len(source) != 1:
        raise NeuralArtError(f"{NAME}: one model, not {len(source)}", where=str(target[0]))
    if dot + suffix != ".c":
        raise NeuralArtError(f"{NAME}: a network is C", where=str(target[0]), hint=f"call it {stem or suffix}.c")
    board = node_plans.board_name(env, NAME, target[0])
    options = {
        "compiler": env["NEURALART_COMPILER"],
        "profile": env["NEURALART_PROFILE"],
        "mpool": env["NEURALART_POOLS"],
        "initializers": env["NEURALART_INITIALIZERS"],
        "options": env["NEURALARTFLAGS"],
        "extra_options": env["NEURALART_EXTRAFLAGS"],
        "failures": env["NEURALART_FAILURES"],
        "timeout": env["NEURALART_TIMEOUT"],
    }
    config = config_of(env, stem, source[0], options)
    if env["NEURALART_RELOCATABLE"]:
        from neuralart.memory.layout import relative_pools

        config = relative_pools.derive(config)
    return any_plan(env, config, registry_of(env).board(board, config.said()), source[0], str(env["NEURALART_PAIR"]))


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add all files that the compile writes and reads; compiler, version, profile and pool file decide them. A raw file
    that was not declared is an error of the compile. SCons.Errors.UserError: a variable has a wrong value, or a file is
    missing or wrong.
    """
    plan = node_plans.given(env, CompilePlan) or _plan(target, source, env)
    first = target[0]
    if first.name != plan.names[0]:
        hint = f"call it {plan.names[0]}"
        raise NeuralArtError(f"{NAME}: an adopted network keeps its name", where=str(first), hint=hint)
    nodes = [first if name == first.name else first.dir.File(name) for name in plan.names]
    node_plans.remember(first, plan)
    folder = Path(first.dir.get_abspath())
    owner = registry_of(env).once("folder of a network", str(folder), lambda: first.name)
    if owner != first.name:
        what = f"{NAME}: {named(env, folder)} has the network.json of {owner}"
        raise NeuralArtError(what, where=str(first), hint="a folder for each network")
    env.Depends(nodes, fact(fingerprint(*rooms_of(plan.compiler.kind)), name="compiler-code"))
    if plan.compiler.code:
        env.Depends(nodes, fact(plan.compiler.code, name="plugins-of-compilers"))
    if plan.compiler.kind == REFERENCE:
        # They stay until new ones replace them: for a parallel job (-j) what is made of them is right, and
        # SCons reads its includes. What a vendor's tool made must not outlive a failure.
        env.Precious(nodes)
    else:
        env.Depends(nodes, fact(plan.compiler.identity, name="compiler"))
        env.Clean(nodes, first.dir.Dir(".vendor"))
    making.watch(env, nodes)
    for node in nodes:
        if node.name in plan.includes:
            node.includes = [('"', header, '"') for header in plan.includes[node.name]]
    if plan.compiler.slow and not FARM:
        # No more of them at the same time than there are slots.
        env.SideEffect(env.Value(f"compile slot {int(plan.digest, 16) % SLOTS}"), nodes)
    return nodes, list(dict.fromkeys([source[0], *_parts(env, source[0]), *plan.sources]))


def _parts(env: Any, model: Any) -> list[Any]:
    """Files beside an .onnx with constants of it: a compile reads them, too."""
    path = place(model)
    if path.suffix.lower() != ".onnx" or not path.is_file():
        return []
    from neuralart.network.model_parts import external

    return [env.fs.File(str(path.parent / name)) for name in external(path.read_bytes())]


def _scan(node: Any, env: Any, path: Any) -> list[Any]:
    """A profile file names the pool file of the profile that is used."""
    profile = env["NEURALART_PROFILE"]
    if env["NEURALART_POOLS"] or node.get_suffix() in MODEL_SUFFIXES:
        return []
    text = profile.get("base", "") if isinstance(profile, dict) else profile
    # The emitter has read it: other files are not known to be profiles.
    found = known_profile(env, node, split_profile(str(env.subst(text)))[0])
    return [env.fs.File(str(found.mpool))] if found is not None else []


SCANNER = SCons.Scanner.ScannerBase(function=_scan, name="neuralart-profile")


def _emit_c_file(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """For ``CFile``, whose sources all have one suffix: what else is read becomes dependencies."""
    nodes, sources = SCons.Builder.EmitterProxy("NEURALART_NETWORKEMITTER")(target, source, env)
    others = [node for node in sources if node not in source]
    env.Depends(nodes, others)
    env.Depends(nodes, [named for node in others for named in _scan(node, env, ())])
    return nodes, source


VARIABLES = (
    *words(
        "NEURALART",
        "NETWORK  $TARGET",
        "$( $NEURALART_PYTHON $) -m neuralart compile --quiet $_NEURALARTFLAGS $( --force $) --output ${TARGET.dir}",
        emit,
    ),
    node_plans.of_plan("_NEURALARTFLAGS", CompilePlan, NAME, lambda plan, env: plan.words),
    Variable(
        "NEURALARTFLAGS",
        "list",
        None,
        "Options of the compile, as of `stedgeai generate` ([generate-options.md](generate-options.md)).",
        make=lambda: SCons.Util.CLVar(""),
    ),
    Variable(
        "NEURALART_COMPILER",
        "text or dict",
        REFERENCE,
        '`reference`, `stedgeai`, `auto`, `{"stedgeai": "4.0.*"}`, `{"recorded": FOLDER}` or a plugin.',
    ),
    Variable(
        "NEURALART_PROFILE",
        "path or dict",
        "",
        '`[profile@]neural_art.json`, or `{"base": ..., "add": [...], "remove": [...]}`; empty: the board\'s own.',
    ),
    Variable("NEURALART_POOLS", "path", "", "Memory-pool file; empty: the profile's."),
    Variable("NEURALART_INITIALIZERS", "list or None", None, "Pools whose raw file is declared; `None`: by rule."),
    Variable("NEURALART_PAIR", "text", "", "`profiling`: compile without the epoch controller."),
    Variable("NEURALART_RELOCATABLE", "bool", False, "Compile for a relocatable model: external pools are relative."),
    Variable(
        "NEURALART_EXTRAFLAGS",
        "list",
        None,
        "Words for ST Edge AI Core that nothing here looks at.",
        make=lambda: SCons.Util.CLVar(""),
    ),
    Variable(
        "NEURALART_RUNTIME",
        "path",
        None,
        "Folder of the runtime: `ll_aton_runtime.c`, `kernels/*.c` and `memory/*.c`, with their headers in `include`.",
        "`[the package's own]`",
        lambda: str(firmware_dir() / "runtime"),
    ),
    Variable("NEURALART_FAILURES", "path", "", "Your own table of failures of ST Edge AI Core, asked before ours."),
    Variable("NEURALART_TIMEOUT", "number or None", None, "Seconds that ST Edge AI Core may take; `None`: any."),
)


def add_to(env: Any) -> None:
    """Add the builder, and models as sources of ``CFile``."""
    action = Process("NEURALART", farm=True)
    env["BUILDERS"].setdefault(
        NAME,
        SCons.Builder.Builder(
            action=action,
            emitter="$NEURALART_NETWORKEMITTER",
            source_scanner=SCANNER,
            suffix=".c",
            src_suffix=MODEL_SUFFIXES,
        ),
    )
    c_file, _ = SCons.Tool.createCFileBuilders(env)
    for suffix in (each for each in MODEL_SUFFIXES if each not in c_file.cmdgen):
        c_file.add_action(suffix, action)
        c_file.add_emitter(suffix, _emit_c_file)
