"""Before anything is built: who gets which addresses, and which configurations are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart import boards
from neuralart.boards.types import Board, Boot, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.flash_areas import areas, by_sectors
from neuralart.memory.layout.layout import LayoutNetwork
from neuralart.memory.layout.strategies import Initializer, Layout
from neuralart.memory.regions import Span, overlapping
from neuralart.vendor import mpool
from support.models.layouts import NOR, layout, network, placement, pool, pools
from support.projects import smallboard
from support.servers.messages import flat

DK = boards.load("stm32n6570-dk")
NUCLEO = boards.load("nucleo-n657x0-q")
AN547 = boards.load("mps3-an547")
H747 = boards.load("stm32h747i-disco")
MB = 1 << 20
KB = 1 << 10

RAM5 = pool("AXISRAM5", 0x342E0000, 448 * KB)
RAM6 = pool("AXISRAM6", 0x34350000, 448 * KB)


def weights(address: int, size: int, **more: Any) -> Any:
    return pool("xSPI2", address, size, NOR, constants_preferred=True, **more)


def stock(board: Board, declared: Sequence[str] | None = None) -> LayoutNetwork:
    return network(mpool.read(Path(board.mpool), "stock.mpool"), declared=declared)


def refusal(board: Board, *networks: LayoutNetwork, **more: Any) -> str:
    with pytest.raises(NeuralArtError) as caught:
        layout(board, *networks, **more)
    return flat(str(caught.value))


def sound(board: Board, made: Layout) -> None:
    """What must hold of every layout."""
    found = areas(board)
    fixed = [each for each in made.placements if each.kind != "pool"]
    spans = [by_sectors(found, Span(p.owner, p.owner, p.start, p.end)) for p in fixed]
    heads = [
        by_sectors(found, Span(p.owner, "pools", p.start, p.start + 1)) for p in made.placements if p.kind == "pool"
    ]
    assert overlapping([*spans, *heads]) == []
    for each in fixed:
        if each.kind in ("slot", "descriptor", "staging"):
            (area,) = [area for area in found if area.start <= each.start and each.end <= area.end]
            assert each.start % area.sector == 0
            assert each.size % area.sector == 0
            assert each.size > 0
        assert each.chosen_by
    for init in made.initializers:
        if init.strategy == "boot-copy":
            place = placement(made, f"staging of pool {init.pool} of network {init.network}")
            assert init.load_address == place.start
            assert init.capacity <= place.size
        assert init.capacity > 0


# ---- real flash maps


@pytest.mark.parametrize(
    ("board", "descriptor", "capacity"),
    [(DK, 0x70200000, 61 * MB), (NUCLEO, 0x70200000, 61952 * KB), (AN547, 0x70000000, 61 * MB)],
    ids=lambda value: value.name if isinstance(value, Board) else "",
)
def test_stock_pools(board: Board, descriptor: int, capacity: int) -> None:
    made = layout(board, stock(board))
    sound(board, made)
    assert made.descriptor == descriptor
    (init,) = made.initializers
    assert (init.strategy, init.load_address, init.run_address, init.capacity) == (
        "flash",
        0x70380000,
        0x70380000,
        capacity,
    )
    assert made.application == (None if board is AN547 else 0x70100000)


def test_slots_of_the_kit() -> None:
    made = layout(DK, stock(DK))
    assert [(p.owner, p.start, p.size) for p in made.placements if p.kind == "slot"] == [
        ("slot fsbl", 0x70000000, MB),
        ("slot application", 0x70100000, MB),
    ]
    assert [(p.owner, p.start, p.end) for p in made.placements if p.kind == "firmware"] == [
        ("firmware code", 0x34000400, 0x34100000),
        ("firmware data", 0x30000000, 0x30020000),
    ]
    assert placement(made, "slot application").chosen_by == DK.place("slots.application")
    assert placement(made, "pool xSPI2 of network digits").chosen_by.startswith("stock.mpool:")
    assert placement(made, "identity descriptor").chosen_by == "variants.yaml:20 (first fit)"


@pytest.mark.parametrize("board", [DK, NUCLEO], ids=lambda board: board.name)
def test_all_pools_of_the_stock_file_staged(board: Board) -> None:
    """More than the gap before the weights holds, and on the Nucleo the pool ends with the chip."""
    given_pools = stock(board, [f"AXISRAM{n}" for n in range(2, 7)])
    made = layout(board, given_pools)
    sound(board, made)
    assert [i.strategy for i in made.initializers] == ["boot-copy"] * 5
    assert [i.capacity for i in made.initializers] == [MB, *[448 * KB] * 4]
    assert made.initializers[0].load_address == 0x70210000, "the gap behind the application first"
    behind = [i.load_address for i in made.initializers if i.load_address >= 0x70380000]
    assert behind == ([0x74080000, 0x740F0000, 0x74160000] if board is DK else [0x73F90000, 0x73F20000, 0x73EB0000]), (
        "behind the pool, or from its end downwards"
    )


def test_getting_started_profile() -> None:
    """Weights from 0x70380000, 61 MB: on the Nucleo that is more than the chip has."""
    for board, capacity in ((DK, 61 * MB), (NUCLEO, 0x74000000 - 0x70380000)):
        given_pools = network(pools(RAM5, weights(0x70380000, 61 * MB)), declared=["AXISRAM5", "xSPI2"])
        made = layout(board, given_pools)
        sound(board, made)
        assert made.descriptor == 0x70200000
        ram, flash = made.initializers
        assert (ram.load_address, ram.run_address, ram.capacity) == (0x70210000, 0x342E0000, 448 * KB)
        assert (flash.load_address, flash.capacity) == (0x70380000, capacity)


def test_stock_4_0_profile() -> None:
    """Weights from 0x71000000 to the end of the chip."""
    made = layout(DK, network(pools(RAM5, weights(0x71000000, 112 * MB)), declared=["AXISRAM5", "xSPI2"]))
    sound(DK, made)
    assert (made.descriptor, made.initializers[0].load_address) == (0x70200000, 0x70210000)
    assert made.initializers[1].capacity == 112 * MB


def test_weights_inside_the_megabyte_that_is_copied() -> None:
    """The pool file wins: the application has what is left."""
    made = layout(DK, network(pools(RAM5, weights(0x70180000, 63 * MB))))
    sound(DK, made)
    slot = placement(made, "slot application")
    assert (slot.start, slot.size) == (0x70100000, 512 * KB)
    assert made.descriptor == 0x74080000, "behind the pool: there is no gap before it"


def test_static_and_relocatable_together() -> None:
    """The slot of a relocatable network lies in what the weights' pool might grow to."""
    made = layout(
        DK,
        network(pools(RAM5, weights(0x70380000, 61 * MB)), declared=["AXISRAM5", "xSPI2"]),
        slots={"relocatable": 0x72000000},
    )
    sound(DK, made)
    slot = placement(made, "slot relocatable")
    assert (slot.start, slot.end, slot.chosen_by) == (0x72000000, 0x78000000, "variants.yaml:30")
    assert made.descriptor == 0x70200000


