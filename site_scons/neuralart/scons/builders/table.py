"""The builders that ``env.Tool("neuralart")`` adds."""

from __future__ import annotations

from typing import Any

from neuralart.scons.builders import (
    app_config,
    flash,
    flash_plan,
    image,
    initializers,
    network,
    patched_sources,
    relocatable,
)

BUILDERS: tuple[Any, ...] = (network, initializers, patched_sources, relocatable, image, flash_plan, flash, app_config)
"""Modules with ``NAME``, ``VARIABLES`` and ``add_to(env)``, in the order of the reference."""
