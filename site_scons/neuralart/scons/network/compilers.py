"""Finds compiler, memory pools, words and files of a compile, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.compilers.command_line import AUTO, RECORDED, REFERENCE, STEDGEAI
from neuralart.compilers.protocol import FileSet, checked_files, job_from_words, roles
from neuralart.config.types import COMPILERS, NetworkConfig, of_compiler, split_profile
from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file, searched
from neuralart.memory.layout.strategies import LayoutNetwork, check_names
from neuralart.network.facts import LL_ATON, NEURALART
from neuralart.network.pools import PoolFile, default_initializers, initializer_name
from neuralart.quick import dataclass, field, replace
from neuralart.scons.paths import COMPILER_CACHE, LiteralWord, build_dir, named, stable, word
from neuralart.scons.registry import Registry, registry_of

if TYPE_CHECKING:
    from neuralart.vendor.profile import Profile


_WITH_POOLS = "profile with pools"


def source_file(env: Any, path: str, what: str, where: str) -> Any:
    """Find a file that a network names, relative to the current SConscript. NeuralArtError: it does not exist, and
    nothing builds it.
    """
    try:
        node = env.fs.File(path)
        if not node.has_builder() and not node.exists():
            node = node.srcnode()  # in a variant_dir with duplicate=0 the file itself stays where it is
        found = node.has_builder() or node.exists()
    except TypeError as error:
        through = str(error).startswith(("File ", "Tried to lookup File "))
        wrong = "leads through a file" if through else "is a folder, not a file"
        raise NeuralArtError(f"{what} '{path.removeprefix('#')}' {wrong}", where=where) from None
    if not found:
        hint = nearest_file(Path(str(node))) or "put it there, or correct the path"
        raise NeuralArtError(f"{what} '{node}' does not exist", where=where, hint=hint)
    return node


def refuse_built(node: Any, what: str, where: str) -> None:
    """Refuse a file that the build itself makes (NeuralArtError)."""
    if node.has_builder():
        hint = "which files a compile writes is read from it before anything is built: make it a source file"
        raise NeuralArtError(f"{what} '{node}' is itself built by this SConstruct", where=where, hint=hint)


@dataclass(frozen=True)
class Pools:
    """Where the pools come from: the words of the command, the files that it names, what they say. ``absolute`` are the
    words with absolute paths, for those who ask before anything runs. ``scanned`` is the pool file that the scanner of
    profiles finds; None: the pool file is among ``sources``.
    """

    words: list[Any]
    absolute: list[str]
    sources: list[Any]
    file: PoolFile
    key: dict[str, str]
    scanned: Any = None


def read_profile(env: Any, path: Path, selector: str, *, need_pools: bool) -> Profile:
    """Read a profile of a file, once. ``need_pools``: it must name a pool file. NeuralArtError: the file is wrong, or
    has no such profile.
    """
    from neuralart.vendor import profile

    kind = _WITH_POOLS if need_pools else "profile"
    return registry_of(env).once(
        kind, f"{selector}@{path}", lambda: profile.read(path, selector, named(env, path), need_pools=need_pools)
    )


def known_profile(env: Any, node: Any, selector: str) -> Profile | None:
    """Find a profile that a network of this build uses by its file; None: no such file."""
    found: Profile | None = registry_of(env).known(_WITH_POOLS, f"{selector}@{node.srcnode().get_abspath()}")
    return found


def find_pools(env: Any, config: NetworkConfig, board: Board, stock: Path | None = None) -> Pools:
    """The pools of a network: its own pool file, else its profile's, else the board's. ``stock``: the profile file of
    the compiler's installation, if the profile is one of that. NeuralArtError: A file is missing, built, or wrong.
    """
    from neuralart.vendor import mpool

    words: list[Any] = []
    absolute: list[str] = []
    sources: list[Any] = []
    key: dict[str, str] = {}
    pool_path: Path | None = None
    scanned: Any = None
    if config.profile or not config.mpool:
        selector, file = split_profile(config.profile)
        file = file or (str(stock) if stock else board.profile)
        if not file:
            hint = "give the network a 'profile:' or an 'mpool:'"
            raise NeuralArtError(f"board {board.name} has no stock profile", where=config.said(), hint=hint)
        node = source_file(env, file, "profile", config.said("profile"))
        refuse_built(node, "profile", config.said("profile"))
        path = Path(node.srcnode().get_abspath())
        chosen = read_profile(env, path, selector, need_pools=not config.mpool)
        # The command finds it by itself, wherever the tool is installed.
        words += ["--st-neural-art", *([config.profile] if stock else word(env, path, f"{selector}@"))]
        absolute += ["--st-neural-art", f"{selector}@{path}"]
        sources.append(node)
        key["profile"] = config.profile if stock else f"{selector}@{stable(env, path)}"
        pool_path = chosen.mpool
    if config.mpool:
        node = source_file(env, config.mpool, "memory-pool file", config.said("mpool"))
        refuse_built(node, "memory-pool file", config.said("mpool"))
        sources.append(node)
        pool_path = Path(node.srcnode().get_abspath())
        words += ["--mpool", *word(env, pool_path)]
        absolute += ["--mpool", str(pool_path)]
        key["mpool"] = stable(env, pool_path)
    else:
        assert pool_path is not None
        scanned = env.fs.File(str(pool_path))
        refuse_built(scanned, "memory-pool file", config.said("mpool"))
    path = pool_path
    pools = registry_of(env).once("mpool", str(path), lambda: mpool.read(path, named(env, path)))
    return Pools(words, absolute, sources, pools, key, scanned)


def declared_initializers(
    config: NetworkConfig, pools: PoolFile, known: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """Pools whose initializer the build declares; ``known``: those that are there already, if they are. NeuralArtError:
    ``initializers`` or ``strategies`` name a pool that is not there, or ``strategies`` one without an initializer.
    """
    declared = config.initializers if known is None else known
    declared = default_initializers(pools) if declared is None else declared
    network = LayoutNetwork(config.name, pools, declared, dict(config.strategies), config.said())
    check_names(network, {key: config.said(key) for key in config.places})
    return declared


# Headers that the C of our own compiler includes. Declared, so that SCons need not read megabytes of generated C in
# each build in which nothing changed. What a vendor's C includes depends on the application it is compiled in.
RUNTIME_INCLUDES = ("ll_aton.h", "ll_aton_NN_interface.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h")
# Vendor compiles at the same time: each takes all cores and gigabytes of memory by itself.
SLOTS = 2


@dataclass(frozen=True)
class ChosenCompiler:
    """The compiler of a network, with its settings."""

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
        """Its words of the command, which SCons does not expand."""
        return [*map(LiteralWord, self.said), *self.places]

    @property
    def slow(self) -> bool:
        """How many of its compiles may run at once (:data:`SLOTS`)."""
        return self.kind == STEDGEAI


def _tool_cache(env: Any) -> Path:
    return Path(env.Dir(f"#{build_dir(env)}").abspath) / COMPILER_CACHE


def command_environment(registry: Registry) -> dict[str, str]:
    """The environment of the command; the consumer's values win."""
    return {**os.environ, **registry.base["ENV"]}


