"""A made-up installation: names and layout as the builder expects them, contents of this project alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

VERSIONS = {
    (1, 1, 0, 31): (24, 16, "2.1"),
    (1, 1, 1, 14): (24, 17, "2.2"),
    (1, 1, 3, 8): (26, 17, "3.0"),
    (1, 1, 3, 262): (26, 17, "4.0.0"),
    (1, 1, 3, 275): (26, 17, "4.0.1"),
}
_HEADER = """\
#ifndef FAKE_ATON_H
#define FAKE_ATON_H
#include <stdbool.h>
#include <stdint.h>
#include "ll_aton_version.h"
#include "stm32n6xx.h"
typedef struct { const char *name; uint32_t address, start, end; } LL_Buffer_InfoTypeDef;
typedef struct { void (*start)(const void *); void (*end)(const void *); uint32_t wait; uint32_t flags;
#ifdef LL_ATON_EB_DBG_INFO
  int32_t number;
#endif
} EpochBlock_ItemTypeDef;
int fake_operator(const uint8_t *data, int count);
void LL_ATON_Cache_MCU_Clean_Range(uintptr_t address, uint32_t size);
const char *fake_file(void);
#endif
"""
_NETWORK_MACRO = """\
#ifndef FAKE_RELOC_H
#define FAKE_RELOC_H
#ifdef MODEL_CONF
#include MODEL_CONF
#else
#include "network_reloc_conf.h"
#endif
struct fake_interface { const char *name; void *rest[10]; };
struct fake_context { uint32_t state[5]; const char *name; uint32_t acts, params, ext; const char *desc;
  uint32_t ver, extra, size, crc;
%(sizes)s
  void *instance; struct fake_interface *interface; };
extern struct fake_context _network_rt_ctx;
#if defined(__ARM_FEATURE_CMSE) && __ARM_FEATURE_CMSE == 3
#define FAKE_SECURE (1u << 20)
#else
#define FAKE_SECURE 0u
#endif
#ifdef LL_ATON_EB_DBG_INFO
#define FAKE_DBG (1u << 21)
#else
#define FAKE_DBG 0u
#endif
#define FAKE_JOIN_(a, b) a##b
#define FAKE_JOIN(a, b) FAKE_JOIN_(a, b)
#define F(name) (void *)FAKE_JOIN(name, C_FCT_SUFFIX)
#define AI_RELOC_NETWORK() \\
  static const void *fake_none(void) { return 0; } \\
  static struct fake_interface _itf_network = {C_NAME, {0}}; \\
  __attribute__((used, section(".network_flags"))) const uint32_t _network_flags = \\
    0x80485D22u | FAKE_SECURE | FAKE_DBG; \\
  __attribute__((used, section(".network_rt_ctx"))) struct fake_context _network_rt_ctx = {{0}, C_NAME, ACTS_SZ, \\
    PARAMS_SZ, EXT_RAM_SZ, RUNTIME_DESC, RUNTIME_VERSION, RUNTIME_VERSION_DEV, PARAMS_BIN_SZ, PARAMS_BIN_CRC32, \\
    %(values)s 0, &_itf_network}; \\
  __attribute__((used, section(".network_entries"))) void *const _network_entries[] = { \\
    F(LL_ATON_EC_Network_Init_), F(LL_ATON_EC_Inference_Init_), (void *)fake_none, (void *)fake_none, \\
    (void *)fake_none, (void *)fake_none, F(LL_ATON_EpochBlockItems_), F(LL_ATON_Output_Buffers_Info_), \\
    F(LL_ATON_Input_Buffers_Info_), %(encryption)s (void *)fake_none, (void *)&_network_rt_ctx}
