"""``NeuralArtFlash``: the record of what a device holds, made by writing the device.

    env.NeuralArtFlash("flash-kws", plan, NEURALART_BOARD="stm32n6570-dk")

The target is an alias: ``scons flash-kws`` writes, and nothing else does - no ``.``, no folder, no name of a file. It
runs each time it is named, and compares with the device: what that holds already is left alone. The record is named by
the runner and the serial number of the probe, and lies beside the flash plan; of the virtual flash it is the flash.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Builder
import SCons.Errors
import SCons.Node.Alias
import SCons.Node.FS
import SCons.Scanner

from neuralart import plugins
from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass
from neuralart.scons import node_plans
from neuralart.scons.commands import Process, Variable, words
from neuralart.scons.failures import at_read_time
from neuralart.scons.node_plans import FilePart
from neuralart.scons.paths import LiteralWord, place, word
from neuralart.scons.registry import registry_of

if TYPE_CHECKING:
    from neuralart.flashing.runners import Runner


def keep_order(env: Any, named: Sequence[str]) -> None:
    """Run effects in the order of the command line, also with -j. With -k only those of one variant wait for each
    other: a failure must not stop another variant's.
    """
    registry = registry_of(env)
    effects = [name for name in dict.fromkeys(named) if name in registry.effects]
    groups = [effects]
    if len(effects) > 1 and env.GetOption("keep_going"):
        owners = dict.fromkeys(registry.effects[name] for name in effects)
        groups = [[name for name in effects if registry.effects[name] == owner] for owner in owners]
    for group in groups:
        for before, after in itertools.pairwise(group):
            registry.base.Requires(registry.base.Alias(after), registry.base.Alias(before))


def declare_effect(env: Any, name: str, owner: str) -> None:
    """Put an effect into that order."""
    from SCons.Script import COMMAND_LINE_TARGETS

    registry_of(env).effects.setdefault(name, owner)
    # Whatever is declared first: once more for each that is named.
    if name in COMMAND_LINE_TARGETS:
        keep_order(env, COMMAND_LINE_TARGETS)


NAME = "NeuralArtFlash"
VERBS = {"write": "flash", "verify": "verify"}
PARTS = ("", "application", "model")


@dataclass(frozen=True)
class FlashingPlan:
    """What is done with a device."""

    verb: str  # ``write`` or ``verify``
    runner: Runner  # Who does it
    probe: str  # Serial number of the device; empty: the only one
    part: str  # ``application``, ``model``, or empty for all
    shown: str  # What users see
    board_files: tuple[Any, ...] = ()  # The user's own board descriptions
    options: tuple[str, ...] = ()  # Further words of the command: of FORCE, DRY and SERVER


@dataclass(frozen=True)
class Flashing:
    """What an alias does with a device."""

    plan: FlashingPlan  # How
    writes: Any  # The flash plan
    record: Any  # What says what the device holds


# By preference; gdb is not among them: it may need a server, which has to be named.
_OF_SILICON = ("cubeprogrammer", "openocd", "pyocd")
# What the command line may set for flash-, verify-, reset- and so on, with what it means.
ARGUMENTS = {
    "RUNNER": "who writes the board",
    "SERIAL": "serial number of its probe",
    "SERVER": "gdb server that runs, HOST:PORT",
    "FORCE": "1: write what it holds already, too",
    "DRY": "1: print the commands instead",
    "PORT": "its serial port",
}


def argument(env: Any, name: str, variable: str = "") -> str:
    """Read a value from the command line, else from a construction variable."""
    from SCons.Script import ARGUMENTS as SAID

    return str(SAID.get(name, "") or (env.subst(env[variable]) if variable else ""))


def _is_on(env: Any, name: str) -> bool:
    value = argument(env, name)
    if value not in ("", "0", "1"):
        # FORCE=no must not write all of a flash.
        raise NeuralArtError(f"'{value}' is neither 0 nor 1", where=f"{name}=", hint=f"{name}=1, or leave it out")
    return value == "1"


def is_dry(env: Any) -> bool:
    """Whether to show the commands only. NeuralArtError: ``DRY`` is neither 0 nor 1."""
    return _is_on(env, "DRY")


def options_of(env: Any) -> tuple[str, ...]:
    """Options of ``neuralart flash`` from the command line. NeuralArtError: ``FORCE`` is neither 0 nor 1."""
    server = argument(env, "SERVER")
    said = {"--force": _is_on(env, "FORCE"), "--dry-run": is_dry(env)}
    return (*[option for option, asked in said.items() if asked], *(["--server", server] if server else []))


def fitting(board: Board, machine: Machine) -> Runner:
    """Choose a runner if none is named: the virtual flash for virtual machines; for silicon the first that knows the
    board and whose program is installed, else the first that knows it, whose message says what to install.
    """
    from neuralart.flashing import runners

    if machine.kind != "silicon":
        return runners.find(runners.DEFAULT)
    names = [name for name in _OF_SILICON if name in plugins.names("runners", name)]
    if not names:
        hint = "the whole of scons-neuralart has cubeprogrammer, openocd and pyocd"
        raise NeuralArtError("no flash runner for real boards is installed", where=board.name, hint=hint)
    known = [each for each in map(runners.find, names) if not each.refusal("write", board, machine)[0]]
    here = [each for each in known if each.found() is not None]
    return next(iter([*here, *known]), runners.find(names[0]))


def runner_of(env: Any, board: Board, machine: Machine, said: str = "") -> tuple[Runner, str]:
    """Find runner and probe: of the command line, else of construction variables, else ``said`` by a variant, else a
    fitting one. NeuralArtError: there is no such runner.
    """
    from neuralart.flashing import runners

    probe = argument(env, "SERIAL", "NEURALART_PROBE")
    for name, where in (
        (argument(env, "RUNNER"), "RUNNER="),
        (str(env.subst(env["NEURALART_RUNNER"])), "NEURALART_RUNNER"),
        (said, "runner:"),
    ):
        if name:
            return runners.find(name, where), probe
    return fitting(board, machine), probe


def record_of(folder: Any, runner: Runner, probe: str) -> Any:
    """The record as a node: for names and cleaning. SCons finds it neither by its name nor in its folder. Else a target
    that needs the folder would wait for it, and building a target by its name would flash it. NeuralArtError: A folder
    has its name, or the serial number is none.
    """
    name = runner.record_name(probe)
    if Path(folder.get_abspath(), name).is_dir():
        where = f"{folder.get_internal_path()}/{name}"
        raise NeuralArtError("it is a folder, not a virtual flash", where=where)
    return SCons.Node.FS.File(name, folder, folder.fs)


def hold(env: Any, runner: Runner, probe: str, record: Any, nodes: Any) -> None:
    """Reserve the device, so that one step at a time uses it."""
    env.SideEffect(env.Value(runner.device(record.get_internal_path(), probe), name="device"), nodes)


def clean(env: Any, nodes: Any, record: Any) -> None:
    """Let ``scons -c`` remove the record, and locks, journals and scripts beside it."""
    from neuralart.flashing.runners import JOURNAL, SCRIPT_NAMES

    names = [record.name + suffix for suffix in (".lock", JOURNAL)]
    names += SCRIPT_NAMES if record.name.endswith(".json") else []  # of a real device
    env.Clean(nodes, [record, *(SCons.Node.FS.File(name, record.dir, record.fs) for name in names)])


def _choice(env: Any, key: str, known: Sequence[str]) -> str:
    value = str(env.subst(env[key]))
    if value not in known:
        raise NeuralArtError(f"{key} is '{value}'", where=NAME, hint=nearest(value, [each for each in known if each]))
    return value


def _plan(target: list[Any], source: list[Any], env: Any) -> FlashingPlan:
    """What the construction variables describe. NeuralArtError: They describe none, or the runner refuses."""
    from neuralart.memory.image.check_image import machine_of

    verb, part = _choice(env, "NEURALART_FLASH_VERB", list(VERBS)), _choice(env, "NEURALART_FLASH_PART", PARTS)
    made = node_plans.known(source[0], FilePart)
    name = made.data[0] if made is not None else node_plans.board_name(env, NAME, target[0])
    registry = registry_of(env)
    board = registry.board(name, NAME)
    machine = machine_of(board, str(env.subst(env["NEURALART_MACHINE"])))
    runner, probe = runner_of(env, board, machine)
    what, hint = runner.refusal(verb, board, machine)
    if what:
        raise NeuralArtError(what, where=str(target[0]), hint=hint)
    shown = f"{VERBS[verb].upper():<8} {target[0]} on {board.name}" + (f", {part} only" if part else "")
    return FlashingPlan(verb, runner, probe, part, shown, tuple(registry.board_files), options_of(env))


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Name the record, keep others away from the device meanwhile, and add the images of the plan.
    SCons.Errors.UserError: A variable has a wrong value, there is no flash plan, or the runner refuses.
    """
    first = target[0]
    if not source or not source[0].name.endswith(".json"):
        raise NeuralArtError(f"{NAME} takes a flash plan", where=str(first), hint="NeuralArtFlashPlan makes it")
    plan = node_plans.given(env, FlashingPlan) or _plan(target, source, env)
    record = record_of(source[0].dir, plan.runner, plan.probe)
    node_plans.remember(first, Flashing(plan, source[0], record))
    # SCons's aliases do nothing by themselves but for an action that they were given as aliases.
    first.build = first.really_build
    env.AlwaysBuild(target)
    env.NoCache(target)
    hold(env, plan.runner, plan.probe, record, target)
    clean(env, target, record)
    declare_effect(env, str(first), plan.runner.device(record.get_internal_path(), plan.probe))
    made = node_plans.known(source[0], FilePart)
    return target, list(dict.fromkeys([*source, *(made.sources if made is not None else [])]))


