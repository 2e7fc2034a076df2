/* What an application may define itself, and what models get unless it says otherwise. */
#ifdef LL_ATON_RT_RELOC

#include "npu_memory.h"
#include "relocatable_steps.h"

static void assertion_failed(const char *file, int line, const char *function, const char *expression) {
  (void)file, (void)line, (void)function, (void)expression;
  __builtin_trap(); /* the fault handler of the board reports the place */
}

static void library_error(int error, int line, const char *function) {
  (void)error, (void)line, (void)function;
  __builtin_trap();
}

/* By cleaning and invalidating: what belongs to somebody else in the first and the last line is not lost. */
static int data_cache(uint32_t start, uint32_t end) {
  npu_memory_clean_invalidate(start, end - start);
  return 0;
}

static void no_npu_cache(uint32_t start, uint32_t end) { (void)start, (void)end; }

__attribute__((weak)) const struct ll_aton_reloc_callback ll_aton_reloc_default_callbacks = {
    .assert_func = assertion_failed,
    .ll_lib_error = library_error,
    .mcu_cache_clean_range = data_cache,
    .mcu_cache_invalidate_range = data_cache,
    .mcu_cache_clean_invalidate_range = data_cache,
    .npu_cache_clean_range = no_npu_cache,
    .npu_cache_clean_invalidate_range = no_npu_cache,
};

__attribute__((weak, noinline)) void ll_aton_reloc_log(const char *text) { (void)text; }

#else
typedef int relocatable_hooks_is_not_compiled;
#endif
