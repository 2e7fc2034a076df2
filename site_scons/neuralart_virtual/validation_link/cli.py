"""``neuralart tool talk``: ask a board with firmware for validation what it is, let it compute, read its memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_virtual.validation_link.client import ValidationClient
    from neuralart_virtual.validation_link.messages import Fields


def _number(text: str) -> int:
    return int(text, 0)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("port", metavar="PORT", help="/dev/ttyACM0, COM4, socket://HOST:PORT, rfc2217://HOST:PORT")
    add("--baud", type=int, default=921600, metavar="N", help="default: %(default)s")
    add("--network", default="", metavar="NAME", help="one of the board's networks (default: the only one)")
    text = "let it compute: raw elements of each input, in their order"
    add("--input", action="append", default=[], type=Path, metavar="FILE", help=text)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--per-layer", action="store_true", help="also show each layer of the inference")
    text = "also write the tensors of each layer there, raw, where the board's firmware sends them"
    what.add_argument("--layers", type=Path, metavar="FOLDER", help=text)
    text = "only measure an inference: each --input is one element, which fills the tensor"
    what.add_argument("--perf", action="store_true", help=text)
    text = "read the board's memory instead"
    what.add_argument("--memory", nargs=2, type=_number, metavar=("ADDRESS", "SIZE"), help=text)
    add("--lines", action="store_true", help="also show the lines of text that the board sends of each layer")
    outputs.add(parser, "-o", "--output", help="write outputs, concatenated, or memory there")


def _described(tensor: Fields) -> str:
    from neuralart_virtual.validation_link.messages import dtype

    return f"{tensor['name'] or '-'} {dtype(tensor['format'])}[{','.join(map(str, tensor['shape']))}]"


def _run(args: argparse.Namespace, client: ValidationClient) -> Iterator[str]:
    from neuralart.files import read_bytes, write_bytes
    from neuralart_virtual.validation_link import layer_files
    from neuralart_virtual.validation_link.client import IO_ONLY, PER_LAYER, PERF, WITH_DATA

    mode = PERF if args.perf else WITH_DATA if args.layers else PER_LAYER if args.per_layer else IO_ONLY
    network, given = client.network(args.network), [read_bytes(path) for path in args.input]
    *layers, whole = client.run(network, given, mode)
    if args.layers:
        layer_files.write(args.layers, network["name"], given, layers, force=args.force)
    for number, each in enumerate((*layers, whole)):
        one = each.operator
        yield f"{one['name'] or 'epoch ' + str(one['id'] & 0xFFFF)}: {one['duration']:.3f} ms"
        for index, tensor in enumerate(each.tensors):
            shown, data = f"  {_described(tensor['description'])}", tensor["data"]["content"]
            if args.layers and each is not whole and data:
                shown += f" -> {args.layers / layer_files.file_of(number, index)}"
            yield shown
        yield from (f"  | {line}" for line in each.lines if args.lines)
    if args.output is not None:
        write_bytes(args.output, b"".join(tensor["data"]["content"] for tensor in whole.tensors))


def _answers(args: argparse.Namespace, client: ValidationClient) -> Iterator[str]:
    from neuralart.files import write_bytes

    system = client.system
    yield f"device 0x{system['device']:x}, core {system['core_hz'] / 1e6:g} MHz, framing {client.framing}"
    if args.memory:
        data, checksum = client.read(*args.memory), client.checksum(*args.memory)
        yield f"{len(data)} bytes at 0x{args.memory[0]:08x}, checksum 0x{checksum:04x}"
        if args.output is not None:
            write_bytes(args.output, data)
    elif args.input:
        yield from _run(args, client)
    else:
        for network in client.networks():
            yield f"{network['name']} {network['signature']}: {network['nodes']} nodes, {network['runtime_text']}"
            yield from (f"  input {_described(each)}" for each in network["inputs"])
            yield from (f"  output {_described(each)}" for each in network["outputs"])


def run(args: argparse.Namespace) -> int:
    """Talk with the board. NeuralArtError: it does not answer, or refuses."""
    from neuralart_board.ports import BoardPort
    from neuralart_virtual.validation_link.client import ValidationClient

    with closing(BoardPort(args.port, args.baud)) as port, closing(ValidationClient(port)) as client:
        for line in _answers(args, client):
            say(line, flush=True)  # Names come from the board
    return 0
