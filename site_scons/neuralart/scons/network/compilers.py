"""Who compiles a network, with which words, and which files come out: known before anything runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.compilers.command_line import AUTO, RECORDED, REFERENCE, STEDGEAI
from neuralart.compilers.protocol import FileSet, checked_files, job_from_words, roles
from neuralart.config.types import COMPILERS, NetworkConfig, of_compiler
from neuralart.errors import NeuralArtError
from neuralart.files import searched
from neuralart.network.facts import LL_ATON, NEURALART
from neuralart.network.pools import initializer_name
from neuralart.scons.network.pools import Pools, source_file
from neuralart.scons.paths import COMPILER_CACHE, LiteralWord, build_dir, stable, word
from neuralart.scons.registry import Registry, registry_of

# Headers that the C of our own compiler includes. Declared, so that SCons need not read megabytes of generated C in
# each build in which nothing changed. What a vendor's C includes depends on the application it is compiled in.
RUNTIME_INCLUDES = ("ll_aton.h", "ll_aton_NN_interface.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h")
# Vendor compiles at the same time: each takes all cores and gigabytes of memory by itself.
SLOTS = 2


@dataclass(frozen=True)
class ChosenCompiler:
    """A compiler as one network needs it."""

    kind: str  # ``reference``, ``stedgeai``, ``recorded``, or the name of a plugin
    identity: str  # What results depend on besides words and inputs; the same on every machine
    version: Any = None  # Of the tool; None: the reference compiler
    said: tuple[str, ...] = ()  # Words for the command, behind ``neuralart compile``; they tell compiles apart
    places: list[Any] = field(default_factory=list)  # Further words: files and folders, which do not
    sources: list[Any] = field(default_factory=list)  # Files that it reads besides model and pools
    runtime: str = LL_ATON  # ``neuralart`` or ``ll_aton``: what its C needs
    code: str = ""  # A hash of the code of plugins that take part; empty: there are none

    @property
    def words(self) -> list[Any]:
        """All words of the command that are the compiler's matter; SCons expands nothing in them."""
        return [*map(LiteralWord, self.said), *self.places]

    @property
    def slow(self) -> bool:
        """So many of them at the same time are enough (:data:`SLOTS`)."""
        return self.kind == STEDGEAI


def _tool_cache(env: Any) -> Path:
    return Path(env.Dir(f"#{build_dir(env)}").abspath) / COMPILER_CACHE


def command_environment(registry: Registry) -> dict[str, str]:
    """What the command will see: the consumer's values win."""
    return {**os.environ, **registry.base["ENV"]}


def installation(env: Any, config: NetworkConfig) -> Any:
    """The installation to use, asked for its version once."""
    from neuralart.compilers.stedgeai.install import find

    registry = registry_of(env)
    pin = config.compiler_version
    return registry.once(
        "stedgeai",
        pin,
        lambda: find(pin, command_environment(registry), where=config.said("compiler"), cache=_tool_cache(env)),
    )


def resolved(env: Any, config: NetworkConfig) -> str:
    """The compiler that a network gets; ``auto`` is decided here. NeuralArtError: There is none of that name."""
    if config.compiler not in COMPILERS:
        return plugins.find("compilers", config.compiler, config.said("compiler")).name
    if config.compiler != AUTO:
        return config.compiler
    from neuralart.compilers.stedgeai.install import choose

    registry = registry_of(env)
    pin = config.compiler_version
    return registry.once("auto", pin, lambda: choose(pin, command_environment(registry), cache=_tool_cache(env)))


