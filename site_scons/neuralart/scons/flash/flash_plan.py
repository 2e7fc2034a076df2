"""``NeuralArtFlashPlan``: what is written where in a board's flash, in which order.

    env.NeuralArtFlashPlan("build/flash_plan.json", [image, memory], NEURALART_BOARD="stm32n6570-dk")

Of the files that ``NeuralArtImage`` and ``NeuralArtInitializers`` returned it takes those that go into flash; they know
where. ``NEURALART_WRITES`` says it of any other file. A firmware that loads its model has a plan for each mode: they
differ in the load table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import write_bytes, write_text
from neuralart.scons import plans
from neuralart.scons.commands import Variable, function, lazily, words
from neuralart.scons.failures import at_read_time
from neuralart.scons.plans import FilePart
from neuralart.scons.registry import code_value, registry_of

NAME = "NeuralArtFlashPlan"


@dataclass(frozen=True)
class FlashWrite:
    """One file of a plan."""

    name: str  # For messages
    kind: str  # ``application``, ``model`` or ``descriptor``
    address: int  # Where its first byte goes
    node: Any  # The file


@dataclass(frozen=True)
class WritesPlan:
    """What is written."""

    board: str  # Name of the board
    writes: Sequence[FlashWrite]  # In the order of writing
    # Words of the load table of each way to load a relocatable model, by mode; empty: nothing is loaded
    modes: Mapping[str, str] = field(default_factory=dict)
    table: int = 0  # Flash address of the load table
    models: tuple[int, int] = (0, 0)  # What the table says: address of the model, and of its constants or 0


def _write_plan(part: FilePart) -> None:
    from neuralart.flashing import plan

    board, writes = part.data
    rows = [plan.write_of(each.name, each.kind, Path(str(each.node)), each.address) for each in writes]
    write_text(Path(part.names[0]), plan.make(board, rows))


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


def _kept(env: Any, node: Any, rows: Any) -> FlashWrite | None:
    """What goes into flash; None: nothing of this file does. NeuralArtError: It is not known."""
    from neuralart.flashing.plan import KINDS

    said = _said(node, rows)
    if said is not None:
        if said.kind not in KINDS:
            raise NeuralArtError(
                f"NEURALART_WRITES: kind '{said.kind}'", where=str(node), hint=nearest(str(said.kind), KINDS)
            )
        return said
    part = plans.known(node, FilePart)
    if part is not None:
        return FlashWrite(*part.write, node) if part.write is not None else None
    # C, headers and descriptions beside them.
    if node.has_builder() and str(node.builder.get_name(env)).startswith("NeuralArt"):
        return None
    raise NeuralArtError(
        f"{NAME}: nothing says where it goes", where=str(node), hint='NEURALART_WRITES={name: ("model", address)}'
    )


def _plan(source: list[Any], env: Any) -> WritesPlan:
    """What the construction variables describe. NeuralArtError: They describe none."""
    board = plans.board_name(env, NAME, NAME)
    rows = env["NEURALART_WRITES"]
    good = isinstance(rows, dict) and all(
        isinstance(name, str) and isinstance(row, (tuple, list)) and len(row) == 2 and type(row[1]) is int
        for name, row in rows.items()
    )
    if not good:
        raise NeuralArtError(f"NEURALART_WRITES: names and (kind, address), not {rows!r}", where=NAME)
    registry_of(env).board(board, NAME)
    writes = [kept for node in source if (kept := _kept(env, node, rows)) is not None]
    if not writes:
        raise NeuralArtError(f"{NAME}: none of its sources goes into flash", where=NAME)
    return WritesPlan(board, writes)


def _part(env: Any, node: Any, plan: WritesPlan, writes: Sequence[FlashWrite]) -> FilePart:
    return FilePart(
        "plan",
        "PLAN",
        (node,),
        tuple(each.node for each in writes),
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
    plan = plans.given(env, WritesPlan) or _plan(source, env)
    if not plan.modes:
        return plans.emitted(env, [_part(env, first, plan, plan.writes)])
    stem, _, suffix = first.name.rpartition(".")
    made, tables = [], []
    for number, (mode, said) in enumerate(plan.modes.items()):
        table = _table(env, first.dir.File(f"load_table.{mode}.bin"), plan, said)
        node = first.dir.File(f"{stem}.{mode}.{suffix}") if number else first
        writes = [*plan.writes, FlashWrite("load_table", "model", plan.table, table.targets[0])]
        made.append(_part(env, node, plan, writes))
        tables.append(table)
    return plans.emitted(env, [*made, *tables])


VARIABLES = (
    *words(
        "NEURALART_FLASH_PLAN",
        "${_NEURALART_TAG}$TARGET",
        function(plans.write, "$NEURALART_FLASH_PLANCOMSTR", "_NEURALART_COUNTS"),
        emit,
        "`[writes it]`",
    ),
    Variable(
        "NEURALART_WRITES",
        "dict",
        None,
        "Where files go that no builder of this tool made: name to `(kind, address)`; kinds are those of a "
        "[flash plan](flash-plan.md).",
        "`{}`",
        dict,
    ),
)


def add_to(env: Any) -> None:
    """Add the builder."""
    if NAME not in env["BUILDERS"]:
        action = lazily("NEURALART_FLASH_PLAN")
        env["BUILDERS"][NAME] = plans.PartsBuilder(NAME, "NEURALART_FLASH_PLANEMITTER", {"": action}, suffix=".json")
