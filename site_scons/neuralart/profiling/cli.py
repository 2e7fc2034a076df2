"""``neuralart profile``: what the compiler expects of a network, epoch by epoch and as a whole."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def _megahertz(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1.0 <= value <= 100_000.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a clock in MHz, for example 800")
    return value * 1e6


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "network", metavar="NETWORK", help="folder of a compile, c_info.json, network.csv, network.c, or a variant"
    )
    parser.add_argument("-n", "--name", default="", help="C name of the network, where a folder holds several")
    parser.add_argument(
        "--npu-mhz", type=_megahertz, default=1e9, metavar="MHZ", dest="npu_hz", help="clock of the NPU (default: 1000)"
    )
    parser.add_argument(
        "--pools", type=Path, metavar="FILE", help=".mpool: how fast the pools are, where the files do not tell"
    )
    parser.add_argument(
        "--build", type=Path, default=Path("build"), metavar="DIR", help="build folder of a variant (default: build)"
    )
    parser.add_argument("--json", action="store_true", help="for programs (docs/reference/profile.md)")


def run(args: argparse.Namespace) -> int:
    """Print the estimate. NeuralArtError: there is no such network, or one of its files is wrong."""
    from neuralart.inspect.tables import table
    from neuralart.profiling import estimate, totals

    path = Path(args.network)
    speeds = estimate.speeds_of(args.pools) if args.pools else {}
    if path.is_dir():
        found = [estimate.of_folder(path, args.name, speeds)]
    elif path.exists() or path.suffix:
        found = [estimate.of_file(path, speeds)]
    else:
        found = [each for each in estimate.of_variant(args.network, args.build) if args.name in ("", each.name)]
    records = [totals.to_record(each, args.npu_hz) for each in found]
    if args.json:
        print(json.dumps(records[0] if len(records) == 1 else records, indent=1, allow_nan=False))
        return 0
    for each in found:
        print(f"{each.name or path.name}: estimate of the compiler ({', '.join(each.source)}); cycles of the NPU clock")
        for line in table(totals.HEADS, totals.rows(each, args.npu_hz)):
            print(line)
        for line in totals.summary(each, args.npu_hz):
            print(f"  {line}")
    return 0
