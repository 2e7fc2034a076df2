"""The loader of relocatable models as the target runs it: its own instructions, on an emulated core."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from neuralart.relocatable.build import builder
from neuralart.relocatable.build.request import BuildRequest
from neuralart.resources import firmware_dir
from support.boards.firmware import LIBC, PREFIX, WARNINGS, have_gcc, run_tool
from support.projects.compile_answers import relocatable_objects
from support.relocatable.loader_host import COPY, DEFAULT_FLAGS, SECURE, XIP, Model
from support.relocatable.rel_networks import MODELS, compile_digits

unicorn = pytest.importorskip("unicorn")
from unicorn import arm_const  # noqa: E402  (behind the reason for skipping)

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not installed")]

TEXT, DATA, NOR, EXEC, STOP = 0x1000_0000, 0x3000_0000, 0x7100_0000, 0x3400_0000, 0x1FFF_0000
INSTANCE, CONFIG, STACK = DATA + 0x8000, DATA + 0x8100, DATA + 0x10000
FLAGS = ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb", "-std=gnu11", "-O2", "-ffreestanding")
# What the context of a model says of the structures, as this compiler lays them out.
SIZES = """#include "ll_aton_NN_interface.h"
const uint32_t struct_sizes = sizeof(LL_Buffer_InfoTypeDef) | sizeof(LL_ATON_RT_EpochBlockItem_t) << 8;
"""
# Entry 3 (get_input): r0 = r0 + word 1 of the data, by r9; and r9 and r3 are spoiled.
GET_INPUT = struct.pack("<HHHHHH", 0xF8D9, 0x3004, 0x18C0, 0x4689, 0x4603, 0x4770)


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, runtime = tmp_path_factory.mktemp("loader"), firmware_dir() / "runtime"
    names = ("install", "get_input", "is_valid", "set_callbacks", "call_epoch_function", "get_info", "reason")
    names += ("ec_network_init", "ec_inference_init", "get_epoch_items", "get_input_buffers_info")
    names += ("get_output_buffers_info",)
    keep = [f"-Wl,-u,ll_aton_reloc_{name}" for name in names]
    sources = [*sorted(runtime.glob("relocatable_*.c")), runtime / "memory" / "dcache.c", folder / "sizes.c"]
    (folder / "sizes.c").write_text(SIZES)
    (folder / "loader.ld").write_text(
        f"SECTIONS {{ .text 0x{TEXT:x} : {{ *(.text* .rodata*) }} .data 0x{DATA:x} : {{ *(.data*) }} "
        ".bss : { *(.bss* COMMON) } }\n"
    )
    linking = ["-nostartfiles", "-Wl,-e,0", "-Wl,-u,struct_sizes", "-T", str(folder / "loader.ld"), *keep]
    command = [f"{PREFIX}gcc", *FLAGS, LIBC, *WARNINGS, "-DLL_ATON_RT_RELOC", "-I", str(runtime / "include"), *linking]
    run_tool([*command, *map(str, sources), "-o", str(folder / "loader.elf")])
    return folder / "loader.elf"


class Core:
    """Functions of the loader, called one at a time."""

    def __init__(self, path: Path) -> None:
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm_const.UC_CPU_ARM_CORTEX_M33)
        for base in (TEXT, DATA, NOR, EXEC, STOP):
            self.uc.mem_map(base, 0x20000 if base != STOP else 0x1000)
        self.registers: dict[int, int] = {0xE000ED00: 0x411FD221, 0xE000ED88: 0x00F00000}
        self.writes: list[tuple[int, int]] = []
        self.uc.mmio_map(0xE000E000, 0x1000, self._read, None, self._write, None)
        with path.open("rb") as stream:
            file = ELFFile(stream)
            for section in file.iter_sections():
                if section["sh_flags"] & 2 and section["sh_type"] == "SHT_PROGBITS" and section["sh_size"]:
                    self.uc.mem_write(section["sh_addr"], section.data())
            self.symbols = {s.name: s["st_value"] for s in file.get_section_by_name(".symtab").iter_symbols()}

    def _read(self, _uc: object, offset: int, _size: int, _data: object) -> int:
        return self.registers.get(0xE000E000 + offset, 0)

    def _write(self, _uc: object, offset: int, _size: int, value: int, _data: object) -> None:
        self.writes.append((0xE000E000 + offset, value))

    def call(self, name: str, *arguments: int) -> int:
        registers = (arm_const.UC_ARM_REG_R0, arm_const.UC_ARM_REG_R1, arm_const.UC_ARM_REG_R2, arm_const.UC_ARM_REG_R3)
        for register, value in zip(registers, arguments, strict=False):
            self.uc.reg_write(register, value)
        self.uc.reg_write(arm_const.UC_ARM_REG_SP, STACK)
        self.uc.reg_write(arm_const.UC_ARM_REG_R9, 0x9999_9999)
        self.uc.reg_write(arm_const.UC_ARM_REG_LR, STOP | 1)
        self.uc.emu_start(self.symbols[name] | 1, STOP, count=20_000_000)
        assert self.uc.reg_read(arm_const.UC_ARM_REG_PC) == STOP
        # What belongs to the caller is as it was.
        assert self.uc.reg_read(arm_const.UC_ARM_REG_SP) == STACK
        assert self.uc.reg_read(arm_const.UC_ARM_REG_R9) == 0x9999_9999
        return int(self.uc.reg_read(arm_const.UC_ARM_REG_R0))

    def model(self, **changes: object) -> Model:
        code = bytearray(512)
        code[48 : 48 + len(GET_INPUT)] = GET_INPUT
        sizes = self.word(self.symbols["struct_sizes"])
        fields = {"sizes": sizes, "pools": [("xSPI2", 0x01010500, 0, 0, 0x100)], "code": bytes(code), **changes}
        return Model(**fields)  # type: ignore[arg-type]

    def install(self, image: bytes, mode: int) -> tuple[int, str]:
        self.uc.mem_write(NOR, image)
        self.uc.mem_write(CONFIG, struct.pack("<6I", EXEC, 0x10000, 0, 0, 0, mode))
        error = self.call("ll_aton_reloc_install", NOR, CONFIG, INSTANCE)
        text = self.uc.mem_read(self.call("ll_aton_reloc_reason"), 100)
        return error - (error >> 31 << 32), bytes(text).split(b"\0")[0].decode()

    def word(self, address: int) -> int:
        return int.from_bytes(self.uc.mem_read(address, 4), "little")


@pytest.fixture
def core(elf: Path) -> Core:
    return Core(elf)


@pytest.mark.parametrize("mode", [XIP, COPY])
def test_a_call_finds_the_data_of_the_model(core: Core, mode: int) -> None:
    m = core.model(pointers=[0, 0x1230])
    assert core.install(m.build(), mode) == (0, "no error")
    assert core.call("ll_aton_reloc_is_valid", INSTANCE) == 1
    assert core.call("ll_aton_reloc_get_input", INSTANCE, 4) == 0x1234
    code = (EXEC if mode == COPY else NOR) + m.code_at + 48
    core.call("ll_aton_reloc_call_epoch_function", INSTANCE, code | 1, 8)
    # A table of the application, and back.
    data = EXEC + (m.ro if mode == COPY else 0)
    bound = core.word(data + m.context + 16)
    assert bound == core.symbols["ll_aton_reloc_default_callbacks"]
    assert core.call("ll_aton_reloc_set_callbacks", INSTANCE, 0x1000) == 0
    assert core.word(data + m.context + 16) == 0x1000
    assert core.call("ll_aton_reloc_set_callbacks", INSTANCE, 0) == 0
    assert core.word(data + m.context + 16) == bound
    assert core.word(data + m.context + 60) == INSTANCE


@pytest.mark.parametrize("mode", [XIP, COPY])
def test_registers_of_the_caches(core: Core, mode: int) -> None:
    """Every line of executive RAM, and of code that stays in the file; the instruction cache comes last."""
    m = core.model()
    assert core.install(m.build(), mode)[0] == 0
    lines = [value for at, value in core.writes[:-1] if at == 0xE000EF70]
    size = m.copy if mode == COPY else m.xip
    ranges = [(EXEC, size), *([(NOR, m.ro)] if mode == XIP else [])]
    assert lines == [line for start, bytes_ in ranges for line in range(start, start + bytes_, 32)]
    assert core.writes[-1] == (0xE000EF50, 0)
    assert len(core.writes) == len(lines) + 1


def test_security_state_of_the_core(core: Core) -> None:
    """The core starts Secure, so a secure model is right there."""
    assert core.call("reloc_firmware_is_secure") == 1
    m = core.model(flags=DEFAULT_FLAGS | SECURE)
    assert core.install(m.build(), XIP) == (0, "no error")


@pytest.mark.parametrize(
    ("register", "value", "reason"),
    [(0xE000ED00, 0x410FD213, "another core"), (0xE000ED88, 0, "the FPU, which is off")],
    ids=["CPUID", "CPACR"],
)
def test_registers_of_the_core_are_asked(core: Core, register: int, value: int, reason: str) -> None:
    core.registers[register] = value
    error, text = core.install(core.model().build(), XIP)
    assert error == -1
    assert reason in text
    assert core.call("ll_aton_reloc_is_valid", INSTANCE) == 0


def test_nothing_is_executed_on_damage(core: Core) -> None:
    assert core.install(core.model(sizes=0).build(), XIP)[0] == -1
    assert core.writes == []


def test_the_objects_refer_to_nothing_but_the_cache_and_the_libc(tmp_path: Path) -> None:
    """A firmware takes the loader without anything else of ours."""
    runtime = firmware_dir() / "runtime"
    objects = []
    for source in sorted(runtime.glob("relocatable_*.c")):
        objects.append(str(tmp_path / f"{source.stem}.o"))
        words = ["-DLL_ATON_RT_RELOC", "-I", str(runtime / "include"), "-c", str(source), "-o", objects[-1]]
        run_tool([f"{PREFIX}gcc", *FLAGS, LIBC, *words])
    done = subprocess.run([f"{PREFIX}nm", *objects], capture_output=True, text=True, check=True)
    rows = [line.split()[-2:] for line in done.stdout.splitlines() if line and not line.endswith(":")]
    defined = {name for kind, name in rows if kind != "U"}
    missing = {name for kind, name in rows if kind == "U"} - defined
    assert missing == {"memcpy", "memset", "npu_memory_clean_invalidate", "strncmp"}


# ---- with what the builder makes

NEAR = {"file": NOR, "ram": EXEC, "external": 0x9000_0000, "params": 0x7180_0000}
FAR = {"file": 0x7123_A580, "ram": 0x341C_A5C0, "external": 0x90A4_0040, "params": 0x9234_5680}
KINDS = {
    "internal": (("AXISRAM3", "AXISRAM5"), "AXISRAM5", ()),
    "flash": (("AXISRAM3", "xSPI2"), "xSPI2", ("xSPI2",)),
    "external": (("xSPI1", "xSPI2"), "xSPI2", ("xSPI1", "xSPI2")),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory):
    folder, made = tmp_path_factory.mktemp("built"), {}

    def get(kind: str, split: bool) -> tuple[bytes, bytes]:
        """File, and params if they are in a file of their own."""
        if (kind, split) not in made:
            pools, constants, relative = KINDS[kind]
            code = folder / kind / "network.c"
            if not code.is_file():
                compile_digits(folder / kind, *pools, constants=constants, relative=relative)
            out = folder / kind / "out"
            request = BuildRequest(
                code, out, "network", split=split, debug_info=False, objects=relocatable_objects(folder / "objects")
            )
            container = builder.build(request).container
            made[kind, split] = container.image, container.params or b""
        return made[kind, split]

    return get


@pytest.mark.long
@pytest.mark.parametrize("split", [False, True], ids=["combined", "split"])
@pytest.mark.parametrize("mode", [XIP, COPY], ids=["xip", "copy"])
@pytest.mark.parametrize("place", [NEAR, FAR], ids=["near", "far"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_built_model_computes_the_golden_outputs(core: Core, built, kind: str, place, mode: int, split: bool) -> None:
    image, params = built(kind, split)
    for base, size in ((0x7102_0000, 0x0FE_0000), (0x3402_0000, 0x050_0000), (0x9000_0000, 0x300_0000)):
        core.uc.mem_map(base, size)
        core.uc.mem_write(base, b"\xa5" * 0x10000)
    core.uc.mem_write(place["file"], image)
    core.uc.mem_write(place["params"], params)
    config = [place["ram"], 0x2_0000, place["external"], 0x10_0000, place["params"] if split else 0, mode]
    core.uc.mem_write(CONFIG, struct.pack("<6I", *config))
    assert core.call("ll_aton_reloc_install", place["file"], CONFIG, INSTANCE) == 0
    assert core.call("ll_aton_reloc_ec_network_init", INSTANCE) == 1
    item_size = core.word(core.symbols["struct_sizes"]) >> 8
    (pixels, x_at), (scores, y_at) = (
        (table, core.word(table + 4) + core.word(table + 8))
        for table in (core.call(f"ll_aton_reloc_get_{port}_buffers_info", INSTANCE) for port in ("input", "output"))
    )
    inputs, outputs = ((MODELS / "digits" / "vectors" / f"{name}.bin").read_bytes() for name in ("inputs", "outputs"))
    assert [core.word(at + 12) - core.word(at + 8) for at in (pixels, scores)] == [256, 10]
    for number in range(3):
        core.uc.mem_write(x_at, inputs[256 * number : 256 * (number + 1)])
        assert core.call("ll_aton_reloc_ec_inference_init", INSTANCE) == 1
        item, epochs = core.call("ll_aton_reloc_get_epoch_items", INSTANCE), 0
        while not core.word(item + 12) & 0x80:
            for function in (core.word(item), core.word(item + 4)):
                if function:
                    core.call("ll_aton_reloc_call_epoch_function", INSTANCE, function, item)
            item, epochs = item + item_size, epochs + 1
        assert epochs > 3
        assert core.uc.mem_read(y_at, 10) == outputs[10 * number : 10 * (number + 1)]
