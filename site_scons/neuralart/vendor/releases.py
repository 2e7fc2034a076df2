"""Releases of ST Edge AI Core: a row for each, with all that differs between them; versions and pins. All code that
depends on a release reads this table. A new release is one row, see docs/developing.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, field, lazy_regex

# 2.0 gave no commit; pre-releases have a name instead of a build number.
_CORE = lazy_regex(r"(?:ST Edge AI Core\s+)?v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-([\w.]+))?(?:\s+([0-9a-f]{7,40}))?\s*")


class CoreVersion(NamedTuple):
    text: str  # As written, without the words in front: ``2.2.0-20266 2adc00962``
    numbers: tuple[int, int, int]  # Major, minor, patch
    build: str = ""  # Build number or name; empty if none is given
    commit: str = ""  # Empty if none is given

    @property
    def short(self) -> str:
        """``4.0.1``."""
        return dotted(self.numbers)

    @property
    def full(self) -> str:
        """``4.0.1-20581``."""
        return f"{self.short}-{self.build}" if self.build else self.short


def parse_core(text: str) -> CoreVersion | None:
    """Read a version, with or without ``ST Edge AI Core v`` in front; None: it is none."""
    found = _CORE.fullmatch(text.strip())
    if found is None:
        return None
    major, minor, patch, build, commit = found.groups(default="")
    written = f"{major}.{minor}.{patch}" + (f"-{build}" if build else "") + (f" {commit}" if commit else "")
    return CoreVersion(written, (int(major), int(minor), int(patch)), build, commit)


Version = tuple[int, int, int, int]
"""Of ll_aton, the vendor's runtime: major, minor, micro, dev."""


class Habits(NamedTuple):
    """The options and files of a release."""

    front_end: str  # Suffix of the exported ONNX model
    header: bool  # ``N.h`` is written
    stai: bool  # ``stai_N.c`` and ``stai_N.h`` are written
    c_api: str  # Which C interface the CPU flow writes by default
    controller_option: bool  # ``--enable-epoch-controller`` is an option of the command line; before, of profiles only
    description_key: str  # What a profile calls its machine description
    built_in: tuple[str, ...]  # Options of the tool's own default profile


class RelocatableForm(NamedTuple):
    """The format of a release's relocatable models."""

    header_words: int  # Of the binary header: 24 or 26
    context_words: int  # Of the runtime's context: 16 or 17
    callbacks: tuple[str, ...]  # What the firmware provides, in the order of its table
    any_name: bool = True  # A network may have any C name; else it must be called Default
    any_state: bool = True  # A secure firmware loads images made for the non-secure state


@dataclass(frozen=True)
class Release:
    core: str  # Its version, three numbers
    build: str  # Number behind it
    runtime: Version  # ll_aton version that its networks ask for
    branch: str  # Value of GIT_BRANCH in its network.c
    habits: Habits  # Options and files
    relocation: RelocatableForm | None  # Form of its relocatable models; None if it makes none
    # Keys of c_info.json that it calls otherwise: the key as 2.0 has it, and its own
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor number, which decide the habits."""
        major, minor, _ = map(int, self.core.split("."))
        return major, minor


_BASIC = ("--native-float", "--cache-maintenance", "--Ocache-opt", "--enable-virtual-mem-pools", "--Os")
_BUILT_IN = (*_BASIC, "--Oauto-sched")
# The vector unit is named by an option until the target implies it.
_WITH_MVEI = ("--native-float", "--mvei", *_BUILT_IN[1:])

_HABITS_2_0 = Habits("3_1_0", False, False, "legacy", False, "memory_desc", _WITH_MVEI)
_HABITS_2_1 = Habits("3_2_0", False, False, "legacy", False, "memory_desc", _WITH_MVEI)
_HABITS_2_2 = Habits("3_3_0", True, False, "legacy", False, "machine_desc", _WITH_MVEI)
_HABITS_3_0 = Habits("3_3_1", True, True, "st-ai", True, "machine_desc", _BUILT_IN)

_CALLBACKS = (
    *("assert_func", "ll_lib_error", "mcu_cache_clean_range", "mcu_cache_invalidate_range"),
    *("mcu_cache_clean_invalidate_range", "npu_cache_clean_range", "npu_cache_clean_invalidate_range"),
    *("concat", "cast"),
)
_CALLBACKS_2_1 = (
    *(*_CALLBACKS, "softmax", "dma_imagetorow", "dma_spacetodepth", "dma_rowtoimage", "dma_depthtospace"),
    *("dma_outputs_flat_copy", "dma_outputs_slice_splitlike", "dma_outputs_channel_split_aton"),
    *("dma_outputs_channel_split_batched", "dma_pad_memset", "dma_pad_filling", "dma_transpose"),
)
_CALLBACKS_4_0 = (
    *(*_CALLBACKS, "dma_transpose", "softmax", "imagetorow", "spacetodepth", "rowtoimage", "depthtospace"),
    *("slice_splitlike", "pad_std", "pad_4loop", "flat_copy", "channel_split_aton", "channel_split_batched"),
)
_RELOCATION_2_1 = RelocatableForm(24, 16, _CALLBACKS_2_1, any_name=False, any_state=False)
_RELOCATION_2_2 = RelocatableForm(24, 17, _CALLBACKS_2_1)
_RELOCATION_3_0 = RelocatableForm(26, 17, (*_CALLBACKS_2_1, "async_memcpy", "dma_pad_4loop_filling"))
_RELOCATION_4_0 = RelocatableForm(26, 17, _CALLBACKS_4_0)

# Oldest first.
RELEASES: tuple[Release, ...] = (
    Release("2.0.0", "20049", (1, 0, 0, 16), "STAI-2.0", _HABITS_2_0, None),
    Release("2.1.0", "20194", (1, 1, 0, 31), "STAI-2.1", _HABITS_2_1, _RELOCATION_2_1),
    Release("2.2.0", "20266", (1, 1, 1, 14), "STAI-2.2", _HABITS_2_2, _RELOCATION_2_2),
    Release("3.0.0", "20426", (1, 1, 3, 8), "STAI-3.0", _HABITS_3_0, _RELOCATION_3_0),
    Release("4.0.0", "20500", (1, 1, 3, 262), "STAI-4.0", _HABITS_3_0, _RELOCATION_4_0),
    Release("4.0.1", "20581", (1, 1, 3, 275), "STAI-4.0", _HABITS_3_0, _RELOCATION_4_0),
)


def dotted(version: tuple[int, ...]) -> str:
    """Write a runtime's version: ``1.1.3.262``."""
    return ".".join(map(str, version))


