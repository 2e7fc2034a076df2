"""A camera application for the STM32H747I-DISCO as patching meets it, and networks for it. All of it is made up.

Only what the contract names is as in applications of that kind: paths, markers, macros, sections, buffer formulas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from neuralart_bring.patching import patchlist
from neuralart_bring.patching.network_files import NetworkFiles
from neuralart_bring.patching.plan import PatchRequest

ROOT = "Application/STM32H747I-DISCO"
MAIN_H, MAIN_C, INTERFACE = "Inc/CM7/main.h", "Src/CM7/main.c", "Inc/CM7/ai_interface.h"
FILES = (MAIN_H, MAIN_C, INTERFACE)
LINKER = "STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld"
START = " /*** @GENERATED CODE START - DO NOT TOUCH@ ***/"
STOP = " /*** @GENERATED CODE STOP - DO NOT TOUCH@ ***/"

MAIN_H_TEXT = """\
/* Resolutions and buffers. #define CAM_RES_WIDTH (in a comment) */
#ifndef MAIN_H
#define MAIN_H
#include <stdint.h>
#include "ai_interface.h"
#include "ai_model_config.h"

#define QVGA_RES_WIDTH  (320)
#define QVGA_RES_HEIGHT (240)
#define VGA_RES_WIDTH   (640)
#define VGA_RES_HEIGHT  (480)
#define RGB_565_BPP     (2)

#define CAMERA_R320x240 1
#define CAMERA_R640x480 2
#define CAMERA_RESOLUTION (CAMERA_R320x240)
#define CAM_RES_WIDTH (QVGA_RES_WIDTH)
#define CAM_RES_HEIGHT (QVGA_RES_HEIGHT)

#if ASPECT_RATIO_MODE == ASPECT_RATIO_PADDING
  #define CAM_RES_WITH_BORDERS CAM_RES_WIDTH
  #define CAM_PIXELS (CAM_RES_WITH_BORDERS * CAM_RES_WITH_BORDERS)
#else
  #define CAM_PIXELS (CAM_RES_WIDTH * CAM_RES_HEIGHT)
#endif
#define WHOLE_LINES(bytes) (((bytes) + 31) / 32 * 32)
#define CAM_FRAME_BUFFER_SIZE WHOLE_LINES(CAM_PIXELS * RGB_565_BPP)
#define RESCALED_FRAME_BUFFER_SIZE WHOLE_LINES(AI_NETWORK_WIDTH * AI_NETWORK_HEIGHT * RGB_565_BPP)
#endif
"""

MAIN_C_TEXT = f"""\
#include "main.h"

/* Pictures. */
__attribute__((section(".CapturedImage_Buffer_SDRAM")))
__attribute__ ((aligned (32)))
uint8_t CapturedImage_Buffer[CAM_FRAME_BUFFER_SIZE];

__attribute__((section(".RescaledImage_Buffer_AXIRAM")))
__attribute__ ((aligned (32)))
uint8_t RescaledImage_Buffer[RESCALED_FRAME_BUFFER_SIZE];

{START}
__attribute__((section(".NN_Activation_Buffer_AXIRAM")))
__attribute__ ((aligned (32)))
static uint8_t NN_Activation_Buffer_AXIRAM[AI_ACTIVATION_1_SIZE_BYTES + 32 - (AI_ACTIVATION_1_SIZE_BYTES%32)];
ai_handle NN_Activation_Buffer[AI_ACTIVATION_BUFFERS_COUNT] = {{ NN_Activation_Buffer_AXIRAM, }};

{STOP}

int main(void)
{{
  return CapturedImage_Buffer[0] + RescaledImage_Buffer[0] + (NN_Activation_Buffer[0] != 0);
}}
"""

INTERFACE_TEXT = f"""\
#ifndef AI_INTERFACE_H
#define AI_INTERFACE_H
#include "network.h"
#include "network_data.h"

#define AI_ACTIVATION_1_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_1_SIZE
#define AI_ACTIVATION_2_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_2_SIZE
#define AI_ACTIVATION_3_SIZE_BYTES AI_NETWORK_DATA_ACTIVATION_3_SIZE
#define AI_ACTIVATION_BUFFERS_COUNT AI_NETWORK_DATA_ACTIVATIONS_COUNT

{START}
#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 0
#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE AI_ACTIVATION_1_SIZE_BYTES

{STOP}

#define AI_NETWORK_WIDTH AI_NETWORK_IN_1_WIDTH
#define AI_NETWORK_HEIGHT AI_NETWORK_IN_1_HEIGHT
#endif
"""

APP_NETWORK_TEXT = """\
#include "main.h"

