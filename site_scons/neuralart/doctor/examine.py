"""The whole examination: every tool looked for, in one list, with what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import __version__
from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.doctor import cross, known_bad, needs, places, programs, python_side, shadowing, stedgeai
from neuralart.doctor.asking import SECONDS
from neuralart.doctor.known_bad import Facts
from neuralart.doctor.tools import QEMU, TOOLS
from neuralart.doctor.types import ERROR, MISSING, NOTE, OK, UNFIT, WARNING, Remark, Report, Row
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.lint import runtime_header

_SYSTEMS = {"win32": "windows", "cygwin": "windows", "darwin": "mac"}


def system_of(platform: str) -> str:
    """``windows``, ``mac`` or ``linux``, from ``sys.platform``."""
    return _SYSTEMS.get(platform, "linux")


@dataclass(frozen=True)
class Machine:
    """The machine to look at."""

    environ: Mapping[str, str]  # Of the process
    system: str  # ``windows``, ``linux`` or ``mac``
    seconds: float = SECONDS  # Time limit of each answer
    usual_places: bool = True  # Look where installers put programs, besides PATH


def _rows(machine: Machine, variants: Sequence[tuple[VariantConfig, Board]], others: Mapping[str, Board]) -> list[Row]:
    environ, seconds = machine.environ, machine.seconds
    rows = [python_side.python_row(), *python_side.package_rows()]
    rows += [cross.row(wanted, environ) for wanted in needs.compilers_of(variants, others)]
    for tool in TOOLS:
        row = programs.row(tool, environ, machine.system, seconds, usual_places=machine.usual_places)
        if tool is QEMU:
            row = programs.qemu_details(row, needs.models_of(variants, others), environ, seconds)
            rows += [row]
            rows += [
                stedgeai.row(pin, environ, machine.system, seconds, usual_places=machine.usual_places)
                for pin in needs.pins_of(variants)
            ]
        else:
            rows.append(row)
    return rows


def _runtimes(folder: Path) -> list[str]:
    """Versions of the vendor's runtime headers in a project."""
    found = []
    for path in runtime_header.below(folder):
        try:
            header = runtime_header.parse(read_bytes(path).decode("utf-8", "replace"), str(path))
        except NeuralArtError:
            continue
        if header is not None and not header.ours:
            found.append(header.text)
    return list(dict.fromkeys(found))


def _facts(rows: Sequence[Row], machine: Machine, folder: Path, compilers: Sequence[str], runtime: str) -> Facts:
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
    words = {"system": (machine.system,), "path": places.traits(str(folder.absolute())), "compiler": tuple(compilers)}
    return Facts(versions, missing - versions.keys(), words)


def _remarks(
    machine: Machine, rows: Sequence[Row], folder: Path, variants: Sequence[tuple[VariantConfig, Board]]
) -> list[Remark]:
    environ, system, seconds = machine.environ, machine.system, machine.seconds
    found = [*shadowing.project_files(folder), *shadowing.installed_twice()]
    found += python_side.scons_remarks(environ, system, seconds)
    for tool in TOOLS:
        found += programs.shadowed(tool, environ, system, seconds)
    found += cross.shadowed(environ, system, needs.compilers_of(variants))
    found += stedgeai.remarks(environ, system, usual_places=machine.usual_places)
    found += places.remarks(places.looked_at(folder, environ, system))
    found += places.first_entries_missing(environ)
    combinations = known_bad.read()
    compilers = [needs.compiler_of(network)[0] for variant, _ in variants for network in variant.networks]
    for runtime in _runtimes(folder) or [""]:
        found += known_bad.remarks(combinations, _facts(rows, machine, folder, compilers, runtime))
    order = (ERROR, WARNING, NOTE)
    return sorted(dict.fromkeys(found), key=lambda remark: order.index(remark.level))


def examine(
    machine: Machine,
    variants: Sequence[tuple[VariantConfig, Board]] = (),
    targets: Sequence[str] = (),
    *,
    project: str = "",
    folder: Path | None = None,
    others: Mapping[str, Board] | None = None,
) -> Report:
    """Look at a machine with the eyes of a project.

    Args:
        machine: The machine.
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
    for row in _rows(machine, chosen, others or {}):
        need = wanted.get(row.tool, row.need)
        rows.append(replace(row, need=need, blocks=row.status != OK and needs.blocked(need, asked)))
    home = folder or Path()
    remarks = _remarks(machine, rows, home, chosen)
    return Report(__version__, machine.system, project, tuple(targets), tuple(rows), tuple(remarks))
