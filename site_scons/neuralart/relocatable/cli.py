"""``neuralart relocatable``: builds, verifies and checks relocatable models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.text import sizes
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart.findings import Finding
    from neuralart.relocatable.format.types import Image
    from neuralart.relocatable.predict.prediction import LoadingFirmware, Room

SCHEMA = 1
REFUSED = 1
_ROOM = lazy_regex(r"([^:]+):(0[xX][0-9a-fA-F]+|[0-9]+)([kKmM]?)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}


def _room(text: str) -> Room:
    from neuralart.relocatable.predict.prediction import Room

    match = _ROOM.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not ADDRESS:SIZE, for example 0x34200000:512K")
    size = int(match[2], 0 if match[2][:2] in ("0x", "0X") else 10) * _UNITS[match[3].lower()]
    room = Room(sizes.word(match[1]), size)
    if not size or room.end > 1 << 32:
        raise argparse.ArgumentTypeError(f"'{text}' is no memory below 4 GiB")
    return room


def _mode(text: str) -> tuple[bool, bool]:
    """Copy, clear."""
    words = text.lower().split(",")
    if set(words) - {"xip", "copy", "clear"} or len(words) != len(set(words)) or {"xip", "copy"} <= set(words):
        raise argparse.ArgumentTypeError(f"'{text}' is not a mode: xip or copy, with ,clear behind it if wanted")
    return "copy" in words, "clear" in words


def _declare_image(parser: argparse.ArgumentParser, params: str = "--params") -> None:
    """The options that say which image is meant; ``params`` names the one for the separate file of params."""
    add = parser.add_argument
    add("image", type=Path, metavar="FILE", help="network_rel.bin")
    add(params, dest="params_file", type=Path, metavar="FILE", help="network_rel_params.bin of a split model")
    add("--offset", type=sizes.word, default=0, metavar="N", help="where the image begins in FILE (default: 0)")


def _read_image(args: argparse.Namespace) -> Image:
    from neuralart.files import read_bytes
    from neuralart.relocatable.format import container

    data = read_bytes(args.image)
    if args.offset and args.offset >= len(data):
        what = f"--offset 0x{args.offset:x} is behind the end of the file, which has {len(data)} bytes"
        raise NeuralArtError(what, where=str(args.image))
    params = read_bytes(args.params_file) if args.params_file is not None else None
    return container.parse(data[args.offset :], str(args.image), params)


def _print_findings(image: Image, findings: tuple[Finding, ...], note: str = "") -> None:
    for finding in findings:
        say(f"{image.where}: {finding.level}: {note or finding.check}: {finding}", file=sys.stderr)


def _print_json(image: Image, data: dict[str, Any]) -> None:
    import json

    print(json.dumps({"schema": SCHEMA, "file": image.where, **data}, indent=1))


def _declare_board(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--board", default="", metavar="NAME", help="its memories are meant (default: any known one)")
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")


def _declare_verify(parser: argparse.ArgumentParser) -> None:
    _declare_image(parser)
    add = parser.add_argument
    _declare_board(parser)
    add("--json", action="store_true", help="for programs")


def _verify(args: argparse.Namespace) -> int:
    """Print all findings: is everything in the image as the format wants it?"""
    from dataclasses import asdict

    from neuralart.relocatable.verify import verify_pools
    from neuralart.relocatable.verify.verifier import verify
    from neuralart.vendor.releases import dotted

    image = _read_image(args)
    findings = verify(image, verify_pools.of_board(args.board, args.board_file))
    errors = sum(finding.level == "error" for finding in findings)
    if args.json:
        counts = {"ok": not errors, "errors": errors, "warnings": len(findings) - errors}
        _print_json(image, {**counts, "findings": [asdict(finding) for finding in findings]})
        return REFUSED if errors else 0
    _print_findings(image, findings)
    if not errors:
        # What was not checked, or is not known, is not called sound.
        verdict = f"no errors, {len(findings)} warning{'s' * (len(findings) > 1)}" if findings else "sound"
        print(
            f"{image.where}: {verdict}: '{image.context.c_name}' for runtime {dotted(image.version)}, "
            f"{image.header_words} header words, {len(image.got)} GOT words, {len(image.relocations)} relocations, "
            f"{len(image.pools)} pools"
        )
    return REFUSED if errors else 0


def _declare_check(parser: argparse.ArgumentParser) -> None:
    _declare_image(parser, "--params-file")
    add = parser.add_argument
    add("--at", required=True, type=sizes.word, metavar="A", help="address of the image")
    add("--ram", required=True, type=_room, metavar="A:SIZE", help="executive RAM, as 0x34200000:512K")
    add("--ext-ram", type=_room, metavar="A:SIZE", help="external RAM")
    add("--params", type=sizes.word, default=0, metavar="A", help="address of a split model's params")
    add("--mode", type=_mode, default=(False, False), metavar="M", help="xip or copy, with ,clear (default: xip)")
    add("--runtime", default="", metavar="V", help="runtime of the firmware, as 1.1.3.262 (default: the image's)")
    for option, what in (
        ("--secure", "does the firmware run in the secure state?"),
        ("--dbg-info", "is the firmware compiled with LL_ATON_EB_DBG_INFO?"),
    ):
        add(option, choices=("yes", "no"), metavar="yes|no", help=f"{what} (default: as the image wants it)")
    _declare_board(parser)
    add("--json", action="store_true", help="for programs; addresses and sizes are plain integers")


def _firmware(args: argparse.Namespace, image: Image) -> LoadingFirmware:
    from neuralart.relocatable.predict import prediction

    made_for = prediction.LoadingFirmware.of(image)
    return prediction.LoadingFirmware(
        version=prediction.read_version(args.runtime) if args.runtime else made_for.version,
        secure=made_for.secure if args.secure is None else args.secure == "yes",
        dbg_info=made_for.dbg_info if args.dbg_info is None else args.dbg_info == "yes",
    )


def _check(args: argparse.Namespace) -> int:
    """Print what will happen; 0 if the model installs and works as far as can be told."""
    from dataclasses import asdict

    from neuralart.relocatable.predict.prediction import InstallCall
    from neuralart.relocatable.predict.predictor import predict
    from neuralart.relocatable.verify import verify_pools
    from neuralart.relocatable.verify.verifier import verify

    image = _read_image(args)
    firmware = _firmware(args, image)
    call = InstallCall(args.at, args.ram, args.ext_ram, args.params, *args.mode)
    # A split model's params are not needed to predict their install.
    findings = verify(image, verify_pools.of_board(args.board, args.board_file))
    findings = tuple(finding for finding in findings if not (finding.check == "params" and image.params is None))
    found = predict(image, call, firmware)
    ok = found.works and all(finding.level != "error" for finding in findings)
    if args.json:
        plain = asdict(found)
        unnoticed = plain.pop("unnoticed")
        head = {"runtime": firmware.text, "ok": ok, "code": plain.pop("code"), "name": found.name}
        lists = {"unnoticed": unnoticed, "image_findings": [asdict(finding) for finding in findings]}
        _print_json(image, {**head, **plain, **lists})
        return 0 if ok else REFUSED
    _print_findings(image, findings)
    _print_findings(image, found.unnoticed, "not noticed by the loader")
    say(f"{image.where}: '{image.context.c_name}' at 0x{call.at:08x}, mode {call.mode}, runtime {firmware.text}")
    for step in found.steps:
        say(f"  {step}")
    external = f", external RAM: {found.ext_ram_needed:,} bytes" if found.ext_ram_needed else ""
    say(f"  executive RAM: {found.ram_needed:,} of {call.ram.size:,} bytes{external}")
    reason = f": {found.reason}" if found.reason else ""
    remedy = f" ({found.remedy})" if found.remedy else ""
    say(f"  install returns {found.code} {found.name}{reason}{remedy}")
    if found.code == 0 and not found.works:
        say("  but the model will not work")
    return 0 if ok else REFUSED


def configure(parser: argparse.ArgumentParser) -> None:
    from neuralart.relocatable.build import build_cli

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text, declare, action in (
        ("build", "make an image from network.c and its initializers", build_cli.configure, build_cli.run),
        ("verify", "prove every invariant of an image", _declare_verify, _verify),
        ("check", "predict what a loader will do with an image at given addresses", _declare_check, _check),
    ):
        added = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        declare(added)
        added.set_defaults(run_action=action)


def run(args: argparse.Namespace) -> int:
    """Do it: 0, or 1 if an image is refused. NeuralArtError: a file is no image, or another input is wrong."""
    return int(args.run_action(args))
