"""The address plan: what is really used, put into the layout, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart import boards
from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.identity import ENTRY_BYTES, HEADER_BYTES
from neuralart.memory.layout.layout import LayoutNetwork
from neuralart.memory.plan.plan import APPLICATION, CODE, DATA, AddressPlan, Use, check, make_plan, raw_key
from neuralart.memory.plan.plan_report import MemoryUse, memories
from neuralart.network.facts import PoolUse
from support.models.layouts import NOR, facts, layout, network, pool, pools
from support.projects import smallboard
from support.servers.messages import flat

DK = boards.load("stm32n6570-dk")
NUCLEO = boards.load("nucleo-n657x0-q")
AN547 = boards.load("mps3-an547")
KB, MB = 1 << 10, 1 << 20
SECTOR = 64 * KB

RAM3 = pool("AXISRAM3", 0x34200000, 448 * KB)
RAM4 = pool("AXISRAM4", 0x34270000, 448 * KB)
RAM5 = pool("AXISRAM5", 0x342E0000, 448 * KB)
RAM6 = pool("AXISRAM6", 0x34350000, 448 * KB)

NPU_RAM = {"stm32n6570-dk": 0x34200000, "nucleo-n657x0-q": 0x34200000, "mps3-an547": 0x31000000}

Used = Mapping[str, tuple[int, int]]


def weights(address: int, size: int, **more: Any) -> Any:
    return pool("xSPI2", address, size, NOR, constants_preferred=True, **more)


def one(*listed: Any, declared: Any = None, **more: Any) -> LayoutNetwork:
    return network(pools(*listed), declared=declared, **more)


def planned(
    given_networks: Mapping[str, tuple[LayoutNetwork, Used]] | tuple[LayoutNetwork, Used],
    *,
    board: Board = DK,
    sizes: Mapping[str, int] | None = None,
    extra: tuple[PoolUse, ...] = (),
    **more: Any,
) -> AddressPlan:
    """The plan of a network with its uses, or of several."""
    pairs = list(given_networks.values()) if isinstance(given_networks, Mapping) else [given_networks]
    made = layout(board, *(each for each, _ in pairs), **more)
    return make_plan(made, board, [facts(each, used, *extra) for each, used in pairs], sizes or {})


def two(first: Any, first_used: Used, second: Any, second_used: Used) -> dict[str, tuple[LayoutNetwork, Used]]:
    return {
        "a": (network(pools(*first, path="a.mpool"), "a"), first_used),
        "b": (network(pools(*second, path="b.mpool"), "b"), second_used),
    }


def refusal(plan: AddressPlan) -> str:
    with pytest.raises(NeuralArtError) as caught:
        check(plan)
    said = str(caught.value)
    assert "\n" not in said
    return said


def use(plan: AddressPlan, owner: str) -> Use:
    (found,) = [each for each in plan.uses if each.placement.owner == owner]
    return found


def memory(plan: AddressPlan, name: str) -> MemoryUse:
    (found,) = [each for each in memories(plan) if each.name == name]
    return found


# ---- what is used


def test_uses_of_everybody() -> None:
    given_network = one(RAM5, weights(0x70380000, 61 * MB), declared=["AXISRAM5", "xSPI2"])
    plan = planned(
        (given_network, {"AXISRAM5": (1000, 24), "xSPI2": (5000, 0)}),
        sizes={APPLICATION: 20000, CODE: 18000, DATA: 9000},
        reserved=[("nvs", 0x77FF0000, 4096)],
    )
    check(plan)
    assert plan.actual
    assert [each.placement for each in plan.uses] == list(plan.layout.placements), "in the order of the layout"
    assert {each.placement.owner: each.used for each in plan.uses} == {
        "slot fsbl": None,
        "slot application": 20000,
        "firmware code": 18000,
        "firmware data": 9000,
        "reserved nvs": 4096,
        "pool AXISRAM5 of network digits": 1024,
        "pool xSPI2 of network digits": 5000,
        "identity descriptor": HEADER_BYTES + 2 * ENTRY_BYTES,
        "staging of pool AXISRAM5 of network digits": 1000,
    }
    assert plan.raws == {("digits", "AXISRAM5"): 1000, ("digits", "xSPI2"): 5000}
    assert plan.undeclared == ()


def test_before_a_build_only_what_is_certain_is_known() -> None:
    made = layout(DK, one(RAM5, weights(0x70380000, MB)), reserved=[("nvs", 0x77FF0000, 4096)])
    plan = make_plan(made, DK, [], {})
    check(plan)
    assert not plan.actual
    assert {each.placement.owner for each in plan.uses if each.used is not None} == {"reserved nvs"}
    assert plan.raws == {}
    assert memory(plan, "AXISRAM5").used == 448 * KB, "what is declared"


def test_size_of_a_raw_file_comes_before_the_facts() -> None:
    given_network = one(RAM5, declared=["AXISRAM5"])
    plan = planned((given_network, {"AXISRAM5": (1000, 0)}), sizes={raw_key("digits", "AXISRAM5"): 1008})
    assert use(plan, "staging of pool AXISRAM5 of network digits").used == 1008


def test_empty_raws() -> None:
    """Declared and empty: nothing is staged, nothing is described, nothing is written."""
    given_network = one(RAM5, RAM6, declared=["AXISRAM5", "AXISRAM6"])
    plan = planned((given_network, {"AXISRAM5": (0, 5000)}))
    check(plan)
    assert plan.raws == {("digits", "AXISRAM5"): 0, ("digits", "AXISRAM6"): 0}
    assert use(plan, "staging of pool AXISRAM5 of network digits").used == 0
    assert use(plan, "identity descriptor").used == 0
    assert "identity descriptor" not in memory(plan, "xSPI2").owners
    assert memory(plan, "AXISRAM6") == MemoryUse("AXISRAM6", 0x34350000, 448 * KB, "ram", 0, ())
    half = planned((given_network, {"AXISRAM5": (1, 0)}))
    assert use(half, "identity descriptor").used == HEADER_BYTES + ENTRY_BYTES


@pytest.mark.parametrize(("strategy", "entries"), [("boot-copy", 1), ("external-loader", 1), ("link", 0)])
def test_linked_initializers_are_not_described(strategy: str, entries: int) -> None:
    given_network = one(RAM5, declared=["AXISRAM5"], strategies={"AXISRAM5": strategy})
    plan = planned((given_network, {"AXISRAM5": (1000, 0)}))
    check(plan)
    assert use(plan, "identity descriptor").used == (HEADER_BYTES + entries * ENTRY_BYTES if entries else 0)


def test_descriptor_of_many_initializers_has_room_for_all() -> None:
    """More entries than one sector of 4096 bytes holds."""
    board = replace(DK, flash={**DK.flash, "sector": 4096})
    listed = [pool(f"P{n}", 0x34200000 + n * KB, KB) for n in range(100)]
    plan = planned((one(*listed, declared=[p.fname for p in listed]), {p.fname: (8, 0) for p in listed}), board=board)
    check(plan)
    descriptor = use(plan, "identity descriptor")
    assert (descriptor.used, descriptor.placement.size) == (HEADER_BYTES + 100 * ENTRY_BYTES, 8192)
    asked = layout(board, one(*listed, declared=[p.fname for p in listed]), slots={"descriptor": 0x77FFE000})
    assert [p.size for p in asked.placements if p.kind == "descriptor"] == [8192]
    with pytest.raises(NeuralArtError, match=r"identity descriptor \[0x77fff000, 0x78001000\) runs over the end of MX"):
        layout(board, one(*listed, declared=[p.fname for p in listed]), slots={"descriptor": 0x77FFF000})


# ---- profiles from the field


@pytest.mark.parametrize(
    ("address", "size", "used"),
    [(0x70380000, 61 * MB, 61 * MB), (0x71000000, 112 * MB, 112 * MB), (0x71000000, 112 * MB, 5000)],
    ids=["GettingStarted", "stock 4.0", "stock 4.0, small network"],
)
def test_profiles_of_the_field(address: int, size: int, used: int) -> None:
    given_network = one(RAM5, weights(address, size), declared=["AXISRAM5", "xSPI2"])
    plan = planned((given_network, {"AXISRAM5": (448 * KB, 0), "xSPI2": (used, 0)}), sizes={APPLICATION: MB})
    check(plan)
    pool_use = use(plan, "pool xSPI2 of network digits")
    assert (pool_use.placement.start, pool_use.placement.size, pool_use.used) == (address, size, used)
    assert memory(plan, "xSPI2").used == 2 * MB + HEADER_BYTES + 2 * ENTRY_BYTES + 448 * KB + used


def test_getting_started_on_a_chip_that_is_too_small() -> None:
    """61 MB from 0x70380000 are declared; the Nucleo's chip ends before that."""
    given_network = one(weights(0x70380000, 61 * MB))
    there = 0x74000000 - 0x70380000
    check(planned((given_network, {"xSPI2": (there, 0)}), board=NUCLEO))
    assert refusal(planned((given_network, {"xSPI2": (there + 1, 0)}), board=NUCLEO)) == (
        f"a.mpool:1:5: pool xSPI2 of network digits [0x70380000, 0x74000000) has {there} bytes, {there + 1} are used "
        f"({there + SECTOR} bytes are free at 0x70210000: make that the offset of the pool)"
    )


