"""``N_generate_report.txt`` of a CPU network: layers, activation buffers, weights."""

from __future__ import annotations

from neuralart.compilers.reference.cpu.cpu_network import CpuNetwork
from neuralart.compilers.reference.emit.c_info import parameters
from neuralart.compilers.reference.emit.emission import NUMERICS
from neuralart.compilers.reference.emit.report import layer_table, size_text
from neuralart.network.facts import NEURALART_VERSION

_THIN = "-" * 84
_THICK = "=" * 84


def _activations(network: CpuNetwork) -> list[str]:
    lines = ["Activation buffers, provided by the application  (input/output buffers are included)", _THIN]
    for number, pool in enumerate(network.placed.activations, start=1):
        of = f" of {size_text(pool.size)} ({100 * pool.used / pool.size:6.2f} % used)" if network.memories else ""
        lines.append(f"\t{number}  {pool.name:<20} {pool.used:>10,} B{of}")
    lines += [
        "---",
        f"Total: {sum(network.activation_sizes):,} B",
        f"No placement needs less than {size_text(network.emission.plan.lower_bound)} for activations.",
        _THICK,
    ]
    return lines


def _arrays(network: CpuNetwork) -> list[str]:
    epochs = len(network.emission.program.calls)
    spans = {
        block.key: (
            "start" if block.first < 0 else str(block.first),
            "end" if block.last >= epochs else str(block.last),
        )
        for block in network.emission.plan.blocks
    }
    rows = [(array, " - ".join(spans.get(key, ("start", "end")))) for key, array in network.activations.items()]
    rows.sort(key=lambda row: (row[0].number, row[0].offset, row[1], row[0].name))
    lines = ["Arrays and their lifetimes", _THIN, f"\t{'buffer':<8}{'offset':>10}{'bytes':>12}  {'layers':<12}  array"]
    for array, span in rows:
        buffer = str(array.number) if array.number else "own"
        lines.append(f"\t{buffer:<8}{array.offset:>10}{array.size:>12}  {span:<12}  {array.name}")
    return [*lines, _THICK]


def report(network: CpuNetwork) -> str:
    """The report. No date, no folder."""
    emission = network.emission
    _count, size = parameters(emission)
    weights = sum(each.size for each in network.weights)
    arrays = len(network.weights)
    lines = [
        f"neuralart reference compiler, runtime interface {'.'.join(map(str, NEURALART_VERSION))}, numerics {NUMERICS}",
        f"Parameters            : {emission.arguments}",
        "",
        f"Model name - {emission.model.stem}",
        *layer_table(emission),
        f"model: macc={sum(call.macc for call in emission.program.calls):,} weights={size:,} "
        f"activations={sum(network.activation_sizes):,} io=--",
        "",
        "Compilation details",
        _THIN,
        f"Target: {emission.target}, C API: legacy",
        f"Compiler arguments: {' '.join(f'--{name} {value}' for name, value in emission.options)}",
        *(f"Without effect here: {note}" for note in emission.notes),
        _THICK,
        "",
        *_activations(network),
        "",
        f"Weights: {weights:,} B in {arrays} array{'s' if arrays > 1 else ''} of {network.name}_data_params.c",
        "",
        *_arrays(network),
        "",
    ]
    return "\n".join(lines)
