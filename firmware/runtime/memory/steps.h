/* The steps of npu_memory_bring_up, each in a file of its own. What returns int returns 0 or an error. */
#ifndef NPU_MEMORY_STEPS_H
#define NPU_MEMORY_STEPS_H

#include "npu_memory.h"

#define NPU_MEMORY_ERROR(code, row) ((int)(((uint32_t)(code) << 8) | ((uint32_t)(row) + 1u)))
#define NPU_MEMORY_NO_ROW 0xfeu /* the error is about no initializer */

/* windows.c */
int npu_memory_check_windows(const npu_memory_tables_t *tables);

/* banks.c */
void npu_memory_enable_banks(const npu_memory_tables_t *tables);
int npu_memory_probe_banks(const npu_memory_tables_t *tables);

/* npu_cache.c: its RAM serves as plain memory from then on. */
int npu_memory_free_npu_cache_ram(const npu_memory_registers_t *registers);

/* crc32.c: CRC-32 as in zlib. */
uint32_t npu_memory_crc32(const uint8_t *data, uint32_t size);

/* descriptor.c */
typedef struct {
  uint32_t size, crc;
} npu_memory_entry_t;

int npu_memory_check_descriptor(const npu_memory_tables_t *tables);
/* The data of an initializer, as the (checked) identity descriptor knows it. */
int npu_memory_find_entry(const npu_memory_tables_t *tables, uint32_t row, npu_memory_entry_t *entry);
/* The ABI stamp of data for a network that is not of this firmware's build; NULL if there is none. */
const uint8_t *npu_memory_foreign_stamp(const npu_memory_tables_t *tables, uint32_t network);

/* initializers.c */
int npu_memory_fill_pools(const npu_memory_tables_t *tables);

/* errors.c */
void npu_memory_about(const npu_memory_tables_t *tables);

#endif