def test_static_and_relocatable_slot_together() -> None:
    """The relocatable network is in what the pool of the static one declares and does not use."""
    given_network = one(weights(0x70380000, 61 * MB))
    free = 0x72000000 - 0x70380000
    more: dict[str, Any] = {"slots": {"relocatable": 0x72000000}}
    check(planned((given_network, {"xSPI2": (free, 0)}), **more))
    assert refusal(planned((given_network, {"xSPI2": (free + 1, 0)}), **more)) == (
        "a.mpool:1:5: pool xSPI2 of network digits [0x70380000, 0x72000001) overlaps slot relocatable "
        "[0x72000000, 0x78000000) of variants.yaml:30 by 1 bytes "
        "(29949952 bytes are free at 0x70210000: make that the offset of the pool)"
    )


# ---- what is too large


@pytest.mark.parametrize("size", [1, MB])
def test_application_up_to_what_is_copied(size: int) -> None:
    check(planned((one(weights(0x70380000, MB)), {}), sizes={APPLICATION: size}))


def test_application_of_one_byte_more_than_is_copied() -> None:
    assert refusal(planned((one(weights(0x70380000, MB)), {}), sizes={APPLICATION: MB + 1})) == (
        f"{DK.place('slots.application')}: slot application [0x70100000, 0x70200000) has 1048576 bytes, 1048577 are "
        "used; the boot loader copies 1048576 bytes, the header of 1024 bytes among them "
        "(make the image smaller: optimization: -Os, fewer constants in it)"
    )


