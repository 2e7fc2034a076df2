"""The whole examination: what variants need, every tool looked for in one list, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart import __version__
from neuralart.boards.types import Board, Machine
from neuralart.config.read import verbs
from neuralart.config.types import ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.findings import ERROR, NOTE, WARNING
from neuralart.vendor import tools
from neuralart.vendor.programs import ask
from neuralart.vendor.runtime_header import parse_runtime, runtime_headers
from neuralart.vendor.tools import (
    BROKEN,
    CMAKE,
    CUBEIDE,
    MAKE,
    MISSING,
    OK,
    QEMU,
    UNFIT,
    Host,
    Need,
    Remark,
    Tool,
    ToolRow,
)
from neuralart_board.runners.cubeprogrammer import CubeProgrammer
from neuralart_board.runners.gdb import Gdb
from neuralart_board.runners.openocd import OpenOcd
from neuralart_board.runners.pyocd import PyOcd
from neuralart_board.signing.vendor_tool import SIGNING
from neuralart_insight.doctor import compilers, known_bad, python_environment
from neuralart_insight.doctor.compilers import STEDGEAI, Wanted
from neuralart_insight.doctor.known_bad import Circumstances

ALWAYS = ("python", "scons", "pyyaml", "jinja2", "pyelftools", "packaging", "filelock")
# Tools of an application that brings a build of its own.
_APPLICATIONS = {"make": "make", "cmake": "cmake", "cubeide": "stm32cubeide"}
# What executes an image, by kind of machine, and the verbs that do it.
_MACHINES = {"unicorn": ("unicorn",), "qemu": ("qemu-system-arm",)}
_VIRTUAL = ("run-", "debug-", "boot-")
_DEVICE = ("flash-", "verify-", "load-", "boot-", "reset-")
_EXECUTING = {"unicorn": _VIRTUAL, "qemu": _VIRTUAL, "silicon": _DEVICE}
_PARTS = ("application-", "model-")
PROGRAMMER = Tool(
    "cubeprogrammer",
    CubeProgrammer.programs,
    ("--version",),
    r"STM32CubeProgrammer(?: version:?)?\s+v?(\d+(?:\.\d+)+)",
    means="writing to the flash of a real board",
    get=CubeProgrammer.get,
    places=CubeProgrammer.places,
)
_OTHERWISE = "the flash runner of this name"
# What other flash runners than cubeprogrammer start; shown where it is there, or where a variant names the runner.
PROBE_TOOLS = (
    Tool(
        "openocd", OpenOcd.programs, ("--version",), r"Open On-Chip Debugger (\d+(?:\.\d+)+)", _OTHERWISE, OpenOcd.get
    ),
    Tool("gdb", Gdb.programs, ("--version",), r"GNU gdb [^\n]*?(\d+\.\d+(?:\.\d+)*)", _OTHERWISE, Gdb.get),
    Tool("pyocd", PyOcd.programs, ("--version",), r"(\d+\.\d+(?:\.\d+)*)", _OTHERWISE, PyOcd.get, fits=">=0.34"),
)
TOOLS = (QEMU, PROGRAMMER, SIGNING, CUBEIDE, CMAKE, MAKE)
_Variants = Sequence[tuple[VariantConfig, Board]]


@dataclass(frozen=True)
class Examination:
    """All of it."""

    neuralart: str  # Version of this package
    system: str  # ``linux``, ``windows`` or ``mac``
    project: str  # The project file as named; empty without one
    targets: tuple[str, ...]  # What was asked for
    rows: tuple[ToolRow, ...]  # Tools, in the order of the table in docs/reference/doctor.md
    remarks: tuple[Remark, ...]  # Errors first

    @property
    def ok(self) -> bool:
        """Nothing is missing that was asked for."""
        return not any(row.blocks for row in self.rows)


@dataclass(frozen=True)
class Asked:
    """A target of the command line."""

    target: str  # ``<variant>`` or ``<verb>-<variant>``
    variant: str  # The variant
    work: bool  # Its work is meant, not only its build


def understand(targets: Sequence[str], variants: Sequence[str]) -> list[Asked]:
    """What targets mean: ``<variant>`` or ``<verb>-<variant>``; none: all variants. NeuralArtError: one is neither."""
    found = []
    for target in targets or variants:
        verb = next((verb for verb in verbs() if target.startswith(verb)), "")
        name = target.removeprefix(verb)
        if verb == "flash-" and name not in variants:
            name = next((name.removeprefix(part) for part in _PARTS if name.startswith(part)), name)
        if target in variants:
            found.append(Asked(target, target, False))
        elif name in variants:
            found.append(Asked(f"{verb}{name}", name, True))
        else:
            raise NeuralArtError(f"no variant or target '{target}'", hint=nearest(target, tuple(variants)))
    return found


def _machines(variant: VariantConfig, board: Board, others: Mapping[str, Board]) -> list[Machine]:
    """Where a variant's images execute: its own machine, and those of boards that its model is loaded on as well."""
    found = [board.machines.get(variant.machine or next(iter(board.machines), ""))]
    for name in variant.relocatable.also_on if variant.relocatable is not None else ():
        # The machine that the variant names is one of its own board.
        found.append(next(iter(others[name].machines.values()), None) if name in others else None)
    return [machine for machine in found if machine is not None]


