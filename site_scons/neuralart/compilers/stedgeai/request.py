"""Compile requests for ST Edge AI Core, independent of its version and of folders."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from neuralart.compilers.command_line import option_values, split_words
from neuralart.compilers.dispatch import OPTION, SPLIT, given
from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file
from neuralart.network.targets import usable
from neuralart.quick import dataclass, field
from neuralart.resources import board_data_dir
from neuralart.vendor.profile import ProfileArgument, parse_argument

NPU_TARGET = "stm32n6"
_TARGET = re.compile(r"(?:stm32|stellar|ispu|mlc)[a-z0-9-]*")
_EXPORTED = re.compile(r".*_OE_\d+(?:_\d+)*\.onnx", re.I)
MODELS = (".tflite", ".onnx", ".h5", ".keras")


@dataclass(frozen=True)
class ProfileChoice:
    """The profile of a compile for the NPU."""

    argument: ProfileArgument  # As named; an empty file with ``built_in`` means one of the tool's own profiles
    path: Path | None  # The profile file; None: one of the tool's own profiles
    stock: bool = False  # It is a board's own file: the tool's own default options are added to it
    add: tuple[str, ...] = ()  # Options to add, words
    remove: tuple[str, ...] = ()  # Options to remove
    profiling: bool = False  # Leave the epoch controller out

    @property
    def edited(self) -> bool:
        """Whether it differs from its file."""
        return bool(self.add or self.remove or self.profiling)


@dataclass(frozen=True)
class ToolRequest:
    """A compile by the tool."""

    model: Path  # The model file
    model_display: str  # As the user named it
    name: str  # C name
    target: str  # As ``--target``
    profile: ProfileChoice | None  # Of the NPU flow; None: the flow without an NPU
    mpool: Path | None = None  # Pool file instead of the profile's
    mpool_display: str = ""  # As the user named it
    # Every option as parsed, by its canonical name
    values: Mapping[str, str | bool | None] = field(default_factory=dict)
    extra: tuple[str, ...] = ()  # Further words for the tool
    controller: bool = False  # ``--enable-epoch-controller`` was given
    initializers: tuple[str, ...] | None = None  # fnames of the declared initializers; None: by rule
    report: bool = True  # A text report is written
    dispatch: str = ""  # Sections for arrays of constants and their sizes, as ``--dispatch-weights``
    seconds: float | None = None  # Of wall time that the tool may take; None: any

    @property
    def npu(self) -> bool:
        """Whether it is for the NPU."""
        return self.profile is not None

    @property
    def stem(self) -> str:
        """The tool's name of the model."""
        return self.model.stem


def check_target(target: str) -> None:
    """Refuse what is no target of the tool."""
    if not _TARGET.fullmatch(target):
        hint = "stm32n6, stm32h7, stm32f4, ... as for stedgeai"
        raise NeuralArtError(f"'{target}' is no target of ST Edge AI Core", where="--target", hint=hint)


def check_model(path: Path, display: str) -> None:
    """Refuse what is no model (or is a result of an earlier compile) before the slow tool does."""
    if _EXPORTED.fullmatch(path.name):
        raise NeuralArtError(
            "this is the model as the tool's own front end exported it (_OE_): compiled again, "
            "its inputs would be converted twice",
            where=display,
            hint="name the model it was made from",
        )
    if path.suffix.lower() not in MODELS:
        raise NeuralArtError(
            f"'{path.suffix}' is no kind of model", where=display, hint=f"possible: {', '.join(MODELS)}"
        )
    try:
        size = path.stat().st_size
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=display, hint=nearest_file(path)) from error
    if path.is_dir() or not size:
        raise NeuralArtError("is a folder" if path.is_dir() else "is empty", where=display)
    if not path.stem.isascii():
        raise NeuralArtError(
            f"the name '{path.stem}' has letters outside ASCII, on which the tool's compiler crashes",
            where=display.encode("ascii", "backslashreplace").decode(),
            hint="rename the file; the folders may be called anything",
        )


def profile_choice(args: argparse.Namespace, stock: Path | None = None) -> ProfileChoice:
    """Choose the named profile, else the board's. NeuralArtError: an unknown form, or a target without a board."""
    own = board_data_dir() / "profiles"
    given = args.st_neural_art or ""
    argument = parse_argument(given)
    path = Path(argument.file) if argument.file else stock
    if not given:
        path = own / f"{usable(args.target).board}.json"
    return ProfileChoice(
        argument=argument,
        path=path,
        stock=path is not None and path.resolve().parent == own.resolve(),
        # The tool takes it from a profile only.
        add=(*split_words(args.profile_add), *(("--all-buffers-info",) if args.all_buffers_info else ())),
        remove=split_words(args.profile_remove),
        profiling=args.pair == "profiling",
    )


def request_of(args: argparse.Namespace, stock: Path | None = None) -> ToolRequest:
    """Make the request of a command line. ``stock``: the tool's own profiles; None: unknown. NeuralArtError: something
    is missing or contradictory.
    """
    for needed in ("model", "target"):
        if not getattr(args, needed):
            raise NeuralArtError("is required", where=f"--{needed}")
    check_target(args.target)
    if args.verbosity not in (None, "0", "1", "2", "3"):
        raise NeuralArtError(f"'{args.verbosity}' is refused", where="--verbosity", hint="possible: 0, 1, 2, 3")
    npu = args.target == NPU_TARGET
    for name in () if npu else ("st_neural_art", "profile_add", "profile_remove", "pair"):
        if getattr(args, name) is not None:
            where = f"--{name.replace('_', '-')}"
            raise NeuralArtError(f"target {args.target} has no Neural-ART", where=where, hint="leave it out")
    initializers: tuple[str, ...] | None = None
    if args.initializers is not None:
        text = args.initializers.strip()
        initializers = () if text.lower() in ("", "none") else tuple(part.strip() for part in text.split(","))
    values = option_values(args)
    if args.dispatch_weights and not npu:
        del values[OPTION]  # the tool has half of it
        values[SPLIT] = True
    return ToolRequest(
        model=Path(args.model),
        model_display=args.model,
        name=args.name or "network",
        target=args.target,
        profile=profile_choice(args, stock) if npu else None,
        mpool=Path(args.mpool) if args.mpool is not None else None,
        mpool_display=args.mpool or "",
        values=values,
        dispatch=given(args.dispatch_weights),
        extra=split_words(args.extra_options),
        controller=bool(args.enable_epoch_controller),
        initializers=initializers,
        report=not args.no_report,
        seconds=args.timeout,
    )