@pytest.mark.parametrize(
    ("address", "start", "owner"),
    [(0x70180000, 0x70180000, "reserved nvs"), (0x70180800, 0x70180000, "reserved nvs")],
    ids=["at a sector", "within a sector"],
)
def test_application_with_another_owner_behind_it(address: int, start: int, owner: str) -> None:
    more: dict[str, Any] = {"reserved": [("nvs", address, 2048)]}
    check(planned((one(weights(0x70380000, MB)), {}), sizes={APPLICATION: 512 * KB}, **more))
    assert refusal(planned((one(weights(0x70380000, MB)), {}), sizes={APPLICATION: 512 * KB + 1}, **more)) == (
        f"{DK.place('slots.application')}: slot application [0x70100000, 0x{start:08x}) has 524288 bytes, 524289 are "
        f"used; behind it is {owner} of variants.yaml:40 (make the image smaller: optimization: -Os, fewer constants "
        f"in it, or move {owner} to 0x70200000)"
    )


def test_application_is_checked_before_a_build_too() -> None:
    plan = make_plan(layout(DK, one(RAM5)), DK, [], {APPLICATION: MB + 1})
    assert "1048577 are used; the boot loader copies" in refusal(plan)


def test_firmware_that_is_too_large() -> None:
    said = refusal(planned((one(RAM5), {}), sizes={DATA: 128 * KB + 1}))
    assert said.startswith(
        f"{DK.place('data')}: firmware data [0x30000000, 0x30020000) has 131072 bytes, 131073 are used ("
    )


