"""``neuralart npu``: run what ST Edge AI Core compiled on the virtual NPU, and compare it with LiteRT by epoch."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import outputs
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.network.facts import Port
from neuralart.text.progress import at_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuralart.vendor.network_c.types import NetworkPort
    from neuralart_virtual.npu.reference import BufferComparison
    from neuralart_virtual.npu.run import EpochResult, Run, VirtualNetwork
    from neuralart_virtual.virtual_npu import NpuOptions

SCHEMA = "neuralart-npu-1"


def _named(text: str, example: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise argparse.ArgumentTypeError(f"'{text}' is not {example}")
    return name, Path(path)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from neuralart_virtual.virtual_npu import add_options

    add, several = parser.add_argument, partial(parser.add_argument, action="append", default=[])
    text = "network.c of a compile for the STM32N6, or its relocatable model (network_rel.bin)"
    add("network", type=Path, metavar="NETWORK", help=text)
    text = "of a relocatable model: its network.c (default: its own tables, which tell if all epochs are programs)"
    add("--description", type=Path, metavar="NETWORK.C", help=text)
    text = "of a relocatable model: copied to RAM (default), or used where it is in flash"
    add("--mode", choices=("copy", "xip"), default="copy", help=text)
    add("--board", default="stm32n6570-dk", metavar="NAME", help="of a relocatable model: whose memories")
    pool = partial(_named, example="POOL=FILE, for example xSPI2=network_atonbuf.xSPI2.raw")
    several("--raw", type=pool, metavar="POOL=FILE", help="contents of a pool (default: NETWORK_*.POOL.raw beside it)")
    given = partial(_named, example="NAME=FILE, for example image=cat.npy")
    text = "an input: .npy, or its bytes as they stand in memory (default: noise by --seed)"
    several("--input", type=given, metavar="NAME=FILE", help=text)
    add("--seed", type=int, default=1, metavar="N", help="of the noise (default: 1)")
    add("-o", "--output", type=Path, metavar="DIR", help="write each output there as NAME.npy")
    add_options(parser)
    text = "compare each epoch's buffers of bytes with the tensors of this model in LiteRT, or in onnxruntime (.onnx)"
    add("--model", type=Path, metavar="MODEL", help=text)
    text = "with --model: feed each epoch with the reference"
    add("--feed-reference", "--force", action="store_true", help=text)
    add("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Run one inference. NeuralArtError: it cannot be executed."""
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        hint = "pip install 'scons-neuralart[npu]'"
        raise NeuralArtError(f"the virtual NPU needs NumPy: {error}", hint=hint) from error
    from neuralart_virtual.npu.run import load
    from neuralart_virtual.virtual_npu import NO_REFERENCE, of_arguments, within

    if args.feed_reference and args.model is None:
        raise NeuralArtError("--feed-reference needs the model that the reference comes from", hint="give --model")
    options, bounds = of_arguments(args), args.model is not None
    if args.network.suffix == ".bin":
        network = _installed(args, options, bounds)
    else:
        network = load(args.network, dict(args.raw), assume=options.assume, ties=options.ties, bounds=bounds)
    drawn = _set_inputs(network, dict(args.input), args.seed)
    comparison = _comparison(network, args.model, args.feed_reference) if args.model else None
    beside = _beside(network, args.network) if comparison is None else None
    if comparison is not None:
        comparison.begins(network.memory)
    with at_work(f"virtual NPU: {args.network.name}", quiet=args.json) as work:
        blocks = len(network.network.blocks)
        done: list[str] = []

        def observe(result: EpochResult) -> None:
            done.append(result.label)
            work.show(len(done), max(blocks, len(done)), "epochs")
            if comparison is not None:
                comparison(result)

        result = network.run(observe)
    if args.output is not None:
        _write(args.output, result)
    if comparison is not None:
        reference = "onnxruntime" if args.model.suffix.lower() == ".onnx" else "ai-edge-litert"
        words = within(reference, max((pair.largest for pair in comparison.pairs), default=0), None)
        words += f" in {len(comparison.pairs)} buffers"
    else:
        words = beside(result) if beside is not None else NO_REFERENCE
    if args.json:
        print(json.dumps(_record(network, result, comparison, drawn, words), indent=2))
    else:
        print("\n".join(_lines(network, result, comparison, drawn, words)))
    return 0


