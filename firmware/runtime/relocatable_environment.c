/* Is a model made for this core, this firmware and this runtime? A model that is not would run, and fault or compute
 * nonsense later. */
#ifdef LL_ATON_RT_RELOC

#include <string.h>

#include "ll_aton_version.h"
#include "memory/access.h"
#include "relocatable_steps.h"

#define SCB_CPUID 0xE000ED00u
#define SCB_CPACR 0xE000ED88u
#define CPACR_CP10_CP11 (0xfu << 20)
#define SCB_ICIALLU 0xE000EF50u

/* Flags word. */
#define FLAG_ASYNC (1u << 22)
#define FLAG_DBG_INFO (1u << 21)
#define FLAG_SECURE (1u << 20)
#define FLAG_FPU (1u << 12)
#define API 0x80u /* bits 31..24: 8.0 */
#define CPU_PART 0xfffu

/* How this firmware's runtime was compiled. */
#ifndef LL_ATON_RT_ASYNC
#define LL_ATON_RT_POLLING 0
#define LL_ATON_RT_ASYNC 1
#endif
#ifndef LL_ATON_RT_MODE
#define LL_ATON_RT_MODE LL_ATON_RT_ASYNC
#endif
#ifdef LL_ATON_EB_DBG_INFO
#define HAS_DBG_INFO 1
#else
#define HAS_DBG_INFO 0
#endif

#define VERSION                                                                                                        \
  ((uint32_t)LL_ATON_VERSION_MAJOR << 24 | (uint32_t)LL_ATON_VERSION_MINOR << 16 | (uint32_t)LL_ATON_VERSION_MICRO << 8)
#define STRUCT_SIZES ((uint32_t)sizeof(LL_Buffer_InfoTypeDef) | (uint32_t)sizeof(LL_ATON_RT_EpochBlockItem_t) << 8)
_Static_assert(sizeof(LL_Buffer_InfoTypeDef) < 256, "its size has 8 bits in the context of a model");

#ifndef NPU_MEMORY_ACCESS_BY_TEST

/* What counts is the state the core is in, not the flags the firmware was compiled with. */
int reloc_firmware_is_secure(void) {
#if defined(__arm__) && defined(__ARM_FEATURE_CMSE)
  uint32_t answer;
  __asm__("tt %0, %1" : "=r"(answer) : "r"(&reloc_firmware_is_secure));
  return (answer >> 22) & 1u; /* of Secure memory, which only Secure code learns */
#else
  return 0;
#endif
}

#endif

void reloc_invalidate_instruction_cache(void) {
  npu_memory_barrier();
  npu_memory_write(SCB_ICIALLU, 0);
  npu_memory_barrier();
}

static const char *wrong_core(uint32_t flags) {
  if (((npu_memory_read(SCB_CPUID) >> 4) & CPU_PART) != (flags & CPU_PART)) {
    return "made for another core (CPUID)";
  }
  if ((flags & FLAG_FPU) != 0 && (npu_memory_read(SCB_CPACR) & CPACR_CP10_CP11) != CPACR_CP10_CP11) {
    return "needs the FPU, which is off";
  }
  if ((flags & FLAG_SECURE) != 0 && !reloc_firmware_is_secure()) {
    return "made for secure firmware, and this is not";
  }
  return NULL;
}

static const char *wrong_runtime(const reloc_image_t *image) {
  const reloc_word_t *context = reloc_context_in_file(image);
  if (((image->flags & FLAG_DBG_INFO) != 0) != HAS_DBG_INFO) {
    return HAS_DBG_INFO ? "made without LL_ATON_EB_DBG_INFO, the firmware has it"
                        : "made with LL_ATON_EB_DBG_INFO, the firmware lacks it";
  }
  if (((image->flags & FLAG_ASYNC) != 0) != (LL_ATON_RT_MODE == LL_ATON_RT_ASYNC)) {
    return "made for another LL_ATON_RT_MODE";
  }
  if (context[RELOC_CTX_VERSION] != VERSION || context[RELOC_CTX_VERSION_EXTRA] != LL_ATON_VERSION_DEV) {
    return "made for another version of the runtime";
  }
  /* Two runtimes can have the same number, and yet other callbacks. */
  const char *description = reloc_text(image->file, context[RELOC_CTX_VERSION_DESC]);
  if (strncmp(description, LL_ATON_VERSION_NAME, sizeof LL_ATON_VERSION_NAME - 1u) != 0) {
    return "made for another runtime than " LL_ATON_VERSION_NAME;
  }
  if (context[RELOC_CTX_STRUCT_SIZES] != STRUCT_SIZES) {
    return "made with other structures (rt_c_struct_sizes)";
  }
  return NULL;
}

int reloc_check_environment(const reloc_image_t *image) {
  const char *wrong = image->flags >> 24 != API ? "made with another API than 8.0" : wrong_core(image->flags);
  if (wrong == NULL) {
    wrong = wrong_runtime(image);
  }
  return wrong == NULL ? AI_RELOC_RT_ERR_NONE : reloc_fail(AI_RELOC_RT_ERR_INVALID_BIN, wrong);
}

#else
typedef int relocatable_environment_is_not_compiled;
#endif