@pytest.mark.parametrize("which", ["weights", "activations"])
def test_pool_that_is_too_small_where_it_could_grow(which: str) -> None:
    used = (5000, 0) if which == "weights" else (0, 5000)
    plan = planned((one(pool("A", 0x342E0000, 4096), declared=["A"]), {"A": used}))
    assert refusal(plan) == (
        "a.mpool:1:5: pool A of network digits [0x342e0000, 0x342e1000) has 4096 bytes, 5000 are used "
        "(5000 bytes are free there: make that the size of the pool)"
    )


def test_pool_that_is_too_small_with_a_neighbor() -> None:
    given_network = one(pool("A", 0x34350000, 4096), pool("B", 0x34351000, 444 * KB), declared=["A"])
    plan = planned((given_network, {"A": (0, 5000), "B": (0, 444 * KB)}))
    assert refusal(plan) == (
        "a.mpool:1:5: pool A of network digits [0x34350000, 0x34351000) has 4096 bytes, 5000 are used; behind it is "
        "pool B of network digits of a.mpool:2:5 (5000 bytes are free at 0x34100000: make that the offset of the pool)"
    )


def test_raw_that_is_larger_than_its_pool() -> None:
    """Its staging place has whole sectors, so it would fit there."""
    given_network = one(pool("A", 0x342E0000, 4096), declared=["A"])
    plan = planned((given_network, {"A": (4096, 0)}), sizes={raw_key("digits", "A"): 4097})
    assert refusal(plan).startswith("a.mpool:1:5: pool A of network digits [0x342e0000, 0x342e1000) has 4096 bytes, 40")


def tiny(sectors: int) -> Board:
    size = sectors * 0x1000
    nor = MemoryRegion("NOR", 0x70000000, size, "flash")
    flash = {"part": "TINY", "base": 0x70000000, "size": size, "sector": 0x1000, "page": 256, "loader": ""}
    return smallboard.board(memory=(*smallboard.MEMORY[:-1], nor), flash=flash)


def test_staging_that_became_too_small() -> None:
    """Three sectors for a descriptor and initializers of 1 and 2 sectors: one sector each is all there is."""
    given_network = one(pool("A", 0x34000000, 0x1000), pool("B", 0x34001000, 0x2000))
    check(planned((given_network, {"A": (0x1000, 0), "B": (0x1000, 0)}), board=tiny(3)))
    assert refusal(planned((given_network, {"A": (0x1000, 0), "B": (0x1001, 0)}), board=tiny(3))) == (
        "variants.yaml:7 (first fit): staging of pool B of network digits [0x70002000, 0x70003000) has 4096 bytes, "
        "4097 are used (nothing there has 12288 free bytes: declare only initializers that are not empty, or a board "
        "with more memory)"
    )


def test_weights_that_grew_into_what_is_staged() -> None:
    """A pool file that declares all of the flash: what is staged lies at its end. A smaller pool file is one way."""
    listed = (pool("A", 0x34000000, 0x1000), pool("F", 0x70000000, 0x8000, NOR))
    given_network = one(*listed, declared=["A", "F"])
    check(planned((given_network, {"A": (8, 0), "F": (0x6000, 0)}), board=tiny(8)))
    assert refusal(planned((given_network, {"A": (8, 0), "F": (0x6001, 0)}), board=tiny(8))) == (
        "variants.yaml:7 (first fit): staging of pool A of network digits [0x70006000, 0x70006008) overlaps pool F of "
        "network digits [0x70000000, 0x70006001) of a.mpool:2:5 by 1 bytes "
        "(nothing there has 4096 free bytes: declare only initializers that are not empty, or a board with more memory)"
    )


