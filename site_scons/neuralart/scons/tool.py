"""What ``env.Tool("neuralart")`` adds to a construction environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.scons import (
    aliases,
    app_config,
    image_check,
    initializers,
    network,
    patched,
    project,
    relocatable,
    variant,
)
from neuralart.scons.builders.table import BUILDERS
from neuralart.scons.builders.variables import COMMON, declare
from neuralart.scons.registry import Registry


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
    env.AddMethod(network.network_method, "Network")
    env.AddMethod(initializers.initializers_method, "MemoryInitializers")
    env.AddMethod(image_check.check_method, "CheckImage")
    env.AddMethod(aliases.flash_method, "FlashAlias")
    env.AddMethod(aliases.load_method, "LoadAlias")
    env.AddMethod(relocatable.relocatable_method, "NetworkRel")
    env.AddMethod(app_config.app_config_method, "AppConfig")
    env.AddMethod(patched.patched_method, "PatchedSources")
    env.AddMethod(variant.variant_method, "NeuralArtVariant")
    env.AddMethod(project.project_method, "NeuralArtProject")
