"""Which memory pools a network is compiled for, and which of them may hold constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file
from neuralart.memory.layout.strategies import LayoutNetwork, check_names
from neuralart.network.pools import PoolFile, default_initializers
from neuralart.scons.paths import named, stable, word
from neuralart.scons.registry import registry_of

if TYPE_CHECKING:
    from neuralart.vendor.profile import Profile


_WITH_POOLS = "profile with pools"


def source_file(env: Any, path: str, what: str, where: str) -> Any:
    """A file that a network names, relative to the current SConscript.
    NeuralArtError: It does not exist, and nothing builds it.
    """
    try:
        node = env.fs.File(path)
        if not node.has_builder() and not node.exists():
            node = node.srcnode()  # in a variant_dir with duplicate=0 the file itself stays where it is
        found = node.has_builder() or node.exists()
    except TypeError:
        raise NeuralArtError(f"{what} '{path.removeprefix('#')}' is a folder, not a file", where=where) from None
    if not found:
        hint = nearest_file(Path(str(node))) or "put it there, or correct the path"
        raise NeuralArtError(f"{what} '{node}' does not exist", where=where, hint=hint)
    return node


def refuse_built(node: Any, what: str, where: str) -> None:
    """Refuse a file that is made by the build itself. NeuralArtError: It is."""
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
    """One profile of a file, read once.
    ``need_pools``: it must name a pool file. NeuralArtError: The file is wrong, or has no such profile.
    """
    from neuralart.vendor import profile

    kind = _WITH_POOLS if need_pools else "profile"
    return registry_of(env).once(
        kind, f"{selector}@{path}", lambda: profile.read(path, selector, named(env, path), need_pools=need_pools)
    )


def known_profile(env: Any, node: Any, selector: str) -> Profile | None:
    """A profile whose pools a network of this build uses; None: the file is none."""
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
