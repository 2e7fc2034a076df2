"""``env.MemoryInitializers(...)``: images of the constants, and start-up code that brings them to their memories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import SCons.Errors

from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.relative_pools import refuse_relative_pools
from neuralart.memory.layout.strategies import Layout
from neuralart.quick import dataclass, field
from neuralart.scons import node_plans
from neuralart.scons.failures import at_read_time, refuse_unknown
from neuralart.scons.firmware import memory_builder
from neuralart.scons.firmware.memory_builder import InitializersPlan, LoadedImage, own_program
from neuralart.scons.firmware.memory_files import board_of, layout_of
from neuralart.scons.network.nodes import NetworkNodes, refuse_cpu
from neuralart.scons.node_plans import FilePart
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import registry_of


@dataclass(frozen=True)
class InitializerNodes:
    """What ``env.MemoryInitializers`` returns."""

    sources: list[Any]  # C to compile into the program: the start-up code, and what is linked
    include_dirs: list[Any]  # For CPPPATH
    header: Any  # ``npu_memory_init.h``
    images: list[LoadedImage]  # What must be loaded into flash beside the program; the identity descriptor comes last
    external: list[LoadedImage]  # What another program (a debugger) loads into RAM while this one waits
    layout: Layout  # Addresses of everything
    io_header: Any  # ``network_io.h``
    io_json: Any  # ``network_io.json``
    descriptor: LoadedImage | None = field(default=None)
    headers: list[Any] = field(default_factory=list)  # Those that it includes, where the networks' runtime is not ours
    more: list[Any] = field(default_factory=list)  # Files that strategies of plugins add

    @property
    def files(self) -> list[Any]:
        """All images as nodes, Intel HEX and binary, and what strategies of plugins add."""
        images = [node for image in (*self.images, *self.external) for node in (image.binary, image.hex)]
        return [*images, *self.more]


def make_initializers(
    env: Any,
    networks: Sequence[NetworkNodes],
    folder: str,
    variant: VariantConfig,
    *,
    board_layout: bool,
    board: Board | None = None,
    reference: bool = False,
) -> InitializerNodes:
    """Declare images, descriptor and start-up code for the networks of one program. ``folder``: where the files go,
    relative to the top folder; ``reference``: it is our application. NeuralArtError: The networks are for different
    boards, or something has no place.
    """
    base = registry_of(env).base
    board = board if board is not None and networks else board_of(networks)
    layout = layout_of(networks, variant, board_layout=board_layout, board=board)
    plan = InitializersPlan(networks, board, layout, board_layout, reference)
    made = node_plans.make(env, memory_builder.NAME, memory_builder.VARIABLES, plan, f"#{folder}/npu_memory_init.c", [])
    found: dict[str, list[FilePart]] = {}
    for part in dict.fromkeys(node_plans.known(node, FilePart) for node in made):
        if part is not None:
            found.setdefault(part.kind, []).append(part)

    def nodes(kind: str, suffix: str = "") -> list[Any]:
        return [node for part in found.get(kind, ()) for node in part.targets if str(node).endswith(suffix)]

    images: list[LoadedImage] = [part.data for part in found.get("flash", ())]
    headers = nodes("runtime", ".h")
    by_name = {network.name: network for network in networks}
    linked = [by_name[part.data.network].folder for part in found.get("linked", ())]
    start_up, contract = nodes("start-up code"), nodes("contract")
    return InitializerNodes(
        sources=[start_up[0], *nodes("runtime", ".c"), *nodes("linked"), *nodes("strategy", ".c")],
        # What is linked is read from the folder of its network.
        include_dirs=[
            base.Dir(f"#{each}") for each in dict.fromkeys([folder, *(str(h.dir) for h in headers), *linked])
        ],
        header=start_up[1],
        images=images,
        external=[part.data for part in found.get("external", ())],
        layout=layout,
        io_header=contract[0],
        io_json=contract[1],
        descriptor=images[-1] if "descriptor" in found else None,
        headers=headers,
        more=nodes("strategy"),
    )


@at_read_time
def initializers_method(env: Any, *networks: Any, **options: Any) -> InitializerNodes:
    """``env.MemoryInitializers(net, ...)``: what a program with these networks needs loaded and turned on.

    ``*networks``: what ``env.Network`` returned; all networks of the program. ``**options``: ``folder``: where the
    files go, by default below the build folder, named after the networks; ``board_layout``: True if the program uses
    the board's own code and data sections, so that they are checked against the pools; False (default) for a linker
    script of your own; ``slots``: flash slots to move, name to address; ``reserved``: ranges to keep free, name to
    (address, bytes). SCons.Errors.UserError: no network, networks for different boards, or something has no place.
    """
    refuse_cpu(networks, "MemoryInitializers")
    if not networks or not all(isinstance(network, NetworkNodes) for network in networks):
        raise SCons.Errors.UserError("MemoryInitializers takes what Network returned, one or more")
    refuse_unknown(options, ("folder", "board_layout", "slots", "reserved"), "MemoryInitializers")
    for network in networks:
        refuse_relative_pools(network.name, network.pools)
    folder = options.get("folder", "")
    if not isinstance(folder, str) or Path(folder).is_absolute():
        raise NeuralArtError(f"folder: a folder below the top folder, not {folder!r}", where="MemoryInitializers")
    stem = "-".join(Path(network.folder).name for network in networks)
    where = folder.removeprefix("#") or f"{build_dir(env)}/initializers/{stem}"
    said = [(key, options.get(key, {})) for key in ("slots", "reserved")]
    variant = own_program(stem, networks, "MemoryInitializers", *said)
    return make_initializers(env, networks, where, variant, board_layout=bool(options.get("board_layout", False)))
