"""``N.h`` and ``N_config.h``."""

from __future__ import annotations

from neuralart.compilers.reference.cpu.cpu_network import CpuNetwork, PortView, views
from neuralart.compilers.reference.cpu.data_c import guarded
from neuralart.compilers.reference.cpu.network_c import prototypes
from neuralart.compilers.reference.emit.ctext import in_comment, string
from neuralart.network.facts import NEURALART_VERSION


def _port(prefix: str, port: PortView) -> list[str]:
    _batch, height, width, channels = port.shape
    name = f"{prefix}_{port.number}"
    return [
        f"/* {in_comment(port.tensor.name)} */",
        f"#define {name}_FORMAT     {port.format}",
        f"#define {name}_HEIGHT     ({height})",
        f"#define {name}_WIDTH      ({width})",
        f"#define {name}_CHANNEL    ({channels})",
        f"#define {name}_SIZE       ({port.elements})",
        f"#define {name}_SIZE_BYTES ({port.tensor.bytes})",
        "",
    ]


def network_h(network: CpuNetwork) -> str:
    """``N.h``: shapes and sizes of inputs and outputs, and the functions."""
    macro = network.macro
    lines = [
        f'#include "{network.name}_config.h"',
        '#include "ai_platform.h"',
        "",
        f"#define {macro}_MODEL_NAME {string(network.name)}",
        f"#define {macro}_ORIGIN_MODEL_NAME {string(network.emission.model.stem)}",
        f"#define {macro}_N_NODES ({len(network.emission.program.calls)})",
        "",
    ]
    for kind, short in (("input", "IN"), ("output", "OUT")):
        ports = views(network, kind)
        lines.append(f"#define {macro}_{short}_NUM ({len(ports)})")
        if not any(port.provided for port in ports):
            lines.append(f"#define {macro}_{kind.upper()}S_IN_ACTIVATIONS ({len(ports)})")
        sizes = ", ".join(f"{macro}_{short}_{port.number}_SIZE_BYTES" for port in ports)
        lines += [f"#define {macro}_{short}_SIZE_BYTES {{ {sizes} }}", ""]
        for port in ports:
            lines += _port(f"{macro}_{short}", port)
    return guarded(network, f"{network.name}.h", [*lines, *prototypes(network)])


def config_h(network: CpuNetwork, stamp: str) -> str:
    """``N_config.h``: by what the network was made, and which network it is."""
    version = [
        f"#define AI_TOOLS_VERSION_{part} {number}"
        for part, number in zip(("MAJOR", "MINOR", "MICRO"), NEURALART_VERSION, strict=False)
    ]
    lines = [
        # Several networks of one program say the same.
        "#ifndef AI_TOOLS_VERSION_MAJOR",
        *version,
        "#endif",
        "",
        f'#define {network.macro}_MODEL_SIGNATURE "0x{stamp}"',
        f'#define {network.macro}_ABI_STAMP "{stamp}"',
    ]
    return guarded(network, f"{network.name}_config.h", lines)
