"""The core's kinds of plugins with their protocols, as data; no plugin is imported here. A package may add kinds: an
entry point of the group ``neuralart.kinds`` names a module with ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.quick import dataclass, field, replace

GROUP = "neuralart."


@dataclass(frozen=True)
class Kind:
    """A kind of plugin."""

    name: str  # Word of :func:`~neuralart.plugins.register` and end of the entry-point group
    one: str  # One of the kind, in messages
    version: int  # Version of its protocol. A change that breaks a plugin adds one.
    protocol: str  # ``module:class`` that says what a plugin offers
    what: str = ""  # What a plugin of the kind adds, and where it is then named
    # Modules of the core that register its own plugins, by name; one that registers several by a name with ``_``
    own: Mapping[str, str] = field(default_factory=dict)

    def says(self, what: str) -> Kind:
        """The same with what a plugin of the kind adds."""
        return replace(self, what=what)

    @property
    def group(self) -> str:
        """The entry-point group."""
        return GROUP + self.name


_COMMANDS = (
    *("build", "compile", "record", "flash", "debug", "monitor"),
    *("verify", "check-image", "application", "relocatable", "plugins"),
)
_TARGETS = (
    *("run", "flash", "flash-application", "flash-model", "load", "debug"),
    *("boot", "plan", "verify", "reset", "monitor"),
)
_COMPILERS = "neuralart.compilers."

KINDS: tuple[Kind, ...] = (
    Kind(
        "commands", "command", 1, "neuralart.command:Command", own=dict.fromkeys(_COMMANDS, "neuralart.own_commands")
    ).says("a command of `neuralart`"),
    Kind(
        "compilers",
        "compiler",
        1,
        "neuralart.compilers.protocol:Compiler",
        own={name: f"{_COMPILERS}builtin" for name in ("stedgeai", "auto", "recorded", "adopted")},
    ).says("who compiles a network: `compiler:` of variants.yaml, `env.Network(compiler=)`, `compile --compiler`"),
    Kind(
        "runners",
        "flash runner",
        1,
        "neuralart.flashing.runners:Runner",
        own={"virtual": "neuralart.flashing.runners.virtual"},
    ).says("what writes the flash of a device: `NEURALART_RUNNER`, `neuralart flash --runner`"),
    Kind(
        "targets",
        "target of variants",
        1,
        "neuralart.scons.flash.targets:VariantTarget",
        own=dict.fromkeys(_TARGETS, "neuralart.scons.flash.own_targets"),
    ).says("a target of each variant: `scons NAME-VARIANT`"),
    Kind("machines", "kind of machine", 1, "neuralart.scons.flash.targets:MachineKind").says(
        "what images run on: `machine:` of variants.yaml"
    ),
    Kind(
        "builders", "SCons builder", 1, "neuralart.scons.tool:BuilderAdder", own={"_own": "neuralart.scons.tool"}
    ).says("a builder of construction environments: `env.NAME(target, source)`"),
    Kind("extensions", "extension of builds", 1, "neuralart.scons.tool:BuildExtension").says(
        "takes part in every build: options of `scons`, other machines"
    ),
    Kind("keys", "key of variants.yaml", 1, "neuralart.config.keys:AddedKey").says(
        "a key of networks, of variants or of the whole variants.yaml"
    ),
    Kind("boards", "board", 1, "neuralart.boards.loading:BoardFile", own={"_files": "neuralart.boards.loading"}).says(
        "a board: `board:` of variants.yaml, `env.Network(board=)`, `neuralart boards`"
    ),
    Kind(
        "use_cases", "use case", 1, "neuralart.app_config.kinds:UseCase", own={"_kinds": "neuralart.app_config.kinds"}
    ).says("a header of an application: `use_case/model_type`, the two keys of `app_config:`"),
    Kind(
        "strategies",
        "strategy",
        1,
        "neuralart.memory.layout.strategies:Strategy",
        own={
            name: "neuralart.memory.layout.strategies"
            for name in ("flash", "boot-copy", "link", "external-loader", "relocatable")
        },
    ).says("how the constants of a pool leave the build: `strategies:` of variants.yaml, `env.Network(strategies=)`"),
)
