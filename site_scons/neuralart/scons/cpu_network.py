"""A network for a core without an NPU: C with the legacy API, its constants in it, its buffers the application's."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.network.names import check_name
from neuralart.network.targets import CPU, flow_of
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.options import option_words
from neuralart.scons.paths import build_dir, named, stable, word
from neuralart.scons.pools import source_file
from neuralart.scons.registry import Registry

_COMPILE_ROOMS = ("compilers",)
# What generated C includes. Declared, so that SCons needs not read the constants in each build.
_INCLUDES = {
    "{}.c": ("{}.h", "{}_data.h", "legacy_network.h", "ll_aton_version.h", "neuralart_kernels.h"),
    "{}_data_params.c": ("{}_data_params.h",),
}
# Keys of a network that say where an NPU's pools are, or what lies in them.
_OF_NPU = ("profile", "profile_add", "profile_remove", "pair", "initializers", "strategies")


@dataclass(frozen=True)
class CpuNetworkNodes:
    """What ``env.Network`` returns for a board whose networks run on its core.

    Attributes:
        name: C name of the network.
        board: The board it was compiled for.
        folder: Where its files are, relative to the top folder.
        c: The generated C: layers, activations, constants.
        headers: ``N.h`` and those that it includes.
        facts: ``network.json``.
        manifest: ``manifest.json``: sizes and hashes.
        c_info: ``N_c_info.json``.
        report: ``N_generate_report.txt``.
        provenance: ``provenance.txt``; nothing depends on it.
        runtime_sources: C sources of the runtime and its kernels.
        include_dirs: For CPPPATH.
        defines: For CPPDEFINES.
        vectors: Folder of golden vectors (as named) or empty.
        config: What it was made from.
    """

    name: str
    board: Board
    folder: str
    c: list[Any]
    headers: list[Any]
    facts: Any
    manifest: Any
    c_info: Any
    report: Any
    provenance: Any
    runtime_sources: list[Any]
    include_dirs: list[Any]
    config: NetworkConfig
    defines: list[str] = field(default_factory=list)
    vectors: str = ""

    @property
    def runtime(self) -> str:
        """What a program with it needs: the runtime of this project."""
        return "neuralart"

    @property
    def pair(self) -> None:
        """There is no epoch controller that could be left out."""
        return None

    @property
    def sources(self) -> list[Any]:
        """Everything to compile into a program with this one network."""
        return [*self.c, *self.runtime_sources]

    @property
    def files(self) -> list[Any]:
        """All files of the compile."""
        plain = [self.facts, self.manifest, self.c_info, self.report, self.provenance]
        return [*self.c, *self.headers, *plain]


def is_cpu(board: Board) -> bool:
    """Whether networks for this board run on its core."""
    return flow_of(board.target) == CPU


def file_names(name: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """C files, headers and the others, in the order of the fields."""
    c = (f"{name}.c", f"{name}_data.c", f"{name}_data_params.c")
    headers = (f"{name}.h", f"{name}_config.h", f"{name}_data.h", f"{name}_data_params.h")
    plain = ("network.json", "manifest.json", f"{name}_c_info.json", f"{name}_generate_report.txt", "provenance.txt")
    return c, headers, plain


def runtime_files() -> list[str]:
    """C of the runtime, relative to the runtime's folder."""
    origin = firmware_dir() / "runtime"
    return sorted(
        path.relative_to(origin).as_posix() for part in ("kernels", "legacy") for path in (origin / part).glob("*.c")
    )


def runtime_includes() -> list[str]:
    """Folders of the runtime's headers."""
    runtime = firmware_dir() / "runtime"
    return [str(runtime / "include"), str(runtime / "legacy" / "include")]


def _refuse_npu_keys(config: NetworkConfig, board: Board) -> None:
    for key in _OF_NPU:
        if getattr(config, key):
            # A strategy is written down by its pool.
            keys = [place for place in config.places if place == key or place.startswith(f"{key}.")]
            raise NeuralArtError(
                f"'{key}' means nothing for board {board.name}: its networks run on the core",
                where=config.said(keys[0] if keys else ""),
                hint="'mpool' takes the memory-pool file of their activations",
            )


