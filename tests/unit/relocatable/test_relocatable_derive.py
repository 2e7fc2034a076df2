"""The network of a relocatable model, derived from the linked one; pools that it may have and programs may not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards
from neuralart.config.types import NetworkConfig, split_profile
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.relative_pools import check_pools, derive, refuse_relative_pools
from neuralart.network.facts import Network, PoolUse
from neuralart.network.pools import MemoryPool, PoolFile, default_initializers
from neuralart.network.targets import relative_symbol
from neuralart.resources import board_data_dir
from neuralart.text.values import Location
from neuralart.vendor import mpool, profile

ROOT = Path(__file__).parents[3]
WITH_POOLS = ("stm32n6570-dk", "nucleo-n657x0-q", "mps3-an547")
CONFIG = NetworkConfig(
    "digits",
    "digits.tflite",
    options=("--no-report",),
    vectors="vectors",
    strategies=(("AXISRAM5", "link"),),
    where=Location("variants.yaml", 7),
)


# ---- the specification


def test_without_pools_of_its_own_a_network_gets_those_of_the_board():
    made = derive(CONFIG)
    assert made == replace(CONFIG, profile="relocatable@", options=("--no-report", "--all-buffers-info"), strategies=())
    assert split_profile(made.profile) == ("relocatable", "")
    assert made.said() == CONFIG.said() == "variants.yaml:7"


@pytest.mark.parametrize("own", [{"mpool": "my.mpool"}, {"profile": "x@my.json"}, {"profile": "p", "mpool": "m"}])
def test_pools_that_the_user_names_stay(own):
    made = derive(replace(CONFIG, **own))
    assert (made.profile, made.mpool) == (own.get("profile", ""), own.get("mpool", ""))
    assert made.options[-1] == "--all-buffers-info"


def test_deriving_twice_changes_nothing():
    assert derive(derive(CONFIG)) == derive(CONFIG)


# ---- the board's own


@pytest.mark.parametrize("name", WITH_POOLS)
def test_the_boards_own_pools_are_those_of_a_relocatable_model(name):
    board = boards.load(name)
    chosen = profile.read(Path(board.profile), "relocatable", name)
    assert "--all-buffers-info" in chosen.options and not chosen.unknown
    pools = mpool.read(chosen.mpool)
    check_pools(pools)
    assert Path(chosen.mpool).name == f"{name}-relocatable.mpool"
    assert any(pool.relative and not pool.writable for pool in pools.enabled)
    assert any(pool.relative and pool.writable for pool in pools.enabled) == (name != "nucleo-n657x0-q")
    assert len(default_initializers(pools)) == 1
    for pool in pools.enabled:
        region = board.region_at(pool.address)
        assert region is not None and pool.end <= region.end, pool.fname
        assert pool.writable == (region.kind != "flash"), pool.fname
        if not pool.relative:
            assert region.name != "AXISRAM2", "it is left to the application"
    flash = next(pool for pool in pools.enabled if pool.relative and not pool.writable)
    assert flash.address == 0x71000000


def test_static_and_relocatable_pools_of_a_board_differ_in_little():
    """One is a copy of the other: what describes the memories must not go apart."""
    for name in WITH_POOLS[:2]:
        files = [board_data_dir() / "pools" / f"{name}{end}.mpool" for end in ("", "-relocatable")]
        static, moving = (json.loads(path.read_text("utf-8")) for path in files)
        for one, other in zip(static["memory"]["mempools"], moving["memory"]["mempools"], strict=True):
            assert one["prop"] == other["prop"] and one["fname"] == other["fname"] and one["name"] == other["name"]
        del static["memory"]["mempools"], moving["memory"]["mempools"]
        assert static == moving


def test_pools_of_the_model_digits():
    pools = mpool.read(ROOT / "models" / "digits" / "pools" / "external.mpool")
    check_pools(pools)
    assert [(pool.fname, pool.rights, pool.relative) for pool in pools.enabled] == [
        ("xSPI1", "ACC_WRITE", True),
        ("xSPI2", "ACC_READ", True),
    ]


def test_a_board_without_such_a_profile():
    with pytest.raises(NeuralArtError) as caught:
        profile.read(Path(boards.load("stm32h747i-disco").profile), "relocatable", "b.json")
    assert str(caught.value).endswith(
        "no profile 'relocatable' (known: default; a relocatable model needs it, or a 'profile:' or 'mpool:' of its "
        "network)"
    )


# ---- pools of the user

RAM = MemoryPool("AXISRAM3", "npuRAM3", 0x34200000, 4096, where="a.mpool:3:1")
NOR = MemoryPool("xSPI2", "octoFlash", 0x71000000, 4096, "ACC_READ", mode="USEMODE_RELATIVE", where="a.mpool:9:1")


def file(*pools: MemoryPool) -> PoolFile:
    return PoolFile("a.mpool", "atonbuf", pools)


def test_pools_that_are_taken():
    check_pools(file(RAM, NOR))
    check_pools(file(RAM))
    check_pools(file(RAM, replace(NOR, mode="USEMODE_ABSOLUTE", size=0)))
    saved = MemoryPool("params", "params_", 0, 1 << 30, "ACC_READ", "FORMAT_HEX", "USEMODE_RELATIVE")
    check_pools(file(RAM, NOR, saved))


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        (
            file(RAM, replace(NOR, mode="USEMODE_ABSOLUTE")),
            "a.mpool:9:1: pool xSPI2 at 0x71000000 is USEMODE_ABSOLUTE: the external memories of a relocatable model "
            'get their place when it is installed (give it "mode": "USEMODE_RELATIVE", or disable it with size 0)',
        ),
        (
            file(RAM, replace(NOR, fformat="FORMAT_C")),
            "a.mpool:9:1: fformat of pool xSPI2 is FORMAT_C: a relocatable model takes raw initializers only "
            "(set its fformat to FORMAT_RAW)",
        ),
        (
            file(replace(RAM, mode="USEMODE_RELATIVE"), NOR),
            "a.mpool:3:1: pool AXISRAM3 is USEMODE_RELATIVE and lies at 0x34200000: only external memory, from "
            "0x60000000, can move (USEMODE_ABSOLUTE for memories inside the chip)",
        ),
    ],
)
def test_pools_that_are_refused(pools, said):
    with pytest.raises(NeuralArtError) as caught:
        check_pools(pools)
    assert str(caught.value) == said


def test_the_least_address_of_a_relative_pool():
    check_pools(file(RAM, replace(NOR, address=0x60000000)))
    with pytest.raises(NeuralArtError, match="0x5fffffff: only external memory"):
        check_pools(file(RAM, replace(NOR, address=0x5FFFFFFF)))


def test_symbol_of_a_relative_pool():
    assert relative_symbol("xSPI2", "digits") == "_mem_pool_xSPI2_digits"


# ---- programs that a network is linked into


def use(**changes) -> Network:
    pool = PoolUse("octoFlash", "xSPI2", 0x71000000, 4096, 16, 16, 0, "ACC_READ", "USEMODE_RELATIVE")
    return Network("digits", "neuralart", (0, 1, 0, 0), "", "", (replace(pool, **changes),), (), (), (), 0)


def test_relative_pools_are_not_for_programs():
    refuse_relative_pools("digits", file(RAM, replace(NOR, size=0), replace(NOR, fname="params")))
    with pytest.raises(NeuralArtError) as caught:
        refuse_relative_pools("digits", file(RAM, NOR))
    assert str(caught.value) == (
        "a.mpool:9:1: pool xSPI2 of network digits is USEMODE_RELATIVE: in a program nothing says where it is "
        "(make it USEMODE_ABSOLUTE, or the network a relocatable model (relocatable: of the variant, or NetworkRel))"
    )