def test_internal_weights_only() -> None:
    """No flash pool at all: what is staged is all that is in flash beside the application."""
    made = layout(DK, network(pools(RAM5, RAM6)))
    sound(DK, made)
    assert made.initializers == (
        Initializer("digits", "AXISRAM5", "boot-copy", 0x342E0000, 0x70210000, 448 * KB, False),
        Initializer("digits", "AXISRAM6", "boot-copy", 0x34350000, 0x70280000, 448 * KB, False),
    )


def test_two_networks() -> None:
    one = network(pools(RAM5, weights(0x70380000, 4 * MB)), "one", ["AXISRAM5", "xSPI2"])
    two = network(pools(RAM6, weights(0x72000000, MB), path="b.mpool"), "two", ["AXISRAM6", "xSPI2"])
    made = layout(DK, one, two)
    sound(DK, made)
    assert [(i.network, i.pool, i.load_address) for i in made.initializers] == [
        ("one", "AXISRAM5", 0x70210000),
        ("one", "xSPI2", 0x70380000),
        ("two", "AXISRAM6", 0x70280000),
        ("two", "xSPI2", 0x72000000),
    ]


def test_same_pools_for_two_networks_are_a_matter_of_use() -> None:
    file = pools(RAM5, weights(0x70380000, 61 * MB))
    sound(DK, layout(DK, network(file, "one"), network(file, "two")))


