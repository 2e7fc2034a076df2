"""Firmware repositories of the shapes that public ones have: networks of every release, and builds around them.

What is in them is written by us. ``main.c`` of those that build needs nothing but a cross compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuralart.text.ihex import ihex
from support.vendor_network_c import Want, make

FLASH_CLI = "STM32_Programmer_CLI -c port=SWD mode=HOTPLUG -el $EL -hardRst"
MAIN = "int main(void) { return 0; }\nvoid Reset_Handler(void) { for (;;) main(); }\n"
LD = """ENTRY(Reset_Handler)
MEMORY { RAM (xrw) : ORIGIN = 0x34000400, LENGTH = 511K }
SECTIONS {
  .isr_vector : { LONG(0x34080000) LONG(Reset_Handler | 1) } > RAM
  .text : { *(.text*) *(.rodata*) } > RAM
  .data : { *(.data*) *(.bss*) } > RAM
}
"""
# As CubeMX and the getting-started projects write them: names by variables, the same words in comments.
MAKEFILE = """# Avoid 'build/Old.elf has a LOAD segment'
TARGET = Project
BUILD_TOP = build
BUILD_DIR = $(BUILD_TOP)/{board}
CC = arm-none-eabi-gcc
LDSCRIPT = app.ld
C_SOURCES = Src/main.c \\
  Src/other.c
