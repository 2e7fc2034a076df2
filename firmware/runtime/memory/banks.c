/* Memory banks: clock, clock while the core sleeps, shutdown, and whether they answer then. */
#include "access.h"
#include "steps.h"

void npu_memory_enable_banks(const npu_memory_tables_t *tables) {
  const npu_memory_registers_t *registers = &tables->registers;
  uint32_t clocks = 0;
  int gated = 0;
  for (uint32_t row = 0; row < tables->bank_count; row++) {
    clocks |= tables->banks[row].clock;
    gated |= tables->banks[row].ramcfg != 0;
  }
  if (clocks != 0) {
    npu_memory_set(registers->memory_clock, clocks);
    /* The runtime may sleep while the NPU works. */
    if (registers->memory_sleep_clock != 0) {
      npu_memory_set(registers->memory_sleep_clock, clocks);
    }
  }
  if (!gated) {
    return;
  }
  /* Without its own clock RAMCFG does not answer. */
  if (registers->ramcfg_clock_register != 0) {
    npu_memory_set(registers->ramcfg_clock_register, registers->ramcfg_clock);
  }
  for (uint32_t row = 0; row < tables->bank_count; row++) {
    if (tables->banks[row].ramcfg != 0) {
      npu_memory_clear(tables->banks[row].ramcfg, registers->shutdown);
    }
  }
}

/* Through the cache a dead memory would look alive: each step goes out to the memory itself. */
static int keeps(uint32_t address, uint32_t value) {
  npu_memory_write(address, value);
  npu_memory_clean_invalidate(address, sizeof value);
  return npu_memory_read(address) == value;
}

int npu_memory_probe_banks(const npu_memory_tables_t *tables) {
  for (uint32_t row = 0; row < tables->bank_count; row++) {
    const npu_memory_bank_t *bank = &tables->banks[row];
    if (!bank->writable) {
      continue;
    }
    npu_memory_clean_invalidate(bank->probe, sizeof(uint32_t));
    uint32_t before = npu_memory_read(bank->probe);
    int alive = keeps(bank->probe, ~before) && keeps(bank->probe, 0xa5c33c5au) && keeps(bank->probe, 0x5a3cc3a5u);
    alive = keeps(bank->probe, before) && alive;
    if (!alive) {
      return NPU_MEMORY_ERROR(NPU_MEMORY_E_BANK, row);
    }
  }
  return 0;
}