def needs(variants: _Variants, others: Mapping[str, Board] | None = None) -> dict[str, Need]:
    """Who needs which tool, by the names of the rows. ``others``: further boards that variants name."""
    build: dict[str, list[str]] = {}
    use: dict[str, list[str]] = {}
    compilers = compilers_of(variants, others)
    for variant, board in variants:
        names = [*ALWAYS, next((each.name for each in compilers if each.config == variant.toolchain), "")]
        for network in variant.networks:
            if network.compiler == STEDGEAI:
                names.append(f"{STEDGEAI} {network.compiler_version}".strip())
        names.append(_APPLICATIONS.get(variant.application.kind, ""))
        for tool in [name for name in dict.fromkeys(names) if name]:
            build.setdefault(tool, []).append(variant.name)
        for number, machine in enumerate(_machines(variant, board, others or {})):
            # A model is loaded on all of its boards; what else there is to do is done on the first.
            verbs = _EXECUTING.get(machine.kind, ()) if number == 0 else ()
            verbs = (*verbs, "load-") if variant.relocatable is not None else verbs
            # A runner and its program have one name.
            on_silicon = (variant.runner or "cubeprogrammer", "signing-tool")
            for tool in _MACHINES.get(machine.kind, on_silicon):
                use.setdefault(tool, []).extend(f"{verb}{variant.name}" for verb in verbs)
    return {
        tool: Need(tuple(dict.fromkeys(build.get(tool, ()))), tuple(dict.fromkeys(use.get(tool, ()))))
        for tool in dict.fromkeys([*build, *use])
    }


def compilers_of(variants: _Variants, others: Mapping[str, Board] | None = None) -> list[Wanted]:
    """The cross compilers that variants ask for (else the default one), and their cores."""
    cores: dict[ToolchainConfig, dict[tuple[str, ...], None]] = {}
    for variant, board in variants:
        machines = _machines(variant, board, others or {})
        flags = {each.cpu_flags: None for each in machines if each.cpu_flags}
        cores.setdefault(variant.toolchain, {}).update(flags)
    cores = cores or {ToolchainConfig(): {}}
    return [Wanted(config, tuple(flags)) for config, flags in cores.items()]


def _qemu_row(machines: tuple[str, ...], host: Host) -> ToolRow:
    """QEMU and the machines that the boards' images run on (``machines``: QEMU's names of them)."""
    found = tools.row(QEMU, host)
    if found.status != OK:
        return found
    try:
        said = ask(Path(found.path), ("-M", "help"), host.environ, host.seconds)
    except NeuralArtError as error:
        return replace(found, status=BROKEN, problem=error.what)
    listed = {line.split(" ")[0] for line in said.splitlines()}
    missing = ", ".join(name for name in machines if name not in listed)
    if missing:
        return replace(found, status=UNFIT, problem=f"it has no machine {missing}: too old, or built without")
    return replace(found, details=(*found.details, *(f"machine {name}" for name in machines)))


def _rows(host: Host, variants: _Variants, others: Mapping[str, Board]) -> list[ToolRow]:
    named = {variant.runner for variant, _ in variants}
    probes = [tools.row(tool, host) for tool in PROBE_TOOLS]
    machines = [machine for pair in variants for machine in _machines(*pair, others)]
    models = (each.model for each in machines if each.kind == "qemu" and each.model)
    networks = [network for variant, _ in variants for network in variant.networks if network.compiler == STEDGEAI]
    # Without a network that asks for a version, one that fits all is looked for.
    pins = dict.fromkeys(network.compiler_version for network in networks) or ("",)
    return [
        *python_environment.python_rows(),
        *(compilers.gcc_row(wanted, host) for wanted in compilers_of(variants, others)),
        _qemu_row(tuple(dict.fromkeys(models)), host),
        *(compilers.stedgeai_row(pin, host) for pin in pins),
        *(tools.row(tool, host) for tool in TOOLS if tool is not QEMU),
        *(row for row in probes if row.status != MISSING or row.tool in named),
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
    said = {"system": (host.system,), "path": python_environment.traits(str(folder.absolute())), "compiler": names}
    return Circumstances(versions, missing - versions.keys(), said)


def _remarks(host: Host, rows: Sequence[ToolRow], folder: Path, variants: _Variants) -> list[Remark]:
    found = [
        *python_environment.project_files(folder),
        *python_environment.installed_twice(),
        *python_environment.scons_remarks(host),
    ]
    for tool in TOOLS:
        found += tools.shadowed(tool, host)
    found += compilers.gcc_shadowed(host, compilers_of(variants))
    found += [*compilers.stedgeai_shadowed(host), *python_environment.path_remarks(folder, host)]
    found += known_bad.own_build_remarks(host, variants, folder)
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
    """Look at a machine with the eyes of a project (its file as named, its folder: the current one unless given).

    ``targets``: what is meant to be done, variants, ``run-<variant>`` and the like; none: build all variants.
    ``others``: further boards that variants name. NeuralArtError: a target is none, or the list of known combinations
    is damaged.
    """
    asked = understand(targets, [variant.name for variant, _ in variants])
    chosen = [pair for pair in variants if pair[0].name in {each.variant for each in asked}]
    wanted = needs(chosen, others)
    rows = []
    for row in _rows(host, chosen, others or {}):
        need = wanted.get(row.tool, row.need)
        needed = any(each.variant in need.build or (each.work and each.target in need.use) for each in asked)
        rows.append(replace(row, need=need, blocks=row.status != OK and needed))
    remarks = _remarks(host, rows, folder or Path(), chosen)
    return Examination(__version__, host.system, project, tuple(targets), tuple(rows), tuple(remarks))
