/* Armv7-M memory protection unit. External RAM in the Device part of the address map (STM32H747: SDRAM at 0xD0000000)
 * knows no unaligned access, no cache and no burst; one region makes Normal memory of it.
 * Registers and fields: Armv7-M Architecture Reference Manual, B3.5. */
#include "access.h"
#include "npu_memory.h"

#define MPU_TYPE 0xE000ED90u
#define MPU_CTRL 0xE000ED94u
#define MPU_RNR 0xE000ED98u
#define MPU_RBAR 0xE000ED9Cu
#define MPU_RASR 0xE000EDA0u

#define CTRL_ENABLE (1u << 0)
#define CTRL_PRIVDEFENA (1u << 2) /* the default address map stands behind the regions */
#define RASR_ENABLE (1u << 0)
#define RASR_XN (1u << 28)
#define RASR_AP_FULL (3u << 24)
#define RASR_TEX_C_B_WRITE_BACK ((1u << 19) | (1u << 17) | (1u << 16)) /* read and write allocate, not shared */
#define RASR_SRD_AND_SIZE ((0xffu << 8) | (0x1fu << 1))

static uint32_t size_field(uint32_t size) {
  uint32_t field = 0; /* the region has 2^(field + 1) bytes */
  while (size > 2u) {
    size >>= 1;
    field++;
  }
  return field << 1;
}

int npu_memory_mpu_normal(uint32_t base, uint32_t size) {
  uint32_t wanted = RASR_XN | RASR_AP_FULL | RASR_TEX_C_B_WRITE_BACK | size_field(size) | RASR_ENABLE;
  /* Where regions overlap, the highest number decides: the highest free one is taken. */
  int chosen = -1;
  for (uint32_t number = (npu_memory_read(MPU_TYPE) >> 8) & 0xffu; number-- > 0;) {
    npu_memory_write(MPU_RNR, number);
    uint32_t attributes = npu_memory_read(MPU_RASR);
    if ((attributes & RASR_ENABLE) == 0) {
      chosen = chosen < 0 ? (int)number : chosen;
    } else if ((npu_memory_read(MPU_RBAR) & ~0x1fu) == base &&
               (attributes & RASR_SRD_AND_SIZE) == (wanted & RASR_SRD_AND_SIZE)) {
      return 0; /* the application has a region for exactly this memory: it knows better */
    }
  }
  if (chosen < 0) {
    return -1;
  }
  npu_memory_barrier();
  npu_memory_write(MPU_RNR, (uint32_t)chosen);
  npu_memory_write(MPU_RBAR, base);
  npu_memory_write(MPU_RASR, wanted);
  if ((npu_memory_read(MPU_CTRL) & CTRL_ENABLE) == 0) {
    npu_memory_write(MPU_CTRL, CTRL_PRIVDEFENA | CTRL_ENABLE);
  }
  npu_memory_barrier();
  return 0;
}
