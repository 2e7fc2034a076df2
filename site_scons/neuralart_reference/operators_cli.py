"""``neuralart operators``: what the reference compiler takes, with its limits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart_reference.operators import Registration


SCHEMA = 1


_ONNX = "of a quantized ONNX model (float between DequantizeLinear and QuantizeLinear)"


NOTE = "uint8 tensors are computed as int8 with shifted zero points; what is constant is computed by the compiler"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("operator", nargs="*", metavar="KIND", help="only these, by their TensorFlow Lite names")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--markdown", action="store_true", help="the table of docs/reference/operators.md")


def beside_types(limits: str, types: Sequence[str]) -> str:
    """Limits beside columns of types: parts that only list types go, others keep the types that they hold for."""
    import re

    one = f"(?:{'|'.join(types)})"
    listed = f"{one}(?:(?:, | or | and ){one})*"
    parts = [part for part in limits.split("; ") if not re.fullmatch(f"(?:also )?{listed}", part)]
    if all(name in limits for name in ("uint8", "int64", "bool")):  # Of every type: so the rest holds for all
        parts = [re.sub(f"^{listed}, ", "", part) for part in parts]
    return "; ".join(parts)


def markdown(operators: Sequence[Registration]) -> str:
    """A table with a row per operator and a column per type."""
    from neuralart_reference.operators import TYPES

    def row(each: Registration) -> str:
        marks = " | ".join("x" if name in each.types else "" for name in TYPES)
        return f"| {each.kind} | {marks} | {beside_types(each.limits, TYPES)} |"

    head = f"| operator | {' | '.join(TYPES)} | limits |"
    return "\n".join([head, "|---" * (len(TYPES) + 2) + "|", *map(row, operators), ""])


def text(operators: Sequence[Registration]) -> str:
    """Columns for a terminal."""
    width = max(len(each.kind) for each in operators)
    return "".join(f"{each.kind:<{width}}  {each.limits}\n" for each in operators) + f"\n{NOTE}\n"


def run(args: argparse.Namespace) -> int:
    """Print them; NeuralArtError if one that was asked for is not supported."""
    import json

    from neuralart.errors import NeuralArtError, nearest
    from neuralart_reference.onnx_reader import onnx_kinds
    from neuralart_reference.operators import every

    found: Sequence[Registration] = every()
    known = {each.kind.upper(): each for each in found}
    for kind in args.operator:
        if kind.upper() not in known:
            raise NeuralArtError(f"operator {kind.upper()} is not supported", hint=nearest(kind.upper(), list(known)))
    if args.operator:
        found = [known[kind] for kind in sorted({kind.upper() for kind in args.operator})]
    if args.json:
        rows = [{"kind": each.kind, "types": list(each.types), "limits": each.limits} for each in found]
        print(json.dumps({"schema": SCHEMA, "operators": rows, "onnx": onnx_kinds()}, indent=1))
    else:
        print(markdown(found) if args.markdown else text(found), end="")
        print("" if args.markdown or args.operator else f"\n{_ONNX}:\n{' '.join(onnx_kinds())}\n", end="")
    return 0
