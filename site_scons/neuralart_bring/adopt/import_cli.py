"""``neuralart import``: a configuration of the model zoo becomes entries of variants.yaml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs
from neuralart.config.application import CMAKE, CUBEIDE, MAKE
from neuralart.config.networks import NAME
from neuralart.config.patch import ASPECT_RATIOS
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.text.console import say
from neuralart_bring.model_zoo import convert, sections, tree
from neuralart_bring.model_zoo.convert import Dropped, Imported

if TYPE_CHECKING:
    from neuralart_bring.adopt.tree import Repository

# What applications of the zoo for a core without an NPU call their network.
_CPU_NAME = "network"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, metavar="FILE", help="user_config.yaml of the model zoo, releases 1 to 4")
    text = "write it here (default: print it); never over another file"
    outputs.add(parser, "-o", "--output", help=text)
    parser.add_argument("--model", default="", metavar="FILE", help="the model, instead of model_path")
    parser.add_argument("--name", default="", metavar="NAME", help="name of the network (default: by the model)")
    parser.add_argument(
        "--board", default="", metavar="NAME", help="name of the board, instead of hardware_setup.board"
    )
    parser.add_argument("--use-case", default="", metavar="NAME", help="use case, where the file does not show it")
    parser.add_argument("--lossy", action="store_true", help="leave out also what changes the meaning")


def _with_application(imported: Imported, config: Path, base: Path, named: str) -> Imported:
    """What the application's folder says: how it is built, and where it is flashed; it is dropped if it is not there.
    ``base``: what paths of variants.yaml are relative to. ``named``: the name of the network, if the user said one.
    """
    from neuralart import boards
    from neuralart_bring.adopt import builds, entries, flash, places, tree

    project, configuration = imported.project, imported.configuration
    cpu = not str(imported.variant_settings["board"]).startswith(sections.N6_BOARDS)
    if project is None:
        return _without_application(imported) if cpu else imported
    name, board = project.text().replace("\\", "/"), str(imported.variant_settings["board"])
    folder = next((each / name for each in convert.bases(config) if (each / name).is_dir()), None)
    kinds = (CUBEIDE,) if "cubeide" in imported.ide else (MAKE, CMAKE) if imported.ide else (MAKE, CMAKE, CUBEIDE)
    repository = tree.look(folder, name) if folder is not None else None
    found = builds.builds(repository) if repository is not None else []
    # An STM32H7 may have two cores, and a project for each.
    fitting = sorted(
        (each for each in found if each.kind in kinds and not each.why),
        key=lambda each: (
            board not in entries.boards_in(each.file, (board,)),
            kinds.index(each.kind),
            cpu and "CM4" in each.file.split("/"),
        ),
    )
    if repository is None or folder is None or not fitting:
        why = "is not there" if folder is None else f"holds no build by {' or '.join(kinds)}"
        gone = Dropped(project.where, project.path, f"{name} {why}: its firmware is not built", lossy=True)
        return replace(_without_application(imported) if cpu else imported, dropped=(*imported.dropped, gone))
    build = fitting[0]
    settings = {"folder": convert.relative(folder, base), **build.settings}
    if cpu:
        imported, stage = _fitted(imported, folder, repository, named or _CPU_NAME)
        settings |= stage
    if configuration is not None and build.kind == CUBEIDE:
        settings["configuration"] = configuration.text()
    elif configuration is not None and build.kind == MAKE:
        settings["variables"] = {"BUILD_CONF": configuration.text()}
    said = {**imported.variant_settings, "application": {build.kind: settings}}
    if board in boards.names(()):
        said |= places.moved_slots(flash.commands(repository), boards.load(board), set())
    return replace(imported, variant_settings=said)


def _without_application(imported: Imported) -> Imported:
    """Entries for the camera application of this project, which has the runtime of the reference compiler."""
    settings = {key: value for key, value in imported.settings.items() if key != "compiler"}
    section = settings.get("app_config")
    if isinstance(section, Mapping) and "application" in section:
        settings["app_config"] = {key: section[key] for key in section if key != "application"} | {"generation": "h7"}
    variant = {key: value for key, value in imported.variant_settings.items() if key != "machine"}
    return replace(imported, settings=settings, variant_settings=variant)


def _rooms(repository: Repository) -> dict[str, object]:
    """``dispatch_weights`` by the zoo's description of the project, if a linker script of it places the sections."""
    from neuralart.vendor import h7_files

    scripts = [repository.text(path) for path in repository.own("*.ld")]
    for path in repository.own("stmaic_*.conf"):
        sizes = h7_files.read_cpu_project(repository.file(path), path).sizes
        inside = sizes.get("internalFlash_size", 0) - sizes.get("application_size", 0) - sizes.get("lib_size", 0)
        rooms = {".InternalFlashSection": inside, ".ExternalFlashSection": sizes.get("externalFlash_size", 0)}
        if min(rooms.values()) > 0 and any(all(section in script for section in rooms) for script in scripts):
            return {"dispatch_weights": rooms}
    return {}


def _fitted(imported: Imported, folder: Path, repository: Repository, name: str) -> tuple[Imported, dict[str, object]]:
    """For an application without an NPU: the name of its network and ``patch`` where a list fits, and ``stage``: the
    files of the network take the places of those that the application has.
    """
    from neuralart_bring.patching import patchlist

    section = imported.settings.get("app_config")
    ratio = section.get("aspect_ratio") if isinstance(section, Mapping) else None
    patch: dict[str, object] = {}
    try:
        if ratio in ASPECT_RATIOS and patchlist.choose_list(folder):
            patch = {"patch": {"aspect_ratio": ratio}}
    except NeuralArtError:
        pass  # another application: its sources stay as they are
    files = [repository.own(f"{name}.{end}")[:1] for end in "ch"]
    stage = {f"{name}*.{path[-1]}": f"{path.rpartition('/')[0] or '.'}/" for each in files for path in each}
    settings = {**imported.settings, **_rooms(repository)}
    said = {**imported.variant_settings, "network": name, **patch}
    made = replace(imported, network=name, settings=settings, variant_settings=said)
    return made, {"stage": stage} if stage else {}


def run(args: argparse.Namespace) -> int:
    """Print or write the entries; say on standard error what was left out, one line each. NeuralArtError: The file is
    no such configuration, or there is an output file already.
    """
    from neuralart import boards

    if args.name and not NAME.fullmatch(args.name):
        raise NeuralArtError(f"'{args.name}' is no C identifier", hint="the name of a network becomes part of symbols")
    top = tree.read(args.config, args.config.as_posix())
    wishes = convert.Wishes(args.name, args.model, args.board, args.use_case)
    imported = convert.convert(top, wishes, tuple(boards.names(())))
    output: Path | None = args.output
    imported = convert.relocated(imported, args.config, output, model_is_named=bool(args.model))
    imported = _with_application(imported, args.config, output.parent if output is not None else Path(), args.name)
    lost = [each for each in imported.dropped if each.lossy]
    if lost and not args.lossy:
        more = f"; {len(lost) - 1} more of this kind" if len(lost) > 1 else ""
        raise NeuralArtError(f"{lost[0].key}: {lost[0].reason}{more}", where=lost[0].where, hint="or --lossy")
    text = convert.text(imported, args.config.name)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
    for dropped in imported.dropped:
        say(f"dropped: {dropped}", file=sys.stderr)
    for note in imported.notes:
        say(f"note: {note}", file=sys.stderr)
    return 0
