"""The builders that ``env.Tool("neuralart")`` adds."""

from __future__ import annotations

from typing import Any

from neuralart.scons.builders import app_config, network, patched_sources, relocatable

BUILDERS: tuple[Any, ...] = (network, patched_sources, relocatable, app_config)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""
