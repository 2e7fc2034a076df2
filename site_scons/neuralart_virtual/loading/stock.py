"""The loading application of a board for a model that no variant has built: ST's script brings such programs along."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from neuralart import toolchain
from neuralart.boards.types import Board, Machine
from neuralart.config.types import RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.memory.layout.relative_pools import load_places, placed
from neuralart.memory.layout.strategies import Layout, LoadPlaces
from neuralart.memory.startup import linker, startup
from neuralart.network.facts import NEURALART, NEURALART_VERSION, Network, PoolUse
from neuralart.relocatable.format import container
from neuralart.relocatable.format import types as form
from neuralart.relocatable.format.types import Image, PoolDescriptor
from neuralart.resources import firmware_dir
from neuralart_virtual.loading.deployment import Deployment

_LINK = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none")
_KIB = 1024


def _pool(pool: PoolDescriptor) -> PoolUse:
    constants, writes = pool.data == form.PARAM, bool(pool.attributes & form.WRITE)
    return PoolUse(
        name=pool.name,
        fname=pool.name,
        address=pool.dst,
        size=pool.size,
        used=pool.size,
        weights=pool.size if constants else 0,
        activations=0 if constants else pool.size,
        rights="ACC_WRITE" if writes or pool.type != form.RELOC else "ACC_READ",
        mode="USEMODE_RELATIVE" if pool.type == form.RELOC else "USEMODE_ABSOLUTE",
        cacheable=bool(pool.attributes & form.CACHEABLE),
    )


def _facts(image: Image) -> Network:
    """What an image says of its network: its pools, not its tensors."""
    name, pools = image.context.c_name, tuple(_pool(pool) for pool in image.pools if pool.size)
    return Network(name, NEURALART, NEURALART_VERSION, container.stamp_of(image), "", pools, (), (), (), None)


def sources(board: Board) -> list[Path]:
    """C of the loading application, but for what is generated. NeuralArtError: the board has no console."""
    root = firmware_dir()
    if board.console is None:
        hint = "its YAML needs 'console:'"
        raise NeuralArtError("the board has no console, over which models are asked", where=board.where, hint=hint)
    folders = ("runtime", "runtime/memory", "boards", "app", "app_loader")
    found = [path for folder in folders for path in sorted((root / folder).glob("*.c"))]
    driver = root / "boards" / "drivers" / f"{board.console.driver}.c"
    return [*(path for path in found if path != root / "app" / "main.c"), driver]


def _generate(folder: Path, board: Board, network: Network, places: LoadPlaces) -> None:
    layout = Layout(board.name, (), (), None, None, places)
    for name, text in {
        "board_config.h": linker.board_config_h(board),
        "memory.ld": linker.memory_ld(board),
        "npu_memory_init.h": startup.HEADER,
        "npu_memory_init.c": startup.source(board, layout, [placed(network, places)]),
    }.items():
        write_text(folder / name, text)


def make(folder: Path, made: Deployment, addresses: Sequence[int]) -> Path:
    """Compile and link it: for the memories of this model, with the table of epochs.

    ``folder``: where its files go; ``addresses``: of the model and of its params in flash, as far as they are not the
    board's. Returns the ELF. NeuralArtError: no cross compiler, the model needs memories that the board has not, or it
    does not fit.
    """
    image, board = made.image, made.board
    assert image is not None
    # Code and data of the model, in whole KiB: the firmware keeps as much as the model needs, 256 KiB at least.
    code = (image.header["params_offset"] & form.OFFSET) or len(image.data)
    config = RelocatableConfig(split=image.split, debug_info=image.flags.dbg_info)
    exec_ram = max(config.exec_ram, -(-code // _KIB) * _KIB)
    slots = tuple(zip(("relocatable", "relocatable_params"), addresses, strict=False))
    variant = VariantConfig("loading application", "", board.name, "", (), slots=slots, relocatable=config)
    places = load_places(board, variant)
    assert places is not None
    machine = next(iter(board.machines.values()))
    _generate(folder, board, _facts(image), places)
    defines = (*config.loader_defines, "NEURALART_VALIDATION_LINK", *places.defines(exec_ram))
    return _link(folder, board, machine, defines)


def _link(folder: Path, board: Board, machine: Machine, defines: tuple[str, ...]) -> Path:
    root, elf = firmware_dir(), folder / "firmware.elf"
    try:
        found = toolchain.find(toolchain.WantedCompiler("arm-none-eabi-"), os.environ)
    except NeuralArtError as error:
        raise NeuralArtError(f"no loading application beside the model, and none can be built: {error}") from error
    includes = (folder, *(root / name for name in ("app_loader", "runtime", "app", "boards", "runtime/include")))
    words = [str(found.program), *machine.cpu_flags, *found.libc_flags, *toolchain.C_FLAGS, "-O2", "-w", *_LINK]
    words += [f"-I{place}" for place in includes] + [f"-D{text}" for text in defines]
    words += [f"-L{folder}", "-T", str(root / "boards" / "sections.ld"), "-o", str(elf)]
    words += [str(path) for path in (*sources(board), folder / "npu_memory_init.c")]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        from neuralart.applications import link_errors

        why = link_errors.of_link(done.stderr) or link_errors.of_compile(done.stderr)
        what = why.what if why is not None else "the compiler says no reason"
        what = f"the loading application for {board.name} cannot be built: {what}"
        raise NeuralArtError(what, hint="--application FILE names another one")
    return elf