def installation(env: Any, config: NetworkConfig) -> Any:
    """Find the installation to use; its version is asked once."""
    from neuralart.compilers.stedgeai.install import find

    registry = registry_of(env)
    pin = config.compiler_version
    return registry.once(
        "stedgeai",
        pin,
        lambda: find(pin, command_environment(registry), where=config.said("compiler"), cache=_tool_cache(env)),
    )


def resolved(env: Any, config: NetworkConfig) -> str:
    """Find a network's compiler, and decide ``auto``. NeuralArtError: there is none of that name."""
    if config.compiler not in COMPILERS:
        return plugins.find("compilers", config.compiler, config.said("compiler")).name
    if config.compiler != AUTO:
        return config.compiler
    from neuralart.compilers.stedgeai.install import choose

    registry = registry_of(env)
    pin = config.compiler_version
    return registry.once("auto", pin, lambda: choose(pin, command_environment(registry), cache=_tool_cache(env)))


def compiler_of(env: Any, config: NetworkConfig, pair: str = "") -> ChosenCompiler:
    """Choose the compiler of a network. ``pair``: ``profiling`` for the compile without the epoch controller.
    NeuralArtError: it is missing, or refuses a setting.
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
    """List the files of a compile, and complete its compiler with all that it depends on. NeuralArtError: the compiler
    refuses.
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
