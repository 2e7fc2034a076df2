/* Brings up the memories that the networks use, and the constants in them. Generated. */
#ifndef NPU_MEMORY_INIT_H
#define NPU_MEMORY_INIT_H

#include "npu_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Call once, before the first access to any buffer of a network. Returns 0, or an error: npu_memory_error_text,
 * npu_memory_error_pool and npu_memory_stamps say what it is about. */
int npu_memory_init(void);

#ifdef __cplusplus
}
#endif

#endif
