"""What many machines have to do with a build: a shared cache, a farm, and parts of what is asked for."""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.plugins import register
from neuralart.scons import cache, commands
from neuralart.scons.tool import SConsOption

if TYPE_CHECKING:
    from neuralart.config.types import ProjectConfig


class OtherMachines:
    """The cache and the farm that variants.yaml or the process environment names. Nothing of them is loaded unless one
    is.
    """

    OPTIONS = ()

    def tool_loaded(self, env: Any) -> None:
        """Use those that the environment names."""
        self._use(None, None)

    def project_begins(self, env: Any) -> None:
        """Nothing is known yet."""

    def project_read(self, env: Any, config: ProjectConfig, path: Path) -> None:
        """Use those that a variants.yaml names."""
        self._use(config.added.get("cache"), config.added.get("execute"))

    def _use(self, shared: Any, execute: Any) -> None:
        """NeuralArtError: one cannot be used as it is named."""
        if execute or (os.environ.get("NEURALART_EXECUTE") and not commands.FARM):
            from neuralart_fleet.scons import farm, shared_steps

            for each in farm.use(execute):
                atexit.register(shared_steps.report, each)
        if shared or (os.environ.get("NEURALART_CACHE") and not cache.BEHIND):
            from neuralart_fleet.config import chosen
            from neuralart_fleet.remote.client import SharedCache
            from neuralart_fleet.scons.shared_steps import SharedSteps

            named = chosen(shared, os.environ)
            cache.BEHIND[:] = [SharedSteps(SharedCache(named, os.environ))] if named else []


class Parts:
    """``--shard`` and ``--junit``: one machine of several builds a part, and says what became of it."""

    OPTIONS = (
        SConsOption("--shard", "K/N", "build the K-th of N parts of what is asked for", neutral=True),
        SConsOption("--junit", "FILE", "write what became of each target (JUnit XML)", neutral=True),
    )

    def tool_loaded(self, env: Any) -> None:
        """Nothing: without a project there are no variants."""

    def project_begins(self, env: Any) -> None:
        """Report mistakes in variants.yaml, too."""
        if file := env.GetOption("junit"):
            from neuralart_fleet.scons import parts

            parts.report_at_exit(env, file)

    def project_read(self, env: Any, config: ProjectConfig, path: Path) -> None:
        """Leave only the targets of the part."""
        if env.GetOption("shard") and not env.GetOption("help"):
            from neuralart_fleet.scons import parts

            parts.narrow(env, config, path)


register("extensions", "machines", OtherMachines(), protocol=1)
register("extensions", "parts", Parts(), protocol=1)
