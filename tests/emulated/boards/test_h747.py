"""The H747 application, fitted to a network and run: on the virtual STM32H747 and on QEMU's mps2-an500.

Every image goes the whole way: compile for the CPU, patch the sources, build, run, compare.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import LinkFailure, MachineStop
from support.boards import h747
from support.boards.debugging import Debugged, command, in_order
from support.boards.firmware import have_gcc, have_qemu
from support.boards.h747 import ASPECTS, BOARDS, DIGITS, Built, H747Builder, frame_bytes, gray_input, pools, sensor

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]

# Number of pools -> a memory-pool file with which the digits need so many.
POOLS = {1: ("one", ["AXIRAM"]), 2: ("two", ["AXIRAM", "SDRAM"]), 3: ("three", ["DTCMRAM", "AXIRAM", "SDRAM"])}
VIRTUAL = "stm32h747i-disco"


@pytest.fixture(scope="module")
def builders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, H747Builder]:
    return {name: h747.builder(tmp_path_factory.mktemp(name), name) for name in BOARDS}


@pytest.fixture(
    params=[
        pytest.param(VIRTUAL),
        pytest.param(
            "mps2-an500",
            marks=[pytest.mark.qemu, pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")],
        ),
    ]
)
def builder(request: pytest.FixtureRequest, builders: dict[str, H747Builder]) -> H747Builder:
    return builders[request.param]


@pytest.fixture(scope="module")
def standard(
    builders: dict[str, H747Builder], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[H747Builder], Built]:
    """The image of a board as it is without any wish, built once."""
    return cache(lambda builder: builder.build(tmp_path_factory.mktemp(f"standard-{builder.board.name}")))


def sections(elf: Path) -> dict[str, tuple[int, int]]:
    """Symbol of a buffer -> address and bytes."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        return {s.name: (s["st_value"], s["st_size"]) for s in table.iter_symbols() if "Buffer" in s.name}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_golden_vectors_with_pools(builder: H747Builder, tmp_path: Path, number: int) -> None:
    file, names = POOLS[number]
    built = builder.build(tmp_path, memory_pool=DIGITS / "pools" / f"h747-{file}.json")
    used = [pool.fname for pool in built.result.cpu.placed.activations]
    assert used == names
    placed = sections(built.elf)
    for name in used:
        address, size = placed[f"NN_Activation_Buffer_{name}"]
        start, length = h747.memories(builder.board)[name]
        assert start <= address and address + size <= start + length and address % 32 == 0
    result = builder.run(built)
    assert [(network.name, network.vectors) for network in result.networks] == [("network", 20)]
    assert result.console[0] == f"scons-neuralart camera application on {builder.board.name}"
    assert "cortex-m7" in result.note


def test_golden_vectors_without_a_memory_pool_file(builder: H747Builder, tmp_path: Path) -> None:
    """One heap, which is AXIRAM to applications; weights in several arrays."""
    built = builder.build(tmp_path, split_weights=True)
    assert [a.symbol for a in built.plan.decision.activations] == ["NN_Activation_Buffer_AXIRAM"]
    assert builder.run(built).networks[0].vectors == 20


@pytest.mark.parametrize(
    ("sizes", "pool"),
    [
        ({"SDRAM": 4096}, "SDRAM"),
        ({"AXIRAM": 2048, "SDRAM": 4096}, "SDRAM"),
        ({"DTCMRAM": 300, "AXIRAM": 2048, "SDRAM": 4096}, "DTCMRAM"),
        ({"AXIRAM": 2112}, "AXIRAM"),
    ],
)
def test_the_input_may_lie_in_any_pool(
    builders: dict[str, H747Builder], tmp_path: Path, sizes: dict[str, int], pool: str
) -> None:
    builder = builders[VIRTUAL]
    built = builder.build(tmp_path, memory_pool=pools(tmp_path, **sizes))
    facts = built.result.network
    assert facts.inputs[0].pool == pool
    number = 1 + [each.name for each in built.plan.decision.activations].index(pool)
    patched = (tmp_path / "patched" / "Inc" / "CM7" / "ai_interface.h").read_text()
    assert f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX {number - 1}\n" in patched
    assert f"#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_{number}_SIZE_BYTES\n" in patched
    assert builder.run(built).networks[0].vectors == 20


