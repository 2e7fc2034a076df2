"""Builds of other people: a CMake project and a Makefile that use an exported folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.text import ihex
from support.boards.plain_qemu import run_in_qemu
from support.projects.sconsproject import REPO, Project, Result, copy_built, once, prepare

pytestmark = [pytest.mark.arm, pytest.mark.long]
# Programs that pip has installed for this Python come last.
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
CMAKE = shutil.which("cmake", path=PATH)
needs_cmake = pytest.mark.skipif(CMAKE is None, reason="cmake is not installed (pip install cmake)")
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
PRODUCT = REPO / "examples" / "consumer-wheel"
N6 = "-mcpu=cortex-m33 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -mthumb"
AN547 = "-O2 -mcpu=cortex-m55 -mfloat-abi=hard -mthumb"
# What the warnings of -O2 are about is in all variants of a board.
FLAGS = {
    "digits-n6": f"-O2 {N6}",
    "digits-n6-link": N6,
    "digits-n6-two": N6,
    "digits-an547": AN547,
    "digits-an547-mve": AN547,
}


def neuralart(project: Project, *words: str, code: int = 0) -> Result:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "neuralart", *words],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": str(project.path("site_scons")), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code and "Traceback" not in done.stderr, done.stdout + done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


def product(folder: Path, variant: str, networks: list[str] | None = None) -> Path:
    """Somebody's program for a board; what it says on which serial port does not matter to its build."""
    folder.mkdir(parents=True, exist_ok=True)
    main = (PRODUCT / "main.c").read_text("utf-8")
    for name in (networks or [])[1:]:
        # A second network in the same program.
        main = main.replace(
            "extern uint8_t", f"LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE({name});\n\nextern uint8_t", 1
        )
        main = main.replace(
            "return largest(", f"if (!LL_ATON_RT_Init_Network(&NN_Instance_{name})) return -1;\n  return largest(", 1
        )
    (folder / "main.c").write_text(main, "utf-8")
    shutil.copy(PRODUCT / "image.h", folder)
    script = (PRODUCT / "product.ld").read_text("utf-8")
    if "-n6" in variant:
        script = script.replace("ORIGIN = 0x10000000, LENGTH = 512K", "ORIGIN = 0x34000400, LENGTH = 1023K")
        script = script.replace("ORIGIN = 0x30000000, LENGTH = 512K", "ORIGIN = 0x30000000, LENGTH = 128K")
    (folder / "product.ld").write_text(script, "utf-8")
    return folder


def compiler() -> tuple[str, str]:
    """gcc and the flags of its C library."""
    found = toolchain.find(ToolchainConfig(), os.environ)
    return f"{found.folder}/{found.prefix}gcc", " ".join(found.libc_flags)


