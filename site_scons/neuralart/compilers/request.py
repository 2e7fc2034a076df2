"""Compile requests with types, made from the parsed words of ``neuralart compile``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.compilers.command_line import DOC, option_key, split_words
from neuralart.compilers.options import FLAG, GENERATE, NO_EFFECT, REFUSED
from neuralart.errors import NeuralArtError
from neuralart.network.targets import CPU, check_name, flow_of, usable
from neuralart.quick import KW_ONLY, dataclass, field, replace
from neuralart.resources import board_data_dir

if TYPE_CHECKING:
    from neuralart.vendor.profile import Profile


ALL_BUFFERS = "--all-buffers-info"


# Those that the line begins with, and those that change nothing in the result.
_AHEAD = ("--model", "--target", "--name", "--st-neural-art", "--mpool")


_NOT_SHOWN = (*_AHEAD, "--output", "--workspace", "--no-workspace", "--quiet", "--verbosity")


@dataclass(frozen=True)
class BorderOptions:
    """Options about inputs and outputs. Each tuple is empty (the model's own), has one entry for all, or one for each
    input or output in the model's order.
    """

    input_dtypes: tuple[str, ...] = ()  # ``float32``, ``int8`` or ``uint8``
    output_dtypes: tuple[str, ...] = ()  # likewise
    inputs_ch_position: tuple[str, ...] = ()  # ``chlast`` or ``chfirst``
    outputs_ch_position: tuple[str, ...] = ()  # likewise


@dataclass(frozen=True)
class CommonRequest:
    """The members that all requests share."""

    model: Path  # the .tflite or .onnx
    _: KW_ONLY
    target: str = ""  # as ``--target``
    name: str = "network"  # C name of the network
    model_display: str = ""  # the model as the user named it; empty: the path
    cut: tuple[str, ...] = ()  # names of the tensors where the model ends; empty: its own outputs
    # sizes of inputs that the model leaves open, by their names
    input_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    border: BorderOptions = field(default_factory=BorderOptions)  # types and channel positions of inputs and outputs
    allocate_inputs: bool = True  # False: the application provides the input buffers
    allocate_outputs: bool = True  # likewise for the outputs
    memory: str = ""  # ``smallest``: layers in stripes of rows where that takes less memory; empty: none
    report: bool = True  # write the text report
    arguments: str = "generate"  # the command line for reports; no folders in it
    notes: tuple[str, ...] = ()  # options without effect that were found before


@dataclass(frozen=True)
class CompileRequest(CommonRequest):
    """A compile for a target with an NPU."""

    mpool: Path  # the memory-pool file
    target: str = field(default="stm32n6", kw_only=True)
    mpool_display: str = ""  # the pool file as the user named it; empty: the path
    profile_options: tuple[str, ...] = ()  # options of the profile
    options_where: str = "profile options"  # their place, for messages
    initializers: tuple[str, ...] | None = None  # fnames of the declared initializers; None: by rule


def _checked(args: argparse.Namespace) -> tuple[str, ...]:
    """Refuse what the table refuses; the notes of what has no effect."""
    notes, flow = [], flow_of(args.target or "")
    for option in GENERATE:
        value = getattr(args, option_key(option))
        if value is None:
            continue
        what, hint = "", option.remedy or f"see {DOC}"
        if option.effect == REFUSED:
            what = f"refused: {option.why}"
        elif option.flow and args.target and option.flow != flow:
            what = f"refused: it belongs to the {option.flow} flow, target {args.target} to the {flow} flow"
        elif option.choices and value not in option.choices:
            shown = f"'{value}'" if value else "an empty value"
            what, hint = f"{shown} is refused: {option.why}", f"possible: {', '.join(option.choices)}"
        if what:
            raise NeuralArtError(what, where=option.name, hint=hint)
        if option.effect == NO_EFFECT:
            notes.append(f"{option.name}: {option.why}")
    for kind in ("inputs", "outputs"):
        if getattr(args, f"allocate_{kind}") and getattr(args, f"no_{kind}_allocation"):
            raise NeuralArtError(f"contradicts --no-{kind}-allocation", where=f"--allocate-{kind}", hint="keep one")
    return tuple(notes)


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text is not None else ()


def input_shapes(text: str, where: str = "--input-shape") -> dict[str, tuple[int, ...]]:
    """Read ``NAME=1x3x48x320,...``; names may contain commas. NeuralArtError: another text."""
    found = re.findall(r"(.+?)=([1-9][0-9]{0,8}(?:x[1-9][0-9]{0,8})*)(?:,|$)", text)
    if ",".join("=".join(pair) for pair in found) != text:
        raise NeuralArtError(f"'{text}' is no list of shapes", where=where, hint="NAME=1x3x48x320, comma separated")
    return {name: tuple(map(int, sizes.split("x"))) for name, sizes in found}


def _profile(args: argparse.Namespace) -> Profile | None:
    """The profile that was named, or the board's own; None if only a pool file was named."""
    from neuralart.vendor import profile

    if args.st_neural_art is None and args.mpool is not None:
        if args.profile_add is not None or args.profile_remove is not None:
            raise NeuralArtError(
                "there is no profile to change", where="--profile-add", hint="name one: --st-neural-art"
            )
        return None
    named = profile.parse_argument(args.st_neural_art or "")
    path = Path(named.file)
    if not named.file:
        path = board_data_dir() / "profiles" / f"{usable(args.target).board}.json"
    found = profile.read(path, named.name, named.file or str(path), need_pools=args.mpool is None)
    if args.profile_add is None and args.profile_remove is None and args.pair is None:
        return found

    from neuralart.compilers.profile_edits import edit, for_profiling

    options = edit(found.options, split_words(args.profile_add), split_words(args.profile_remove), found.file)
    return replace(found, options=for_profiling(options) if args.pair else options)


def _initializers(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text.strip().lower() in ("", "none") else _split(text)


def _arguments(args: argparse.Namespace, profile: Profile | None) -> str:
    """The command line as reports show it: names without their folders."""
    words = ["generate", "--model", Path(args.model).name, "--target", args.target, "--name", args.name or "network"]
    if profile is not None:
        words += ["--st-neural-art", f"{profile.name}@{Path(profile.file).name}"]
    if args.mpool is not None:
        words += ["--mpool", Path(args.mpool).name]
    for option in GENERATE:
        value = getattr(args, option_key(option))
        if value is not None and option.name not in _NOT_SHOWN:
            shown = Path(value).name if option.name == "--memory-pool" else value
            words += [option.name] if option.takes == FLAG else [option.name, shown]
    if args.c_api is None and flow_of(args.target) == CPU:
        words += ["--c-api", "legacy"]
    return " ".join(words)


def checked_common(args: argparse.Namespace) -> tuple[str, ...]:
    """Check the options of both flows; returns notes on options without effect."""
    notes = _checked(args)
    for needed in ("model", "target"):
        if not getattr(args, needed):
            raise NeuralArtError("is required", where=f"--{needed}")
    usable(args.target, flow_of(args.target))
    added = [*(args.profile_add or ()), *(args.profile_remove or ())]
    if added and flow_of(args.target) == CPU:
        hint = f"leave it out: there is no profile for target {args.target}"
        raise NeuralArtError("it belongs to a profile, which an NPU has", where=added[0], hint=hint)
    check_name(args.name or "network", "--name")
    if Path(args.model).suffix.lower() in (".h5", ".keras"):
        hint = ".tflite and .onnx are"
        raise NeuralArtError(f"{Path(args.model).suffix} models are not read", where=args.model, hint=hint)
    return notes


def common_members(args: argparse.Namespace, profile: Profile | None, notes: tuple[str, ...]) -> dict[str, Any]:
    """Make the members that requests of both flows share."""
    return {
        "model": Path(args.model),
        "name": args.name or "network",
        "target": args.target,
        "model_display": args.model,
        "cut": _split(args.cut_output_tensors),
        "input_shapes": input_shapes(args.input_shape or ""),
        "border": BorderOptions(
            _split(args.input_data_type),
            _split(args.output_data_type),
            _split(args.inputs_ch_position),
            _split(args.outputs_ch_position),
        ),
        "allocate_inputs": not args.no_inputs_allocation,
        "allocate_outputs": not args.no_outputs_allocation,
        "memory": args.memory or "",
        "report": not args.no_report,
        "arguments": _arguments(args, profile),
        "notes": notes,
    }


def request_of(args: argparse.Namespace) -> CompileRequest:
    """Make the request for a target with an NPU. NeuralArtError: an option is missing, refused or contradictory."""
    notes = checked_common(args)
    profile = _profile(args)
    if profile is not None:
        notes += tuple(f"key '{key}' of profile '{profile.name}': it has no meaning" for key in profile.unknown)
        if profile.machine_desc:
            notes += ("machine_desc: software epochs need no machine description",)
    assert args.mpool is not None or profile is not None
    options = profile.options if profile is not None else ()
    if args.all_buffers_info and ALL_BUFFERS not in options:
        options = (*options, ALL_BUFFERS)
    return CompileRequest(
        mpool=Path(args.mpool) if args.mpool is not None or profile is None else profile.mpool,
        mpool_display=args.mpool if args.mpool is not None or profile is None else profile.mpool_display,
        profile_options=options,
        options_where=profile.options_where if profile is not None else "profile options",
        initializers=_initializers(args.initializers),
        **common_members(args, profile, notes),
    )