#endif
"""
_SOURCES = {
    "ll_aton.c": '#include "ll_aton.h"\nconst char *fake_file(void) { return __FILE__; }\n',
    "ll_aton_util.c": "typedef int fake_util;\n",
    "ll_aton_lib_sw_operators.c": (
        '#include "ll_aton.h"\n#ifndef NDEBUG\n#error "NDEBUG"\n#endif\n'
        "int fake_operator(const uint8_t *data, int count) {\n"
        "  int sum = 0;\n  for (int n = 0; n < count; n++) sum += data[n];\n  return sum;\n}\n"
    ),
    "ll_sw_integer.c": "typedef int fake_integer;\n",
    "ll_sw_float.c": "typedef int fake_float;\n",
    "ecloader.c": "typedef int fake_loader;\n",
    "ll_aton_reloc_callbacks.c": (
        '#include "ll_aton.h"\n#include "ll_aton_reloc_network.h"\n'
        "void LL_ATON_Cache_MCU_Clean_Range(uintptr_t address, uint32_t size) {\n"
        "  typedef int (*clean_t)(uint32_t, uint32_t);\n"
        "  ((clean_t)((const uint32_t *)_network_rt_ctx.state[4])[2])(address, address + size);\n}\n"
    ),
}
_ARCHIVE = """\
void *memcpy(void *to, const void *from, unsigned n) {
  char *t = to;
  const char *f = from;
  while (n--) *t++ = *f++;
  return to;
}
"""


def make(root: Path, version: tuple[int, int, int, int] = (1, 1, 3, 262), *, linker_script: str = "") -> Path:
    """Write an installation of a version."""
    header_words, context_words, _ = VERSIONS[version]
    npu = root / "Middlewares/ST/AI/Npu/ll_aton"
    platform = root / "scripts/N6_reloc/resources/platform/STM32N6xx"
    library = root / "Middlewares/ST/AI/Lib/GCC/ARMCortexM55"
    for folder in (npu, platform, library, root / "Middlewares/ST/AI/Inc"):
        folder.mkdir(parents=True)
    parts = zip(("MAJOR", "MINOR", "MICRO", "DEV"), version, strict=True)
    (npu / "ll_aton_version.h").write_text("".join(f"#define LL_ATON_VERSION_{k} {v}\n" for k, v in parts))
    (npu / "ll_aton.h").write_text(_HEADER)
    sizes = context_words == 17
    (npu / "ll_aton_reloc_network.h").write_text(
        _NETWORK_MACRO
        % {
            "sizes": "  uint32_t sizes;" if sizes else "",
            "values": "56 | (LL_SIZE << 8),".replace("LL_SIZE", "(FAKE_DBG ? 48 : 20)") if sizes else "",
            "encryption": "(void *)fake_none, (void *)fake_none," if header_words == 26 else "",
        }
    )
    for name, text in _SOURCES.items():
        (npu / name).write_text(text)
    (platform / "stm32n6xx.h").write_text("#define ATON_BASE 0x580E0000u\n")
    (platform / "ATON.h").write_text("\n")
    if linker_script:
        (platform.parent.parent / "reloc_network_gcc.lkr").write_text(linker_script)
    (root / "memory.c").write_text(_ARCHIVE)
    flags = ("-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-fpic", "-Os", "-ffreestanding", "-fno-builtin")
    flags += ("-fno-tree-loop-distribute-patterns",)
    subprocess.run(["arm-none-eabi-gcc", *flags, "-c", "memory.c", "-o", "memory.o"], cwd=root, check=True)
    archive = str(library / "NetworkRuntime1200_CM55_GCC_PIC.a")
    subprocess.run(["arm-none-eabi-ar", "rcsD", archive, "memory.o"], cwd=root, check=True)
    return root


def add_clang(root: Path, *, real: bool) -> None:
    """A library for clang; ``real``: compiled by the one of this machine, else empty."""
    archive = root / "Middlewares/ST/AI/Lib/GCC/ARMCortexM55/NetworkRuntime1200_CM55_CLANG_PIC.a"
    archive.write_bytes(b"!<arch>\n")
    if real:
        flags = ("--target=arm-none-eabi", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-fropi", "-frwpi", "-ffreestanding")
        subprocess.run(["clang", *flags, "-Os", "-c", "memory.c", "-o", "clang.o"], cwd=root, check=True)
        subprocess.run(["arm-none-eabi-ar", "rcsD", str(archive), "clang.o"], cwd=root, check=True)


def complete(root: Path) -> Path:
    """Add what relocatable models need to an installation that has the headers of ``fake_stedgeai.middlewares``."""
    npu = root / "Middlewares/ST/AI/Npu/ll_aton"
    version = (npu / "ll_aton_version.h").read_text()
    numbers = tuple(int(line.split()[-1]) for line in version.splitlines() if "_VERSION_" in line)
    other = make(root.with_name(f"{root.name}-relocatable"), numbers)
    for path in sorted(other.rglob("*")):
        place = root / path.relative_to(other)
        if path.is_file() and path.name not in ("ll_aton.h", "ll_aton_version.h"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
    declared = _HEADER[_HEADER.index("int fake_operator") : _HEADER.rindex("#endif")]
    header = npu / "ll_aton.h"
    header.write_text(f'{header.read_text()}#include "stm32n6xx.h"\n{declared}')
    (root / "Middlewares/ST/AI/Inc").mkdir()
    shutil.rmtree(other)
    return root


def network(
    folder: Path,
    version: tuple[int, int, int, int] = (1, 1, 3, 262),
    *,
    blobs: str = "",
    mixed: bool = False,
    body: str = "",
    raw: bytes = bytes(range(200)),
) -> Path:
    """Write a network as that installation's compiler would describe it.

    Args:
        folder: Where.
        version: Of its guard.
        blobs: Text of the header with epoch-controller blobs; empty: there is none.
        mixed: A relative read/write pool with initial contents at a higher address than the weights.
        body: C at the end.
        raw: Weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    guard = " || ".join(
        f"LL_ATON_VERSION_{k} != {v}" for k, v in zip(("MAJOR", "MINOR", "MICRO", "DEV"), version, strict=True)
    )
    pools = [("xSPI2", "octoFlash", 0x71000000, "relative_mode", "READ_ONLY", "ON", f"{len(raw)} B", 16 << 20)]
    pools.append(("AXISRAM5", "npuRAM5", 0x342E0000, "absolute_mode", "READ_WRITE", "OFF", "96 B", 448 << 10))
    pools.append(("AXISRAM2", "cpuRAM2", 0x34100000, "absolute_mode", "READ_WRITE", "OFF", "1.00 MB", 1 << 20))
    rows = [("weights", "_mem_pool_xSPI2_Default", 0, len(raw), 1)]
    if mixed:
        pools.append(("xSPI1", "hyperRAM", 0x90000000, "relative_mode", "READ_WRITE", "ON", "128 B", 16 << 20))
        rows += [("state", "_mem_pool_xSPI1_Default", 0, 64, 1), ("work", "_mem_pool_xSPI1_Default", 64, 128, 0)]
        (folder / "network_atonbuf.xSPI1.raw").write_bytes(bytes(reversed(range(128))))
    rows.append(("pixels", "0x342E0000UL", 32, 96, 0))
    comments = "".join(
        f"/* global pool {n} is {said} */\n"
        f"/* index={n} file postfix={fname} name={name} offset=0x{address:08x}  {mode} size={capacity} {rights} "
        f"THROUGHPUT=MID LATENCY=MID byte width=8 freq ratio=1 cacheable={cache} score=50  */\n"
        + (f"extern unsigned char _mem_pool_{fname}_Default[]; /* {said} */\n" if mode == "relative_mode" else "")
        for n, (fname, name, address, mode, rights, cache, said, capacity) in enumerate(pools)
    )
    table = "".join(
        f'    {{\n      .name = "{name}",\n      .addr_base = {{(unsigned char *)(uintptr_t)({base}) /* x */}},\n'
        f"      .offset_start = {start},\n      .offset_end = {end},\n      .is_param = {param},\n    }},\n"
        for name, base, start, end, param in rows
    )
    symbols = ["_mem_pool_xSPI2_Default", *(["_mem_pool_xSPI1_Default"] if mixed else [])]
    uses = "".join(f"  sum += fake_operator({symbol} + 8, 16);\n" for symbol in symbols)
    text = (
        # As real ones begin: two comments that say nothing of the compile.
        "/* MADE BY A TOOL */\n/*\n * Terms of use.\n */\n"
        f'/* generated\n * GIT_DESCRIPTION "fake-{".".join(map(str, version))}"\n * --all-buffers-info = true\n'
        f" * --enable-epoch-controller = {'true' if blobs else 'false'}\n */\n"
        '#include "ll_aton.h"\n'
        + ('#include "network_ecblobs.h"\n' if blobs else "")
        + f'#if {guard}\n#error "mismatch"\n#endif\n{comments}\n'
        "static volatile int sum;\n"
        f"{_USE_BLOBS if blobs else ''}"
        f"static void step(const void *item) {{\n  (void)item;\n{uses}"
        "  LL_ATON_Cache_MCU_Clean_Range(0x342E0000u, 96);\n  sum += fake_file()[0];\n}\n"
        f"bool LL_ATON_EC_Network_Init_Default(void) {{ {'return use_blobs() != 0;' if blobs else 'return true;'} }}\n"
        "bool LL_ATON_EC_Inference_Init_Default(void) { return true; }\n"
        "const EpochBlock_ItemTypeDef *LL_ATON_EpochBlockItems_Default(void) {\n"
        "  static const EpochBlock_ItemTypeDef items[] = {{.start = step}, {.flags = 0x80}};\n  return items;\n}\n"
        "const LL_Buffer_InfoTypeDef *LL_ATON_Input_Buffers_Info_Default(void) {\n"
        "#if 0\n  static const LL_Buffer_InfoTypeDef buff_info[] = {\n"
        f"{table}    {{\n      .name = NULL,\n    }},\n  }};\n#endif\n  return 0;\n}}\n"
        "const LL_Buffer_InfoTypeDef *LL_ATON_Output_Buffers_Info_Default(void) { return 0; }\n"
        f"{body}"
    )
    (folder / "network.c").write_text(text)
    (folder / "network_atonbuf.xSPI2.raw").write_bytes(raw)
    if blobs:
        (folder / "network_ecblobs.h").write_text(blobs)
    return folder / "network.c"