def test_a_buffer_of_the_application_for_the_input(builder: H747Builder, tmp_path: Path) -> None:
    """The macros that say in which activation buffer it is are left out."""
    built = builder.build(tmp_path, allocate_inputs=False)
    assert built.plan.decision.input is None
    patched = (tmp_path / "patched" / "Inc" / "CM7" / "ai_interface.h").read_text()
    assert "INPUTS_IN_ACTIVATIONS_INDEX" not in patched
    assert builder.run(built).networks[0].vectors == 20


# ---- the camera


def picture_of(aspect: str) -> list[list[int]]:
    """What is captured of the synthetic camera's first picture."""
    if aspect == "crop":
        return sensor(240, 240, left=40)
    picture = sensor(320, 240)
    if aspect == "padding":
        border = [[0] * 320 for _ in range(40)]
        return [*border, *picture, *border]
    return picture


def first_class(scores: bytes) -> int:
    return max(range(10), key=lambda n: (struct.unpack("10b", scores)[n], -n))


@pytest.mark.parametrize("aspect", ASPECTS)
def test_pictures_of_the_camera(builders: dict[str, H747Builder], tmp_path: Path, aspect: str) -> None:
    """The application's own picture, and one of the host: preprocessed to the byte, then computed."""
    builder = builders[VIRTUAL]
    built = builder.build(tmp_path, aspect=aspect)
    own = picture_of(aspect)
    height, width = len(own), len(own[0])
    other = [[(x * 31 + y * 7 + x * y) & 0xFFFF for x in range(width)] for y in range(height)]
    with builder.session(built) as (session, remotes, lines):
        assert set(remotes) == {"network", "camera", "preprocess"}
        index = {name: number for name, (number, _) in remotes.items()}
        assert remotes["camera"][1].inputs == (width * height * 2,)
        answers = []
        for picture in (own, other):
            pixels, wanted = frame_bytes(picture), gray_input(picture, 16, 16)
            assert session.infer(index["preprocess"], pixels) == wanted
            answers.append(session.infer(index["camera"], pixels))
            assert answers[-1] == session.infer(index["network"], wanted)
    assert answers[0] != answers[1]
    shown = f"camera 320x240, captured {width}x{height}, network 16x16: class {first_class(answers[0])}"
    assert lines[1] == shown


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_a_picture_of_the_camera_on_qemu(builders: dict[str, H747Builder], tmp_path: Path) -> None:
    """One: each byte of a picture takes its time on this machine's port."""
    builder = builders["mps2-an500"]
    built = builder.build(tmp_path, aspect="crop")
    picture = picture_of("crop")
    with builder.session(built) as (session, remotes, lines):
        wanted = session.infer(remotes["network"][0], gray_input(picture, 16, 16))
        assert session.infer(remotes["camera"][0], frame_bytes(picture)) == wanted
    assert lines[1] == f"camera 320x240, captured 240x240, network 16x16: class {first_class(wanted)}"


def test_a_capture_buffer_that_does_not_fit_goes_to_sdram(builders: dict[str, H747Builder], tmp_path: Path) -> None:
    """Budgets are those of the linker script less what is reserved; an exact fit counts."""
    builder = builders[VIRTUAL]
    need = 320 * 240 * 2 + 2144
    built = builder.build(tmp_path / "fits", reserve={"AXIRAM": (512 << 10) - need})
    assert built.plan.decision.images["captured"].region == "AXIRAM"
    assert built.plan.decision.images["rescaled"].region == "SDRAM"
    assert builder.run(built).networks[0].vectors == 20
    built = builder.build(tmp_path / "not", reserve={"AXIRAM": (512 << 10) - need + 1})
    assert built.plan.decision.images["captured"].region == "SDRAM"
    placed = sections(built.elf)
    assert placed["CapturedImage_Buffer"][0] >= 0xD0000000 > placed["RescaledImage_Buffer"][0]
    assert builder.run(built).networks[0].vectors == 20


# ---- memories that are off


