"""The board database: the built-in boards, boards of one's own, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from neuralart import boards, cli
from neuralart.boards.types import BoardSection, Boot, Console, Enable, FlashWindow, LoadSlots, Machine
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import PACKAGE
from neuralart_board.boards_cli import as_data

N6 = ("stm32n6570-dk", "nucleo-n657x0-q")
H7 = ("art-pi", "nucleo-h743zi", "stm32h747i-disco")
ALL = tuple(sorted(("mps2-an500", "mps3-an547", "nucleo-n657x0-q", "stm32n6570-dk", "stm32n6570-dk-psram", *H7)))
# Boards of the flow with an NPU (or what stands in for one).
CPU = ("mps2-an500", *H7)
WITH_MPOOL = tuple(name for name in ALL if name not in CPU or name == "stm32h747i-disco")

# CMSIS device header STM32N6: name, non-secure base, secure base, size, bit of RCC_MEMENR, RAMCFG register with SRAMSD.
N6_BANKS = [
    ("ITCM", 0x00000000, 0x10000000, 64, None, None),
    ("BOOTROM", 0x08000000, 0x18000000, 128, 12, None),
    ("DTCM", 0x20000000, 0x30000000, 128, None, None),
    ("FLEXRAM", 0x24000000, 0x34000000, 400, 9, None),
    ("AXISRAM1", 0x24064000, 0x34064000, 624, 7, None),
    ("AXISRAM2", 0x24100000, 0x34100000, 1024, 8, 0x080),
    ("AXISRAM3", 0x24200000, 0x34200000, 448, 0, 0x100),
    ("AXISRAM4", 0x24270000, 0x34270000, 448, 1, 0x180),
    ("AXISRAM5", 0x242E0000, 0x342E0000, 448, 2, 0x200),
    ("AXISRAM6", 0x24350000, 0x34350000, 448, 3, 0x280),
    ("CACHEAXI", 0x243C0000, 0x343C0000, 256, 10, None),
    ("VENCRAM", 0x24400000, 0x34400000, 128, 11, None),
    ("AHBSRAM1", 0x28000000, 0x38000000, 16, 4, None),
    ("AHBSRAM2", 0x28004000, 0x38004000, 16, 5, None),
    ("BKPSRAM", 0x2C000000, 0x3C000000, 8, 6, None),
]
RCC_MEMENR_AFTER_RESET = 0x13F0


def test_names() -> None:
    assert boards.names() == ALL


@pytest.mark.parametrize("board", N6)
@pytest.mark.parametrize(("name", "non_secure", "secure", "kbytes", "clock", "ramcfg"), N6_BANKS)
def test_n6_banks(
    board: str, name: str, non_secure: int, secure: int, kbytes: int, clock: int | None, ramcfg: int | None
) -> None:
    region = boards.load(board).region(name)
    assert (region.base, region.alias, region.size) == (secure, non_secure, kbytes * 1024)
    assert region.enable == (None if clock is None else Enable(clock, ramcfg))
    assert region.on_at_reset == (clock is None or bool(RCC_MEMENR_AFTER_RESET >> clock & 1))


@pytest.mark.parametrize("board", N6)
def test_n6_has_no_other_internal_memory(board: str) -> None:
    loaded = boards.load(board)
    assert loaded.security == "secure"
    assert {r.name for r in loaded.memory if r.alias is not None} == {bank[0] for bank in N6_BANKS}


def test_n6_firewalls_and_pools() -> None:
    memory = {r.name: r for r in boards.load("stm32n6570-dk").memory}
    assert {name: memory[name].risaf for name in ("FLEXRAM", "AXISRAM1", "AXISRAM2", "AXISRAM5", "xSPI1", "xSPI2")} == {
        "FLEXRAM": 7,
        "AXISRAM1": 2,
        "AXISRAM2": 3,
        "AXISRAM5": 6,
        "xSPI1": 11,
        "xSPI2": 12,
    }
    assert [memory[f"AXISRAM{n}"].pool_name for n in range(1, 7)] == [
        "cpuRAM1",
        "cpuRAM2",
        "npuRAM3",
        "npuRAM4",
        "npuRAM5",
        "npuRAM6",
    ]


@pytest.mark.parametrize("board", N6)
def test_n6_registers_and_firmware(board: str) -> None:
    loaded = boards.load(board)
    registers = loaded.registers
    assert (registers.memory_clock, registers.memory_sleep_clock) == (0x5602824C, 0x5602828C)
    assert (registers.ramcfg, registers.shutdown_bit) == (0x52023000, 20)
    assert (registers.ramcfg_clock, registers.ramcfg_clock_bit) == (0x56028254, 12)
    assert loaded.code == BoardSection("FLEXRAM", 0x400, 1023 * 1024)
    assert loaded.data == BoardSection("DTCM", 0, 128 * 1024)
    assert loaded.console is not None
    assert (loaded.console.base, loaded.console.clock_register, loaded.console.clock_bit) == (0x52001000, 0x5602826C, 4)


def test_machines_with_mve(tmp_path: Path) -> None:
    able = {(name, kind) for name in boards.names(()) for kind, m in boards.load(name).machines.items() if m.mve}
    assert able == {("mps3-an547", "qemu")}
    for flags in (
        "-mcpu=cortex-m55, -mfloat-abi=hard",
        "-mcpu=cortex-m85+nofp, -mfloat-abi=softfp",
        "-march=armv8.1-m.main+mve, -mfloat-abi=hard",
    ):
        text = OWN.replace("{cpu_flags: [-mcpu=cortex-m55, -mthumb]}", f"{{cpu_flags: [{flags}], mve: true}}")
        path = tmp_path / "mine.yaml"
        path.write_text(text, "utf-8")
        assert boards.load("mine", [path]).machines["silicon"].mve


@pytest.mark.parametrize(
    ("flags", "kernels"),
    [
        ("-mcpu=cortex-m7 -mfpu=fpv5-sp-d16", ("c", "dsp")),
        ("-mcpu=cortex-m4", ("c", "dsp")),
        ("-mcpu=cortex-m33+nofp", ("c", "dsp")),
        ("-mcpu=cortex-m33+nodsp", ("c",)),
        ("-mcpu=cortex-m3", ("c",)),
        ("-mcpu=cortex-m0plus -mthumb", ("c",)),
        ("-march=armv8-m.main", ("c",)),
        ("-march=armv8-m.main+dsp+fp", ("c", "dsp")),
        ("-march=armv7e-m", ("c", "dsp")),
    ],
)
def test_kernels_that_a_machine_runs(flags: str, kernels: tuple[str, ...]) -> None:
    machine = Machine("silicon", tuple(flags.split()))
    assert machine.kernels == kernels
    assert replace(machine, mve=True).kernels == (*kernels, "mve")


@pytest.mark.parametrize("board", N6)
def test_n6_images_are_the_same_for_both_machines(board: str) -> None:
    machines = boards.load(board).machines
    assert list(machines) == ["unicorn", "silicon"], "the first is the default of run-"
    assert machines["unicorn"].cpu_flags == machines["silicon"].cpu_flags
    assert machines["unicorn"].cpuid == 0x410FD221
    assert "a model of the NPU, no RIF, no timing" in machines["unicorn"].note


def test_what_differs_between_the_n6_boards() -> None:
    kit, nucleo = (boards.load(name) for name in N6)
    assert (kit.region("xSPI2").size, nucleo.region("xSPI2").size) == (128 << 20, 64 << 20)
    assert kit.region("xSPI1").size == 32 << 20
    assert nucleo.region_at(0x90000000) is None, "no external RAM on the Nucleo"
    assert (kit.flash["part"], nucleo.flash["part"]) == ("MX66UW1G45G", "MX25UM51245G")
    for board in (kit, nucleo):
        assert board.slots == {"fsbl": 0x70000000, "application": 0x70100000, "weights": 0x70380000}
        assert (board.flash["sector"], board.flash["page"]) == (65536, 256)
        assert set(board.switches) == {"development", "flash"}


def test_qemu_board() -> None:
    board = boards.load("mps3-an547")
    assert list(board.machines) == ["qemu"]
    assert board.machines["qemu"].model == "mps3-an547"
    assert board.console is not None
    assert (board.console.driver, board.console.base) == ("uart_cmsdk", 0x59303000)
    assert board.region_at(0x70380000) == board.region("DDRFLASH")
    assert board.region_at(0x34200000) is None, "QEMU has no memory where the STM32N6 has its own"


def test_h747_memories() -> None:
    board = boards.load("stm32h747i-disco")
    assert list(board.machines) == ["unicorn", "silicon"]
    # RCC_APB2ENR: USART1EN
    assert board.console == Console("uart_stm32", 0x40011000, 0x580244F0, 4)
    memory = {region.name: region for region in board.memory}
    assert (memory["AXIRAM"].end, memory["SDRAM"].base, memory["SDRAM"].size) == (0x24080000, 0xD0000000, 32 << 20)
    assert "MPU" in memory["SDRAM"].note
    assert [memory[f"SRAM{n}"].base for n in (1, 2, 3)] == [0x30000000, 0x30020000, 0x30040000]
    assert memory["SRAM3"].end == 0x30048000
    # RCC_AHB2ENR: SRAM1EN to SRAM3EN
    assert board.registers.memory_clock == 0x580244DC
    assert [memory[f"SRAM{n}"].enable for n in (1, 2, 3)] == [Enable(29), Enable(30), Enable(31)]
    assert [name for name, region in memory.items() if not region.on_at_reset] == [
        "SRAM1",
        "SRAM2",
        "SRAM3",
        "BKPSRAM",
        "QSPIFLASH",
        "SDRAM",
    ]
    assert {name: region.sector for name, region in memory.items() if region.sector} == {
        "FLASH_BK1": 128 << 10,
        "FLASH_BK2": 128 << 10,
    }
    assert (board.flash["base"], board.flash["sector"]) == (0x90000000, 128 << 10)
    assert board.boot is None


def test_other_boards_with_an_stm32h7() -> None:
    pi, nucleo, disco = (boards.load(name) for name in ("art-pi", "nucleo-h743zi", "stm32h747i-disco"))
    memory = {region.name: region for region in pi.memory}
    assert (memory["FLASH_BK1"].size, "FLASH_BK2" in memory) == (128 << 10, False)
    assert (memory["SDRAM"].base, memory["QSPIFLASH"].end) == (0xC0000000, 0x90800000)
    # Its boot loader maps the QSPI flash; the rest is as on the kit.
    assert [window.mapped_by_boot for window in pi.windows] == [True, False]
    assert [replace(window, mapped_by_boot=False) for window in pi.windows] == list(disco.windows)
    assert pi.code == BoardSection("QSPIFLASH", 0, 8 << 20)
    assert pi.console == Console("uart_stm32", 0x40004C00, 0x580244E8, 19)
    assert nucleo.console == Console("uart_stm32", 0x40004800, 0x580244E8, 18)
    assert nucleo.memory == tuple(region for region in disco.memory if region.name not in ("QSPIFLASH", "SDRAM"))
    assert nucleo.windows == () and nucleo.machines == pi.machines == disco.machines


@pytest.mark.parametrize(("core", "kernels"), [("m4", "fpv4"), ("m7", "fpv5"), ("m33", "fpv5")])
def test_a_board_of_which_one_knows_the_memories(tmp_path: Path, core: str, kernels: str) -> None:
    path = tmp_path / "ours.yaml"
    path.write_text(
        f"schema: 1\nfamily: cortex-{core}\ntitle: Ours\nmemory:\n"
        "  FLASH: {base: 0x08000000, size: 512K, kind: flash}\n  RAM: {base: 0x20000000, size: 96K, kind: ram}\n"
    )
    board = boards.load("ours", [path])
    assert (board.cpu, board.target, [region.name for region in board.memory]) == (
        f"cortex-{core}",
        "stm32h7",
        ["FLASH", "RAM"],
    )
    assert f"-mfpu={kernels}-sp-d16" in board.machines["silicon"].cpu_flags


def test_h747_windows_are_not_open_at_the_start() -> None:
    windows = {window.region: window for window in boards.load("stm32h747i-disco").windows}
    assert set(windows) == {"QSPIFLASH", "SDRAM"}
    assert not any(window.mapped_by_boot for window in windows.values())
    qspi = windows["QSPIFLASH"]
    assert (qspi.control, qspi.mask, qspi.value, qspi.clock_bit) == (0x52005014, 3 << 26, 3 << 26, 14)


@pytest.mark.parametrize("name", N6)
def test_n6_boot_chain(name: str) -> None:
    board = boards.load(name)
    assert board.boot == Boot("application", 0x34000000, 1 << 20, 0x400, "2.3")
    registers = board.registers
    assert (registers.npu_cache, registers.rimc_npu, registers.rimc_npu_value) == (0x580DFC00, 0x54024C14, 0x310)


def test_a_slot_that_is_executed_may_be_elsewhere() -> None:
    """Its name says where: all that follows from a board follows from that."""
    moved = VariantConfig("v", "", "stm32n6570-dk", "", (), boot="xip", slots=(("application", 0x70080000),))
    assert moved.booted[0] == "stm32n6570-dk+xip-0x70080000"
    board = boards.load(moved.booted[0])
    assert board.boot is not None and board.code is not None
    assert (board.slots["application"], board.boot.copy_to, board.boot.in_place) == (0x70080000, 0x70080000, True)
    assert board.code.offset == 0x80400 and board.firmware == "stm32n6570-dk"
    assert replace(moved, boot="").booted[0] == "stm32n6570-dk"
    for mode, said in (
        ("xip-0x12", "no boot mode"),
        ("ram-0x70080000", "no boot mode"),
        ("xip-0x12345678", "no memory"),
    ):
        with pytest.raises(NeuralArtError, match=said):
            boards.load(f"stm32n6570-dk+{mode}")


def test_n6_windows() -> None:
    kit, nucleo = (boards.load(name) for name in N6)
    xspi2 = FlashWindow("xSPI2", 0x5802A000, 0x30000001, 0x30000001, 0x56028260, 12, True)
    xspi1 = FlashWindow("xSPI1", 0x58025000, 0x30000001, 0x30000001, 0x56028260, 5, False)
    assert kit.windows == (xspi2, xspi1)
    assert nucleo.windows == (xspi2,), "no window onto a memory that is not fitted"


def test_where_relocatable_models_are() -> None:
    found = {name: boards.load(name).relocatable for name in ALL}
    assert found.pop("stm32h747i-disco") is None
    assert {name: slots.ext_ram for name, slots in found.items() if slots} == {
        "mps3-an547": "DDRHIGH",
        "nucleo-n657x0-q": "",
        "stm32n6570-dk": "xSPI1",
        "stm32n6570-dk-psram": "xSPI1",
    }
    # Addresses that the vendor's tools use.
    assert {(s.model, s.params) for s in found.values() if s} == {(0x71000000, 0x71800000)}


def test_the_kit_with_its_psram_mapped_differs_in_that_alone() -> None:
    kit, psram = boards.load("stm32n6570-dk"), boards.load("stm32n6570-dk-psram")
    assert [window.mapped_by_boot for window in psram.windows] == [True, True]
    assert [replace(window, mapped_by_boot=True) for window in kit.windows] == list(psram.windows)
    same = ("memory", "registers", "machines", "console", "code", "data", "mpool", "profile", "flash", "slots", "boot")
    for name in (*same, "relocatable"):
        assert getattr(kit, name) == getattr(psram, name), name


def test_an547_has_flash_sectors_but_no_boot_chain() -> None:
    board = boards.load("mps3-an547")
    assert board.boot is None
    assert (board.flash["base"], board.flash["sector"]) == (0x70000000, 64 << 10)


def test_places_are_the_same_on_every_machine() -> None:
    board = boards.load("stm32n6570-dk")
    file = "neuralart:boards/data/stm32n6570-dk.yaml"
    lines = (Path(board.where).read_text()).splitlines()
    assert board.place("slots.application") == f"{file}:{lines.index('  application: 0x70100000') + 1}"
    assert board.place("code").startswith("neuralart:boards/data/families/stm32n6.yaml:")
    assert board.place("slots.none") == "board stm32n6570-dk"
    assert "places" not in as_data(board)


def test_files_are_named() -> None:
    assert [Path(f).name for f in boards.load("nucleo-n657x0-q").files] == ["stm32n6.yaml", "nucleo-n657x0-q.yaml"]
    assert [Path(f).name for f in boards.load("mps3-an547").files] == ["mps3-an547.yaml"]


def _bytes(amount: dict[str, str]) -> int:
    return int(amount["value"], 0) * {"BYTES": 1, "KBYTES": 1 << 10, "MBYTES": 1 << 20}[amount["magnitude"]]


@pytest.mark.parametrize("name", CPU)
def test_stock_pools_without_an_npu(name: str) -> None:
    """What an application can give to activations; addresses are advice, the application's linker script decides."""
    board = boards.load(name)
    pools = json.loads(Path(board.memory_pools).read_text("ascii"))["memory"]["mempools"]
    applied = ["DTCMRAM", "AXIRAM", "SDRAM"] if board.firmware or name == "mps2-an500" else ["AXIRAM"]
    assert [pool["name"] for pool in pools] == applied
    for pool in pools:
        region = board.region_at(_bytes(pool["offset"]))
        assert region is not None and region.name == pool["name"].replace("DTCMRAM", "DTCM")
        assert _bytes(pool["offset"]) + _bytes(pool["size"]) <= region.end


