"""``env.NetworkRel(...)``: a network as a relocatable model, ``<name>_rel.bin``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout import relative_pools
from neuralart.relocatable.build.request import LAYOUTS
from neuralart.scons.builders import plans
from neuralart.scons.builders import relocatable as builder
from neuralart.scons.builders.variables import carried
from neuralart.scons.compile_plan import CompilePlan
from neuralart.scons.compiled import NetworkNodes, refuse_cpu
from neuralart.scons.failures import at_read_time
from neuralart.scons.network import make_network
from neuralart.scons.paths import build_dir
from neuralart.scons.recipes import toolchain_env
from neuralart.scons.registry import Registry

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
    net = make_network(env, relative_pools.derive(network), board_name)
    compiled = plans.behind([net.c], CompilePlan)
    assert compiled is not None  # the builder's emitter has left it there
    plan = builder.make_plan(env, compiled, config, toolchain, where)
    own = carried(env, registry.base, builder.VARIABLES)
    digest = hashlib.sha256(json.dumps([plan.options, plan.toolchain.identity]).encode()).hexdigest()[:8]
    folder = f"{build_dir(env)}/relocatable/{Path(net.folder).name}-{digest}"

    def make() -> RelocatableNodes:
        base = toolchain_env(registry, plan.toolchain)
        target = base.File(f"#{folder}/{plan.names[0]}")
        nodes = base.NeuralArtRelocatable(target, net.c, **{plans.GIVEN: plan}, **own)
        return RelocatableNodes(net, folder, nodes[0], nodes[2] if config.split else None, nodes[1], config)

    # Shared by all that ask for this image; golden vectors and how it is loaded are each one's own matter.
    return replace(registry.once("relocatable", f"{folder} {sorted(own.items())}", make), network=net, config=config)


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