def test_sdram_that_nobody_brought_up(builders: dict[str, H747Builder], tmp_path: Path) -> None:
    builder = builders[VIRTUAL]
    built = builder.build(tmp_path, memory_pool=pools(tmp_path, SDRAM=4096), without=("memories",))
    with pytest.raises(MachineStop) as caught:
        builder.run(built)
    assert re.search(r"(read|write) at 0xd000\w{4} by \w+", str(caught.value))
    assert "SDRAM is not memory mapped, the controller of SDRAM has no clock: set bit 12 of 0x580244d4" in str(
        caught.value
    )


def test_sdram_is_not_needed_where_nothing_is_in_it(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    builder = builders[VIRTUAL]
    built = builder.link(tmp_path, standard(builder), without=("memories",))
    assert {use.name for use in built.plan.decision.regions} == {"AXIRAM"}
    assert builder.run(built).networks[0].vectors == 20


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "*(volatile uint32_t *)0x580244D4u |= 1u << 12; *(volatile uint32_t *)0xD0000000u = 1;",
            "SDRAM is not memory mapped: the control register of its controller (0x52004000) is 0x00000000, "
            "its bits 0x80000000 must be 0x80000000",
        ),
        ("(void)*(volatile uint32_t *)0x90000000u;", "QSPIFLASH is not memory mapped, the controller of QSPIFLASH"),
        ("*(volatile uint32_t *)0x52004000u = 0;", "the controller of SDRAM has no clock"),
        ("*(volatile uint32_t *)0x30020000u = 1;", "SRAM2 has no clock: set bit 30 of RCC_AHB2ENR (0x580244dc)"),
        (
            "*(volatile uint32_t *)0x58024CDCu = 1u << 30; *(volatile uint32_t *)0x30020000u = 1;",
            "SRAM2 has no clock: set bit 30 of RCC_AHB2ENR",
        ),
        ("*(volatile uint32_t *)0x38800000u = 1;", "BKPSRAM is off after reset, and nothing here turns it on"),
        ("*(volatile uint32_t *)0x08000000u = 1;", "FLASH_BK1 is flash: a store does not change it"),
        ("*(volatile uint32_t *)0x34000000u = 1;", "no memory is there"),
        ("*(volatile uint32_t *)0x40020000u = 1;", "this peripheral is not modeled"),
        (
            '__asm__ volatile(".inst.w 0xe8d00faf"); /* lda r0, [r0]: Armv8-M */',
            "undefined instruction (the virtual board executes Armv7E-M, double-precision FPU)",
        ),
        ('__asm__ volatile("udf #0");', "undefined instruction"),
    ],
)
def test_what_the_virtual_board_stops_at(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path, code: str, said: str
) -> None:
    builder = builders[VIRTUAL]
    broken = tmp_path / "memories.c"
    broken.write_text(
        f"#include <stdint.h>\nvoid board_memories_init(void);\nvoid board_memories_init(void) {{ {code} }}\n"
    )
    built = builder.link(tmp_path, standard(builder), without=("memories",), extra=(broken,))
    with pytest.raises(MachineStop) as caught:
        builder.run(built)
    assert said in str(caught.value) and "board_memories_init" in str(caught.value)


@pytest.mark.parametrize("name", ["art-pi", "nucleo-h743zi"])
def test_other_boards_with_this_core(tmp_path: Path, name: str) -> None:
    """The image of the ART-Pi is where its boot loader has mapped the QSPI flash; both speak by another port."""
    builder = h747.builder(tmp_path, name)
    assert builder.run(builder.build(tmp_path / "image")).networks[0].vectors == 20


def test_a_neighbor_of_the_port(tmp_path: Path) -> None:
    """USART2 is in the same 4 KiB as USART3, which is the console, and is not modeled."""
    broken = tmp_path / "memories.c"
    broken.write_text(
        "#include <stdint.h>\nvoid board_memories_init(void);\nvoid board_memories_init(void) {\n"
        "  *(volatile uint32_t *)0x580244E8u |= 1u << 18;\n  (void)*(volatile uint32_t *)0x40004400u;\n}\n"
    )
    builder = h747.builder(tmp_path, "nucleo-h743zi")
    with pytest.raises(MachineStop, match=r"read at 0x40004400 .*: nothing is modeled there"):
        builder.run(builder.build(tmp_path / "image", extra=(broken,)))