def test_what_is_proposed_for_staging_works() -> None:
    """All of it moves, and becomes as large as its pools."""
    listed = (pool("A", 0x34000000, 0x1000), pool("B", 0x34001000, 0x2000), pool("F", 0x70000000, 0xA000, NOR))
    given_network = one(*listed, declared=["A", "B", "F"])
    used = {"A": (8, 0), "B": (9, 0), "F": (0x3000, 0)}
    board = tiny(10)
    moved: dict[str, Any] = {"slots": {"staging": 0x70001000}}
    said = refusal(planned((given_network, used), board=board, **moved))
    assert said.startswith(
        "variants.yaml:30: staging of pool A of network digits [0x70001000, 0x70001008) overlaps pool F of network "
        "digits [0x70000000, 0x70003000) of a.mpool:3:5 by 8 bytes "
        "(12288 bytes are free at 0x70003000: slots: {staging: 0x70003000})"
    )
    check(planned((given_network, used), board=board, slots={"staging": 0x70003000}))


# ---- constants without a way


def test_constants_in_a_pool_that_is_not_declared() -> None:
    plan = planned((one(RAM5, RAM6, declared=["AXISRAM5"]), {"AXISRAM5": (8, 0), "AXISRAM6": (77, 0)}))
    assert [(name, each.fname) for name, each in plan.undeclared] == [("digits", "AXISRAM6")]
    assert refusal(plan) == (
        "a.mpool:2:5: network digits has 77 bytes of constants in pool AXISRAM6, which is not declared "
        "(initializers: [AXISRAM5, AXISRAM6] declares it)"
    )


# ---- virtual pools


def joined(used: int, constants: int = 0, parts: tuple[str, ...] = ("AXISRAM3", "AXISRAM4")) -> PoolUse:
    return PoolUse(
        "npuRAM3_npuRAM4",
        "AXISRAM3_AXISRAM4",
        0x34200000,
        896 * KB,
        used,
        constants,
        used - constants,
        "ACC_WRITE",
        virtual=True,
        parts=parts,
    )


def test_virtual_pools_are_not_counted_twice() -> None:
    plan = planned(
        (one(RAM3, RAM4), {"AXISRAM3": (0, 448 * KB), "AXISRAM4": (0, 100)}), extra=(joined(448 * KB + 100),)
    )
    check(plan)
    assert not [each for each in plan.uses if "AXISRAM3_AXISRAM4" in each.placement.owner]
    assert (memory(plan, "AXISRAM3").used, memory(plan, "AXISRAM4").used) == (448 * KB, 100)


def test_virtual_pool_whose_parts_are_not_listed_counts_itself() -> None:
    given_network = one(RAM5)
    plan = planned((given_network, {}), extra=(joined(500 * KB, parts=("X", "Y")),))
    check(plan)
    added = use(plan, "pool AXISRAM3_AXISRAM4 of network digits")
    assert (added.placement.kind, added.placement.start, added.used) == ("pool", 0x34200000, 500 * KB)
    assert (memory(plan, "AXISRAM3").used, memory(plan, "AXISRAM4").used) == (448 * KB, 52 * KB)


def test_constants_in_a_virtual_pool_are_refused_by_name() -> None:
    plan = planned((one(RAM3, RAM4), {}), extra=(joined(1000, 600),))
    assert refusal(plan) == (
        "a.mpool:1:5: network digits has 600 bytes of constants in AXISRAM3_AXISRAM4, the virtual pool made of "
        "AXISRAM3, AXISRAM4 (they must be split over its parts: compile without virtual pools)"
    )


# ---- two networks


def test_two_networks_that_are_disjoint() -> None:
    plan = planned(
        two(
            (RAM5, weights(0x70380000, 61 * MB)),
            {"AXISRAM5": (0, 448 * KB), "xSPI2": (SECTOR, 0)},
            (RAM6, weights(0x70390000, MB)),
            {"AXISRAM6": (0, 448 * KB), "xSPI2": (MB, 0)},
        )
    )
    check(plan)
    assert memory(plan, "xSPI2").owners[-2:] == ("pool xSPI2 of network a", "pool xSPI2 of network b")