def cmake_build(folder: Path, variant: str, export: str, targets: str, code: int = 0) -> tuple[Path, str]:
    """Configure and build with the real cmake."""
    gcc, libc = compiler()
    flags = f"{FLAGS[variant]} {libc}".strip()
    (folder / "arm.cmake").write_text(
        "set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR arm)\n"
        f'set(CMAKE_C_COMPILER "{gcc}")\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n'
        f'set(CMAKE_C_FLAGS_INIT "{flags}")\n'
    )
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(doorbell C)\n"
        "set(CMAKE_EXECUTABLE_SUFFIX .elf)\n"
        f'include("{export}/network.cmake")\n'
        "add_executable(app main.c)\n"
        "target_compile_options(app PRIVATE -g -Wall -Wextra -Werror -ffunction-sections)\n"
        "target_link_options(app PRIVATE -nostartfiles -Wl,--gc-sections -T ${CMAKE_SOURCE_DIR}/product.ld)\n"
        f"target_link_libraries(app PRIVATE {targets})\n"
        'file(WRITE "${CMAKE_BINARY_DIR}/hex.txt" "${NEURALART_HEX_FILES}")\n'
    )
    generator = "Unix Makefiles" if shutil.which("make") else "Ninja"
    words = [str(CMAKE), "-G", generator, "-S", ".", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    text = done.stdout + done.stderr
    if done.returncode == 0:
        words = [str(CMAKE), "--build", "build", "--", "-j2", *(["VERBOSE=1"] if generator != "Ninja" else ["-v"])]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
        text += done.stdout + done.stderr
    assert (done.returncode != 0) == bool(code), text
    return folder / "build" / "app.elf", text


MAKEFILE = """\
CC := {gcc}
CFLAGS := {flags} -g -Wall -Wextra -Werror -ffunction-sections
include {export}/network.mk
OBJECTS := build/main.o $(patsubst $(NEURALART_DIR)/%.c,build/neuralart/%.o,$(NEURALART_SOURCES))

build/app.elf: $(OBJECTS) product.ld
\t$(CC) $(CFLAGS) -nostartfiles -Wl,--gc-sections -T product.ld -o $@ $(OBJECTS)
build/main.o: main.c
\t@mkdir -p $(@D)
\t$(CC) $(NEURALART_CPPFLAGS) $(CFLAGS) -c -o $@ $<
build/neuralart/%.o: $(NEURALART_DIR)/%.c
\t@mkdir -p $(@D)
\t$(CC) $(CPPFLAGS) $(NEURALART_CPPFLAGS) $(CFLAGS) $(NEURALART_CFLAGS) -c -o $@ $<
"""


def make_build(folder: Path, variant: str, export: str) -> Path:
    gcc, libc = compiler()
    (folder / "Makefile").write_text(MAKEFILE.format(gcc=gcc, flags=f"{FLAGS[variant]} {libc}".strip(), export=export))
    done = subprocess.run(["make", "-j2"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    again = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "up to date" in again.stdout, again.stdout
    return folder / "build" / "app.elf"


def check(project: Project, elf: Path, board: str, machine: str, facts: list[Path]) -> None:
    """The image belongs to the exported networks, and can start."""
    words = [word for path in facts for word in ("--network", str(path))]
    neuralart(project, "tool", "check-image", str(elf), "--board", board, "--machine", machine, *words)


def exported(project: Project, variant: str, to: Path) -> Path:
    neuralart(project, "export", variant, "--to", str(to))
    return to


@needs_cmake
def test_cmake_project_for_the_n6(template: Project, tmp_path: Path) -> None:
    folder = product(tmp_path / "a product", "digits-n6")
    out = exported(template, "digits-n6", folder / "third party" / "digits")
    elf, said = cmake_build(folder, "digits-n6", "${CMAKE_SOURCE_DIR}/third party/digits", "neuralart::digits")
    assert "-ffp-contract=off" in said
    check(template, elf, "stm32n6570-dk", "unicorn", [out / "networks/digits/network.json"])
    hexes = (folder / "build" / "hex.txt").read_text().split(";")
    assert [Path(name).name for name in hexes] == ["digits.xSPI2.hex", "descriptor.hex"]
    assert all(Path(name).is_file() for name in hexes)


@needs_make
@pytest.mark.qemu
def test_what_make_built_recognizes_the_digit(template: Project, tmp_path: Path) -> None:
    folder = product(tmp_path / "product", "digits-an547")
    out = exported(template, "digits-an547", folder / "digits")
    _recognizes(make_build(folder, "digits-an547", "digits"), out)


def _recognizes(elf: Path, out: Path) -> None:
    rows = json.loads((out / "manifest.json").read_text())["images"]
    assert run_in_qemu(elf, [out / row["hex"] for row in rows]) == "doorbell: digit 7"


OTHERS = {"digits-n6-link": ["digits"], "digits-n6-two": ["digits", "digits_b"], "digits-an547-mve": ["digits"]}


@pytest.fixture(scope="module")
def others(template: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A tree with these variants, built once."""

    def make(folder: Path) -> None:
        prepare(copy_built(template, folder), tmp_path_factory, *OTHERS)

    return Project(once(tmp_path_factory, "other variants", make))


@needs_cmake
@pytest.mark.qemu
@pytest.mark.parametrize("variant", OTHERS)
def test_other_variants(others: Project, tmp_path: Path, variant: str) -> None:
    """Constants that the assembler reads, two networks that share a runtime, other kernels."""
    networks = OTHERS[variant]
    folder = product(tmp_path / "the product", variant, networks)
    out = exported(others, variant, folder / "net")
    targets = " ".join(f"neuralart::{name}" for name in networks)
    elf, _ = cmake_build(folder, variant, "${CMAKE_SOURCE_DIR}/net", targets)
    board, machine = ("stm32n6570-dk", "unicorn") if "-n6" in variant else ("mps3-an547", "qemu")
    check(others, elf, board, machine, [out / "networks" / name / "network.json" for name in networks])
    if variant.endswith("-link"):
        assert not [row for row in json.loads((out / "manifest.json").read_text())["images"] if row["network"]]
        raw = next((out / "networks/digits").glob("*.raw")).read_bytes()
        assert raw in elf.read_bytes(), "the constants are in the program"
    if variant.endswith("-mve"):
        assert b"kernels_mve/conv2d.c" in (out / "network.mk").read_bytes()
        _recognizes(elf, out)


@needs_cmake
def test_what_cmake_says_about_wrong_use(template: Project, tmp_path: Path) -> None:
    folder = product(tmp_path / "product", "digits-n6")
    exported(template, "digits-n6", folder / "one")
    shutil.copytree(folder / "one", folder / "two")
    text = (
        "cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES {language})\ninclude(one/network.cmake)\n"
        "include(one/network.cmake)\ninclude({second}/network.cmake)\n"
    )

    (folder / "arm.cmake").write_text(
        f'set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_C_COMPILER "{compiler()[0]}")\n'
        "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n"
    )

    def configure(language: str, second: str) -> str:
        shutil.rmtree(folder / "build", ignore_errors=True)
        (folder / "CMakeLists.txt").write_text(text.format(language=language, second=second))
        words = [str(CMAKE), "-S", ".", "-B", "build", "-DCMAKE_TOOLCHAIN_FILE=arm.cmake"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        return " ".join(done.stderr.split()) if done.returncode else ""

    assert configure("C", "one") == "", "the same folder twice is no mistake"
    assert "there is a target neuralart-shared already" in configure("C", "two")
    assert "the networks are C: name the language" in configure("NONE", "one")


def test_an_export_needs_a_build_of_today(sources: Project, template: Project, tmp_path: Path) -> None:
    refused = neuralart(sources, "export", "digits-n6", "--to", str(tmp_path / "out"), code=1)
    assert len(refused.errors) == 1 and "scons digits-n6 builds it" in refused.errors[0], refused.err
    refused = neuralart(template, "export", "digits-n7", "--to", str(tmp_path / "out"), code=1)
    assert "did you mean 'digits-n6'?" in refused.err
    assert not (tmp_path / "out").exists()


LOADS = """\
#include <string.h>
#include "ll_aton_reloc_network.h"
#include "npu_memory_init.h"

extern uint8_t data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];
static NN_Instance_TypeDef model;

__attribute__((noreturn, used)) void start(void) {
  ll_aton_reloc_config config = {0};
  memcpy(data_start, data_load, (size_t)(data_end - data_start));
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  if (npu_memory_init() == 0) (void)ll_aton_reloc_install(0x71000000u, &config, &model);
  for (;;) __asm__ volatile("wfi");
}
__attribute__((section(".vectors"), used)) static void *const vectors[16] = {stack_top, (void *)start};
"""


@needs_make
def test_a_loaded_model_and_what_loads_it(template: Project, tmp_path: Path) -> None:
    folder = product(tmp_path / "product", "digits-n6")
    out = exported(template, "digits-n6-rel", folder / "model")
    (folder / "main.c").write_text(LOADS, "utf-8")
    elf = make_build(folder, "digits-n6", "model")
    made = json.loads((out / "manifest.json").read_text("utf-8"))
    assert b"ll_aton_reloc_install" in elf.read_bytes()
    assert not [name for name in made["sources"] if "kernels" in name or name.startswith("networks/")]
    rows = {row["pool"]: row for row in made["images"]}
    assert {pool: row["address"] for pool, row in rows.items()} == {"relocatable": 0x71000000, "load_table": 0x70FF0000}
    model = template.path("build/digits-n6-rel/network_rel.bin").read_bytes()
    parts = ihex.parse((out / rows["relocatable"]["hex"]).read_bytes(), "hex").parts
    assert parts == ((0x71000000, model),)
    assert "LL_ATON_RT_RELOC" in made["defines"]


def test_by_hand_twice_and_edited(template: Project, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = neuralart(template, "export", "digits-n6", "--to", str(out))
    again = neuralart(template, "export", "digits-n6", "--to", str(out))
    assert "0 removed, 0 as they were" in first.out and ": 0 files written, 0 removed" in again.out
    text = (out / "network.mk").read_text("utf-8")
    (out / "network.mk").write_text(text + "# mine\n", "utf-8")
    refused = neuralart(template, "export", "digits-n6", "--to", str(out), code=1)
    assert len(refused.errors) == 1 and "edited since the last export: network.mk" in refused.errors[0]
    neuralart(template, "export", "digits-n6", "--to", str(out), "--force", "--quiet")
    assert (out / "network.mk").read_text("utf-8") == text
    assert not [path for path in out.rglob("*") if path.is_file() and str(template.root).encode() in path.read_bytes()]
