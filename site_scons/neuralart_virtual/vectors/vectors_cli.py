"""``neuralart vectors``: golden vectors of a model, from files or random numbers, and what must come out of it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart.outputs import add_force, refuse
from neuralart.text.console import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart.config.app_config import AppConfig
    from neuralart.config.types import NetworkConfig
    from neuralart.network.facts import Port
    from neuralart_virtual.emulator.inputs.preprocessing import Preprocessing
    from neuralart_virtual.vectors.expected import ExpectedOutputs

# Modes of an application's header that are the same for a picture that is not shown.
_RESIZES = {"full_screen": "fit"}
_MOST = 100_000


def _real(text: str) -> float:
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise argparse.ArgumentTypeError(f"'{text}' is no number like 0.5 or 1/255") from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 31):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0")
    return int(text)


def count(text: str) -> int:
    """A number of vectors. argparse.ArgumentTypeError: it is none."""
    if (number := _whole(text)) > _MOST:
        raise argparse.ArgumentTypeError(f"'{text}' is more than {_MOST} vectors")
    return number


def add_preprocessing(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what inputs become."""
    from neuralart_virtual.emulator.inputs.preprocessing import COLORS, RESIZES

    add = parser.add_argument
    add("--seed", type=_whole, default=0, metavar="S", help="another seed gives other random inputs (default: 0)")
    text = "numbers of files are multiplied by it, 1/255 for example (default: 1; pixels stay bytes)"
    add("--scale", type=_real, metavar="X", help=text)
    add("--offset", type=_real, metavar="X", help="and this is added (default: 0)")
    text = "pictures of another size: stretch them, cut the middle out, add black (default: refuse them)"
    add("--resize", choices=RESIZES, help=text)
    add("--color", choices=COLORS, help="order of the channels of pictures (default: rgb)")
    add("--rate", type=_whole, metavar="HZ", help="samples per second that sound must have (default: any)")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    from neuralart_virtual.virtual_npu import add_options

    add(
        "model",
        type=Path,
        metavar="MODEL",
        help="the model (.tflite or .onnx); with --from-npu a network.c or a variant",
    )
    text = "inputs: raw elements, .npy, .npz, .csv, sound, pictures or folders of them"
    add("inputs", type=Path, nargs="*", metavar="INPUT", help=text)
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the folder of golden vectors")
    text = "that many pseudo-random inputs, after those of files"
    add("--random", type=count, default=0, metavar="N", help=text)
    add_preprocessing(parser)
    text = "variants.yaml: resize, color and rate of the app_config of this model's network, and its cut"
    add("--variants", type=Path, metavar="FILE", help=text)
    text = "tensors where the model ends, comma separated, as of 'neuralart compile' (default: those of --variants)"
    add("--cut", type=lambda text: tuple(text.split(",")), default=(), metavar="NAMES", help=text)
    text = "who computes the outputs: LiteRT (default for a .tflite), or the model's image on a virtual board"
    add("--expected", choices=("litert", "board"), help=text)
    add("--board", default="", metavar="NAME", help="that board (default: stm32n6570-dk; mps3-an547 without Unicorn)")
    text = (
        "the virtual NPU computes the outputs of what ST Edge AI Core compiled: they show what another compile changes"
    )
    add("--from-npu", action="store_true", help=text)
    add_options(parser)
    add_force(parser)


def _network(variants: Path, model: Path) -> NetworkConfig:
    """The network of a model that says something about it. NeuralArtError: none does."""
    from neuralart import config

    file = config.read(variants)
    for name in file.config.titles:
        for network in file.variant(name).networks:
            says = network.app_config or network.cut or network.input_shapes
            if says and (variants.parent / network.model).resolve() == model.resolve():
                return network
    raise NeuralArtError(
        f"no network of {model.as_posix()} has an app_config, a cut or input_shapes", where=str(variants)
    )


def preprocessing(args: argparse.Namespace, said: AppConfig | None) -> Preprocessing:
    """What the options of :func:`add_preprocessing` ask for; what they do not comes from the network's settings."""
    from neuralart_virtual.emulator.inputs.preprocessing import AS_THEY_ARE

    how = AS_THEY_ARE
    if said is not None:
        resize, color = _RESIZES.get(said.aspect_ratio, said.aspect_ratio), "bgr" if said.color_mode == "bgr" else "rgb"
        rate = said.audio.target_rate if said.audio is not None else 0
        how = replace(how, resize=resize, color=color, rate=rate)
    asked = {key: getattr(args, key) for key in ("scale", "offset", "resize", "color", "rate")}
    return replace(how, **{key: value for key, value in asked.items() if value is not None})


