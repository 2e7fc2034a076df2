"""Headers and an empty library as an installation has them, so that generated C compiles; no code in them."""

from __future__ import annotations

from pathlib import Path

from support.fake_stedgeai.versions import VERSIONS

_LL_ATON = """\
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define LL_ATON_ALIGNED(n) __attribute__((aligned(n)))
#define ATON_LIB_VIRTUAL_TO_PHYSICAL_ADDR(address) (address)
typedef union { unsigned char *p; uintptr_t i; } LL_Address_t;
typedef enum { DataType_INT8, DataType_UINT8, DataType_INT32, DataType_FLOAT, DataType_FXP } LL_DataType;
typedef enum { CHPos_UNDEFINED, CHPos_First, CHPos_Last, CHPos_Mixed } LL_ChPos;
typedef struct {
  const char *name;
  LL_Address_t addr_base;
  uint32_t offset_start, offset_end, offset_limit;
  uint8_t is_user_allocated, is_param;
  uint16_t epoch;
  uint32_t batch;
  const uint32_t *mem_shape;
  uint16_t mem_ndims;
  LL_ChPos chpos;
  int8_t Qm, Qn;
  uint8_t Qunsigned;
  LL_DataType type;
  uint8_t nbits, ndims, per_channel;
  const uint32_t *shape;
  const float *scale;
  const int16_t *offset;
} LL_Buffer_InfoTypeDef;
typedef struct {
  LL_Address_t addr_base;
  uint32_t offset_start;
  unsigned raw : 1, noblk : 1, align_right : 1;
} LL_Streng_TensorInitTypeDef;
typedef struct { uint32_t key; } LL_Streng_EncryptionTypedef;
typedef enum { LL_ATON_User_IO_NOERROR } LL_ATON_User_IO_Result_t;
enum {
  EpochBlock_Flags_NONE = 0, EpochBlock_Flags_epoch_start = 1, EpochBlock_Flags_epoch_end = 2,
  EpochBlock_Flags_pure_hw = 4, EpochBlock_Flags_pure_sw = 8, EpochBlock_Flags_hybrid = 16,
  EpochBlock_Flags_blob = 32, EpochBlock_Flags_blob_encrypted = 64, EpochBlock_Flags_last_eb = 128
};
typedef struct {
  void (*start_epoch_block)(%(parameter)s);
  void (*end_epoch_block)(%(parameter)s);
  uintptr_t blob_address;
  uint32_t wait_mask;
  uint16_t flags;
#ifdef LL_ATON_EB_DBG_INFO
  int16_t epoch_num, last_epoch_num;
  uint32_t in_streng_mask, out_streng_mask, estimated_npu_cycles, estimated_tot_cycles;
#endif
} %(item)s;
"""
_OTHERS = ("ll_aton_NN_interface.h", "ll_aton_lib.h", "ll_sw.h", "ecloader.h", "ll_aton_cipher.h")


def add(root: Path, version: str = "4.0.1", *, runtime: tuple[int, int, int, int] | None = None) -> Path:
    """Write them below an installation.

    Args:
        root: The installation.
        version: Of the tool.
        runtime: Another version of the headers than the tool's own.
    """
    _, cube, atonn, _ = VERSIONS[version]
    folder = root / "Middlewares/ST/AI/Npu/ll_aton"
    folder.mkdir(parents=True)
    numbers = runtime or tuple(int(part) for part in atonn.replace("-", ".").split("."))
    parts = zip(("MAJOR", "MINOR", "MICRO", "DEV"), numbers, strict=True)
    lines = "".join(f"#define LL_ATON_VERSION_{part} {number}\n" for part, number in parts)
    (folder / "ll_aton_version.h").write_text(f"#pragma once\n{lines}")
    new = version >= "4"
    parameter = "const void *epoch_block" + (", const void *nn_instance" if new else "")
    item = "LL_ATON_RT_EpochBlockItem_t" if new else "EpochBlock_ItemTypeDef"
    (folder / "ll_aton.h").write_text(_LL_ATON % {"parameter": parameter, "item": item})
    for name in _OTHERS:
        (folder / name).write_text('#pragma once\n#include "ll_aton.h"\n')
    major, minor = cube.split(".")[:2]
    for core in ("M55", "M7"):
        library = root / f"Middlewares/ST/AI/Lib/GCC/ARMCortex{core}"
        library.mkdir(parents=True)
        (library / f"NetworkRuntime{major}{minor}0_C{core}_GCC.a").write_bytes(b"!<arch>\n")
    return root
