"""``neuralart validate``: run a built network, and measure how far it is from its reference and its labels."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs, project_folder
from neuralart.errors import NeuralArtError
from neuralart.text.console import say
from neuralart.text.progress import at_work
from neuralart_fleet.ci.junit import MARK as JUNIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuralart.boards.types import Machine
    from neuralart.config.types import NetworkConfig
    from neuralart.network.facts import Network
    from neuralart_virtual.emulator.inputs.source import GivenInputs
    from neuralart_virtual.emulator.variant_networks import VariantNetwork
    from neuralart_virtual.emulator.vectors import Vectors
    from neuralart_virtual.npu.reference import BufferComparison
    from neuralart_virtual.validation.figures import ValidationFigures
    from neuralart_virtual.validation.layers import EpochTensors, LayerFigures
    from neuralart_virtual.validation.reference import ReferenceOutputs, Samples

FAILED = 2
_SAMPLES = 10
_NATIVE = "native"
_BOARD = "board"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from neuralart_virtual.vectors.vectors_cli import add_preprocessing, count

    add = parser.add_argument
    add("variant", metavar="VARIANT", help="a variant of the project file; it is built first")
    add("--network", default="", metavar="NAME", help="one of its networks (default: the only one)")
    text = "inputs: golden vectors (a folder), raw elements, .npy, .npz, .csv, sound, pictures or a folder of them"
    add("--data", type=Path, metavar="FILE", help=f"{text} (default: the network's 'vectors' or 'input')")
    text = f"that many pseudo-random inputs instead (default, if the network has neither: {_SAMPLES})"
    add("--random", type=count, default=0, metavar="N", help=text)
    add_preprocessing(parser)
    text = "a .tflite (perhaps of floats) that LiteRT computes, or outputs in .npy or .npz"
    add("--reference", type=Path, metavar="FILE", help=f"{text} (default: golden vectors, else the network's model)")
    text = "classes of the samples: class numbers from 0 or one-hot rows, as CSV or .npy"
    add("--labels", type=Path, metavar="FILE", help=text)
    add("--classifier", action="store_true", help="outputs are scores of classes: tell how often the best one agrees")
    text = "compare what each epoch writes with LiteRT's tensors of the same names, and name the first that differs"
    add("--per-layer", action="store_true", help=text)
    text = "with --per-layer on the virtual NPU: feed each epoch with the reference, so that the first wrong one shows"
    add("--feed-reference", action="store_true", help=text)
    text = "where to run: the variant's virtual machine (default), qemu, the network's C on this computer, or a board"
    add("--on", choices=("virtual", "qemu", _NATIVE, _BOARD), default="virtual", help=text)
    text = "serial port of the board: /dev/ttyACM0, COM4, socket://HOST:PORT"
    add("--port", default="", metavar="URL", help=text)
    add("--baud", type=int, default=921600, metavar="N", help="of that port (default: %(default)s)")
    project_folder.add_options(parser)
    add("--json", action="store_true", help="for programs (docs/reference/validate.md)")
    text = "write what became of the network there, as JUnit XML"
    outputs.add(parser, "--junit", mine=outputs.says(JUNIT), help=text)


def _vectors(args: argparse.Namespace, subject: VariantNetwork) -> tuple[str, Vectors]:
    """Inputs, with outputs if they are golden vectors, and where they come from."""
    from neuralart_virtual.emulator.inputs.source import Feed, InputFile, RandomInputs, inputs_of
    from neuralart_virtual.emulator.vectors import DESCRIPTION
    from neuralart_virtual.vectors.vectors_cli import preprocessing

    config = subject.config
    if args.data is not None and args.random:
        raise NeuralArtError("--data and --random", hint="give one of them")
    said = config.vectors or config.input
    data: Path | None = args.data or (args.file.parent / said if said and not args.random else None)
    feed: Feed
    if data is None:
        feed = RandomInputs(args.random or _SAMPLES, args.seed)
    elif (data / DESCRIPTION).is_file() or (args.data is None and config.vectors):
        feed = data
    else:
        feed = InputFile(data, preprocessing(args, config.app_config))
    return feed.as_posix() if isinstance(feed, Path) else str(feed), inputs_of(feed, subject.network)


def _reference(args: argparse.Namespace, subject: VariantNetwork, vectors: Vectors) -> ReferenceOutputs | None:
    """What the outputs are compared with; None: there is nothing, and labels alone must do."""
    from neuralart_virtual.validation import reference
    from neuralart_virtual.vectors.expected import has_litert

    network, path, cut = subject.network, args.reference, tuple[str, ...]()
    if path is None and vectors.output_data:
        return "golden vectors", reference.split(network.outputs, vectors.output_data, vectors.where)
    if path is not None and path.suffix.lower() in (".npy", ".npz"):
        return reference.of_file(path, network.outputs, vectors.count)
    if path is None:
        path, cut = _own_model(args, subject)
        if args.labels is not None and subject.config.min_cos is None and not has_litert():
            return None
    return reference.by_model(path, network.inputs, network.outputs, vectors.input_data, cut)


def _own_model(args: argparse.Namespace, subject: VariantNetwork) -> tuple[Path, tuple[str, ...]]:
    """The model of the network, and where it is cut. NeuralArtError: it names none."""
    if not subject.config.model:
        what = f"network {subject.config.name} names no model"
        hint = "--reference FILE: a model or its outputs; or 'model:' beside 'compiler: {adopted: ...}'"
        raise NeuralArtError(what, where=subject.config.said(), hint=hint)
    return args.file.parent / subject.config.model, subject.config.cut


def _compared_with(args: argparse.Namespace, subject: VariantNetwork) -> tuple[Path, tuple[str, ...]]:
    """The model that computes the tensors of layers, and where it is cut. NeuralArtError: there is none."""
    from neuralart_virtual.validation.onnx_reference import SUFFIX

    if args.reference is not None and args.reference.suffix.lower() in (".tflite", SUFFIX):
        return args.reference, ()
    return _own_model(args, subject)


def _class_names(args: argparse.Namespace, config: NetworkConfig) -> tuple[str, ...]:
    from neuralart.app_config.generate import class_names
    from neuralart.config.app_config import AppConfig

    if config.labels:
        return class_names(AppConfig("", "", class_names_file=config.labels), args.file.parent)
    return class_names(config.app_config, args.file.parent) if config.app_config is not None else ()


def _labels(path: Path, network: Network, samples: int) -> Sequence[int]:
    from neuralart_virtual.emulator.inputs.preprocessing import elements
    from neuralart_virtual.validation.figures import read_labels

    if len(network.outputs) != 1 or elements(network.outputs[0]) < 2:
        what = f"network {network.name} has {len(network.outputs)} outputs, the first of "
        what += f"{elements(network.outputs[0])} elements"
        raise NeuralArtError(what, where="--labels", hint="labels belong to one output with a score for each class")
    return read_labels(path, elements(network.outputs[0]), samples)


def _layers(
    args: argparse.Namespace, subject: VariantNetwork, kind: str, vectors: Vectors
) -> EpochTensors | BufferComparison:
    """NeuralArtError: nothing here can look into the epochs of this variant, or there is nothing to compare with."""
    from neuralart.network.facts import NEURALART
    from neuralart_virtual.emulator.inputs.preprocessing import library
    from neuralart_virtual.validation import reference
    from neuralart_virtual.validation.layers import EpochTensors
    from neuralart_virtual.validation.onnx_reference import SUFFIX, OnnxReference
    from neuralart_virtual.vectors.expected import has_litert

    where, npu = "--per-layer", subject.network.runtime != NEURALART
    if args.feed_reference and not npu:
        what = f"network {subject.network.name} does not run on the virtual NPU"
        hint = "its epochs are fed by the firmware: leave the option out"
        raise NeuralArtError(what, where="--feed-reference", hint=hint)
    model, cut = _compared_with(args, subject)
    by_onnx = npu and model.suffix.lower() == SUFFIX
    if not by_onnx and not has_litert():
        what = "LiteRT computes the tensors to compare with, and is not installed"
        hint = "pip install 'scons-neuralart[oracle]'"
        raise NeuralArtError(what, where=where, hint=hint)
    if kind != "unicorn":
        what = f"machine {kind} shows no tensors between its epochs"
        raise NeuralArtError(what, where=where, hint="a machine unicorn does: --on virtual, on a board that has one")
    if subject.variant.relocatable is not None:
        what = "the epochs of a relocatable model are loaded at run time, and their addresses are not known before"
        raise NeuralArtError(what, where=where, hint="a variant of the same network without 'relocatable'")
    if not npu:
        return EpochTensors(subject.facts.parent, subject.network)
    library("numpy", "the virtual NPU")
    from neuralart_virtual.npu.reference import BufferComparison
    from neuralart_virtual.validation.npu_layers import litert_tensors

    if by_onnx:
        tensors = OnnxReference(model, subject.network.inputs).tensors(vectors.input_data)
        return BufferComparison(tensors, feed=args.feed_reference)
    given, data = reference.inputs_for(model, subject.network.inputs, vectors.input_data, cut)
    return BufferComparison(litert_tensors(model, given, data, cut), feed=args.feed_reference)


def _compared(
    args: argparse.Namespace, subject: VariantNetwork, layers: EpochTensors | BufferComparison, vectors: Vectors
) -> tuple[LayerFigures, ...]:
    from neuralart_virtual.validation import layers as of_layers
    from neuralart_virtual.validation import reference

    if not isinstance(layers, of_layers.EpochTensors):
        from neuralart_virtual.validation.npu_layers import npu_layers

        return npu_layers(layers)
    model, cut = _compared_with(args, subject)
    given, data = reference.inputs_for(model, subject.network.inputs, vectors.input_data, cut)
    return of_layers.compare_layers(layers, model, given, data, cut)


def _always(where: str) -> Callable[[str], str]:
    return lambda within: where


def _outputs(
    subject: VariantNetwork,
    machine: Machine | None,
    inputs: GivenInputs,
    layers: EpochTensors | BufferComparison | None,
) -> tuple[Callable[[str], str], Sequence[bytes]]:
    """What comes out of each sample, and where it was computed, told how far that is from a reference; ``machine``:
    None stands for this computer.
    """
    from neuralart_virtual.emulator import native, runner
    from neuralart_virtual.emulator.variant_networks import run_built
    from neuralart_virtual.validation.layers import EpochTensors
    from neuralart_virtual.virtual_npu import NpuOptions

    tensors = layers if isinstance(layers, EpochTensors) else None
    observer = None if isinstance(layers, EpochTensors) else layers
    if machine is None:
        if subject.variant.relocatable is not None:
            hint = "a variant of the same network without 'relocatable', or --on virtual"
            raise NeuralArtError("a relocatable model runs on a board alone", where=f"--on {_NATIVE}", hint=hint)
        with tempfile.TemporaryDirectory(prefix="neuralart-") as folder:
            (network,) = native.build([subject.facts.parent], Path(folder))
            where = "native (the network's C, the runtime and the kernels on this computer)"
            return _always(where), network.run(inputs.data)
    with at_work(f"validate {subject.variant.name}") as work:

        def vector_done(_: str, done: int, count: int) -> None:
            if tensors is not None:
                tensors.sample_ends()
            work.show(done, count, "vectors")

        npu, dead = NpuOptions.of_keys(subject.variant.added, observer), subject.variant.dead_bank
        one = runner.NetworkRun(subject.facts, inputs, npu=npu)
        calls, place = tensors.calls() if tensors is not None else None, (subject.board, machine, subject.folder)
        result = run_built(*place, one, dead_bank=dead, on_vector=vector_done, calls=calls)
    for note in result.notes:
        say(f"neuralart validate: note: {note}", file=sys.stderr)
    (ran,) = result.networks
    return lambda within: f"{result.machine} ({replace(ran, within=within).note or result.note})", ran.outputs


def _within(network: Network, reference: str, right: Sequence[Samples], found: Sequence[Samples]) -> str:
    """How far outputs are from a reference, in words."""
    from neuralart_virtual.virtual_npu import NO_REFERENCE, within

    if right is found:
        return NO_REFERENCE
    largest: dict[bool, float] = {}
    for port, one, other in zip(network.outputs, right, found, strict=True):
        apart = max((abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True)), default=0)
        real = "float" in port.dtype
        largest[real] = max(largest.get(real, 0.0), apart if real else apart / (port.scale or 1.0))
    return within(reference, round(largest[False]) if False in largest else None, largest.get(True))


def _measure(args: argparse.Namespace, subject: VariantNetwork) -> ValidationFigures:
    """What is wrong with what the user gave is said before the run."""
    from neuralart_virtual.emulator import runner
    from neuralart_virtual.emulator.inputs.preprocessing import elements
    from neuralart_virtual.emulator.inputs.source import GivenInputs
    from neuralart_virtual.validation.figures import ValidationFigures, classify, compare_outputs
    from neuralart_virtual.validation.reference import split

    variant, config, network = subject.variant, subject.config, subject.network
    origin, vectors = _vectors(args, subject)
    names = _class_names(args, config)
    labels = None if args.labels is None else _labels(args.labels, network, vectors.count)
    scores = [args.classifier or labels is not None or elements(port) == len(names) for port in network.outputs]
    if config.min_accuracy is not None and not any(scores):
        what = "min_accuracy is for classifiers"
        raise NeuralArtError(what, where=config.said("min_accuracy"), hint="--labels FILE, or --classifier")
    wanted = _reference(args, subject, vectors)
    machine = None
    if args.on not in (_NATIVE, _BOARD):
        machine = runner.machine_of(subject.board, "qemu" if args.on == "qemu" else variant.machine)
    if args.feed_reference and not args.per_layer:
        raise NeuralArtError("it shows in the table of --per-layer", where="--feed-reference", hint="give both")
    kind = machine.kind if machine is not None else args.on
    layers = _layers(args, subject, kind, vectors) if args.per_layer else None
    if args.on == _BOARD:
        from neuralart_virtual.validation.reference import on_board

        with at_work(f"validate {variant.name}") as work:
            data, count = vectors.input_data, vectors.count
            board, outputs = on_board(args.port, args.baud, network, data, lambda n: work.show(n, count, "vectors"))
        place = _always(board)
    else:
        place, outputs = _outputs(subject, machine, GivenInputs(vectors.input_data, origin), layers)
    found = split(network.outputs, outputs, network.name)
    who, right = wanted or ("", found)
    metrics = {
        port.name: compare_outputs(one, other, classifier)
        for port, one, other, classifier in zip(network.outputs, right, found, scores, strict=True)
    }
    return ValidationFigures(
        variant=variant.name,
        network=config.name,
        machine=place(_within(network, vectors.oracle if who == "golden vectors" else who, right, found)),
        samples=vectors.count,
        inputs=origin,
        reference=who,
        outputs=metrics if wanted is not None else {},
        labels=args.labels.as_posix() if labels is not None else "",
        classifier=None if labels is None else classify(labels, found[0]),
        classes=names if len(names) == elements(network.outputs[0]) else (),
        layers=None if layers is None else _compared(args, subject, layers, vectors),
    )


def _build(args: argparse.Namespace) -> None:
    """Build the variant as ``neuralart run`` does. SCons's output goes to standard error; an intact one prints none.
    With ``--build``, or without an SConstruct beside the project file, nothing is built.

    NeuralArtError: SCons has failed, and has said why.
    """
    top = args.file.parent.resolve()
    if args.build is not None or args.file.name != "variants.yaml" or project_folder.find(top) != top:
        return
    import subprocess

    from neuralart.build import call_of

    call = call_of([args.variant])
    done = subprocess.run(call, cwd=top, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode or done.stderr or "is up to date" not in done.stdout:
        print(done.stdout + done.stderr, end="", file=sys.stderr)
    if done.returncode:
        raise NeuralArtError(f"variant {args.variant} cannot be built", where=str(args.file))


def run(args: argparse.Namespace) -> int:
    """Print the figures. Returns 2 if one is below the bound of the network, or the run did not end well.
    NeuralArtError: the variant cannot be built, or inputs, reference and labels do not fit it.
    """
    from neuralart_virtual.emulator import RunFailure
    from neuralart_virtual.validation import figures

    if (args.on == _BOARD) != bool(args.port):
        what = "which port?" if args.on == _BOARD else "a port is for a board"
        raise NeuralArtError(what, where=f"--on {args.on}", hint="--on board --port /dev/ttyACM0")
    from neuralart_virtual.emulator.variant_networks import built_network

    here = args.on not in (_NATIVE, _BOARD)
    subject = built_network(
        args.file, args.build, args.variant, args.network, runs_here=here, make=partial(_build, args)
    )
    found: ValidationFigures | None = None
    try:
        found = _measure(args, subject)
        failures, lines = figures.below(found, subject.config), figures.lines(found)
    except RunFailure as failure:
        failures, lines = [str(failure)], []
    if args.junit is not None:
        from neuralart_fleet.ci import junit

        suite = f"validate {args.variant} --on {args.on}"
        junit.write(args.junit, [junit.CheckOutcome(suite, subject.config.name, failures, output=lines)])
    if found is not None and args.json:
        print(json.dumps(figures.to_record(found, failures), indent=1, allow_nan=False))
    elif lines:
        say(*lines)
    for line in failures:
        say(f"neuralart validate: {line}", file=sys.stderr)
    return FAILED if failures else 0
