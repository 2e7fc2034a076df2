"""The whole examination: every tool looked for, in one list, with what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neuralart import __version__
from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.doctor import compilers, known_bad, needs, programs, surroundings
from neuralart.doctor.known_bad import Circumstances
from neuralart.doctor.programs import QEMU, TOOLS
from neuralart.doctor.types import ERROR, MISSING, NOTE, OK, UNFIT, WARNING, Examination, Host, Remark, ToolRow
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.lint.types import parse_runtime, runtime_headers

_Variants = Sequence[tuple[VariantConfig, Board]]


def system_of(platform: str) -> str:
    """``windows``, ``mac`` or ``linux``, from ``sys.platform``."""
    return {"win32": "windows", "cygwin": "windows", "darwin": "mac"}.get(platform, "linux")


def _rows(host: Host, variants: _Variants, others: Mapping[str, Board]) -> list[ToolRow]:
    return [
        *surroundings.python_rows(),
        *(compilers.gcc_row(wanted, host) for wanted in needs.compilers_of(variants, others)),
        programs.qemu_row(needs.models_of(variants, others), host),
        *(compilers.stedgeai_row(pin, host) for pin in needs.pins_of(variants)),
        *(programs.row(tool, host) for tool in TOOLS if tool is not QEMU),
    ]


def _runtimes(folder: Path) -> list[str]:
    """Versions of the vendor's runtime headers in a project."""
    found = []
    for path in runtime_headers(folder):
        try:
            header = parse_runtime(read_bytes(path).decode("utf-8", "replace"), str(path))
        except NeuralArtError:
            continue
        if header is not None and not header.ours:
            found.append(header.text)
    return list(dict.fromkeys(found))


def _circumstances(rows: Sequence[ToolRow], host: Host, folder: Path, names: list[str], runtime: str) -> Circumstances:
    # A pin stands behind the name of the tool; the first installation counts.
    versions: dict[str, str] = {}
    for row in rows:
        if row.status == OK or (row.status == UNFIT and row.path):
            versions.setdefault(row.tool.split(" ")[0], row.version)
    if not versions.get("signing-tool", "x"):
        # They are installed together; not every release of the one says its version.
        versions["signing-tool"] = versions.get("cubeprogrammer", "")
    if runtime:
        versions["ll_aton"] = runtime
    missing = frozenset(row.tool.split(" ")[0] for row in rows if row.status == MISSING)
    said = {"system": (host.system,), "path": surroundings.traits(str(folder.absolute())), "compiler": names}
    return Circumstances(versions, missing - versions.keys(), said)


def _remarks(host: Host, rows: Sequence[ToolRow], folder: Path, variants: _Variants) -> list[Remark]:
    found = [*surroundings.project_files(folder), *surroundings.installed_twice(), *surroundings.scons_remarks(host)]
    for tool in TOOLS:
        found += programs.shadowed(tool, host)
    found += compilers.gcc_shadowed(host, needs.compilers_of(variants))
    found += [*compilers.stedgeai_shadowed(host), *surroundings.path_remarks(folder, host)]
    combinations = known_bad.read()
    names = [network.compiler for variant, _ in variants for network in variant.networks]
    for runtime in _runtimes(folder) or [""]:
        found += known_bad.remarks(combinations, _circumstances(rows, host, folder, names, runtime))
    order = (ERROR, WARNING, NOTE)
    return sorted(dict.fromkeys(found), key=lambda remark: order.index(remark.level))


def examine(
    host: Host,
    variants: _Variants = (),
    targets: Sequence[str] = (),
    *,
    project: str = "",
    folder: Path | None = None,
    others: Mapping[str, Board] | None = None,
) -> Examination:
    """Look at a machine with the eyes of a project.

    Args:
        host: The machine.
        variants: Of the project, with their boards.
        targets: What is meant to be done: variants, ``run-<variant>`` and the like; none: build all variants.
        project: The project file as named.
        folder: The project's folder; the current one unless given.
        others: Further boards that variants name.

    Raises:
        NeuralArtError: A target is none, or the list of known combinations is damaged.
    """
    asked = needs.understand(targets, [variant.name for variant, _ in variants])
    chosen = [pair for pair in variants if pair[0].name in {each.variant for each in asked}]
    wanted = needs.restricted(needs.needs(chosen, others), asked)
    rows = []
    for row in _rows(host, chosen, others or {}):
        need = wanted.get(row.tool, row.need)
        rows.append(replace(row, need=need, blocks=row.status != OK and needs.blocked(need, asked)))
    remarks = _remarks(host, rows, folder or Path(), chosen)
    return Examination(__version__, host.system, project, tuple(targets), tuple(rows), tuple(remarks))
