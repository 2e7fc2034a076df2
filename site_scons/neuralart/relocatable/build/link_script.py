"""The linker script: fake addresses whose highest digit says which part of the image is meant."""

from __future__ import annotations

from neuralart.relocatable.format.types import FLASH, MAGIC, PARAM_0, PARAM_1, RAM

RO_ALIGN = {"aligned": 64, "vendor": 8}
"""Read-only data end at a multiple of this, so that data behind them keep an alignment of as much in mode COPY."""


def script(layout: str) -> str:
    """Text of the script.

    Args:
        layout: ``aligned`` or ``vendor``.
    """
    align = RO_ALIGN[layout]
    return f"""\
MEMORY
{{
  flash    : ORIGIN = 0x{FLASH:08x}, LENGTH = 16M
  ram      : ORIGIN = 0x{RAM:08x}, LENGTH = 16M
  params_0 : ORIGIN = 0x{PARAM_0:08x}, LENGTH = 128M
  params_1 : ORIGIN = 0x{PARAM_1:08x}, LENGTH = 128M
  trash    : ORIGIN = 0xf0000000, LENGTH = 256K
}}

ENTRY(_network_entries)

SECTIONS
{{
  .flash :
  {{
    LONG(0x{MAGIC:08x})
    KEEP(*(.network_flags))
    LONG(__data_start)
    LONG(__data_end)
    LONG(__data_data)
    LONG(__bss_start)
    LONG(__bss_end)
    LONG(__got_start)
    LONG(__got_end)
    LONG(0) /* rel_start */
    LONG(0) /* rel_end */
    LONG(__params_start)
    LONG(0) /* params_offset */
    KEEP(*(.network_entries))
    *(.text .text.*)
    *(.rodata .rodata.*)
    . = ALIGN({align});
  }} > flash =0xffffffff

  .data : ALIGN({align})
  {{
    __data_start = .;
    *(.data .data.*)
    . = ALIGN(8);
    KEEP(*(.network_rt_ctx))
    . = ALIGN(4);
    __params_start = .;
    KEEP(*(.params_desc))
    . = ALIGN(4);
    __data_end = .;
    KEEP(*(.init_array .init_array.*))
    KEEP(*(.fini_array .fini_array.*))
    . = ALIGN(4);
    __got_start = .;
    *(.got)
    *(.got.plt)
    __got_end = .;
  }} > ram AT > flash
  __data_data = LOADADDR(.data);

  .relocs :
  {{
    KEEP(*(.relocs))
  }} > flash

  .params_0 :
  {{
    . = ALIGN({align});
    KEEP(*(.const_ec_blob))
    . = ALIGN({align});
    KEEP(*(.params_0))
    . = ALIGN(8);
  }} > params_0

  .params_1 :
  {{
    KEEP(*(.params_1))
  }} > params_1

  .bss (NOLOAD) :
  {{
    . = ALIGN(8);
    __bss_start = .;
    *(.bss .bss.*)
    *(COMMON)
    . = ALIGN(8);
    __bss_end = .;
  }} > ram

  .trash :
  {{
    *(.dynstr .dynsym .dynamic .hash .gnu.* .interp)
  }} > trash

  /DISCARD/ :
  {{
    *(.note .note.* .comment .ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.* .ARM.attributes .debug_*)
  }}
}}
"""
