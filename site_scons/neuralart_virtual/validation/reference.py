"""What the outputs of a network are compared with: stored outputs, or those of a model that LiteRT computes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from neuralart.errors import NeuralArtError, nearest
from neuralart.network.facts import Network, Port, pieces
from neuralart_virtual.emulator.inputs import source
from neuralart_virtual.emulator.inputs.preprocessing import (
    AS_THEY_ARE,
    elements,
    encoded,
    library,
    of_array,
    shape_text,
)
from neuralart_virtual.emulator.vectors import finite_values, real_values
from neuralart_virtual.validation.onnx_reference import SUFFIX, OnnxReference

if TYPE_CHECKING:
    from neuralart_virtual.validation_link.client import ValidationClient

Samples: TypeAlias = list[list[float]]
"""Real values of one output: a row for each sample."""
ReferenceOutputs: TypeAlias = tuple[str, Sequence[Samples]]
"""Who computed them or where they were found, and each output of the network as it should be."""


def split(ports: Sequence[Port], data: Sequence[bytes], where: str) -> tuple[Samples, ...]:
    """Each output as real values; ``data``: by sample all outputs, concatenated. Difference: a value is no number."""
    found: tuple[Samples, ...] = tuple([] for _ in ports)
    for sample in data:
        for port, rows, part in zip(ports, found, pieces(sample, (port.bytes for port in ports)), strict=True):
            rows.append(real_values(finite_values(port.name, port.dtype, part, where), port))
    return found


def _same_shapes(kind: str, ours: Sequence[Port], theirs: Sequence[Port], where: str) -> None:
    """Shapes may differ in dimensions of 1 only."""
    if len(ours) != len(theirs):
        raise NeuralArtError(f"has {len(theirs)} {kind}s, the network {len(ours)}", where=where)
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if [n for n in our.shape if n != 1] != [n for n in their.shape if n != 1]:
            shapes = f"{shape_text(their.shape)}, that of the network {shape_text(our.shape)}"
            hint = "a reference computes the same inputs, in the same order of dimensions"
            raise NeuralArtError(f"{kind} {number} is {shapes}", where=where, hint=hint)


def _converted(data: Sequence[bytes], ours: Sequence[Port], theirs: Sequence[Port]) -> list[bytes]:
    """Inputs of the network as inputs of a model that has them in another type."""

    def same(our: Port, their: Port) -> bool:
        """Nothing is known of what integers without a scale stand for: they stay."""
        known = bool(our.scale) or our.dtype == "float32"
        return our.dtype == their.dtype and (
            not known or (our.scale, our.zero_point) == (their.scale, their.zero_point)
        )

    if all(map(same, ours, theirs)):
        return list(data)
    np = library("numpy", "a reference model")
    samples = zip(*split(ours, data, "inputs"), strict=True)
    return [
        b"".join(encoded(np.array(row), port, AS_THEY_ARE) for row, port in zip(rows, theirs, strict=True))
        for rows in samples
    ]


def inputs_for(
    path: Path, inputs: Sequence[Port], data: Sequence[bytes], cut: Sequence[str] = ()
) -> tuple[Sequence[Port], Sequence[bytes]]:
    """Inputs of the network as those of a model, cut or not. NeuralArtError: the model has others, or is damaged."""
    from neuralart_reference.model import reader
    from neuralart_virtual.vectors import expected

    model = reader.read(path, cut=cut)
    theirs = expected.ports(model, model.inputs)
    _same_shapes("input", inputs, theirs, path.as_posix())
    return theirs, _converted(data, inputs, theirs)


def by_model(
    path: Path, inputs: Sequence[Port], outputs: Sequence[Port], data: Sequence[bytes], cut: Sequence[str] = ()
) -> ReferenceOutputs:
    """What LiteRT computes of the network's inputs with a model, perhaps of floats, perhaps cut. NeuralArtError: the
    model is no reference of this network, or LiteRT is missing or cannot run it.
    """
    from neuralart_reference.model import reader
    from neuralart_virtual.vectors import expected

    where = path.as_posix()
    if path.suffix.lower() == SUFFIX and not cut:
        runtime = OnnxReference(path, inputs)
        return f"{where}, computed by {runtime.name}", runtime.outputs_of(data, outputs)
    model = reader.read(path, cut=cut)
    if not expected.has_litert():
        hint = "pip install 'scons-neuralart[oracle]', or give --reference OUTPUTS.npz or golden vectors as --data"
        raise NeuralArtError("a reference model needs LiteRT, which is not installed", where=where, hint=hint)
    theirs = expected.ports(model, model.outputs)
    given, converted = inputs_for(path, inputs, data, cut)
    _same_shapes("output", outputs, theirs, where)
    found = expected.by_litert(path, given, converted, cut)
    return f"{where}, computed by {found.oracle}", split(theirs, found.outputs, where)


def of_file(path: Path, outputs: Sequence[Port], samples: int) -> ReferenceOutputs:
    """Stored outputs: an array each, real unless of the output's type. NeuralArtError: one is missing or misshapen."""
    arrays, where = source.arrays(path), path.as_posix()
    if len(arrays) == 1 == len(outputs):
        arrays = {outputs[0].name: next(iter(arrays.values()))}
    found = []
    for port in outputs:
        if port.name not in arrays:
            raise NeuralArtError(f"no array '{port.name}'", where=where, hint=nearest(port.name, list(arrays)))
        array = arrays[port.name]
        real = replace(port, dtype="float64", bytes=8 * elements(port), scale=0.0, zero_point=0)
        rows = [struct.unpack(f"<{elements(port)}d", row) for row in of_array(array, real, AS_THEY_ARE, where)]
        if len(rows) != samples:
            raise NeuralArtError(f"{len(rows)} outputs '{port.name}', but {samples} samples", where=where)
        stored = array.dtype.name == port.dtype
        found.append([real_values(row, port if stored else None) for row in rows])
    return where, found


