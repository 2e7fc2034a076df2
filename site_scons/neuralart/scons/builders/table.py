"""The builders that ``env.Tool("neuralart")`` adds."""

from __future__ import annotations

from typing import Any

from neuralart.scons.builders import app_config, network, relocatable

BUILDERS: tuple[Any, ...] = (network, relocatable, app_config)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""