def of_runtime(runtime: Version | None) -> Release | None:
    """Find the release of a runtime's version; None: unknown."""
    return next((release for release in RELEASES if release.runtime == runtime), None)


def before_runtime(runtime: tuple[int, ...]) -> Release:
    """Find the newest release whose runtime is not newer, else the oldest."""
    older = [release for release in RELEASES if release.runtime <= (*runtime, 0, 0, 0)[:4]]
    return (older or RELEASES)[-1 if older else 0]


def of_branch(branch: str) -> tuple[Release, ...]:
    """List the releases with this GIT_BRANCH."""
    return tuple(release for release in RELEASES if release.branch == branch)


def is_known(series: tuple[int, ...]) -> bool:
    """Whether the table has this ``major.minor``."""
    return any(release.series == series[:2] for release in RELEASES)


def relocatable() -> tuple[Release, ...]:
    """List the releases that make relocatable models."""
    return tuple(release for release in RELEASES if release.relocation is not None)


def relocation_of(runtime: tuple[int, ...]) -> RelocatableForm | None:
    """Find the model format of a runtime's version or a near one; None for the reference runtime (0.x)."""
    if not runtime[0]:
        return None
    return before_runtime(runtime).relocation or relocatable()[0].relocation


def synonyms() -> Mapping[str, tuple[str, ...]]:
    """Names of later releases for each key of c_info.json of 2.0."""
    found: dict[str, tuple[str, ...]] = {}
    for release in RELEASES:
        for key, own in release.renamed.items():
            found[key] = tuple(dict.fromkeys((*found.get(key, ()), own)))
    return found


_SPOKEN = "ST Edge AI Core v"
_PIN = lazy_regex(r"(\d{1,4})(?:\.(\d{1,4}|\*)(?:\.(\d{1,4}|\*)(?:-([0-9A-Za-z]+|\*))?)?)?")
OLDEST = (2, 0)


def release_of(version: CoreVersion) -> Release:
    """Find the release that a version behaves like. NeuralArtError: it is older than the first with an NPU compiler."""
    fitting = [release for release in RELEASES if release.series <= version.numbers[:2]]
    same = [release for release in fitting if release.core == dotted(version.numbers[:3])]
    release = (same or fitting)[-1] if fitting else None
    if release is None:
        hint = "2.0 is the first version that has"
        raise NeuralArtError(f"ST Edge AI Core {version.full} has no Neural-ART compiler", hint=hint)
    return release


def parse_answer(answer: str, where: str) -> CoreVersion:
    """Find the version in what ``--version`` printed. NeuralArtError: there is none."""
    lines = [line.strip() for line in answer.replace("\r", "\n").splitlines() if line.strip()]
    for line in lines:
        found = parse_core(line) if line.startswith(_SPOKEN) else None
        if found is not None:
            return found
    what = f"does not say which version it is: '{lines[0][:80] if lines else 'nothing'}'"
    raise NeuralArtError(what, where=where, hint="is it the stedgeai of an installation?")


def check_pin(pin: str, where: str) -> None:
    """Refuse a pin that has neither numbers nor a star at the end."""
    found = _PIN.fullmatch(pin)
    parts = [part for part in (found.groups() if found else ()) if part is not None]
    if not found or "*" in parts[:-1]:
        hint = 'a version or its beginning: "4", "4.0.*", "4.0.1"'
        raise NeuralArtError(f"'{pin}' is no version to ask for", where=where, hint=hint)
    if int(parts[0]) < OLDEST[0]:
        hint = "2.0 is the first that has"
        raise NeuralArtError(f"version '{pin}' has no Neural-ART compiler", where=where, hint=hint)


def fits(version: CoreVersion, pin: str) -> bool:
    """Whether a version satisfies a pin: ``4``, ``4.0``, ``4.0.*``, ``4.0.1``, ``4.0.1-20581``; empty: any does."""
    if not pin:
        return True
    # Imported late: networks without a pin need none of it.
    from packaging.specifiers import SpecifierSet

    numbers, _, build = pin.partition("-")
    same = SpecifierSet(f"=={numbers.removesuffix('.*')}.*").contains(version.short)
    return same and build in ("", "*", version.build)