def _inputs(args: argparse.Namespace, how: Preprocessing, ports: Sequence[Port]) -> list[bytes]:
    """All vectors that are asked for. NeuralArtError: none is, or an input does not fit."""
    from neuralart_virtual.emulator.inputs.source import InputFile, RandomInputs, input_data

    feeds: list[InputFile | RandomInputs] = [InputFile(path, how) for path in args.inputs]
    feeds += [RandomInputs(args.random, args.seed)] if args.random else []
    if not feeds:
        raise NeuralArtError("no inputs", hint="name files of inputs, or --random N")
    return [vector for feed in feeds for vector in input_data(feed, ports)]


def _write(
    folder: Path, inputs: Sequence[Port], outputs: Sequence[Port], data: Sequence[bytes], found: ExpectedOutputs
) -> int:
    from neuralart_virtual.emulator import vectors as golden

    sides = golden.tensors_of(inputs), golden.tensors_of(outputs)
    golden.write(folder, golden.Vectors(str(folder), *sides, tuple(data), found.outputs), found.oracle)
    say(f"{folder.as_posix()}: {len(data)} vector{'s' if len(data) > 1 else ''}, outputs by {found.oracle}")
    return 0


def _from_npu(args: argparse.Namespace) -> int:
    """Outputs of a compiled network. NeuralArtError: it cannot be executed, or an option is of models."""
    from neuralart.text.progress import at_work
    from neuralart_virtual.vectors import npu_buffers, npu_outputs
    from neuralart_virtual.virtual_npu import of_arguments

    for option in ("expected", "board", "cut"):
        if getattr(args, option):
            hint = "the network is compiled already: leave one of them out"
            raise NeuralArtError(f"--from-npu and --{option}", hint=hint)
    project = args.variants or Path("variants.yaml")
    path, options = npu_outputs.found(args.model.as_posix(), project, of_arguments(args))
    network = npu_outputs.NpuVectors(path, options)
    data = _inputs(args, preprocessing(args, None), network.inputs)
    with at_work(f"virtual NPU: {path.name}") as work:
        found, kept = network.compute(data, lambda done: work.show(done, len(data), "vectors"))
    npu_buffers.write(args.output, kept)
    return _write(args.output, network.inputs, network.outputs, data, found)


def run(args: argparse.Namespace) -> int:
    """Make the folder. NeuralArtError: an input does not fit, or the outputs cannot be computed."""
    from neuralart.compilers.request import input_shapes
    from neuralart_reference.model import reader
    from neuralart_virtual.emulator import vectors as golden
    from neuralart_virtual.vectors import expected, npu_buffers

    for name in (*golden.FILES, *npu_buffers.FILES):
        refuse(args.output / name, force=args.force)
    if args.from_npu:
        return _from_npu(args)
    if args.assume or args.ties:
        raise NeuralArtError("it is of the virtual NPU", where="--assume and --ties", hint="--from-npu")
    network = None if args.variants is None else _network(args.variants, args.model)
    how = preprocessing(args, network.app_config if network is not None else None)
    cut = args.cut or (network.cut if network is not None else ())
    shapes = input_shapes(",".join(network.input_shapes) if network is not None else "")
    model = reader.read(args.model, cut=cut, shapes=shapes)
    inputs, outputs = (expected.ports(model, tensors) for tensors in (model.inputs, model.outputs))
    data = _inputs(args, how, inputs)
    if args.expected == expected.LITERT or (not args.expected and expected.has_litert() and not model.channels_first):
        found = expected.by_litert(args.model, inputs, data, cut, shapes)
    else:
        found = expected.by_board(args.model, args.board or expected.default_board(), data, cut, shapes)
        text = "the outputs come from the compiler of this project: they show later changes, not whether it is right"
        say(f"neuralart vectors: note: {text}", file=sys.stderr)
    return _write(args.output, inputs, outputs, data, found)
