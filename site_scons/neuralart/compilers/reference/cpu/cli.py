"""``neuralart compile`` for CPU targets."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.compilers.reference.options import FLAG, GENERATE, Option
from neuralart.network.targets import CPU

if TYPE_CHECKING:
    from neuralart.compilers.reference.cpu.compile import CpuRequest, CpuResult
    from neuralart.compilers.reference.ir import BorderOptions

_NOT_SHOWN = ("--model", "--target", "--name", "--output", "--workspace", "--quiet", "--verbosity", "--no-workspace")
_FILES = ("--memory-pool",)


def _value(args: argparse.Namespace, option: Option) -> str | None:
    value: str | None = getattr(args, option.name.lstrip("-").replace("-", "_"))
    return value


def arguments(args: argparse.Namespace) -> str:
    """The command line as reports show it: names without their folders."""
    words = ["generate", "--model", Path(args.model).name, "--target", args.target, "--name", args.name or "network"]
    for option in GENERATE:
        value = _value(args, option)
        if value is None or option.name in _NOT_SHOWN:
            continue
        shown = Path(value).name if option.name in _FILES else value
        words += [option.name] if option.takes == FLAG else [option.name, shown]
    if args.c_api is None:
        words += ["--c-api", "legacy"]
    return " ".join(words)


def request_of(args: argparse.Namespace, border: BorderOptions, notes: tuple[str, ...]) -> CpuRequest:
    """What the command line asks for; its options were checked.

    Raises NeuralArtError when the target has an NPU, or is refused.
    """
    from neuralart.compilers.reference.cpu.compile import CpuRequest
    from neuralart.network.targets import usable

    usable(args.target, CPU)
    return CpuRequest(
        model=Path(args.model),
        memory_pool=Path(args.memory_pool) if args.memory_pool is not None else None,
        name=args.name or "network",
        target=args.target,
        model_display=args.model,
        memory_pool_display=args.memory_pool or "",
        border=border,
        allocate_inputs=not args.no_inputs_allocation,
        allocate_outputs=not args.no_outputs_allocation,
        split_weights=bool(args.split_weights),
        binary=bool(args.binary),
        report=not args.no_report,
        arguments=arguments(args),
        notes=notes,
    )


def summary(result: CpuResult, folder: str, verbosity: int) -> str:
    """What a person wants to know after a compile."""
    network, cpu = result.network, result.cpu
    weights = sum(each.size for each in cpu.weights)
    lines = [f"network {network.name}: {len(network.epochs)} layers on the CPU, {network.macc:,} MAC"]
    for number, pool in enumerate(cpu.placed.activations, start=1):
        share = f"  {100 * pool.used / pool.size:6.2f} % of {pool.size:,} B" if cpu.memories else ""
        lines.append(f"  activation buffer {number}  {pool.name:<20} {pool.used:>10,} B{share}")
    lines.append(f"  weights                                  {weights:>10,} B")
    notes = cpu.emission.notes
    if verbosity > 1:
        lines += [f"  without effect: {note}" for note in notes]
        lines += [
            f"  buffer {array.number or 'own':<4} +{array.offset:<10} {array.size:>10,} B  {array.name}"
            for array in cpu.activations.values()
        ]
    elif notes:
        lines.append(f"  options without effect here: {len(notes)} (--verbosity 2 or the report lists them)")
    return "\n".join([*lines, f"  {folder}: {', '.join(sorted(result.files))}"])


def run(
    args: argparse.Namespace,
    border: BorderOptions,
    notes: tuple[str, ...],
    progress: Callable[[str], None],
) -> CpuResult:
    """Compile and write; NeuralArtError as :func:`~neuralart.compilers.reference.cpu.compile.compile_network`."""
    from neuralart.compilers.reference.cpu.compile import compile_network, write

    result = compile_network(request_of(args, border, notes), progress)
    write(result, Path(args.output or "st_ai_output"))
    return result
