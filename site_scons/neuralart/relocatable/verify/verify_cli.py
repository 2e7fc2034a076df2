"""``neuralart relocatable verify``: is everything in the image as the format wants it?"""

from __future__ import annotations

import argparse
from pathlib import Path

from neuralart.relocatable.format import opening

SCHEMA = 1
REFUSED = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    opening.configure(parser)
    parser.add_argument("--board", default="", metavar="NAME", help="its memories are meant (default: any known one)")
    parser.add_argument(
        "--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Print all findings.

    Returns:
        0 without errors, 1 with any.

    Raises:
        NeuralArtError: The file is no image, or parts of it cannot be found.
    """
    import json
    import sys
    from dataclasses import asdict

    from neuralart.relocatable.verify import report, verify_memories
    from neuralart.relocatable.verify.verifier import verify

    image = opening.read(args)
    findings = verify(image, verify_memories.of_board(args.board, args.board_file))
    errors = sum(finding.level == "error" for finding in findings)
    if args.json:
        data = {
            "schema": SCHEMA,
            "file": image.where,
            "ok": not errors,
            "errors": errors,
            "warnings": len(findings) - errors,
            "findings": [asdict(finding) for finding in findings],
        }
        print(json.dumps(data, indent=1))
        return REFUSED if errors else 0
    for finding in findings:
        print(f"{image.where}: {finding.level}: {finding.check}: {finding}", file=sys.stderr)
    if not errors:
        # What was not checked, or is not known, is not called sound.
        verdict = f"no errors, {len(findings)} warning{'s' * (len(findings) > 1)}" if findings else "sound"
        print(
            f"{image.where}: {verdict}: '{image.context.c_name}' for runtime {report.version_text(image)}, "
            f"{image.header_words} header words, {len(image.got)} GOT words, {len(image.relocations)} relocations, "
            f"{len(image.pools)} pools"
        )
    return REFUSED if errors else 0