def test_h747_descriptor_is_in_flash_that_answers_at_the_start() -> None:
    made = layout(H747, stock(H747))
    sound(H747, made)
    assert made.descriptor == 0x081E0000
    assert made.application is None
    assert [i.strategy for i in made.initializers] == ["flash", "flash"]
    copied = layout(H747, stock(H747, ["AXIRAM", "SDRAM"]))
    sound(H747, copied)
    assert [i.load_address for i in copied.initializers] == [0x08160000, 0x96000000]


# ---- aliases, virtual pools, relative pools


def test_the_other_alias_is_the_same_memory() -> None:
    made = layout(
        DK, network(pools(pool("AXISRAM5", 0x242E0000, 448 * KB), weights(0x70380000, MB)), declared=["AXISRAM5"])
    )
    (init,) = made.initializers
    assert init.run_address == 0x342E0000
    assert placement(made, "pool AXISRAM5 of network digits").start == 0x342E0000


def test_pool_on_the_firmware_through_the_other_alias() -> None:
    said = refusal(DK, network(pools(pool("cpuRAM1", 0x24064000, 64 * KB), weights(0x70380000, MB))))
    assert said.startswith(
        "a.mpool:1:5: pool cpuRAM1 of network digits [0x34064000, 0x34074000) overlaps firmware code "
        f"[0x34000400, 0x34100000) of {DK.place('code')} by 65536 bytes (65536 bytes are free at "
    )
    sound(
        DK,
        layout(DK, network(pools(pool("cpuRAM1", 0x24064000, 64 * KB), weights(0x70380000, MB))), with_firmware=False),
    )


JOINED = pools(
    pool("AXISRAM3", 0x34200000, 448 * KB, name="npuRAM3"), pool("AXISRAM4", 0x34270000, 448 * KB, name="npuRAM4")
)


@pytest.mark.parametrize("name", ["AXISRAM3_AXISRAM4", "npuRAM3_npuRAM4"])
def test_virtual_pool_is_refused_by_name(name: str) -> None:
    for key, given_pools in (
        ("initializers", network(JOINED, declared=[name])),
        ("strategies", network(JOINED, declared=["AXISRAM3"], strategies={name: "boot-copy"})),
    ):
        assert (
            f"{key} of network digits: '{name}' is the virtual pool that the compiler makes of AXISRAM3, AXISRAM4; it "
            "has no file of its own, each part has one (name the parts: AXISRAM3, AXISRAM4)"
        ) in refusal(DK, given_pools)


def test_names_with_underscores_are_told_from_joined_ones() -> None:
    file = pools(pool("A", 0x34200000, KB), pool("A_B", 0x34201000, KB), pool("B", 0x34202000, KB))
    made = layout(DK, network(file, declared=["A_B"]))
    assert [i.pool for i in made.initializers] == ["A_B"]
    assert "virtual pool that the compiler makes of A_B, B;" in refusal(DK, network(file, declared=["A_B_B"])).replace(
        "A, B, B;", "A_B, B;"
    )


def test_pool_of_the_epoch_controller_is_passed_over() -> None:
    params = pool("params", 0, 1 << 30, NOR, mode="USEMODE_RELATIVE")
    made = layout(DK, network(pools(params, weights(0x70380000, MB))))
    assert [i.pool for i in made.initializers] == ["xSPI2"]


def test_pool_that_the_board_has_no_memory_for_matters_only_if_declared() -> None:
    file = pools(pool("xSPI1", 0x90000000, MB), weights(0x70380000, MB))
    made = layout(NUCLEO, network(file))
    assert not [p for p in made.placements if "xSPI1" in p.owner]
    assert refusal(NUCLEO, network(file, declared=["xSPI1"])) == (
        "a.mpool:1:5: pool xSPI1 of network digits at 0x90000000 has an initializer, but board nucleo-n657x0-q has no "
        "memory there (disable it with size 0, or move it: `neuralart boards nucleo-n657x0-q` lists the memories)"
    )


# ---- strategies

