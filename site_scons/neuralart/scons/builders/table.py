"""The builders that ``env.Tool("neuralart")`` adds."""

from __future__ import annotations

from typing import Any

from neuralart.scons.builders import flash, flash_plan, image, initializers, network

BUILDERS: tuple[Any, ...] = (network, initializers, image, flash_plan, flash)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""