int input_lines(void);
int input_lines(void)
{
  /* AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX */
  return AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX * 1000 + AI_NETWORK_INPUTS_IN_ACTIVATIONS_SIZE / 32;
}
"""

MODEL_CONFIG_TEXT = """\
#define ASPECT_RATIO_FIT 1
#define ASPECT_RATIO_CROP 2
#define ASPECT_RATIO_PADDING 3
#ifndef ASPECT_RATIO_MODE
#define ASPECT_RATIO_MODE ASPECT_RATIO_FIT
#endif
"""

LINKER_TEXT = """\
/* Cortex-M7 side. */
ENTRY(Reset_Handler)
_estack = 0x24080000;
_Min_Heap_Size = 0x1000;
_Min_Stack_Size = 0x400;

MEMORY
{
FLASH_BK1 (rx)  : ORIGIN = 0x08000000, LENGTH = 1024K
DTCMRAM (xrw)   : ORIGIN = 0x20000000, LENGTH = 128K
AXIRAM (xrw)    : ORIGIN = 0x24000000, LENGTH = 512K
SDRAM (xrw)     : ORIGIN = 0xD0000000, LENGTH = 32M
}

SECTIONS
{
  .text : { . = ALIGN(4); *(.text) *(.text*) KEEP (*(.init)) _etext = .; } >FLASH_BK1
  .flash_data : { *(.NN_Activation_Buffer_FLASH) } >FLASH_BK1
  _sidata = LOADADDR(.data);
  .data : { *(.data) *(.data*) } >AXIRAM AT> FLASH_BK1
  . = ALIGN(4);
  .bss :
  {
    *(.bss)
    *(COMMON)
    . = ALIGN(32);
    *(.CapturedImage_Buffer_AXIRAM)
    *(.RescaledImage_Buffer_AXIRAM)
  } >AXIRAM
  ._user_heap_stack (NOLOAD):
  {
    PROVIDE ( end = . );
    . = . + _Min_Heap_Size + _Min_Stack_Size;
    *(.NN_Activation_Buffer_DTCMRAM)
  } >DTCMRAM
  .axi (NOLOAD): { *(.NN_Activation_Buffer_AXIRAM) *(.NN_Activation_Buffer_my_pool_1) } >AXIRAM
  .sdram (NOLOAD):
  {
    *(.NN_Activation_Buffer_SDRAM) *(.NN_Activation_Buffer_SDRAM_2)
    *(.CapturedImage_Buffer_SDRAM)
    *(.RescaledImage_Buffer_SDRAM)
  } >SDRAM
  /DISCARD/ : { *libc.a:* ( * ) *libm.a:crt*(*) }
  .ARM.attributes 0 : { *(.ARM.attributes) }
}
"""

TEXTS = {
    f"{ROOT}/{MAIN_H}": MAIN_H_TEXT,
    f"{ROOT}/{MAIN_C}": MAIN_C_TEXT,
    f"{ROOT}/{INTERFACE}": INTERFACE_TEXT,
    f"{ROOT}/Inc/CM7/ai_model_config.h": MODEL_CONFIG_TEXT,
    f"{ROOT}/Src/CM7/app_network.c": APP_NETWORK_TEXT,
    f"{ROOT}/{LINKER}": LINKER_TEXT,
    f"{ROOT}/Inc/CM4/main.h": "/* the other core's */\n",
}


@dataclass(frozen=True)
class FakePool:
    """A pool with activations; ``number`` is the generator's."""

    name: str
    used: int
    number: int


