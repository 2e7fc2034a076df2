/* The order of everything. */
#include "access.h"
#include "steps.h"

static int map_regions(const npu_memory_tables_t *tables) {
  for (uint32_t row = 0; row < tables->mpu_region_count; row++) {
    const npu_memory_mpu_region_t *region = &tables->mpu_regions[row];
    if (npu_memory_mpu_normal(region->base, region->size) != 0) {
      return NPU_MEMORY_ERROR(NPU_MEMORY_E_MPU, row);
    }
  }
  return 0;
}

int npu_memory_bring_up(const npu_memory_tables_t *tables) {
  npu_memory_about(tables);
  /* First what can be seen without touching any memory: an access to flash that is not mapped would fault. */
  int error = npu_memory_check_windows(tables);
  if (error != 0) {
    return error;
  }
  npu_memory_enable_banks(tables);
  error = npu_memory_free_npu_cache_ram(&tables->registers);
  if (error != 0) {
    return error;
  }
  error = map_regions(tables);
  if (error != 0) {
    return error;
  }
  npu_memory_barrier();
  if (npu_memory_rif_hook(&tables->registers) != 0) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_HOOK, 0);
  }
  npu_memory_barrier();
  error = npu_memory_probe_banks(tables);
  if (error != 0) {
    return error;
  }
  error = npu_memory_check_descriptor(tables);
  if (error != 0) {
    return error;
  }
  return npu_memory_fill_pools(tables);
}
