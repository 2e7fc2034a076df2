"""The builders that ``env.Tool("neuralart")`` adds."""

from __future__ import annotations

from typing import Any

from neuralart.scons.builders import network, relocatable

BUILDERS: tuple[Any, ...] = (network, relocatable)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""
