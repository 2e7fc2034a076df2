"""``N_data.c``, ``N_data_params.c`` (the only file with data of the weights) and their headers."""

from __future__ import annotations

import struct

from neuralart.text.c_values import EXTERN_C, EXTERN_C_END
from neuralart_reference.cpu.cpu_network import CpuNetwork, Weights
from neuralart_reference.cpu.network_c import banner, guarded

_PER_LINE = 4


def _sizes(prefix: str, plural: str, singular: str, sizes: tuple[int, ...]) -> list[str]:
    listed = "".join(f"{size}, " for size in sizes)
    return [
        f"#define {prefix}_{plural}_SIZES \\",
        f"  {{ {listed}}}",
        f"#define {prefix}_{plural}_SIZE     ({sum(sizes)})",
        f"#define {prefix}_{plural}_COUNT    ({len(sizes)})",
        *(f"#define {prefix}_{singular}_{number}_SIZE    ({size})" for number, size in enumerate(sizes, start=1)),
        "",
    ]


def _tables(network: CpuNetwork) -> tuple[tuple[str, str, int], ...]:
    """Macro, variable and number of handles of both tables."""
    return (
        ("ACTIVATIONS", f"g_{network.name}_activations_table", len(network.activation_sizes)),
        ("WEIGHTS", f"g_{network.name}_weights_table", len(network.weights)),
    )


def data_params_h(network: CpuNetwork) -> str:
    """``N_data_params.h``: sizes of the activation buffers by number, of the weights, and the tables of handles."""
    prefix = f"{network.macro}_DATA"
    lines = ['#include "ai_platform.h"', "", f"#define {prefix}_CONFIG (NULL)", ""]
    lines += _sizes(prefix, "ACTIVATIONS", "ACTIVATION", network.activation_sizes)
    lines += _sizes(prefix, "WEIGHTS", "WEIGHT", tuple(each.size for each in network.weights))
    for what, table, count in _tables(network):
        lines += [f"#define {prefix}_{what}_TABLE_GET() (&{table}[1])", f"extern ai_handle {table}[{count} + 2];", ""]
    lines += [f"extern const ai_u64 {each.symbol}[{_words(each)}];" for each in network.weights]
    return guarded(network, f"{network.name}_data_params.h", lines)


def _words(each: Weights) -> int:
    return max(1, -(-each.size // 8))


def _array(each: Weights) -> str:
    padded = each.data.ljust(8 * _words(each), b"\0")
    values = [f"0x{value:016x}U" for (value,) in struct.iter_unpack("<Q", padded)]
    rows = "".join(f"  {', '.join(values[at : at + _PER_LINE])},\n" for at in range(0, len(values), _PER_LINE))
    return f"AI_ALIGNED(32)\nconst ai_u64 {each.symbol}[{_words(each)}] = {{\n{rows}}};\n"


def data_params_c(network: CpuNetwork) -> str:
    """``N_data_params.c``: the weights, little endian, and the tables of handles."""
    parts = [f'{banner(network, f"{network.name}_data_params.c")}#include "{network.name}_data_params.h"\n']
    parts += [_array(each) for each in network.weights]
    marker = "AI_HANDLE_PTR(AI_MAGIC_MARKER)"
    entries = {
        "ACTIVATIONS": ["AI_HANDLE_NULL"] * len(network.activation_sizes),
        "WEIGHTS": [f"AI_HANDLE_PTR({each.symbol})" for each in network.weights],
    }
    for what, table, count in _tables(network):
        rows = "".join(f"  {entry},\n" for entry in (marker, *entries[what], marker))
        parts.append(f"ai_handle {table}[{count} + 2] = {{\n{rows}}};\n")
    return "\n".join(parts)


def data_h(network: CpuNetwork) -> str:
    """``N_data.h``."""
    prefix, name = f"{network.macro}_DATA", network.name

    def buffer(what: str) -> str:
        return (
            f"#define {prefix}_{what}(ptr_) \\\n"
            f"  AI_BUFFER_INIT(AI_FLAG_NONE, AI_BUFFER_FORMAT_U8, AI_BUFFER_SHAPE_NONE, {prefix}_{what}_SIZE, NULL, "
            "AI_HANDLE_PTR(ptr_))"
        )

    lines = [
        f'#include "{name}_config.h"',
        f'#include "{name}_data_params.h"',
        "",
        buffer("ACTIVATIONS"),
        buffer("WEIGHTS"),
        "",
        *EXTERN_C,
        f"ai_handle ai_{name}_data_weights_get(void);",
        f"ai_bool ai_{name}_data_params_get(ai_network_params *params);",
        *EXTERN_C_END,
    ]
    return guarded(network, f"{name}_data.h", lines)


def data_c(network: CpuNetwork) -> str:
    """``N_data.c``: access to the weights that are linked with the network."""
    prefix, name = f"{network.macro}_DATA", network.name
    several = len(network.weights) > 1
    given = f"{prefix}_WEIGHTS_TABLE_GET()" if several else f"{prefix}_WEIGHTS_TABLE_GET()[0]"
    return (
        f'{banner(network, f"{name}_data.c")}#include "{name}_data.h"\n\n'
        "/* What ai_..._init takes as weights: the array, or the table of the arrays. */\n"
        f"ai_handle ai_{name}_data_weights_get(void)\n{{\n  return AI_HANDLE_PTR({given});\n}}\n\n"
        f"ai_bool ai_{name}_data_params_get(ai_network_params *params)\n{{\n"
        "  if (params == NULL) {\n    return false;\n  }\n"
        f"  const ai_buffer weights = {prefix}_WEIGHTS(ai_{name}_data_weights_get());\n"
        f"  const ai_buffer activations = {prefix}_ACTIVATIONS(NULL);\n"
        "  params->params = weights;\n  params->activations = activations;\n  return true;\n}\n"
    )
