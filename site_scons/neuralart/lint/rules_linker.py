"""The stack, as a linker script places it."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.lint.types import ERROR, Facts, Hit, Rule
from neuralart.memory.regions import is_on, turned_on_by
from neuralart.plugins import register

STACKS = ("_estack", "__StackTop", "__stack_top", "_stack_top", "__initial_sp", "__INITIAL_SP", "__stack", "stack_top")


def _stack(facts: Facts) -> Iterator[Hit]:
    board = facts.board
    if board is None:
        return
    for script in facts.scripts:
        for symbol in script.symbols:
            if symbol.name not in STACKS or symbol.value < 8:
                continue
            # What counts is where the first push goes: the end of a memory is a fine place to begin at.
            region = board.region_at(symbol.value - 4)
            said = f"the stack ({symbol.name}) begins at 0x{symbol.value:08x}"
            if region is None:
                yield Hit(symbol.where, f"{said}, where board {board.name} has no memory")
            elif region.kind not in ("ram", "psram"):
                yield Hit(symbol.where, f"{said}, in {region.name}, which is {region.kind}")
            elif not is_on(board, region):
                yield Hit(
                    symbol.where, f"{said}, in {region.name}, which is off at reset: {turned_on_by(board, region)}"
                )


RULES = (
    Rule(
        "stack-bank",
        ERROR,
        "a stack in a memory that is off at reset: above 0x34200000 on an STM32N6",
        "AXISRAM3 to 6 are shut down after reset. The first push is a fault, or its value is lost.",
        "end the stack at 0x34200000 at the latest, or put it in DTCM",
        ("board", "linker script"),
        _stack,
    ),
)

for _rule in RULES:
    register("lint", _rule.id, _rule, protocol=1)
