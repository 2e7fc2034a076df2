"""A compile by the user's ST Edge AI Core, from the request to a complete folder."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from neuralart.compilers.dispatch import dispatched
from neuralart.compilers.fileset import FACTS, PROVENANCE, check_owner
from neuralart.compilers.profile_edits import csv_name
from neuralart.compilers.stedgeai import fileset
from neuralart.compilers.stedgeai import run as folders
from neuralart.compilers.stedgeai.facts_of import cpu_facts, macc_of, npu_facts
from neuralart.compilers.stedgeai.fileset import Collected, FileConditions, c_info_name, report_name
from neuralart.compilers.stedgeai.install import Install, find_install
from neuralart.compilers.stedgeai.normalize import folders as places_of
from neuralart.compilers.stedgeai.normalize import normalize
from neuralart.compilers.stedgeai.options import CommandLine, command_line
from neuralart.compilers.stedgeai.request import ToolRequest, check_model, check_target, request_of
from neuralart.compilers.stedgeai.run import COMMAND, LOG, VENDOR, command_text, execute, put, working_folder
from neuralart.compilers.stedgeai.staging import StagedProfile, conditions_of, reference, stage
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.facts import MANIFEST, Network, manifest, to_json
from neuralart.network.pools import default_initializers
from neuralart.network.targets import check_name
from neuralart.quick import dataclass, field
from neuralart.resources import stable_name
from neuralart.text.c_source import decode
from neuralart.text.progress import at_work
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo
from neuralart.vendor.network_c.read import parse
from neuralart.vendor.releases import CoreVersion, is_known, release_of


@dataclass(frozen=True)
class ToolPlan:
    """All that is known of a compile before it runs."""

    staged: StagedProfile  # What the tool is given besides the model
    given: FileConditions  # What decides which files there are
    declared: Mapping[str, str] | None  # fname -> file of the declared initializers; None: whichever there are
    files: tuple[str, ...]  # Every file of the result; without the initializers where those are not known


@dataclass(frozen=True)
class Result:
    """The result of a compile."""

    facts: Network  # The network
    files: Mapping[str, bytes] = field(repr=False)  # Name -> content of the set
    notes: tuple[str, ...] = ()  # What was not as usual, and warnings of the tool
    ineffective: tuple[str, ...] = ()  # Options without effect


def plan(request: ToolRequest, version: CoreVersion) -> ToolPlan:
    """Check a request and list its files; nothing is run or written."""
    check_name(request.name, "--name")
    check_target(request.target)
    staged = stage(request, release_of(version))
    given = conditions_of(request, staged)
    declared: dict[str, str] | None = None
    if staged.pools is not None:
        known = [pool.fname for pool in staged.pools.enabled]
        wanted = default_initializers(staged.pools) if request.initializers is None else request.initializers
        for fname in wanted:
            if fname not in known:
                raise NeuralArtError(
                    f"--initializers: no enabled pool '{fname}'", where=staged.pools.path, hint=nearest(fname, known)
                )
        declared = fileset.initializers(given, staged.pools, tuple(dict.fromkeys(wanted)))
    elif not given.npu:
        if request.initializers:
            raise NeuralArtError("there are none without an NPU", where="--initializers", hint="leave it out")
        declared = {}
    return ToolPlan(staged, given, declared, fileset.file_names(given, version, declared or {}))


def _info(files: Mapping[str, bytes], name: str, notes: list[str]) -> CInfo | None:
    """The compiler's description; None where it wrote none worth the name."""
    file = c_info_name(name)
    try:
        info = parse_c_info(files[file], file)
    except NeuralArtError as error:
        notes.append(f"the tool's description is not understood: {error}")
        return None
    return info if info.pools else None


def _facts(planned: ToolPlan, found: Collected, files: Mapping[str, bytes], notes: list[str]) -> Network:
    given = planned.given
    name = given.name
    texts = {file: decode(content) for file, content in files.items() if file.endswith((".c", ".h"))}
    if not given.npu:
        info = parse_c_info(files[c_info_name(name)], c_info_name(name))
        codes = [text for file, text in sorted(texts.items()) if not file.startswith(f"{name}_data")]
        return cpu_facts(name, info, codes)
    network = parse(texts[f"{name}.c"], f"{name}.c")
    notes += [problem.text for problem in network.problems]
    blobs = [texts[file] for file in (f"{name}_ecblobs.h",) if file in texts]
    macc = macc_of(files[report_name(name)].decode("utf-8", "replace")) if report_name(name) in files else 0
    linked = [fname for fname, (file, _) in found.initializers.items() if file.endswith(".c")]
    return npu_facts(name, network, _info(files, name, notes), fileset.sizes(found.initializers), blobs, macc, linked)


def _provenance(request: ToolRequest, install: Install, planned: ToolPlan, command: CommandLine) -> bytes:
    lines = [
        f"tool: {install.identity}",
        f"model: {request.model_display}",
        f"model sha256: {hashlib.sha256(read_bytes(request.model)).hexdigest()}",
    ]
    if planned.staged.pools is not None:
        pools = planned.staged.pools.path
        pools = pools.replace(str(install.program.resolve().parent), "STEDGEAI_CORE_DIR") if install.root else pools
        lines.append(f"memory pools: {stable_name(pools)}")
    words = [word if word != command.words[2] else request.model.name for word in command.words]
    lines.append(f"arguments: {' '.join(words)}")
    if planned.staged.options is not None:
        lines.append(f"profile options: {' '.join(planned.staged.options)}")
    return ("\n".join(lines) + "\n").encode()


