"""What is written, loaded and started for ``neuralart load``, and what a board that was just started says of itself."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import products
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.flashing import plan as plans
from neuralart.flashing.nor import Nor, check_plan, chip_of
from neuralart.flashing.plan import FlashPlan
from neuralart.memory.plan import plan_report
from neuralart.network import facts
from neuralart.relocatable.format import container, load_table
from neuralart.relocatable.format.types import Image
from neuralart_board.ports import BoardPort
from neuralart_board.runners.gdb import Later
from neuralart_bring.last_build import network_folders, read_index, top_folder
from neuralart_virtual.emulator import Difference, LinkFailure
from neuralart_virtual.emulator.coherency import EXTERNAL_LOADER
from neuralart_virtual.emulator.host_link import RemoteNetwork, Session
from neuralart_virtual.emulator.image import read_elf
from neuralart_virtual.emulator.inferences import refuse_vendor
from neuralart_virtual.emulator.vectors import Vectors, first_difference
from neuralart_virtual.validation_link.client import PER_LAYER, ValidationClient


@dataclass(frozen=True)
class Deployment:
    """What goes onto a board."""

    board: Board
    plan: FlashPlan  # What is flashed; its paths start from ``top``
    top: Path
    wanted: tuple[Wanted, ...]
    image: Image | None = None  # The relocatable model
    elf: Path | None = None  # What is loaded into RAM, of an ordinary network
    later: Later | None = None  # What is written while that waits


def params_of(path: Path) -> Path:
    """Where the params of a split model are: ``network_rel_params.bin`` beside ``network_rel.bin``."""
    return path.with_name(f"{path.name.removesuffix('.bin')}_params.bin")


def _read_model(path: Path) -> Image:
    image = container.parse(products.read(path, "neuralart relocatable build makes it"), str(path))
    if image.split:
        params = products.read(params_of(path), "the model is split: copy both files of the build")
        image = container.parse(image.data, str(path), params)
    refuse_vendor(image)
    return image


def of_model(path: Path, addresses: Sequence[int], mode: Collection[str], board: Board, work: Path) -> Deployment:
    """A relocatable model (with its params beside it, if it is split) and its load table. ``addresses``: of the model
    and of its params in flash, as far as they are not the board's; ``mode``: words of a load table; ``work``: a folder
    for it. NeuralArtError: no such model, or it does not fit into the flash.
    """
    image, chip, places = _read_model(path), chip_of(board), board.relocatable
    if places is None:
        raise NeuralArtError(f"board {board.name} has no place for relocatable models", where=board.where)
    at, params = (*addresses, *(places.model, places.params)[len(addresses) :])
    if not image.split and params != places.params:
        what = f"the model is not split: it has no params for 0x{params:08x}"
        raise NeuralArtError(what, where="--address", hint="leave ',PARAMS' out")
    if image.copy_only and "xip" in mode:
        raise NeuralArtError(
            "has addresses in its code (clang)", where=str(path), hint="only --mode copy can move them"
        )
    writes, table = [plans.write_of("model", "model", path.resolve(), at)], work / "load_table.bin"
    writes += [plans.write_of("params", "model", params_of(path).resolve(), params)] if image.split else []
    for write in writes:
        taken = [slot for slot in ("fsbl", "application") if write.address <= board.slots.get(slot, -1) < write.end]
        if taken or write.address % chip.sector:
            what = f"would overwrite the slot '{taken[0]}'" if taken else f"no multiple of its sectors of {chip.sector}"
            what = f"'{write.name}' at 0x{write.address:08x}: {what}"
            hint = f"the board's: 0x{places.model:08x},0x{places.params:08x}"
            raise NeuralArtError(what, where="--address", hint=hint)
    write_bytes(table, load_table.make(sorted(mode), [(at, params if image.split else 0)]))
    writes.append(plans.write_of("load table", "model", table, places.table))
    plan = FlashPlan(board.name, tuple(writes), f"flash of {board.name}")
    check_plan(plan, Nor(chip))
    return Deployment(board, plan, Path(), ((image.context.c_name, container.stamp_of(image), str(path)),), image)


def application_of(path: Path, board: Board) -> Path:
    """The loading application of the variant that a model is of. NeuralArtError: there is none."""
    found = path.with_name(board.name) / "firmware.elf"
    found = found if found.is_file() else path.with_name("firmware.elf")
    if not found.is_file():
        hint = "--application FILE; 'relocatable: true' of a variant builds firmware.elf beside its network_rel.bin"
        raise NeuralArtError("no loading application beside it", where=str(path), hint=hint)
    return found


def _external(folder: Path) -> tuple[tuple[int, bytes], ...]:
    """Address and bytes of constants of strategy external-loader, each as the compile wrote it."""
    parts = []
    for row in plan_report.read(folder / "plan.json")["initializers"]:
        if row["strategy"] == "external-loader":
            path = folder / f"{row['network']}.{row['pool']}.bin"
            parts.append((int(row["run_address"]), products.read(path, "build the variant again")))
    return tuple(part for part in parts if part[1])


def of_folder(folder: Path, board: Board) -> Deployment:
    """A network with its firmware: a built variant's folder. NeuralArtError: none, other board, or changed since."""
    index, elf, path = folder / "index.json", folder / "firmware.elf", folder / "flash_plan.json"
    if (built_for := read_index(index)["board"]) != board.name:
        raise NeuralArtError(f"built for {built_for}, not for {board.name}", where=str(index), hint="--board")
    for each in (index, folder / "plan.json"):
        products.read(each)
    networks = network_folders(index)
    parts, waits = _external(folder), read_elf(elf).symbols.address_of(EXTERNAL_LOADER)
    if parts and waits is None:
        raise NeuralArtError(f"has no function {EXTERNAL_LOADER}", where=str(elf), hint="build the variant again")
    plan = plans.read(path) if path.is_file() else FlashPlan(board.name, ())
    # The application runs from RAM: what its slot holds is left alone.
    plan = FlashPlan(board.name, tuple(each for each in plan.writes if each.kind in plans.PARTS["model"]), str(path))
    found = [facts.load(place / "network.json") for place in networks.values()]
    wanted = tuple((each.symbol, each.abi_stamp, str(index)) for each in found)
    later = Later(waits, parts) if parts and waits is not None else None
    return Deployment(board, plan, top_folder(index), wanted, elf=elf, later=later)