def test_two_networks_that_share_a_sector() -> None:
    """No byte is shared, but neither can be written without the other."""
    first = network(pools(RAM5, weights(0x70380000, 61 * MB)), "a")
    second = network(pools(RAM6, pool("flash", 0x70391000, MB), path="b.mpool"), "b", ["AXISRAM6"])
    plan = planned({"a": (first, {"xSPI2": (SECTOR + 1, 0)}), "b": (second, {"flash": (0, 8)})})
    plan = replace(plan, written=())
    assert refusal(plan) == (
        "b.mpool:2:5: pool flash of network b [0x70391000, 0x70391008) shares an erase sector of 65536 bytes with pool "
        "xSPI2 of network a [0x70380000, 0x70390001) of a.mpool:2:5 "
        "(65536 bytes are free at 0x703a0000: make that the offset of the pool)"
    )


@pytest.mark.parametrize(
    ("address", "kind"), [(0x70400000, "xSPI2, which is flash"), (0x18000000, "BOOTROM, which is rom")]
)
def test_activations_where_nothing_can_be_written(address: int, kind: str) -> None:
    file = pools(pool("A", address, 0x10000), weights(0x71000000, MB))
    plan = planned({"a": (network(file, "a"), {"A": (0, 2560)})})
    assert refusal(plan) == (
        f"a.mpool:1:5: pool A of network a holds 2560 bytes of activations, but 0x{address:08x} is in {kind}: nothing "
        "can be written there (give it an address in RAM, or make it read-only: rights ACC_READ)"
    )


OVERLAPS = {
    "the same flash pool": (
        (RAM5, weights(0x70380000, 61 * MB)),
        {"xSPI2": (SECTOR, 0)},
        (RAM6, weights(0x70380000, 61 * MB)),
        {"xSPI2": (2 * SECTOR, 0)},
        "b.mpool:2:5: pool xSPI2 of network b [0x70380000, 0x703a0000) overlaps pool xSPI2 of network a "
        "[0x70380000, 0x70390000) of a.mpool:2:5 by 65536 bytes "
        "(131072 bytes are free at 0x70390000: make that the offset of the pool)",
    ),
    "one grew into the other": (
        (RAM5, weights(0x70380000, 61 * MB)),
        {"xSPI2": (3 * SECTOR, 0)},
        (RAM6, weights(0x703A0000, MB)),
        {"xSPI2": (8, 0)},
        "b.mpool:2:5: pool xSPI2 of network b [0x703a0000, 0x703a0008) overlaps pool xSPI2 of network a "
        "[0x70380000, 0x703b0000) of a.mpool:2:5 by 8 bytes "
        "(65536 bytes are free at 0x703b0000: make that the offset of the pool)",
    ),
    "activations through the other alias": (
        (RAM5, weights(0x70380000, MB)),
        {"AXISRAM5": (0, 100 * KB)},
        (pool("mine", 0x242E0000, 448 * KB), weights(0x71000000, MB)),
        {"mine": (0, 50 * KB)},
        "b.mpool:1:5: pool mine of network b [0x342e0000, 0x342ec800) overlaps pool AXISRAM5 of network a "
        "[0x342e0000, 0x342f9000) of a.mpool:1:5 by 51200 bytes "
        "(51200 bytes are free at 0x342f9000: make that the offset of the pool)",
    ),
}


@pytest.mark.parametrize(("first", "first_used", "second", "second_used", "said"), OVERLAPS.values(), ids=OVERLAPS)
def test_two_networks_that_overlap(first: Any, first_used: Used, second: Any, second_used: Used, said: str) -> None:
    given_networks = two(first, first_used, second, second_used)
    plan = planned(given_networks)
    assert refusal(plan) == said
    # What is declared may be in one place, what is used may not.
    check(make_plan(plan.layout, DK, [], {}))
    check(planned({"a": given_networks["a"]}))
    check(planned({"b": given_networks["b"]}))


