"""``neuralart tool matrix``: the jobs that build the variants of a project on several machines."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path

from neuralart import intact, jsontext, project_folder
from neuralart.errors import NeuralArtError, nearest
from neuralart.text.console import say


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("variants", nargs="*", metavar="VARIANT", help="what to build (default: what a bare scons builds)")
    add("--all", action="store_true", help="all variants of the project file")
    text = "github: JSON for fromJSON (default); gitlab: a child pipeline (JSON, which is YAML)"
    add("--format", choices=("github", "gitlab"), default="github", help=text)
    add("--shards", type=int, metavar="N", help="so many jobs of about equal cost (default: one for each variant)")
    add("--verb", default="", metavar="VERB", help="each job asks for VERB-VARIANT, too: run, for example")
    text = "instead: keep what 'scons --debug=time,json' took for --shards, in variants.costs.json; commit it"
    add("--record", type=Path, metavar="scons_stats.json", help=text)
    project_folder.add_file(parser)


def record(project: Path, stats: Path, known: Collection[str], verbs: Collection[str]) -> None:
    """Write the costs: a step counts for each variant that has its file. NeuralArtError: there are no times."""
    from neuralart.files import read_bytes, write_text
    from neuralart_fleet.ci import shards

    hint = "scons --debug=time,json VARIANT ... writes it when everything is built anew"
    stamps = intact.load(str(project.parent / "build" / intact.NAME)) or {"variants": {}}
    path, costs = project.with_suffix(shards.SUFFIX), shards.costs_of(project)
    try:
        commands = jsontext.loads(read_bytes(stats, hint))["Time"]["Commands"].items()
        took = {name: round(1000 * min(max(each["duration"], 0), 1e9)) for name, each in commands}
        for name in known:
            steps = {*intact.files_of(stamps, name), *(f"{verb}{name}" for verb in verbs)}
            costs |= {name: sum(took[step] for step in steps & took.keys())} if steps & took.keys() else {}
    except intact.DAMAGED as error:
        raise NeuralArtError("has no times of steps", where=str(stats), hint=hint) from error
    kept = {name: cost for name, cost in costs.items() if name in known}
    write_text(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")
    say(f"{path.as_posix()}: {len(kept)} of {len(known)} variants")


def run(args: argparse.Namespace) -> int:
    """Print the jobs, or record costs. NeuralArtError: a variant is none, or there is nothing to build."""
    from neuralart import config
    from neuralart.config.read import verbs
    from neuralart_fleet.ci import shards

    file: Path = args.file
    project = config.read(file, file.as_posix()).config
    known = list(project.titles)
    if args.record is not None:
        record(file, args.record, known, verbs())
        return 0
    words = [*((name, known) for name in args.variants), (f"{args.verb}-", [*verbs(), "-"])]
    for word, names in words:
        if word not in names:
            raise NeuralArtError(f"no '{word}' here", where=file.as_posix(), hint=nearest(word, names))
    asked = list(dict.fromkeys(args.variants or (known if args.all else project.default)))
    if not asked:
        raise NeuralArtError("nothing is built by default", where=file.as_posix(), hint="name variants, or --all")
    parts = {name: [name] for name in asked}
    if args.shards is not None:
        found = shards.split(asked, shards.costs_of(file), shards.parse(f"1/{args.shards}")[1])
        parts = {f"{number} of {args.shards}": names for number, names in enumerate(found, 1) if names}
    jobs = {job: " ".join([*n, *(f"{args.verb}-{each}" for each in n if args.verb)]) for job, n in parts.items()}
    made: dict[str, object] = {"include": [{"name": job, "targets": targets} for job, targets in jobs.items()]}
    if args.format == "gitlab":
        call = ("./sconsw" if (file.parent / "sconsw").is_file() else "scons -Q") + " --junit=build/junit.xml"
        kept = {"when": "always", "reports": {"junit": "build/junit.xml"}}
        # GitLab keeps some names, such as image, for itself.
        made = {f"build {job}": {"script": [f"{call} {each}"], "artifacts": kept} for job, each in jobs.items()}
    print(json.dumps(made, indent=1 if args.format == "gitlab" else None))
    return 0
