"""A compile by the user's ST Edge AI Core, from the request to a complete folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.compilers.profile_edits import csv_name
from neuralart.compilers.reference.fileset import FACTS, PROVENANCE
from neuralart.compilers.stedgeai import folder as folders
from neuralart.compilers.stedgeai.arguments import CommandLine, command_line
from neuralart.compilers.stedgeai.collect import Collected, collect, sizes
from neuralart.compilers.stedgeai.facts_of import cpu_facts, macc_of, npu_facts
from neuralart.compilers.stedgeai.fileset import Conditions, c_info_name, file_names, initializers, report_name
from neuralart.compilers.stedgeai.install import Install
from neuralart.compilers.stedgeai.normalize import folders as places_of
from neuralart.compilers.stedgeai.normalize import normalize
from neuralart.compilers.stedgeai.profiles import reference
from neuralart.compilers.stedgeai.request import Request, check_model, check_target
from neuralart.compilers.stedgeai.run import COMMAND, LOG, VENDOR, command_text, execute, put, working_folder
from neuralart.compilers.stedgeai.staging import Staged, conditions_of, stage
from neuralart.compilers.stedgeai.version import release_of
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.facts import MANIFEST, Network, manifest, to_json
from neuralart.network.pools import default_initializers
from neuralart.network.targets import check_name
from neuralart.resources import stable_name
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo
from neuralart.vendor.core_version import CoreVersion
from neuralart.vendor.releases import is_known


@dataclass(frozen=True)
class Plan:
    """Everything about a compile that is known before it runs.

    Attributes:
        staged: What the tool is given besides the model.
        given: What decides which files there are.
        declared: fname -> file of the declared initializers; None: whichever there are.
        files: Every file of the result; without the initializers where those are not known.
    """

    staged: Staged
    given: Conditions
    declared: Mapping[str, str] | None
    files: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """What came out.

    Attributes:
        facts: The network.
        files: Name -> content of the set.
        notes: What was not as usual, and warnings of the tool.
        ineffective: Options without effect.
    """

    facts: Network
    files: Mapping[str, bytes] = field(repr=False)
    notes: tuple[str, ...] = ()
    ineffective: tuple[str, ...] = ()


def plan(request: Request, version: CoreVersion) -> Plan:
    """Check a request and tell which files it will make; nothing is run or written.

    Raises:
        NeuralArtError: Something is missing, wrong or refused.
    """
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
        declared = initializers(given, staged.pools, tuple(dict.fromkeys(wanted)))
    elif not given.npu:
        if request.initializers:
            raise NeuralArtError("there are none without an NPU", where="--initializers", hint="leave it out")
        declared = {}
    return Plan(staged, given, declared, file_names(given, version, declared or {}))


def _info(files: Mapping[str, bytes], name: str, notes: list[str]) -> CInfo | None:
    """The compiler's description; None where it wrote none worth the name."""
    file = c_info_name(name)
    try:
        info = parse_c_info(files[file], file)
    except NeuralArtError as error:
        notes.append(f"the tool's description is not understood: {error}")
        return None
    return info if info.pools else None


def _facts(planned: Plan, found: Collected, files: Mapping[str, bytes], notes: list[str]) -> Network:
    from neuralart.text.c_source import decode
    from neuralart.vendor.network_c.read import parse

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
    return npu_facts(name, network, _info(files, name, notes), sizes(found.initializers), blobs, macc)


def _provenance(request: Request, install: Install, planned: Plan, command: CommandLine) -> bytes:
    lines = [
        f"tool: {install.identity}",
        f"model: {request.model_display}",
        f"model sha256: {hashlib.sha256(read_bytes(request.model)).hexdigest()}",
    ]
    if planned.staged.pools is not None:
        lines.append(f"memory pools: {stable_name(planned.staged.pools.path)}")
    words = [word if word != command.words[2] else request.model.name for word in command.words]
    lines.append(f"arguments: {' '.join(words)}")
    if planned.staged.options is not None:
        lines.append(f"profile options: {' '.join(planned.staged.options)}")
    return ("\n".join(lines) + "\n").encode()


def compile_network(
    request: Request,
    install: Install,
    output: Path,
    environ: Mapping[str, str],
    *,
    tables: Sequence[str] = (),
    listen: Callable[[str], None] = lambda _text: None,
) -> Result:
    """Compile a model.

    What an earlier compile left in the folder is removed when the tool is started; the new set is written when all of
    it is there. A log stays in any case.

    Args:
        request: What.
        install: By which installation.
        output: Where to.
        environ: Of this process.
        tables: The user's own tables of failures.
        listen: Called with the progress.

    Raises:
        NeuralArtError: The input is wrong, the tool failed, or its result is not complete; said in one line.
    """
    from neuralart.compilers.stedgeai import failures

    check_model(request.model, request.model_display)
    planned = plan(request, install.version)
    folders.check_owner(output, request.name)
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
        outcome = execute(install, command.words, place, environ, listen)
        aside = {
            LOG: ("\n".join(outcome.lines) + "\n").encode("utf-8", "replace"),
            COMMAND: command_text(install, command.words).encode("utf-8", "surrogateescape"),
            **planned.staged.files,
        }
        folders.keep(output, aside)
        if outcome.status:
            why = failures.explain(outcome.lines, table, outcome.status)
            log = f"{output.as_posix()}/{VENDOR}/{LOG}"
            raise failures.error_of(why, where=request.model_display, tool=tool, log=log)
        csv = csv_name(planned.staged.options or ())
        found = collect(place, planned.given, install.version, planned.declared, csv)
        raw_files = {name: content for name, content in found.initializers.values()}
        known = {place: ".", request.model.parent: "."}
        if install.root is not None:
            known[install.root] = "STEDGEAI_CORE_DIR"
        files = normalize({**found.files, **raw_files}, places_of(known, {model: request.model.name}))
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
