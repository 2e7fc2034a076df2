"""``env.MemoryInitializers(...)``: raw files become images to load, and code that turns their memories on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import SCons.Errors

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, identity

_FLASH = "flash"


@dataclass(frozen=True)
class Image:
    """One initialiser to load.

    Attributes:
        network: Name of the network.
        pool: fname of the pool.
        address: Where its first byte belongs.
        binary: The bytes (an empty file: nothing to load).
        hex: The same as Intel HEX with its address.
    """

    network: str
    pool: str
    address: int
    binary: Any
    hex: Any


@dataclass(frozen=True)
class InitializerNodes:
    """What ``env.MemoryInitializers`` returns.

    Attributes:
        sources: C to compile into the program: ``npu_memory_init.c``.
        include_dirs: For CPPPATH.
        header: ``npu_memory_init.h``.
        images: What must be loaded into flash beside the program.
    """

    sources: list[Any]
    include_dirs: list[Any]
    header: Any
    images: list[Image]

    @property
    def files(self) -> list[Any]:
        """All images as nodes, Intel HEX and binary."""
        return [node for image in self.images for node in (image.binary, image.hex)]


def _write_sources(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.memory import startup
    from neuralart.network import facts

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board = registry.board(env["NEURALART_BOARD"])
        networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
        text = startup.source(board, networks, with_firmware=env["NEURALART_BOARD_LAYOUT"])
        _refuse_ram_initializers(board, networks)
        write_text(Path(str(target[0])), text)
        write_text(Path(str(target[1])), startup.HEADER)

    in_action(work, target, env)


def _refuse_ram_initializers(board: Board, networks: Sequence[Any]) -> None:
    """Bytes in a RAM pool are gone at power-off; nothing here brings them back yet."""
    for network in networks:
        for pool in network.initializers:
            region = board.region_at(pool.address)
            if region is not None and region.kind != _FLASH:
                raise NeuralArtError(
                    f"{pool.weights} bytes of constants of network {network.name} lie in pool {pool.fname}, "
                    f"which is RAM ({region.name}) and empty after power-on",
                    where=f"board {board.name}",
                    hint="let the pool file offer a flash pool that is large enough (ACC_READ, constants_preferred)",
                )


def _copy(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import read_bytes, write_bytes

    in_action(lambda: write_bytes(Path(str(target[0])), read_bytes(Path(str(source[0])))), target, env)


def _write_hex(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import read_bytes, write_text
    from neuralart.memory.ihex import ihex

    in_action(
        lambda: write_text(
            Path(str(target[0])), ihex(int(env["NEURALART_ADDRESS"], 0), read_bytes(Path(str(source[0]))))
        ),
        target,
        env,
    )


def region_of(board: Board, address: int, what: str) -> MemoryRegion:
    """The memory that a pool lies in.

    Raises:
        NeuralArtError: There is none.
    """
    region = board.region_at(address)
    if region is None:
        raise NeuralArtError(f"{what} at 0x{address:08x} lies in no memory of board {board.name}")
    return region


def make_initializers(
    env: Any, networks: Sequence[NetworkNodes], folder: str, *, board_layout: bool
) -> InitializerNodes:
    """Declare images and start-up code for the networks of one program.

    Args:
        env: Any environment of the tool.
        networks: All networks of the program; for one board.
        folder: Where the files go, relative to the top folder.
        board_layout: The program is laid out as the board says: check the pools against it.

    Raises:
        NeuralArtError: The networks are for different boards.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    names = sorted({network.board.name for network in networks})
    if len(names) != 1:
        raise NeuralArtError(f"one program, but its networks are for {' and '.join(names) or 'no board'}")
    board = networks[0].board
    sources = base.Command(
        [f"#{folder}/npu_memory_init.c", f"#{folder}/npu_memory_init.h"],
        [network.facts for network in networks],
        messages.function(
            _write_sources, f"MEMORY   {folder}/npu_memory_init.c", "NEURALART_BOARD", "NEURALART_BOARD_LAYOUT"
        ),
        NEURALART_BOARD=board.name,
        NEURALART_BOARD_LAYOUT=board_layout,
    )
    base.Depends(sources, base.Value(fingerprint("memory/startup.py"), name="memory-start-up"))
    base.Depends(sources, base.Value(identity(board), name=f"board {board.name}"))
    images = []
    for network in networks:
        for pool, raw in network.initializers.items():
            address = network.pool_address[pool]
            if region_of(board, address, f"pool {pool} of network {network.name}").kind != _FLASH:
                continue  # an initialiser in RAM with content is refused when the facts are known
            stem = f"#{folder}/{network.name}.{pool}"
            binary = base.Command(f"{stem}.bin", raw, messages.function(_copy, "IMAGE    $TARGET"))
            hexa = base.Command(
                f"{stem}.hex",
                raw,
                messages.function(_write_hex, "IMAGE    $TARGET", "NEURALART_ADDRESS"),
                NEURALART_ADDRESS=f"0x{address:08x}",
            )
            base.Depends(binary + hexa, base.Value(fingerprint("memory/ihex.py", "files.py"), name="image-writer"))
            images.append(Image(network.name, pool, address, binary[0], hexa[0]))
    return InitializerNodes([sources[0]], [base.Dir(f"#{folder}")], sources[1], images)


@at_read_time
def initializers_method(env: Any, *networks: Any, folder: str = "", board_layout: bool = False) -> InitializerNodes:
    """``env.MemoryInitializers(net, ...)``: what a program with these networks needs loaded and turned on.

    Args:
        env: The construction environment.
        *networks: What ``env.Network`` returned; all networks of the program.
        folder: Where the files go; by default below the build folder, named after the networks.
        board_layout: True if the program uses the board's own code and data sections, so that they are checked
            against the pools. False (default) for a linker script of your own.

    Raises:
        SCons.Errors.UserError: No network, or networks for different boards.
    """
    if not networks or not all(isinstance(network, NetworkNodes) for network in networks):
        raise SCons.Errors.UserError("MemoryInitializers takes what Network returned, one or more")
    chosen: list[NetworkNodes] = list(networks)
    stem = "-".join(Path(network.folder).name for network in chosen)
    where = folder or f"{build_dir(env)}/initializers/{stem}"
    return make_initializers(env, chosen, where, board_layout=board_layout)