def test_double_precision(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    """In registers of the FPU, as images of other builds for this core pass and compute it: the same bits as here."""
    double = tmp_path / "memories.c"
    double.write_text(
        "#include <stdint.h>\n#include <string.h>\nvoid board_memories_init(void);\n"
        "static double __attribute__((noinline)) step(double x, double y, int n) { return x / y * n - x; }\n"
        "void board_memories_init(void) {\n  volatile float third = 0.3333333432674408f;\n  uint64_t bits;\n"
        "  double x = step(third, 0.7, 3) + step(-1e300, 3.1, (int)(third * 1e7)) * 1e-308;\n"
        '  __asm__("vsqrt.f64 %P0, %P1" : "=w"(x) : "w"(x * x));\n  memcpy(&bits, &x, sizeof bits);\n'
        f"  if (bits != 0x{_double_bits():016x}u || (float)x <= third) {{ __builtin_trap(); }}\n}}\n"
    )
    builder = builders[VIRTUAL]
    built = builder.link(tmp_path, standard(builder), without=("memories",), extra=(double,))
    assert builder.run(built).networks[0].vectors == 20


def _double_bits() -> int:
    def step(x: float, y: float, n: int) -> float:
        return x / y * n - x

    third = 0.3333333432674408
    x = step(third, 0.7, 3) + step(-1e300, 3.1, int(third * 1e7)) * 1e-308
    return int(struct.unpack("<Q", struct.pack("<d", math.sqrt(x * x)))[0])


def test_sram_that_gets_its_clock_answers(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    builder = builders[VIRTUAL]
    good = tmp_path / "memories.c"
    good.write_text(
        "#include <stdint.h>\nvoid board_memories_init(void);\nvoid board_memories_init(void) {\n"
        "  *(volatile uint32_t *)0x580244DCu |= 1u << 30;\n  *(volatile uint32_t *)0x30020000u = 1;\n}\n"
    )
    built = builder.link(tmp_path, standard(builder), without=("memories",), extra=(good,))
    assert builder.run(built).networks[0].vectors == 20


# ---- what goes wrong


def test_a_buffer_that_is_too_small_for_the_memory(builders: dict[str, H747Builder], tmp_path: Path) -> None:
    """The compiler may give DTCMRAM more than the application has there: the patch says so, with the sizes."""
    builder = builders[VIRTUAL]
    file = pools(tmp_path, DTCMRAM=4096)
    free = 2112 + 32
    assert builder.build(tmp_path / "fits", memory_pool=file, reserve={"DTCMRAM": (128 << 10) - free})
    with pytest.raises(NeuralArtError) as caught:
        builder.build(tmp_path / "not", memory_pool=file, reserve={"DTCMRAM": (128 << 10) - free + 1})
    said = "activation buffer 1 (pool DTCMRAM) needs 2144 bytes in DTCMRAM, 2143 of 2143 are left"
    assert said in str(caught.value)
    assert not (tmp_path / "not" / "patched").exists()


def test_a_stack_that_has_no_room_does_not_link(builders: dict[str, H747Builder], tmp_path: Path) -> None:
    """Nobody else would notice: the stack grows down towards the buffers of the same memory."""
    with pytest.raises(AssertionError, match="AXIRAM is too small: less than _Min_Stack_Size is left for the stack"):
        builders[VIRTUAL].build(tmp_path, reserve={"AXIRAM": 500 << 10}, extra=(_filling(tmp_path, 495 << 10),))


def _filling(folder: Path, size: int) -> Path:
    path = folder / "filling.c"
    path.write_text(
        f"#include <stdint.h>\nvoid board_memories_pins(void);\nstatic volatile uint8_t filling[{size}];\n"
        "void board_memories_pins(void) { filling[1] = 1; }\n"
    )
    return path


def test_an_image_of_another_network(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    builder = builders[VIRTUAL]
    other = builder.build(tmp_path, memory_pool=pools(tmp_path, SDRAM=4096, AXIRAM=2048))
    with pytest.raises(LinkFailure, match="built for abi stamp"):
        builder.run(replace(other, elf=standard(builder).elf))


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_a_fault_is_reported_by_the_firmware(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    builder = builders["mps2-an500"]
    broken = tmp_path / "memories.c"
    broken.write_text(
        "#include <stdint.h>\nvoid board_memories_init(void);\n"
        "void board_memories_init(void) { *(volatile uint32_t *)0xD0000000u = 1; }\n"
    )
    built = builder.link(tmp_path, standard(builder), extra=(broken,))
    with pytest.raises(MachineStop) as caught:
        builder.run(built)
    said = str(caught.value)
    assert said.startswith("firmware fault: exception 0x00000003") and ", in board_memories_init" in said


def test_the_command(
    builder: H747Builder, standard: Callable[[H747Builder], Built], capsys: pytest.CaptureFixture[str]
) -> None:
    built = standard(builder)
    words = ["run", "--board", builder.board.name, "--elf", str(built.elf)]
    words += ["--network", str(built.network / "network.json"), "--vectors", str(DIGITS / "vectors")]
    assert cli.main(words) == 0
    assert "network: 20 vectors bit-exact on" in capsys.readouterr().out


@pytest.mark.gdb
def test_gdb_writes_the_flash_that_the_image_executes_from(
    builders: dict[str, H747Builder],
    standard: Callable[[H747Builder], Built],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    built = standard(builders[VIRTUAL])
    run = Debugged(command(VIRTUAL, built.elf, built.network / "network.json", DIGITS / "vectors"), tmp_path)
    request.addfinalizer(run.kill)
    script = ("set {char}&main = 0", "load", "compare-sections", "monitor flash", "monitor reset halt")
    said = run.gdb(*script, "maintenance flush register-cache", "break main", "continue", "delete", "continue")
    assert "MIS-MATCHED" not in said and said.count(": matched.") >= 2
    in_order(said, "Loading section", "main () at", "exited normally", "bit-exact")
    assert "Writing to flash memory forbidden" in said
    assert "FLASH_BK1 0x08000000: 1024 KiB in sectors of 128 KiB\n  0x08000000..0x080" in said
    assert run.end()[0] == 0


def test_the_image_passes_the_checks(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built]
) -> None:
    """No semihosting, vectors where the core looks, everything in memories of the board."""
    assert cli.main(["tool", "check-image", str(standard(builders[VIRTUAL]).elf), "--board", VIRTUAL]) == 0


# ---- the sources themselves


@pytest.mark.parametrize("name", BOARDS)
def test_patching_twice_changes_nothing(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], name: str
) -> None:
    built = standard(builders[name])
    folder = built.elf.parent
    patched = {path: path.stat().st_mtime_ns for path in (folder / "patched").rglob("*") if path.is_file()}
    again = builders[name].build(folder)
    assert {path: path.stat().st_mtime_ns for path in patched} == patched
    assert again.plan.decision == built.plan.decision and again.plan.notes == built.plan.notes == ()


def test_no_original_header_is_used(
    builders: dict[str, H747Builder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the compiler's own list of what it read."""
    builder = builders[VIRTUAL]
    builder.shared()
    monkeypatch.setattr(builder, "flags", [*builder.flags, "-MMD"])
    builder.build(tmp_path)
    read = " ".join(path.read_text() for path in tmp_path.glob("CM7-*.d"))
    assert f"{tmp_path}/patched/Inc/CM7/main.h" in read
    assert str(h747.application() / "Inc") not in read and str(h747.application() / "Src") not in read


def test_the_defaults_compile(
    builders: dict[str, H747Builder], standard: Callable[[H747Builder], Built], tmp_path: Path
) -> None:
    """The application as it is, not patched: one buffer in AXIRAM."""
    builder = builders[VIRTUAL]
    paths = [h747.application() / "Inc" / "CM7", standard(builder).network]
    for source in sorted((h747.application() / "Src" / "CM7").glob("*.c")):
        builder.compile(tmp_path, source, paths)


def test_boards_have_what_the_application_wants() -> None:
    for name in BOARDS:
        board = boards.load(name)
        for memory, (start, length) in h747.memories(board).items():
            at = start
            while at < start + length:
                region = board.region_at(at)
                assert region is not None, f"{name}: {memory} at 0x{at:08x}"
                at = region.end