FILE = pools(
    RAM5, RAM6, weights(0x70380000, MB), pool("off", 0x34200000, 0), pool("rel", 0, MB, mode="USEMODE_RELATIVE")
)


@pytest.mark.parametrize("strategy", ["boot-copy", "link", "external-loader"])
def test_ways_into_ram(strategy: str) -> None:
    made = layout(DK, network(FILE, declared=["AXISRAM5"], strategies={"AXISRAM5": strategy}))
    sound(DK, made)
    (init,) = made.initializers
    assert (init.strategy, init.run_address, init.capacity) == (strategy, 0x342E0000, 448 * KB)
    assert init.load_address == (0x70210000 if strategy == "boot-copy" else 0)
    assert len([p for p in made.placements if p.kind == "staging"]) == (strategy == "boot-copy")


def test_cacheable_pools_are_marked() -> None:
    file = pools(pool("xSPI1", 0x90000000, MB, cacheable=True), weights(0x70380000, MB))
    made = layout(DK, network(file, declared=["xSPI1", "xSPI2"]))
    assert [i.cacheable for i in made.initializers] == [True, False]


@pytest.mark.parametrize(
    ("declared", "strategies", "said"),
    [
        (
            ["AXISRAM5"],
            {"AXISRAM5": "flash"},
            "variants.yaml:9: pool AXISRAM5 of network digits is in AXISRAM5, which forgets at power-off: strategy "
            "flash needs a pool in flash (possible: boot-copy, link, external-loader)",
        ),
        *(
            (
                ["xSPI2"],
                {"xSPI2": strategy},
                "variants.yaml:9: pool xSPI2 of network digits is in xSPI2, which is flash and cannot be written like "
                f"RAM: strategy {strategy} does not work there (flash is the strategy for it, or move the pool into "
                "RAM)",
            )
            for strategy in ("boot-copy", "link", "external-loader")
        ),
        (
            ["AXISRAM5"],
            {"AXISRAM5": "relocatable"},
            "variants.yaml:9: pool AXISRAM5 of network digits: strategy relocatable is for variants whose firmware "
            "loads its model ('relocatable: true' in the variant, or one of flash, boot-copy, link, external-loader)",
        ),
        (
            ["AXISRAM5"],
            {"AXISRAM5": "bootcopy"},
            "variants.yaml:9: pool AXISRAM5 of network digits: 'bootcopy' is no strategy (did you mean 'boot-copy'? "
            "known: boot-copy, external-loader, flash, link, relocatable)",
        ),
        (
            ["xSPI2"],
            {"AXISRAM5": "boot-copy"},
            "variants.yaml:9: strategies of network digits: pool AXISRAM5 has no initializer "
            "(initializers: [xSPI2, AXISRAM5] declares it)",
        ),
        (
            ["xSPI2"],
            {"AXISRAM": "boot-copy"},
            "variants.yaml:9: strategies of network digits: no pool 'AXISRAM' in a.mpool "
            "(did you mean 'AXISRAM6'? known: AXISRAM5, AXISRAM6, rel, xSPI2)",
        ),
        (
            ["off"],
            {},
            "variants.yaml:7: initializers of network digits: pool off is disabled, its size is 0 "
            "(give it a size at a.mpool:4:5)",
        ),
        (
            ["rel"],
            {},
            "a.mpool:5:5: pool rel of network digits is relative (USEMODE_RELATIVE): only a loader gives it an address "
            "('relocatable: true' in the variant, or set its mode to USEMODE_ABSOLUTE)",
        ),
    ],
)
def test_refused_strategies(declared: list[str], strategies: dict[str, str], said: str) -> None:
    assert refusal(DK, network(FILE, declared=declared, strategies=strategies)) == said


def test_rom_takes_nothing() -> None:
    file = pools(pool("rom", 0x18000000, KB), weights(0x70380000, MB))
    assert "is in BOOTROM, a ROM: nothing can be brought there" in refusal(DK, network(file, declared=["rom"]))


def test_name_that_the_descriptor_cannot_hold() -> None:
    long = pool("A" * 24, 0x342E0000, KB)
    said = refusal(DK, network(pools(long), declared=[long.fname]))
    assert said.startswith(f"a.mpool:1:5: fname '{'A' * 24}' does not fit into the identity descriptor: 23 ASCII")
    layout(DK, network(pools(long), declared=[long.fname], strategies={long.fname: "link"}))