def compiler_of(env: Any, config: NetworkConfig, pair: str = "") -> ChosenCompiler:
    """The compiler of a network. ``pair``: ``profiling`` for the compile without the epoch controller. NeuralArtError:
    It is not there, or something is said that it does not take.
    """
    kind = resolved(env, config)
    said = [f"--profile-add={text}" for text in config.profile_add]
    said += [f"--profile-remove={text}" for text in config.profile_remove]
    said += ["--pair", pair] if pair else []
    if kind == REFERENCE:
        for what, words in (
            ("extra_options", config.extra_options),
            ("failures", config.failures),
            ("timeout", config.timeout),
        ):
            if words and config.compiler != AUTO:
                raise NeuralArtError(
                    f"{what} means nothing to the reference compiler", where=config.said(what), hint="leave it out"
                )
        return ChosenCompiler(kind, REFERENCE, said=tuple(said), runtime=NEURALART, code=plugins.code_of("operators"))
    said = ["--compiler", kind, *said, *(f"--extra-options={text}" for text in config.extra_options)]
    if kind not in COMPILERS:
        return _of_plugin(config, kind, said)
    places: list[Any] = []
    if config.failures:
        node = source_file(env, config.failures, "table of failures", config.said("failures"))
        places += ["--failures", *word(env, Path(node.srcnode().get_abspath()))]
    if kind == RECORDED:
        return _recorded(env, config, said, places)
    install = installation(env, config)
    said += ["--compiler-version", config.compiler_version] if config.compiler_version else []
    places += ["--tool-cache", f"{build_dir(env)}/{COMPILER_CACHE}"]
    # No part of the signature: another limit compiles nothing again.
    places += ["$(", "--timeout", f"{config.timeout:g}", "$)"] if config.timeout else []
    return ChosenCompiler(kind, install.identity, install.version, tuple(said), places)


def stock_profiles(env: Any, config: NetworkConfig) -> Path | None:
    """The profile file of the installation that a network's profile is in; None: its profile is elsewhere.
    NeuralArtError: There is none, or the compile is a recorded one.
    """
    if not of_compiler(config.profile):
        return None
    kind = resolved(env, config)
    found = installation(env, config).stock_profiles if kind == STEDGEAI else None
    if found is None and kind in (STEDGEAI, RECORDED):
        who = "the installation has no neural_art.json" if kind == STEDGEAI else "a recording has no profiles"
        what = f"'{config.profile}' is a profile of ST Edge AI Core, and {who}"
        raise NeuralArtError(what, where=config.said("profile"), hint="name a file: PROFILE@FILE.json")
    return found


def _of_plugin(config: NetworkConfig, kind: str, said: list[str]) -> ChosenCompiler:
    """A plugin's compiler; what it is asked for is not known yet, so neither is its identity."""
    for what in ("failures", "timeout"):
        if getattr(config, what):
            hint = "leave it out"
            raise NeuralArtError(f"{what} means nothing to compiler {kind}", where=config.said(what), hint=hint)
    plugin = plugins.find("compilers", kind, config.said("compiler"))
    # It may use the reference compiler, and that one operators of plugins.
    code = " ".join([plugin.code, plugins.code_of("operators")]).strip()
    return ChosenCompiler(kind, kind, said=tuple(said), runtime=plugin.made.runtime, code=code)


def _recorded(env: Any, config: NetworkConfig, said: list[str], places: list[Any]) -> ChosenCompiler:
    from neuralart.compilers.recorded import load

    folder = Path(env.fs.Dir(config.recording).srcnode().get_abspath())
    found = load(folder)
    files = [env.fs.File(str(path)) for path in sorted(searched(folder, deep=True).rglob("*")) if path.is_file()]
    places = ["--recording", *word(env, folder), *places]
    identity = f"recorded {found.tool.text} in {stable(env, folder)}"
    return ChosenCompiler(RECORDED, identity, found.tool, tuple(said), places, files)


def files_of(
    config: NetworkConfig,
    board: Board,
    compiler: ChosenCompiler,
    pools: Pools,
    declared: Sequence[str],
    options: Sequence[str],
    model: Path,
) -> tuple[ChosenCompiler, FileSet]:
    """The files of a compile, and its compiler with all that it depends on.
    NeuralArtError: The compiler refuses what is asked.
    """
    name = config.name
    if compiler.kind == REFERENCE:
        raws = {pool: initializer_name(name, pools.file.prefix, pool) for pool in declared}
        return compiler, FileSet(roles(name), raws)
    words = ["--model", str(model), "--target", board.target, "--name", name, *pools.absolute, *options]
    words += ["--initializers", ",".join(declared) or "none", *compiler.said]
    if compiler.kind not in COMPILERS:
        plugin = plugins.find("compilers", compiler.kind)
        job = job_from_words(words, config.said())
        identity = f"{compiler.kind} {plugin.call('identity', job)}"
        return replace(compiler, identity=identity), checked_files(plugin, job)
    from neuralart.compilers.builtin import vendor_files

    return compiler, vendor_files(job_from_words(words, config.said()), compiler.version)