Wanted = tuple[str, str, str]
"""C name of a network, what it must say of itself (16 hex digits), and the file that it was made from."""


class SerialTransport(BoardPort):
    """A serial port as the other end of a session. Of the machine behind it nothing is known but what it sends."""

    def waiting_for(self) -> str:
        return "is it the board's port, with its baud rate?"

    def spent(self) -> float | None:
        return None  # It is unknown

    def idle(self) -> bool:
        return False  # It is unknown


def discard(port: BoardPort) -> None:
    """Throw away what ran before has said. A board that never ends is not heard out: 64 KiB are."""
    left = 1 << 16
    # A socket gives one byte each time.
    while left > 0 and (data := port.read(0.05)):
        left -= len(data)


def introduced(session: Session, wanted: Sequence[Wanted], url: str) -> Iterator[tuple[int, RemoteNetwork]]:
    """Number and description of each network that is wanted, if the board says that it runs them, bit by bit.
    LinkFailure: it runs something else, or reports an error. MachineStop: it says nothing.
    """
    found = {each.name: (number, each) for number, each in enumerate(session.hello())}
    for name, stamp, where in wanted:
        if name not in found or found[name][1].abi_stamp != stamp:
            runs = ", ".join(f"'{each.name}' {each.abi_stamp}" for _, each in found.values()) or "no network"
            what = f"the board runs {runs}, not '{name}' {stamp} of {where}"
            raise LinkFailure(what, where=url, hint="load it without no-flash")
        yield found[name]


def inferences(session: Session, number: int, remote: RemoteNetwork, vectors: Vectors | None) -> tuple[bytes, bytes]:
    """Let a network compute golden vectors, or two random inputs. Returns its last input and output, each all tensors
    concatenated. Difference: an output is not what the vectors expect.
    """
    size = sum(remote.inputs)
    inputs = vectors.input_data if vectors is not None else [random.Random(n).randbytes(size) for n in (1, 2)]
    for index, data in enumerate(inputs):
        output = session.infer(number, data)
        if vectors is not None and (text := first_difference(vectors, index, output)):
            raise Difference(text, where=vectors.where)
    return data, output


def epochs(port: BoardPort, remote: RemoteNetwork, data: bytes, expected: bytes) -> list[int]:
    """What each epoch of an inference takes, then all of it. Difference: other outputs than by the host link."""
    client = ValidationClient(port)
    records = client.run(client.network(remote.name), facts.pieces(data, remote.inputs), PER_LAYER)
    client.close()
    if b"".join(bytes(tensor["data"]["content"]) for tensor in records[-1].tensors) != expected:
        raise Difference("observed epoch by epoch, its outputs differ", where=remote.name)
    return [max(each.operator["counters"], default=0) for each in records]


def table(counts: Sequence[int], virtual: bool, hertz: float) -> Iterator[str]:
    """Lines about :func:`epochs`. ``virtual``: instructions, no time; else cycles at ``hertz`` (0: unknown)."""
    *each, whole = counts
    yield f"  {'epoch':<8}{'instructions' if virtual else 'cycles':>14}{'%':>8}"
    for number, count in enumerate(each):
        yield f"  {number:<8}" + (f"{count:>14,}{100 * count / whole:>8.1f}" if whole else f"{'-':>14}")
    end = "a virtual board: instructions (by 1,000) are no time" if virtual else "--cpu-mhz makes time of cycles"
    end = f"{1000 * whole / hertz:.3f} ms, {hertz / whole:.2f} inf/s" if hertz and whole and not virtual else end
    yield f"  total   {whole:>14,}  {end}" if whole else f"  total   {'-':>14}  nothing is counted here"