def test_board_without_flash() -> None:
    board = smallboard.board(memory=smallboard.MEMORY[:-1])
    ram = network(pools(pool("B", 0x34001000, 0x1000)), declared=["B"])
    assert refusal(board, ram) == (
        "variants.yaml:7: staging of pool B of network digits: the board has no flash with known sectors that could "
        "keep its initializer (strategy link or external-loader, or 'flash:' in the board's file)"
    )
    made = layout(board, network(ram.pools, declared=["B"], strategies={"B": "link"}))
    assert (made.descriptor, made.application) == (None, None)


# ---- slots and reserved ranges


def test_slots_that_the_variant_moves() -> None:
    made = layout(DK, stock(DK), slots={"application": 0x70080000, "descriptor": 0x77FF0000})
    sound(DK, made)
    assert made.application == 0x70080000
    assert made.descriptor == 0x77FF0000
    assert placement(made, "slot fsbl").size == 512 * KB, "up to the application"
    assert placement(made, "slot application").chosen_by == "variants.yaml:30"
    assert placement(made, "identity descriptor").chosen_by == "variants.yaml:30"


def test_staging_that_the_variant_places() -> None:
    made = layout(DK, network(pools(RAM5, RAM6), declared=["AXISRAM5", "AXISRAM6"]), slots={"staging": 0x75000000})
    sound(DK, made)
    assert [i.load_address for i in made.initializers] == [0x75000000, 0x75070000]
    assert placement(made, "staging of pool AXISRAM6 of network digits").chosen_by == "variants.yaml:30"


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (
            {"weights": 0x71000000},
            "variants.yaml:30: slots: weights cannot be moved to 0x71000000 here: the pool file decides where weights "
            "are (change the offset of the flash pool in the network's pool file)",
        ),
        (
            {"aplication": 0x70100000},
            "variants.yaml:30: slots: no slot 'aplication' on board stm32n6570-dk (did you mean 'application'? "
            "known: application, descriptor, fsbl, relocatable, staging)",
        ),
        (
            {"application": 0x70100400},
            "variants.yaml:30: slot application at 0x70100400 is not at the start of an erase sector of 65536 bytes "
            "(0x70100000 or 0x70110000)",
        ),
        (
            {"descriptor": 0x34200000},
            "variants.yaml:30: slot descriptor at 0x34200000 is not in a flash with known sectors "
            "(MX66UW1G45G [0x70000000, 0x78000000))",
        ),
        (
            {"application": 0x70000000},
            f"variants.yaml:30: slot application [0x70000000, 0x70100000) overlaps slot fsbl [0x70000000, 0x70380000) "
            f"of {DK.place('slots.fsbl')} by 1048576 bytes",
        ),
        ({"application": 0x70380000}, "stock.mpool:"),
        (
            {"staging": 0x77FF0000},
            "variants.yaml:30: staging of pool AXISRAM5 of network digits [0x77ff0000, 0x78060000) runs over the end "
            "of MX66UW1G45G at 0x78000000",
        ),
    ],
)
def test_refused_slots(slots: dict[str, int], said: str) -> None:
    assert refusal(DK, stock(DK, ["AXISRAM5", "xSPI2"]), slots=slots).startswith(said)


def test_application_on_the_weights_names_both_and_a_place_that_fits() -> None:
    said = refusal(DK, network(pools(weights(0x70380000, MB))), slots={"application": 0x70380000})
    assert said == (
        "a.mpool:1:5: pool xSPI2 of network digits [0x70380000, 0x70480000) overlaps slot application "
        "[0x70380000, 0x70480000) of variants.yaml:30 by 1048576 bytes "
        "(1048576 bytes are free at 0x70480000: make that the offset of the pool)"
    )


