"""Random one-operator graphs for the comparison with LiteRT: values go elsewhere: pads, concatenations, transpositions, slices."""

from __future__ import annotations

from support.operator_draws import Draw

OPERATORS: dict[str, Draw] = {}
"""What is compared; the first word is the operator's kind."""
