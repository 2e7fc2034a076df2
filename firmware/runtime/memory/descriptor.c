/* The identity descriptor: what is in flash, beside it in a sector of its own. Layout (little endian):
 *   header, 32 bytes: "NAID", u16 version, u16 entries, u32 bytes in all, u32 CRC of the bytes from 16 on, 16 x 0
 *   entry, 48 bytes: 8 bytes ABI stamp, 24 bytes name of the pool (padded with 0), u32 load address (0: not in flash),
 *                    u32 size, u32 CRC, u32 number of the network */
#include <string.h>

#include "access.h"
#include "steps.h"

#define VERSION 1u
#define HEADER 32u
#define ENTRY 48u
#define CRC_FROM 16u
#define NAME 24u

enum { POOL_AT = 8, LOAD_AT = 32, SIZE_AT = 36, CRC_AT = 40, NETWORK_AT = 44 };

static uint32_t u16_at(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }
static uint32_t u32_at(const uint8_t *at) { return u16_at(at) | u16_at(at + 2) << 16; }

static int needs_descriptor(const npu_memory_tables_t *tables) {
  if (tables->descriptor_capacity == 0) {
    return 0;
  }
  for (uint32_t row = 0; row < tables->initializer_count; row++) {
    if (tables->initializers[row].strategy != NPU_MEMORY_LINK) {
      return 1;
    }
  }
  return 0;
}

int npu_memory_check_descriptor(const npu_memory_tables_t *tables) {
  if (!needs_descriptor(tables)) {
    return 0;
  }
  const uint8_t *header = npu_memory_at(tables->descriptor, HEADER);
  if (memcmp(header, "NAID", 4) != 0) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_MISSING, 0);
  }
  uint32_t total = u32_at(header + 8);
  /* The size is believed once it is the one that the number of entries makes, and fits. */
  if (u16_at(header + 4) != VERSION || total != HEADER + ENTRY * u16_at(header + 6) ||
      total > tables->descriptor_capacity ||
      npu_memory_crc32(npu_memory_at(tables->descriptor + CRC_FROM, total - CRC_FROM), total - CRC_FROM) !=
          u32_at(header + 12)) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_DAMAGED, 0);
  }
  return 0;
}

static const uint8_t *entry_at(const npu_memory_tables_t *tables, uint32_t number) {
  const uint8_t *header = npu_memory_at(tables->descriptor, HEADER);
  return number < u16_at(header + 6) ? npu_memory_at(tables->descriptor + HEADER + ENTRY * number, ENTRY) : NULL;
}

static int is_name(const uint8_t *field, const char *name) {
  for (uint32_t i = 0; i < NAME; i++) {
    if (field[i] != (uint8_t)*name) {
      return 0;
    }
    name += *name != '\0';
  }
  return *name == '\0';
}

const uint8_t *npu_memory_foreign_stamp(const npu_memory_tables_t *tables, uint32_t network) {
  const uint8_t *own = tables->networks[network].abi_stamp;
  const uint8_t *entry;
  for (uint32_t number = 0; (entry = entry_at(tables, number)) != NULL; number++) {
    if (u32_at(entry + NETWORK_AT) == network && memcmp(entry, own, 8) != 0) {
      return entry;
    }
  }
  return NULL;
}

int npu_memory_find_entry(const npu_memory_tables_t *tables, uint32_t row, npu_memory_entry_t *entry) {
  const npu_memory_initializer_t *wanted = &tables->initializers[row];
  /* The data of another build may lack this very pool: its stamp tells more than the missing entry. */
  if (npu_memory_foreign_stamp(tables, wanted->network) != NULL) {
    return NPU_MEMORY_ERROR(NPU_MEMORY_E_ABI, row);
  }
  const uint8_t *found;
  for (uint32_t number = 0; (found = entry_at(tables, number)) != NULL; number++) {
    if (u32_at(found + NETWORK_AT) == wanted->network && u32_at(found + LOAD_AT) == wanted->load &&
        is_name(found + POOL_AT, wanted->pool)) {
      entry->size = u32_at(found + SIZE_AT);
      entry->crc = u32_at(found + CRC_AT);
      /* Rows exist for pools that hold constants: nothing cannot be what was compiled. */
      if (entry->size == 0) {
        break;
      }
      return entry->size <= wanted->capacity ? 0 : NPU_MEMORY_ERROR(NPU_MEMORY_E_LARGE, row);
    }
  }
  return NPU_MEMORY_ERROR(NPU_MEMORY_E_ENTRY, row);
}
