"""Firmware repositories of the shapes that public ones have: networks of every release, and builds around them.

What is in them is written by us. ``main.c`` of those that build needs nothing but a cross compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuralart.text.ihex import ihex
from support.models.vendor_network_c import Want, make

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


_MANAGED = "com.st.stm32cube.ide.mcu.gnu.managedbuild"


def _option(key: str, *values: str, many: bool = False) -> str:
    tool = f"{_MANAGED}.{key}"
    if not many:
        return f'<option id="x" superClass="{tool}" value="{values[0]}"/>'
    rows = "".join(f'<listOptionValue value="{value}"/>' for value in values)
    return f'<option id="x" superClass="{tool}">{rows}</option>'


def _tool(name: str, *options: str) -> str:
    return f'<tool id="x" superClass="{_MANAGED}.tool.{name}">{"".join(options)}</tool>'


_C, _L = "tool.c.compiler.option", "tool.c.linker.option"
_DEBUG = (
    _option("option.fpu", f"{_MANAGED}.option.fpu.value.fpv5-d16")
    + _option("option.floatabi", f"{_MANAGED}.option.floatabi.value.hard")
    + _option("option.nanoprintffloat", "true")
    + _tool("assembler", _option("tool.assembler.option.debuglevel", "x.value.g3"))
    + _tool(
        "c.compiler",
        _option(f"{_C}.definedsymbols", "DEBUG", "TITLE=&quot;a b&quot;", many=True),
        _option(
            f"{_C}.includepaths",
            "../Core",
            "&quot;${ProjDirPath}/../../Drivers/Inc&quot;",
            "${workspace_loc:/Top/App/STM32CubeIDE/Inc}",
            many=True,
        ),
        _option(f"{_C}.optimization.level", f"{_MANAGED}.{_C}.optimization.level.value.os"),
        _option(f"{_C}.ffunction", "false"),
        _option(f"{_C}.mcmse", "true"),
        _option(f"{_C}.otherflags", "-Wextra", many=True),
    )
    + _tool(
        "c.linker",
        _option(f"{_L}.script", "${workspace_loc:/${ProjName}/app.ld}"),
        _option(f"{_L}.systemcalls", f"{_L}.systemcalls.value.none"),
        _option(f"{_L}.nostdlib", "true"),
        _option(f"{_L}.libraries", ":libx.a", many=True),
        _option(f"{_L}.directories", "../../../Library", many=True),
    )
)
_RELEASE = _option("option.runtimelibrary_c", "x.value.standard_c") + _tool(
    "c.linker", _option(f"{_L}.script", "../app.ld")
)
_LINKS = (
    ("Drivers/hal one.c", "1", "PARENT-2-PROJECT_LOC/Drivers/Src/hal%20one.c"),
    ("Drivers/hal_two.c", "1", "copy_PARENT/Drivers/Src/hal_two.c"),
    ("Drivers/readme.txt", "1", "PARENT-2-PROJECT_LOC/readme.txt"),
    ("Lib", "2", "PARENT-2-PROJECT_LOC/Library"),
    ("Gone", "2", "virtual:/virtual"),
)
_ENTRIES = (
    '<sourceEntries><entry excluding="sub/old.c|attic" kind="sourcePath" name="Core"/>'
    '<entry kind="sourcePath" name="Drivers"/><entry excluding="**/x_*.c" kind="sourcePath" name="Lib"/>'
    "</sourceEntries>"
)


def _configuration(name: str, tools: str, rest: str) -> str:
    chain = f'<toolChain superClass="{_MANAGED}.toolchain.exe.{name.lower()}">{tools}</toolChain>'
    return (
        f'<configuration artifactName="${{ProjName}}" buildProperties="x" name="{name}">'
        f'<folderInfo resourcePath="">{chain}</folderInfo>{rest}</configuration>'
    )


def cube_app(folder: Path) -> Path:
    """A project of STM32CubeIDE with links, in a project around it, whose program links without a C library."""
    single = f'<fileInfo resourcePath="Core/main.c">{_tool("c.compiler", _option(f"{_C}.mcmse", "false"))}</fileInfo>'
    links = "".join(
        f"<link><name>{name}</name><type>{kind}</type><locationURI>{uri}</locationURI></link>"
        for name, kind, uri in _LINKS
    )
    variable = "<variable><name>copy_PARENT</name><value>$%7BPARENT-2-PROJECT_LOC%7D</value></variable>"
    project = f"<name>Bell</name><linkedResources>{links}</linkedResources><variableList>{variable}</variableList>"
    both = _configuration("Debug", _DEBUG, single + _ENTRIES) + _configuration("Release", _RELEASE, "")
    main = '#include "settings.h"\nint one(void);\nint main(void) { return LEVEL + one(); }\n'
    return put(
        folder,
        {
            ".project": "<projectDescription><name>Top</name></projectDescription>",
            "App/STM32CubeIDE/.project": f"<projectDescription>{project}</projectDescription>",
            "App/STM32CubeIDE/.cproject": f"<cproject>{both}</cproject>",
            "App/STM32CubeIDE/app.ld": LD,
            "App/STM32CubeIDE/Inc/settings.h": "#define LEVEL 1\n",
            "App/STM32CubeIDE/Core/main.c": main,
            "App/STM32CubeIDE/Core/sub/more.c": "int more;\n",
            "App/STM32CubeIDE/Core/sub/old.c": "#error excluded\n",
            "App/STM32CubeIDE/Core/attic/older.c": "#error excluded\n",
            "App/STM32CubeIDE/Core/start.S": ".thumb_func\n.global Reset_Handler\nReset_Handler: bl main\n b .\n",
            "App/STM32CubeIDE/Excluded/never.c": "#error excluded\n",
            "App/STM32CubeIDE/Debug/left.c": "#error another configuration\n",
            "App/STM32CubeIDE/Release/left.c": "#error another configuration\n",
            "Drivers/Inc/hal.h": "\n",
            "Drivers/Src/hal one.c": '#include "hal.h"\nint one(void) { return 1; }\n',
            "Drivers/Src/hal_two.c": '#include "hal.h"\nint two;\n',
            "Library/deep/lib.c": "int lib;\n",
            "Library/deep/x_no.c": "#error excluded\n",
            "Library/libx.a": "!<arch>\n",
        },
    )
