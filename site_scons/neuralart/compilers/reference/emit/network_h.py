"""``N.h``: sizes and names as macros."""

from __future__ import annotations

from neuralart.compilers.reference.emit.ctext import in_comment, string
from neuralart.compilers.reference.emit.emission import Emission
from neuralart.compilers.reference.planning.lifetimes import IO_ALIGN


def _ports(emission: Emission, prefix: str, kind: str) -> list[str]:
    short = "IN" if kind == "input" else "OUT"
    tensors = emission.port_tensors(kind)
    lines = ["", f"#define {prefix}_{short}_NUM ({len(tensors)})"]
    for index, number in enumerate(tensors, start=1):
        tensor = emission.tensor(number)
        lines.append(f"/* {kind} {index}: {in_comment(tensor.name)} */")
        lines.append(f"#define {prefix}_{short}_{index}_ALIGNMENT ({IO_ALIGN})")
        lines.append(f"#define {prefix}_{short}_{index}_SIZE_BYTES ({tensor.bytes})")
    return lines


def network_h(emission: Emission) -> str:
    """The header."""
    prefix = f"LL_ATON_{emission.name.upper()}"
    lines = [
        f"/* Network {emission.name}: made by the neuralart reference compiler. */",
        f"#ifndef {prefix}_H",
        f"#define {prefix}_H",
        "",
        f"#define {prefix}_C_MODEL_NAME {string(emission.name)}",
        f"#define {prefix}_ORIGIN_MODEL_NAME {string(emission.model.stem)}",
    ]
    for kind in ("input", "output"):
        owned = [number for number in emission.port_tensors(kind) if emission.owner(number) is not None]
        if owned:
            lines.append(f"#define {prefix}_USER_ALLOCATED_{kind.upper()}S ({len(owned)})")
    lines += _ports(emission, prefix, "input") + _ports(emission, prefix, "output")
    return "\n".join([*lines, "", "#endif", ""])