def test_an500_is_a_cortex_m7_at_other_addresses() -> None:
    board = boards.load("mps2-an500")
    assert list(board.machines) == ["qemu"]
    machine = board.machines["qemu"]
    assert (machine.model, machine.cpuid) == ("mps2-an500", 0x410FC270)
    assert "-mfpu=fpv5-d16" in machine.cpu_flags, "the second opinion: a core with double precision"
    assert board.console == Console("uart_cmsdk", 0x40004000)
    assert (board.mpool, board.profile) == ("", "")


@pytest.mark.parametrize("name", WITH_MPOOL)
def test_stock_pools_lie_inside_the_memories_of_their_names(name: str) -> None:
    board = boards.load(name)
    text = Path(board.mpool).read_bytes()
    assert text.isascii()
    pools = json.loads(text)["memory"]["mempools"]
    last = 0
    for pool in sorted(pools, key=lambda pool: _bytes(pool["offset"])):
        start, size = _bytes(pool["offset"]), _bytes(pool["size"])
        region = board.region_at(start)
        assert region is not None, pool["fname"]
        assert region.pool_name == pool["name"]
        assert region.base <= start, "pools use the addresses the firmware uses"
        assert start + size <= region.end, pool["fname"]
        assert start >= last, "pools do not overlap"
        last = start + size
        assert pool["prop"]["rights"] == ("ACC_READ" if region.kind == "flash" else "ACC_WRITE")
    for section in (board.code, board.data):
        assert section is not None
        begin = board.region(section.region).base + section.offset
        for pool in pools:
            start, size = _bytes(pool["offset"]), _bytes(pool["size"])
            assert start + size <= begin or begin + section.size <= start or not size, pool["fname"]