def _images(node: Any) -> list[Any]:
    """Files that a plan on disk names; nothing if it is none: the command says so."""
    from neuralart.flashing import plan

    try:
        return [write.file for write in plan.parse(node.get_text_contents(), str(node)).writes]
    except NeuralArtError:
        return []


def _scan(node: Any, env: Any, path: Any) -> list[Any]:
    """A flash plan names images."""
    if not node.name.endswith(".json") or node_plans.known(node, FilePart) is not None or not node.exists():
        return []
    return [env.fs.File(f"#{name}") for name in _images(node)]


SCANNER = SCons.Scanner.ScannerBase(function=_scan, name="neuralart-flash-plan")


def _words(found: Flashing, env: Any) -> list[Any]:
    """``$_NEURALART_FLASHFLAGS``: plan, record, part and board files as words."""
    plan = found.plan
    said: list[Any] = [VERBS[plan.verb], "--plan", *word(env, place(found.writes))]
    *before, option = plan.runner.words(plan.probe)
    # The record is no target, and all the same it never is in the source tree.
    said += [*(LiteralWord(text) for text in before), option, *word(env, Path(found.record.get_abspath()))]
    said += ["--only", plan.part] if plan.part else []
    said += [LiteralWord(text) for text in plan.options]
    for file in plan.board_files:
        said += ["--board-file", *word(env, place(file))]
    return said


