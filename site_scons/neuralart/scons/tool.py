"""What ``env.Tool("neuralart")`` adds to a construction environment: builders, methods, variables."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import SCons.Node.FS
import SCons.Script.Main

from neuralart import plugins
from neuralart.quick import dataclass
from neuralart.scons import lock
from neuralart.scons.application import app_config
from neuralart.scons.cache import CheckedCache
from neuralart.scons.commands import COMMON, Variable, declare
from neuralart.scons.failures import at_read_time
from neuralart.scons.firmware import image, memory_builder, relocatable
from neuralart.scons.flash import flash, flash_plan
from neuralart.scons.network import builder
from neuralart.scons.registry import Registry
from neuralart.text import console

if TYPE_CHECKING:
    from neuralart.config.types import ProjectConfig

BUILDERS: tuple[Any, ...] = (builder, memory_builder, relocatable, image, flash_plan, flash, app_config)
"""Those of the core, in the order of the reference."""


class BuilderAdder(Protocol):
    """Adds a builder to construction environments, registered under the builder's name. A module may be one.

    An example, ``env.Checksum(target, source)``::

        class Checksum:
            NAME = "Checksum"
            VARIABLES = (Variable("CHECKSUM", "text", "sha256", "The algorithm."),)

            def add_to(self, env):
                env["BUILDERS"]["Checksum"] = env.Builder(action="${CHECKSUM}sum $SOURCE > $TARGET")

        register("builders", "Checksum", Checksum(), protocol=1)

    Attributes:
        NAME: Name of the builder.
        VARIABLES: Construction variables that it reads (:class:`neuralart.scons.commands.Variable`); an environment
            that lacks one gets its default.
    """

    NAME: str
    VARIABLES: Sequence[Variable]

    def add_to(self, env: Any) -> None:
        """Add the builder to an environment that has its variables."""


@dataclass(frozen=True)
class SConsOption:
    """An option of ``scons``."""

    name: str  # With its dashes
    value: str  # What stands for its value in the help
    help: str
    neutral: bool = False  # It changes no file that is made, so that stamps hold with it

    @property
    def key(self) -> str:
        """What ``env.GetOption`` calls it."""
        return self.name.lstrip("-").replace("-", "_")


class BuildExtension(Protocol):
    """Takes part in every build of SCons that loads the tool.

    An example, ``scons --release=NAME``::

        class Release:
            OPTIONS = (SConsOption("--release", "NAME", "write the name to build/release.txt"),)
            tool_loaded = project_begins = lambda self, env: None

            def project_read(self, env, config, path):
                if name := env.GetOption("release"):
                    env.Textfile("build/release.txt", name)

        register("extensions", "release", Release(), protocol=1)

    Attributes:
        OPTIONS: Options of ``scons`` for projects with a variants.yaml (:class:`SConsOption`).
    """

    OPTIONS: Sequence[SConsOption]

    def tool_loaded(self, env: Any) -> None:
        """The first environment of a build has got the tool."""

    def project_begins(self, env: Any) -> None:
        """A variants.yaml is about to be read; options of the command line are known."""

    def project_read(self, env: Any, config: ProjectConfig, path: Path) -> None:
        """A variants.yaml was read, but for the variants themselves. ``path``: where it is."""


for _module in BUILDERS:
    plugins.register("builders", _module.NAME, _module, protocol=1)

METHODS = {
    "Network": "network.network.network_method",
    "MemoryInitializers": "firmware.initializers.initializers_method",
    "NetworkCalls": "firmware.calls.calls_method",
    "CheckImage": "firmware.image.check_method",
    "FlashAlias": "flash.aliases.flash_method",
    "LoadAlias": "flash.aliases.load_method",
    "NetworkRel": "firmware.relocatable.relocatable_method",
    "AppConfig": "application.app_config.app_config_method",
    "NeuralArtVariant": "variant.variant_method",
    "NeuralArtProject": "project.project_method",
}
"""Methods of an environment, and where they are."""


def late_method(place: str) -> Callable[..., Any]:
    """A method whose module is imported at the first call: most SConstructs call few of them. ``place``: dotted."""
    module, _, name = place.rpartition(".")

    def method(env: Any, *args: Any, **kw: Any) -> Any:
        return getattr(importlib.import_module(module), name)(env, *args, **kw)

    return method


def _contents_decide(env: Any) -> None:
    """By itself, SCons believes that a file older than two days is what it was then, and reads it no more: archives,
    copies and links bring other contents of the same time.
    """
    values = SCons.Script.Main.OptionsParser.values
    if getattr(values, "max_drift", None) not in (None, -1, SCons.Node.FS.default_max_drift):
        print("scons: --max-drift is not used: contents decide whether a file has changed", file=sys.stderr)
    # Before an option of the command line; SCons takes it when all scripts are read.
    values.max_drift = -1
    env.fs.set_max_drift(-1)


def add_to(env: Any, **kw: Any) -> None:
    """Add builders, methods and defaults; values that the user has set already stay. ``**kw``: ``NEURALART_...`` to
    set.
    """
    console.output_streams(colored=True)
    _contents_decide(env)
    env.Replace(**kw)
    plugins.use_project(Path(env.Dir("#").abspath))
    declare(env, COMMON)
    env.SetDefault(CACHEDIR_CLASS=CheckedCache)
    if "NEURALART_REGISTRY" not in env:
        at_read_time(lock.take)(env)
        for plugin in plugins.every("extensions"):
            at_read_time(plugin.call)("tool_loaded", env)
        env["NEURALART_REGISTRY"] = Registry(env)
    for plugin in plugins.every("builders"):
        declare(env, plugin.made.VARIABLES)
        plugin.call("add_to", env)
    for name, place in METHODS.items():
        env.AddMethod(late_method(f"neuralart.scons.{place}"), name)