def test_stock_pools_of_the_nucleo_end_with_its_flash() -> None:
    pools = json.loads(Path(boards.load("nucleo-n657x0-q").mpool).read_text())["memory"]["mempools"]
    flash = next(p for p in pools if p["fname"] == "xSPI2")
    assert _bytes(flash["offset"]) + _bytes(flash["size"]) == 0x74000000
    assert "xSPI1" not in [p["fname"] for p in pools]


@pytest.mark.parametrize("name", WITH_MPOOL)
def test_stock_profile_names_the_stock_pools(name: str) -> None:
    board = boards.load(name)
    path = Path(board.profile)
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
    default = json.loads("\n".join(lines))["Profiles"]["default"]
    assert (path.parent / default["memory_pool"]).resolve() == Path(board.mpool).resolve()
    assert "--enable-virtual-mem-pools" in default["options"].split()


@pytest.mark.skipif(not hasattr(yaml, "CSafeLoader"), reason="PyYAML without libyaml")
def test_loading_is_cheap() -> None:
    boards.load("stm32n6570-dk")
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        boards.load("stm32n6570-dk")
    finally:
        sys.setprofile(None)
    assert 1000 < calls < 9000, "of functions; a board was 6,648 of them"


def test_both_loaders_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = [boards.load(name) for name in ALL]
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert [boards.load(name) for name in ALL] == fast