def test_what_an_overlap_proposes_works() -> None:
    """Word for word: the second network with its pool there."""
    for first, first_used, second, second_used, said in OVERLAPS.values():
        found = re.search(r"of b.*free at (0x[0-9a-f]{8}): make that the offset", said.replace("network b", "of b"))
        assert found
        address = int(found[1], 16)
        (line,) = re.findall(r"^b\.mpool:([12]):5", said)
        moved = [replace(p, address=address) if number == int(line) else p for number, p in enumerate(second, start=1)]
        check(planned(two(first, first_used, moved, second_used)))


# ---- the layout's own conflicts


def test_activations_that_an_application_reuses() -> None:
    """It runs the vendor's networks one after the other; constants have places of their own."""

    def of(*used: Used, runtime: str = "ll_aton") -> AddressPlan:
        pairs = [(RAM5, weights(0x70380000, 2 * MB)), (RAM5, weights(0x70480000, MB))]
        listed = [network(pools(*each, path=f"{name}.mpool"), name) for name, each in zip("ab", pairs, strict=True)]
        made = layout(DK, *listed)
        found = [replace(facts(each, use), runtime=runtime) for each, use in zip(listed, used, strict=True)]
        return make_plan(made, DK, found, {})

    both: Used = {"AXISRAM5": (0, 100 * KB), "xSPI2": (8, 0)}
    check(of(both, both))
    assert "pool AXISRAM5 of network b" in refusal(of(both, both, runtime="neuralart"))
    assert "overlaps pool xSPI2 of network a" in refusal(
        of({"xSPI2": (MB + 8, 0)}, {"xSPI2": (8, 0), "AXISRAM5": (0, 8)})
    )


def test_two_pools_of_one_network_in_one_memory() -> None:
    """The reader of pool files compares addresses as they are written; these are one memory all the same."""
    with pytest.raises(NeuralArtError) as caught:
        layout(DK, one(pool("A", 0x342E0000, 448 * KB), pool("B", 0x242F0000, 4096)))
    assert str(caught.value) == (
        "a.mpool:2:5: pool B of network digits [0x342f0000, 0x342f1000) overlaps pool A of network digits "
        "[0x342e0000, 0x34350000) of a.mpool:1:5 by 4096 bytes "
        "(4096 bytes are free at 0x34100000: make that the offset of the pool)"
    )


def test_pool_is_not_sent_to_memory_that_the_npu_does_not_reach() -> None:
    with pytest.raises(NeuralArtError) as caught:
        layout(DK, one(pool("cpuRAM1", 0x34064000, 64 * KB)))
    assert "(65536 bytes are free at 0x34100000: make that the offset of the pool)" in flat(str(caught.value))


def test_flash_without_known_sectors() -> None:
    """It has no place in the list of flash, and says why."""
    spare = MemoryRegion("SPARE", 0x60000000, MB, "flash")
    board = replace(DK, memory=(*DK.memory, spare))
    with pytest.raises(NeuralArtError) as caught:
        layout(board, one(pool("A", 0x60000000, KB, NOR)))
    assert str(caught.value) == (
        "a.mpool:1:5: pool A of network digits at 0x60000000 is in SPARE, a flash whose erase sectors are not known "
        "('sector:' of SPARE in the board's file says how large they are; known: MX66UW1G45G [0x70000000, 0x78000000))"
    )


# ---- facts of something else


def test_facts_of_another_network() -> None:
    made = layout(DK, one(RAM5))
    with pytest.raises(NeuralArtError) as caught:
        make_plan(made, DK, [facts(network(pools(RAM5), "other"), {})], {})
    assert str(caught.value) == (
        "board stm32n6570-dk: network other has no pools in the layout (the layout is of network digits)"
    )