def test_reserved_ranges_are_kept_free() -> None:
    made = layout(DK, stock(DK), reserved=[("nvs", 0x70200000, 0x1000), ("log", 0x70210000, 0x10000)])
    sound(DK, made)
    assert made.descriptor == 0x70220000, "the sectors that they touch are theirs"
    nvs = placement(made, "reserved nvs")
    assert (nvs.kind, nvs.start, nvs.size, nvs.chosen_by) == ("reserved", 0x70200000, 0x1000, "variants.yaml:40")
    bank = layout(DK, stock(DK), reserved=[("dma", 0x24380000, 0x1000)])
    assert placement(bank, "reserved dma").start == 0x34380000, "folded like any address"


def test_two_reserved_ranges_may_share_a_sector_but_no_byte() -> None:
    layout(DK, stock(DK), reserved=[("a", 0x70200000, 0x1000), ("b", 0x70201000, 0x1000)])
    said = refusal(DK, stock(DK), reserved=[("a", 0x70200000, 0x1001), ("b", 0x70201000, 0x1000)])
    assert said.startswith(
        "variants.yaml:41: reserved b [0x70201000, 0x70202000) overlaps reserved a [0x70200000, 0x70201001) of "
        "variants.yaml:40 by 1 bytes"
    )


@pytest.mark.parametrize("address", [0x70090000, 0x70110000])
def test_slots_end_where_something_is_reserved(address: int) -> None:
    made = layout(DK, stock(DK), reserved=[("nvs", address, 0x10000)])
    sound(DK, made)
    owner = "slot fsbl" if address < 0x70100000 else "slot application"
    assert placement(made, owner).end == address


@pytest.mark.parametrize("name", ["descriptor", "staging"])
def test_application_ends_where_the_variant_puts_something_else(name: str) -> None:
    """The boot chain copies it along; the image itself must be smaller, and the plan sees to that."""
    made = layout(DK, stock(DK, ["AXISRAM5", "xSPI2"]), slots={name: 0x70180000})
    sound(DK, made)
    assert placement(made, "slot application").end == 0x70180000


@pytest.mark.parametrize(
    ("reserved", "said"),
    [
        (
            ("nvs", 0x70380000, 0x1000),
            "variants.yaml:40: reserved nvs [0x70380000, 0x70381000) overlaps pool xSPI2 of network digits",
        ),
        (("nvs", 0x34000000, 0x1000), "variants.yaml:40: reserved nvs [0x34000000, 0x34001000) overlaps firmware code"),
        (
            ("nvs", 0x77FFF000, 0x2000),
            "variants.yaml:40: reserved nvs [0x77fff000, 0x78001000): there is no memory at 0x7",
        ),
        (
            ("nvs", 0xA0000000, 0x2000),
            "variants.yaml:40: reserved nvs [0xa0000000, 0xa0002000): there is no memory at 0xa",
        ),
        (
            ("nvs", 0x70100000, 0x1000),
            "variants.yaml:40: reserved nvs [0x70100000, 0x70101000) overlaps slot application",
        ),
    ],
)
def test_refused_reserved_ranges(reserved: tuple[str, int, int], said: str) -> None:
    assert refusal(DK, stock(DK), reserved=[reserved]).startswith(said)


def test_flash_pool_begins_at_a_sector() -> None:
    assert refusal(DK, network(pools(weights(0x70380100, MB)))) == (
        "a.mpool:1:5: pool xSPI2 of network digits at 0x70380100 is not at the start of an erase sector of 65536 bytes "
        "(0x70380000 or 0x70390000)"
    )


def test_flash_pool_behind_the_part() -> None:
    board = replace(DK, flash={**DK.flash, "size": 16 * MB})
    assert refusal(board, network(pools(weights(0x71000000, MB)))) == (
        "a.mpool:1:5: pool xSPI2 of network digits at 0x71000000 is behind the flash that is there "
        "(MX66UW1G45G [0x70000000, 0x71000000))"
    )


# ---- small flash


def tiny(size: int, **more: Any) -> Board:
    nor = MemoryRegion("NOR", 0x70000000, size, "flash")
    flash = {"part": "TINY", "base": 0x70000000, "size": size, "sector": 0x1000, "page": 256, "loader": ""}
    return smallboard.board(memory=(*smallboard.MEMORY[:-1], nor), flash=flash, **more)


