"""``neuralart relocatable check``: what will the loader do with the image at these addresses?"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from neuralart.relocatable.format import opening

if TYPE_CHECKING:
    from neuralart.memory.findings import Finding
    from neuralart.relocatable.format.types import Image
    from neuralart.relocatable.predict.prediction import Firmware, Prediction, Room

SCHEMA = 1
REFUSED = 1
_ROOM = re.compile(r"([^:]+):(0[xX][0-9a-fA-F]+|[0-9]+)([kKmM]?)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def _room(text: str) -> Room:
    from neuralart.relocatable.predict.prediction import Room

    match = _ROOM.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not ADDRESS:SIZE, for example 0x34200000:512K")
    size = int(match[2], 0 if match[2][:2] in ("0x", "0X") else 10) * _UNITS[match[3].lower()]
    room = Room(opening.number(match[1]), size)
    if not size or room.end > 1 << 32:
        raise argparse.ArgumentTypeError(f"'{text}' is no memory below 4 GiB")
    return room


def _mode(text: str) -> tuple[bool, bool]:
    """Copy, clear."""
    words = text.lower().split(",")
    if set(words) - {"xip", "copy", "clear"} or len(words) != len(set(words)) or {"xip", "copy"} <= set(words):
        raise argparse.ArgumentTypeError(f"'{text}' is not a mode: xip or copy, with ,clear behind it if wanted")
    return "copy" in words, "clear" in words


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    number = opening.number
    opening.configure(parser, "--params-file")
    parser.add_argument("--at", required=True, type=number, metavar="A", help="address of the image")
    parser.add_argument("--ram", required=True, type=_room, metavar="A:SIZE", help="executive RAM, as 0x34200000:512K")
    parser.add_argument("--ext-ram", type=_room, metavar="A:SIZE", help="external RAM")
    parser.add_argument("--params", type=number, default=0, metavar="A", help="address of a split model's params")
    parser.add_argument(
        "--mode", type=_mode, default=(False, False), metavar="M", help="xip or copy, with ,clear (default: xip)"
    )
    parser.add_argument(
        "--runtime", default="", metavar="V", help="runtime of the firmware, as 1.1.3.262 (default: the image's)"
    )
    for option, what in (
        ("--secure", "does the firmware run in the secure state?"),
        ("--dbg-info", "is the firmware compiled with LL_ATON_EB_DBG_INFO?"),
    ):
        parser.add_argument(
            option, choices=("yes", "no"), metavar="yes|no", help=f"{what} (default: as the image wants it)"
        )
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")


def _firmware(args: argparse.Namespace, image: Image) -> Firmware:
    from neuralart.relocatable.format import flags
    from neuralart.relocatable.predict import predict_firmware
    from neuralart.relocatable.predict.prediction import Firmware

    decoded = flags.decode(image.header["flags"])
    version = predict_firmware.version_of(image)
    return Firmware(
        version=predict_firmware.read_version(args.runtime) if args.runtime else version,
        secure=decoded.secure if args.secure is None else args.secure == "yes",
        dbg_info=decoded.dbg_info if args.dbg_info is None else args.dbg_info == "yes",
    )


def as_data(image: Image, findings: tuple[Finding, ...], predicted: Prediction, firmware: Firmware) -> dict[str, Any]:
    """The answer as plain mappings, lists, texts and integers."""
    from dataclasses import asdict

    errors = [finding for finding in findings if finding.level == "error"]
    return {
        "schema": SCHEMA,
        "file": image.where,
        "runtime": firmware.text,
        "ok": predicted.works and not errors,
        "code": predicted.code,
        "name": predicted.name,
        "reason": predicted.reason,
        "remedy": predicted.remedy,
        "ram_needed": predicted.ram_needed,
        "ext_ram_needed": predicted.ext_ram_needed,
        "steps": list(predicted.steps),
        "unnoticed": [asdict(finding) for finding in predicted.unnoticed],
        "image_findings": [asdict(finding) for finding in findings],
    }


def run(args: argparse.Namespace) -> int:
    """Print the prediction.

    Returns:
        0 if the model installs and works as far as can be told, else 1.

    Raises:
        NeuralArtError: The file is no image, or the runtime's version is not one.
    """
    import json
    import sys

    from neuralart.relocatable.predict.prediction import Call
    from neuralart.relocatable.predict.predictor import predict
    from neuralart.relocatable.verify.verifier import verify

    image = opening.read(args)
    firmware = _firmware(args, image)
    copy, clear = args.mode
    call = Call(args.at, args.ram, args.ext_ram, args.params, copy, clear)
    # A split model's params are not needed to predict their install.
    findings = tuple(finding for finding in verify(image) if not (finding.check == "params" and image.params is None))
    predicted = predict(image, call, firmware)
    data = as_data(image, findings, predicted, firmware)
    if args.json:
        print(json.dumps(data, indent=1))
        return 0 if data["ok"] else REFUSED
    for finding in findings:
        print(f"{image.where}: {finding.level}: {finding.check}: {finding}", file=sys.stderr)
    for finding in predicted.unnoticed:
        print(f"{image.where}: {finding.level}: not noticed by the loader: {finding}", file=sys.stderr)
    print(f"{image.where}: '{image.context.c_name}' at 0x{call.at:08x}, mode {call.mode}, runtime {firmware.text}")
    for step in predicted.steps:
        print(f"  {step}")
    needs = f"  executive RAM: {predicted.ram_needed:,} of {call.ram.size:,} bytes"
    external = f", external RAM: {predicted.ext_ram_needed:,} bytes" if predicted.ext_ram_needed else ""
    print(needs + external)
    reason = f": {predicted.reason}" if predicted.reason else ""
    remedy = f" ({predicted.remedy})" if predicted.remedy else ""
    print(f"  install returns {predicted.code} {predicted.name}{reason}{remedy}")
    if predicted.code == 0 and not predicted.works:
        print("  but the model will not work")
    return 0 if data["ok"] else REFUSED
