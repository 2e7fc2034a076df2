/* Loads relocatable models (network_rel.bin) at run time. Names as in the LL_ATON interface, own code
 * (firmware/runtime/relocatable_*.c); needs LL_ATON_RT_RELOC in every file that sees an NN_Instance_TypeDef.
 *
 * An installed model runs like a static one: LL_ATON_RT_Init_Network, LL_ATON_RT_RunEpochBlock or LL_ATON_RT_Main. Only
 * its own functions must be called through this file, since they find their data through r9. */
#ifndef LL_ATON_RELOC_NETWORK_H
#define LL_ATON_RELOC_NETWORK_H

#include <stdint.h>

#include "ll_aton_NN_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what ll_aton_reloc_install and others return; ll_aton_reloc_reason says it in words ---- */

enum {
  AI_RELOC_RT_ERR_NONE = 0,
  AI_RELOC_RT_ERR_INVALID_BIN = -1,   /* no image, a damaged one, or one for another core, runtime or firmware */
  AI_RELOC_RT_ERR_MEMORY = -2,        /* executive or external RAM: missing, unaligned, too small, or not free */
  AI_RELOC_RT_ERR_NOT_SUPPORTED = -3, /* mode: not exactly one of XIP and COPY, or an unknown bit */
  AI_RELOC_RT_ERR_ARG = -4,           /* a NULL argument */
  AI_RELOC_RT_ERR_INVALID_HDL = -5,   /* no model is installed in the instance */
  AI_RELOC_RT_ERR_INSTALL = -6,       /* not used */
  AI_RELOC_RT_ERR_PARAM_ADDR = -7,    /* params: missing, unaligned, or cacheable and not above 0x60000000 */
  AI_RELOC_RT_ERR_PARAM_DESC = -8     /* a memory pool that no loader can serve */
};

/* ---- what is in a file ---- */

typedef struct {
  const char *c_name;
  uint32_t variant;     /* flags word of the header */
  uint32_t code_sz;     /* header, code and constants */
  uint32_t params_off;  /* from the begin of the file; 0: the params are in a file of their own */
  uint32_t params_sz;
  uint32_t acts_sz;
  uint32_t ext_ram_sz;  /* rounded up to 8 */
  uint32_t rt_ram_xip;  /* executive RAM that each mode needs */
  uint32_t rt_ram_copy;
  const char *rt_version_desc;
  uint32_t rt_version;  /* major << 24 | minor << 16 | micro << 8 */
  uint32_t rt_version_extra;
} ll_aton_reloc_info;

/* Row of the memory-pool table, as the file has it. */
typedef struct {
  uint32_t name; /* in the file: its address is file_ptr + (name & 0x0fffffff) */
  uint32_t flags;
  uint32_t foff;
  uint32_t dst;
  uint32_t size;
} ll_aton_reloc_mem_pool_desc;

int ll_aton_reloc_get_info(uintptr_t file_ptr, ll_aton_reloc_info *info);
/* Prints it through ll_aton_reloc_log. */
int ll_aton_reloc_log_info(uintptr_t file_ptr);
/* NULL behind the last row. */
const ll_aton_reloc_mem_pool_desc *ll_aton_reloc_get_mem_pool_desc(uintptr_t file_ptr, int index);

/* ---- installing ---- */

#define AI_RELOC_RT_LOAD_MODE_XIP 1u   /* code stays in the file */
#define AI_RELOC_RT_LOAD_MODE_COPY 2u  /* code is copied to executive RAM */
#define AI_RELOC_RT_LOAD_MODE_CLEAR 4u /* activation pools are filled with zeros; with XIP or COPY */

typedef struct {
  uintptr_t exec_ram_addr; /* a multiple of 4; 64 is better */
  uint32_t exec_ram_size;
  uintptr_t ext_ram_addr; /* only for models with ext_ram_sz != 0 */
  uint32_t ext_ram_size;
  uintptr_t ext_param_addr; /* where the params of a split model are; 0: behind the code, in the file */
  uint32_t mode;
} ll_aton_reloc_config;

/* Checks everything first: after an error nothing has been written, neither memory nor instance. Zeroes exec_state, so
 * whatever an application sets there comes later. The file must stay where it is, except in mode COPY when its params
 * are elsewhere. All writes are cleaned out of the data cache, and the instruction cache is invalidated. */
int ll_aton_reloc_install(uintptr_t file_ptr, const ll_aton_reloc_config *config, NN_Instance_TypeDef *nn_instance);

/* Why the last call failed; never NULL. */
const char *ll_aton_reloc_reason(void);

/* ---- an installed model ---- */

/* 1: the instance has an installed model whose file or copy is still there. */
int ll_aton_reloc_is_valid(const NN_Instance_TypeDef *nn_instance);
/* 0 without a model. */
uintptr_t ll_aton_reloc_get_file_ptr(const NN_Instance_TypeDef *nn_instance);

LL_ATON_User_IO_Result_t ll_aton_reloc_set_input(const NN_Instance_TypeDef *nn_instance, uint32_t num, void *buffer,
                                                 uint32_t size);
LL_ATON_User_IO_Result_t ll_aton_reloc_set_output(const NN_Instance_TypeDef *nn_instance, uint32_t num, void *buffer,
                                                  uint32_t size);
void *ll_aton_reloc_get_input(const NN_Instance_TypeDef *nn_instance, uint32_t num);
void *ll_aton_reloc_get_output(const NN_Instance_TypeDef *nn_instance, uint32_t num);
const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_input_buffers_info(const NN_Instance_TypeDef *nn_instance);
const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_output_buffers_info(const NN_Instance_TypeDef *nn_instance);
const LL_Buffer_InfoTypeDef *ll_aton_reloc_get_internal_buffers_info(const NN_Instance_TypeDef *nn_instance);

/* What the scheduler calls. */
bool ll_aton_reloc_ec_network_init(const NN_Instance_TypeDef *nn_instance);
bool ll_aton_reloc_ec_inference_init(const NN_Instance_TypeDef *nn_instance);
const LL_ATON_RT_EpochBlockItem_t *ll_aton_reloc_get_epoch_items(const NN_Instance_TypeDef *nn_instance);
void ll_aton_reloc_call_epoch_function(const NN_Instance_TypeDef *nn_instance, EpochBlock_FuncTypeDef function,
                                       const LL_ATON_RT_EpochBlockItem_t *epoch_block);

/* ---- what the firmware gives to models ---- */

/* The rows that the callback tables of all versions share. Ranges are [start, end); 0: done. */
struct ll_aton_reloc_callback {
  void (*assert_func)(const char *file, int line, const char *function, const char *expression);
  void (*ll_lib_error)(int error, int line, const char *function);
  int (*mcu_cache_clean_range)(uint32_t start, uint32_t end);
  int (*mcu_cache_invalidate_range)(uint32_t start, uint32_t end);
  int (*mcu_cache_clean_invalidate_range)(uint32_t start, uint32_t end);
  void (*npu_cache_clean_range)(uint32_t start, uint32_t end);
  void (*npu_cache_clean_invalidate_range)(uint32_t start, uint32_t end);
};

/* Of one model, from now on; NULL: those that install binds. The table must stay. */
int ll_aton_reloc_set_callbacks(const NN_Instance_TypeDef *nn_instance, const struct ll_aton_reloc_callback *callbacks);

/* What install binds: faults where something is wrong, the core's data cache, no NPU cache. */
extern const struct ll_aton_reloc_callback ll_aton_reloc_default_callbacks;

/* Weak, does nothing: an application prints the text. */
void ll_aton_reloc_log(const char *text);

#ifdef __cplusplus
}
#endif

#endif