def test_staging_shrinks_when_the_flash_is_small() -> None:
    """Empty initializers are the rule when all pools are declared: full places for all of them are not needed."""
    file = pools(pool("A", 0x34000000, 0x1000), pool("B", 0x34001000, 0x2000))
    board = tiny(0x3000)
    made = layout(board, network(file))
    sound(board, made)
    assert made.descriptor == 0x70000000
    assert [(i.load_address, i.capacity) for i in made.initializers] == [(0x70001000, 0x1000), (0x70002000, 0x1000)]


def test_no_sector_left() -> None:
    file = pools(pool("A", 0x34000000, 0x1000), pool("B", 0x34001000, 0x2000))
    assert refusal(tiny(0x2000), network(file)) == (
        "variants.yaml:7: no free erase sector for identity descriptor and staging of pool A of network digits and "
        "staging of pool B of network digits in TINY (the flash is taken by pools)"
    )
    full = tiny(0x1000)
    linked = network(file, strategies={"A": "link", "B": "link"})
    assert layout(full, linked, reserved=[("all", 0x70000000, 0x1000)]).descriptor is None, "nobody needs one"


# ---- anything

_SECTOR = 0x1000
_PLACES = st.integers(0, 31).map(lambda n: 0x70000000 + n * _SECTOR)


@st.composite
def configurations(draw: st.DrawFn) -> tuple[Board, list[LayoutNetwork], dict[str, int], list[tuple[str, int, int]]]:
    board_slots = draw(st.dictionaries(st.sampled_from(["fsbl", "application", "weights", "log"]), _PLACES))
    boot = Boot("application", 0x30000000, draw(st.integers(1, 8)) * _SECTOR, 0x100)
    board = tiny(32 * _SECTOR, slots=board_slots, boot=boot if "application" in board_slots else None)
    networks = []
    for name in draw(st.sampled_from([["a"], ["a", "b"]])):
        listed = [
            pool("A", 0x34000000, draw(st.integers(0, 0x1000))),
            pool("B", 0x24001000, draw(st.integers(0, 0x2000))),
            weights(draw(_PLACES), draw(st.integers(0, 33 * _SECTOR))),
        ]
        file = pools(*listed, path=f"{name}.mpool")
        names = [each.fname for each in file.enabled]
        networks.append(network(file, name, draw(st.lists(st.sampled_from(names), unique=True)) if names else []))
    movable = [*board_slots, "descriptor", "staging", "relocatable"]
    slots = draw(st.dictionaries(st.sampled_from(movable), _PLACES, max_size=2))
    reserved = [
        (f"r{number}", draw(_PLACES) + draw(st.sampled_from([0, 0x80])), draw(st.integers(1, 3 * _SECTOR)))
        for number in range(draw(st.integers(0, 2)))
    ]
    return board, networks, slots, reserved


@settings(max_examples=400)
@given(configurations())
def test_fixed_places_never_overlap(
    config: tuple[Board, list[LayoutNetwork], dict[str, int], list[tuple[str, int, int]]],
) -> None:
    board, networks, slots, reserved = config
    try:
        made = layout(board, *networks, slots=slots, reserved=reserved)
    except NeuralArtError as error:
        flat(str(error))
        assert error.where
        return
    fixed = [p for p in made.placements if p.kind not in ("pool", "reserved")]
    kept = [p for p in made.placements if p.kind == "reserved"]
    found = areas(board)
    spans = [by_sectors(found, Span(p.owner, p.owner, p.start, p.end)) for p in fixed]
    # Reserved ranges may share sectors with each other, with nobody else.
    spans += [by_sectors(found, Span(p.owner, "reserved", p.start, p.end)) for p in kept]
    heads = [
        by_sectors(found, Span(p.owner, "pools", p.start, p.start + 1)) for p in made.placements if p.kind == "pool"
    ]
    assert overlapping([*spans, *heads]) == []
    assert overlapping([Span(p.owner, p.owner, p.start, p.end) for p in kept]) == []
    for name, address in slots.items():
        if name != "staging" or any(i.strategy == "boot-copy" for i in made.initializers):
            assert address in {p.start for p in fixed}, f"slot {name} is where the variant says"
    assert made == layout(board, *networks, slots=slots, reserved=reserved), "the same again"
