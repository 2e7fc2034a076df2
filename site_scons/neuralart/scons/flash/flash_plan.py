"""``NeuralArtFlashPlan``: what is written where in a board's flash, in which order.

    env.NeuralArtFlashPlan("build/flash_plan.json", [image, memory], NEURALART_BOARD="stm32n6570-dk")

Of the files that ``NeuralArtImage`` and ``NeuralArtInitializers`` returned it takes those that go into flash; they know
where, and a relocatable model goes where its board has room for one. ``NEURALART_WRITES`` says it of any other file. A
firmware that loads its model (``NEURALART_LOAD_MODES``) has a plan for each mode: they differ in the load table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuralart import products
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import write_bytes, write_text
from neuralart.quick import dataclass, field
from neuralart.scons import node_plans
from neuralart.scons.commands import Variable, lazily
from neuralart.scons.failures import at_read_time
from neuralart.scons.node_plans import FilePart
from neuralart.scons.registry import code_value, registry_of

NAME = "NeuralArtFlashPlan"
# The function of firmware/runtime/memory/descriptor.c.
READER = "npu_memory_check_descriptor"


@dataclass(frozen=True)
class FlashWrite:
    """A file of a plan."""

    name: str  # For messages
    kind: str  # ``application``, ``model`` or ``descriptor``
    address: int  # Where its first byte goes
    node: Any  # The file
    reader: Any = None  # A program without whose code for it the file is not written; None: it is written
    # The program that the file is the part of from ``address`` on, whose first byte there is the file's; None: none
    program: Any = None


@dataclass(frozen=True)
class WritesPlan:
    """The writes of a plan."""

    board: str  # Name of the board
    writes: Sequence[FlashWrite]  # In the order of writing
    # Words of the load table of each way to load a relocatable model, by mode; empty: nothing is loaded
    modes: Mapping[str, str] = field(default_factory=dict)
    table: int = 0  # Flash address of the load table
    models: tuple[int, int] = (0, 0)  # What the table says: address of the model, and of its constants or 0


def _write_plan(part: FilePart) -> None:
    from neuralart.flashing import plan

    board, writes = part.data
    read = [each for each in writes if each.reader is None or _reads(Path(str(each.reader)))]
    rows = [plan.write_of(each.name, each.kind, Path(str(each.node)), _begins(each)) for each in read]
    write_text(Path(part.names[0]), plan.make(board, rows))


def _begins(write: FlashWrite) -> int:
    from neuralart.memory.image import elf_facts

    path = Path(str(write.program or ""))
    loaded = elf_facts.read(path, products.read(path)).loaded if write.program is not None else ()
    return min((part.load for part in loaded if part.load >= write.address), default=write.address)


def _reads(program: Path) -> bool:
    """Whether code of a program reads the identity descriptor; a program without symbols may."""
    from neuralart.memory.image import elf_facts

    image = elf_facts.read(program, products.read(program))
    names = {name for _, _, name in image.functions}
    # Link-time optimization may leave no function of that name, but what it says.
    return not names or READER in names or any(b"identity descriptor" in part.data for part in image.loaded)


def _write_table(part: FilePart) -> None:
    from neuralart.relocatable.format import load_table

    mode, models = part.data
    write_bytes(Path(part.names[0]), load_table.make(mode.split(), [models]))


def _said(node: Any, rows: Any) -> FlashWrite | None:
    """What the user says of a file."""
    for name, row in rows.items():
        if str(node) == name or node.name == name:
            return FlashWrite(node.name.rpartition(".")[0] or node.name, row[0], row[1], node)
    return None


def _slot(node: Any) -> str:
    """The slot of a file of a relocatable model: ``relocatable`` or ``relocatable_params``; empty: it is none."""
    from neuralart.scons.firmware.relocatable import SUFFIX, RelocatablePlan

    if not node.name.endswith(".bin") or node_plans.behind([node], RelocatablePlan) is None:
        return ""
    return "relocatable" if node.name.endswith(SUFFIX) else "relocatable_params"


def _for_vendor(node: Any) -> bool:
    from neuralart.scons.firmware.relocatable import RelocatablePlan

    plan = node_plans.behind([node], RelocatablePlan)
    return plan is not None and bool(plan.places)


def _in_slot(node: Any, slot: str, board: Board) -> FlashWrite:
    if board.relocatable is None:
        what = f"{NAME}: board {board.name} has no slots for relocatable models"
        raise NeuralArtError(what, where=str(node), hint="name the address in NEURALART_WRITES")
    return FlashWrite(
        slot, "model", board.relocatable.model if slot == "relocatable" else board.relocatable.params, node
    )


def _with_modes(env: Any, board: Board, writes: Sequence[FlashWrite]) -> WritesPlan:
    """The plan for a firmware that loads its model, or not. NeuralArtError: There is no model, or no such mode."""
    from neuralart.relocatable.format import load_table

    modes = {str(each).partition(" ")[0]: str(each) for each in env.Split(env["NEURALART_LOAD_MODES"])}
    if not modes:
        return WritesPlan(board.name, writes)
    places = {slot: each.address for each in writes if (slot := _slot(each.node))}
    if "relocatable" not in places:
        what = f"{NAME}: NEURALART_LOAD_MODES, but no relocatable model among the sources"
        raise NeuralArtError(what, where=NAME, hint="give what NeuralArtRelocatable returned")
    models = (places["relocatable"], places.get("relocatable_params", 0))
    for said in modes.values():
        load_table.make(said.split(), [models])
    own = board.relocatable.table if board.relocatable is not None else 0
    if any(_for_vendor(each.node) for each in writes):
        own = load_table.place(own, int(board.flash.get("sector", 0)))
    _, table = env["NEURALART_WRITES"].get("load_table", ("model", own))
    if not table:
        what = f"{NAME}: board {board.name} has no slot for a load table"
        raise NeuralArtError(what, where=NAME, hint='NEURALART_WRITES={"load_table": ("model", address)}')
    return WritesPlan(board.name, writes, modes, table, models)


def _kept(env: Any, node: Any, rows: Any, board: Board) -> FlashWrite | None:
    """What goes into flash; None: nothing of this file does. NeuralArtError: It is not known."""
    from neuralart.flashing.plan import KINDS

    said = _said(node, rows)
    if said is not None:
        if said.kind not in KINDS:
            hint = nearest(str(said.kind), KINDS)
            raise NeuralArtError(f"NEURALART_WRITES: kind '{said.kind}'", where=str(node), hint=hint)
        return said
    part = node_plans.known(node, FilePart)
    if part is not None:
        return FlashWrite(*part.write, node) if part.write is not None else None
    if slot := _slot(node):
        return _in_slot(node, slot, board)
    # C, headers and descriptions beside them.
    if node.has_builder() and str(node.builder.get_name(env)).startswith("NeuralArt"):
        return None
    hint = 'NEURALART_WRITES={name: ("model", address)}'
    raise NeuralArtError(f"{NAME}: nothing says where it goes", where=str(node), hint=hint)


def _plan(source: list[Any], env: Any) -> WritesPlan:
    """What the construction variables describe. NeuralArtError: They describe none."""
    name = node_plans.board_name(env, NAME, NAME)
    rows = env["NEURALART_WRITES"]
    good = isinstance(rows, dict) and all(
        isinstance(name, str) and isinstance(row, (tuple, list)) and len(row) == 2 and type(row[1]) is int
        for name, row in rows.items()
    )
    if not good:
        raise NeuralArtError(f"NEURALART_WRITES: names and (kind, address), not {rows!r}", where=NAME)
    board = registry_of(env).board(name, NAME)
    writes = [kept for node in source if (kept := _kept(env, node, rows, board)) is not None]
    if not writes:
        raise NeuralArtError(f"{NAME}: none of its sources goes into flash", where=NAME)
    return _with_modes(env, board, writes)


def _part(env: Any, node: Any, plan: WritesPlan, writes: Sequence[FlashWrite]) -> FilePart:
    return FilePart(
        "plan",
        "PLAN",
        (node,),
        tuple(node for each in writes for node in (each.node, each.reader, each.program) if node is not None),
        _write_plan,
        (plan.board, tuple(writes)),
        json.dumps([plan.board, [(each.name, each.kind, each.address) for each in writes]]),
        (code_value(env, "flash-plan", "flashing/plan.py"),),
    )


def _table(env: Any, node: Any, plan: WritesPlan, words_of_mode: str) -> FilePart:
    return FilePart(
        "load table",
        "TABLE",
        (node,),
        (),
        _write_table,
        (words_of_mode, plan.models),
        json.dumps([words_of_mode, plan.models]),
        (code_value(env, "load-table", "relocatable/format/load_table.py", "files.py"),),
        write=("load_table", "model", plan.table),
    )


@at_read_time
def emit(target: list[Any], source: list[Any], env: Any) -> tuple[list[Any], list[Any]]:
    """Take what goes into flash; add a plan and a load table for each mode.
    SCons.Errors.UserError: A variable has a wrong value, or nothing says where a file goes.
    """
    first = target[0]
    plan = node_plans.given(env, WritesPlan) or _plan(source, env)
    if not plan.modes:
        return node_plans.emitted(env, [_part(env, first, plan, plan.writes)])
    stem, _, suffix = first.name.rpartition(".")
    made, tables = [], []
    for number, (mode, said) in enumerate(plan.modes.items()):
        table = _table(env, first.dir.File(f"load_table.{mode}.bin"), plan, said)
        node = first.dir.File(f"{stem}.{mode}.{suffix}") if number else first
        writes = [*plan.writes, FlashWrite("load_table", "model", plan.table, table.targets[0])]
        made.append(_part(env, node, plan, writes))
        tables.append(table)
    return node_plans.emitted(env, [*made, *tables])


VARIABLES = (
    *node_plans.words("NEURALART_FLASH_PLAN", emit, "`[writes it]`"),
    Variable(
        "NEURALART_WRITES",
        "dict",
        None,
        "Where files go that no builder of this tool made: name to `(kind, address)`; kinds are those of a "
        "[flash plan](flash-plan.md).",
        "`{}`",
        dict,
    ),
    Variable(
        "NEURALART_LOAD_MODES",
        "list",
        None,
        'How the firmware loads its relocatable model: `xip`, `copy`, with words of the load table: `["xip clear"]`; '
        "empty: it loads none. Each mode has its table and plan.",
        "`[]`",
        list,
    ),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        action = lazily("NEURALART_FLASH_PLAN")
        env["BUILDERS"][NAME] = node_plans.PartsBuilder(
            NAME, "NEURALART_FLASH_PLANEMITTER", {"": action}, suffix=".json"
        )