def compile_network(
    request: ToolRequest,
    install: Install,
    output: Path,
    environ: Mapping[str, str],
    *,
    tables: Sequence[str] = (),
    listen: Callable[[str], None] = lambda _text: None,
) -> Result:
    """Compile a model.

    What an earlier compile left in the folder is removed when the tool is started; the new set is written when all of
    it is there. A log stays in any case. ``tables`` are the user's own of failures; ``listen`` gets the progress.

    Raises:
        NeuralArtError: The input is wrong, the tool failed, or its result is not complete.
    """
    from neuralart.compilers.stedgeai import failures

    check_model(request.model, request.model_display)
    planned = plan(request, install.version)
    check_owner(output, request.name)
    table = failures.tables(environ, tables)
    tool = f"ST Edge AI Core {install.version.text.partition(' ')[0]}"
    with working_folder(output) as place:
        put(place, planned.staged.files)
        model = reference(request.model, place)
        command = command_line(
            request,
            release_of(install.version),
            model=model,
            profile=planned.staged.argument,
            path=lambda text: reference(Path(text), place),
        )
        folders.clear(output, request.name)
        outcome = execute(install, command.words, place, environ, listen, request.seconds)
        aside = {
            LOG: ("\n".join(outcome.lines) + "\n").encode("utf-8", "replace"),
            COMMAND: command_text(install, command.words).encode("utf-8", "surrogateescape"),
            **planned.staged.files,
        }
        folders.keep(output, aside)
        log = f"{output.as_posix()}/{VENDOR}/{LOG}"
        if outcome.late and outcome.status:
            raise failures.late(outcome, request.seconds or 0.0, where=request.model_display, tool=tool, log=log)
        if outcome.status:
            why = failures.explain(outcome.lines, table, outcome.status)
            raise failures.error_of(why, where=request.model_display, tool=tool, log=log)
        csv = csv_name(planned.staged.options or ())
        found = fileset.collect(place, planned.given, install.version, planned.declared, csv)
        raw_files = dict(found.initializers.values())
        known = {place: ".", request.model.parent: "."}
        if install.root is not None:
            known[install.root] = "STEDGEAI_CORE_DIR"
        placed = dispatched(request.name, found.files, request.dispatch)
        files = normalize({**found.files, **placed, **raw_files}, places_of(known, {model: request.model.name}))
    notes = list(found.notes)
    if not is_known(install.version.numbers):
        notes.append(f"{tool} is newer than the versions this program knows: taken as the nearest earlier one")
    facts = _facts(planned, found, files, notes)
    notes += failures.warnings(outcome.lines, table)
    changed = {name: content for name, content in found.files.items() if files[name] != content}
    files[FACTS] = to_json(facts).encode()
    files[MANIFEST] = manifest(request.name, files).encode()
    files[PROVENANCE] = _provenance(request, install, planned, command)
    folders.fill(output, files, {**aside, **found.aside, **changed})
    return Result(facts, files, tuple(notes), (*command.notes, *planned.staged.notes))


def summary(result: Result, install: Install, folder: str, verbosity: int) -> str:
    """Describe a compile, in lines for the user."""
    facts = result.facts
    kinds = [epoch.kind for epoch in facts.epochs]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("HW", "EC", "HYBRID", "SW") if kind in kinds)
    version = ".".join(map(str, facts.runtime_version))
    lines = [
        f"network {facts.name}: {len(kinds)} epochs ({counts}), {facts.macc:,} MAC, "
        f"for {facts.runtime} {version}, by {install.identity}"
    ]
    for pool in facts.pools:
        if not pool.virtual and (pool.used or verbosity > 1):
            share = 100 * pool.used / pool.size if pool.size else 0.0
            place = f"0x{pool.address:08x}" if pool.address else "by linker"
            lines.append(
                f"  {pool.fname:<12} {place:<10}  weights {pool.weights:>10,} B  "
                f"activations {pool.activations:>10,} B  {share:6.2f} % of {pool.size:,} B"
            )
    lines += [f"  note: {note}" for note in result.notes]
    if verbosity > 1:
        lines += [f"  without effect: {note}" for note in result.ineffective]
    elif result.ineffective:
        lines.append(f"  options without effect here: {len(result.ineffective)} (--verbosity 2 lists them)")
    names = ", ".join(sorted(name for name, data in result.files.items() if data or verbosity > 1))
    return "\n".join([*lines, f"  {folder}: {names}"])


def compile_by_tool(args: argparse.Namespace, output: Path) -> str:
    """Compile as the parsed words say; returns lines for the user. Errors as of :func:`compile_network`."""
    request_of(args)  # What is wrong with the words is said before a tool is looked for
    install = find_install(args, os.environ)
    request = request_of(args, install.stock_profiles)
    verbosity = 0 if args.quiet else int(args.verbosity or 1)
    folder = args.output or "st_ai_output"
    tables = tuple(args.failures or ())
    with at_work(f"compile {request.name}", quiet=not verbosity) as work:
        result = compile_network(request, install, output, os.environ, tables=tables, listen=work.say)
    return summary(result, install, folder, verbosity)