# Boards of one's own ---------------------------------------------------------------------------------------------

OWN = """\
schema: 1
title: A board of mine
target: stm32n6
device: STM32N657xx
cpu: cortex-m55
security: secure
memory:
  CODE: {base: 0x10000000, alias: 0x0, size: 64K, kind: ram}
  DATA: {base: 0x30000000, alias: 0x20000000, size: 1M, kind: ram}
  NOR: {base: 0x70000000, size: 8M, kind: flash}
  BANK: {base: 0x34000000, size: 64K, kind: ram, on_at_reset: false, enable: {clock_bit: 3, ramcfg_offset: 0x80}}
registers:
  memory_clock: 0x5602824C
  ramcfg: 0x52023000
  shutdown_bit: 20
  source: my own reading
console: {driver: uart_stm32, base: 0x52001000}
code: {region: CODE, offset: 0x400, size: 63K}
data: {region: DATA, size: 1M}
machines:
  silicon: {cpu_flags: [-mcpu=cortex-m55, -mthumb]}
flash: {part: X, base: 0x70000000, size: 4M, sector: 4K, page: 256}
slots: {weights: 0x70100000}
"""

Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writer:
    monkeypatch.chdir(tmp_path)

    def make(text: str, name: str = "mine.yaml") -> Path:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
        return Path(name)

    return make


def refusal(path: Path, *more: Path) -> str:
    with pytest.raises(NeuralArtError) as caught:
        boards.load(path.stem, [path, *more], "variants.yaml:7")
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_own_board(write: Writer) -> None:
    path = write(OWN)
    assert boards.names([path]) == tuple(sorted(("mine", *ALL)))
    board = boards.load("mine", [path])
    assert (board.name, board.title, board.where, board.files) == (
        "mine",
        "A board of mine",
        "mine.yaml",
        ("mine.yaml",),
    )
    assert board.data == BoardSection("DATA", 0, 1 << 20)
    assert board.region("BANK").enable == Enable(3, 0x80)
    assert board.console is not None
    assert board.console.clock_register is None
    assert board.region_at(0x20000000) == board.region("DATA"), "through the alias"


def test_own_board_of_a_family(write: Writer) -> None:
    path = write(
        "schema: 1\nfamily: stm32n6\ntitle: Mine\nmpool: pools/m.mpool\n"
        "memory:\n  xSPI2: {size: 16M}\n  AXISRAM6: {size: 0}\n  MRAM: {base: 0xA0000000, size: 4M, kind: psram}\n",
        "boards/mine.yaml",
    )
    pool = write("{}", "boards/pools/m.mpool")
    board = boards.load("mine", [path])
    assert Path(board.mpool) == pool, "relative to the board file"
    assert board.region("xSPI2").size == 16 << 20
    assert board.region("xSPI2").pool_name == "octoFlash", "from the family"
    assert "AXISRAM6" not in [r.name for r in board.memory], "size 0: not fitted"
    assert board.memory[-1].name == "MRAM"


def test_own_board_based_on_another(write: Writer) -> None:
    first = write(
        "schema: 1\nbase: stm32n6570-dk\ntitle: First\nflash: {part: MX25UM25645G, size: 32M}\n", "first.yaml"
    )
    second = write(
        "schema: 1\nbase: first\nslots: {weights: 0x70400000}\nmachines: {silicon: {note: tried}}\n", "b/second.yaml"
    )
    board = boards.load("second", [second, first])
    stock = boards.load("stm32n6570-dk")
    assert (board.title, board.flash["part"], board.flash["size"]) == ("First", "MX25UM25645G", 32 << 20)
    assert board.flash["loader"] == stock.flash["loader"]
    assert board.slots == {**stock.slots, "weights": 0x70400000}
    assert board.machines["silicon"].note == "tried"
    assert board.machines["silicon"].cpu_flags == stock.machines["silicon"].cpu_flags
    assert (board.mpool, board.memory, board.console) == (stock.mpool, stock.memory, stock.console)
    assert [Path(f).name for f in board.files] == ["stm32n6.yaml", "stm32n6570-dk.yaml", "first.yaml", "second.yaml"]


def test_a_board_may_drop_the_stock_pools(write: Writer) -> None:
    board = boards.load("mine", [write('schema: 1\nbase: stm32n6570-dk\nmpool: ""\nprofile: ""\n')])
    assert (board.mpool, board.profile) == ("", "")


def test_section_may_run_on_only_without_a_gap(write: Writer) -> None:
    two = "  CODE: {base: 0x10000000, size: 32K, kind: ram}\n  CODE2: {base: 0x10008000, size: 32K, kind: ram}\n"
    old = "  CODE: {base: 0x10000000, alias: 0x0, size: 64K, kind: ram}\n"
    assert boards.load("mine", [write(OWN.replace(old, two))]).code == BoardSection("CODE", 0x400, 63 << 10)
    gap = write(OWN.replace(old, two.replace("0x10008000", "0x1000A000")))
    assert (
        refusal(gap) == "mine.yaml:19: code.size: 0xfc00 bytes from 0x10000400 run over the end of memory at 0x10008000"
    )


