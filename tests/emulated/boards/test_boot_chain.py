"""Flash, boot chain and start-up on the virtual STM32N6: what works, and which name each mistake gets."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan as plans
from neuralart.flashing.nor import Nor, chip_of, program_plan
from neuralart.network import facts as network_facts
from neuralart_virtual.emulator import Difference, LinkFailure, MachineStop, boot_chain, runner
from neuralart_virtual.emulator.coherency import Conditions, watched_ranges
from neuralart_virtual.emulator.image import read_elf, read_raw
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from support.boards.firmware import (
    N6_STEPS,
    WEIGHTS,
    Builder,
    application,
    have_gcc,
    have_qemu,
    maintain,
    memory_init,
    store_bytes,
    write_plan,
)

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]

FLASH = 0x71000000
ALL = tuple(N6_STEPS)
# Weights in RAM do not begin at a line of the cache: its borders matter.
WEIGHTS_IN_RAM = 0x342E1008
DCCIMVAC, DCCMVAC, DCIMVAC, DCCISW = 0xE000EF70, 0xE000EF68, 0xE000EF5C, 0xE000EF74
COPY = store_bytes(FLASH, WEIGHTS_IN_RAM)
CLEAN = maintain(DCCIMVAC, WEIGHTS_IN_RAM)


@pytest.fixture(scope="module")
def board():
    return boards.load("stm32n6570-dk")


@pytest.fixture(scope="module")
def builder(tmp_path_factory, board):
    return Builder(tmp_path_factory.mktemp("n6"), board, "unicorn", FLASH, 0x342E0000)


@pytest.fixture(scope="module")
def ram_builder(tmp_path_factory, board):
    return Builder(tmp_path_factory.mktemp("ram"), board, "unicorn", WEIGHTS_IN_RAM, 0x342E0000)


def start_up(*statements: str, steps: tuple[str, ...] = ALL) -> str:
    return memory_init(steps).replace("return 0;", "".join(statements) + "return 0;")


@pytest.fixture
def image(builder, tmp_path):
    return builder.image(tmp_path, memory=memory_init(ALL))


@pytest.fixture
def boot(board, tmp_path):
    """Writes a flash by a plan of an image, and boots it."""

    def go(image, *, on=None, code=None, flash_weights=True, timeout=5.0, notes=None, **more):
        where = on or board
        nor = Nor(chip_of(where))
        plan = plans.read(write_plan(tmp_path / "plan", where, image, code=code))
        if flash_weights:
            program_plan(plan, nor, top=tmp_path / "plan")
        else:
            program_plan(plan, nor, "application", tmp_path / "plan")
        return runner.run(
            where,
            "unicorn",
            image.elf,
            (),
            [runner.NetworkRun(image.network, image.vectors)],
            surroundings=Conditions(nor, **more),
            timeout=timeout,
            on_note=None if notes is None else notes.append,
        )

    return go


@pytest.fixture
def power_up(board):
    """A board that has come out of the boot chain, and did not run yet."""

    def go(image, code, on=None):
        where = on or board
        nor = Nor(chip_of(where))
        nor.program(where.slots["application"] - nor.chip.base, code)
        return UnicornBoard(where, where.machines["unicorn"], read_elf(image.elf), conditions=Conditions(nor))

    return go


# ---- the boot chain ----


def test_it_boots_from_flash(boot, image):
    result = boot(image)
    assert [(n.name, n.vectors) for n in result.networks] == [("toy", 5)]
    assert result.notes == ()


def test_an_empty_slot_is_named(board, image):
    with pytest.raises(MachineStop) as caught:
        runner.run(
            board,
            "unicorn",
            image.elf,
            (),
            [runner.NetworkRun(image.network, image.vectors)],
            surroundings=Conditions(Nor(chip_of(board))),
        )
    assert str(caught.value).startswith(
        "application slot is empty: nothing was flashed (0x70100400, where the vector table should be, is erased)"
    )


def test_a_slot_with_something_else_starts_nothing(board, boot, image):
    said = re.escape(
        "application slot (0x70100000): no image header at 0x0: it does not begin with STM2; the boot chain"
    )
    with pytest.raises(MachineStop, match=said):
        boot(image, code=bytes(0x800))
    unread = replace(board, boot=replace(board.boot, header_version=""))
    with pytest.raises(MachineStop, match="the vector table at 0x34000400 starts nothing: stack 0x00000000"):
        boot(image, code=bytes(4096), on=unread)


@pytest.mark.parametrize(
    ("at", "value", "problem"),
    [
        (0x64, 1, "checksum 0x00000001, the payload has 0x"),
        (0x6C, 1 << 27, "truncated: "),
        (0x6C, 0x3E0, "checksum 0x"),
        (0x70, 0x34000401, "entry 0x34000401 is not the reset handler 0x"),
        (0x78, 0x34000000, "load address 0x34000000, not 0xffffffff"),
        (0x8C, 1, "binary type 0x1 is neither"),
        (0x404, 0, "checksum 0x"),
        (0x500, 0, "checksum 0x"),
    ],
)
def test_an_image_that_its_header_does_not_describe_is_not_started(board, boot, image, at, value, problem):
    whole = bytearray(application(image))
    whole[at : at + 4] = value.to_bytes(4, "little")
    with pytest.raises(MachineStop, match=re.escape(f"application slot (0x70100000): {problem}")):
        boot(image, code=bytes(whole))


def test_an_image_that_was_flashed_in_part_is_not_started(board, boot, image):
    with pytest.raises(MachineStop, match=r"checksum 0x.*; the boot chain does not start it"):
        boot(image, code=application(image)[:-64])


def test_exactly_as_many_bytes_as_the_board_says_are_copied(board, image, power_up):
    whole = application(image)
    pattern = bytes(n % 251 for n in range((1 << 20) + 4096 - len(whole)))
    machine = power_up(image, whole + pattern)
    size = board.boot.copy_size
    assert size == 1 << 20
    assert machine.memory(0x34000000, size) == (whole + pattern)[:size]
    assert machine.memory(0x34000000 + size, 64) == b"\xa5" * 64
    assert machine.memory(0x70100000 + size, 64) == (whole + pattern)[size : size + 64]


def test_the_tail_of_a_larger_image_is_missing(board, image, power_up, boot):
    whole = application(image)
    size = len(whole) // 2 // 4 * 4 + 2
    short = replace(board, boot=replace(board.boot, copy_size=size))
    machine = power_up(image, whole, short)
    assert machine.memory(0x34000000, size + 6) == whole[:size] + b"\xa5" * 6
    (note,) = machine.notes
    # The image is padded behind it.
    end = 0x34000400 + image.elf.with_suffix(".bin").stat().st_size
    assert note.startswith(f"the boot chain copies {size} bytes, up to 0x{0x34000000 + size:08x}: missing, in part")
    assert re.search(rf"\.data \[0x3400\w+, 0x{end:08x}\) of", note)
    with pytest.raises(MachineStop):
        boot(image, on=short, timeout=1.0)


def test_what_stands_behind_the_image_is_copied_as_well(image, power_up):
    machine = power_up(image, application(image))
    end = 0x34000000 + len(application(image))
    assert machine.memory(end, 0x34100000 - end) == b"\xff" * (0x34100000 - end)


def test_a_moved_slot(board, boot, image):
    moved = replace(board, slots={**board.slots, "application": 0x70400000})
    assert boot(image, on=moved).networks[0].vectors == 5
    outside = replace(board, slots={**board.slots, "application": 0x77F80000})
    with pytest.raises(NeuralArtError, match=r"slot application .0x77f80000, 0x78080000. is not within the flash"):
        boot(image, on=outside)
    unknown = replace(board, boot=replace(board.boot, slot="app"))
    with pytest.raises(NeuralArtError, match="the boot chain starts slot 'app'"):
        boot(image, on=unknown)


def test_another_firmware_in_the_slot_runs_without_names(builder, boot, image, tmp_path):
    other = builder.image(tmp_path / "other", memory=memory_init((), returns=3))
    notes = []
    with pytest.raises(LinkFailure, match="npu_memory_init returned: 3"):
        boot(image, code=application(other), notes=notes)
    (note,) = notes
    assert re.match(r"slot application \(0x70100000\) does not hold \S+firmware.elf: at 0x3400\w+ it has 0x", note)


def test_a_board_without_a_boot_chain_takes_the_image_in_place(board, boot, image):
    result = boot(image, on=replace(board, boot=None))
    assert result.networks[0].vectors == 5
    assert "has no boot chain" in result.notes[0]


def test_a_raw_file_beside_a_flash_is_refused(board, image):
    with pytest.raises(NeuralArtError, match=r"weights.raw is to be loaded into a board that boots from its flash"):
        runner.run(
            board,
            "unicorn",
            image.elf,
            [(image.weights, FLASH)],
            [runner.NetworkRun(image.network, image.vectors)],
            surroundings=Conditions(Nor(chip_of(board))),
        )


# ---- memory-mapped windows ----


def test_flash_that_is_not_mapped(boot, image):
    with pytest.raises(MachineStop) as caught:
        boot(image, xspi_unmapped=True)
    assert re.fullmatch(
        r"read at 0x71000000 by add_weights\S* \(pc 0x34\w{6}\): xSPI2 is not memory mapped, "
        r"the controller of xSPI2 has no clock: set bit 12 of 0x56028260",
        str(caught.value),
    )


MAP = "*(volatile uint32_t *)0x56028260u |= 1u << 12; *(volatile uint32_t *)0x5802A000u = 0x30000001u;"


def test_the_firmware_may_map_it(builder, boot, tmp_path):
    image = builder.image(tmp_path, memory=start_up(MAP))
    assert boot(image, xspi_unmapped=True).networks[0].vectors == 5


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("*(volatile uint32_t *)0x5802A000u = 0;", r"write at 0x5802a000 .*the controller of xSPI2 has no clock"),
        (
            MAP.replace("0x30000001u", "0x10000001u") + "(void)*(volatile uint32_t *)0x71000000u;",
            r"xSPI2 is not memory mapped: the control register of its controller \(0x5802a000\) is 0x10000001, "
            r"its bits 0x30000001 must be 0x30000001",
        ),
        (
            MAP + "(void)*(volatile uint32_t *)0x71000000u; *(volatile uint32_t *)0x5802A000u = 1;"
            "(void)*(volatile uint32_t *)0x71000000u;",
            r"read at 0x71000000 .*xSPI2 is not memory mapped: .* is 0x00000001",
        ),
        ("*(volatile uint32_t *)0x90000000u = 1;", r"write at 0x90000000 .*xSPI1 is not memory mapped"),
    ],
)
def test_windows_that_do_not_answer(builder, boot, tmp_path, statements, message):
    with pytest.raises(MachineStop, match=message):
        boot(builder.image(tmp_path, memory=start_up(statements)), xspi_unmapped=True)


def test_the_control_register_says_what_the_boot_chain_left(builder, boot, tmp_path):
    image = builder.image(
        tmp_path, memory=start_up("if (*(volatile uint32_t *)0x5802A000u != 0x30000001u) { return 9; }\n")
    )
    assert boot(image).networks[0].vectors == 5
    # The other controller has no clock, and psram does not keep what was never stored.
    image = builder.image(tmp_path, memory=start_up("(void)*(volatile uint32_t *)0x58025000u;"))
    with pytest.raises(MachineStop, match=r"read at 0x58025000 .*the controller of xSPI1 has no clock: set bit 5"):
        boot(image)


# ---- banks ----


def without(*steps: str) -> tuple[str, ...]:
    return tuple(step for step in ALL if step not in steps)


@pytest.mark.parametrize("dead_bank", ["fault", "zeros"])
@pytest.mark.parametrize("steps", [(), without("clock"), without("shutdown")])
def test_a_bank_that_is_off(builder, boot, tmp_path, dead_bank, steps):
    image = builder.image(tmp_path, memory=memory_init(steps))
    if dead_bank == "fault":
        with pytest.raises(MachineStop, match=r"write at 0x342e0000 by \w+.*: AXISRAM5 (has no clock|is shut down)"):
            boot(image)
        return
    with pytest.raises(Difference, match=r"toy: vector 0, output 'scores' index \d+: expected -?\d+, got 0"):
        boot(image, dead_bank="zeros")


def test_what_reads_as_zeros_is_noted(builder, boot, tmp_path):
    image = builder.image(tmp_path, memory=memory_init(()))
    notes = []
    with pytest.raises(Difference):
        boot(image, notes=notes, dead_bank="zeros")
    assert re.match(
        r"first write of AXISRAM5 while it is off, at 0x342e0000 by \w+.*: reads give zeros, writes vanish", notes[0]
    )


@pytest.mark.parametrize("dead_bank", ["fault", "zeros"])
@pytest.mark.parametrize("order", [("shutdown", "clock", "ramcfg-clock"), ("clock", "shutdown", "ramcfg-clock")])
def test_the_wrong_order(builder, boot, tmp_path, dead_bank, order):
    # RAMCFG without a clock stops the run in both modes: on silicon it faults, whatever banks do.
    image = builder.image(tmp_path, memory=memory_init(order))
    with pytest.raises(MachineStop, match=r"read at 0x52023200 by npu_memory_init.*RAMCFG has no clock"):
        boot(image, dead_bank=dead_bank)


@pytest.mark.parametrize("dead_bank", ["fault", "zeros"])
def test_out_of_shutdown_without_a_clock(builder, boot, tmp_path, dead_bank):
    """Clocks first: whether a bank that is turned on the other way round answers is not documented."""
    image = builder.image(tmp_path, memory=memory_init(("ramcfg-clock", "shutdown", "clock")))
    if dead_bank == "fault":
        with pytest.raises(
            MachineStop, match=r"AXISRAM5 left shutdown before it had a clock: set its bit of RCC_MEMENR"
        ):
            boot(image)
        return
    with pytest.raises(Difference):
        boot(image, dead_bank="zeros")


BANK = "volatile uint32_t *bank = (volatile uint32_t *)0x342E0000u, *other = (volatile uint32_t *)0x242E0000u;"
OFF, ON = "*(volatile uint32_t *)0x52023200u |= 1u << 20;", "*(volatile uint32_t *)0x52023200u &= ~(1u << 20);"


@pytest.mark.parametrize(
    ("action", "code"),
    [
        # Off: zeros through both aliases, whatever is stored; halfwords and bytes as well.
        (f"*bank = 1; {OFF} return *bank == 0 && *other == 0 ? 71 : 72;", 71),
        (f"{OFF} *bank = 5; return *bank == 0 ? 71 : 72;", 71),
        (f"{OFF} ((volatile uint8_t *)bank)[3] = 5; return ((volatile uint8_t *)bank)[3] == 0 ? 71 : 72;", 71),
        # On again: not zeros and not what was there.
        (f"*bank = 1; {OFF} *bank = 5; {ON} return *bank == 0xA5A5A5A5u && *other == 0xA5A5A5A5u ? 71 : 72;", 71),
        (f"{OFF} *bank = 5; {ON} *bank = 6; return *other == 6 ? 71 : 72;", 71),
        # A stopped clock keeps the contents, also behind the zeros.
        (
            "*bank = 7; *(volatile uint32_t *)0x5602924Cu = 4; uint32_t off = *bank; *bank = 9;"
            " *(volatile uint32_t *)0x56028A4Cu = 4; return off == 0 && *bank == 7 ? 71 : 72;",
            71,
        ),
        # Other banks are what they were.
        (f"volatile uint32_t *on = (volatile uint32_t *)0x34100000u; {OFF} *on = 3; return *on == 3 ? 71 : 72;", 71),
    ],
)
def test_a_bank_that_reads_as_zeros(builder, boot, tmp_path, action, code):
    memory = memory_init(ALL).replace("return 0;", f"{BANK} (void)other; (void)bank; {action}")
    with pytest.raises(LinkFailure, match=f"npu_memory_init returned: {code}"):
        boot(builder.image(tmp_path, memory=memory), dead_bank="zeros")


def test_code_in_a_bank_that_reads_as_zeros(builder, boot, tmp_path):
    memory = memory_init(()).replace(
        "return 0;", f"{BANK} (void)other; *bank = 1; ((void (*)(void))0x342E0001u)(); return 0;"
    )
    with pytest.raises(MachineStop, match=r"fetch at 0x342e0000 .*AXISRAM5 has no clock"):
        boot(builder.image(tmp_path, memory=memory), dead_bank="zeros")


def test_windows_do_not_read_as_zeros(boot, image):
    with pytest.raises(MachineStop, match="xSPI2 is not memory mapped"):
        boot(image, dead_bank="zeros", xspi_unmapped=True)


def test_an_unknown_mode(boot, image):
    with pytest.raises(NeuralArtError, match=r"dead bank 'zeroes' .did you mean 'zeros'"):
        boot(image, dead_bank="zeroes")


# ---- cache maintenance ----


@pytest.mark.parametrize("clean", [CLEAN, maintain(DCCMVAC, WEIGHTS_IN_RAM), maintain(DCCIMVAC, 0x242E1008)])
def test_weights_that_are_copied_and_cleaned(ram_builder, boot, tmp_path, clean):
    image = ram_builder.image(tmp_path, memory=start_up(COPY, clean), pool="npuRAM5")
    assert boot(image).networks[0].vectors == 5


@pytest.mark.parametrize(
    ("statements", "how"),
    [
        ((COPY,), "not cleaned"),
        ((CLEAN, COPY), "not cleaned"),
        ((COPY, CLEAN, "*(volatile uint8_t *)0x342E1010u = 0;"), "not cleaned"),
        ((COPY, maintain(DCIMVAC, WEIGHTS_IN_RAM)), "invalidated instead of cleaned"),
        ((COPY, maintain(DCCISW, WEIGHTS_IN_RAM)), "not cleaned"),
        ((COPY, maintain(DCCIMVAC, WEIGHTS_IN_RAM + 0x100)), "not cleaned"),
    ],
)
@pytest.mark.parametrize("dead_bank", ["fault", "zeros"])
def test_a_cache_that_is_not_maintained(ram_builder, boot, tmp_path, statements, how, dead_bank):
    image = ram_builder.image(tmp_path, memory=start_up(*statements), pool="npuRAM5")
    with pytest.raises(MachineStop) as caught:
        boot(image, dead_bank=dead_bank)
    assert re.match(
        rf"cache not maintained: 16 bytes of pool npuRAM5 of network toy, between 0x342e1000 and 0x342e1020, "
        rf"were stored by the core and {how} before the first epoch \(LL_ATON_RT_\w+\)",
        str(caught.value),
    )


def test_weights_across_two_lines(tmp_path, tmp_path_factory, board, boot):
    builder = Builder(tmp_path_factory.mktemp("lines"), board, "unicorn", 0x342E1018, 0x342E0000)
    copy = store_bytes(FLASH, 0x342E1018)
    image = builder.image(tmp_path, memory=start_up(copy, maintain(DCCIMVAC, 0x342E1018, 1)), pool="npuRAM5")
    with pytest.raises(MachineStop, match=r"cache not maintained: 8 bytes of pool npuRAM5 .*0x342e1020 and 0x342e1040"):
        boot(image)
    image = builder.image(tmp_path, memory=start_up(copy, maintain(DCCIMVAC, 0x342E1018)), pool="npuRAM5")
    assert boot(image).networks[0].vectors == 5


def test_inputs_are_not_weights(ram_builder, boot, tmp_path):
    # The application stores inputs into the same pool at every inference: they are its own business.
    image = ram_builder.image(
        tmp_path, memory=start_up(COPY, CLEAN, "*(volatile uint32_t *)0x342E0000u = 1;"), pool="npuRAM5"
    )
    assert boot(image).networks[0].vectors == 5


# RCC: CACHEAXIEN in AHB5ENR, RIFSCEN in AHB3ENR.
CLOCKS = "*(volatile uint32_t *)0x56028260u |= 1u << 30; *(volatile uint32_t *)0x56028258u |= 1u << 9;"


NPU_CACHE_ON = "*(volatile uint32_t *)0x580DFC00u = 1;"
COMMAND = "".join(
    f"*(volatile uint32_t *)0x{0x580DFC00 + at:x}u = 0x{value:x}u;"
    for at, value in ((0x104, 0x342E1000), (0x108, 0x342E1000), (0x100, 7))
)


def cached_pools(image):
    """The NPU reads all pools through its cache."""
    data = json.loads(image.network.read_text("utf-8"))
    for pool in data["pools"]:
        pool["cacheable"] = True
    image.network.write_text(json.dumps(data), "utf-8")
    return image


@pytest.mark.parametrize(
    ("statements", "fits"),
    [
        ((NPU_CACHE_ON, COPY, CLEAN), False),
        ((NPU_CACHE_ON, COMMAND, COPY, CLEAN), False),
        ((NPU_CACHE_ON, COPY, CLEAN, COMMAND.replace("342e1000", "342e1040")), False),
        ((NPU_CACHE_ON, COPY, CLEAN, COMMAND), True),
        # It starts empty: what memory holds by then is what is read.
        ((COPY, CLEAN, NPU_CACHE_ON), True),
        ((COPY, CLEAN), True),
    ],
)
def test_npu_cache_that_is_not_maintained(ram_builder, boot, tmp_path, statements, fits):
    image = cached_pools(ram_builder.image(tmp_path, memory=start_up(CLOCKS, *statements), pool="npuRAM5"))
    if fits:
        assert boot(image).networks[0].vectors == 5
        return
    with pytest.raises(MachineStop, match=r"NPU cache not maintained: 16 bytes of pool npuRAM5 of network toy"):
        boot(image)


def test_npu_cache_does_not_matter_to_other_pools(ram_builder, boot, tmp_path):
    image = ram_builder.image(tmp_path, memory=start_up(CLOCKS, NPU_CACHE_ON, COPY, CLEAN), pool="npuRAM5")
    assert boot(image).networks[0].vectors == 5


def test_memory_of_the_npu_cache_while_it_is_on(builder, boot, tmp_path):
    use = "*(volatile uint32_t *)0x5602824Cu |= 1u << 10; *(volatile uint32_t *)0x343C0000u = 1;"
    assert boot(builder.image(tmp_path / "off", memory=start_up(CLOCKS, use))).networks[0].vectors == 5
    image = builder.image(tmp_path / "on", memory=start_up(CLOCKS, NPU_CACHE_ON, use))
    with pytest.raises(MachineStop, match=r"CACHEAXI is the memory of the NPU cache, which is on: clear EN"):
        boot(image)


def test_maintenance_is_logged(ram_builder, board, tmp_path):
    npu = "".join(
        f"*(volatile uint32_t *)0x{0x580DFC00 + at:x}u = 0x{value:x}u;"
        for at, value in ((0x104, 0x342E1000), (0x108, 0x342E103F), (0x100, 7))
    )
    wait = "while (!(*(volatile uint32_t *)0x580DFC04u & 16u)) {}"
    rif = "*(volatile uint32_t *)0x54024C14u = 0x310u; if (*(volatile uint32_t *)0x54024C14u != 0x310u) return 8;"
    image = ram_builder.image(tmp_path, memory=start_up(COPY, CLEAN, CLOCKS, npu, wait, rif), pool="npuRAM5")
    nor = Nor(chip_of(board))
    nor.program(0x100000, application(image))
    nor.program(0x1000000, WEIGHTS)
    watched = watched_ranges(board, [network_facts.load(image.network)])
    machine = UnicornBoard(
        board, board.machines["unicorn"], read_elf(image.elf), conditions=Conditions(nor, watched=watched)
    )
    while b"H" not in machine.read(1.0):
        continue
    assert machine.maintenance == ["DCCIMVAC 0x342e1000", "CACHEAXI clean and invalidate 0x342e1000..0x342e103f"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (0x580DFC04, r"read at 0x580dfc04 .*: CACHEAXI has no clock: set bit 30 of 0x56028260"),
        (0x54024C14, r"read at 0x54024c14 .*: RIFSC has no clock: set bit 9 of 0x56028258"),
    ],
)
def test_peripherals_without_a_clock(builder, boot, tmp_path, address, message):
    read = f"(void)*(volatile uint32_t *)0x{address:x}u;"
    with pytest.raises(MachineStop, match=message):
        boot(builder.image(tmp_path / "off", memory=start_up(read)))
    image = builder.image(tmp_path / "on", memory=start_up(CLOCKS, read))
    assert boot(image).networks[0].vectors == 5


def test_a_reset_is_named(builder, boot, tmp_path):
    image = builder.image(tmp_path, memory=start_up("*(volatile uint32_t *)0xE000ED0Cu = 0x05FA0004u;"))
    with pytest.raises(MachineStop, match=r"the firmware asks for a reset \(AIRCR\) near npu_memory_init"):
        boot(image)


# ---- the external loader ----

WAIT = "void npu_memory_external_loader(void);"
LOADER = '__attribute__((noinline)) void npu_memory_external_loader(void) { __asm__ volatile("nop" ::: "memory"); }\n'


def waiting(*statements: str, steps: tuple[str, ...] = ALL) -> str:
    text = start_up(*statements, "npu_memory_external_loader();", steps=steps)
    return text.replace("int npu_memory_init", f"{WAIT}\n{LOADER}int npu_memory_init", 1)


def test_the_external_loader_loads_while_the_core_waits(ram_builder, boot, tmp_path):
    image = ram_builder.image(tmp_path, memory=waiting(), pool="npuRAM5")
    result = boot(image, flash_weights=False, external=(read_raw(image.weights, WEIGHTS_IN_RAM),))
    assert result.networks[0].vectors == 5 and result.notes == ()
    with pytest.raises(Difference):
        boot(image, flash_weights=False)


@pytest.mark.parametrize("dead_bank", ["fault", "zeros"])
def test_the_external_loader_meets_a_bank_that_is_off(ram_builder, boot, tmp_path, dead_bank):
    image = ram_builder.image(tmp_path, memory=waiting(steps=without("clock")), pool="npuRAM5")
    with pytest.raises(MachineStop) as caught:
        boot(image, external=(read_raw(image.weights, WEIGHTS_IN_RAM),), dead_bank=dead_bank)
    assert re.match(
        r"the external loader cannot write weights.raw to 0x342e1008 while the core waits in "
        r"npu_memory_external_loader \(pc 0x34\w+\): AXISRAM5 has no clock",
        str(caught.value),
    )


def test_an_external_loader_that_nobody_waits_for(builder, boot, image, tmp_path):
    with pytest.raises(NeuralArtError, match="the image has no function npu_memory_external_loader: nothing tells"):
        boot(image, external=(read_raw(image.weights, WEIGHTS_IN_RAM),))
    memory = memory_init(ALL).replace(
        "return 0;", "if (*(volatile uint32_t *)0x71000000u == 3) { WAIT(); }\n return 0;"
    )
    memory = memory.replace("WAIT", "npu_memory_external_loader").replace(
        "int npu_memory_init", f"{WAIT}\n{LOADER}int npu_memory_init", 1
    )
    never = builder.image(tmp_path / "never", memory=memory)
    result = boot(never, external=(read_raw(never.weights, WEIGHTS_IN_RAM),))
    assert result.notes == (
        "the firmware never called npu_memory_external_loader: weights.raw was not loaded to 0x342e1008",
    )
    with pytest.raises(NeuralArtError, match=r"weights.raw is for 0xa0000000..0xa0000010, where no memory is"):
        boot(never, external=(read_raw(never.weights, 0xA0000000),))


# ---- the commands ----


@pytest.fixture
def words(board, image, tmp_path):
    plan = write_plan(tmp_path / "plan", board, image)
    common = ["--elf", str(image.elf), "--network", str(image.network), "--vectors", str(image.vectors)]
    run = ["run", "--board", board.name, "--machine", "unicorn", *common]
    top = ["--top", str(plan.parent)]
    return run, plan, top


def test_run_by_plan(words, capsys, tmp_path):
    run, plan, top = words
    before = sorted(tmp_path.rglob("*"))
    assert cli.main([*run, "--plan", str(plan), *top]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("toy: 5 vectors bit-exact on unicorn")
    assert captured.err == ""
    assert sorted(tmp_path.rglob("*")) == before
    (plan.parent / "weights.bin").write_bytes(bytes(16))
    assert cli.main([*run, "--plan", str(plan), *top]) == 1
    assert "'toy.weights' has changed since the plan was made" in capsys.readouterr().err


def test_a_persistent_flash_over_several_runs(words, image, capsys, tmp_path):
    run, plan, top = words
    nor = tmp_path / "board.nor"
    assert cli.main([*run, "--nor", str(nor)]) == 1
    assert "board.nor: there is no virtual flash yet" in capsys.readouterr().err
    assert cli.main(["flash", "--plan", str(plan), "--nor", str(nor), *top]) == 0
    for _ in range(2):
        assert cli.main([*run, "--nor", str(nor)]) == 0
        assert "bit-exact" in capsys.readouterr().out

    # Other weights, without touching the application: the board computes with them, and says that they differ.
    (plan.parent / "weights.bin").write_bytes(bytes(16))
    rows = list(plans.read(plan).writes)
    rows[1] = plans.write_of("toy.weights", "model", plan.parent / "weights.bin", FLASH, "weights.bin")
    plan.write_text(plans.make("stm32n6570-dk", rows), encoding="utf-8")
    assert cli.main(["verify", "--plan", str(plan), "--nor", str(nor), *top]) == 2
    assert "'toy.weights' differs at 0x71000000" in capsys.readouterr().err
    assert cli.main(["flash", "--plan", str(plan), "--nor", str(nor), "--only", "model", *top]) == 0
    assert "application" not in capsys.readouterr().out
    assert cli.main(["verify", "--plan", str(plan), "--nor", str(nor), *top]) == 0
    assert cli.main([*run, "--nor", str(nor)]) == 2
    assert "toy: vector 0, output 'scores' index" in capsys.readouterr().err


def test_options_of_run(words, board, image, tmp_path, capsys):
    run, plan, top = words
    flash = ["--plan", str(plan), *top]
    assert cli.main([*run, *flash, "--xspi-unmapped"]) == 2
    assert "xSPI2 is not memory mapped" in capsys.readouterr().err
    assert cli.main([*run, *flash, "--slot", "application@0x70200000"]) == 2
    assert "application slot is empty" in capsys.readouterr().err
    assert cli.main([*run, *flash, "--slot", "aplication@0x70200000"]) == 1
    assert "board stm32n6570-dk has no slot 'aplication' (did you mean 'application'?" in capsys.readouterr().err
    assert cli.main([*run, *flash, "--external", f"{image.weights}@0x342E1008"]) == 1
    assert "no function npu_memory_external_loader" in capsys.readouterr().err
    other = [word.replace("stm32n6570-dk", "nucleo-n657x0-q") for word in run]
    assert cli.main([*other, *flash]) == 1
    assert "a plan for board stm32n6570-dk, not for nucleo-n657x0-q" in capsys.readouterr().err
    Nor(chip_of(board)).save(tmp_path / "dk.nor")
    assert cli.main([*other, "--nor", str(tmp_path / "dk.nor")]) == 1
    assert "it is a chip of 134217728 bytes" in capsys.readouterr().err
    for clash in (["--nor", "x"], ["--load", "x@0"]):
        with pytest.raises(SystemExit):
            cli.main([*run, *flash, *clash])
        assert "not allowed with argument" in capsys.readouterr().err


def test_notes_of_a_run_go_to_stderr(builder, board, tmp_path, capsys):
    image = builder.image(tmp_path, memory=memory_init(()))
    plan = write_plan(tmp_path / "plan", board, image)
    words = ["run", "--board", board.name, "--elf", str(image.elf), "--network", str(image.network)]
    words += ["--vectors", str(image.vectors), "--plan", str(plan), "--top", str(plan.parent), "--dead-bank", "zeros"]
    assert cli.main(words) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert any(line.startswith("neuralart run: note: first write of AXISRAM5 while it is off") for line in lines)
    assert any(line.startswith("neuralart run: toy: vector 0, output 'scores'") for line in lines)


# ---- QEMU ----


@pytest.fixture(scope="module")
def an547(tmp_path_factory):
    board = boards.load("mps3-an547")
    builder = Builder(tmp_path_factory.mktemp("an547"), board, "qemu", FLASH, 0x31000000)
    return board, builder.image(tmp_path_factory.mktemp("image"), memory=memory_init(()))


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_qemu_has_the_model_in_memory_and_no_boot_chain(an547, tmp_path, capsys):
    board, image = an547
    weights = tmp_path / "weights.bin"
    weights.write_bytes(WEIGHTS)
    rows = [
        plans.write_of("application", "application", image.elf, 0x70100000, image.elf.as_posix()),
        plans.write_of("toy.weights", "model", weights, FLASH, "weights.bin"),
    ]
    plan = tmp_path / "flash_plan.json"
    plan.write_text(plans.make(board.name, rows), encoding="utf-8")
    words = ["run", "--board", board.name, "--machine", "qemu", "--elf", str(image.elf)]
    words += ["--network", str(image.network), "--vectors", str(image.vectors)]
    assert cli.main([*words, "--plan", str(plan), "--top", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert "toy: 5 vectors bit-exact on qemu" in captured.out
    assert "note: machine qemu has no boot chain: 'application' is not written" in captured.err
    assert cli.main(["flash", "--plan", str(plan), "--nor", str(tmp_path / "x.nor"), "--top", str(tmp_path)]) == 0
    assert cli.main([*words, "--nor", str(tmp_path / "x.nor")]) == 0
    capsys.readouterr()
    for wrong in (["--dead-bank", "zeros"], ["--xspi-unmapped"], ["--external", f"{weights}@0x31000000"]):
        assert cli.main([*words, "--plan", str(plan), "--top", str(tmp_path), *wrong]) == 1
        assert "no external loader (these are for machine unicorn)" in capsys.readouterr().err


def test_media_of_a_plan_for_qemu_checks_the_files(an547, tmp_path):
    board, image = an547
    plan = write_plan(tmp_path, replace(board, slots={"application": 0x70100000}), image)
    found = boot_chain.of_plan(plan, board, board.machines["qemu"], tmp_path)
    assert found.nor is None and found.loads == ((tmp_path / "weights.bin", FLASH),)
    (tmp_path / "application.bin").write_bytes(b"x")
    with pytest.raises(NeuralArtError, match="'application' has changed"):
        boot_chain.of_plan(plan, board, board.machines["qemu"], tmp_path)
