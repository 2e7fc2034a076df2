"""``neuralart compile`` by the reference compiler: from parsed arguments to files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.compilers.command_line import ADOPTED, RECORDED, REFERENCE, STEDGEAI
from neuralart.compilers.dispatch import given
from neuralart.compilers.request import checked_common, common_members, request_of
from neuralart.errors import NeuralArtError
from neuralart.network.targets import CPU, flow_of
from neuralart.text.progress import at_work

if TYPE_CHECKING:
    from neuralart_reference.compile import CompileResult
    from neuralart_reference.cpu.compile import CpuResult

# Whose options they are.
_FOR = {"recording": RECORDED, **dict.fromkeys(("adopted", "c_file", "initializer"), ADOPTED)}


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
        **common_members(args, None, notes),
    )
    return compile_network(request, progress)


def _with_boards(error: NeuralArtError, model: str) -> NeuralArtError:
    """A refusal whose hint names the boards that a model fits, where it was too large for this one."""
    from neuralart import boards
    from neuralart_reference.fit import fits, named
    from neuralart_reference.planning.placement import ASK_FIT

    if not error.hint.endswith(ASK_FIT):
        return error
    would_do = (
        named(fits(Path(model), [boards.load(name) for name in boards.names()])[1]) or "it fits no board that is known"
    )
    return NeuralArtError(error.what, where=error.where, hint=f"{error.hint.removesuffix(ASK_FIT)}{would_do}")


def run(args: argparse.Namespace, output: Path) -> str:
    """Compile; the result is for people. NeuralArtError when an option or the model is not supported, or it is too
    large; the hint then names boards that would do.
    """
    try:
        return _run(args, output)
    except NeuralArtError as error:
        raise _with_boards(error, args.model) from error


def _run(args: argparse.Namespace, output: Path) -> str:
    from neuralart_reference.compile import compile_network, write

    _only_for_others(args)
    for_cpu = flow_of(args.target or "") == CPU
    notes = checked_common(args) if for_cpu else ()
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
