"""A new project for one model: names, files, and a first compile that shows whether the model can be built. And what
editors check its YAML files with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import boards, config, jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.network.targets import CPU, LEGACY_OPTIONS, check_name, flow_of
from neuralart.resources import templates
from neuralart.text.console import say
from neuralart_bring.own_model import elsewhere
from neuralart_bring.schema.cli import schema_text

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.network.facts import Network

TEMPLATES = {
    **{"SConstruct": "SConstruct.j2", "variants.yaml": "variants.yaml.j2", ".gitignore": "gitignore.j2"},
    **{".vscode/tasks.json": "tasks.json.j2", ".vscode/extensions.json": "extensions.json.j2"},
    "README.md": "README.md.j2",
}
"""File of a project -> template. Whatever else a project gets is a row here."""
MAIN = {False: "main.c.j2", True: "main_cpu.c.j2"}
"""Template of ``main.c``: for a board with an NPU, and for one whose networks run on its core."""
SCHEMA = ".vscode/variants.schema.json"
"""Where variants.yaml names its schema, for editors."""


@dataclass(frozen=True)
class Names:
    variant: str  # Its variant, as scons takes it
    network: str  # C name of its network
    suffix: str = ".tflite"  # Of its model

    @property
    def model(self) -> str:
        return f"models/{self.network}{self.suffix}"

    @property
    def check(self) -> str:
        """The variant of the same network in the reference application, which takes inputs from the host."""
        return f"{self.variant}-check"


def names_of(folder: Path) -> Names:
    """Names by a folder's: ``my cam`` gives variant ``my-cam``, network ``my_cam``. NeuralArtError: it is no C name."""
    text = folder.resolve().name
    names = Names(re.sub(r"\s+", "-", text), re.sub(r"[\s.-]", "_", text))
    try:
        check_name(names.network, str(folder))
    except NeuralArtError as error:
        what = f"the name of the folder gives no C name: {error.what}"
        raise NeuralArtError(what, where=str(folder), hint=error.hint) from error
    return names


def _plain(text: str) -> str:
    """A text as YAML writes it: without quotes where it is no number, no truth value and so on."""
    import yaml

    try:
        plain = yaml.safe_load(text) == text and yaml.safe_load(f"a: {text}") == {"a": text}
    except yaml.YAMLError:
        plain = False
    return text if plain else json.dumps(text)


def files(names: Names, board: Board, toolpath: str = "", memory: str = "") -> dict[str, bytes]:
    """Files of a project by their paths, but for the model. ``toolpath``: the folder of the package, as the project's
    SConstruct finds it; empty: the package is installed. ``memory``: the network's key of that name; empty: without.
    NeuralArtError: the names cannot be those of a variant.
    """
    from neuralart_bring.export import ide

    environment = templates(Path(__file__).with_name("templates"))
    cpu = flow_of(board.target) == CPU
    said = {"schema": SCHEMA, "variant": names.variant, "network": names.network, "model": names.model, "cpu": cpu}
    said |= {"board": board.name, "check": names.check, "macro": names.network.upper(), "toolpath": toolpath}
    said["memory"] = memory or None
    made = {}
    for file, template in {**TEMPLATES, "main.c": MAIN[cpu]}.items():
        quoted = {key: _plain(text) if isinstance(text, str) else text for key, text in said.items()}
        title = json.dumps(f"{names.variant} on {board.title}")
        values = {**quoted, "title": title} if file.endswith(".yaml") else said
        made[file] = environment.get_template(template).render(values).encode("utf-8")
    tasks = jsontext.loads(made[".vscode/tasks.json"])
    tasks["tasks"] += ide.debug_tasks([names.variant])
    made[".vscode/tasks.json"] = (json.dumps(tasks, indent=2) + "\n").encode("utf-8")
    made[SCHEMA] = schema_text("variants").encode("utf-8")
    made[".vscode/launch.json"] = ide.launch_json([names.variant]).encode("utf-8")
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "variants.yaml"
        path.write_bytes(made["variants.yaml"])
        # What cannot be built is not written.
        try:
            config.read(path).variant(names.variant)
        except NeuralArtError as error:
            what = f"the name of the folder gives no variant: {error.what}"
            raise NeuralArtError(what, where=names.variant, hint=error.hint) from error
    return made


def try_compile(model: Path, names: Names, board: Board) -> tuple[Network, str]:
    """Compile a model for a board, with the board's own memory pools.

    Returns:
        The network's facts, and the value of the key ``memory`` that it takes (empty: none).

    Raises:
        NeuralArtError: It cannot be compiled. The hint names boards that the model fits.
    """
    from neuralart_reference import fit

    try:
        return _compiled(model, names, board, []), ""
    except NeuralArtError as error:
        refusal = error
    try:
        _, answers = fit.fits(model, [boards.load(name) for name in boards.names()])
    except NeuralArtError:
        raise refusal from None  # Of the model, whichever board it is for
    memory = next((each.memory for each in answers if each.board == board.name), "")
    if not memory:
        hint = fit.named(answers) or refusal.hint
        raise NeuralArtError(refusal.what, where=refusal.where, hint=hint) from refusal
    return _compiled(model, names, board, ["--memory", memory]), memory