def test_facts_with_a_pool_elsewhere() -> None:
    made = layout(DK, one(RAM5))
    moved = one(replace(RAM5, address=0x342F0000))
    with pytest.raises(NeuralArtError) as caught:
        make_plan(made, DK, [facts(moved, {"AXISRAM5": (0, 8)})], {})
    assert str(caught.value) == (
        "a.mpool:1:5: pool AXISRAM5 of network digits is at 0x342f0000 in what was compiled and at 0x342e0000 now "
        "(the network must be compiled with this file)"
    )


def test_pool_in_no_memory_is_refused_when_it_is_used() -> None:
    given_network = one(RAM5, pool("xSPI1", 0x90000000, MB), declared=["AXISRAM5"])
    made = layout(NUCLEO, given_network)
    check(make_plan(made, NUCLEO, [facts(given_network, {"AXISRAM5": (0, 8)})], {}))
    with pytest.raises(NeuralArtError) as caught:
        make_plan(made, NUCLEO, [facts(given_network, {"xSPI1": (0, 77)})], {})
    assert str(caught.value) == (
        "a.mpool: pool xSPI1 of network digits uses 77 bytes, but there is no memory at 0x90000000 "
        "(disable the pool with size 0)"
    )


# ---- memories


def test_every_memory_is_listed_in_the_order_of_the_board() -> None:
    for board in (DK, NUCLEO, AN547):
        plan = planned((one(pool("A", NPU_RAM[board.name], KB), declared=[]), {"A": (0, 10)}), board=board)
        assert [each.name for each in memories(plan)] == [region.name for region in board.memory]


def test_ranges_that_cross_memories_and_each_other_count_once() -> None:
    """The reference firmware lies in two memories; networks may overlap before a build."""
    plan = planned((one(RAM5), {"AXISRAM5": (0, 100)}), sizes={CODE: 400 * KB})
    assert memory(plan, "FLEXRAM").used == 400 * KB - KB
    assert memory(plan, "AXISRAM1").used == KB
    both = layout(DK, network(pools(RAM5), "a"), network(pools(RAM5, path="b.mpool"), "b"))
    declared = memory(make_plan(both, DK, [], {}), "AXISRAM5")
    assert (declared.used, declared.owners) == (448 * KB, ("pool AXISRAM5 of network a", "pool AXISRAM5 of network b"))
    small = (pool("B", 0x342E0000, 4 * KB), pool("C", 0x342F0000, 4 * KB))
    nested = layout(DK, network(pools(RAM5), "a"), network(pools(*small, path="b.mpool"), "b"))
    assert memory(make_plan(nested, DK, [], {}), "AXISRAM5").used == 448 * KB, "what lies inside another, too"


# ---- anything

_BASES = st.integers(0, 3).map(lambda n: 0x34000000 + n * 0x800)


@settings(max_examples=200)
@given(_BASES, _BASES, st.integers(0, 0x1800), st.integers(0, 0x1800), st.booleans())
def test_a_plan_that_is_accepted_is_disjoint(
    first: int, second: int, one_used: int, two_used: int, alias: bool
) -> None:
    """Counted byte by byte."""
    board = smallboard.board()
    a = network(pools(pool("A", first, 0x1800)), "a", [])
    b = network(pools(pool("B", second - (0x10000000 if alias else 0), 0x1800), path="b.mpool"), "b", [])
    plan = make_plan(layout(board, a, b), board, [facts(a, {"A": (0, one_used)}), facts(b, {"B": (0, two_used)})], {})
    meant = not set(range(first, first + one_used)) & set(range(second, second + two_used))
    if meant:
        check(plan)
        return
    said = refusal(plan)
    assert re.match(
        r"b\.mpool:1:5: pool B of network b \[0x.*\) overlaps pool A of network a \[0x.* of a\.mpool:1:5 by", said
    )
    free = re.search(r"free at (0x[0-9a-f]{8}): make that the offset of the pool", said)
    if free:
        there = network(pools(pool("B", int(free[1], 16), 0x1800), path="b.mpool"), "b", [])
        check(
            make_plan(
                layout(board, a, there), board, [facts(a, {"A": (0, one_used)}), facts(there, {"B": (0, two_used)})], {}
            )
        )
    else:
        assert "nothing there has" in said