BAD = [
    ("schema: 1", "schema: 2", "mine.yaml:1: schema: 2 is not a version this program reads (it reads schema: 1)"),
    (
        "title: A board",
        "titel: A board",
        "mine.yaml:2: unknown key 'titel' "
        "(did you mean 'title'? known: base, boot, clocks, code, console, cpu, data, debug, device, external_ram, "
        "family, firmware, flash, machines, memory, memory_pools, mpool, narrow_display, note, profile, registers, "
        "relocatable, schema, security, slots, switches, target, title, "
        "windows)",
    ),
    ("title: A board of mine\n", "", "mine.yaml:1: 'title' is missing"),
    (
        "title: A board of mine\n",
        "title: A\nclocks: {npu_mhz: 0}\n",
        "mine.yaml:3: clocks.npu_mhz: 0 is out of range, allowed: 0x1 to 0x186a0",
    ),
    ("target: stm32n6", "target: stm32 n6", "mine.yaml:3: target: 'stm32 n6' is not one word"),
    (
        "security: secure",
        "security: secur",
        "mine.yaml:6: security: 'secur' is not allowed (did you mean 'secure'? known: none, secure)",
    ),
    (
        "NOR: {base",
        "NOR: {bas",
        "mine.yaml:10: unknown key 'bas' in memory.NOR (did you mean 'base'? known: alias, base, enable, kind, "
        "mpu_normal, note, on_at_reset, owner, pool_name, risaf, sector, size)",
    ),
    ("NOR: {base: 0x70000000, ", "NOR: {", "mine.yaml:10: memory.NOR: 'base' is missing"),
    ("size: 8M, ", "", "mine.yaml:10: memory.NOR: 'size' is missing"),
    (
        "size: 8M",
        "size: 8MB",
        "mine.yaml:10: memory.NOR.size: must be a number, this is '8MB' "
        "(decimal, 0x34200000, or a size such as 448K, 1M)",
    ),
    (
        "size: 8M",
        "size: -8M",
        "mine.yaml:10: memory.NOR.size: must be a number, this is '-8M' "
        "(decimal, 0x34200000, or a size such as 448K, 1M)",
    ),
    (
        "NOR: {base: 0x70000000",
        "NOR: {base: 0x170000000",
        "mine.yaml:10: memory.NOR.base: 0x170000000 is out of range, allowed: 0x0 to 0xffffffff",
    ),
    (
        "NOR: {base: 0x70000000",
        "NOR: {base: 0xFFFF0000",
        "mine.yaml:10: memory.NOR.base: 0xffff0000 + 0x800000 bytes runs over the end of the address space",
    ),
    ("kind: flash", "kind: nor", "mine.yaml:10: memory.NOR.kind: 'nor' is not allowed (known: flash, psram, ram, rom)"),
    ("  NOR:", "  N-R:", "mine.yaml:10: memory.N-R: the name of a memory must be letters, digits and '_'"),
    (
        "on_at_reset: false",
        "on_at_reset: off",
        "mine.yaml:11: memory.BANK.on_at_reset: must be true or false, this is 'off'",
    ),
    (
        "clock_bit: 3,",
        "clock_bit: 32,",
        "mine.yaml:11: memory.BANK.enable.clock_bit: 32 is out of range, allowed: 0 to 31",
    ),
    (
        "ramcfg_offset: 0x80",
        "ramcfg_offset: 0x81",
        "mine.yaml:11: memory.BANK.enable.ramcfg_offset: 0x81 is not a multiple of 4",
    ),
    ("  memory_clock: 0x5602824C\n", "", "mine.yaml:11: memory.BANK.enable: clock_bit needs 'registers: memory_clock'"),
    (
        "  shutdown_bit: 20\n",
        "",
        "mine.yaml:11: memory.BANK.enable: ramcfg_offset needs 'registers: ramcfg' and 'shutdown_bit'",
    ),
    ("  source: my own reading\n", "", "mine.yaml:12: registers: 'source' is missing"),
    (
        "BANK: {base: 0x34000000",
        "BANK: {base: 0x300F0000",
        "mine.yaml:11: memory.BANK: base [0x300f0000, 0x30100000) overlaps DATA base [0x30000000, 0x30100000)",
    ),
    (
        "BANK: {base: 0x34000000",
        "BANK: {base: 0x200FFFFC",
        "mine.yaml:11: memory.BANK: base [0x200ffffc, 0x2010fffc) overlaps DATA alias [0x20000000, 0x20100000)",
    ),
    (
        "alias: 0x20000000",
        "alias: 0x30080000",
        "mine.yaml:9: memory.DATA: alias [0x30080000, 0x30180000) overlaps DATA base [0x30000000, 0x30100000)",
    ),
    (
        "console: {driver: uart_stm32, base: 0x52001000}",
        "console: {driver: uart_stm32, base: 0x52001000, clock_bit: 4}",
        "mine.yaml:17: console: 'clock_register' and 'clock_bit' belong together (give both, or none)",
    ),
    ("base: 0x52001000}", "base: 0x52001001}", "mine.yaml:17: console.base: 0x52001001 is not a multiple of 4"),
    (
        "console: {driver: uart_stm32",
        "console: {driver: ../uart",
        "mine.yaml:17: console.driver: '../uart' is not the name of a driver, like uart_stm32",
    ),
    (
        "region: CODE",
        "region: CDOE",
        "mine.yaml:18: code.region: no memory 'CDOE' (did you mean 'CODE'? known: BANK, CODE, DATA, NOR)",
    ),
    ("offset: 0x400", "offset: 0x10000", "mine.yaml:18: code.offset: 0x10000 is outside CODE (0x10000 bytes)"),
    (
        "size: 63K",
        "size: 64K",
        "mine.yaml:18: code.size: 0x10000 bytes from 0x10000400 run over the end of memory at 0x10010000",
    ),
    ("size: 63K", "size: 0", "mine.yaml:18: code.size: 0 is out of range, allowed: 0x1 to 0x100000000"),
    (
        "code: {region: CODE, offset: 0x400, size: 63K}",
        "code: {region: BANK, size: 63K}",
        "mine.yaml:18: code: BANK is off after reset, firmware cannot start there",
    ),
    (
        "code: {region: CODE, offset: 0x400, size: 63K}",
        "code: {region: DATA, offset: 0x80000, size: 64K}",
        "mine.yaml:19: data: [0x30000000, 0x30100000) overlaps code [0x30080000, 0x30090000)",
    ),
    (
        "silicon:",
        "silico:",
        "mine.yaml:21: unknown key 'silico' in machines (did you mean 'silicon'? known: qemu, silicon, unicorn)",
    ),
    (
        "  silicon: {cpu_flags: [-mcpu=cortex-m55, -mthumb]}",
        "  {}",
        "mine.yaml:20: machines: is empty (name at least one of silicon, unicorn, qemu)",
    ),
    ("silicon:", "qemu:", "mine.yaml:21: machines.qemu: 'model' is missing"),
    (
        "[-mcpu=cortex-m55, -mthumb]",
        "[]",
        "mine.yaml:21: machines.silicon.cpu_flags: is empty (name at least -mcpu=...)",
    ),
    (
        "[-mcpu=cortex-m55, -mthumb]",
        "[cortex-m55]",
        "mine.yaml:21: machines.silicon.cpu_flags[0]: 'cortex-m55' is not a flag of gcc, like -mthumb",
    ),
    *(
        (
            "{cpu_flags: [-mcpu=cortex-m55, -mthumb]}",
            f"{{cpu_flags: [{flags}], mve: true}}",
            "mine.yaml:21: machines.silicon.mve: 'cpu_flags' do not let gcc use MVE (they need -mcpu=cortex-m55 or "
            "cortex-m85 without +nomve, and -mfloat-abi=hard)",
        )
        for flags in (
            "-mcpu=cortex-m55",
            "-mcpu=cortex-m55, -mfloat-abi=soft",
            "-mcpu=cortex-m55+nomve, -mfloat-abi=hard",
            "-mcpu=cortex-m33, -mfloat-abi=hard",
        )
    ),
    (
        "  shutdown_bit: 20\n",
        "  shutdown_bit: 20\n  rimc_clock: 0x56028258\n",
        "mine.yaml:12: registers: 'rimc_clock' and 'rimc_clock_bit' belong together (give both, or none)",
    ),
    ("sector: 4K", "sector: 3K", "mine.yaml:22: flash.sector: 3072 is not a power of two"),
    (
        "size: 4M, sector",
        "size: 16M, sector",
        "mine.yaml:22: flash.base: [0x70000000, 0x71000000) is not inside a memory of kind flash",
    ),
    (
        "weights: 0x70100000",
        "weights: 0x70400000",
        "mine.yaml:23: slots.weights: 0x70400000 is outside X [0x70000000, 0x70400000)",
    ),
    (
        "weights: 0x70100000",
        "weights: 0x70100100",
        "mine.yaml:23: slots.weights: 0x70100100 is not a multiple of the sector, 4096 bytes",
    ),
    (
        "weights: 0x70100000",
        "weights: 0x30000000",
        "mine.yaml:23: slots.weights: 0x30000000 is not in a memory of kind flash",
    ),
    (
        "slots:",
        "mpool: no.mpool\nslots:",
        "mine.yaml:23: mpool: no file no.mpool (the path is relative to the board file that names it)",
    ),
    (
        "slots:",
        "family: stm32n7\nslots:",
        "mine.yaml:23: family: no family 'stm32n7' (did you mean 'stm32n6'? known: "
        "cortex-m33, cortex-m4, cortex-m7, stm32h7, stm32n6)",
    ),
    (
        "slots:",
        "base: stm32n6570\nslots:",
        "mine.yaml:23: no board 'stm32n6570' (did you mean 'stm32n6570-dk'? known: "
        + ", ".join(sorted(("mine", *ALL)))
        + ")",
    ),
    ("slots:", "base: mine\nslots:", "mine.yaml:23: base: 'mine' is based on this very board"),
    (
        "slots:",
        "base: mps3-an547\nfamily: stm32n6\nslots:",
        "mine.yaml:23: base: a board has a family or a base, not both (the base brings its family with it)",
    ),
]


