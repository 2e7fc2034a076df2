/* What an error says to people. */
#include <stddef.h>

#include "steps.h"

static const npu_memory_tables_t *current;

void npu_memory_about(const npu_memory_tables_t *tables) { current = tables; }

static const char *const texts[] = {
    [0] = "no error",
    [NPU_MEMORY_E_WINDOW] = "not memory mapped",
    [NPU_MEMORY_E_MISSING] = "there is no identity descriptor in flash",
    [NPU_MEMORY_E_DAMAGED] = "the identity descriptor in flash is damaged",
    [NPU_MEMORY_E_ABI] = "ABI mismatch: the data in flash belongs to another build of the network",
    [NPU_MEMORY_E_ENTRY] = "the identity descriptor has no entry for it",
    [NPU_MEMORY_E_LARGE] = "the data is larger than its pool",
    [NPU_MEMORY_E_CRC] = "wrong CRC: the data is not what was flashed or loaded",
    [NPU_MEMORY_E_BANK] = "the memory does not answer",
    [NPU_MEMORY_E_HOOK] = "the hook of the application refused",
    [NPU_MEMORY_E_NPU_CACHE] = "the NPU cache does not finish its command",
    [NPU_MEMORY_E_MPU] = "no region of the MPU is free",
};

static uint32_t code_of(int error) { return (uint32_t)error >> 8; }

/* Row of an error, if that lies inside a table of so many rows. */
static int row_of(int error, uint32_t count, uint32_t *row) {
  *row = ((uint32_t)error & 0xffu) - 1u;
  return *row < count;
}

static const npu_memory_initializer_t *initializer_of(int error) {
  uint32_t row;
  switch (code_of(error)) {
    case NPU_MEMORY_E_ABI:
    case NPU_MEMORY_E_ENTRY:
    case NPU_MEMORY_E_LARGE:
    case NPU_MEMORY_E_CRC:
    case NPU_MEMORY_E_NPU_CACHE:
      if (current != NULL && row_of(error, current->initializer_count, &row)) {
        return &current->initializers[row];
      }
      return NULL;
    default:
      return NULL;
  }
}

const char *npu_memory_error_text(int error) {
  uint32_t code = code_of(error);
  if ((code == 0 && error != 0) || code >= sizeof texts / sizeof texts[0]) {
    return "unknown error";
  }
  return texts[code];
}

const char *npu_memory_error_pool(int error) {
  const npu_memory_initializer_t *initializer = initializer_of(error);
  uint32_t row;
  if (initializer != NULL) {
    return initializer->pool;
  }
  if (current == NULL) {
    return "";
  }
  switch (code_of(error)) {
    case NPU_MEMORY_E_WINDOW:
      return row_of(error, current->window_count, &row) ? current->windows[row].name : "";
    case NPU_MEMORY_E_BANK:
      return row_of(error, current->bank_count, &row) ? current->banks[row].name : "";
    case NPU_MEMORY_E_MPU:
      return row_of(error, current->mpu_region_count, &row) ? current->mpu_regions[row].name : "";
    case NPU_MEMORY_E_MISSING:
    case NPU_MEMORY_E_DAMAGED:
      return "descriptor";
    case NPU_MEMORY_E_HOOK:
      return "RIF";
    default:
      return "";
  }
}

const char *npu_memory_error_network(int error) {
  const npu_memory_initializer_t *initializer = initializer_of(error);
  return initializer != NULL ? current->networks[initializer->network].name : "";
}

static void hex(char *text, const uint8_t *stamp) {
  for (unsigned i = 0; i < 16; i++) {
    text[i] = "0123456789abcdef"[(stamp[i / 2] >> (i % 2 == 0 ? 4 : 0)) & 15u];
  }
  text[16] = '\0';
}

void npu_memory_stamps(int error, const char **firmware, const char **flash) {
  static char own[17], other[17];
  *firmware = *flash = "";
  const npu_memory_initializer_t *initializer = initializer_of(error);
  if (code_of(error) != NPU_MEMORY_E_ABI || initializer == NULL) {
    return;
  }
  const uint8_t *foreign = npu_memory_foreign_stamp(current, initializer->network);
  if (foreign != NULL) {
    hex(own, current->networks[initializer->network].abi_stamp);
    hex(other, foreign);
    *firmware = own;
    *flash = other;
  }
}
