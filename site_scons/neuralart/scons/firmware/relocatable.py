"""``NeuralArtRelocatable`` and ``env.NetworkRel``: C and constants of a network become a relocatable model. net =
env.NeuralArtNetwork("build/net/kws.c", "kws.tflite", NEURALART_RELOCATABLE=True)
env.NeuralArtRelocatable("build/rel/kws_rel.bin", net)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePath
from typing import Any

import SCons.Builder
import SCons.Errors

from neuralart.compilers.command_line import STEDGEAI
from neuralart.config.types import NetworkConfig, RelocatableConfig, ToolchainConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.network.targets import check_name
from neuralart.quick import dataclass, field, replace
from neuralart.resources import firmware_dir
from neuralart.scons import making, node_plans
from neuralart.scons.commands import NO_INCLUDES, Process, Variable, carried, words
from neuralart.scons.failures import at_read_time, refuse_unknown
from neuralart.scons.firmware.recipes import find_toolchain, toolchain_env
from neuralart.scons.network.compilers import command_environment, installation
from neuralart.scons.network.network import make_network
from neuralart.scons.network.nodes import NEURALART, NetworkNodes, refuse_cpu
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.paths import LiteralWord, build_dir, literal, word
from neuralart.scons.registry import code_value, fact, registry_of
from neuralart.toolchain import Toolchain

NAME = "NeuralArtRelocatable"
SUFFIX = "_rel.bin"
# Parts of the runtime that are compiled into each model.
_RUNTIME = ("include", "kernels", "relocatable")


@dataclass(frozen=True)
class RelocatablePlan:
    """A relocatable model that will be made."""

    name: str  # C name of the network
    config: RelocatableConfig  # Options of the image
    toolchain: Toolchain  # The cross compiler
    store: str  # Where objects of all models are kept, relative to the top folder
    runtime: list[Any] = field(default_factory=list)  # Files that are compiled into it
    places: list[Any] = field(default_factory=list)  # Words of the command that say where they are

    @property
    def options(self) -> list[str]:
        """Options that distinguish the models of one compile."""
        config, said = self.config, []
        for wanted, option in (
            (config.split, "--split"),
            (not config.secure, "--no-secure"),
            (not config.debug_info, "--no-dbg-info"),
            (config.ecblob_in_params, "--ecblob-in-params"),
            (config.gen_c_file, "--gen-c-file"),
        ):
            said += [option] if wanted else []
        return said + (["--layout", config.layout] if config.layout else [])

    @property
    def words(self) -> list[Any]:
        """The words of the command, without files."""
        said = ["--name", self.name, "--objects", self.store, "--cross-compile", self.toolchain.prefix, "--json"]
        return [*(LiteralWord(text) for text in (*said, *self.options)), *self.places]

    @property
    def names(self) -> list[str]:
        """Names of the results, the image first."""
        more = [f"{self.name}_rel_params.bin"] if self.config.split else []
        more += [f"{self.name}_rel.c", f"{self.name}_rel.h"] if self.config.gen_c_file else []
        return [f"{self.name}{SUFFIX}", f"{self.name}_reloc_results.json", *more]


def _pack(env: Any, compiled: CompilePlan, config: RelocatableConfig, where: str) -> Path:
    """The installation that has the runtime of a network. NeuralArtError: None is named."""
    from neuralart.compilers.stedgeai.install import CORE_DIR

    if config.pack_dir:
        return Path(env.fs.Dir(config.pack_dir).srcnode().get_abspath())
    if compiled.compiler.kind == STEDGEAI:
        root: Path | None = installation(env, compiled.config).root
    else:
        text = command_environment(registry_of(env)).get(CORE_DIR, "")
        root = Path(text) if text else None
    if root is None:
        what = f"relocatable: no installation of ST Edge AI Core is named, and network {compiled.config.name} needs its"
        raise NeuralArtError(f"{what} runtime", where=where, hint=f"pack_dir: FOLDER, or {CORE_DIR}")
    return root


def make_plan(
    env: Any, compiled: CompilePlan, config: RelocatableConfig, toolchain: ToolchainConfig, where: str
) -> RelocatablePlan:
    """Work out a model. NeuralArtError: The network is for another runtime, its pools cannot be those of a relocatable
    model, or there is no cross compiler.
    """
    from neuralart.memory.layout import relative_pools

    if compiled.pools is None:
        what = f"network {compiled.config.name} runs on the core: relocatable models are networks of an NPU"
        raise NeuralArtError(what, where=compiled.config.said("compiler"), hint="a board with an NPU")
    relative_pools.check_pools(compiled.pools.without(*compiled.idle))
    name = config.name or compiled.config.name
    check_name(name, where)
    found = find_toolchain(env, toolchain, where)
    store = f"{build_dir(env)}/relocatable/objects"
    if compiled.compiler.runtime == NEURALART:
        return RelocatablePlan(name, config, found, store, _runtime_files(env))
    from neuralart.relocatable.build import request, runtimes

    pack = _pack(env, compiled, config, where)
    files = registry_of(env).once("pack", str(pack), lambda: [env.fs.File(str(path)) for path in runtimes.inputs(pack)])
    # Images of the vendor's layout have the place in their texts.
    named = word(env, pack) if config.layout == request.ALIGNED else [LiteralWord(str(pack))]
    return RelocatablePlan(name, config, found, store, files, ["--pack-dir", *named])


def _check_layout(layout: str, said: str = "", where: str = "") -> None:
    from neuralart.relocatable.build.request import LAYOUTS

    if layout and layout not in LAYOUTS:
        raise NeuralArtError(f"{said}no layout '{layout}'", where=where, hint=nearest(layout, LAYOUTS))


def _plan(target: list[Any], compiled: CompilePlan, env: Any) -> RelocatablePlan:
    layout = str(env["NEURALART_RELOCATABLE_LAYOUT"])
    _check_layout(layout, "NEURALART_RELOCATABLE_LAYOUT: ")
    config = RelocatableConfig(
        split=bool(env["NEURALART_RELOCATABLE_SPLIT"]),
        secure=bool(env["NEURALART_RELOCATABLE_SECURE"]),
        debug_info=bool(env["NEURALART_RELOCATABLE_DEBUG_INFO"]),
        layout=layout,
        ecblob_in_params=bool(env["NEURALART_RELOCATABLE_BLOBS"]),
        gen_c_file=bool(env["NEURALART_RELOCATABLE_C_FILE"]),
        pack_dir=str(env.subst(env["NEURALART_RELOCATABLE_PACK"])),
        name=target[0].name.removesuffix(SUFFIX) if target[0].name.endswith(SUFFIX) else "",
    )
    toolchain = ToolchainConfig(prefix=str(env.subst(env["NEURALART_TOOLCHAIN"])))
    return make_plan(env, compiled, config, toolchain, str(target[0]))


def _runtime_files(env: Any) -> list[Any]:
    root = firmware_dir() / "runtime"
    return registry_of(env).once(
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
    SCons.Errors.UserError: The source is no such network, or a variable has a wrong value.
    """
    from neuralart.relocatable.build.request import ANSWERS

    compiled = node_plans.behind(source, CompilePlan)
    if compiled is None:
        hint = "give what NeuralArtNetwork returned"
        raise NeuralArtError(f"{NAME}: '{source[0]}' is no network", where=str(target[0]), hint=hint)
    plan = node_plans.given(env, RelocatablePlan) or _plan(target, compiled, env)
    first = target[0]
    if first.name != plan.names[0]:
        what = f"{NAME}: the model of network {plan.name} is called {plan.names[0]}"
        raise NeuralArtError(what, where=str(first), hint="call it so")
    if first.dir is source[0].dir:
        what = f"{NAME}: the folder of the network cannot be that of its model"
        raise NeuralArtError(what, where=str(first), hint="name another one")
    nodes = [first, *(first.dir.File(name) for name in plan.names[1:])]
    node_plans.remember(first, plan)
    made = source[0].get_executor().get_all_targets()
    by_name = {node.name: node for node in made}
    sources = [made[0], by_name["network.json"], *(by_name[raw] for raw in compiled.files.initializers.values())]
    sources += [node for name, node in by_name.items() if name.endswith("_ecblobs.h")]
    identity = fact(plan.toolchain.counts, name="toolchain")
    env.Depends(nodes, plan.runtime)
    env.Depends(nodes, [code_value(env, "relocatable-builder", "relocatable"), identity])
    store = env.fs.Dir(f"#{plan.store}")
    env.Clean(nodes, [store, store.dir.File(ANSWERS)])
    making.watch(env, nodes)
    return nodes, sources