# A board with a boot chain and a window; (what is replaced, by what, what is said).
BOOTS = OWN.replace("code: {region: CODE, offset: 0x400, size: 63K}", "code: {region: DATA, offset: 0x400, size: 127K}")
BOOTS = BOOTS.replace("data: {region: DATA, size: 1M}", "data: {region: DATA, offset: 128K, size: 128K}")
BOOTS = BOOTS.replace("slots: {weights: 0x70100000}", "slots: {weights: 0x70100000, app: 0x70080000}")
BOOTS += """\
boot: {slot: app, copy_to: 0x30000000, copy_size: 128K, header: 0x400}
windows:
  - region: NOR
    control: 0x5802A000
    mask: 0x30000001
    value: 0x30000001
    clock_register: 0x56028260
    clock_bit: 12
"""
BAD_BOOTS = [
    ("slot: app", "slot: ap", "mine.yaml:24: boot.slot: no slot 'ap' (did you mean 'app'? known: app, weights)"),
    ("header: 0x400}", "header: 0x440}", "mine.yaml:24: boot.header: 0x440 is not a multiple of 128, a vector table"),
    (
        "header: 0x400}",
        "header: 0x480}",
        "mine.yaml:24: boot.header: copy_to + header is 0x30000480, but 'code' begins",
    ),
    (
        "header: 0x400}",
        "header: 128K}",
        "mine.yaml:24: boot.header: 0x20000 leaves nothing of the 0x20000 bytes copied",
    ),
    ("copy_size: 128K", "copy_size: 64K", "mine.yaml:24: boot.copy_size: 'code' ends at 0x30020000, what is copied at"),
    (
        "copy_size: 128K",
        "copy_size: 4M",
        "mine.yaml:24: boot.copy_size: 0x400000 bytes from slot app at 0x70080000 run",
    ),
    ("copy_to: 0x30000000", "copy_to: 0x30100000", "mine.yaml:24: boot.copy_to: [0x30100000, 0x30120000): there is no"),
    (
        "copy_to: 0x30000000",
        "copy_to: 0x34000000",
        "mine.yaml:24: boot.copy_to: [0x34000000, 0x34020000): BANK is no RAM",
    ),
    ("copy_to: 0x30000000", "copy_to: 0xFFFFF000", "mine.yaml:24: boot.copy_to: 0xfffff000 + 0x20000 bytes runs over"),
    (", copy_size: 128K", "", "mine.yaml:24: boot: 'copy_size' is missing"),
    (
        "region: NOR",
        "region: NOT",
        "mine.yaml:26: windows[0].region: no memory 'NOT' (did you mean 'NOR'? known: BANK, ",
    ),
    (
        "    mask: 0x30000001",
        "    mask: 0x30000000",
        "mine.yaml:29: windows[0].value: 0x30000001 has bits that the mask ",
    ),
    ("    mask: 0x30000001", "    mask: 0", "mine.yaml:28: windows[0].mask: 0 is out of range"),
    (
        "    clock_bit: 12",
        "    clock_bit: 32",
        "mine.yaml:31: windows[0].clock_bit: 32 is out of range, allowed: 0 to 31",
    ),
    ("    clock_bit: 12\n", "", "mine.yaml:26: windows[0]: 'clock_bit' is missing"),
    (
        "control: 0x5802A000",
        "control: 0x5802A002",
        "mine.yaml:27: windows[0].control: 0x5802a002 is not a multiple of 4",
    ),
    (
        "control: 0x5802A000",
        "control: 0x30000000",
        "mine.yaml:27: windows[0].control: 0x30000000 is in memory DATA, not",
    ),
    (
        "    clock_bit: 12",
        "    clock_bt: 12",
        "mine.yaml:31: unknown key 'clock_bt' in windows[0] (did you mean 'clock_",
    ),
    (
        "    clock_bit: 12",
        "    clock_bit: 12\n  - {region: NOR}",
        "mine.yaml:32: windows[1].region: 'NOR' has a window",
    ),
    ("size: 8M, kind", "size: 8M, sector: 3K, kind", "mine.yaml:10: memory.NOR.sector: 3072 is not a power of two"),
    (
        "size: 1M, kind",
        "size: 1M, sector: 4K, kind",
        "mine.yaml:9: memory.DATA.sector: only flash is erased by sectors",
    ),
    ("shutdown_bit: 20", "rimc_npu: 0x54024C14", "mine.yaml:12: registers: 'rimc_npu' and 'rimc_npu_value' belong tog"),
]


