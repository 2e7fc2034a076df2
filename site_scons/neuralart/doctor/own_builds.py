"""Builds of the user's own: what the cross compiler lacks that trees of ST ask for, and what built programs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from neuralart import toolchain
from neuralart.boards.types import Board
from neuralart.config.application import EXTERNAL
from neuralart.config.types import VariantConfig
from neuralart.doctor.types import NOTE, Host, Remark
from neuralart.errors import NeuralArtError
from neuralart.memory.image import origin

_TOLERATE = "toolchain: {tolerate: ['%s']}"
_PROBES = (
    ("refuses", "", "-fcyclomatic-complexity", _TOLERATE % "-fcyclomatic-complexity"),
    ("has no newlib-nano:", "", "--specs=nano.specs", "install libnewlib-arm-none-eabi, or STM32CubeCLT"),
    ("has no float_t:", "#include <math.h>\nfloat_t x;", "-std=gnu11", _TOLERATE % "+-fpermitted-flt-eval-methods=c11"),
    ("has no PRIx64:", "#include <inttypes.h>\nchar *x = PRIx64;", "-std=gnu11", _TOLERATE % "+-D__int64_t_defined=1"),
)


def remarks(host: Host, variants: Sequence[tuple[VariantConfig, Board]], folder: Path) -> Iterator[Remark]:
    """About variants with builds of the user's own: what their compiler lacks, and what built programs say."""
    for variant, board in (pair for pair in variants if pair[0].application.kind in EXTERNAL):
        try:
            found = toolchain.find(variant.toolchain, host.environ)
            for lacks, text, flag, remedy in _PROBES:
                flags = (f"-mcpu={board.cpu}", "-mthumb", "-mfloat-abi=hard", *found.libc_flags, flag)
                if not toolchain.compiles(found, flags, f"{text}\n"):
                    yield Remark("gcc-lacks", NOTE, f"{found.prefix}gcc {found.version} {lacks} {flag}", remedy)
            if (built := folder / "build" / variant.name / "firmware.elf").is_file():
                yield Remark("built", NOTE, f"{variant.name} was built with {origin.of_program(built)}")
        except NeuralArtError:
            continue  # rows and builds say it
