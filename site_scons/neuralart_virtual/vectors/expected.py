"""What must come out of a model: computed by LiteRT, or by the model's own image on a virtual board."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import __version__
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.network.facts import Port, pieces
from neuralart.resources import package_parent
from neuralart_reference.model import reader
from neuralart_reference.model.graph import DTYPE_BYTES, Model
from neuralart_reference.model.tflite_shapes import with_real_dimensions
from neuralart_virtual.emulator.inputs.preprocessing import library, little_endian

LITERT, BOARD = "litert", "board"


@dataclass(frozen=True)
class ExpectedOutputs:
    """Outputs, and who computed them."""

    oracle: str  # Name and version
    outputs: tuple[bytes, ...]  # For each vector all of them, concatenated


def ports(model: Model, tensors: Sequence[int]) -> tuple[Port, ...]:
    """Inputs or outputs of a model, by the numbers of their tensors, as a network has them that is compiled from it."""
    found = []
    for tensor in (model.tensors[number] for number in tensors):
        size = math.prod(tensor.shape) * DTYPE_BYTES[tensor.dtype]
        scale, zero_point = 0.0, 0
        if tensor.quantization is not None and tensor.quantization.scales:
            scale, zero_point = tensor.quantization.scales[0], tensor.quantization.zero_points[0]
        found.append(Port(tensor.name, "", 0, size, tensor.shape, tensor.dtype, scale, zero_point))
    return tuple(found)


def has_litert() -> bool:
    """Can LiteRT be asked here?"""
    return importlib.util.find_spec("ai_edge_litert") is not None


def by_litert(
    model: Path,
    given: Sequence[Port],
    inputs: Sequence[bytes],
    cut: Sequence[str] = (),
    shapes: reader.Shapes = reader.AS_IT_IS,
) -> ExpectedOutputs:
    """Outputs of LiteRT's reference kernels. NeuralArtError: it is not installed, or cannot run the model."""
    from importlib import metadata

    if not has_litert():
        hint = "pip install 'scons-neuralart[oracle]', or --expected board"
        raise NeuralArtError("LiteRT is not installed", where="--expected", hint=hint)
    results = []
    for interpreter in litert_runs(model, given, inputs, cut, shapes):
        values = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
        results.append(b"".join(little_endian(value, value.dtype.name) for value in values))
    return ExpectedOutputs(f"ai-edge-litert {metadata.version('ai-edge-litert')} BUILTIN_REF", tuple(results))


def litert_runs(
    model: Path,
    given: Sequence[Port],
    inputs: Sequence[bytes],
    cut: Sequence[str] = (),
    shapes: reader.Shapes = reader.AS_IT_IS,
    *,
    every_tensor: bool = False,
) -> Iterator[Any]:
    """LiteRT's interpreter after each inference; ``every_tensor``: keeps inner ones. NeuralArtError: it cannot run."""
    np, module = library("numpy", "LiteRT"), library("ai_edge_litert.interpreter", "LiteRT")
    try:
        interpreter = module.Interpreter(
            model_content=with_real_dimensions(reader.ended(model, cut, shapes=shapes), str(model)),
            num_threads=1,
            # Its other kernels round differently.
            experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=every_tensor,
        )
        interpreter.allocate_tensors()
        details = interpreter.get_input_details()
        for data in inputs:
            parts = pieces(data, (port.bytes for port in given))
            for port, part, detail in zip(given, parts, details, strict=True):
                value = np.frombuffer(part, np.dtype(port.dtype).newbyteorder("<"))
                interpreter.set_tensor(detail["index"], value.astype(port.dtype).reshape(detail["shape"]))
            interpreter.invoke()
            yield interpreter
    except (RuntimeError, ValueError) as error:
        raise NeuralArtError(f"LiteRT cannot run it: {error}", where=str(model)) from error


def default_board() -> str:
    """A board that runs here: the virtual STM32N6, or QEMU's where Unicorn is not installed."""
    return "stm32n6570-dk" if importlib.util.find_spec("unicorn") is not None else "mps3-an547"


def by_board(
    model: Path,
    board_name: str,
    inputs: Sequence[bytes],
    cut: Sequence[str] = (),
    shapes: reader.Shapes = reader.AS_IT_IS,
) -> ExpectedOutputs:
    """Outputs of the model on a virtual board (needs an Arm GCC). NeuralArtError: it cannot be built or run there."""
    from neuralart import boards
    from neuralart_bring.last_build import network_folders
    from neuralart_bring.own_model import project
    from neuralart_virtual.emulator import RunFailure
    from neuralart_virtual.emulator.inputs.source import GivenInputs
    from neuralart_virtual.emulator.runner import NetworkRun, machine_of
    from neuralart_virtual.emulator.variant_networks import run_built

    board = boards.load(board_name, (), "--board")
    machine = machine_of(board, "")
    with tempfile.TemporaryDirectory() as work:
        folder, ends = Path(work) / "model", Path(work) / model.name
        if cut or shapes:
            write_bytes(ends, reader.ended(model, cut, shapes=shapes))
        names, _ = project.make(folder, board, ends if cut or shapes else model, package_parent())
        words = [sys.executable, "-m", "SCons", "-Q", "-s", names.check]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or [f"scons ended with {done.returncode}"])[0]
            raise NeuralArtError(f"cannot be built for board {board.name}: {said}", where=str(model))
        built = folder / "build" / names.check
        (network,) = network_folders(built / "index.json").values()
        try:
            result = run_built(board, machine, built, NetworkRun(network / "network.json", GivenInputs(tuple(inputs))))
        except RunFailure as failure:
            raise NeuralArtError(f"cannot be run on board {board.name}: {failure}", where=str(model)) from failure
        oracle = f"scons-neuralart {__version__} on {machine.kind} {board.name}"
        return ExpectedOutputs(oracle, result.networks[0].outputs)