def make_cpu_network(env: Any, config: NetworkConfig, board: Board) -> CpuNetworkNodes:
    """Declare a compile, once for equal specifications.

    Args:
        env: Names in ``config`` are relative to its current SConscript.
        config: What to compile; its ``mpool`` is the memory-pool file.
        board: For which board.

    Raises:
        NeuralArtError: A file is missing, a key is for boards with an NPU, or the compiler cannot do it.
    """
    from neuralart.patching.family import LEGACY_OPTIONS

    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    if config.compiler != "reference":
        raise NeuralArtError(
            f"compiler '{config.compiler}' is not available for board {board.name}",
            where=config.said("compiler"),
            hint="known: reference",
        )
    check_name(config.name, config.said())
    _refuse_npu_keys(config, board)
    model = source_file(env, config.model, "model", config.said("model"))
    sources = [model]
    pools: list[Any] = []
    key: dict[str, Any] = {"model": stable(env, Path(model.get_abspath())), "mpool": ""}
    path = config.mpool or board.memory_pools
    if path:
        node = source_file(env, path, "memory-pool file", config.said("mpool"))
        sources.append(node)
        file = Path(node.get_abspath() if node.has_builder() else node.srcnode().get_abspath())
        pools = ["--memory-pool", *word(base, file)]
        key["mpool"] = stable(env, file)
    options = option_words(config)
    key |= {"name": config.name, "target": board.target, "compiler": config.compiler, "options": options}
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:8]
    folder = f"{build_dir(env)}/networks/{config.name}-{board.name}-{digest}"

    def make() -> CpuNetworkNodes:
        name = config.name
        out = f"#{folder}"
        c, headers, plain = file_names(name)
        command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "compile", "--quiet", "--model"]
        command += [*word(base, Path(model.get_abspath())), "--target", board.target, "--name", name, *pools]
        # Whatever a compiler's default is: applications that are fitted to networks are written for this one.
        command += LEGACY_OPTIONS
        command += [*options, "--output", folder]
        action, words = messages.command(base, command, f"NETWORK  {folder}/{name}.c")
        nodes = base.Command(
            [base.File(f"{out}/{each}") for each in (*c, *headers, *plain)],
            sources,
            action,
            **words,
            IMPLICIT_COMMAND_DEPENDENCIES=0,
        )
        base.Depends(nodes, base.Value(fingerprint(*_COMPILE_ROOMS), name="reference-compiler"))
        # They stay until new ones replace them: to whoever looks meanwhile (-j) what is made of them is right, and
        # SCons reads its includes.
        base.Precious(nodes)
        for node, each in zip(nodes, c, strict=False):
            found = _INCLUDES.get(each.replace(name, "{}", 1))
            if found:
                node.includes = [('"', text.format(name), '"') for text in found]
        origin = firmware_dir() / "runtime"
        local = f"#{folder}/runtime"
        base.VariantDir(local, base.Dir(str(origin)), duplicate=0)
        others = nodes[len(c) + len(headers) :]
        return CpuNetworkNodes(
            name=name,
            board=board,
            folder=folder,
            c=list(nodes[: len(c)]),
            headers=list(nodes[len(c) : len(c) + len(headers)]),
            facts=others[0],
            manifest=others[1],
            c_info=others[2],
            report=others[3],
            provenance=others[4],
            runtime_sources=[base.File(f"{local}/{text}") for text in runtime_files()],
            include_dirs=[base.Dir(out), *(base.Dir(text) for text in runtime_includes())],
            config=config,
        )

    # Shared by all that ask for this compile; which golden vectors go with it is each one's own matter.
    vectors = named(env, Path(env.fs.Dir(config.vectors).srcnode().get_abspath())) if config.vectors else ""
    return replace(registry.once("network", folder, make), config=config, vectors=vectors)
