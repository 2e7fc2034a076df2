"""The camera application of core_firmware with a CMake project and a project of STM32CubeIDE in its tree."""

from __future__ import annotations

from pathlib import Path

from support.boards.core_firmware import KERNELS, SERIAL, VARIANTS, write
from support.boards.h747_app import LINKER, ROOT
from support.projects.repositories import _C, _L, _MANAGED, _configuration, _option, _tool, put
from support.projects.sconsproject import Project

SETTINGS, SERIAL_C = f"firm/app/{ROOT}/Inc/CM7/settings.h", f"firm/app/{ROOT}/Src/CM7/serial.c"
CUBE = f"{ROOT}/STM32CubeIDE/CM7"
MACHINE = "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard -mthumb"
CMAKELISTS = f"""\
cmake_minimum_required(VERSION 3.16)
project(camera C)
set(NET ${{CMAKE_SOURCE_DIR}}/../../generated)
file(GLOB SOURCES Src/CM7/*.c ${{NET}}/network/*.c ${{NET}}/runtime/legacy/*.c)
foreach(kernel {KERNELS})
  list(APPEND SOURCES ${{NET}}/runtime/kernels/${{kernel}}.c)
endforeach()
add_executable(camera ${{SOURCES}})
target_include_directories(camera PRIVATE Inc/CM7 ${{NET}}/network ${{NET}}/runtime/include
  ${{NET}}/runtime/legacy/include)
target_link_options(camera PRIVATE -nostartfiles -Wl,--gc-sections -T ${{CMAKE_SOURCE_DIR}}/{LINKER})
target_link_libraries(camera PRIVATE m)
"""
CHAIN = f"""\
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_EXECUTABLE_SUFFIX_C .elf)
set(CMAKE_C_FLAGS_INIT "{MACHINE} -O1 -ffunction-sections SPECS")
"""
SECTIONS = "dispatch_weights: {.InternalFlashSection: 1048568, .ExternalFlashSection: 128000K}"
VARIANTS_OF_BUILDS = (
    VARIANTS[: VARIANTS.index("variants:")].replace(
        "  digits: {model: digits.tflite}", f"  digits: {{model: digits.tflite, {SECTIONS}}}"
    )
    + f"""\
variants:
  cm:
    machine: silicon
    allow_reference_on_hardware: true
    patch: {{aspect_ratio: crop}}
    application:
      cmake:
        folder: firm/app
        directory: {ROOT}
        toolchain_file: arm.cmake
        artefact: camera.elf
        stage: generated
  cube:
    machine: silicon
    allow_reference_on_hardware: true
    patch: {{aspect_ratio: padding}}
    application:
      cubeide:
        folder: firm/app
        directory: {CUBE}
        configuration: Release
        build: native
        stage: generated
"""
)


def _project() -> str:
    """Sources beside the project, and those of the network, which are there in the copy only."""
    links = [("Src", "2", "PARENT-2-PROJECT_LOC/Src/CM7"), ("Network", "2", "PARENT-4-PROJECT_LOC/generated/network")]
    links += [("Legacy", "2", "PARENT-4-PROJECT_LOC/generated/runtime/legacy")]
    kernels = "PARENT-4-PROJECT_LOC/generated/runtime/kernels"
    links += [(f"Kernels/{name}.c", "1", f"{kernels}/{name}.c") for name in KERNELS.split()]
    rows = "".join(
        f"<link><name>{name}</name><type>{kind}</type><locationURI>{uri}</locationURI></link>"
        for name, kind, uri in links
    )
    text = f"<name>Camera</name><linkedResources>{rows}</linkedResources>"
    return f"<projectDescription>{text}</projectDescription>"


def _cproject(specs: str) -> str:
    net, inc = "../../../../../generated", "&quot;${ProjDirPath}/../../Inc/CM7&quot;"
    folders = (inc, f"{net}/network", f"{net}/runtime/include", f"{net}/runtime/legacy/include")
    tools = (
        _option("option.fpu", f"{_MANAGED}.option.fpu.value.fpv5-sp-d16")
        + _option("option.floatabi", f"{_MANAGED}.option.floatabi.value.hard")
        + _option("option.runtimelibrary_c", f"{_MANAGED}.option.runtimelibrary_c.value.standard_c")
        + _tool(
            "c.compiler",
            _option(f"{_C}.includepaths", *folders, many=True),
            _option(f"{_C}.optimization.level", f"{_MANAGED}.{_C}.optimization.level.value.o1"),
            _option(f"{_C}.otherflags", *specs.split(), many=True),
        )
        + _tool(
            "c.linker",
            _option(f"{_L}.script", "${workspace_loc:/${ProjName}/" + Path(LINKER).name + "}"),
            _option(f"{_L}.systemcalls", f"{_L}.systemcalls.value.none"),
            _option(f"{_L}.otherflags", "-nostartfiles", *specs.split(), many=True),
        )
    )
    return f"<cproject>{_configuration('Release', tools, '')}</cproject>"


def write_builds(root: Path, specs: str) -> Project:
    """The project with variants ``cm`` and ``cube``, nothing built. ``specs``: flags of the C library."""
    project = write(root, specs)
    texts = {
        "variants.yaml": VARIANTS_OF_BUILDS,
        SETTINGS: "#define SERIAL_BASE 0x40011000u\n",
        SERIAL_C: '#include "settings.h"\n' + SERIAL.replace("REGISTER(0x40011000u)", "REGISTER(SERIAL_BASE)"),
        f"firm/app/{ROOT}/CMakeLists.txt": CMAKELISTS,
        f"firm/app/{ROOT}/arm.cmake": CHAIN.replace("SPECS", specs),
        f"firm/app/{CUBE}/.project": _project(),
        f"firm/app/{CUBE}/.cproject": _cproject(specs),
    }
    put(root, texts)
    return project
