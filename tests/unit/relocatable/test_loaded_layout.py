"""A variant whose firmware loads its model: slots, pools where the loader brings them, and what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from neuralart import boards
from neuralart.boards.types import Board
from neuralart.config.types import RelocatableConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.layout import LayoutNetwork, make_layout
from neuralart.memory.layout.relative_pools import load_places, placed, placed_in, placed_pools
from neuralart.memory.layout.strategies import Layout, LoadPlaces
from neuralart.memory.plan.plan import AddressPlan, check, make_plan
from neuralart.network.facts import Network, PoolUse, Port
from support.models.layouts import NOR, facts, layout, network, placement, pool, pools, variant
from support.projects import smallboard
from support.servers.messages import flat

DK = boards.load("stm32n6570-dk-psram")
NUCLEO = boards.load("nucleo-n657x0-q")
AN547 = boards.load("mps3-an547")
H747 = boards.load("stm32h747i-disco")
KB, MB = 1 << 10, 1 << 20
RELATIVE = {"mode": "USEMODE_RELATIVE"}

RAM3 = pool("AXISRAM3", 0x34200000, 448 * KB)
RAM5 = pool("AXISRAM5", 0x342E0000, 448 * KB)
PSRAM = pool("xSPI1", 0x60000000, 64 * MB, **RELATIVE)
FLASH = pool("xSPI2", 0x71000000, 16 * MB, NOR, constants_preferred=True, **RELATIVE)


def model(*listed: Any, **more: Any) -> LayoutNetwork:
    """A network that becomes a relocatable model."""
    return replace(network(pools(*(listed or (RAM3, PSRAM, FLASH)))), loaded=True, **more)


def loading(board: Board = DK, *, slots: Mapping[str, int] | None = None, **config: Any) -> Any:
    return replace(variant(board, slots=slots), relocatable=RelocatableConfig(**config))


def laid(board: Board = DK, given: LayoutNetwork | None = None, *, slots: Any = None, **config: Any) -> Layout:
    return make_layout(board, loading(board, slots=slots, **config), [given or model()])


def refusal(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(NeuralArtError) as caught:
        call(*args, **more)
    return flat(str(caught.value))


# ---- where the loader looks


@pytest.mark.parametrize(
    ("board", "split", "places"),
    [
        (DK, False, LoadPlaces(0x70FF0000, 0x71000000, None, 0x90000000, 32 * MB)),
        (DK, True, LoadPlaces(0x70FF0000, 0x71000000, 0x71800000, 0x90000000, 32 * MB)),
        (NUCLEO, False, LoadPlaces(0x70FF0000, 0x71000000, None, None, 0)),
        # The PSRAM is there, but nobody brings it up.
        (boards.load("stm32n6570-dk"), False, LoadPlaces(0x70FF0000, 0x71000000, None, None, 0)),
        (
            AN547,
            False,
            LoadPlaces(0x70FF0000, 0x71000000, None, AN547.region("DDRHIGH").base, AN547.region("DDRHIGH").size),
        ),
    ],
    ids=["psram", "split", "nucleo", "dk", "an547"],
)
def test_places(board: Board, split: bool, places: LoadPlaces) -> None:
    found = load_places(board, loading(board, split=split))
    assert found == places
    assert found.constants == (0x71800000 if split else 0x71000000)


def test_places_of_a_variant_with_slots_of_its_own() -> None:
    moved = {"load_table": 0x72000000, "relocatable": 0x73000000, "relocatable_params": 0x74000000}
    found = load_places(DK, loading(slots=moved, split=True))
    assert found is not None
    assert (found.table, found.model, found.params) == tuple(moved.values())


def test_a_linked_variant_has_no_places() -> None:
    assert load_places(H747, variant(H747)) is None
    assert layout(DK, network(pools(RAM3))).loaded is None


def test_a_board_that_does_not_say_where_models_are() -> None:
    assert refusal(load_places, H747, loading(H747)) == (
        "variants.yaml:20: relocatable: board stm32h747i-disco does not say where relocatable models are loaded from "
        "(its file needs 'relocatable: {table: 0x..., model: 0x..., params: 0x...}')"
    )


def test_a_memory_that_is_not_fitted_is_no_external_ram() -> None:
    memory = tuple(replace(region, size=0) if region.name == "xSPI1" else region for region in DK.memory)
    found = load_places(replace(DK, memory=memory), loading())
    assert found is not None and (found.ext_ram, found.ext_ram_size) == (None, 0)


# ---- pools and facts where the loader brings them

PLACES = LoadPlaces(0x70FF0000, 0x71000000, None, 0x90000000, 32 * MB)


def test_relative_pools_get_their_place() -> None:
    made = placed_pools(pools(RAM3, PSRAM, replace(FLASH, address=0x65000000)), PLACES)
    assert [(p.fname, p.address, p.size, p.mode) for p in made.pools] == [
        ("AXISRAM3", 0x34200000, 448 * KB, "USEMODE_ABSOLUTE"),
        ("xSPI1", 0x90000000, 32 * MB, "USEMODE_ABSOLUTE"),  # no more than there is
        ("xSPI2", 0x71000000, 16 * MB, "USEMODE_ABSOLUTE"),
    ]
    split = placed_pools(pools(FLASH), replace(PLACES, params=0x71800000))
    assert split.pools[0].address == 0x71800000


def test_without_external_ram_the_pool_stays_without_a_place() -> None:
    (made,) = placed_pools(pools(PSRAM), replace(PLACES, ext_ram=None, ext_ram_size=0)).pools
    assert made.mode == "USEMODE_RELATIVE"
    assert [p.owner for p in laid(NUCLEO).placements if p.kind == "pool"] == [
        "pool AXISRAM3 of network digits",
        "pool xSPI2 of network digits",
    ]


def _facts(**used: int) -> Network:
    uses = [
        PoolUse("npuRAM3", "AXISRAM3", 0x34200000, 448 * KB, 64, 0, 64, "ACC_WRITE"),
        PoolUse("hyperRAM", "xSPI1", 0x60000000, 64 * MB, used["psram"], 0, used["psram"], "ACC_WRITE", **RELATIVE),
        PoolUse("octoFlash", "xSPI2", 0x65000000, 16 * MB, 4096, 4096, 0, "ACC_READ", **RELATIVE),
    ]
    (port,) = smallboard.network().inputs
    ports = (("in", "AXISRAM3", 0x34200010), ("out", "xSPI1", 0x60000400), ("own", "", 0))
    moved = tuple(replace(port, name=name, pool=fname, address=at) for name, fname, at in ports)
    return replace(smallboard.network(*uses), inputs=moved, outputs=moved[1:])


def _ports(listed: tuple[Port, ...]) -> list[tuple[str, int]]:
    return [(port.name, port.address) for port in listed]


def test_facts_and_ports_move_with_their_pools() -> None:
    made = placed(_facts(psram=2048), PLACES)
    assert [(p.address, p.mode) for p in made.pools] == [
        (0x34200000, "USEMODE_ABSOLUTE"),
        (0x90000000, "USEMODE_ABSOLUTE"),
        (0x71000000, "USEMODE_ABSOLUTE"),
    ]
    assert _ports(made.inputs) == [("in", 0x34200010), ("out", 0x90000400), ("own", 0)]
    assert _ports(made.outputs) == [("out", 0x90000400), ("own", 0)]


def test_activations_without_a_memory_for_them() -> None:
    nothing = replace(PLACES, ext_ram=None, ext_ram_size=0)
    assert refusal(placed, _facts(psram=2048), nothing) == (
        "network net: network net has 2048 bytes in the relative pool xSPI1, but this board has no memory for it "
        "(a board with 'relocatable: {ext_ram: REGION}' whose boot chain brings that memory up, such as "
        "stm32n6570-dk-psram; or disable the pool with size 0)"
    )
    assert [p.relative for p in placed(_facts(psram=0), nothing).pools] == [False, True, False], "nothing is in it"


def test_facts_of_a_linked_firmware_stay() -> None:
    given = _facts(psram=8)
    assert placed_in(layout(DK, network(pools(RAM3))), [given]) == [given]
    assert placed_in(laid(), [given]) == [placed(given, PLACES)]


# ---- the layout


def _slots(made: Layout) -> dict[str, tuple[int, int, str]]:
    return {p.owner: (p.start, p.end, p.chosen_by) for p in made.placements if p.kind == "slot"}


def test_slots_of_the_model() -> None:
    made = laid()
    assert made.loaded == PLACES
    found = _slots(made)
    assert found["slot load_table"] == (0x70FF0000, 0x71000000, DK.place("relocatable.table"))
    assert found["slot relocatable"] == (0x71000000, 0x78000000, DK.place("relocatable.model"))
    assert "slot relocatable_params" not in found
    (constants,) = made.initializers
    assert (constants.strategy, constants.run_address, constants.load_address) == ("relocatable", 0x71000000, 0)
    assert placement(made, "pool xSPI1 of network digits").start == 0x90000000


def test_slots_of_a_split_model() -> None:
    made = laid(split=True)
    found = _slots(made)
    assert found["slot relocatable"][:2] == (0x71000000, 0x71800000)
    assert found["slot relocatable_params"] == (0x71800000, 0x78000000, DK.place("relocatable.params"))
    assert made.initializers[0].run_address == 0x71800000


def test_a_linked_variant_keeps_no_slots_for_models() -> None:
    made = layout(DK, network(pools(RAM3, replace(FLASH, mode="USEMODE_ABSOLUTE"))))
    assert set(_slots(made)) == {"slot fsbl", "slot application"}


def test_moved_slots() -> None:
    made = laid(
        slots={"relocatable": 0x72000000, "load_table": 0x72F00000, "relocatable_params": 0x73000000}, split=True
    )
    assert {owner: at[0] for owner, at in _slots(made).items()} == {
        "slot fsbl": 0x70000000,
        "slot application": 0x70100000,
        "slot relocatable": 0x72000000,
        "slot load_table": 0x72F00000,
        "slot relocatable_params": 0x73000000,
    }
    assert _slots(made)["slot relocatable"] == (0x72000000, 0x72F00000, "variants.yaml:30")
    assert made.initializers[0].run_address == 0x73000000


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (
            {"relocatable": 0x70FF0000},
            "variants.yaml:30: slot relocatable [0x70ff0000, 0x78000000) overlaps slot load_table [0x70ff0000, 0x78000",
        ),
        ({"relocatable": 0x70100000}, "slot relocatable [0x70100000, 0x70ff0000) overlaps slot application [0x7010000"),
        (
            {"relocatable": 0x71000100},
            "variants.yaml:30: slot relocatable at 0x71000100 is not at the start of an erase",
        ),
        (
            {"load_table": 0x34200000},
            "variants.yaml:30: slot load_table at 0x34200000 is not in a flash with known sec",
        ),
        ({"relocatable_param": 0x72000000}, "variants.yaml:30: slots: no slot 'relocatable_param' on board stm32n6570"),
        # Nothing is there without 'split'.
        ({"relocatable_params": 0x72000000}, "variants.yaml:30: slots: no slot 'relocatable_params' on board stm32n65"),
    ],
)
def test_slots_that_cannot_be(slots: Mapping[str, int], said: str) -> None:
    assert said in refusal(laid, slots=slots)


def test_params_where_the_model_is() -> None:
    said = refusal(laid, slots={"relocatable_params": 0x71000000}, split=True)
    assert "slot relocatable_params [0x71000000" in said and "overlaps slot relocatable [0x71000000" in said


def test_a_pool_inside_the_chip_is_still_checked() -> None:
    """What is absolute in a model is where its file says: not in the memory of the firmware that loads it."""
    said = refusal(laid, given=model(pool("AXISRAM1", 0x34064000, 64 * KB), FLASH))
    assert "pool AXISRAM1 of network digits [0x34064000" in said and "overlaps firmware code" in said


def test_a_linked_pool_where_models_are_kept() -> None:
    """The name 'relocatable' also keeps that place free in a variant that links its network."""
    weights = pool("xSPI2", 0x71000000, MB, NOR, constants_preferred=True)
    said = refusal(layout, DK, network(pools(RAM3, weights)), slots={"relocatable": 0x71000000})
    assert said.startswith("a.mpool:2:5: pool xSPI2 of network digits [0x71000000")
    assert "overlaps slot relocatable" in said and "of variants.yaml:30" in said


@pytest.mark.parametrize("strategy", ["flash", "boot-copy", "link", "external-loader"])
def test_strategies_are_the_loaders_business(strategy: str) -> None:
    said = refusal(laid, given=model(RAM5, FLASH, declared=("AXISRAM5",), strategies={"AXISRAM5": strategy}))
    assert f"strategy {strategy}, but the loader of a relocatable variant's firmware brings all constants" in said


def test_constants_in_ram_are_the_loaders_too() -> None:
    made = laid(given=model(RAM5, FLASH, declared=("AXISRAM5", "xSPI2")))
    assert [(i.pool, i.strategy) for i in made.initializers] == [("AXISRAM5", "relocatable"), ("xSPI2", "relocatable")]
    assert not [p for p in made.placements if p.kind == "staging"]


# ---- the plan


def planned(sizes: Mapping[str, int], *, slots: Any = None, board: Board = DK, **config: Any) -> AddressPlan:
    given = model(RAM3, FLASH)
    made = laid(board, given, slots=slots, **config)
    found = facts(given, {"AXISRAM3": (0, 2560), "xSPI2": (4136, 0)})
    uses = tuple(replace(u, mode="USEMODE_RELATIVE") if u.fname == "xSPI2" else u for u in found.pools)
    return make_plan(made, board, placed_in(made, [replace(found, pools=uses)]), sizes)


def test_a_model_in_its_slot() -> None:
    plan = planned({"relocatable": 11048, "load_table": 20})
    check(plan)
    used = {use.placement.owner: use.used for use in plan.uses}
    assert (used["slot relocatable"], used["slot load_table"]) == (11048, 20)
    assert used["pool xSPI2 of network digits"] == 4136
    assert used["identity descriptor"] == 0, "constants that a loader brings are not described"


def test_a_model_that_is_larger_than_its_slot() -> None:
    slots = {"relocatable": 0x72000000, "relocatable_params": 0x72010000}
    check(planned({"relocatable": 0x10000, "relocatable_params": 4136}, slots=slots, split=True))
    said = refusal(check, planned({"relocatable": 0x10001, "relocatable_params": 4136}, slots=slots, split=True))
    assert said.startswith(
        "variants.yaml:30: slot relocatable [0x72000000, 0x72010000) has 65536 bytes, 65537 are used"
    )
    assert "behind it is slot relocatable_params of variants.yaml:30" in said


def test_params_that_are_larger_than_their_slot() -> None:
    memory = 0x78000000 - 0x77FF0000
    said = refusal(
        check, planned({"relocatable_params": memory + 1}, slots={"relocatable_params": 0x77FF0000}, split=True)
    )
    assert "slot relocatable_params [0x77ff0000, 0x78000000) has 65536 bytes, 65537 are used" in said


def test_sizes_are_not_known_before_a_build() -> None:
    given = model(RAM3, FLASH)
    plan = make_plan(laid(given=given, split=True), DK, (), {})
    unknown = {use.placement.owner for use in plan.uses if use.used is None}
    assert {"slot relocatable", "slot relocatable_params", "slot load_table"} <= unknown
    check(plan)


def test_a_board_without_a_boot_chain() -> None:
    made = laid(AN547, model(pool("ISRAM", 0x31000000, 64 * KB), FLASH))
    assert made.application is None
    assert _slots(made)["slot relocatable"][0] == 0x71000000