def _check(client: ValidationClient, network: Network) -> Any:
    """The board's network, if it is that of the build. NeuralArtError: it is another."""
    from neuralart_virtual.validation_link.client import check_stamp

    found = client.network(network.symbol)
    check_stamp(found, network.abi_stamp, "--on board")
    inputs, outputs = len(found["inputs"]), len(found["outputs"])
    if (inputs, outputs) != (len(network.inputs), len(network.outputs)):
        what = f"network '{network.symbol}' of the board has {inputs} inputs and {outputs} outputs"
        what += f", that of the build {len(network.inputs)} and {len(network.outputs)}"
        raise NeuralArtError(what, where="--on board", hint="flash- writes this one")
    return found


def outputs_of(
    client: ValidationClient, network: Network, samples: Sequence[bytes], done: Callable[[int], None]
) -> list[bytes]:
    """Outputs of each sample, concatenated in the order of the network's; so are the inputs of each in ``samples``.
    ``done``: called with the number of samples that are computed. NeuralArtError: the board runs another build,
    refuses, or does not answer.
    """
    found = _check(client, network)
    expected = [port.bytes for port in network.outputs]
    made = []
    for number, sample in enumerate(samples):
        parts = pieces(sample, (port.bytes for port in network.inputs))
        tensors = client.run(found, parts, first=number == 0)[-1].tensors
        data = [bytes(tensor["data"]["content"]) for tensor in tensors]
        if [len(each) for each in data] != expected:
            sizes = " and ".join(str(len(each)) for each in data)
            what = f"the board answers {sizes} bytes, {' and '.join(map(str, expected))} are expected"
            raise NeuralArtError(what, where="--on board")
        made.append(b"".join(data))
        done(number + 1)
    return made


def on_board(
    url: str, baud: int, network: Network, samples: Sequence[bytes], done: Callable[[int], None]
) -> tuple[str, Sequence[bytes]]:
    """Which device computed, and what (:func:`outputs_of`). ``url``: a device or URL of pyserial."""
    from neuralart_board.ports import BoardPort
    from neuralart_virtual.validation_link.client import ValidationClient

    with closing(BoardPort(url, baud)) as port, closing(ValidationClient(port)) as client:
        return f"device 0x{client.system['device']:x} at {url}", outputs_of(client, network, samples, done)
