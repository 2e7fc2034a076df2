"""``NeuralArtRelocatable``: the C and constants of a network become a relocatable model.

net = env.NeuralArtNetwork("build/rel/kws.c", "kws.tflite", NEURALART_RELOCATABLE=True)
env.NeuralArtRelocatable("build/rel/kws_rel.bin", net)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import SCons.Builder
import SCons.Errors

from neuralart.config.types import RelocatableConfig, ToolchainConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.resources import firmware_dir
from neuralart.scons.builders import plans
from neuralart.scons.builders.actions import process
from neuralart.scons.builders.variables import Variable, words
from neuralart.scons.compile_plan import CompilePlan
from neuralart.scons.compiled import NEURALART
from neuralart.scons.failures import at_read_time
from neuralart.scons.paths import Word, build_dir
from neuralart.scons.recipes import find_toolchain
from neuralart.scons.registry import Registry
from neuralart.scons.scanning import NO_INCLUDES
from neuralart.toolchain import Toolchain

NAME = "NeuralArtRelocatable"
SUFFIX = "_rel.bin"
# Parts of the runtime that are compiled into each model.
_RUNTIME = ("include", "kernels", "relocatable")


@dataclass(frozen=True)
class RelocatablePlan:
    """One relocatable model.

    Attributes:
        name: C name of the network.
        config: Options of the image.
        toolchain: The cross compiler.
        store: Where objects of all models are kept, relative to the top folder.
    """

    name: str
    config: RelocatableConfig
    toolchain: Toolchain
    store: str

    @property
    def options(self) -> list[str]:
        """Words of the command that tell models of one compile apart."""
        config, said = self.config, []
        for wanted, option in (
            (config.split, "--split"),
            (not config.secure, "--no-secure"),
            (not config.debug_info, "--no-dbg-info"),
        ):
            said += [option] if wanted else []
        return said + (["--layout", config.layout] if config.layout else [])

    @property
    def words(self) -> list[Any]:
        """Words of the command, but for the files."""
        said = ["--name", self.name, "--objects", self.store, "--cross-compile", self.toolchain.prefix, "--json"]
        return [Word(text) for text in (*said, *self.options)]

    @property
    def names(self) -> list[str]:
        """Names of the files that come out, the image first."""
        split = [f"{self.name}_rel_params.bin"] if self.config.split else []
        return [f"{self.name}{SUFFIX}", f"{self.name}_reloc_results.json", *split]


def make_plan(
    env: Any, compiled: CompilePlan, config: RelocatableConfig, toolchain: ToolchainConfig, where: str
) -> RelocatablePlan:
    """Work out a model.

    Args:
        env: Any environment of the tool.
        compiled: The compile it is made of.
        config: Options of the image.
        toolchain: Cross compiler.
        where: Who asks for it, for messages.

    Raises:
        NeuralArtError: The network is for another runtime, its pools cannot be those of a relocatable model, or there
            is no cross compiler.
    """
    from neuralart.memory.layout import relative_pools

    if compiled.compiler.runtime != NEURALART or compiled.pools is None:
        runtime = "ll_aton" if compiled.pools is not None else "of networks on the core"
        raise NeuralArtError(
            f"network {compiled.config.name} is compiled for runtime {runtime}, this builder makes models of "
            f"{NEURALART}",
            where=compiled.config.said("compiler"),
            hint="for the vendor's runtime: `neuralart relocatable build --pack-dir`; or compiler: reference",
        )
    relative_pools.check_pools(compiled.pools)
    found = find_toolchain(env, toolchain, where)
    return RelocatablePlan(compiled.config.name, config, found, f"{build_dir(env)}/relocatable/objects")


def _plan(target: list[Any], compiled: CompilePlan, env: Any) -> RelocatablePlan:
    from neuralart.relocatable.build.request import LAYOUTS

    where = str(target[0])
    layout = str(env["NEURALART_RELOCATABLE_LAYOUT"])
    if layout and layout not in LAYOUTS:
        raise NeuralArtError(f"NEURALART_RELOCATABLE_LAYOUT: no layout '{layout}'", hint=nearest(layout, LAYOUTS))
    config = RelocatableConfig(
        split=bool(env["NEURALART_RELOCATABLE_SPLIT"]),
        secure=bool(env["NEURALART_RELOCATABLE_SECURE"]),
        debug_info=bool(env["NEURALART_RELOCATABLE_DEBUG_INFO"]),
        layout=layout,
    )
    toolchain = ToolchainConfig(prefix=str(env.subst(env["NEURALART_TOOLCHAIN"])))
    return make_plan(env, compiled, config, toolchain, where)


def _runtime_files(env: Any) -> list[Any]:
    registry: Registry = env["NEURALART_REGISTRY"]
    root = firmware_dir() / "runtime"
    return registry.once(
        "relocatable-runtime",
        "",
        lambda: [
            env.fs.File(str(path))
            for part in _RUNTIME
            for path in sorted((root / part).rglob("*"))
            if path.suffix in (".c", ".h")
        ],
    )


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add the results, the file of constants of a split model, and what of the compile it is made of.

    Raises:
        SCons.Errors.UserError: The source is no such network, or a variable has a wrong value.
    """
    compiled = plans.behind(source, CompilePlan)
    if compiled is None:
        raise NeuralArtError(
            f"{NAME}: '{source[0]}' is no network", where=str(target[0]), hint="give what NeuralArtNetwork returned"
        )
    plan = plans.given(env, RelocatablePlan) or _plan(target, compiled, env)
    first = target[0]
    if first.name != plan.names[0]:
        raise NeuralArtError(
            f"{NAME}: the model of network {plan.name} is called {plan.names[0]}", where=str(first), hint="call it so"
        )
    nodes = [first, *(first.dir.File(name) for name in plan.names[1:])]
    plans.remember(first, plan)
    made = source[0].get_executor().get_all_targets()
    by_name = {node.name: node for node in made}
    sources = [made[0], by_name["network.json"], *(by_name[raw] for raw in compiled.files.initializers.values())]
    identity = env.Value(plan.toolchain.identity, name="toolchain")
    env.Depends(nodes, _runtime_files(env))
    env.Depends(nodes, [env.Value(fingerprint("relocatable"), name="relocatable-builder"), identity])
    env.Clean(nodes, env.fs.Dir(f"#{plan.store}"))
    return nodes, sources


