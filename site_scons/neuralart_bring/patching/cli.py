"""``neuralart tool patch``: fit an application's own C sources to a network, out of tree or in place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError, nearest
from neuralart.text.console import say
from neuralart.text.sizes import parse

if TYPE_CHECKING:
    from neuralart_bring.patching.plan import PatchRequest, Plan

OUTDATED = 1
DEFAULT_OUTPUT = Path("build") / "patched"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("application", metavar="APPLICATION", type=Path, help="the application's folder")
    add("--network", type=Path, metavar="DIR", help="what generate wrote: c_info.json and headers")
    add("--c-info", type=Path, metavar="FILE", help="the c_info.json, if it is elsewhere")
    add("--headers", type=Path, metavar="DIR", help="network_data_params.h etc., if they are elsewhere")
    add("--aspect-ratio", metavar="MODE", help="crop, padding or fit")
    add("--list", default="", metavar="LIST", help="patch list: a name, or a .yaml file of your own")
    how = parser.add_mutually_exclusive_group()
    text = f"folder for patched copies (default: {DEFAULT_OUTPUT.as_posix()})"
    how.add_argument("--output", type=Path, metavar="DIR", help=text)
    how.add_argument("--in-place", action="store_true", help="patch the application's own files")
    how.add_argument("--restore", action="store_true", help="take patches in place back")
    only = parser.add_mutually_exclusive_group()
    text = "show what would change in the application's files, write nothing"
    only.add_argument("--diff", action="store_true", help=text)
    only.add_argument("--check", action="store_true", help="is everything up to date? write nothing; 1 if it is not")
    add("--force", action="store_true", help="overwrite generated blocks that were changed by hand")
    add("--linker-script", type=Path, metavar="FILE", help="instead of the patch list's")
    add("--memory-pools", type=Path, metavar="FILE", help="memory-pool file that limits memories")
    text = "kept free for the application, as AXIRAM=96K"
    add("--reserve", action="append", default=[], metavar="MEMORY=SIZE", help=text)
    text = "the application's include path, for patched.json"
    add("--include", action="append", default=[], metavar="DIR", help=text)


def run(args: argparse.Namespace) -> int:
    """Patch, show, check or restore; 1 if ``--check`` found something out of date. NeuralArtError: it cannot be."""
    if args.restore:
        return _restore(args)
    request = _request(args)
    name = str(Path(args.list).absolute()) if args.list and args.list != request.patches.name else ""
    in_place = args.in_place or (args.diff and args.output is None)
    return _in_place(args, request, name) if in_place else _out_of_tree(args, request)


def _request(args: argparse.Namespace) -> PatchRequest:
    from neuralart_bring.patching.network_files import NetworkFiles
    from neuralart_bring.patching.patch_values import MODES
    from neuralart_bring.patching.patchlist import choose_list
    from neuralart_bring.patching.plan import PatchRequest

    patches = choose_list(args.application, args.list)
    if args.aspect_ratio is None:
        raise NeuralArtError("--aspect-ratio is missing", hint="crop, padding or fit, as the network was trained for")
    if args.aspect_ratio not in MODES:
        what, hint = f"aspect ratio '{args.aspect_ratio}' is not known", nearest(args.aspect_ratio, MODES)
        raise NeuralArtError(what, where="--aspect-ratio", hint=hint)
    if args.network is None and (args.c_info is None or args.headers is None):
        hint = "the folder with network_c_info.json and the generated headers"
        raise NeuralArtError("--network is missing", hint=hint)
    folder = args.network if args.network is not None else args.headers
    found = NetworkFiles.in_folder(folder, patches.network)
    network = NetworkFiles(args.c_info or found.c_info, args.headers or found.headers, args.headers or found.sources)
    given = {name: getattr(args, name) for name in ("linker_script", "memory_pools", "force")}
    return PatchRequest(args.application, network, args.aspect_ratio, patches, _reserve(args.reserve), **given)


def _reserve(given: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in given:
        memory, sign, size = text.partition("=")
        if not sign or not memory:
            raise NeuralArtError(f"--reserve {text}: MEMORY=SIZE is expected", hint="such as --reserve AXIRAM=96K")
        found[memory] = parse(size, f"--reserve {text}")
    return found


def _in_place(args: argparse.Namespace, request: PatchRequest, name: str) -> int:
    from neuralart_bring.patching import inplace, journal
    from neuralart_bring.patching.patchlist import find_root

    if not (args.diff or args.check):
        plan, changed = inplace.patch(request, name)
        _report(plan)
        say(*[f"patched {path}" for path in changed] or ["up to date"])
        return 0
    root = find_root(request.application, request.patches)
    if root is not None and journal.pending(root):
        return _interrupted(root)
    plan, changes = inplace.plan(request, name)
    if args.diff:
        return _print_diff(plan)
    return _checked([change.path for change in changes if not change.path.startswith(f"{journal.STATE}/")])


def _out_of_tree(args: argparse.Namespace, request: PatchRequest) -> int:
    from neuralart_bring.patching import journal, mirror
    from neuralart_bring.patching.plan import make

    output = args.output or DEFAULT_OUTPUT
    if (args.diff or args.check) and journal.pending(output):
        return _interrupted(output)
    plan = make(request)
    if args.diff:
        mirror.check_output(plan.root, plan.patches, output)
        return _print_diff(plan)
    if args.check:
        return _checked([each.path for each in mirror.changes(plan, output, args.include, force=args.force)])
    changed = mirror.write(plan, output, args.include, force=args.force)
    _report(plan)
    patched = [path for path in changed if any(path == each.path for each in plan.files)]
    others = len(set(changed) - {*patched, mirror.INDEX})
    lines = [f"patched {path}" for path in patched] + [f"{others} copies beside"] * bool(others)
    for line in lines if changed else ["up to date"]:
        say(line)
    say(f"{(output / mirror.INDEX).as_posix()} has the include path and the sources")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from neuralart_bring.patching import inplace, patchlist

    if args.diff or args.check:
        raise NeuralArtError("--restore goes with neither --diff nor --check")
    patches = patchlist.load(args.list) if args.list else None
    root = patchlist.find_root(args.application, patches) if patches else inplace.find_state(args.application)
    if root is None:
        if not args.application.is_dir():
            raise NeuralArtError("no such folder", where=str(args.application))
        say("nothing to restore: no patch in place is known here")
        return 0
    changed = inplace.restore(root, patches, force=args.force)
    say(*[f"restored {path}" for path in changed] or ["nothing to restore"])
    return 0


def _interrupted(root: Path) -> int:
    say(f"neuralart patch: {root}: a patch was interrupted; the next patch or --restore finishes it", file=sys.stderr)
    return OUTDATED


def _checked(paths: list[str]) -> int:
    say(*[f"out of date: {path}" for path in paths] or ["up to date"])
    return OUTDATED if paths else 0


def _notes(plan: Plan) -> None:
    for note in plan.notes:
        say(f"neuralart patch: note: {note}", file=sys.stderr)


def _report(plan: Plan) -> None:
    decision = plan.decision
    camera = decision.camera
    say(f"camera: {camera.constant}, {camera.mode}, captured {camera.buffer_width}x{camera.buffer_height}")
    for each in decision.activations:
        mark = ", holds the input" if decision.input is not None and decision.input.number == each.number else ""
        say(f"activation buffer {each.number}: {each.bytes} bytes in {each.region} (pool {each.pool}{mark})")
    for image in decision.images.values():
        say(f"image buffer {image.name}: {image.bytes} bytes in {image.region}")
    for region in decision.regions:
        say(f"{region.name}: {region.used} of {region.capacity} bytes ({region.budget})")
    _notes(plan)


def _print_diff(plan: Plan) -> int:
    from neuralart_bring.patching.plan import diff

    print(diff(plan), end="")
    _notes(plan)
    return 0
