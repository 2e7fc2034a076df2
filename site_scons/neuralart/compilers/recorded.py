"""Recorded compiles: ``neuralart record`` keeps a result of ST Edge AI Core, which is given back for the same inputs on
machines without the tool.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.compilers import command_line
from neuralart.compilers.command_line import STEDGEAI
from neuralart.compilers.protocol import Job, refuse_foreign
from neuralart.compilers.stedgeai import run as folders
from neuralart.compilers.stedgeai.compile import Result, ToolPlan, compile_network, plan
from neuralart.compilers.stedgeai.install import Install, find_install
from neuralart.compilers.stedgeai.options import PATH, RULES, handed_on
from neuralart.compilers.stedgeai.request import ToolRequest, check_model, request_of
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.quick import dataclass, field
from neuralart.text.console import say
from neuralart.text.progress import at_work
from neuralart.vendor.releases import OLDEST, CoreVersion, check_pin, fits, parse_core

SCHEMA = 1
NAME = "recording.json"
FILES = "files"
_NEW = ".new"  # What a recording is about to hold
_AGAIN = "record it again where the tool is installed: neuralart record"


@dataclass(frozen=True)
class Input:
    """A file that a compile depends on."""

    role: str  # ``model``, ``profile``, ``memory pools``...
    name: str  # Without its folder
    sha256: str  # Of its content


@dataclass(frozen=True)
class Recording:
    """A recorded compile."""

    path: Path  # Its folder
    network: str  # C name
    tool: CoreVersion  # Version of the tool
    inputs: tuple[Input, ...]  # What it depends on
    options: tuple[tuple[str, str], ...]  # Option -> value, in the order of the command line
    files: Mapping[str, str] = field(repr=False)  # Name -> SHA-256 of the result


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _role(name: str) -> str:
    if name.startswith("profile/pools/"):
        return "memory pools"
    return "machine description" if name.startswith("profile/machine/") else "profile"


def inputs_of(request: ToolRequest, planned: ToolPlan) -> tuple[Input, ...]:
    """List every file that decides the result."""
    found = [Input("model", request.model.name, _digest(read_bytes(request.model)))]
    for name, content in sorted(planned.staged.files.items()):
        role = _role(name)
        own = f"{request.profile.argument.name}@{Path(request.profile.argument.file).name}" if request.profile else ""
        found.append(Input(role, own if role == "profile" else Path(name).name, _digest(content)))
    for option, rule in RULES.items():
        value = request.values.get(option)
        if rule.takes == PATH and isinstance(value, str) and value:
            found.append(Input(option, Path(value).name, _digest(read_bytes(Path(value)))))
    return tuple(found)


def options_of(request: ToolRequest, planned: ToolPlan) -> tuple[tuple[str, str], ...]:
    """List every option that decides the result; files by name, since their contents are inputs."""
    words, _ = handed_on(request.values, npu=request.npu, path=lambda text: Path(text).name)
    found = [("--target", request.target), ("--name", request.name)]
    if request.npu:
        found.append(("--st-neural-art", planned.staged.argument))
    found += [("words", " ".join(words)), ("--extra-options", " ".join(request.extra))]
    found += [("--no-report", "" if request.report else "true")]
    found += [("--enable-epoch-controller", "true" if planned.given.controller else "")]
    found.append(("--dispatch-weights", request.dispatch))
    declared = "any" if planned.declared is None else ",".join(planned.declared) or "none"
    return (*found, ("--initializers", declared))


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something other than a recording."""
    if folder.is_dir() and any(folder.iterdir()) and not ((folder / NAME).is_file() or (folder / _NEW).is_dir()):
        raise NeuralArtError("is not empty and no recording", where=str(folder), hint="give an empty or a new folder")


