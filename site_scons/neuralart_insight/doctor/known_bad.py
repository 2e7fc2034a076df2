"""Combinations of tools that are known not to go together (a data file), and what builds of the user's own lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import toolchain
from neuralart.boards.types import Board
from neuralart.config.application import EXTERNAL
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.findings import ERROR, NOTE, WARNING
from neuralart.memory.image import code_checks
from neuralart.resources import stable_name
from neuralart.text import yaml_values
from neuralart.text.values import Value
from neuralart.vendor import releases
from neuralart.vendor.programs import check_range, fits
from neuralart.vendor.releases import dotted
from neuralart.vendor.tools import Host, Remark

SCHEMA = 1
MISSING, PRESENT = "missing", "present"
_KEYS = ("id", "when", "level", "says", "remedy")
_PLAIN = {"system": ("linux", "windows", "mac"), "path": ("spaces", "non-ascii", "at"), "compiler": None}
_TOOLS = (
    *("python", "scons", "unicorn", "arm-none-eabi-gcc", "qemu-system-arm", "stedgeai", "ll_aton", "cubeprogrammer"),
    *("signing-tool", "stm32cubeide", "cmake", "make"),
)


@dataclass(frozen=True)
class Combination:
    """One of them."""

    id: str  # Short name
    # Conditions, all of which hold: what, and a range of versions, ``missing``, ``present`` or a word
    when: tuple[tuple[str, str], ...]
    level: str  # ``error``, ``warning`` or ``note``
    says: str  # What is known; ``{tool}`` stands for its version
    remedy: str  # What to do about it


@dataclass(frozen=True)
class Circumstances:
    """What conditions are compared with."""

    versions: Mapping[str, str]  # Of the tools that are there; empty text where a tool does not say one
    missing: frozenset[str]  # Tools that were looked for and are not there
    words: Mapping[str, Sequence[str]]  # ``system``, ``path`` and ``compiler``: what is so


def read(path: Path | None = None) -> tuple[Combination, ...]:
    """Read a list (NeuralArtError where it is wrong); without a path ours, and the releases with their runtimes."""
    own = of_releases() if path is None else ()
    path = path or Path(__file__).with_name("data") / "known_bad.yaml"
    top = yaml_values.read(path, stable_name(str(path)))
    yaml_values.check_schema(top, SCHEMA)
    fields = top.fields(("schema", "combinations"))
    if "combinations" not in fields:
        raise top.error("'combinations' is missing")
    found: dict[str, Combination] = {}
    for item in fields["combinations"].items():
        combination = _combination(item)
        if combination.id in found:
            raise item.error(f"'{combination.id}' is there twice")
        found[combination.id] = combination
    return (*found.values(), *own)


def of_releases() -> tuple[Combination, ...]:
    """A release of ST Edge AI Core and the runtime of another one, for each release."""
    found = []
    for release in releases.RELEASES:
        series, runtime = dotted(release.series), dotted(release.runtime)
        # One runtime for all of a series that has one release.
        alone = sum(each.series == release.series for each in releases.RELEASES) == 1
        when = (("stedgeai", f"{series}.*" if alone else release.core), ("ll_aton", f"!={runtime}"))
        says = f"ST Edge AI Core {{stedgeai}} makes networks for runtime {runtime}, "
        says += "the project has the headers of {ll_aton}"
        remedy = "take Middlewares/ST/AI from the installation that compiles the networks"
        found.append(Combination(f"runtime-{series if alone else release.core}", when, WARNING, says, remedy))
    return tuple(found)


def _combination(item: Value) -> Combination:
    fields = item.fields(_KEYS)
    for key in _KEYS:
        if key not in fields:
            raise item.error(f"'{key}' is missing")
    conditions = []
    for name, value in fields["when"].fields((*_TOOLS, *_PLAIN)).items():
        text = value.text()
        allowed = _PLAIN.get(name)
        if allowed is not None:
            value.choice(allowed)
        elif name not in _PLAIN and text not in (MISSING, PRESENT):
            check_range(text, str(value.where))
        conditions.append((name, text))
    if not conditions:
        raise fields["when"].error("is empty")
    name, level = fields["id"].text(), fields["level"].choice((ERROR, WARNING, NOTE))
    return Combination(name, tuple(conditions), level, fields["says"].text(), fields["remedy"].text())


def _holds(name: str, wanted: str, facts: Circumstances) -> bool:
    if name in _PLAIN:
        return wanted in facts.words.get(name, ())
    if wanted == MISSING:
        return name in facts.missing
    if wanted == PRESENT:
        return name in facts.versions
    return name in facts.versions and fits(facts.versions[name], wanted)


def remarks(combinations: Sequence[Combination], facts: Circumstances) -> list[Remark]:
    """Those that are so here."""
    found = []
    for each in combinations:
        if all(_holds(name, wanted, facts) for name, wanted in each.when):
            said = each.says
            for name, version in facts.versions.items():
                said = said.replace("{" + name + "}", version or "of unknown version")
            found.append(Remark(each.id, each.level, said, each.remedy))
    return found


_TOLERATE = "toolchain: {tolerate: ['%s']}"
_PROBES = (
    ("refuses", "", "-fcyclomatic-complexity", _TOLERATE % "-fcyclomatic-complexity"),
    ("has no newlib-nano:", "", "--specs=nano.specs", "install libnewlib-arm-none-eabi, or STM32CubeCLT"),
    ("has no float_t:", "#include <math.h>\nfloat_t x;", "-std=gnu11", _TOLERATE % "+-fpermitted-flt-eval-methods=c11"),
    ("has no PRIx64:", "#include <inttypes.h>\nchar *x = PRIx64;", "-std=gnu11", _TOLERATE % "+-D__int64_t_defined=1"),
)


def own_build_remarks(host: Host, variants: Sequence[tuple[VariantConfig, Board]], folder: Path) -> Iterator[Remark]:
    """About variants with builds of the user's own: what their compiler lacks, and what built programs say."""
    for variant, board in (pair for pair in variants if pair[0].application.kind in EXTERNAL):
        try:
            found = toolchain.find(variant.toolchain, host.environ)
            libc = found.libc_flags
            for lacks, text, flag, remedy in _PROBES:
                flags = (f"-mcpu={board.cpu}", "-mthumb", "-mfloat-abi=hard", *libc, flag)
                if not toolchain.compiles(found, flags, f"{text}\n"):
                    yield Remark("gcc-lacks", NOTE, f"{found.prefix}gcc {found.version} {lacks} {flag}", remedy)
                elif flag.startswith("--specs="):
                    libc = (flag,)  # What such builds ask for, whatever else is there
            if (built := folder / "build" / variant.name / "firmware.elf").is_file():
                yield Remark("built", NOTE, f"{variant.name} was built with {code_checks.of_program(built)}")
        except NeuralArtError:
            continue  # rows and builds say it
