"""``NeuralArtInitializers``: constants reach the memories that the networks read; start-up code sees to it.

    net = env.NeuralArtNetwork("build/kws.c", "kws.tflite", NEURALART_INITIALIZERS=["AXISRAM5", "xSPI2"])
    memory = env.NeuralArtInitializers("build/npu_memory_init.c", net, NEURALART_STRATEGIES={"AXISRAM5": "link"})

Sources are all networks of one program; of their files it takes ``network.json`` and the raw files. The emitter adds
exactly the files that the strategy of each pool needs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import Reserved, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.layout.relative_pools import refuse_relative_pools
from neuralart.memory.layout.strategies import Initializer, Layout
from neuralart.quick import dataclass, replace
from neuralart.scons import node_plans
from neuralart.scons.commands import Variable, lazily
from neuralart.scons.failures import at_read_time
from neuralart.scons.firmware import memory_files
from neuralart.scons.firmware.memory_files import (
    Member,
    PlannedNetwork,
    board_of,
    layout_of,
    layout_value,
    memory_runtime_files,
    strategy_files,
)
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.node_plans import FilePart
from neuralart.scons.registry import board_value, code_value
from neuralart.text.values import Location

NAME = "NeuralArtInitializers"
HEADER = "npu_memory_init.h"


@dataclass(frozen=True)
class InitializersPlan:
    """What is made for a program."""

    networks: Sequence[Member]  # All of it
    board: Board  # Where it runs
    layout: Layout  # Addresses of everything
    board_layout: bool  # The program is laid out as the board says: its pools are checked against its code and data
    reference: bool = False  # It is our application, which has the code behind the start-up code


@dataclass(frozen=True)
class LoadedImage:
    """Bytes with their load address."""

    network: str  # Name of the network; empty for the identity descriptor
    pool: str  # fname of the pool; empty for the identity descriptor
    address: int  # Where the first byte belongs
    binary: Any  # The bytes (an empty file: nothing to load)
    hex: Any  # The same as Intel HEX with its address


# ---- the plan, from construction variables


def _member(node: Any, plan: CompilePlan, strategies: dict[str, str]) -> PlannedNetwork:
    if plan.pools is None:
        said = f"network {plan.config.name} runs on the core of board {plan.board.name}"
        what = f"{said}: its constants are C, its buffers the application's"
        raise NeuralArtError(what, where=NAME, hint="compile its C into the program")
    refuse_relative_pools(plan.config.name, plan.pools)
    raws = {pool: node.dir.File(name) for pool, name in plan.files.initializers.items()}
    mine = tuple(sorted((pool, way) for pool, way in strategies.items() if pool in raws))
    return PlannedNetwork(
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
    """Read the flash slots that the user moves. NeuralArtError: the value is wrong."""
    rows = slots.items() if isinstance(slots, dict) else [(None, None)]
    if not all(isinstance(name, str) and _is_int(address) for name, address in rows):
        raise NeuralArtError(f"{word}: a mapping of names to addresses, not {slots!r}", where=where)
    return tuple(sorted(slots.items()))


def _kept_ranges(reserved: Any, where: str, word: str) -> tuple[Reserved, ...]:
    """Ranges that the user keeps free. NeuralArtError: It is something else, or a range is none."""
    try:
        rows = [(name, address, size) for name, (address, size) in sorted(reserved.items())]
    except (AttributeError, TypeError, ValueError):
        rows = [(None, None, None)]
    for name, address, size in rows:
        if not (isinstance(name, str) and _is_int(address) and _is_int(size)):
            raise NeuralArtError(f"{word}: a mapping of names to (address, bytes), not {reserved!r}", where=where)
        if not (0 <= address < address + size <= 1 << 32):
            what = f"{word}: {name} with {size} bytes at {address:#x} is no range of addresses"
            raise NeuralArtError(what, where=where)
    return tuple(Reserved(*row, Location("", 0)) for row in rows)


def own_program(
    name: str, networks: Sequence[Member], where: str, slots: tuple[str, Any], reserved: tuple[str, Any]
) -> VariantConfig:
    """A program that a SConstruct puts together, as a variant; ``slots`` and ``reserved`` with what they are called.
    NeuralArtError: Two networks are one, they are for different boards, or slots or ranges are none.
    """
    board = board_of(networks, where)
    names = [network.name for network in networks]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise NeuralArtError(f"network {twice} is given twice", where=where)
    return VariantConfig(
        name=name,
        title="",
        board=board.name,
        machine="",
        networks=tuple(network.config for network in networks),
        slots=moved_slots(slots[1], where, slots[0]),
        reserved=_kept_ranges(reserved[1], where, reserved[0]),
    )


def _plan(source: list[Any], env: Any) -> InitializersPlan:
    """What the construction variables describe."""
    strategies = env["NEURALART_STRATEGIES"]
    if not isinstance(strategies, dict):
        raise NeuralArtError(f"NEURALART_STRATEGIES: pools and strategies, not {strategies!r}", where=NAME)
    networks = [_member(node, plan, strategies) for node, plan in node_plans.each_behind(source, CompilePlan)]
    if not networks:
        raise NeuralArtError(f"{NAME} takes what NeuralArtNetwork returned, one or more", where=NAME)
    pools = {pool for network in networks for pool in network.initializers}
    for pool in strategies:
        if pool not in pools:
            what = f"NEURALART_STRATEGIES: no network has constants in pool '{pool}'"
            raise NeuralArtError(what, where=NAME, hint=nearest(str(pool), sorted(pools)))
    name = "-".join(network.name for network in networks)
    slots, reserved = (("NEURALART_SLOTS", env["NEURALART_SLOTS"]), ("NEURALART_RESERVED", env["NEURALART_RESERVED"]))
    variant = own_program(name, networks, NAME, slots, reserved)
    board = networks[0].board
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
        self.board = board_value(env, plan.board)
        self.layout = layout_value(env, plan.layout)

    def file(self, name: str) -> Any:
        return self.first.dir.File(name)

    def code(self, label: str, *rooms: str) -> Any:
        return code_value(self.env, label, *rooms)

    def raw(self, item: Initializer) -> Any:
        return self.by_name[item.network].initializers[item.pool]

    def startup(self) -> FilePart:
        plan = self.plan
        return FilePart(
            "start-up code",
            "MEMORY",
            (self.first, self.file(HEADER)),
            self.facts,
            memory_files.write_sources,
            (plan.board, plan.layout, plan.board_layout),
            json.dumps([plan.board.name, plan.board_layout]),
            (
                self.code(
                    "memory-start-up",
                    "memory/startup/startup.py",
                    "memory/startup/npu_memory_init.h",
                    "memory/plan/plan.py",
                ),
                self.board,
                self.layout,
            ),
        )

    def contract(self) -> FilePart:
        plan = self.plan
        values = [self.code("io-contract", "memory/startup/network_io.py"), self.board]
        if plan.layout.loaded is not None:
            values.append(self.layout)
        return FilePart(
            "contract",
            "SOURCES",
            (self.file("network_io.h"), self.file("network_io.json")),
            self.facts,
            memory_files.write_io,
            (plan.board, plan.layout),
            plan.board.name,
            tuple(values),
        )

    def linked(self, item: Initializer) -> FilePart:
        return FilePart(
            "linked",
            "SOURCES",
            (self.file(f"npu_link_{item.network}_{item.pool}.c"),),
            (self.raw(item),),
            memory_files.write_link_object,
            item,
            f"{item.network} {item.pool}",
            (self.code("link-object", "memory/startup/tables.py"),),
        )

    def image(self, item: Initializer, after: tuple[Any, ...]) -> list[FilePart]:
        external = item.strategy == "external-loader"
        name = f"{item.network}.{item.pool}"
        address = item.run_address if external else item.load_address
        binary = FilePart(
            "image",
            "IMAGE",
            (self.file(f"{name}.bin"),),
            (self.raw(item),),
            memory_files.copy_image,
            values=(self.code("image-writer", "files.py"),),
            after=after,
            write=None if external else (name, "model", address),
        )
        return [binary, self.hex(name, binary, item.network, item.pool, address, "external" if external else "flash")]

    def hex(self, stem: str, binary: FilePart, network: str, pool: str, address: int, kind: str) -> FilePart:
        node = self.file(f"{stem}.hex")
        return FilePart(
            kind,
            "IMAGE",
            (node,),
            binary.targets,
            memory_files.write_hex,
            LoadedImage(network, pool, address, binary.targets[0], node),
            f"0x{address:08x}",
            (self.code("hex-writer", "text/ihex.py", "files.py"),),
            binary.after,
        )

    def descriptor(self, after: tuple[Any, ...]) -> list[FilePart]:
        described = [item for item in self.plan.layout.initializers if item.strategy not in ("link", "relocatable")]
        address = self.plan.layout.descriptor
        if address is None or not described:
            return []
        binary = FilePart(
            "descriptor",
            "IMAGE",
            (self.file("descriptor.bin"),),
            (*self.facts, *(self.raw(item) for item in described)),
            memory_files.write_descriptor,
            described,
            values=(self.code("identity-descriptor", "memory/layout/identity.py"), self.layout),
            after=after,
            write=("descriptor", "descriptor", address),
        )
        return [binary, self.hex("descriptor", binary, "", "", address, "flash")]

    def runtime(self) -> list[FilePart]:
        """The code behind the start-up code, for programs whose runtime is not ours and does not bring it along."""
        return [
            FilePart("runtime", "MEMORY", (self.file(name),), (self.env.fs.File(str(path)),), memory_files.copy_image)
            for name, path in memory_runtime_files(network.runtime for network in self.plan.networks)
            if not self.plan.reference
        ]

    def all(self) -> list[FilePart]:
        startup = self.startup()
        # What is loaded is checked, also where the start-up code is not compiled.
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
    SCons.Errors.UserError: A variable has a wrong value, or something has no place.
    """
    plan = node_plans.given(env, InitializersPlan) or _plan(source, env)
    if not target[0].name.endswith(".c"):
        raise NeuralArtError(f"{NAME}: start-up code is C", where=str(target[0]), hint="call it npu_memory_init.c")
    return node_plans.emitted(env, _Files(env, target[0], plan).all())


VARIABLES = (
    *node_plans.words("NEURALART_INITIALIZERS", emit, "`[writes them]`"),
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
    *node_plans.VARIABLES,
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        action = lazily("NEURALART_INITIALIZERS")
        env["BUILDERS"][NAME] = node_plans.PartsBuilder(
            NAME, "NEURALART_INITIALIZERSEMITTER", {"": action}, suffix=".c"
        )
