"""npu_memory_init.c: what its tables hold, and which networks and layouts are refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import boards, toolchain
from neuralart.boards.types import Board, Enable, FlashWindow, MemoryRegion, Registers
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.strategies import Layout
from neuralart.memory.startup import startup, tables
from neuralart.network.facts import Network
from neuralart.resources import firmware_dir
from support.npu import npu_memory_host as host
from support.npu.npu_memory_host import initializer, layout
from support.projects import smallboard as small

BOARD = small.board()
FULL = host.board()
NOTHING = layout(descriptor=None)


def source(*networks: Network, board: Board = BOARD, plan: Layout = NOTHING, **more) -> str:
    return startup.source(board, plan, networks, **more)


def rows(text: str, table: str) -> list[dict[str, str]]:
    """Rows of a table; fields without a name are numbered."""
    found = re.search(rf"\b{table}\[\] = {{\n(.*?)\n}};", text, re.S)
    if found is None:
        assert f".{table} =" not in text
        return []
    lines = found.group(1).splitlines()
    count = re.search(rf"\.{table} = {table},\n    \.\w+_count = (\d+),", text)
    assert count is not None and int(count.group(1)) == len(lines)
    made = []
    for line in lines:
        items = re.findall(r"(?:\.(\w+) = )?(\{[^{}]*\}|\"[^\"]*\"|\w+)", line.strip()[1:].removesuffix("},"))
        made.append({name or str(n): value.strip('"') for n, (name, value) in enumerate(items)})
    return made


def banks(text: str) -> list[str]:
    return [row["0"] for row in rows(text, "banks")]


def registers(text: str) -> dict[str, int]:
    return {name: int(value, 16) for name, value in re.findall(r"\.registers\.(\w+) = (\w+?)u?,", text)}


def two_banks() -> Network:
    return small.network(small.pool("A", 0x2400_1006, 0x100), small.pool("B", 0x3400_2000, 0x100))


# ---- banks


def test_what_a_network_touches_is_turned_on_and_probed_where_it_uses_it() -> None:
    text = source(two_banks())
    common = {"writable": "1"}
    assert rows(text, "banks") == [
        {"0": "BANK2", **common, "clock": "0x1u", "ramcfg": "0x51000100u", "probe": "0x34001004u"},
        {"0": "BANK3", **common, "clock": "0x2u", "ramcfg": "0x51000180u", "probe": "0x34002000u"},
    ]
    assert registers(text) == {
        "memory_clock": 0x5000_0010,
        "memory_sleep_clock": 0x5000_0020,
        "ramcfg_clock_register": 0x5000_0030,
        "ramcfg_clock": 1 << 12,
        "shutdown": 1 << 20,
    }


def test_banks_that_no_buffer_touches_are_not_in_it() -> None:
    text = source(small.network(small.pool("A", 0x3400_2000, 1), small.pool("B", 0x3400_1000, 0)))
    assert banks(text) == ["BANK3"]
    assert "BANK2" not in text and "BANK1" not in text


def test_bank_with_a_clock_only() -> None:
    text = source(small.network(small.pool("A", 0x2400_0000, 0x100)))
    assert rows(text, "banks") == [{"0": "BANK1", "writable": "1", "clock": "0x80u", "probe": "0x34000000u"}]
    assert set(registers(text)) == {"memory_clock", "memory_sleep_clock"}


def test_memory_that_needs_nothing_is_probed_all_the_same() -> None:
    text = source(small.network(small.pool("A", 0x3001_0800, 0x10), small.pool("F", 0x7000_0000, 4)))
    assert rows(text, "banks") == [{"0": "ALWAYS", "writable": "1", "probe": "0x30010800u"}]
    assert registers(text) == {}


def test_flash_that_is_gated_is_turned_on_and_not_written() -> None:
    board = small.board(memory=(*small.MEMORY, MemoryRegion("OTP", 0x6000_0000, 64, "flash", enable=Enable(5))))
    text = source(small.network(small.pool("F", 0x6000_0000, 4)), board=board)
    assert rows(text, "banks") == [{"0": "OTP", "writable": "0", "clock": "0x20u"}]


@pytest.mark.parametrize(("used", "wanted"), [(0x1000, ["BANK1", "BANK2"]), (0x1801, ["BANK1", "BANK2", "BANK3"])])
def test_virtual_pool_over_several_banks(used: int, wanted: list[str]) -> None:
    virtual = small.pool("V", 0x2400_0800, used, virtual=True, parts=("A", "B"), size=0x2000)
    text = source(small.network(virtual))
    assert banks(text) == wanted
    probes = [row["probe"] for row in rows(text, "banks")]
    assert probes == ["0x34000800u", "0x34001000u", "0x34002000u"][: len(wanted)]


def test_several_networks_turn_on_what_any_of_them_uses() -> None:
    one = small.network(small.pool("A", 0x3400_1000, 0x100), name="one")
    two = small.network(small.pool("A", 0x3400_2000, 0x100), name="two")
    text = source(one, two)
    assert banks(text) == ["BANK2", "BANK3"]
    assert [row["0"] for row in rows(text, "networks")] == ["one", "two"]


@pytest.mark.parametrize("missing", ["memory_clock", "ramcfg", "shutdown_bit"])
def test_board_that_does_not_say_how(missing: str) -> None:
    board = small.board(registers=replace(small.REGISTERS, **{missing: None}))
    with pytest.raises(NeuralArtError) as caught:
        source(small.network(small.pool("A", 0x3400_1000, 1)), board=board)
    assert caught.value.what == f"BANK2 must be turned on, but 'registers: {missing}' is missing"


def test_board_without_sleep_clock_or_gated_ramcfg() -> None:
    board = small.board(
        registers=replace(small.REGISTERS, memory_sleep_clock=None, ramcfg_clock=None, ramcfg_clock_bit=None)
    )
    text = source(small.network(small.pool("A", 0x3400_1000, 1)), board=board)
    assert registers(text) == {"memory_clock": 0x5000_0010, "shutdown": 1 << 20}


def test_pool_on_the_firmware() -> None:
    network = small.network(small.pool("A", 0x2001_03F0, 0x20))
    with pytest.raises(NeuralArtError) as caught:
        source(network)
    assert "pool A of network net [0x300103f0, 0x30010410) overlaps firmware data" in caught.value.what
    assert "by 16 bytes" in caught.value.what
    # With a linker script of the user's own nothing is known about the firmware.
    assert banks(source(network, with_firmware=False)) == ["ALWAYS"]


def test_two_networks_in_one_place() -> None:
    one = small.network(small.pool("A", 0x3400_1000, 0x100), name="one")
    two = small.network(small.pool("A", 0x2400_1080, 0x100), name="two")
    with pytest.raises(
        NeuralArtError, match=r"pool A of network two .* overlaps pool A of network one .* by 128 bytes"
    ):
        source(one, two)


PSRAM = MemoryRegion("PSRAM", 0x9000_0000, 0x1000, "psram", on_at_reset=False)


@pytest.mark.parametrize(
    ("window", "with_firmware", "refused"),
    [
        (None, True, True),
        (None, False, True),
        # Behind a controller: the boot chain maps it, or an application of the user's own may.
        (replace(host.WINDOW, region="PSRAM", mapped_by_boot=True), True, False),
        (replace(host.WINDOW, region="PSRAM", mapped_by_boot=False), True, True),
        (replace(host.WINDOW, region="PSRAM", mapped_by_boot=False), False, False),
    ],
)
def test_memory_that_nobody_brings_up(window: FlashWindow | None, with_firmware: bool, refused: bool) -> None:
    board = small.board(memory=(*small.MEMORY, PSRAM), windows=() if window is None else (window,))
    network = small.network(small.pool("A", 0x9000_0010, 4))
    if not refused:
        assert banks(source(network, board=board, with_firmware=with_firmware)) == ["PSRAM"]
        return
    with pytest.raises(NeuralArtError) as caught:
        source(network, board=board, with_firmware=with_firmware)
    assert caught.value.what == (
        "pool A of network net [0x90000010, 0x90000014) lies in PSRAM, which does not answer after reset and which the "
        "start-up code cannot turn on"
    )


def test_ram_of_the_npu_cache() -> None:
    cache = host.region("BANK3", pool_name="npuCACHE")
    board = replace(FULL, memory=(*small.MEMORY[:4], cache, small.MEMORY[5]))
    assert registers(source(two_banks(), board=board))["npu_cache_is_ram"] == 1
    assert "npu_cache_is_ram" not in source(small.network(small.pool("A", 0x3400_1000, 1)), board=board)


def test_npu_cache_and_firewall() -> None:
    found = registers(source(two_banks(), board=FULL))
    assert {name: value for name, value in found.items() if name.startswith(("npu", "rimc"))} == {
        "npu_cache": host.NPU_CACHE,
        "npu_cache_clock_register": host.NPU_CACHE_CLOCK,
        "npu_cache_clock": 1 << 30,
        "rimc": host.RIMC,
        "rimc_value": 0x310,
        "rimc_clock_register": host.RIMC_CLOCK,
        "rimc_clock": 1 << 9,
    }


# ---- windows and MPU


def full(**changes) -> Network:
    return small.network(small.pool("A", 0x3400_1000, 0x100, weights=0x80, **changes))


COPY = layout(initializer("A", "boot-copy", 0x3400_1000, host.STAGING))
WINDOW_ROW = {
    "0": "NOR",
    "control": f"0x{host.CONTROL:08x}u",
    "mask": "0x30000001u",
    "value": "0x30000001u",
    "clock_register": f"0x{host.NOR_CLOCK:08x}u",
    "clock": "0x1000u",
}


@pytest.mark.parametrize(
    ("network", "plan", "wanted"),
    [
        (small.network(small.pool("F", 0x7000_0000, 4)), NOTHING, [WINDOW_ROW]),
        (full(), COPY, [WINDOW_ROW]),
        (full(), layout(initializer("A", "external-loader", 0x3400_1000)), [WINDOW_ROW]),  # the descriptor
        (full(), layout(initializer("A", "link", 0x3400_1000)), []),
        (small.network(small.pool("A", 0x3400_1000, 4)), COPY, []),
    ],
)
def test_windows_onto_what_start_up_or_networks_read(network: Network, plan: Layout, wanted: list) -> None:
    assert rows(source(network, board=FULL, plan=plan), "windows") == wanted


def test_memory_that_the_mpu_makes_normal() -> None:
    memory = (*small.MEMORY, MemoryRegion("SDRAM", 0xD000_0000, 32 << 20, "ram", mpu_normal=True))
    board = small.board(cpu="cortex-m7", memory=memory)
    text = source(small.network(small.pool("S", 0xD000_0100, 4)), board=board)
    assert rows(text, "mpu_regions") == [{"0": "SDRAM", "1": "0xd0000000u", "2": "0x2000000u"}]
    assert rows(source(two_banks(), board=board), "mpu_regions") == []


def test_sdram_of_the_stm32h747() -> None:
    """Device memory by default: unaligned accesses of the kernels would fault there."""
    board = boards.load("stm32h747i-disco")
    text = startup.source(
        board,
        layout(initializer("SDRAM", "boot-copy", 0xD000_0000, 0x9000_0000), descriptor=0x9001_0000),
        [small.network(small.pool("SDRAM", 0xD000_0000, 16, weights=16))],
        with_firmware=False,
    )
    assert rows(text, "mpu_regions") == [{"0": "SDRAM", "1": "0xd0000000u", "2": "0x2000000u"}]
    assert {row["0"] for row in rows(text, "windows")} == {"SDRAM", "QSPIFLASH"}


@pytest.mark.parametrize(
    ("cpu", "base", "size", "message"),
    [
        ("cortex-m55", 0xD000_0000, 1 << 20, "implemented for Armv7-M; this core is a cortex-m55"),
        ("cortex-m7", 0xD000_0000, 3 << 20, "is no region of the MPU"),
        ("cortex-m7", 0xD008_0000, 1 << 20, "is no region of the MPU"),
        ("cortex-m7", 0xD000_0000, 16, "is no region of the MPU"),
    ],
)
def test_memory_that_the_mpu_cannot_make_normal(cpu: str, base: int, size: int, message: str) -> None:
    region = MemoryRegion("SDRAM", base, size, "ram", mpu_normal=True)
    with pytest.raises(NeuralArtError, match=message):
        source(small.network(small.pool("S", base, 4)), board=small.board(cpu=cpu, memory=(*small.MEMORY, region)))


# ---- initializers


def test_initializers_in_every_way() -> None:
    network = small.network(
        small.pool("F", 0x7000_8000, 0x100, weights=0x100, cacheable=True),
        small.pool("A", 0x2400_1000, 0x100, weights=0x80),
        small.pool("L", 0x2400_1400, 0x100, weights=0x80),
        small.pool("X", 0x2400_1800, 0x100, weights=0x80),
        small.pool("E", 0x2400_2000, 0x100),
    )
    plan = layout(
        initializer("F", "flash", 0x7000_8000, 0x7000_8000, cacheable=True, capacity=0x8000),
        initializer("A", "boot-copy", 0x2400_1000, host.STAGING),
        initializer("L", "link", 0x2400_1400),
        initializer("X", "external-loader", 0x2400_1800),
        initializer("E", "boot-copy", 0x2400_2000, host.STAGING),  # declared, and empty
    )
    text = source(network, board=FULL, plan=plan)
    assert rows(text, "initializers") == [
        {
            **{"0": "0", "1": "F", "2": "NPU_MEMORY_FLASH", "npu_cached": "1", "load": "0x70008000u"},
            **{"run": "0x70008000u", "npu": "0x70008000u", "capacity": "0x8000u"},
        },
        {
            **{"0": "0", "1": "A", "2": "NPU_MEMORY_BOOT_COPY", "npu_cached": "0", "load": "0x70004000u"},
            **{"run": "0x34001000u", "npu": "0x24001000u", "capacity": "0x1000u"},
        },
        {
            **{"0": "0", "1": "L", "2": "NPU_MEMORY_LINK", "npu_cached": "0"},
            **{"run": "0x34001400u", "npu": "0x24001400u", "capacity": "0x1000u"},
            **{"start": "npu_link_net_L_start", "end": "npu_link_net_L_end"},
        },
        {
            **{"0": "0", "1": "X", "2": "NPU_MEMORY_EXTERNAL_LOADER", "npu_cached": "0"},
            **{"run": "0x34001800u", "npu": "0x24001800u", "capacity": "0x1000u"},
        },
    ]
    assert "extern const uint8_t npu_link_net_L_start[], npu_link_net_L_end[];" in text
    assert ".descriptor = 0x70001000u,\n    .descriptor_capacity = 0x1000u," in text


def test_networks_are_numbered_as_in_the_descriptor() -> None:
    one = replace(full(), name="one")
    two = small.network(small.pool("A", 0x3400_2000, 0x100, weights=4), name="two")
    plan = layout(
        initializer("A", "boot-copy", 0x3400_2000, host.STAGING, network="two"),
        initializer("A", "boot-copy", 0x3400_1000, host.STAGING + 0x100, network="one"),
    )
    text = source(one, two, board=FULL, plan=plan)
    assert [(row["0"], row["run"]) for row in rows(text, "initializers")] == [
        ("1", "0x34002000u"),
        ("0", "0x34001000u"),
    ]
    assert rows(text, "networks")[0]["1"] == "{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}"


def test_flash_without_a_descriptor_is_taken_as_it_is() -> None:
    network = small.network(small.pool("F", 0x7000_8000, 0x100, weights=0x100))
    plan = layout(initializer("F", "flash", 0x7000_8000, 0x7000_8000), descriptor=None)
    assert "descriptor" not in source(network, plan=plan)


@pytest.mark.parametrize("strategy", ["boot-copy", "external-loader"])
def test_what_needs_a_descriptor(strategy: str) -> None:
    with pytest.raises(NeuralArtError, match=f"strategy {strategy}, which needs an identity descriptor in flash"):
        source(full(), plan=layout(initializer("A", strategy, 0x3400_1000), descriptor=None))


def test_constants_that_nobody_brings() -> None:
    with pytest.raises(NeuralArtError) as caught:
        source(full(), board=FULL, plan=layout(initializer("F", "flash", 0x7000_0000, 0x7000_0000)))
    assert caught.value.what == (
        "pool A of network net holds 128 bytes of constants, but no initializer is declared for it"
    )
    assert caught.value.hint == "declare it: initializers: [F, A]"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategy": "relocatable"}, "strategy 'relocatable' is not one that start-up code follows"),
        ({"capacity": 0x7F}, "128 bytes of constants, but only 127 fit"),
        ({"run_address": 0x1234}, "there is no memory at 0x00001234"),
        ({"load_address": 0x9000_0000}, "there is no memory at 0x90000000"),
    ],
)
def test_initializers_that_cannot_work(changes: dict, message: str) -> None:
    item = replace(initializer("A", "boot-copy", 0x3400_1000, host.STAGING), **changes)
    with pytest.raises(NeuralArtError, match=re.escape(message)):
        source(full(), board=FULL, plan=layout(item))


def test_name_that_the_descriptor_has_no_room_for() -> None:
    name = "P" * 24
    network = small.network(small.pool(name, 0x3400_1000, 0x100, weights=0x80))
    with pytest.raises(NeuralArtError, match="does not fit"):
        source(network, board=FULL, plan=layout(initializer(name, "boot-copy", 0x3400_1000, host.STAGING)))
    assert source(network, board=FULL, plan=layout(initializer(name, "link", 0x3400_1000)))


@pytest.mark.parametrize("stamp", ["", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "not hexadecimal!"])
def test_stamps_that_are_none(stamp: str) -> None:
    with pytest.raises(NeuralArtError, match="is not 16 hex digits"):
        source(replace(two_banks(), abi_stamp=stamp))


def test_more_rows_than_an_error_can_name() -> None:
    names = [f"P{n}" for n in range(255)]
    network = small.network(*(small.pool(n, 0x3400_1000, 4, weights=4) for n in names))
    items = [initializer(n, "boot-copy", 0x3400_1000, host.STAGING) for n in names]
    with pytest.raises(NeuralArtError, match="255 initializers, start-up code knows 254 at most"):
        source(network, board=FULL, plan=layout(*items))


def test_size_and_values_of_weights_are_no_part_of_it() -> None:
    """New weights need no new firmware."""
    before = full()
    after = small.network(small.pool("A", 0x3400_1000, 0x100, weights=0x7F))
    assert source(before, board=FULL, plan=COPY) == source(after, board=FULL, plan=COPY)
    # Another build of the network is another firmware.
    assert source(before, board=FULL, plan=COPY) != source(replace(before, abi_stamp="f" * 16), board=FULL, plan=COPY)


def test_the_stm32n6_as_its_reference_manual_wants_it() -> None:
    board = boards.load("stm32n6570-dk")
    network = small.network(
        small.pool("npuRAM5", 0x342E_0000, 0x1000, weights=0x800), small.pool("xSPI2", 0x7038_0000, 0x1000, weights=64)
    )
    plan = replace(
        layout(
            initializer("npuRAM5", "boot-copy", 0x342E_0000, 0x7040_0000),
            initializer("xSPI2", "flash", 0x7038_0000, 0x7038_0000),
            descriptor=0x7030_0000,
        ),
        board=board.name,
    )
    text = source(network, board=board, plan=plan)
    assert rows(text, "banks") == [
        {"0": "AXISRAM5", "writable": "1", "clock": "0x4u", "ramcfg": "0x52023200u", "probe": "0x342e0000u"}
    ]
    found = registers(text)
    assert {
        "memory_clock": 0x5602_824C,  # RCC_MEMENR
        "memory_sleep_clock": 0x5602_828C,  # RCC_MEMLPENR
        "ramcfg_clock_register": 0x5602_8254,  # RCC_AHB2ENR
        "ramcfg_clock": 1 << 12,
        "shutdown": 1 << 20,
        "npu_cache": 0x580D_FC00,
        "rimc": 0x5402_4C14,
        "rimc_value": 0x310,
        "npu_cache_clock_register": 0x5602_8260,  # RCC_AHB5ENR, CACHEAXIEN
        "npu_cache_clock": 1 << 30,
        "rimc_clock_register": 0x5602_8258,  # RCC_AHB3ENR, RIFSCEN
        "rimc_clock": 1 << 9,
    }.items() <= found.items()
    assert [row["0"] for row in rows(text, "windows")] == ["xSPI2"]


# ---- the compiler takes all of it


def _cross_gcc() -> list[str]:
    found = toolchain.find(ToolchainConfig(), os.environ)
    return [str(Path(found.folder) / f"{found.prefix}gcc"), *found.libc_flags, "-mcpu=cortex-m33", "-mthumb"]


def _objects(tmp_path: Path, gcc: Sequence[str], text: str, *more: str) -> None:
    (tmp_path / "npu_memory_init.h").write_text(startup.HEADER, "utf-8")
    (tmp_path / "npu_memory_init.c").write_text(text, "utf-8")
    include = str(firmware_dir() / "runtime" / "include")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wundef", "-I", include, "-c"]
    done = subprocess.run(
        [*gcc, *flags, "npu_memory_init.c", *more], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


EVERYTHING = layout(
    initializer("A", "boot-copy", 0x3400_1000, host.STAGING, cacheable=True), initializer("L", "link", 0x3400_2000)
)
SOURCES = [
    pytest.param(FULL, EVERYTHING, id="everything"),
    pytest.param(small.board(registers=Registers(), memory=(*small.MEMORY[:2],)), NOTHING, id="nothing"),
]


@pytest.mark.arm
@pytest.mark.parametrize(("board", "plan"), SOURCES)
def test_the_cross_compiler_takes_it(tmp_path: Path, board: Board, plan: Layout) -> None:
    network = small.network(small.pool("A", 0x3400_1000, 16, weights=16), small.pool("L", 0x3400_2000, 16, weights=16))
    if plan is NOTHING:
        network = small.network(small.pool("S", 0x3001_0800, 16))
    _objects(tmp_path, _cross_gcc(), source(network, board=board, plan=plan))


# ---- linked objects


RAW = bytes(range(256)) + b"tail"


def _symbols(nm: str, path: Path) -> dict[str, int]:
    listing = subprocess.run([nm, str(path)], capture_output=True, text=True, check=True).stdout
    return {words[-1]: int(words[0], 16) for words in map(str.split, listing.splitlines()) if len(words) == 3}


def _linked(tmp_path: Path, gcc: Sequence[str], prefix: str) -> None:
    folder = tmp_path / "with blank" / "net's (x)"
    folder.mkdir(parents=True)
    (folder / "n.A.raw").write_bytes(RAW)
    text = tables.link_object_c("net", "A", "net's (x)/n.A.raw")
    (tmp_path / "link.c").write_text(text, "utf-8")
    command = [*gcc, "-Wall", "-Wextra", "-Werror", "-I", "with blank", "-c", "link.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    symbols = _symbols(f"{prefix}nm", tmp_path / "link.o")
    assert symbols == {"npu_link_net_A_start": 0, "npu_link_net_A_end": len(RAW)}
    section = ".rodata.npu_link_net_A"
    subprocess.run([f"{prefix}objcopy", "-O", "binary", "-j", section, "link.o", "out.bin"], cwd=tmp_path, check=True)
    assert (tmp_path / "out.bin").read_bytes() == RAW
    headers = subprocess.run(
        [f"{prefix}objdump", "-h", "link.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert re.search(rf"{re.escape(section)} .*2\*\*6\n.*READONLY, DATA", headers)


@pytest.mark.arm
def test_raw_file_as_an_object(tmp_path: Path) -> None:
    gcc = _cross_gcc()
    _linked(tmp_path, gcc, gcc[0][: -len("gcc")])


@pytest.mark.hostcc
@pytest.mark.skipif(shutil.which("objcopy") is None, reason="no objcopy for this machine")
def test_raw_file_as_an_object_of_this_machine(tmp_path: Path) -> None:
    _linked(tmp_path, ["cc"], "")


@pytest.mark.parametrize("path", ["/x/n.raw", "C:/n.raw", "c:n.raw"])
def test_absolute_path_of_a_linked_file(path: str) -> None:
    with pytest.raises(NeuralArtError, match="is absolute"):
        tables.link_object_c("net", "A", path)


@pytest.mark.parametrize("path", ['a"b.raw', "a\\b.raw", "a\nb.raw", "é.raw", ""])
def test_path_that_the_assembler_would_misread(path: str) -> None:
    with pytest.raises(NeuralArtError, match="cannot take this path"):
        tables.link_object_c("net", "A", path)


@pytest.mark.parametrize("pool", ["a-b", "a b", "", "ü"])
def test_pool_whose_name_is_no_symbol(pool: str) -> None:
    with pytest.raises(NeuralArtError, match=r"cannot be linked: its name has more than letters, digits and '_'"):
        tables.link_symbol("net", pool)
