"""``N_generate_report.txt`` of a CPU network: layers, activation buffers, weights."""

from __future__ import annotations

from neuralart.errors import one_line
from neuralart_reference.cpu.cpu_network import CpuNetwork
from neuralart_reference.emit.report import THICK, THIN, opening, size_text


def _activations(network: CpuNetwork) -> list[str]:
    lines = ["Activation buffers, provided by the application  (input/output buffers are included)", THIN]
    for number, pool in enumerate(network.placed.activations, start=1):
        of = f" of {size_text(pool.size)} ({100 * pool.used / pool.size:6.2f} % used)" if network.memories else ""
        lines.append(f"\t{number}  {pool.name:<20} {pool.used:>10,} B{of}")
    lines += [
        "---",
        f"Total: {sum(network.activation_sizes):,} B",
        f"No placement needs less than {size_text(network.emission.plan.lower_bound)} for activations.",
        THICK,
    ]
    return lines


def _arrays(network: CpuNetwork) -> list[str]:
    epochs = len(network.emission.program.calls)
    spans = {block.key: block.span(epochs) for block in network.emission.plan.blocks}
    rows = [(array, " - ".join(spans.get(key, ("start", "end")))) for key, array in network.activations.items()]
    rows.sort(key=lambda row: (row[0].number, row[0].offset, row[1], row[0].name))
    lines = ["Arrays and their lifetimes", THIN, f"\t{'buffer':<8}{'offset':>10}{'bytes':>12}  {'layers':<12}  array"]
    for array, span in rows:
        buffer = str(array.number) if array.number else "own"
        lines.append(f"\t{buffer:<8}{array.offset:>10}{array.size:>12}  {span:<12}  {array.name}")
    return [*lines, THICK]


def report(network: CpuNetwork) -> str:
    """The report. No date, no folder."""
    weights = sum(each.size for each in network.weights)
    arrays = len(network.weights)
    target = f"Target: {network.emission.target}, C API: legacy"
    lines = [
        *opening(network.emission, f"{sum(network.activation_sizes):,}", [target]),
        *_activations(network),
        "",
        f"Weights: {weights:,} B in {arrays} array{'s' if arrays > 1 else ''} of {network.name}_data_params.c",
        "",
        *_arrays(network),
        "",
    ]
    return "\n".join(map(one_line, lines))
