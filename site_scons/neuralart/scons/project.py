"""``env.NeuralArtProject("variants.yaml")``: declares only the variants that a command line asks for."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from optparse import OptionConflictError
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Executor
import SCons.Node
import SCons.Script

from neuralart import config, intact, plugins
from neuralart.config.patch import is_file
from neuralart.config.types import AdoptedConfig, VariantConfig, of_compiler, split_profile
from neuralart.errors import NeuralArtError, nearest, similar
from neuralart.scons.commands import SWITCHES
from neuralart.scons.failures import at_read_time
from neuralart.scons.flash.flash import ARGUMENTS, keep_order
from neuralart.scons.paths import anchored, named
from neuralart.scons.registry import registry_of

if TYPE_CHECKING:
    from neuralart.config.read import ProjectFile
    from neuralart.scons.console import BuildConsole
    from neuralart.scons.stamps import Recorder
    from neuralart.scons.variant import VariantNodes


def owners(names: Sequence[str]) -> dict[str, str]:
    """The variant of each possible alias."""
    return {
        f"{verb}{name}": name for verb in ("", *(f"{verb}-" for verb in plugins.names("targets"))) for name in names
    }


def requested(
    names: Sequence[str], default: Sequence[str], targets: Sequence[str], *, everything: bool = False
) -> list[str]:
    """Variants that the targets of a command line need.
    ``default``: what a bare ``scons`` builds. ``everything``: A bare call means all (``scons -c``). Returns exact
    look-ups of ``<variant>`` and ``<verb>-<variant>``; any other target needs all of them.
    """
    if not targets:
        return list(names if everything else default)
    aliases = owners(names)
    if any(target not in aliases for target in targets):
        return list(names)
    return list(dict.fromkeys(aliases[target] for target in targets))


class Variants(Mapping[str, "VariantNodes"]):
    """Nodes of the requested variants. An intact variant is declared when its nodes are asked for."""

    def __init__(self, declare: Callable[[str], VariantNodes]) -> None:
        self._declare = declare
        self._made: dict[str, VariantNodes | None] = {}

    def add(self, name: str, *, now: bool) -> None:
        self._made[name] = self._declare(name) if now else None

    def __getitem__(self, name: str) -> VariantNodes:
        nodes = self._made[name]
        if nodes is None:
            nodes = self._made[name] = self._declare(name)
        return nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    @property
    def declared(self) -> dict[str, VariantNodes]:
        """Those that are declared now."""
        return {name: nodes for name, nodes in self._made.items() if nodes is not None}


class Project:
    """A variants.yaml of an SConstruct."""

    def __init__(self, env: Any, file: ProjectFile, folder: Path) -> None:
        self._env = env
        self._folder = folder
        self.file = file  # What was read
        self._owners = owners(self.names)
        self.variants = Variants(self._declared)  # Nodes of those that were asked for, by name
        self._recorder: Recorder | None = None  # Of an SConstruct that is only a description

    @property
    def names(self) -> list[str]:
        """All variants."""
        return list(self.file.config.titles)

    def help(self) -> str:
        """Text for ``scons -h``."""
        titles = self.file.config.titles
        width = max((len(name) for name in titles), default=0)
        default = set(self.file.config.default)
        rows = [f"  {name:<{width}}  {titles[name]}{'  (default)' if name in default else ''}" for name in titles]
        targets = {plugin.name: plugin.made.help for plugin in plugins.every("targets")}
        options = [each for plugin in plugins.every("extensions") for each in plugin.made.OPTIONS]
        width_of_targets = max(map(len, targets)) + len("  scons -VARIANT  ")
        return "\n".join(
            [
                "",
                f"Variants of {self.file.config.path}:",
                *rows,
                "",
                "Targets:",
                "  scons".ljust(width_of_targets) + "build the default variants",
                "  scons VARIANT".ljust(width_of_targets) + "build one variant: network, firmware, images, summary",
                *(f"  scons {verb}-VARIANT".ljust(width_of_targets) + text for verb, text in targets.items()),
                "  scons -c VARIANT".ljust(width_of_targets) + "remove what it made",
                "  scons VERBOSE=1 ...".ljust(width_of_targets) + "show whole commands and summaries",
                "  scons --no-stamps ...".ljust(width_of_targets) + "look at every file anew",
                *(f"  scons {each.name}={each.value} ...".ljust(width_of_targets) + each.help for each in options),
                "  scons --no-color ...".ljust(width_of_targets) + "no colors, as with NO_COLOR=1",
                "  scons WAIT=0 ...".ljust(width_of_targets) + "fail while another scons builds here",
                *(f"  scons {name}=...".ljust(width_of_targets) + text for name, text in ARGUMENTS.items()),
                "",
            ]
        )

    @at_read_time
    def check_targets(self, targets: Sequence[str]) -> None:
        """Refuse a target that looks like a misspelled variant.
        SCons.Errors.UserError: It is neither a variant, an alias of one, nor a path.
        """
        for target in targets:
            if target not in self._owners and "/" not in target and "\\" not in target and not Path(target).exists():
                hint = f"{similar(target, self._owners, most=3)} scons -h lists all".strip()
                raise NeuralArtError(f"unknown target '{target}'", hint=hint)

    @at_read_time
    def check_variables(self, given: Iterable[str], known: Iterable[str]) -> None:
        """Refuse a variable on the command line that the SConstruct does not read.
        ``given``: names, as ``ARGUMENTS``; ``known``: those that it reads. SCons.Errors.UserError: One is unknown.
        """
        names = (*known, *ARGUMENTS)
        for name in given:
            if name not in names:
                raise NeuralArtError(f"unknown variable '{name}=' on the command line", hint=nearest(name, names))

    def main(self) -> None:
        """All that a SConstruct with nothing but a variants.yaml does: help, the variants that the command line asks
        for, those of ``default`` where it names none, and their summaries. The variables ``VERBOSE`` and ``WAIT`` of
        the command line are read, others refused. SCons.Errors.UserError: A target, variable or variant is wrong.
        """
        from SCons.Script import ARGUMENTS, BUILD_TARGETS, COMMAND_LINE_TARGETS, Default, GetOption, Help

        if GetOption("help"):
            Help(self.help())
            return
        self.check_variables(ARGUMENTS, SWITCHES)
        self.check_targets(BUILD_TARGETS)
        self._record()
        self.build(COMMAND_LINE_TARGETS, everything=GetOption("clean"))
        Default(list(self.file.config.default))
        self.print_summaries_at_exit(COMMAND_LINE_TARGETS)

    def _record(self) -> None:
        """Leave stamps of what is built well, and believe those of the last build, if the SConstruct allows it."""
        if intact.NO_STAMPS in intact.given(sys.argv[1:]):
            return
        from neuralart.scons import description

        if description.described(self._env.Dir("#").abspath):
            from neuralart.scons.stamps import Recorder

            self._recorder = Recorder(self._env, self.file.config.default, list(self._owners))
            declared = self.variants
            self._recorder.at_exit(lambda: {name: nodes.alias[0] for name, nodes in declared.declared.items()})

    @at_read_time
    def build(self, targets: Sequence[str], *, everything: bool = False) -> None:
        """Declare the variants that the targets ask for. SCons.Errors.UserError: A variant is wrong."""
        SCons.Executor.Executor.cleanup = _cleanup
        _show_steps(self._env)
        if SCons.Script.sconscript_reading and not everything and set(targets) <= self._owners.keys():
            registry_of(self._env).every_effect = False
            SCons.Node.arg2nodes_lookups.append(self._effect)
        asked = requested(self.names, self.file.config.default, targets, everything=everything)
        intact = self._recorder.intact(asked if set(targets) <= set(self.names) else ()) if self._recorder else ()
        for name in asked:
            if name in intact:
                self._env.Alias(name, self._env.Value("intact"))
            self.variants.add(name, now=name not in intact)
        for name in targets:
            self._effect(name)
        keep_order(self._env, targets)
        if everything and not targets:
            # A bare ``scons -c`` means them all, not only those that a bare ``scons`` builds.
            self._env.Default([nodes.alias for nodes in self.variants.values()])

    def _effect(self, name: str, **_: Any) -> Any:
        """The alias of an effect that a command line or a SConstruct names; None: it is no name of one."""
        owner = self._owners.get(name, name)
        named = owner != name and owner in self.variants
        return self.variants[owner].effects[name.removesuffix(f"-{owner}")][0] if named else None

    def _declared(self, name: str) -> VariantNodes:
        nodes: VariantNodes = self._env.NeuralArtVariant(self._placed(self.file.variant(name)))
        return nodes

    def _placed(self, variant: VariantConfig) -> VariantConfig:
        """Paths in the file are relative to it, not to the SConstruct that reads it."""
        path = self._path

        def profile(text: str) -> str:
            name, file = split_profile(text)
            return f"{name}@{path(file)}" if text and not of_compiler(text) else text

        networks = tuple(
            replace(
                network,
                model=path(network.model),
                mpool=path(network.mpool),
                profile=profile(network.profile),
                vectors=path(network.vectors),
                input=path(network.input),
                labels=path(network.labels),
                app_config=self._placed_paths(network.app_config, "application", "template", "class_names_file"),
                recording=path(network.recording),
                adopted=self._placed_adopted(network.adopted),
                failures=path(network.failures),
            )
            for network in variant.networks
        )
        patch = self._placed_paths(variant.patch, "application", "linker_script", "memory_pools")
        if patch is not None and is_file(patch.list):
            patch = self._placed_paths(patch, "list")
        loaded = self._placed_paths(variant.relocatable, "pack_dir")
        folder = named(self._env, self._folder) or "."
        return replace(variant, networks=networks, patch=patch, relocatable=loaded, folder=folder)

    def _path(self, text: str) -> str:
        return str(anchored(named(self._env, self._folder / text))) if text else ""

    def _placed_adopted(self, adopted: AdoptedConfig | None) -> AdoptedConfig | None:
        if adopted is None:
            return None
        initializers = tuple((pool, self._path(text)) for pool, text in adopted.initializers)
        return replace(adopted, folder=self._path(adopted.folder), initializers=initializers)

    def _placed_paths(self, section: Any, *keys: str) -> Any:
        """A section of a network or variant with some of its keys as paths that any SConscript can take."""
        texts = {key: getattr(section, key) for key in keys} if section is not None else {}
        return section and replace(section, **{key: self._path(text) for key, text in texts.items() if text})

    def print_summaries_at_exit(self, targets: Sequence[str]) -> None:
        """Print, after a successful build, the summaries of what was asked for and made."""
        from SCons.Script import GetBuildFailures, GetOption

        wanted = [name for name in (targets or self.file.config.default) if name in self.variants.declared]

        def show() -> None:
            quiet = any(GetOption(option) for option in ("no_exec", "clean", "silent", "question", "help"))
            if quiet or list(GetBuildFailures()):
                return
            # A reader that has closed the pipe (head) wants no more: nothing to report at this point.
            with contextlib.suppress(OSError):
                for name in wanted:
                    nodes = self.variants[name]
                    # A file of an earlier build says nothing when this one ended before it came here.
                    ready = nodes.summary.get_state() in (SCons.Node.executed, SCons.Node.up_to_date)
                    # Of what was up to date, SCons has said so.
                    if ready and nodes.alias[0].get_state() == SCons.Node.executed:
                        _print_summary(nodes.summary, whole=bool(self._env["NEURALART_VERBOSE"]))
                sys.stdout.flush()

        atexit.register(show)


def _print_summary(node: Any, *, whole: bool) -> None:
    from neuralart.summary import shortened
    from neuralart.text.console import say_result

    if Path(node.get_abspath()).is_file():
        text = Path(node.get_abspath()).read_text("utf-8")
        title, _, rest = (text if whole else shortened(text, str(node))).partition("\n")
        print()
        say_result(title)
        print(rest, end="")


def _cleanup(executor: Any) -> None:
    """What counts of a command is the same after it has run; SCons would work it out anew for each of its targets."""
    counts = executor._memo.get("get_contents")  # another thread may add to the rest
    executor._memo = {} if counts is None else {"get_contents": counts}


def target_node(env: Any, asked: Any) -> Any:
    """The node of a target, found as SCons does; defaults are nodes."""
    if isinstance(asked, SCons.Node.Node):
        return asked
    nodes = (lookup(asked) for lookup in SCons.Node.arg2nodes_lookups)
    return next((node for node in nodes if node is not None), None) or env.fs.Entry(asked)


def _show_steps(env: Any) -> None:
    """Number the steps of what we build. A build without steps loads nothing of it."""
    from SCons.Script import BUILD_TARGETS

    base = registry_of(env).base
    if base.get("PRINT_CMD_LINE_FUNC"):
        return  # the user's own
    made: list[BuildConsole] = []
    making = threading.Lock()

    def one() -> BuildConsole:
        from neuralart.scons.console import BuildConsole

        with making:
            if not made:
                made.append(BuildConsole([target_node(env, each) for each in BUILD_TARGETS], show))
            return made[0]

    def show(text: str, target: list[Any], source: list[Any], env: Any) -> None:
        one().step(text, target, env)

    base["PRINT_CMD_LINE_FUNC"] = show


def _add_options(env: Any) -> None:
    """Add the options of projects to SCons, once. NeuralArtError: an extension's option is there already."""
    from SCons.Script import AddOption

    try:
        AddOption(intact.NO_STAMPS, action="store_true", default=False, help="look at every file anew")
    except OptionConflictError:
        return  # A second project
    AddOption("--no-color", action="store_true", dest="no_color", default=False, help="no colors on a terminal")
    for plugin in plugins.every("extensions"):
        for option in plugin.made.OPTIONS:
            try:
                AddOption(option.name, dest=option.key, metavar=option.value, help=option.help)
            except OptionConflictError as error:
                raise plugin.error(f"scons has an option {option.name} already", "another name for it") from error
        plugin.call("project_begins", env)


@at_read_time
def project_method(env: Any, path: str = "variants.yaml") -> Project:
    """Read a variants.yaml; ``path``: relative to the current SConscript. SCons.Errors.UserError: it is missing or
    wrong.
    """
    _add_options(env)
    if env.GetOption("no_color"):
        os.environ["NO_COLOR"] = "1"
    node = env.File(path).srcnode()
    file = config.read(Path(node.get_abspath()), named(env, Path(node.get_abspath())))
    folder = Path(node.get_abspath()).parent
    # The registry, shared by clones, asks the environment that the tool was loaded into.
    for board in file.config.boards:
        if not (folder / board).is_file():
            raise NeuralArtError(f"boards: '{board}' is no file", where=file.config.path)
    registry_of(env).add_board_files([named(env, folder / board) for board in file.config.boards])
    for plugin in plugins.every("extensions"):
        plugin.call("project_read", env, file.config, Path(node.get_abspath()))
    return Project(env, file, folder)
