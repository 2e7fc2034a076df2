"""``env.NetworkRel(...)``: a network as a relocatable model, ``<name>_rel.bin``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.memory.layout import derive
from neuralart.relocatable.build.request import LAYOUTS
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.compiled import refuse_cpu
from neuralart.scons.failures import at_read_time
from neuralart.scons.network import NEURALART, NetworkNodes, make_network
from neuralart.scons.paths import build_dir
from neuralart.scons.recipes import find_toolchain, toolchain_env
from neuralart.scons.registry import Registry

# Parts of the runtime that are compiled into each model.
_RUNTIME = ("include", "kernels", "relocatable")
# What of a variant's key decides about the image; the rest is about loading it.
_OF_IMAGE = ("split", "secure", "debug_info", "layout")


@dataclass(frozen=True)
class RelocatableNodes:
    """What ``env.NetworkRel`` returns.

    Attributes:
        network: The compile it is made of: external pools relative, all buffers listed.
        folder: Where its files are, relative to the top folder.
        image: ``<name>_rel.bin``.
        params: ``<name>_rel_params.bin`` of a split model; None: its constants are behind the code.
        results: ``<name>_reloc_results.json``: sizes, pools, header, files.
        config: What it was made from.
    """

    network: NetworkNodes
    folder: str
    image: Any
    params: Any
    results: Any
    config: RelocatableConfig

    @property
    def files(self) -> list[Any]:
        """All files of the image."""
        return [node for node in (self.image, self.params, self.results) if node is not None]


def _runtime_files(base: Any, registry: Registry) -> list[Any]:
    root = firmware_dir() / "runtime"
    return registry.once(
        "relocatable-runtime",
        "",
        lambda: [
            base.File(str(path))
            for part in _RUNTIME
            for path in sorted((root / part).rglob("*"))
            if path.suffix in (".c", ".h")
        ],
    )


def _options(config: RelocatableConfig) -> list[str]:
    words = []
    for wanted, option in (
        (config.split, "--split"),
        (not config.secure, "--no-secure"),
        (not config.debug_info, "--no-dbg-info"),
    ):
        words += [option] if wanted else []
    return words + (["--layout", config.layout] if config.layout else [])


def make_relocatable(
    env: Any,
    network: NetworkConfig,
    board_name: str,
    config: RelocatableConfig,
    toolchain: ToolchainConfig,
    where: str,
) -> RelocatableNodes:
    """Declare the second compile of a network and the image that is made of it, once for equal specifications.

    Args:
        env: Names in ``network`` are relative to its current SConscript.
        network: The network as it would be linked into a firmware.
        board_name: For which board.
        config: Options of the image.
        toolchain: Cross compiler.
        where: Who asks for it, for messages.

    Raises:
        NeuralArtError: A file is missing or wrong, the pools cannot be those of a relocatable model, or there is no
            cross compiler.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    derived = derive.derive(network)
    net = make_network(env, derived, board_name)
    if net.runtime != NEURALART:
        raise NeuralArtError(
            f"network {net.name} is compiled for runtime {net.runtime}, this builder makes models of {NEURALART}",
            where=network.said("compiler"),
            hint="for the vendor's runtime: `neuralart relocatable build --pack-dir`; or compiler: reference",
        )
    derive.check_pools(net.pools)
    found = find_toolchain(env, toolchain, where)
    options = _options(config)
    digest = hashlib.sha256(json.dumps([options, found.identity]).encode()).hexdigest()[:8]
    folder = f"{build_dir(env)}/relocatable/{Path(net.folder).name}-{digest}"
    store = f"{build_dir(env)}/relocatable/objects"

    def make() -> RelocatableNodes:
        name = net.name
        out = f"#{folder}"
        names = [f"{name}_rel.bin", f"{name}_reloc_results.json"]
        names += [f"{name}_rel_params.bin"] if config.split else []
        command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "relocatable", "build"]
        command += ["--verbosity", "0", "--input", f"{net.folder}/{name}.c", "--output", folder, "--name", name]
        command += ["--objects", store, "--cross-compile", found.prefix, "--json", *options]
        made = toolchain_env(registry, found)
        action, words = messages.command(made, command, f"RELOC    {folder}/{name}_rel.bin")
        nodes = made.Command(
            [f"{out}/{each}" for each in names],
            [net.c, net.facts, *net.initializers.values()],
            action,
            **words,
            IMPLICIT_COMMAND_DEPENDENCIES=0,
        )
        made.Depends(nodes, _runtime_files(base, registry))
        identity = base.Value(found.identity, name="toolchain")
        made.Depends(nodes, [base.Value(fingerprint("relocatable"), name="relocatable-builder"), identity])
        made.Clean(nodes, [base.fs.Dir(f"#{store}")])
        return RelocatableNodes(net, folder, nodes[0], nodes[2] if config.split else None, nodes[1], config)

    # Shared by all that ask for this image; golden vectors and how it is loaded are each one's own matter.
    return replace(registry.once("relocatable", folder, make), network=net, config=config)


_KEYWORDS = (*_OF_IMAGE, "toolchain")


@at_read_time
def relocatable_method(env: Any, network: Any, **options: Any) -> RelocatableNodes:
    """``env.NetworkRel(net, ...)``: the network once more, as a relocatable model.

    Args:
        env: The construction environment.
        network: What ``env.Network`` returned. A network is linked into a firmware or relocatable, not both: it is
            compiled a second time, with relative external pools.
        **options: ``split``: the constants into a file of their own. ``secure``: for firmware in the secure state (the
            default). ``debug_info``: epoch items carry numbers (the default; the firmware must agree). ``layout``:
            ``aligned`` or ``vendor``. ``toolchain``: prefix of the cross compiler.

    Returns:
        Nodes by attribute.

    Raises:
        SCons.Errors.UserError: It is no network, an option is unknown, or the pools are not those of such a model.
    """
    where = "NetworkRel"
    refuse_cpu([network], where)
    if not isinstance(network, NetworkNodes):
        raise NeuralArtError(f"takes what Network returned, not {network!r}", where=where)
    for keyword, value in options.items():
        if keyword not in _KEYWORDS:
            raise NeuralArtError(f"unknown option '{keyword}'", where=where, hint=nearest(keyword, _KEYWORDS))
        wanted = str if keyword in ("layout", "toolchain") else bool
        if not isinstance(value, wanted):
            kind = "text" if wanted is str else "True or False"
            raise NeuralArtError(f"{keyword} must be {kind}, not {value!r}", where=where)
    prefix = options.pop("toolchain", ToolchainConfig.prefix)
    layout = options.get("layout", "")
    if layout and layout not in LAYOUTS:
        raise NeuralArtError(f"no layout '{layout}'", where=where, hint=nearest(layout, LAYOUTS))
    config = RelocatableConfig(**options)
    toolchain = ToolchainConfig(prefix=prefix)
    return make_relocatable(env, network.config, network.board.name, config, toolchain, where)