_BLOBS = """\
#ifndef BLOBS_H
#define BLOBS_H
#ifndef ECBLOB_CONST_SECTION
#define ECBLOB_CONST_SECTION
#endif
ECBLOB_CONST_SECTION
{more}static const uint64_t _ec_blob_Default_1[{size}] = {{0xCA057A7A00000001ULL, 0x1111111111111111ULL}};
ECBLOB_CONST_SECTION
{more}static const uint64_t _ec_blob_Default_2[{size}] = {{0xCA057A7A00000002ULL, 0x2222222222222222ULL}};
static uint64_t _ec_blob_Default_2_ptr[2] __attribute__((aligned(64)));
#endif
"""
BLOBS_OLD = _BLOBS.format(more="", size="")
BLOBS_NEW = _BLOBS.format(more="/* the blob\n */\n__attribute__((aligned(64)))\n", size="2")
# One blob is used in place, by a constant table; the other is copied.
_USE_BLOBS = """\
static const struct { uintptr_t blob; } epochs[] = {{(uintptr_t)_ec_blob_Default_1}};
static uint64_t use_blobs(void) {
  const uint64_t *source = _ec_blob_Default_2;
  for (int n = 0; n < 2; n++) _ec_blob_Default_2_ptr[n] = source[n + sum];
  return fake_operator((const uint8_t *)epochs[sum].blob, 16) + _ec_blob_Default_2_ptr[sum];
}
"""
