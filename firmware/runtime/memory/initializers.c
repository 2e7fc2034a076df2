/* The constants of the networks: every one is known to fit before the first byte is copied. */
#include <string.h>

#include "access.h"
#include "steps.h"

/* Size and CRC of what belongs into a pool: of the object in the image, or as the identity descriptor says. */
static int look_up(const npu_memory_tables_t *tables, uint32_t row, npu_memory_entry_t *entry) {
  const npu_memory_initializer_t *initializer = &tables->initializers[row];
  if (initializer->strategy != NPU_MEMORY_LINK) {
    return npu_memory_find_entry(tables, row, entry);
  }
  entry->size = (uint32_t)(initializer->end - initializer->start);
  if (entry->size > initializer->capacity) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_LARGE, row);
  }
  entry->crc = npu_memory_crc32(initializer->start, entry->size);
  return 0;
}

static int fill(const npu_memory_tables_t *tables, uint32_t row) {
  const npu_memory_initializer_t *initializer = &tables->initializers[row];
  npu_memory_entry_t entry;
  int error = look_up(tables, row, &entry);
  if (error != 0 || entry.size == 0) {
    return error;
  }
  if (initializer->strategy == NPU_MEMORY_BOOT_COPY) {
    memcpy(npu_memory_at(initializer->run, entry.size), npu_memory_at(initializer->load, entry.size), entry.size);
  } else if (initializer->strategy == NPU_MEMORY_LINK) {
    memcpy(npu_memory_at(initializer->run, entry.size), initializer->start, entry.size);
  }
  if (initializer->strategy != NPU_MEMORY_FLASH) {
    /* Out of the caches before the check, so that the check reads what the network will read. */
    npu_memory_clean_invalidate(initializer->run, entry.size);
    if (initializer->npu_cached &&
        npu_memory_npu_cache_clean_invalidate(&tables->registers, initializer->npu, entry.size) != 0) {
      return NPU_MEMORY_ERROR(NPU_MEMORY_E_NPU_CACHE, row);
    }
  }
  if (npu_memory_crc32(npu_memory_at(initializer->run, entry.size), entry.size) != entry.crc) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_CRC, row);
  }
  return 0;
}

int npu_memory_fill_pools(const npu_memory_tables_t *tables) {
  int waits = 0;
  for (uint32_t row = 0; row < tables->initializer_count; row++) {
    const npu_memory_initializer_t *initializer = &tables->initializers[row];
    npu_memory_entry_t entry;
    /* Not checked without a descriptor: what is in flash is taken as it is. */
    if (initializer->strategy == NPU_MEMORY_FLASH && tables->descriptor_capacity == 0) {
      continue;
    }
    int error = look_up(tables, row, &entry);
    if (error != 0) {
      return error;
    }
    if (initializer->strategy == NPU_MEMORY_EXTERNAL_LOADER) {
      /* No line of the cache may be written back later, on top of what the loader writes. */
      npu_memory_clean_invalidate(initializer->run, entry.size);
      waits = 1;
    }
  }
  if (waits) {
    npu_memory_external_loader();
  }
  for (uint32_t row = 0; row < tables->initializer_count; row++) {
    if (tables->initializers[row].strategy == NPU_MEMORY_FLASH && tables->descriptor_capacity == 0) {
      continue;
    }
    int error = fill(tables, row);
    if (error != 0) {
      return error;
    }
  }
  return 0;
}