def record(request: ToolRequest, install: Install, result: Result, folder: Path) -> Recording:
    """Store a compile in a folder, in place of an earlier recording. NeuralArtError: the folder cannot be written, or
    holds something else.
    """
    planned = plan(request, install.version)
    made = Recording(
        folder,
        request.name,
        install.version,
        inputs_of(request, planned),
        options_of(request, planned),
        {name: _digest(content) for name, content in sorted(result.files.items())},
    )
    check_folder(folder)
    data = {
        "schema": SCHEMA,
        "network": made.network,
        "tool": made.tool.text,
        "inputs": [{"role": each.role, "name": each.name, "sha256": each.sha256} for each in made.inputs],
        "options": [list(pair) for pair in made.options],
        "files": [{"name": name, "sha256": digest} for name, digest in made.files.items()],
    }
    texts = {f"{FILES}/{name}": content for name, content in result.files.items()}
    _replace(folder, {**texts, NAME: (json.dumps(data, indent=1) + "\n").encode()})
    return made


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """Bring the files of a recording into its folder, all or none of them. NeuralArtError: it cannot be written. They
    are written beside the old ones first, where a full disk does no harm. A kill while they change places leaves a
    recording that no compile takes, and that the next ``neuralart record`` replaces.
    """
    new = folder / _NEW
    try:
        shutil.rmtree(new, ignore_errors=True)
        for name, content in files.items():
            write_bytes(new / name, content)
        shutil.rmtree(folder / FILES, ignore_errors=True)
        # The list first: a folder without it would not count as a recording.
        for name in (NAME, FILES):
            (new / name).replace(folder / name)
    except OSError as error:
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(folder)) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def load(folder: Path) -> Recording:
    """Read a recording without its files. NeuralArtError: it is missing, damaged or of another schema."""
    path = folder / NAME
    if not path.is_file():
        raise NeuralArtError(f"no recording: there is no {NAME}", where=str(folder), hint="neuralart record makes one")
    try:
        data = jsontext.loads(read_bytes(path))
        if data["schema"] != SCHEMA or isinstance(data["schema"], bool):
            raise NeuralArtError(f"schema {data['schema']}, this version reads {SCHEMA}", where=str(path), hint=_AGAIN)
        tool = parse_core(_text(data["tool"]))
        if tool is None or tool.numbers[:2] < OLDEST:
            raise ValueError(f"'{data['tool']}' is no version of a tool with a Neural-ART compiler")
        files = {_text(row["name"]): _text(row["sha256"]) for row in data["files"]}
        if any("/" in name or "\\" in name or name in ("", ".", "..") for name in files):
            raise ValueError("a file's name has a folder in it")
        if not files:
            raise ValueError("it has no files")
        return Recording(
            folder,
            _text(data["network"]),
            tool,
            tuple(Input(_text(row["role"]), _text(row["name"]), _text(row["sha256"])) for row in data["inputs"]),
            tuple((_text(option), _text(value)) for option, value in data["options"]),
            files,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise NeuralArtError(f"is no recording: {error}", where=str(path), hint=_AGAIN) from error


def differences(recording: Recording, request: ToolRequest, planned: ToolPlan) -> list[str]:
    """List in words what differs from the recording's inputs."""
    said: list[str] = []
    known = {each.role: each for each in recording.inputs}
    now = {each.role: each for each in inputs_of(request, planned)}
    for role in dict.fromkeys([*known, *now]):
        before, here = known.get(role), now.get(role)
        if before is None or here is None:
            said.append(f"{role} {(before or here or now[role]).name} {'is new' if before is None else 'is not given'}")
        elif before.sha256 != here.sha256:
            said.append(f"{role} {here.name} (sha256 {here.sha256[:12]}, recorded {before.name} {before.sha256[:12]})")
    options, wanted = dict(recording.options), dict(options_of(request, planned))
    for option in dict.fromkeys([*options, *wanted]):
        if options.get(option, "") != wanted.get(option, ""):
            label = "the options" if option == "words" else option
            said.append(f"{label}: '{wanted.get(option, '')}', recorded '{options.get(option, '')}'")
    return said


def replay(request: ToolRequest, folder: Path, output: Path) -> Recording:
    """Write the recorded files. NeuralArtError: the recording is missing, damaged, or of other inputs."""
    recording = load(folder)
    check_model(request.model, request.model_display)
    other = differences(recording, request, plan(request, recording.tool))
    if other:
        raise NeuralArtError(f"was made from something else: {'; '.join(other)}", where=str(folder), hint=_AGAIN)
    files: dict[str, bytes] = {}
    for name, digest in recording.files.items():
        content = read_bytes(folder / FILES / name)
        if _digest(content) != digest:
            hint = "restore it (does git change its line ends? give it '-text' in .gitattributes), or record again"
            raise NeuralArtError("is not what was recorded", where=str(folder / FILES / name), hint=hint)
        files[name] = content
    folders.clear(output, request.name)
    folders.fill(output, files, {})
    return recording


def replay_asked(args: argparse.Namespace, output: Path) -> str:
    """Run ``neuralart compile --compiler recorded``; returns lines for the user. Errors as of :func:`replay`."""
    if not args.recording:
        hint = "the folder that 'neuralart record' made with the tool"
        raise NeuralArtError("is required", where="--recording", hint=hint)
    folder = Path(args.recording)
    if args.compiler_version:
        check_pin(args.compiler_version, "--compiler-version")
        tool = load(folder).tool
        if not fits(tool, args.compiler_version):
            what = f"was made by ST Edge AI Core {tool.full}, wanted {args.compiler_version}"
            hint = "record it again with that version, or change the pin"
            raise NeuralArtError(what, where=args.recording, hint=hint)
    found = replay(request_of(args), folder, output)
    return (
        f"network {found.network}: recorded with ST Edge AI Core {found.tool.text}\n"
        f"  {output}: {len(found.files)} files"
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``neuralart compile``; ``--recording`` names the folder to write."""
    command_line.configure(parser)
    parser.set_defaults(compiler=STEDGEAI)


def run(args: argparse.Namespace) -> int:
    """``neuralart record``: compile and record."""
    if not args.recording:
        raise NeuralArtError("is required", where="--recording", hint="the folder to record into")
    if args.compiler != STEDGEAI:
        hint = "the reference compiler is there everywhere"
        raise NeuralArtError(f"'{args.compiler}' is not recorded", where="--compiler", hint=hint)
    command_line.board_as_target(args)
    request = request_of(args)
    install = find_install(args, os.environ)
    folder = Path(args.recording)
    check_folder(folder)  # before the tool needs a minute
    output = Path(args.output or "st_ai_output")
    refuse_foreign(STEDGEAI, Job(args), output)
    with at_work(f"record {request.name}", quiet=bool(args.quiet)) as work:
        result = compile_network(
            request, install, output, os.environ, tables=tuple(args.failures or ()), listen=work.say
        )
    made = record(request, install, result, folder)
    if not args.quiet:
        inputs = ", ".join(f"{each.role} {each.name}" for each in made.inputs)
        say(f"recorded network {made.network} by {install.identity} in {args.recording}: {inputs}")
    return 0