def _installed(args: argparse.Namespace, options: NpuOptions, bounds: bool) -> VirtualNetwork:
    """A relocatable model on the memories of a board."""
    from neuralart import boards
    from neuralart.relocatable.format import container
    from neuralart_virtual.loading.deployment import params_of
    from neuralart_virtual.npu.dataflow import Settings
    from neuralart_virtual.npu.modes import Assumptions
    from neuralart_virtual.npu.relocatable import install, network_of

    image = container.parse(read_bytes(args.network), args.network.name)
    if image.split:
        image = container.parse(image.data, args.network.name, read_bytes(params_of(args.network)))
    loaded = install(image, boards.load(args.board, []), args.mode)
    settings = Settings(ties=options.ties, assumptions=Assumptions.of(options.assume), bounds=bounds)
    return network_of(loaded, args.description, settings)


def _set_inputs(network: VirtualNetwork, given: dict[str, Path], seed: int) -> list[str]:
    """Set all inputs. Returns the names of those that are noise."""
    import numpy as np

    drawn = []
    for name, path in given.items():
        network.set_input(name, _contents(path))
    for number, port in enumerate(network.network.inputs):
        if port.row.name in given:
            continue
        rng = np.random.default_rng([seed, number])
        if port.dtype == "float32":
            data = rng.random(port.row.bytes // 4, np.float32).tobytes()
        else:
            data = rng.integers(0, 256, port.row.bytes, dtype=np.uint8).tobytes()
        network.set_input(port.row.name, data)
        drawn.append(port.row.name)
    return drawn


def _contents(path: Path) -> bytes:
    from neuralart_virtual.emulator.inputs.source import arrays

    if path.suffix != ".npy":
        return read_bytes(path)
    array = arrays(path).get("")
    if array is None:
        raise NeuralArtError("several arrays", where=str(path), hint="give one as .npy")
    return bytes(array.tobytes())


def _comparison(network: VirtualNetwork, model: Path, feed: bool) -> BufferComparison:
    """What LiteRT or onnxruntime computes of the same input. NeuralArtError: the inputs do not fit each other."""
    from neuralart_reference.model import reader
    from neuralart_virtual.npu.reference import BufferComparison
    from neuralart_virtual.validation.npu_layers import litert_tensors
    from neuralart_virtual.validation.onnx_reference import SUFFIX, OnnxReference
    from neuralart_virtual.vectors import expected

    if model.suffix.lower() == SUFFIX:
        own = [_port(port) for port in network.network.inputs]
        data = b"".join(network.memory_of(port.name) for port in own)
        return BufferComparison(OnnxReference(model, own).tensors([data]), feed=feed)
    if not expected.has_litert():
        raise NeuralArtError("LiteRT is not installed", hint="pip install 'scons-neuralart[oracle]'")
    graph = reader.read(model)
    ports = expected.ports(graph, graph.inputs)
    given = zip(network.network.inputs, ports, strict=False)
    inputs = [_as_model(port, network.memory_of(port.row.name), wanted) for port, wanted in given]
    sizes = [port.bytes for port in ports], [len(data) for data in inputs]
    if sizes[0] != sizes[1] or len(ports) != len(network.network.inputs):
        what = f"the model has inputs of {sizes[0]} bytes, the network's own are {sizes[1]}"
        raise NeuralArtError(what, where=str(model), hint="is it the model of this compile?")
    return BufferComparison(litert_tensors(model, ports, [b"".join(inputs)]), feed=feed)


def _as_model(port: NetworkPort, data: bytes, wanted: Port) -> bytes:
    """An input as its model takes it: real numbers, where the compile was told to take bytes."""
    import numpy as np

    own = _port(port)
    if not own.scale or wanted.dtype != "float32" or port.dtype not in ("int8", "uint8"):
        return data
    return bytes(((np.frombuffer(data, port.dtype).astype("<f4") - own.zero_point) * np.float32(own.scale)).tobytes())


def _beside(network: VirtualNetwork, path: Path) -> Callable[[Run], str] | None:
    """How far outputs are from LiteRT's, of the only model beside network.c; None: there is none that fits, or LiteRT
    is not installed.
    """
    from neuralart_reference.model import reader
    from neuralart_virtual.emulator import vectors as golden
    from neuralart_virtual.vectors import expected
    from neuralart_virtual.virtual_npu import within

    models = list(path.parent.glob("*.tflite"))
    if len(models) != 1 or not expected.has_litert():
        return None
    try:
        graph = reader.read(models[0])
        given, made = (expected.ports(graph, tensors) for tensors in (graph.inputs, graph.outputs))
        inputs = [network.memory_of(port.row.name) for port in network.network.inputs]
        sizes = [(port.dtype, port.row.bytes) for port in network.network.outputs]
        if [each.bytes for each in given] != [len(data) for data in inputs]:
            return None
        if [(each.dtype, each.bytes) for each in made] != sizes:
            return None
        found = expected.by_litert(models[0], given, [b"".join(inputs)])
    except NeuralArtError:
        return None  # A model that was not asked for does no harm
    wanted = golden.Vectors("", (), golden.tensors_of(made), (b"",), found.outputs, found.oracle)

    def words(result: Run) -> str:
        got = b"".join(result.outputs[port.row.name].tobytes() for port in network.network.outputs)
        return within(found.oracle, *golden.largest_difference(wanted, 0, got))

    return words


def _port(port: NetworkPort) -> Port:
    """An input as the network's memory has it."""
    scale, zero = (port.quant.scales[0], port.quant.zero_points[0]) if port.quant is not None else (0.0, 0)
    return Port(port.row.name, "", 0, port.row.bytes, port.mem_shape or port.shape, port.dtype, scale, zero)


def _write(folder: Path, result: Run) -> None:
    import io

    import numpy as np

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NeuralArtError(f"no folder: {error.strerror}", where=str(folder)) from error
    for name, value in result.outputs.items():
        data = io.BytesIO()
        np.save(data, value)
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        outputs.refuse(folder / f"{safe}.npy", data.getvalue().__eq__, hint="name another folder")
        write_bytes(folder / f"{safe}.npy", data.getvalue())


# ---- what is printed ----


def _record(
    network: VirtualNetwork, result: Run, comparison: BufferComparison | None, drawn: list[str], words: str
) -> dict[str, Any]:
    from neuralart_virtual.virtual_npu import says

    pairs = comparison.pairs if comparison is not None else []
    return {
        "schema": SCHEMA,
        "network": network.network.name,
        "says": says(words),
        "noise": drawn,
        "assumptions": result.notes,
        "epochs": [
            {
                "epoch": epoch.label,
                "hardware": epoch.hardware,
                "units": list(epoch.work.units),
                "bytes_read": epoch.work.read_bytes,
                "bytes_written": epoch.work.written_bytes,
                "products": epoch.work.products,
                "buffers": [{"address": o.start, "bytes": o.size * o.elements} for o in epoch.outputs],
            }
            for epoch in result.epochs
        ],
        "pairs": [
            {
                "epoch": pair.epoch,
                "address": pair.output.start,
                "tensor": pair.pair.tensor,
                "factor": round(pair.pair.factor, 6),
                "elements": pair.output.elements,
                "equal": round(1 - pair.different, 6),
                "largest": pair.largest,
                "allowed": None if pair.allowed is None else round(pair.allowed, 6),
            }
            for pair in pairs
        ],
        "outputs": {
            name: {"dtype": value.dtype.name, "shape": list(value.shape), "values": value.reshape(-1).tolist()}
            for name, value in result.outputs.items()
        },
    }


def _lines(
    network: VirtualNetwork, result: Run, comparison: BufferComparison | None, drawn: list[str], words: str
) -> list[str]:
    from neuralart_virtual.validation.layers import layer_lines
    from neuralart_virtual.validation.npu_layers import npu_layers
    from neuralart_virtual.virtual_npu import says

    lines = []
    if comparison is not None:
        lines += [*layer_lines(npu_layers(comparison), ""), ""]
    hardware = sum(epoch.hardware for epoch in result.epochs)
    products = sum(epoch.work.products for epoch in result.epochs)
    lines.append(
        f"{network.network.name}: {hardware} epochs on the NPU, {len(result.epochs) - hardware} in software, "
        f"{products} products"
    )
    for name, value in result.outputs.items():
        first = ", ".join(f"{each:g}" for each in value.reshape(-1)[:8].tolist())
        more = ", ..." if value.size > 8 else ""
        size = "x".join(map(str, value.shape))
        lines.append(f"output {name}: {value.dtype.name} {size}: {first}{more}")
    lines += [f"input {name} is noise: give --input {name}=FILE" for name in drawn]
    return [*lines, *result.notes, says(words)]
