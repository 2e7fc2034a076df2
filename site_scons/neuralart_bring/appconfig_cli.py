"""``neuralart tool appconfig``: the configuration header of an application from a network and its settings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from neuralart import outputs
from neuralart.text.console import say


def _generated(data: bytes) -> bool:
    return any(mark in data[:4096] for mark in (b". Generated: change what", b". Generated. */"))


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    text = "network.json, or c_info.json of the vendor's tool"
    add("--network", type=Path, required=True, metavar="FILE", help=text)
    add("--config", type=Path, required=True, metavar="FILE", help="YAML file with app_config:")
    text = "the application's sources (default: application: of the file)"
    add("--application", type=Path, metavar="DIR", help=text)
    add("--generation", metavar="NAME", help="kind of header (default: what the application expects)")
    add("--template", type=Path, metavar="FILE", help="your own template (default: template:)")
    add("--board", default="", metavar="NAME", help="name of the board, for the greeting on its display")
    add("--model-name", default="", metavar="TEXT", help="name of the model, for the same")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the header, or a folder for it")
    outputs.add_force(parser)


def run(args: argparse.Namespace) -> int:
    """Write the header and its files; equal ones stay. NeuralArtError: a wrong file, or no fitting network."""
    from neuralart import boards
    from neuralart.app_config import application as applications
    from neuralart.app_config import generate, tensors
    from neuralart.app_config.generations import GENERATIONS
    from neuralart.config import app_config
    from neuralart.errors import NeuralArtError, nearest
    from neuralart.files import write_text

    if args.generation is not None and args.generation not in GENERATIONS:
        raise NeuralArtError(f"no generation '{args.generation}'", hint=nearest(args.generation, tuple(GENERATIONS)))
    base = args.config.parent
    config = app_config.read(args.config, args.config.as_posix())
    network = tensors.read(args.network, args.network.as_posix())
    application = None
    if args.application is not None:
        application = applications.find(args.application, args.application.as_posix())
    elif config.application:
        application = applications.find(base / config.application, config.application, config.said("application"))
    template = args.template or (base / config.template if config.template else None)
    made = generate.header(
        config,
        network,
        classes=generate.class_names(config, base),
        application=application,
        generation=args.generation or "",
        model_name=args.model_name,
        board=args.board,
        narrow_display=args.board in boards.names() and boards.load(args.board).narrow_display,
        template=template,
        template_display=template.as_posix() if template is not None else "",
    )
    output = args.output / made.name if args.output.is_dir() else args.output
    texts = {output: made.text, **{output.parent / name: text for name, text in made.companions.items()}}
    for path in texts:
        outputs.refuse(path, _generated, force=args.force)
    for path, text in texts.items():
        if not path.is_file() or path.is_symlink() or path.read_bytes() != text.encode():
            write_text(path, text)
    if output.name != made.name:
        say(f"neuralart appconfig: note: the application includes {made.name}", file=sys.stderr)
    for note in made.notes:
        say(f"neuralart appconfig: note: {note}", file=sys.stderr)
    said = f", {made.symbol}" if made.symbol else ""
    say(f"{output.as_posix()}: generation {made.generation}{said}")
    return 0