def _flags(target: Any, source: Any, env: Any, for_signature: bool) -> list[Any]:
    """``$_NEURALART_RELOCATABLEFLAGS``: name, store, cross compiler and options as words."""
    try:
        return plans.of(target, RelocatablePlan, NAME).words
    except NeuralArtError as error:
        raise SCons.Errors.UserError(str(error)) from None


def _tools(target: Any) -> str:
    plan = plans.known(target[0], RelocatablePlan)
    return str(Path(plan.toolchain.folder)) if plan is not None else ""


VARIABLES = (
    *words(
        "NEURALART_RELOCATABLE",
        "RELOC    $TARGET",
        "$( $NEURALART_PYTHON $) -m neuralart relocatable build --verbosity 0 --input $SOURCE --output ${TARGET.dir} "
        "$_NEURALART_RELOCATABLEFLAGS",
        emit,
    ),
    Variable("_NEURALART_RELOCATABLEFLAGS", "callable", _flags, "Words that follow from the other variables."),
    Variable("NEURALART_RELOCATABLE_SPLIT", "bool", False, "The constants go into a file of their own."),
    Variable("NEURALART_RELOCATABLE_SECURE", "bool", True, "For firmware in the secure state."),
    Variable("NEURALART_RELOCATABLE_DEBUG_INFO", "bool", True, "Epoch items carry numbers; the firmware must agree."),
    Variable("NEURALART_RELOCATABLE_LAYOUT", "text", "", "`aligned` or `vendor`; empty: the compiler's own choice."),
    Variable("NEURALART_TOOLCHAIN", "text", ToolchainConfig.prefix, "Prefix of the cross compiler."),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    env["BUILDERS"].setdefault(
        NAME,
        SCons.Builder.Builder(
            action=process("NEURALART_RELOCATABLE", _tools),
            emitter="$NEURALART_RELOCATABLEEMITTER",
            # What the C includes is the runtime, which is named.
            source_scanner=NO_INCLUDES,
            suffix=SUFFIX,
        ),
    )
