"""``neuralart tool npu-compare``: which assumptions of the virtual NPU records of a board confirm or refute."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from neuralart.text.console import say
from neuralart.text.progress import at_work

SCHEMA = "neuralart-npu-compare-1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    text = (
        "folders that 'neuralart tool talk PORT --input FILE --layers FOLDER' wrote, each of one inference of a board"
    )
    add("records", type=Path, nargs="+", metavar="RECORD", help=text)
    add("--network", type=Path, required=True, metavar="NETWORK.C", help="network.c of the compile that the board ran")
    text = "execute a mode that is not known for sure, and tell what the records say of it"
    add("--assume", action="append", default=[], metavar="UNIT.FIELD=VALUE", help=text)
    add("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what the records say. NeuralArtError: one is damaged, or of another network."""
    from neuralart.vendor.tables import plural, table
    from neuralart_virtual.emulator.inputs.preprocessing import library
    from neuralart_virtual.tie_rules import TIES
    from neuralart_virtual.validation_link import layer_files

    library("numpy", "the virtual NPU")
    from neuralart_virtual.npu import evidence

    records = [layer_files.read(path) for path in args.records]
    with at_work("npu-compare", quiet=args.json) as work:
        found = evidence.Evidence(args.network, records, args.assume)
        stages = found.stages(lambda done, most: work.show(done, most, "stages"))
    buffers, modes = found.best.buffers, found.modes()
    if args.json:
        data = {
            "schema": SCHEMA,
            "stages": {one.stage: {rule: [one.different[rule], one.verdict(rule)] for rule in TIES} for one in stages},
            "modes": {name: {"elements": of, "different": apart} for name, (of, apart) in modes.items()},
            "buffers": [
                {"epoch": b.epoch, "address": b.address, "elements": b.elements, "different": b.different}
                for b in buffers
            ],
            "not_compared": found.tensors - len(buffers),
        }
        print(json.dumps(data, indent=1))
        return 0
    rows = [(one.stage, *(f"{one.different[rule]} {one.verdict(rule)}" for rule in TIES)) for one in stages]
    lines = ["elements that differ from the board, by the tie rule of a stage:", *table(("stage", *TIES), rows)]
    for name, (of, apart) in modes.items():
        lines.append(f"{name}: {'confirmed' if not apart else 'refuted'}: {apart} of {plural(of, 'element')} differ")
    lines += [
        f"epoch {b.epoch}: {b.different} of {plural(b.elements, 'element')} at 0x{b.address:08x} differ"
        for b in buffers
        if b.different
    ]
    elements = sum(b.elements for b in buffers)
    lines.append(
        f"{plural(len(buffers), 'buffer')} of {plural(elements, 'element')} compared with the best rules, "
        f"{found.best.different} differ; {found.tensors - len(buffers)} recorded tensors are no buffers"
    )
    say(*lines)
    return 0