# A board that says where relocatable models are; (what is replaced, by what, what is said).
LOADS = OWN + "relocatable: {table: 0x701ff000, model: 0x70200000, params: 0x70300000, ext_ram: DATA}\n"
BAD_LOADS = [
    ("table: 0x701ff000, ", "", "mine.yaml:24: relocatable: 'table' is missing"),
    ("model: 0x70200000, ", "", "mine.yaml:24: relocatable: 'model' is missing"),
    ("params: 0x70300000, ", "", "mine.yaml:24: relocatable: 'params' is missing"),
    ("params: 0x7", "param: 0x7", "mine.yaml:24: unknown key 'param' in relocatable (did you mean 'params'? known: "),
    ("table: 0x701ff000", "table: 0x701ff800", "mine.yaml:24: relocatable.table: 0x701ff800 is not a multiple of the "),
    ("model: 0x70200000", "model: 0x70400000", "mine.yaml:24: relocatable.model: 0x70400000 is outside X [0x70000000"),
    ("params: 0x70300000", "params: 0x30000000", "mine.yaml:24: relocatable.params: 0x30000000 is not in a memory of"),
    ("params: 0x70300000", "params: here", "mine.yaml:24: relocatable.params: must be a number, this is 'here'"),
    ("ext_ram: DATA", "ext_ram: DTA", "mine.yaml:24: relocatable.ext_ram: no memory 'DTA' (did you mean 'DATA'?"),
    ("ext_ram: DATA", "ext_ram: NOR", "mine.yaml:24: relocatable.ext_ram: NOR is not RAM (activations of models"),
]


def test_own_slots_of_relocatable_models(write: Writer) -> None:
    board = boards.load("mine", [write(LOADS)])
    assert board.relocatable == LoadSlots(0x701FF000, 0x70200000, 0x70300000, "DATA")
    assert board.place("relocatable.model") == "mine.yaml:24"
    assert boards.load("mine", [write(LOADS.replace(", ext_ram: DATA", ""))]).relocatable == LoadSlots(
        0x701FF000, 0x70200000, 0x70300000
    )
    moved = write("schema: 1\nbase: stm32n6570-dk\nrelocatable: {model: 0x72000000}\n", "moved.yaml")
    assert boards.load("moved", [moved]).relocatable == LoadSlots(0x70FF0000, 0x72000000, 0x71800000, "xSPI1")


@pytest.mark.parametrize("flash", ["size: 16M", "sector: 128K"])
def test_slots_of_a_base_board_with_another_flash(write: Writer, flash: str) -> None:
    """A small flash is no mistake as long as nobody loads models; a slot of one's own that does not fit is one."""
    text = f"schema: 1\nbase: stm32n6570-dk\nflash: {{{flash}}}\n"
    assert boards.load("other", [write(text, "other.yaml")]).relocatable is None
    said = refusal(write(text + "relocatable: {table: 0x70201000}\n", "own.yaml"))
    assert re.search(r"(own|stm32n6570-dk)\.yaml:\d+: relocatable\.(table|model): 0x7\d+ is ", said)


@pytest.mark.parametrize(
    ("old", "new", "said"), BAD_LOADS, ids=[f"{index}-{b[1].strip()[:24]}" for index, b in enumerate(BAD_LOADS)]
)
def test_refused_slots_of_relocatable_models(write: Writer, old: str, new: str, said: str) -> None:
    assert LOADS.count(old) == 1, old
    assert refusal(write(LOADS.replace(old, new))).startswith(said)


def test_own_boot_chain(write: Writer) -> None:
    board = boards.load("mine", [write(BOOTS)])
    assert board.boot == Boot("app", 0x30000000, 128 << 10, 0x400)
    assert board.windows == (FlashWindow("NOR", 0x5802A000, 0x30000001, 0x30000001, 0x56028260, 12, True),)
    assert board.place("boot") == "mine.yaml:24"
    assert board.place("slots.app") == "mine.yaml:23"


@pytest.mark.parametrize(
    ("old", "new", "said"), BAD_BOOTS, ids=[f"{index}-{b[1].strip()[:24]}" for index, b in enumerate(BAD_BOOTS)]
)
def test_refused_boot_chains(write: Writer, old: str, new: str, said: str) -> None:
    assert BOOTS.count(old) == 1, old
    assert refusal(write(BOOTS.replace(old, new))).startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "said"), BAD, ids=[f"{index}-{b[1].strip()[:24]}" for index, b in enumerate(BAD)]
)
def test_refusals(write: Writer, old: str, new: str, said: str) -> None:
    assert OWN.count(old) == 1, old
    assert refusal(write(OWN.replace(old, new))) == said


def test_unknown_board_names_the_asker() -> None:
    with pytest.raises(NeuralArtError) as caught:
        boards.load("stm32n6570_dk", (), "variants.yaml:15")
    assert str(caught.value) == (
        f"variants.yaml:15: no board 'stm32n6570_dk' (did you mean 'stm32n6570-dk'? known: {', '.join(ALL)})"
    )


@pytest.mark.parametrize("name", ["../families/stm32n6", "families/stm32n6", "", ".", "stm32n6570-dk.yaml"])
def test_a_board_is_no_path(name: str) -> None:
    with pytest.raises(NeuralArtError, match=r"^x: no board '"):
        boards.load(name, (), "x")


def test_what_clashes_with_the_family_is_placed_in_the_own_file(write: Writer) -> None:
    path = write("schema: 1\nfamily: stm32n6\ntitle: T\n\nmemory:\n  AXISRAM3:\n    size: 512K\n")
    assert refusal(path) == (
        "mine.yaml:6: memory.AXISRAM3: alias [0x24200000, 0x24280000) overlaps AXISRAM4 alias [0x24270000, 0x242e0000)"
    )


def test_what_is_missing_is_placed_in_the_own_file(write: Writer) -> None:
    path = write("schema: 1\nfamily: stm32n6\ntitle: T\n\nmemory:\n  AXISRAM7:\n    size: 512K\n")
    assert refusal(path) == "mine.yaml:6: memory.AXISRAM7: 'base' is missing"


