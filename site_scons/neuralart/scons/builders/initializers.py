"""``NeuralArtInitializers``: constants reach the memories that the networks read; start-up code sees to it.

    net = env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_INITIALIZERS=["AXISRAM5", "xSPI2"])
    memory = env.NeuralArtInitializers("build/npu_memory_init.c", net, NEURALART_STRATEGIES={"AXISRAM5": "link"})

Sources are all networks of one program; of their files it takes ``network.json`` and the raw files. The emitter adds
exactly the files that the strategy of each pool needs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, Reserved, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.memory.layout.placements import Initializer, Layout
from neuralart.memory.layout.relative_pools import refuse_relative_pools
from neuralart.network.pools import PoolFile
from neuralart.scons import initializer_actions as actions
from neuralart.scons.builders import parts, plans
from neuralart.scons.builders.actions import function, lazily
from neuralart.scons.builders.parts import Part
from neuralart.scons.builders.variables import Variable, words
from neuralart.scons.compile_plan import CompilePlan
from neuralart.scons.failures import at_read_time
from neuralart.scons.layout import Member, layout_of, layout_value
from neuralart.scons.memory_runtime import memory_runtime_files
from neuralart.scons.registry import identity
from neuralart.scons.strategy_files import strategy_files
from neuralart.text.values import Location

NAME = "NeuralArtInitializers"
HEADER = "npu_memory_init.h"


@dataclass(frozen=True)
class _Compiled:
    """A network that ``NeuralArtNetwork`` makes."""

    name: str
    board: Board
    config: NetworkConfig
    pools: PoolFile
    initializers: dict[str, Any]
    facts: Any
    runtime: str


@dataclass(frozen=True)
class InitializersPlan:
    """What is made for a program.

    Attributes:
        networks: All of it.
        board: Where it runs.
        layout: Addresses of everything.
        board_layout: The program is laid out as the board says: its pools are checked against its code and data.
    """

    networks: Sequence[Member]
    board: Board
    layout: Layout
    board_layout: bool


@dataclass(frozen=True)
class Image:
    """Bytes to load.

    Attributes:
        network: Name of the network; empty for the identity descriptor.
        pool: fname of the pool; empty for the identity descriptor.
        address: Where the first byte belongs.
        binary: The bytes (an empty file: nothing to load).
        hex: The same as Intel HEX with its address.
    """

    network: str
    pool: str
    address: int
    binary: Any
    hex: Any


# ---- the plan, from construction variables


def _member(node: Any, plan: CompilePlan, strategies: dict[str, str]) -> _Compiled:
    if plan.pools is None:
        raise NeuralArtError(
            f"network {plan.config.name} runs on the core of board {plan.board.name}: its constants are C, its "
            "buffers the application's",
            where=NAME,
            hint="compile its C into the program",
        )
    refuse_relative_pools(plan.config.name, plan.pools)
    raws = {pool: node.dir.File(name) for pool, name in plan.files.initializers.items()}
    mine = tuple(sorted((pool, way) for pool, way in strategies.items() if pool in raws))
    return _Compiled(
        plan.config.name,
        plan.board,
        replace(plan.config, strategies=mine or plan.config.strategies),
        plan.pools,
        raws,
        node.dir.File("network.json"),
        plan.compiler.runtime,
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def moved_slots(slots: Any, where: str, word: str) -> tuple[tuple[str, int], ...]:
    """Flash slots that the user moves.

    Args:
        slots: Name to address.
        where: Who takes them, for messages.
        word: What they are called there.

    Raises:
        NeuralArtError: It is something else.
    """
    rows = slots.items() if isinstance(slots, dict) else [(None, None)]
    if not all(isinstance(name, str) and _is_int(address) for name, address in rows):
        raise NeuralArtError(f"{word}: a mapping of names to addresses, not {slots!r}", where=where)
    return tuple(sorted(slots.items()))


def kept_ranges(reserved: Any, where: str, word: str) -> tuple[Reserved, ...]:
    """Ranges that the user keeps free.

    Args:
        reserved: Name to (address, bytes).
        where: Who takes them, for messages.
        word: What they are called there.

    Raises:
        NeuralArtError: It is something else, or a range is none.
    """
    try:
        rows = [(name, address, size) for name, (address, size) in sorted(reserved.items())]
    except (AttributeError, TypeError, ValueError):
        rows = [(None, None, None)]
    for name, address, size in rows:
        if not (isinstance(name, str) and _is_int(address) and _is_int(size)):
            raise NeuralArtError(f"{word}: a mapping of names to (address, bytes), not {reserved!r}", where=where)
        if not (0 <= address < address + size <= 1 << 32):
            raise NeuralArtError(
                f"{word}: {name} with {size} bytes at {address:#x} is no range of addresses", where=where
            )
    return tuple(Reserved(*row, Location("", 0)) for row in rows)


def _plan(source: list[Any], env: Any) -> InitializersPlan:
    """What the construction variables describe.

    Raises:
        NeuralArtError: No network, networks for different boards, or something has no place.
    """
    strategies = env["NEURALART_STRATEGIES"]
    if not isinstance(strategies, dict):
        raise NeuralArtError(f"NEURALART_STRATEGIES: pools and strategies, not {strategies!r}", where=NAME)
    networks = [_member(node, plan, strategies) for node, plan in plans.each_behind(source, CompilePlan)]
    if not networks:
        raise NeuralArtError(f"{NAME} takes what NeuralArtNetwork returned, one or more", where=NAME)
    for name in (network.name for network in networks):
        if sum(network.name == name for network in networks) > 1:
            raise NeuralArtError(f"network {name} is given twice", where=NAME)
    pools = {pool for network in networks for pool in network.initializers}
    for pool in strategies:
        if pool not in pools:
            raise NeuralArtError(
                f"NEURALART_STRATEGIES: no network has constants in pool '{pool}'",
                where=NAME,
                hint=nearest(str(pool), sorted(pools)),
            )
    boards = sorted({network.board.name for network in networks})
    if len(boards) != 1:
        raise NeuralArtError(f"one program, but its networks are for {' and '.join(boards)}", where=NAME)
    board = networks[0].board
    variant = VariantConfig(
        name="-".join(network.name for network in networks),
        title="",
        board=board.name,
        machine="",
        networks=tuple(network.config for network in networks),
        slots=moved_slots(env["NEURALART_SLOTS"], NAME, "NEURALART_SLOTS"),
        reserved=kept_ranges(env["NEURALART_RESERVED"], NAME, "NEURALART_RESERVED"),
    )
    board_layout = bool(env["NEURALART_BOARD_LAYOUT"])
    layout = layout_of(networks, variant, board_layout=board_layout, board=board)
    return InitializersPlan(networks, board, layout, board_layout)


# ---- the parts


class _Files:
    """Says which files there are, part by part, in the folder of ``npu_memory_init.c``."""

    def __init__(self, env: Any, first: Any, plan: InitializersPlan) -> None:
        self.env, self.first, self.plan = env, first, plan
        self.by_name = {network.name: network for network in plan.networks}
        self.facts = tuple(network.facts for network in plan.networks)
        self.board = env.Value(identity(plan.board), name=f"board {plan.board.name}")
        self.layout = layout_value(env, plan.layout)

    def file(self, name: str) -> Any:
        return self.first.dir.File(name)

    def code(self, label: str, *rooms: str) -> Any:
        return self.env.Value(fingerprint(*rooms), name=label)

    def raw(self, item: Initializer) -> Any:
        return self.by_name[item.network].initializers[item.pool]

    def startup(self) -> Part:
        plan = self.plan
        return Part(
            "start-up code",
            "MEMORY",
            (self.first, self.file(HEADER)),
            self.facts,
            actions.write_sources,
            (plan.board, plan.layout, plan.board_layout),
            json.dumps([plan.board.name, plan.board_layout]),
            (self.code("memory-start-up", "memory/startup/startup.py", "memory/plan/plan.py"), self.board, self.layout),
        )

    def contract(self) -> Part:
        plan = self.plan
        values = [self.code("io-contract", "memory/startup/network_io.py"), self.board]
        if plan.layout.loaded is not None:
            values.append(self.layout)
        return Part(
            "contract",
            "SOURCES",
            (self.file("network_io.h"), self.file("network_io.json")),
            self.facts,
            actions.write_io,
            (plan.board, plan.layout),
            plan.board.name,
            tuple(values),
        )

    def linked(self, item: Initializer) -> Part:
        return Part(
            "linked",
            "SOURCES",
            (self.file(f"npu_link_{item.network}_{item.pool}.c"),),
            (self.raw(item),),
            actions.write_link_object,
            item,
            f"{item.network} {item.pool}",
            (self.code("link-object", "memory/startup/tables.py"),),
        )

    def image(self, item: Initializer, after: tuple[Any, ...]) -> list[Part]:
        external = item.strategy == "external-loader"
        name = f"{item.network}.{item.pool}"
        address = item.run_address if external else item.load_address
        binary = Part(
            "image",
            "IMAGE",
            (self.file(f"{name}.bin"),),
            (self.raw(item),),
            actions.copy_image,
            values=(self.code("image-writer", "files.py"),),
            after=after,
            write=None if external else (name, "model", address),
        )
        return [binary, self.hex(name, binary, item.network, item.pool, address, "external" if external else "flash")]

    def hex(self, stem: str, binary: Part, network: str, pool: str, address: int, kind: str) -> Part:
        node = self.file(f"{stem}.hex")
        return Part(
            kind,
            "IMAGE",
            (node,),
            binary.targets,
            actions.write_hex,
            Image(network, pool, address, binary.targets[0], node),
            f"0x{address:08x}",
            (self.code("hex-writer", "text/ihex.py", "files.py"),),
            binary.after,
        )

    def descriptor(self, after: tuple[Any, ...]) -> list[Part]:
        described = [item for item in self.plan.layout.initializers if item.strategy not in ("link", "relocatable")]
        address = self.plan.layout.descriptor
        if address is None or not described:
            return []
        binary = Part(
            "descriptor",
            "IMAGE",
            (self.file("descriptor.bin"),),
            (*self.facts, *(self.raw(item) for item in described)),
            actions.write_descriptor,
            described,
            values=(
                self.code("identity-descriptor", "memory/layout/identity.py"),
                self.layout,
            ),
            after=after,
            write=("descriptor", "descriptor", address),
        )
        return [binary, self.hex("descriptor", binary, "", "", address, "flash")]

    def runtime(self) -> list[Part]:
        """The code behind the start-up code, for programs whose runtime is not ours and does not bring it along."""
        return [
            Part("runtime", "MEMORY", (self.file(name),), (self.env.fs.File(str(path)),), actions.copy_image)
            for name, path in memory_runtime_files(network.runtime for network in self.plan.networks)
        ]

    def all(self) -> list[Part]:
        startup = self.startup()
        # What is loaded has been checked, also where nobody compiles the start-up code.
        after = startup.targets
        found = [startup, self.contract()]
        for item in self.plan.layout.initializers:
            if item.strategy == "link":
                found.append(self.linked(item))
            elif item.strategy != "relocatable":
                found += self.image(item, after)
            found += strategy_files(self.env, self.first, self.by_name[item.network], item, after)
        return [*found, *self.descriptor(after), *self.runtime()]


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Add exactly the files that the strategy of each pool needs.

    Raises:
        SCons.Errors.UserError: A variable has a wrong value, or something has no place.
    """
    plan = plans.given(env, InitializersPlan) or _plan(source, env)
    if not target[0].name.endswith(".c"):
        raise NeuralArtError(f"{NAME}: start-up code is C", where=str(target[0]), hint="call it npu_memory_init.c")
    return parts.emitted(env, _Files(env, target[0], plan).all())


VARIABLES = (
    *words(
        "NEURALART_INITIALIZERS",
        "${_NEURALART_TAG}$TARGET",
        function("NEURALART_INITIALIZERS", parts.write, "_NEURALART_COUNTS"),
        emit,
        "`[writes them]`",
    ),
    Variable(
        "NEURALART_STRATEGIES",
        "dict",
        None,
        "How the constants of a pool reach it: `flash`, `boot-copy`, `link`, `external-loader` or a plugin's, by pool.",
        "`{}`",
        dict,
    ),
    Variable("NEURALART_SLOTS", "dict", None, "Flash slots that you move, name to address.", "`{}`", dict),
    Variable("NEURALART_RESERVED", "dict", None, "Ranges to keep free, name to `(address, bytes)`.", "`{}`", dict),
    Variable(
        "NEURALART_BOARD_LAYOUT",
        "bool",
        False,
        "The program lies where the board's description says: the pools are checked against its code and data.",
    ),
    *parts.VARIABLES,
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        action = lazily("NEURALART_INITIALIZERS")
        env["BUILDERS"][NAME] = parts.PartsBuilder(NAME, "NEURALART_INITIALIZERSEMITTER", {"": action}, suffix=".c")
