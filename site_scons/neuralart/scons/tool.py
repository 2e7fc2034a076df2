"""What ``env.Tool("neuralart")`` adds to a construction environment."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.scons.builders.table import BUILDERS
from neuralart.scons.builders.variables import COMMON, declare
from neuralart.scons.registry import Registry

_METHODS = {
    "Network": "network.network_method",
    "MemoryInitializers": "initializers.initializers_method",
    "CheckImage": "image_check.check_method",
    "FlashAlias": "aliases.flash_method",
    "LoadAlias": "aliases.load_method",
    "NetworkRel": "relocatable.relocatable_method",
    "AppConfig": "app_config.app_config_method",
    "PatchedSources": "patched.patched_method",
    "NeuralArtVariant": "variant.variant_method",
    "NeuralArtProject": "project.project_method",
}
"""Methods of an environment, and where they are."""


def _later(place: str) -> Callable[..., Any]:
    """A method whose module is imported when somebody calls it: most SConstructs call few of them."""
    module, _, name = place.partition(".")

    def method(env: Any, *args: Any, **kw: Any) -> Any:
        return getattr(importlib.import_module(f"neuralart.scons.{module}"), name)(env, *args, **kw)

    return method


def add_to(env: Any, **kw: Any) -> None:
    """Add builders, methods and defaults; a value that the user has set already stays.

    Args:
        env: The construction environment.
        **kw: ``NEURALART_...`` variables to set.
    """
    env.Replace(**kw)
    plugins.use_project(Path(env.Dir("#").abspath))
    declare(env, COMMON)
    if "NEURALART_REGISTRY" not in env:
        env["NEURALART_REGISTRY"] = Registry(env)
    for builder in BUILDERS:
        declare(env, builder.VARIABLES)
        builder.add_to(env)
    for name, place in _METHODS.items():
        env.AddMethod(_later(place), name)