def _tools(target: Any) -> str:
    plan = node_plans.known(target[0], RelocatablePlan)
    return str(Path(plan.toolchain.folder)) if plan is not None else ""


VARIABLES = (
    *words(
        "NEURALART_RELOCATABLE",
        "RELOC    $TARGET",
        "$( $NEURALART_PYTHON $) -m neuralart relocatable build --verbosity 0 --input $SOURCE --output ${TARGET.dir} "
        "$_NEURALART_RELOCATABLEFLAGS $( --force $)",
        emit,
    ),
    node_plans.of_plan("_NEURALART_RELOCATABLEFLAGS", RelocatablePlan, NAME, lambda plan, env: plan.words),
    Variable("NEURALART_RELOCATABLE_SPLIT", "bool", False, "The constants go into a file of their own."),
    Variable("NEURALART_RELOCATABLE_SECURE", "bool", True, "For firmware in the secure state."),
    Variable("NEURALART_RELOCATABLE_DEBUG_INFO", "bool", True, "Epoch items carry numbers; the firmware must agree."),
    Variable("NEURALART_RELOCATABLE_BLOBS", "bool", False, "Epoch-controller blobs in front of the constants."),
    Variable("NEURALART_RELOCATABLE_C_FILE", "bool", False, "The image as C, too: `N_rel.c`, `N_rel.h`."),
    Variable("NEURALART_RELOCATABLE_PACK", "path", "", "Installation with the runtime of a network for `ll_aton`."),
    Variable("NEURALART_RELOCATABLE_LAYOUT", "text", "", "`aligned` or `vendor`; empty: the compiler's own choice."),
    Variable("NEURALART_TOOLCHAIN", "text", ToolchainConfig.prefix, "Prefix of the cross compiler."),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    env["BUILDERS"].setdefault(
        NAME,
        SCons.Builder.Builder(
            action=Process("NEURALART_RELOCATABLE", _tools, farm=True),
            emitter="$NEURALART_RELOCATABLEEMITTER",
            # What the C includes is the runtime, which is named.
            source_scanner=NO_INCLUDES,
            suffix=SUFFIX,
        ),
    )


@dataclass(frozen=True)
class RelocatableNodes:
    """What ``env.NetworkRel`` returns."""

    network: NetworkNodes  # The compile it is made of: external pools relative, all buffers listed
    folder: str  # Where its files are, relative to the top folder
    image: Any  # ``<name>_rel.bin``
    params: Any  # ``<name>_rel_params.bin`` of a split model; None: its constants are behind the code
    results: Any  # ``<name>_reloc_results.json``: sizes, pools, header, files
    config: RelocatableConfig  # What it was made from
    c: list[Any]  # ``<name>_rel.c`` and ``<name>_rel.h``; empty: not asked for

    @property
    def files(self) -> list[Any]:
        """All files of the image."""
        return [*(node for node in (self.image, self.params, self.results) if node is not None), *self.c]


def make_relocatable(
    env: Any, network: NetworkConfig, board_name: str, config: RelocatableConfig, toolchain: ToolchainConfig, where: str
) -> RelocatableNodes:
    """Declare the second compile of a network and the image that is made of it, once for equal specifications.
    NeuralArtError: A file is missing or wrong, the pools cannot be those of a relocatable model, or there is no cross
    compiler.
    """
    from neuralart.memory.layout import relative_pools

    registry = registry_of(env)
    net = make_network(env, relative_pools.derive(network), board_name)
    compiled = node_plans.behind([net.c], CompilePlan)
    assert compiled is not None  # the builder's emitter has left it there
    plan = make_plan(env, compiled, config, toolchain, where)
    own = carried(env, registry.base, VARIABLES)
    said = [plan.options, plan.toolchain.identity, *filter(None, (config.name, config.pack_dir))]
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]
    folder = f"{build_dir(env)}/relocatable/{Path(net.folder).name}-{digest}"

    def make() -> RelocatableNodes:
        base = toolchain_env(env, plan.toolchain)
        nodes = node_plans.make(env, NAME, VARIABLES, plan, base.File(f"#{folder}/{plan.names[0]}"), net.c, base)
        image, results, *more = nodes
        params = more.pop(0) if config.split else None
        return RelocatableNodes(net, folder, image, params, results, config, more)

    # Shared by all that ask for this image; golden vectors, and how it is loaded, belong to each variant.
    return replace(registry.once("relocatable", f"{folder} {sorted(own.items())}", make), network=net, config=config)