def _compiled(model: Path, names: Names, board: Board, more: list[str]) -> Network:
    from neuralart.compilers.protocol import compile_job, job_from_words
    from neuralart.network import facts

    words = ["--model", str(model), "--target", board.target, "--name", names.network, *more]
    if flow_of(board.target) == CPU:
        words += [*(["--memory-pool", str(board.memory_pools)] if board.memory_pools else []), *LEGACY_OPTIONS]
    else:
        words += ["--st-neural-art", f"default@{board.profile}"]
    with tempfile.TemporaryDirectory() as work:
        compile_job("reference", job_from_words(words), Path(work))
        return facts.load(Path(work) / "network.json")


def check_empty(folder: Path) -> None:
    """Refuse what is no new or empty folder."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "is not empty" if folder.is_dir() else "is no folder"
        raise NeuralArtError(what, where=str(folder), hint="name a new folder, or an empty one")


def relative_toolpath(toolpath: Path, folder: Path) -> str:
    """Where the SConstruct of a folder finds the package. NeuralArtError: it is not there."""
    if not (toolpath / "neuralart" / "__init__.py").is_file():
        hint = "it is the folder site_scons of scons-neuralart"
        raise NeuralArtError("holds no package neuralart", where=str(toolpath), hint=hint)
    if toolpath.is_absolute():
        return toolpath.as_posix()
    return "#" + Path(os.path.relpath(toolpath.resolve(), folder.resolve())).as_posix()


def write(folder: Path, made: dict[str, bytes]) -> None:
    """Write all files, or none. NeuralArtError: the folder cannot be written."""
    new, done = not folder.exists(), []
    try:
        for name, data in made.items():
            write_bytes(folder / name, data)
            done.append(folder / name)
    except BaseException:
        for path in done:
            path.unlink(missing_ok=True)
        for path in sorted({path.parent for path in done}, reverse=True):
            with contextlib.suppress(OSError):
                if path != folder or new:
                    path.rmdir()
        raise


def _elsewhere(folder: Path, board: Board, model: Path | None, world: str) -> int:
    """Make a folder with a network for another build, as :func:`make`."""
    if model is None:
        raise NeuralArtError("no model", where="--model", hint=f"a network for {world} is compiled with its model")
    names = replace(names_of(folder), suffix=model.suffix)
    made = elsewhere.files(world, names, board, try_compile(model, names, board)[1])
    write(folder, made | {elsewhere.model_path(world, names): read_bytes(model)})
    say(f"{folder.as_posix()}: network {names.network} for {world}, board {board.name}")
    place = shlex.quote(folder.as_posix())
    say(f"  next: {elsewhere.WORLDS[world].next.format(place, names.network.upper())}")
    return 0


def make(folder: Path, board: Board, model: Path | None, toolpath: Path | None) -> tuple[Names, Network | None]:
    """Make a project. Returns its names, and the facts of the network if there is a model. NeuralArtError: the folder
    is not empty, its name cannot be used, or the model cannot be compiled. Nothing is written then.
    """
    check_empty(folder)
    names = replace(names_of(folder), suffix=model.suffix if model is not None else ".tflite")
    beside = relative_toolpath(toolpath, folder) if toolpath is not None else ""
    if model is None:
        made, network = files(names, board, beside), None
    else:
        files(names, board, beside)  # Wrong names are said before a long compile
        network, memory = try_compile(model, names, board)
        made = files(names, board, beside, memory) | {names.model: read_bytes(model)}
    write(folder, made)
    return names, network


def configure_new(parser: argparse.ArgumentParser) -> None:
    add, text = parser.add_argument, "new or empty; its name becomes that of the variant and the network"
    add("folder", type=Path, metavar="FOLDER", help=text)
    add("--board", default="", metavar="NAME", help="board of the database: neuralart boards")
    add("--model", type=Path, metavar="FILE", help="the model (.tflite or .onnx), which is copied")
    text = "folder of the package neuralart, for a project beside it (default: the package is installed)"
    add("--toolpath", type=Path, metavar="DIR", help=text)
    text = "a network in a tree of another build instead: " + ", ".join(elsewhere.WORLDS)
    add("--for", dest="world", choices=elsewhere.WORLDS, metavar="BUILD", help=text)


def _asked_board() -> str:
    """The board, by a question if there is a terminal."""
    known = ", ".join(boards.names())
    if not sys.stdin.isatty():
        raise NeuralArtError("no board", where="--board", hint=f"known: {known}")
    try:
        return input(f"board ({known}): ").strip()
    except EOFError:
        return ""


def run_new(args: argparse.Namespace) -> int:
    """Make the folder, and say what comes next. NeuralArtError: it cannot be made."""
    check_empty(args.folder)
    if args.world is not None and args.toolpath is not None:
        hint = f"docs/how-to/{args.world}.md says how {args.world} finds the package"
        raise NeuralArtError("is of projects of variants", where="--toolpath", hint=hint)
    board = boards.load(args.board or _asked_board(), (), "--board")
    if args.world is not None:
        return _elsewhere(args.folder, board, args.model, args.world)
    names, network = make(args.folder, board, args.model, args.toolpath)
    say(f"{args.folder.as_posix()}: variant {names.variant}, network {names.network}, board {board.name}")
    if network is None:
        say(f"  your model is missing: put it at {(args.folder / names.model).as_posix()}")
    else:
        weights = sum(pool.weights for pool in network.pools if not pool.virtual)
        say(f"  {names.model}: {len(network.epochs)} epochs, {weights} bytes of weights")
    say(f"  next: cd {shlex.quote(args.folder.as_posix())}; neuralart run {names.variant}")
    return 0
