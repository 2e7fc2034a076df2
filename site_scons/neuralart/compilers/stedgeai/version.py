"""Versions of ST Edge AI Core, what differs between them, and pins such as ``4.0.*``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.vendor.core_version import CoreVersion, parse_core

_NAME = "ST Edge AI Core v"
_PIN = re.compile(r"(\d{1,4})(?:\.(\d{1,4}|\*)(?:\.(\d{1,4}|\*)(?:-([0-9A-Za-z]+|\*))?)?)?")
OLDEST = (2, 0)


@dataclass(frozen=True)
class Family:
    """What the versions of one ``major.minor`` have in common.

    Attributes:
        series: Major and minor.
        front_end: Suffix of the exported ONNX model.
        header: ``N.h`` is written.
        stai: ``stai_N.c`` and ``stai_N.h`` are written.
        c_api: Which C interface the CPU flow writes when nobody says.
        controller_option: ``--enable-epoch-controller`` is an option of the command line; before, of profiles only.
        description_key: What a profile calls its machine description.
        built_in: Options of the tool's own default profile.
    """

    series: tuple[int, int]
    front_end: str
    header: bool
    stai: bool
    c_api: str
    controller_option: bool
    description_key: str
    built_in: tuple[str, ...]


_BASIC = ("--native-float", "--cache-maintenance", "--Ocache-opt", "--enable-virtual-mem-pools", "--Os")
_BUILT_IN = (*_BASIC, "--Oauto-sched")
# The vector unit is named by an option until the target implies it.
_WITH_MVEI = ("--native-float", "--mvei", *_BUILT_IN[1:])

FAMILIES: tuple[Family, ...] = (
    Family((2, 0), "3_1_0", False, False, "legacy", False, "memory_desc", _WITH_MVEI),
    Family((2, 1), "3_2_0", False, False, "legacy", False, "memory_desc", _WITH_MVEI),
    Family((2, 2), "3_3_0", True, False, "legacy", False, "machine_desc", _WITH_MVEI),
    Family((3, 0), "3_3_1", True, True, "st-ai", True, "machine_desc", _BUILT_IN),
    Family((4, 0), "3_3_1", True, True, "st-ai", True, "machine_desc", _BUILT_IN),
)


def short(version: CoreVersion) -> str:
    """``4.0.1``."""
    return ".".join(map(str, version.numbers))


def build(version: CoreVersion) -> str:
    """``4.0.1-20581``."""
    return f"{short(version)}-{version.build}" if version.build else short(version)


def is_known(version: CoreVersion) -> bool:
    """Its habits were looked at; those of others are taken to be the nearest earlier one's."""
    return any(family.series == version.numbers[:2] for family in FAMILIES)


def family_of(version: CoreVersion) -> Family:
    """What is particular to a version.

    Raises:
        NeuralArtError: It is older than the first with an NPU compiler.
    """
    fitting = [family for family in FAMILIES if family.series <= version.numbers[:2]]
    if not fitting:
        raise NeuralArtError(
            f"ST Edge AI Core {build(version)} has no Neural-ART compiler", hint="2.0 is the first version that has"
        )
    return fitting[-1]


def parse(answer: str, where: str) -> CoreVersion:
    """Understand what ``--version`` printed; lines before and after the version do not matter.

    Raises:
        NeuralArtError: There is no version in it.
    """
    lines = [line.strip() for line in answer.replace("\r", "\n").splitlines() if line.strip()]
    for line in lines:
        found = parse_core(line) if line.startswith(_NAME) else None
        if found is not None:
            return found
    raise NeuralArtError(
        f"does not say which version it is: '{lines[0][:80] if lines else 'nothing'}'",
        where=where,
        hint="is it the stedgeai of an installation?",
    )


def check_pin(pin: str, where: str) -> None:
    """Refuse what is not the form of a pin.

    Raises:
        NeuralArtError: Neither numbers nor a star at the end.
    """
    found = _PIN.fullmatch(pin)
    parts = [part for part in (found.groups() if found else ()) if part is not None]
    if not found or "*" in parts[:-1]:
        raise NeuralArtError(
            f"'{pin}' is no version to ask for", where=where, hint='a version or its beginning: "4", "4.0.*", "4.0.1"'
        )
    if int(parts[0]) < OLDEST[0]:
        raise NeuralArtError(
            f"version '{pin}' has no Neural-ART compiler", where=where, hint="2.0 is the first that has"
        )


def fits(version: CoreVersion, pin: str) -> bool:
    """Whether a version is what a pin asks for.

    Args:
        version: Of an installation.
        pin: ``4``, ``4.0``, ``4.0.*``, ``4.0.1``, ``4.0.1-20581``; empty: any.
    """
    if not pin:
        return True
    numbers, _, build = pin.partition("-")
    wanted = [part for part in numbers.split(".") if part != "*"]
    same = [str(number) for number in version.numbers][: len(wanted)] == [str(int(part)) for part in wanted]
    return same and build in ("", "*", version.build)
