"""``N_generate_report.txt``: layers, memory and epochs for people and for tools that read the vendor's report."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.errors import one_line, printable
from neuralart.network.facts import NEURALART_VERSION
from neuralart_reference.emit.c_info import elements, parameters
from neuralart_reference.emit.emission import NUMERICS, Emission
from neuralart_reference.emit.rows import constant_row
from neuralart_reference.model.graph import Tensor
from neuralart_reference.planning.lifetimes import Block
from neuralart_reference.planning.planner import PoolPlan

# The report's table of memories: where each lies, from when to when it is needed, and what lies in it ---------------

_SHOWN = 60


def _contents(emission: Emission, block: Block) -> str:
    """The tensors of a memory in the order of their numbers, with where they begin in it."""
    kind, number = block.key
    if kind != "tensor":
        return block.name
    program = emission.program
    inside = [number, *(alias for alias in sorted(program.aliases) if program.root(alias) == number)]
    words = []
    for tensor in inside:
        name = printable(emission.tensor(tensor).name)
        offset = program.offset(tensor)
        words.append(f"{name} (+{offset})" if offset else name)
    text = ", ".join(words)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.."


def lifetimes(emission: Emission) -> list[str]:
    """Lines of the table, by address and then by time; a memory is needed in its first and last epoch too."""
    epochs = len(emission.program.calls)
    rows = [(emission.plan.address(block), block.first, block) for block in emission.plan.blocks]
    rows.sort(key=lambda row: row[:2])
    spans = [" - ".join(block.span(epochs)) for _, _, block in rows]
    width = max([len("epochs"), *map(len, spans)])
    sizes = max([len("bytes"), *(len(str(block.size)) for _, _, block in rows)])
    lines = [f"\t{'range':<21}  {'bytes':>{sizes}}  {'epochs':<{width}}  tensors"]
    for (address, _, block), span in zip(rows, spans, strict=True):
        place = f"0x{address:08X}-0x{address + block.size:08X}"
        lines.append(f"\t{place:<21}  {block.size:>{sizes}}  {span:<{width}}  {_contents(emission, block)}")
    return lines


# ---------------------------------------------------------------------------------------------------------------------

THIN = "-" * 84
THICK = "=" * 84
VERSION = ".".join(map(str, NEURALART_VERSION))
_COLUMNS = ("m_id", "layer (original)", "oshape", "param/size", "macc", "connected to")
_LETTERS = {1: "c", 2: "bc", 3: "bwc", 4: "bhwc"}
_NAME = 30


def size_text(size: int) -> str:
    """``225  B``, ``12.031 kB``, ``1.000 MB``: units of 1024, three decimals."""
    if size < 1024:
        return f"{size}  B"
    return f"{size / 1024:.3f} kB" if size < 1 << 20 else f"{size / (1 << 20):.3f} MB"


def _short(name: str) -> str:
    clean = printable(name)
    return clean if len(clean) <= _NAME else f"{clean[:18]}..{clean[-10:]}"


def _oshape(tensor: Tensor) -> str:
    letters = _LETTERS.get(len(tensor.shape)) or [f"d{number}" for number in range(len(tensor.shape))]
    return "[" + ",".join(f"{letter}:{size}" for letter, size in zip(letters, tensor.shape, strict=True)) + "]"


def _layers(emission: Emission) -> list[list[tuple[str, ...]]]:
    """Groups of rows, one group per layer."""
    model, calls = emission.model, emission.program.calls
    groups: list[list[tuple[str, ...]]] = []
    for number in model.inputs:
        tensor = model.tensors[number]
        groups.append([("", f"{_short(tensor.name)} (Input)", _oshape(tensor), "", "", "")])
    for call in (call for call in calls if call.operator < 0):
        before = emission.tensor(call.reads[0]).name if call.reads else ""
        for number in call.writes:
            tensor = emission.tensor(number)
            layer = f"{_short(tensor.name)} ({call.kind})"
            groups.append([("", layer, _oshape(tensor), "", _number(call.macc), _short(before))])
    for operator in model.operators:
        own = [item for item in emission.plan.constants if item.operator == operator.index and item.tensor is not None]
        rows = [constant_row(emission, item) for item in own]
        count, size = sum(map(elements, rows)), sum(row.size for row in rows)
        read = [model.tensors[number] for number in operator.inputs if number >= 0]
        sources = [_short(tensor.name) for tensor in read if tensor.data is None]
        output = model.tensors[operator.outputs[0]] if operator.outputs else None
        head = (
            str(operator.index),
            f"{_short(output.name)} ({operator.kind})" if output is not None else operator.kind,
            _oshape(output) if output is not None else "",
            f"{count:,}/{size:,}" if size else "",
            _number(sum(call.macc for call in calls if call.operator == operator.index)),
            sources[0] if sources else "",
        )
        groups.append([head, *(("", "", "", "", "", source) for source in sources[1:])])
    return groups


def _number(value: int) -> str:
    return f"{value:,}" if value else ""


def layer_table(emission: Emission) -> list[str]:
    """Layers of the model with their shapes, parameters and operations."""
    groups = _layers(emission)
    rows = [_COLUMNS, *(row for group in groups for row in group)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    ruler = " ".join("-" * (width + 1) for width in widths)

    def line(row: Sequence[str]) -> str:
        cells = [
            text.rjust(width) if column >= 4 else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    lines = [ruler, line(_COLUMNS)]
    for group in groups:
        lines += [ruler, *map(line, group)]
    return [*lines, ruler]


def _pool_line(plan: PoolPlan, width: int) -> str:
    def share(part: int) -> str:
        return f"({100 * part / plan.size if plan.size else 0:6.2f} % used)"

    bounds = f"[0x{plan.address:08X} - 0x{plan.address + plan.size:08X}]"
    both = plan.weights + plan.activations
    total = f"{size_text(both):>13} / {size_text(plan.size):>13}  {share(both)}"
    weights = f"weights: {size_text(plan.weights):>13} {share(plan.weights)}"
    return (
        f"\t{plan.name:<{width}} {bounds}: {total} -- {weights}"
        f"  activations: {size_text(plan.activations):>13} {share(plan.activations)}"
    )


def _memory(emission: Emission) -> list[str]:
    plans = emission.physical()
    width = max(len(plan.name) for plan in plans) + 2
    weights, activations = sum(plan.weights for plan in plans), sum(plan.activations for plan in plans)
    total = f"{size_text(weights + activations):>13} -- weights: {size_text(weights):>13}"
    lines = ["Memory usage information  (input/output buffers are included in activations)", THIN]
    lines += [_pool_line(plan, width) for plan in plans]
    lines += ["---", f"Total: {total}  activations: {size_text(activations):>13}"]
    lines += [f"No placement needs less than {size_text(emission.plan.lower_bound)} for activations.", THICK, "", ""]
    lines += ["Used memory ranges", THIN]
    for plan in plans:
        if plan.used:
            low, high = plan.address, plan.address + plan.size
            used = f"0x{low:08X}-0x{low + plan.used:08X}"
            lines.append(f"\t{plan.name:<{width}} [0x{low:08X} - 0x{high:08X}]: {used}")
    movers = [plan.name for plan in plans if plan.pool.relative]
    if movers:
        lines.append(f"Relative: {', '.join(movers)}; the addresses are those of the pool file")
    lines += [THICK, "", "", "Activations and their lifetimes", THIN, *lifetimes(emission)]
    return [*lines, THICK]


def _epochs(emission: Emission) -> list[str]:
    calls = emission.program.calls
    names = [f"epoch_{number}" for number in range(len(calls))]
    kinds = [f"( {call.kind} )" for call in calls]
    left = max(map(len, ["epoch ID", *names]))
    right = max(map(len, ["Details", *kinds]))
    ruler = f"+{'-' * (left + 2)}+{'-' * 8}+{'-' * (right + 2)}+"
    counts = (
        ("Total number of epochs", len(calls), ""),
        (">> pure software (SW) epochs", len(calls), ""),
        (">> hybrid epochs (using both software and hardware)", 0, ""),
        (">> pure hardware (HW or EC) epochs", 0, "  (implemented in 0 epoch controller blobs/meta epochs)"),
    )
    lines = ["Epochs details", THIN]
    lines += [f"{title:<51} {count:>5}{more}" for title, count, more in counts]
    lines += [
        "---",
        "0 % of the network is offloaded to an NPU: this is the reference compiler, every epoch runs on the CPU",
        "---",
        ruler,
        f"| {'epoch ID':<{left}} |  Type  | {'Details':<{right}} |",
        ruler,
    ]
    lines += [f"| {name:<{left}} |   SW   | {kind:<{right}} |" for name, kind in zip(names, kinds, strict=True)]
    return [*lines, ruler, THICK]


def opening(emission: Emission, activations: str, details: Sequence[str]) -> list[str]:
    """What every report begins with: by what it was made, the layers, and how it was compiled."""
    macc = sum(call.macc for call in emission.program.calls)
    return [
        f"neuralart reference compiler, runtime interface {VERSION}, numerics {NUMERICS}",
        f"Parameters            : {emission.arguments}",
        "",
        f"Model name - {emission.model.stem}",
        *layer_table(emission),
        f"model: macc={macc:,} weights={parameters(emission)[1]:,} activations={activations} io=--",
        "",
        "Compilation details",
        THIN,
        *details,
        *(f"In stripes of rows: {each}" for each in emission.program.stripes),
        "Compiler arguments: " + " ".join(f"--{name} {value}" for name, value in emission.options),
        *(f"Without effect here: {note}" for note in emission.notes),
        THICK,
        "",
    ]


def report(emission: Emission) -> str:
    """The report. No date, no folder."""
    lines = opening(emission, "--", [f"Compiler version: {VERSION}"])
    return "\n".join(map(one_line, [*lines, *_memory(emission), "", *_epochs(emission), ""]))
