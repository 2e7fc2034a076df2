"""``neuralart compile`` by the reference compiler: from parsed arguments to files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.compilers.command_line import ADOPTED, DOC, RECORDED, REFERENCE, STEDGEAI, option_key, split_words
from neuralart.compilers.dispatch import given
from neuralart.compilers.options import FLAG, GENERATE, NO_EFFECT, REFUSED
from neuralart.errors import NeuralArtError
from neuralart.network.targets import CPU, flow_of, usable
from neuralart.text.progress import at_work

if TYPE_CHECKING:
    from neuralart.vendor.profile import Profile
    from neuralart_reference.compile import CompileRequest, CompileResult
    from neuralart_reference.cpu.compile import CpuResult

# Whose options they are.
_FOR = {"recording": RECORDED, **dict.fromkeys(("adopted", "c_file", "initializer"), ADOPTED)}
ALL_BUFFERS = "--all-buffers-info"
# Those that the line begins with, and those that change nothing in the result.
_AHEAD = ("--model", "--target", "--name", "--st-neural-art", "--mpool")
_NOT_SHOWN = (*_AHEAD, "--output", "--workspace", "--no-workspace", "--quiet", "--verbosity")


def _only_for_others(args: argparse.Namespace) -> None:
    """Refuse what the reference compiler has no use for."""
    unfit = ["extra_options", "recording", "adopted", "c_file", "initializer"]
    if args.compiler == REFERENCE:
        unfit += ["compiler_version", "failures", "tool_cache", "timeout"]
    for name in unfit:
        if getattr(args, name) is not None:
            raise NeuralArtError(
                "means nothing to the reference compiler",
                where=f"--{name.replace('_', '-')}",
                hint=f"leave it out, or use --compiler {_FOR.get(name, STEDGEAI)}",
            )


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


def _profile(args: argparse.Namespace) -> Profile | None:
    """The profile that was named, or the board's own; None if only a pool file was named."""
    from neuralart.resources import board_data_dir
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
    from dataclasses import replace

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


def _common(args: argparse.Namespace) -> tuple[str, ...]:
    """Check what both flows want; the notes of what has no effect."""
    from neuralart.network.targets import check_name

    notes = _checked(args)
    for needed in ("model", "target"):
        if not getattr(args, needed):
            raise NeuralArtError("is required", where=f"--{needed}")
    usable(args.target, flow_of(args.target))
    check_name(args.name or "network", "--name")
    if Path(args.model).suffix.lower() in (".h5", ".keras"):
        hint = ".tflite and .onnx are"
        raise NeuralArtError(f"{Path(args.model).suffix} models are not read", where=args.model, hint=hint)
    return notes


def _members(args: argparse.Namespace, profile: Profile | None, notes: tuple[str, ...]) -> dict[str, Any]:
    """What requests of both flows have."""
    from neuralart_reference.ir import BorderOptions

    return {
        "model": Path(args.model),
        "name": args.name or "network",
        "target": args.target,
        "model_display": args.model,
        "cut": _split(args.cut_output_tensors),
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
    """The request for a target with an NPU; NeuralArtError when an option is missing, refused or contradictory."""
    from neuralart_reference.compile import CompileRequest

    notes = _common(args)
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
        **_members(args, profile, notes),
    )


def _notes(notes: Sequence[str], verbosity: int) -> list[str]:
    if verbosity > 1:
        return [f"  without effect: {note}" for note in notes]
    return [f"  options without effect here: {len(notes)} (--verbosity 2 or the report lists them)"] if notes else []


def _listed(lines: Sequence[str], folder: str, names: Iterable[str]) -> str:
    return "\n".join([*lines, f"  {folder}: {', '.join(sorted(names))}"])


def summary(result: CompileResult, folder: str, verbosity: int) -> str:
    """What a person wants to know after a compile for a target with an NPU."""
    network = result.network
    lines = [
        f"network {network.name}: {len(network.epochs)} epochs, all software on the CPU (0 % NPU), {network.macc:,} MAC"
    ]
    for pool in network.pools:
        if not pool.virtual and (pool.used or verbosity > 1):
            share = 100 * pool.used / pool.size
            lines.append(
                f"  {pool.fname:<12} 0x{pool.address:08x}  weights {pool.weights:>10,} B  "
                f"activations {pool.activations:>10,} B  {share:6.2f} % of {pool.size:,} B"
            )
    lines += _notes(result.notes, verbosity)
    if verbosity > 2:
        for block in result.plan.blocks:
            span = f"epochs {block.first} to {block.last}"
            lines.append(f"  0x{result.plan.address(block):08x} {block.size:>10,} B  {span:<20} {block.name}")
    return _listed(lines, folder, (name for name, data in result.files.items() if data or verbosity > 1))


def cpu_summary(result: CpuResult, folder: str, verbosity: int) -> str:
    """What a person wants to know after a compile for a CPU target."""
    network, cpu = result.network, result.cpu
    lines = [f"network {network.name}: {len(network.epochs)} layers on the CPU, {network.macc:,} MAC"]
    for number, pool in enumerate(cpu.placed.activations, start=1):
        share = f"  {100 * pool.used / pool.size:6.2f} % of {pool.size:,} B" if cpu.memories else ""
        lines.append(f"  activation buffer {number}  {pool.name:<20} {pool.used:>10,} B{share}")
    lines.append(f"  weights                                  {sum(each.size for each in cpu.weights):>10,} B")
    lines += _notes(cpu.emission.notes, verbosity)
    if verbosity > 1:
        lines += [
            f"  buffer {array.number or 'own':<4} +{array.offset:<10} {array.size:>10,} B  {array.name}"
            for array in cpu.activations.values()
        ]
    return _listed(lines, folder, result.files)


def _for_cpu(args: argparse.Namespace, notes: tuple[str, ...], progress: Callable[[str], None]) -> CpuResult:
    from neuralart_reference.cpu.compile import CpuRequest, compile_network

    request = CpuRequest(
        memory_pool=Path(args.memory_pool) if args.memory_pool is not None else None,
        memory_pool_display=args.memory_pool or "",
        split_weights=bool(args.split_weights or args.dispatch_weights),
        dispatch=given(args.dispatch_weights),
        binary=bool(args.binary),
        **_members(args, None, notes),
    )
    return compile_network(request, progress)


def run(args: argparse.Namespace, output: Path) -> str:
    """Compile; the result is for people. NeuralArtError when an option or the model is not supported."""
    from neuralart_reference.compile import compile_network, write

    _only_for_others(args)
    for_cpu = flow_of(args.target or "") == CPU
    notes = _common(args) if for_cpu else ()
    request = None if for_cpu else request_of(args)
    verbosity = 0 if args.quiet else int(args.verbosity or 1)
    folder = args.output or "st_ai_output"
    with at_work(f"compile {args.name or 'network'}", quiet=not verbosity) as work:
        if request is None:
            for_application = _for_cpu(args, notes, work.say)
            write(for_application, output)
            return cpu_summary(for_application, folder, verbosity)
        result = compile_network(request, work.say)
        write(result, output)
        return summary(result, folder, verbosity)