@at_read_time
def relocatable_method(env: Any, network: Any, **options: Any) -> RelocatableNodes:
    """``env.NetworkRel(net, ...)``: the network once more, as a relocatable model.

    ``network``: what ``env.Network`` returned. A network is linked into a firmware or relocatable, not both: it is
    compiled a second time, with relative external pools. ``**options``: ``split``: the constants into a file of their
    own; ``secure``: for firmware in the secure state (the default); ``debug_info``: epoch items carry numbers (the
    default; the firmware must agree); ``layout``: ``aligned`` or ``vendor``; ``name``: base name of the files, in lower
    case the C name in the image; ``ecblob_in_params``: epoch-controller blobs in front of the constants;
    ``gen_c_file``: the image as C, too; ``pack_dir``: installation with the runtime of a network for ``ll_aton``
    (default: the one that compiles it); ``toolchain``: prefix of the cross compiler. SCons.Errors.UserError: it is no
    network, an option is unknown, or the pools are not those of such a model.
    """
    where = "NetworkRel"
    refuse_cpu([network], where)
    if not isinstance(network, NetworkNodes):
        raise NeuralArtError(f"takes what Network returned, not {network!r}", where=where)
    flags = ("split", "secure", "debug_info", "ecblob_in_params", "gen_c_file")
    refuse_unknown(options, (*flags, "layout", "name", "pack_dir", "toolchain"), where)
    pack = options.get("pack_dir")
    if isinstance(pack, PurePath) or hasattr(pack, "get_abspath"):
        options["pack_dir"] = literal(env, pack)
    for keyword, value in options.items():
        wanted = bool if keyword in flags else str
        if not isinstance(value, wanted):
            kind = "text" if wanted is str else "True or False"
            raise NeuralArtError(f"{keyword} must be {kind}, not {value!r}", where=where)
    prefix = options.pop("toolchain", ToolchainConfig.prefix)
    _check_layout(options.get("layout", ""), where=where)
    config = RelocatableConfig(**options)
    return make_relocatable(env, network.config, network.board.name, config, ToolchainConfig(prefix=prefix), where)