def test_own_files_are_told_apart(write: Writer) -> None:
    stock = write(OWN, "stm32n6570-dk.yaml")
    assert refusal(stock) == (
        "stm32n6570-dk.yaml: board 'stm32n6570-dk' is built in "
        "(give the file another name and begin it with 'base: stm32n6570-dk')"
    )
    one, other = write(OWN, "a/mine.yaml"), write(OWN, "b/mine.yaml")
    assert refusal(one, other) == f"{other}: board 'mine' has two files, the other is {one} (rename one)"
    assert boards.names([one, one]) == tuple(sorted(("mine", *ALL))), "the same file twice is one board"
    text = write(OWN, "mine.txt")
    assert refusal(text) == "mine.txt: not the name of a board file (NAME.yaml, with letters, digits, '.', '_', '-')"


def test_missing_own_file(write: Writer) -> None:
    assert refusal(Path("no.yaml")) == "no.yaml: cannot read: No such file or directory (is this the right folder?)"
    assert boards.names([Path("no.yaml")]) == tuple(sorted(("no", *ALL))), "nothing is opened to list names"


def test_boards_based_on_each_other(write: Writer) -> None:
    a = write("schema: 1\nbase: b\n", "a.yaml")
    b = write("schema: 1\nbase: a\n", "b.yaml")
    assert refusal(a, b) == "b.yaml:2: base: 'a' is based on this very board"


# The command -----------------------------------------------------------------------------------------------------


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["boards"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["BOARD", "TARGET", "CPU", "MACHINES", "TITLE"]
    assert [line.split()[0] for line in lines[1:]] == list(ALL)


def test_memory_map(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["boards", "stm32n6570-dk"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "AXISRAM5 0x342e0000 0x242e0000 448K ram npu npuRAM5 off clock bit 2, RAMCFG+0x200 bit 20" in lines
    assert "xSPI2 0x70000000 - 128M flash cpu+npu octoFlash on -" in lines
    assert "code: 0x34000400, 1023K, from FLEXRAM" in lines
    assert all(line == line.strip() for line in lines)


def test_json(capsys: pytest.CaptureFixture[str], write: Writer) -> None:
    path = write(OWN)
    assert cli.main(["boards", "--json", "--board-file", str(path)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [board["name"] for board in listed] == sorted(("mine", *ALL))
    assert cli.main(["boards", "mine", "--json", "--board-file", str(path)]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one in listed
    assert one["memory"][1]["base"] == 0x30000000


def test_command_refuses_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["boards", "nucleo"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("neuralart boards: error: no board 'nucleo' (did you mean 'nucleo-h743zi'? known: ")
    assert said.count("\n") == 1


# What other rooms know a board by ---------------------------------------------------------------------------------


def test_facts_that_other_rooms_ask_for_are_data(write: Writer) -> None:
    disco = write("schema: 1\nbase: stm32h747i-disco\ntitle: mine", "mine.yaml")
    assert boards.load("mine", [disco]).firmware == "stm32h747i-disco", "it is linked with the files of its base"
    own = write("schema: 1\nbase: mine\ntitle: other\nfirmware: other", "other.yaml")
    assert boards.load("other", [disco, own]).firmware == "other"
    assert [name for name in boards.names() if boards.load(name).narrow_display] == ["nucleo-n657x0-q"]
    mapped = {name for name in boards.names() if boards.load(name).in_external_ram(0x90000000)}
    assert mapped == {"nucleo-n657x0-q", "stm32n6570-dk", "stm32n6570-dk-psram"}
    assert not boards.load("stm32n6570-dk").in_external_ram(0xA0000000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("external_ram: {base: 0x90000000}", "external_ram: 'size' is missing"),
        ("external_ram: {base: 0x90000000, size: 256M, kind: ram}", "unknown key 'kind' in external_ram"),
        ("external_ram: {base: 0xF0000000, size: 512M}", "runs over the end of the address space"),
        ("external_ram: {base: 0, size: 0}", "external_ram.size: 0 is out of range"),
        ("firmware: ../elsewhere", "firmware: '../elsewhere' is not one word"),
        ("narrow_display: 1", "narrow_display: must be true or false"),
    ],
)
def test_facts_that_other_rooms_ask_for_are_checked(write: Writer, text: str, said: str) -> None:
    own = write(f"schema: 1\nbase: stm32h747i-disco\ntitle: mine\n{text}", "mine.yaml")
    with pytest.raises(NeuralArtError) as caught:
        boards.load("mine", [own])
    assert said in str(caught.value) and "mine.yaml:4" in str(caught.value)


def test_no_code_knows_a_board_by_its_name_or_target() -> None:
    """What differs between boards is in their files; the words of a compiler's command line are not about boards."""
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    asked = re.compile(r"board\.(?:name|target) *(?:==|!=|in\b|not in\b) *[\"({]|\.get\(board\.(?:name|target)")
    assert [str(path.relative_to(PACKAGE)) for path, text in texts.items() if asked.search(text)] == []


# The documentation -----------------------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_documented_boards_are_right(write: Writer) -> None:
    blocks = [block.split("```")[0] for block in (DOCS / "boards.md").read_text().split("```yaml\n")[1:]]
    whole = [block for block in blocks if block.startswith("schema: 1")]
    assert len(whole) == 2
    write("{}", "pools/camera.mpool")
    write("{}", "profiles/camera.json")
    camera, bench = (write(block, f"doc{index}.yaml") for index, block in enumerate(whole))
    assert boards.load("doc0", [camera]).region_at(0x90000000) is None
    assert boards.load("doc0", [camera]).flash["size"] == 32 << 20
    assert boards.load("doc1", [bench]).region("RAM").size == 96 << 10


def test_documented_map_is_the_map() -> None:
    text = (DOCS / "boards.md").read_text()
    rows = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")]
        for line in text.splitlines()
        if "| 0x" in line
    }
    memory = boards.load("stm32n6570-dk").memory
    assert set(rows) == {region.name for region in memory}
    for region in memory:
        row = rows[region.name]
        assert row[2] == region.pool_name
        assert int(row[3], 16) == region.base
        assert row[4] == ("" if region.alias is None else f"0x{region.alias:08x}")
        enable = region.enable or Enable()
        assert row[6] == ("" if enable.clock_bit is None else str(enable.clock_bit))
        assert row[7] == ("" if enable.ramcfg_offset is None else f"0x{enable.ramcfg_offset:03x}")
        assert row[8] == (
            "mapped by the boot chain" if region.kind == "flash" else "on" if region.on_at_reset else "off"
        )
        assert row[9] == ("" if region.risaf is None else str(region.risaf))
    assert [name for name in boards.names() if f"| `{name}` |" not in text] == []
