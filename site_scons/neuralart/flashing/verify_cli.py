"""``neuralart verify``: compare the flash of a device with a flash plan."""

from __future__ import annotations

import argparse
import sys

from neuralart.flashing.flash_cli import chosen, options

DIFFERS = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare them. Returns 0 when the flash holds every byte of the plan; 2 at the first difference."""
    runner, job = chosen(args)
    device = runner.device(str(args.record), args.probe)
    mismatch = runner.verify(job)
    if mismatch is not None:
        print(f"neuralart verify: {device}: {mismatch}", file=sys.stderr)
        return DIFFERS
    writes = job.plan.chosen(job.only)
    print(f"{device}: {len(writes)} writes, {sum(write.bytes for write in writes)} bytes, all as planned")
    return 0
