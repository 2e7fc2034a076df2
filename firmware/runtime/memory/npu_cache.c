/* The cache of the NPU (STM32N6: CACHEAXI). Offsets and bits: CMSIS device header STM32N6 v1.1.0. */
#include "access.h"
#include "steps.h"

enum { CR1 = 0x00, SR = 0x04, FCR = 0x0C, CR2 = 0x100, CMDRSADDRR = 0x104, CMDREADDRR = 0x108 };

#define CR1_EN (1u << 0)
#define SR_BUSYF (1u << 0)
#define SR_BUSYCMDF (1u << 3)
#define SR_CMDENDF (1u << 4)
#define FCR_CBSYENDF (1u << 1)
#define FCR_CCMDENDF (1u << 4)
#define CR2_STARTCMD (1u << 0)
#define CR2_CACHECMD (3u << 1)
#define CR2_CACHECMD_CLEAN_INVALIDATE (3u << 1)

#define LINE 64u
#define LOOKS 10000000u /* well above the longest command (some 0.1 s), far below forever */

static int wait(uint32_t cache, uint32_t mask, uint32_t value) {
  for (uint32_t looks = 0; looks < LOOKS; looks++) {
    if ((npu_memory_read(cache + SR) & mask) == value) {
      return 0;
    }
  }
  return -1;
}

/* A cache without a clock or without its enable bit holds no lines. */
static int is_on(const npu_memory_registers_t *registers) {
  return registers->npu_cache != 0 &&
         npu_memory_clocked(registers->npu_cache_clock_register, registers->npu_cache_clock) &&
         (npu_memory_read(registers->npu_cache + CR1) & CR1_EN) != 0;
}

int npu_memory_npu_cache_clean_invalidate(const npu_memory_registers_t *registers, uint32_t address, uint32_t size) {
  if (size == 0 || !is_on(registers)) {
    return 0;
  }
  uint32_t cache = registers->npu_cache;
  if (wait(cache, SR_BUSYF | SR_BUSYCMDF, 0) != 0) {
    return -1;
  }
  npu_memory_write(cache + FCR, FCR_CBSYENDF | FCR_CCMDENDF);
  /* First and last line, both included. */
  npu_memory_write(cache + CMDRSADDRR, address & ~(LINE - 1u));
  npu_memory_write(cache + CMDREADDRR, (address + (size - 1u)) & ~(LINE - 1u));
  uint32_t control = (npu_memory_read(cache + CR2) & ~(CR2_CACHECMD | CR2_STARTCMD)) | CR2_CACHECMD_CLEAN_INVALIDATE;
  npu_memory_write(cache + CR2, control);
  npu_memory_write(cache + CR2, control | CR2_STARTCMD);
  /* Busy may show late, the end flag cannot show early: both must say so. */
  int late = wait(cache, SR_CMDENDF | SR_BUSYCMDF, SR_CMDENDF);
  npu_memory_write(cache + FCR, FCR_CCMDENDF);
  npu_memory_barrier();
  return late;
}

int npu_memory_free_npu_cache_ram(const npu_memory_registers_t *registers) {
  if (!registers->npu_cache_is_ram || !is_on(registers)) {
    return 0;
  }
  npu_memory_clear(registers->npu_cache + CR1, CR1_EN);
  int late = wait(registers->npu_cache, SR_BUSYF | SR_BUSYCMDF, 0);
  return late == 0 ? 0 : NPU_MEMORY_ERROR(NPU_MEMORY_E_NPU_CACHE, NPU_MEMORY_NO_ROW);
}
