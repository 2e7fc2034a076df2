"""The keys of a board file about the start of an image and about memories that need their controller."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.boards.fields import need, register
from neuralart.boards.types import Boot, FlashWindow, LoadSlots
from neuralart.errors import nearest
from neuralart.text.values import Value

_ADDRESS_SPACE = 1 << 32


def boot(value: Value | None) -> Boot | None:
    """How the boot chain brings an image to where it runs. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return None
    value.fields(("slot", "copy_to", "copy_size", "header"))
    made = Boot(
        slot=need(value, "slot").text(),
        copy_to=need(value, "copy_to").integer(),
        copy_size=need(value, "copy_size").integer(1, _ADDRESS_SPACE),
        header=need(value, "header").integer(0, _ADDRESS_SPACE),
    )
    if made.header >= made.copy_size:
        raise need(value, "header").error(f"{made.header:#x} leaves nothing of the {made.copy_size:#x} bytes copied")
    # The vector table follows the header; VTOR ignores its low seven bits.
    if made.header % 128:
        raise need(value, "header").error(f"{made.header:#x} is not a multiple of 128, a vector table cannot follow it")
    if made.copy_to + made.copy_size > _ADDRESS_SPACE:
        raise need(value, "copy_to").error(
            f"{made.copy_to:#010x} + {made.copy_size:#x} bytes runs over the end of the address space"
        )
    return made


def windows(value: Value | None, memory: Value) -> tuple[FlashWindow, ...]:
    """Memories behind a controller that must be in memory-mapped mode, but for those not fitted (size 0)."""
    found: dict[str, FlashWindow] = {}
    for item in value.items() if value is not None else ():
        fields = item.fields(("region", "control", "mask", "value", "clock_register", "clock_bit", "mapped_by_boot"))
        region = need(item, "region").text()
        if region not in memory.mapping():
            raise fields["region"].error(f"no memory '{region}'", nearest(region, tuple(memory.mapping())))
        if region in found:
            raise fields["region"].error(f"'{region}' has a window already")
        need(item, "control")
        need(item, "clock_register")
        mask = need(item, "mask").integer(1)
        wanted = need(item, "value").integer()
        if wanted & ~mask:
            raise fields["value"].error(f"{wanted:#x} has bits that the mask {mask:#x} does not look at")
        found[region] = FlashWindow(
            region=region,
            control=register(item, "control") or 0,
            mask=mask,
            value=wanted,
            clock_register=register(item, "clock_register") or 0,
            clock_bit=need(item, "clock_bit").integer(0, 31),
            mapped_by_boot=fields["mapped_by_boot"].boolean() if "mapped_by_boot" in fields else True,
        )
    fitted = [name for name, entry in memory.mapping().items() if need(entry, "size").integer(0, _ADDRESS_SPACE)]
    return tuple(window for region, window in found.items() if region in fitted)


def load_slots(top: Value, flash: Mapping[str, int | str]) -> LoadSlots | None:
    """Where relocatable models are loaded from; None: nobody said, or only a base board in whose flash they fit."""
    value = top.mapping().get("relocatable")
    if value is None:
        return None
    memory = need(top, "memory")
    fields = value.fields(("table", "model", "params", "ext_ram"))
    ext_ram = fields["ext_ram"].text(empty=True) if "ext_ram" in fields else ""
    if ext_ram and ext_ram not in memory.mapping():
        raise fields["ext_ram"].error(f"no memory '{ext_ram}'", nearest(ext_ram, tuple(memory.mapping())))
    if ext_ram and need(memory.mapping()[ext_ram], "kind").text() not in ("ram", "psram"):
        raise fields["ext_ram"].error(f"{ext_ram} is not RAM", "activations of models are written there")
    made = LoadSlots(
        table=need(value, "table").integer(),
        model=need(value, "model").integer(),
        params=need(value, "params").integer(),
        ext_ram=ext_ram,
    )
    if flash and all(field.file != top.file for field in fields.values()):
        first, sector = int(flash["base"]), int(flash["sector"])
        last = first + int(flash["size"])
        if not all(first <= at < last and at % sector == 0 for at in (made.table, made.model, made.params)):
            return None
    return made