def _would_write(found: Flashing) -> Iterator[str]:
    """What a plan says that is going to be written; also of one that is not made yet."""
    from neuralart.flashing import plan

    part = node_plans.known(found.writes, FilePart)
    rows: list[tuple[str, str, int, str]] = []
    if part is not None:
        rows = [(each.name, each.kind, each.address, str(each.node)) for each in part.data[1]]
    elif found.writes.exists():
        text = found.writes.get_text_contents()
        rows = [(each.name, each.kind, each.address, each.file) for each in plan.parse(text, "").writes]
    for name, kind, address, file in rows:
        if not found.plan.part or kind in plan.PARTS[found.plan.part]:
            yield f"         {name}: {file} at 0x{address:08x}"


def _shown(found: Flashing, env: Any) -> str:
    """``$_NEURALART_FLASHSHOWN``: what is done, and with ``-n`` what would be written."""
    lines = [found.plan.shown]
    if env.GetOption("no_exec") and found.plan.verb == "write":
        try:
            lines += _would_write(found)
        except NeuralArtError as error:
            lines.append(f"         {error}")
    return "\n".join(lines)


VARIABLES = (
    *words(
        "NEURALART_FLASH", "$_NEURALART_FLASHSHOWN", "$( $NEURALART_PYTHON $) -m neuralart $_NEURALART_FLASHFLAGS", emit
    ),
    node_plans.of_plan("_NEURALART_FLASHFLAGS", Flashing, NAME, _words),
    node_plans.of_plan("_NEURALART_FLASHSHOWN", Flashing, NAME, _shown),
    Variable(
        "NEURALART_RUNNER",
        "text",
        "",
        "Who writes: the name of a flash runner; empty: the virtual flash, or for silicon what is installed.",
    ),
    Variable("NEURALART_PROBE", "text", "", "Serial number of the device; empty: the only one."),
    Variable("NEURALART_FLASH_PART", "text", "", "`application` or `model`; empty: all of the plan."),
    Variable("NEURALART_FLASH_VERB", "text", "write", "`write`, or `verify`: compare the device with the plan."),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        env["BUILDERS"][NAME] = SCons.Builder.Builder(
            action=Process("NEURALART_FLASH"),
            emitter="$NEURALART_FLASHEMITTER",
            source_scanner=SCANNER,
            target_factory=SCons.Node.Alias.default_ans.Alias,
        )
