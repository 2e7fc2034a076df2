"""``npu_memory_init.[ch]``: turns on the memory banks that the networks of an image touch, before anything uses them.

Order (STM32N6): memory clock, sleep clock (the runtime may wait in WFE), clock of RAMCFG, then the bank's shutdown
bit. A bank that no buffer touches stays off.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.boards.types import Board, MemoryRegion, Registers
from neuralart.errors import NeuralArtError
from neuralart.memory.regions import check_disjoint, firmware_spans, network_spans, touched_regions
from neuralart.network.facts import Network

HEADER = """/* Turns on the memories that the networks use. Generated. */
#ifndef NPU_MEMORY_INIT_H
#define NPU_MEMORY_INIT_H

/* Call once, before the first access to any buffer of a network. Returns 0. */
int npu_memory_init(void);

#endif
"""


def gated_regions(board: Board, networks: Sequence[Network], *, with_firmware: bool = True) -> list[MemoryRegion]:
    """Memories that must be turned on for some networks.

    Args:
        board: The board.
        networks: All networks of the image.
        with_firmware: The image is laid out as the board says (not by the user's own linker script).

    Raises:
        NeuralArtError: Ranges overlap or lie in no memory.
    """
    spans = [span for network in networks for span in network_spans(board, network)]
    check_disjoint([*spans, *(firmware_spans(board) if with_firmware else [])], f"board {board.name}")
    touched = touched_regions(board, spans)
    for region in touched:
        if region.enable is None and not region.on_at_reset:
            users = [str(span) for span in spans if span.start < region.end and region.base < span.end]
            raise NeuralArtError(
                f"{', '.join(users)} lies in {region.name}, which does not answer after reset and which the start-up "
                f"code cannot turn on",
                where=f"board {board.name}",
                hint=f"disable that pool (size 0), or set on_at_reset: true for {region.name} in a board file of your "
                "own if your boot chain initialises it",
            )
    return [region for region in touched if region.enable is not None]


def _register(value: int | None, name: str, board: Board, region: MemoryRegion) -> int:
    if value is None:
        raise NeuralArtError(
            f"{region.name} must be turned on, but 'registers: {name}' is missing",
            where=board.where or f"board {board.name}",
        )
    return value


def _clocks(board: Board, regions: Sequence[MemoryRegion]) -> list[str]:
    registers: Registers = board.registers
    clocked = [(r, r.enable.clock_bit) for r in regions if r.enable is not None and r.enable.clock_bit is not None]
    if not clocked:
        return []
    mask = sum({1 << bit for _, bit in clocked})
    names = ", ".join(region.name for region, _ in clocked)
    clock = _register(registers.memory_clock, "memory_clock", board, clocked[0][0])
    lines = [f"  /* Memory clocks: {names}. */", f"  set_bits(0x{clock:08x}u, 0x{mask:x}u);"]
    if registers.memory_sleep_clock is not None:
        lines.append("  /* They keep their clock while the core sleeps. */")
        lines.append(f"  set_bits(0x{registers.memory_sleep_clock:08x}u, 0x{mask:x}u);")
    return lines


def _shutdown(board: Board, regions: Sequence[MemoryRegion]) -> list[str]:
    registers = board.registers
    gated = [
        (r, r.enable.ramcfg_offset) for r in regions if r.enable is not None and r.enable.ramcfg_offset is not None
    ]
    if not gated:
        return []
    first = gated[0][0]
    ramcfg = _register(registers.ramcfg, "ramcfg", board, first)
    bit = _register(registers.shutdown_bit, "shutdown_bit", board, first)
    lines = []
    if registers.ramcfg_clock is not None and registers.ramcfg_clock_bit is not None:
        lines.append("  /* The clock of RAMCFG: without it its registers do not answer. */")
        lines.append(f"  set_bits(0x{registers.ramcfg_clock:08x}u, 0x{1 << registers.ramcfg_clock_bit:x}u);")
    for region, offset in gated:
        lines.append(f"  /* {region.name} leaves shutdown. */")
        lines.append(f"  clear_bits(0x{ramcfg + offset:08x}u, 0x{1 << bit:x}u);")
    return lines


def source(board: Board, networks: Sequence[Network], *, with_firmware: bool = True) -> str:
    """Text of ``npu_memory_init.c``.

    Raises:
        NeuralArtError: Ranges overlap, lie in no memory, or the board does not say how to turn one on.
    """
    regions = gated_regions(board, networks, with_firmware=with_firmware)
    body = [*_clocks(board, regions), *_shutdown(board, regions)]
    if not body:
        return (
            f"/* {board.name}: nothing to turn on: the networks use memories that answer after reset, or that the\n"
            " * boot chain has mapped (external flash). Generated. */\n"
            '#include "npu_memory_init.h"\n\nint npu_memory_init(void) { return 0; }\n'
        )
    return "\n".join(
        [
            f"/* {board.name}: turns on {', '.join(region.name for region in regions)}. Generated. */",
            *([f"/* Registers: {board.registers.source} */"] if board.registers.source else []),
            '#include "npu_memory_init.h"',
            "",
            "#include <stdint.h>",
            "",
            "/* A read behind each write: the clock runs before the next access is made. */",
            "static inline void set_bits(uintptr_t address, uint32_t bits) {",
            "  volatile uint32_t *reg = (volatile uint32_t *)address;",
            "  *reg |= bits;",
            "  (void)*reg;",
            "}",
            "",
            *(
                [
                    "static inline void clear_bits(uintptr_t address, uint32_t bits) {",
                    "  volatile uint32_t *reg = (volatile uint32_t *)address;",
                    "  *reg &= ~bits;",
                    "  (void)*reg;",
                    "}",
                    "",
                ]
                if any("clear_bits" in line for line in body)
                else []
            ),
            "int npu_memory_init(void) {",
            *body,
            '  __asm__ volatile("dsb\\n\\tisb" ::: "memory");',
            "  return 0;",
            "}",
            "",
        ]
    )
