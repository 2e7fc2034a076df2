"""An export of a model: it is compiled, and gets what a build of a variant would make of it. Nothing calls SCons."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.compilers.command_line import parsed, take_board
from neuralart.compilers.protocol import Job, compile_job
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.memory.layout import identity
from neuralart.memory.layout.layout import make_layout
from neuralart.memory.layout.strategies import EXTERNAL, LINK, Layout, LayoutNetwork
from neuralart.memory.plan import plan
from neuralart.memory.startup import calls, network_io, startup, tables
from neuralart.network import facts
from neuralart.network.facts import Network
from neuralart.network.targets import CPU, LEGACY_OPTIONS, check_name, flow_of
from neuralart.text.ihex import ihex
from neuralart_bring.export.collect import BuiltNetwork, collect
from neuralart_bring.export.plan import ExportInputs


@dataclass(frozen=True)
class ModelExport:
    """What is exported of a model, and the files that it was made from."""

    inputs: ExportInputs
    read: tuple[Path, ...]  # The model, the board's files, pool and profile files


def inputs_of(model: Path, board_name: str, name: str, words: Sequence[str], work: Path) -> ModelExport:
    """Compile a model for a board into a folder, and collect what a program needs of it.

    Args:
        model: The model.
        board_name: Name of a board, or its file (``.yaml``).
        name: C name of the network.
        words: Further words of ``neuralart compile``.
        work: A folder for files that are exported, and that must stay until they are.

    Raises:
        NeuralArtError: The board is unknown, a word is wrong, or the model cannot be compiled.
    """
    check_name(name, "--name")
    board = _board(board_name)
    cpu = flow_of(board.target) == CPU
    given = parsed([*(LEGACY_OPTIONS if cpu else ()), *words], "--")
    for option, value in (("--model", given.model), ("--target", given.target), ("--name", given.name)):
        if value is not None:
            raise NeuralArtError(f"{option} is given twice", where="--", hint="give it in front of the --")
    given.model, given.name = str(model), name
    take_board(given, board)
    job, compiled, program = Job(given, str(model)), work / "network", work / "program"
    compile_job(given.compiler, job, compiled)
    network = facts.load(compiled / "network.json")
    variant = VariantConfig(name=name, title="", board=board.name, machine="", networks=())
    layout, pools = None, {}
    if not cpu:
        declared = tuple(job.initializers)
        layout = make_layout(
            board, variant, [LayoutNetwork(name, job.pools, declared, {}, str(model))], with_firmware=False
        )
        pools = {pool.fname: pool.address for pool in job.pools.enabled}
        _write_program(program, board, layout, network, {pool: compiled / job.initializers[pool] for pool in declared})
    write_text(program / calls.SOURCE, calls.source(board, [network]))
    write_bytes(program / calls.HEADER, calls.header())
    machine = next(iter(board.machines.values()), None)
    flags = machine.cpu_flags if machine is not None else ()
    made = collect(variant, board, layout, [BuiltNetwork(network, compiled, pools)], program, flags)
    sources, headers = (*made.sources, program / calls.SOURCE), (*made.headers, program / calls.HEADER)
    named = [Path(value.rpartition("@")[2]) for value in vars(given).values() if isinstance(value, str) and value]
    named += [job.request.mpool] if not cpu else []
    read = (model, *map(Path, board.files), *(path for path in named if path != model and path.is_file()))
    return ModelExport(replace(made, sources=sources, headers=headers), read)


def _board(name: str) -> Board:
    path = Path(name)
    return boards.load(path.stem, [path], "--board") if path.suffix == ".yaml" else boards.load(name, (), "--board")


def _write_program(folder: Path, board: Board, layout: Layout, network: Network, raws: dict[str, Path]) -> None:
    """Start-up code, images and headers, as :mod:`neuralart.scons.firmware.memory_files` writes them in a build."""
    plan.check(plan.make_plan(layout, board, [network], {}))
    write_text(folder / "npu_memory_init.c", startup.source(board, layout, [network], with_firmware=False))
    write_text(folder / "npu_memory_init.h", startup.HEADER)
    write_text(folder / "network_io.h", network_io.source(board, [network]))
    described = []
    for item in layout.initializers:
        raw, stem = raws[item.pool], folder / f"{item.network}.{item.pool}"
        data = read_bytes(raw)
        if item.strategy == LINK:
            text = tables.link_object_c(item.network, item.pool, raw.name)
            write_text(folder / f"npu_link_{item.network}_{item.pool}.c", text)
            continue
        described.append(item)
        address = item.run_address if item.strategy == EXTERNAL else item.load_address
        write_bytes(Path(f"{stem}.bin"), data)
        write_text(Path(f"{stem}.hex"), ihex(address, data))
    if layout.descriptor is not None and described:
        sizes = {(item.network, item.pool): read_bytes(raws[item.pool]) for item in described}
        checks = {key: (len(data), zlib.crc32(data)) for key, data in sizes.items()}
        data = identity.describe([network], described, checks)
        write_bytes(folder / "descriptor.bin", data)
        write_text(folder / "descriptor.hex", ihex(layout.descriptor, data))