@dataclass
class FakeNetwork:
    """A network of the legacy C API; axes in the order of the shape."""

    pools: Sequence[FakePool] = (FakePool("heap_overlay_pool", 50_000, 1),)
    shape: Sequence[Any] = (224, 224, 3)
    axes: Sequence[str] = ("H", "W", "CH")
    input_pool: str = ""
    name: str = "network"
    more: Mapping[str, Any] = field(default_factory=dict)

    def c_info(self) -> dict[str, Any]:
        names = [pool.name for pool in self.pools]
        where = self.input_pool or (names[0] if names else "none")
        return {
            "json_schema_version": "2.0",
            "environment": {
                "generated_model": {"name": self.name, "model_files": [{"name": "network_data_params.h"}]},
                "tools": [{"name": "ST.EdgeAI.Core", "arguments": "generate --target stm32h7 --c-api legacy"}],
            },
            "memory_pools": [
                *(
                    {"id": n, "name": pool.name, "used_size_bytes": pool.used, "rights": "ACC_WRITE"}
                    for n, pool in enumerate(self.pools)
                ),
                {"id": 90, "name": "unused", "used_size_bytes": 0, "rights": "ACC_WRITE"},
                {"id": 91, "name": "weights_array", "used_size_bytes": 7, "rights": "ACC_READ"},
            ],
            "buffers": [
                {
                    "id": 5,
                    "name": "input_array",
                    "mpool_id": names.index(where) if where in names else -1,
                    "shape": list(self.shape),
                    "shape_map": list(self.axes),
                    "channel_last": list(self.axes[-1:]) == ["CH"],
                    "channel_first": list(self.axes[:1]) == ["CH"],
                },
                *({"id": 100 + n, "name": f"inner{n}_array", "mpool_id": n} for n in range(len(names))),
            ],
            "graphs": [{"id": 0, "inputs": [5], "outputs": []}],
            **self.more,
        }

    def params_h(self) -> str:
        sizes = sorted((pool.number, pool.used) for pool in self.pools)
        macros = "".join(f"#define AI_NETWORK_DATA_ACTIVATION_{n}_SIZE    ({size})\n" for n, size in sizes)
        total = sum(size for _, size in sizes)
        return (
            "#ifndef NETWORK_DATA_PARAMS_H\n#define NETWORK_DATA_PARAMS_H\n"
            f"#define AI_NETWORK_DATA_ACTIVATIONS_SIZES \\\n  {{ {', '.join(str(s) for _, s in sizes)}, }}\n"
            f"#define AI_NETWORK_DATA_ACTIVATIONS_SIZE     ({total})\n"
            f"#define AI_NETWORK_DATA_ACTIVATIONS_COUNT    ({len(sizes)})\n{macros}#endif\n"
        )

    def network_h(self) -> str:
        sizes = dict(zip(self.axes, self.shape, strict=False))
        return (
            "#ifndef NETWORK_H\n#define NETWORK_H\ntypedef void *ai_handle;\n"
            f"#define AI_NETWORK_IN_1_HEIGHT  ({sizes.get('H')})\n#define AI_NETWORK_IN_1_WIDTH   ({sizes.get('W')})\n"
            f"#define AI_NETWORK_IN_1_CHANNEL ({sizes.get('CH', 1)})\n#endif\n"
        )

    def network_c(self) -> str:
        """Only what tells which pool is which buffer."""
        return "".join(
            f"    inner{n}_array.data = AI_PTR(g_network_activations_map[{pool.number - 1}] + 64);\n"
            for n, pool in enumerate(self.pools)
        )

    def write(self, folder: Path, *, network_c: bool = False) -> Path:
        """All files, as a generator leaves them."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}_c_info.json").write_text(json.dumps(self.c_info(), indent=1))
        (folder / "network_data_params.h").write_text(self.params_h())
        (folder / "network_data.h").write_text('#include "network_data_params.h"\n')
        (folder / "network.h").write_text(self.network_h())
        if network_c:
            (folder / "network.c").write_text(self.network_c())
        return folder


@cache
def _patches() -> patchlist.PatchList:
    return patchlist.load("stm32h747i-disco")


class App:
    """An application and a network in a folder.

    Attributes:
        folder: The application.
        root: What the patch list calls root.
        network: Folder with the network.
    """

    def __init__(self, place: Path, network: FakeNetwork | None = None, texts: Mapping[str, str] | None = None) -> None:
        self.folder = place / "app"
        self.root = self.folder / ROOT
        for path, text in {**TEXTS, **(texts or {})}.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_bytes(text.encode("latin-1"))
        self.network = (network or FakeNetwork()).write(place / "network")

    def request(self, mode: str = "fit", **more: Any) -> PatchRequest:
        patches = more.pop("patches", None) or _patches()
        files = more.pop("network", None) or NetworkFiles.in_folder(self.network, "network")
        return PatchRequest(self.folder, files, mode, patches, **more)

    def read(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("latin-1")

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, old
        (self.root / path).write_bytes(text.replace(old, new).encode("latin-1"))

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Bytes and permissions of every file of the application."""
        return tree(self.folder)


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Path -> bytes and permissions."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def block(text: str) -> list[str]:
    """Lines between the markers, without the line that tells of edits."""
    lines = text.replace("\r\n", "\n").split("\n")
    inner = lines[lines.index(START) + 1 : lines.index(STOP)]
    assert inner[0].startswith("/* neuralart patch ")
    return inner[1:]