OBJECTS = $(addprefix $(BUILD_DIR)/,$(notdir $(C_SOURCES:.c=.o)))
vpath %.c Src
all: $(BUILD_DIR)/$(TARGET).elf
$(BUILD_DIR)/%.o: %.c | $(BUILD_DIR)
\t$(CC) -mcpu=cortex-m55 -mthumb -c -MMD -I. $< -o $@
$(BUILD_DIR)/$(TARGET).elf: $(OBJECTS) {network}
\t$(CC) -mcpu=cortex-m55 -mthumb -nostdlib -T$(LDSCRIPT) $(OBJECTS) -o $@
$(BUILD_DIR):
\tmkdir -p $@
-include $(wildcard $(BUILD_DIR)/*.d)
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
set(CMAKE_PROJECT_NAME cube_app)
include("cmake/gcc-arm-none-eabi.cmake")
project(${CMAKE_PROJECT_NAME} C)
add_executable(${CMAKE_PROJECT_NAME} Src/main.c)
target_link_options(${CMAKE_PROJECT_NAME} PRIVATE -T ${CMAKE_SOURCE_DIR}/STM32N657XX_LRUN.ld)
"""
CHAIN = 'set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_EXECUTABLE_SUFFIX_C ".elf")\n'
PRESETS = """{"version": 3, "configurePresets": [
  {"name": "default", "hidden": true}, {"name": "Debug", "inherits": "default"}]}
"""
CPROJECT = """<?xml version="1.0" encoding="UTF-8"?>
<cproject><storageModule moduleId="org.eclipse.cdt.core.settings">
<cconfiguration id="com.st.debug.1"><storageModule id="com.st.debug.1" moduleId="settings" name="{name}">
<option value="${{workspace_loc:/${{ProjName}}/app.ld}}"/></storageModule></cconfiguration></storageModule></cproject>
"""


def put(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def network(
    place: str, want: Want, constants: str = "network_data.xSPI2.bin", at: int = 0x71000000
) -> dict[str, bytes]:
    """A network's files in a folder; its constants under that path below it, Intel HEX by the name."""
    made = make(want).files
    raw = made.pop("network_atonbuf.xSPI2.raw")
    made[constants] = ihex(at, raw).encode() if constants.endswith("hex") else raw
    return {f"{place}/{name}" if not name.startswith("/") else name[1:]: data for name, data in made.items()}


def two_boards(folder: Path) -> Path:
    """Getting started: a Makefile and a network for each of two boards, commands in the README."""
    files: dict[str, str | bytes] = {}
    lines = ["# An application", "```bash"]
    for board, release in (("STM32N6570-DK", "4.0.1"), ("NUCLEO-N657X0-Q", "2.1")):
        place, model = f"Application/{board}", f"Model/{board}"
        files |= network(model, Want(version=release, ec=True))
        own = f"../../{model}/network.c ../../{model}/network_ecblobs.h"
        files[f"{place}/Makefile"] = MAKEFILE.format(board=place, network=own)
        files |= {f"{place}/app.ld": LD, f"{place}/Src/main.c": MAIN, f"{place}/Src/other.c": '#include "other.h"\n'}
        files |= {
            f"{place}/other.h": "extern int other;\n",
            f"{place}/STM32CubeIDE/.cproject": CPROJECT.format(name="UVCL"),
        }
        lines += [f"{FLASH_CLI} -w FSBL/ai_fsbl.hex", f"{FLASH_CLI} -w build/{place}/Project_sign.bin 0x70100000"]
        data = f"{model}/network_data"
        lines.append(f"objcopy -I binary {data}.xSPI2.bin --change-addresses 0x71000000 -O ihex {data}.hex")
    files |= {"README.md": "\n".join([*lines, "```", ""]), "FSBL/ai_fsbl.hex": ihex(0x70000000, b"fsbl")}
    files |= {
        "Drivers/x/network.c": b"int a;\n",
        "build/CMakeCache.txt": b"",
        "build/network.c": make(Want()).files["network.c"],
    }
    return put(folder, files)


def cubemx_cmake(folder: Path) -> Path:
    """CMake as STM32CubeMX makes it, in a folder below the top; the board is in the .ioc, the constants at the top."""
    made = network("Appli/X-CUBE-AI/App", Want(version="3.0"), "/network_atonbuf.xSPI2.raw")
    cmake = {"CMakeLists.txt": CMAKE, "CMakePresets.json": PRESETS, "cmake/gcc-arm-none-eabi.cmake": CHAIN}
    files = {**made, **{f"Appli/{name}": text for name, text in cmake.items()}}
    files |= {
        "Appli/Src/main.c": MAIN,
        "Appli/STM32N657XX_LRUN.ld": LD,
        "app.ioc": "ProjectManager.x=1\nboard=STM32N6570-DK\n",
    }
    return put(folder, files)


def cubeide(folder: Path) -> Path:
    """A project of STM32CubeIDE alone, with the makefile that it wrote."""
    files: dict[str, str | bytes] = dict(network("FSBL/Model", Want(version="2.2"), "network_atonbuf.xSPI2.raw"))
    files |= {
        "FSBL/.cproject": CPROJECT.format(name="Debug"),
        "FSBL/.project": "<projectDescription><name>app</name></projectDescription>",
    }
    files |= {"FSBL/app.ld": LD, "FSBL/Debug/makefile": "# Automatically-generated file. Do not edit!\n-include x\n"}
    return put(folder, {**files, "README.md": "For the STM32N6570-DK.\n"})


def edge_impulse(folder: Path) -> Path:
    """Constants as Intel HEX alone, in another folder; an application at another place; scripts for two systems."""
    made = network("Model", Want(version="2.0"), "/Upload/network_data.hex")
    script = f'APP=build/app.bin\nEL=x\n{FLASH_CLI} -w "$APP" 0x70080000\n{FLASH_CLI} -w Upload/network_data.hex\n'
    batch = f"set APP=build\\app.bin\n{FLASH_CLI} ^\n  -w %APP% 0x70080000\n"
    return put(
        folder,
        {
            **made,
            "Makefile": MAKEFILE.format(board=".", network="Model/network.c").replace("/.", "/out"),
            "app.ld": LD,
            "Src/main.c": MAIN,
            "Src/other.c": "int other;\n",
            "flash.sh": script,
            "flash.bat": batch.replace("\n", "\r\n"),
            "README.md": "Firmware for the ST STM32N6570-DK\n",
        },
    )


def audio(folder: Path) -> Path:
    """Constants under a name of their own, a Makefile of which the rules are in another file."""
    made = network("Projects/X-CUBE-AI/models", Want(version="2.2"), "aed_weights.bin")
    rules = "BUILD_DIR_BM = $(BUILD_DIR_BASE)/BM\n$(BUILD_DIR_BM)/$(TARGET).elf: $(OBJECTS)\n\t$(CC) $^ -o $@\n"
    main = "TARGET = GS_Audio\nBUILD_DIR_BASE := BuildGCC\nMCU = -mcpu=cortex-m55\nLDSCRIPT = app.ld\ninclude bm.mk\n"
    files = {**made, "Projects/GS/Makefile": main, "Projects/GS/bm.mk": rules, "Projects/GS/app.ld": LD}
    return put(folder, {**files, "Projects/Common/stm32n6570_discovery_audio.c": "", "README.md": "STM32N6570-DK\n"})


def xip(folder: Path) -> Path:
    """Executed in place, several linker scripts; the network's C has another name, and a pool that nothing places."""
    made = make(Want(version="4.0.0", relative=True)).files
    files = {f"Appli/AI/App/{name}": data for name, data in made.items() if not name.endswith(".raw")}
    other = "ROM (rx) : ORIGIN = 0x70100400, LENGTH = 511K"
    makefile = MAKEFILE.format(board=".", network="").replace("app.ld", "STM32N657XX_ROMxspi2.ld")
    scripts = {"Appli/STM32N657XX_ROMxspi2.ld": other, "Appli/STM32N657XX_LRUN.ld": LD}
    return put(folder, {**files, "Appli/Makefile": makefile, **scripts, "x.ioc": "board=STM32N6570-DK\n"})


def two_networks(folder: Path) -> Path:
    """Two networks in one program, beside each other, and a copy of one of them elsewhere."""
    files: dict[str, str | bytes] = {}
    for name in ("od", "reid"):
        made = make(Want(version="3.0", name=name)).files
        raw = made.pop("network_atonbuf.xSPI2.raw")
        own = {path.replace("network", name): data for path, data in made.items()}
        files |= {f"Model/{path}": data for path, data in own.items()}
        files[f"Model/{name}_atonbuf.xSPI2.bin"] = raw + (b"" if name == "od" else b"longer")
    files["converted/reid.c"] = files["Model/reid.c"]
    files["converted/reid_atonbuf.xSPI2.raw"] = files["Model/reid_atonbuf.xSPI2.bin"]
    makefile = MAKEFILE.format(board=".", network="Model/od.c Model/reid.c").replace("/.", "/out")
    main = {"app.ld": LD, "Src/main.c": MAIN, "Src/other.c": "int other;\n", "README.md": "NUCLEO-N657X0-Q\n"}
    return put(folder, {**files, **main, "Makefile": makefile})


H747_H = """#define AI_NETWORK_IN_NUM (1)
#define AI_NETWORK_IN_1_FORMAT AI_BUFFER_FORMAT_U8
#define AI_NETWORK_IN_1_HEIGHT (8)
#define AI_NETWORK_IN_1_WIDTH (8)
#define AI_NETWORK_IN_1_CHANNEL (3)
#define AI_NETWORK_IN_1_SIZE_BYTES (192)
#define AI_NETWORK_OUT_NUM (1)
#define AI_NETWORK_OUT_1_FORMAT AI_BUFFER_FORMAT_FLOAT
#define AI_NETWORK_OUT_1_CHANNEL (10)
#define AI_NETWORK_OUT_1_SIZE_BYTES (40)
"""
H747_C = """#include "network.h"
AI_API_ENTRY
ai_error ai_network_create(ai_handle* network, const ai_buffer* config) { }
"""
H747_SIZES = "#define AI_NETWORK_DATA_ACTIVATIONS_SIZE (1000)\n#define AI_NETWORK_DATA_WEIGHTS_SIZE (2000)\n"


def h747(folder: Path) -> Path:
    """A network for the core, of the legacy API, with its constants as C."""
    files = {"network.c": H747_C, "network.h": H747_H, "network_data.c": "\n", "network_data.h": "\n"}
    files |= {"network_data_params.c": "const int w[] = { 1 };\n", "network_data_params.h": H747_SIZES}
    made = {f"CM7/X-CUBE-AI/App/{name}": text for name, text in {**files, "network_config.h": "\n"}.items()}
    project = {"CM7/.cproject": CPROJECT.format(name="Debug"), "STM32H747I-DISCO.ioc": "board=STM32H747I-DISCO\n"}
    return put(folder, {**made, **project})


SHAPES = {
    "make": two_boards,
    "cmake": cubemx_cmake,
    "cubeide": cubeide,
    "ei": edge_impulse,
    "audio": audio,
    "xip": xip,
    "h747": h747,
    "reid": two_networks,
}
