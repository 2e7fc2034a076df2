/* Registers, memories and a write-back data cache that firmware/runtime/memory works on when a test runs it here.
 *
 * Three copies of each memory: what the core sees (cpu), the same when the line was last brought in line (seen), and what
 * everybody else sees (ram). Nothing but maintenance by address moves bytes between them: a cache that never evicts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "npu_memory.h"

#define LINE 32u
#define DCCIMVAC 0xE000EF70u
enum { EVENTS = 1 << 16, SMALL = 64, MPU_REGIONS = 16 };

typedef struct {
  uint32_t base, size;
  int read_only;
  uint8_t *cpu, *seen, *ram;
} memory_t;
typedef struct {
  uint32_t start, end, control, mask, value;
} gate_t;
typedef struct {
  uint32_t kind, address, value;
} event_t;

static memory_t memories[SMALL];
static gate_t gates[SMALL];
static uint32_t addresses[SMALL], values[SMALL];
static unsigned memory_count, gate_count, register_count;
static event_t events[EVENTS];
static unsigned event_count;
static uint32_t stuck_address, locked, npu_cache, mpu_base[MPU_REGIONS], mpu_attributes[MPU_REGIONS];
static uint8_t stuck_mask;
static int npu_cache_obeys = 1;
static void (*loader)(void);

static void note(char kind, uint32_t address, uint32_t value) {
  if (event_count < EVENTS) {
    events[event_count++] = (event_t){(uint32_t)kind, address, value};
  }
}

static uint32_t *reg(uint32_t address) {
  for (unsigned i = 0; i < register_count; i++) {
    if (addresses[i] == address) {
      return &values[i];
    }
  }
  if (register_count == SMALL) {
    abort();
  }
  addresses[register_count] = address;
  return &values[register_count++];
}

static int open_at(uint32_t address) {
  for (unsigned i = 0; i < gate_count; i++) {
    const gate_t *gate = &gates[i];
    if (address >= gate->start && address < gate->end && (*reg(gate->control) & gate->mask) != gate->value) {
      return 0;
    }
  }
  return 1;
}

static memory_t *memory_at(uint32_t address) {
  for (unsigned i = 0; i < memory_count; i++) {
    if (address - memories[i].base < memories[i].size) {
      return &memories[i];
    }
  }
  return NULL;
}

/* ---- what the test calls ---- */

void fake_reset(void) {
  for (unsigned i = 0; i < memory_count; i++) {
    free(memories[i].cpu);
    free(memories[i].seen);
    free(memories[i].ram);
  }
  memory_count = gate_count = register_count = event_count = 0;
  stuck_mask = 0;
  locked = 0;
  npu_cache = 0;
  npu_cache_obeys = 1;
  loader = NULL;
  memset(mpu_attributes, 0, sizeof mpu_attributes);
  memset(values, 0, sizeof values);
}

void fake_memory(uint32_t base, uint32_t size, int read_only, uint8_t fill) {
  memory_t *memory = &memories[memory_count++];
  *memory = (memory_t){base, size, read_only, malloc(size), malloc(size), malloc(size)};
  memset(memory->cpu, fill, size);
  memset(memory->seen, fill, size);
  memset(memory->ram, fill, size);
}

void fake_gate(uint32_t start, uint32_t end, uint32_t control, uint32_t mask, uint32_t value) {
  gates[gate_count++] = (gate_t){start, end, control, mask, value};
}

/* view 0: everybody sees it; 1: stored by the core, still in its cache; 2: written behind the cache. */
void fake_put(uint32_t address, const uint8_t *data, uint32_t size, int view) {
  memory_t *memory = memory_at(address);
  uint32_t at = address - memory->base;
  if (view != 2) {
    memcpy(memory->cpu + at, data, size);
  }
  if (view == 0) {
    memcpy(memory->seen + at, data, size);
  }
  if (view != 1) {
    memcpy(memory->ram + at, data, size);
  }
}

void fake_get(uint32_t address, uint8_t *data, uint32_t size) {
  memory_t *memory = memory_at(address);
  memcpy(data, memory->ram + (address - memory->base), size);
}

void fake_register(uint32_t address, uint32_t value) { *reg(address) = value; }
uint32_t fake_value(uint32_t address) { return *reg(address); }
void fake_stuck(uint32_t address, uint8_t mask) { stuck_address = address, stuck_mask = mask; }
void fake_lock(uint32_t address) { locked = address; }
void fake_npu_cache(uint32_t base, int obeys) { npu_cache = base, npu_cache_obeys = obeys; }
void fake_loader(void (*function)(void)) { loader = function; }
void fake_mpu(uint32_t number, uint32_t base, uint32_t attributes) {
  mpu_base[number] = base;
  mpu_attributes[number] = attributes;
}
uint32_t fake_mpu_base(uint32_t number) { return mpu_base[number]; }
uint32_t fake_mpu_attributes(uint32_t number) { return mpu_attributes[number]; }
unsigned fake_events(event_t *copy) {
  memcpy(copy, events, event_count * sizeof *events);
  return event_count;
}

/* ---- what firmware/runtime/memory calls ---- */

static void maintain(uint32_t line) {
  memory_t *memory = memory_at(line);
  if (memory == NULL) {
    return;
  }
  uint32_t at = line - memory->base;
  int alive = open_at(line);
  if (memcmp(memory->cpu + at, memory->seen + at, LINE) != 0 && alive && !memory->read_only) {
    memcpy(memory->ram + at, memory->cpu + at, LINE);
    if (stuck_mask != 0 && stuck_address - line < LINE) {
      memory->ram[stuck_address - memory->base] ^= stuck_mask;
    }
  }
  if (alive) {
    memcpy(memory->cpu + at, memory->ram + at, LINE);
  } else {
    memset(memory->cpu + at, 0, LINE); /* a bank that is off reads zeros */
  }
  memcpy(memory->seen + at, memory->cpu + at, LINE);
}

uint32_t npu_memory_read(uint32_t address) {
  memory_t *memory = memory_at(address);
  if (memory != NULL) {
    uint32_t value;
    note('m', address, 0);
    memcpy(&value, memory->cpu + (address - memory->base), sizeof value);
    return value;
  }
  if (!open_at(address)) {
    note('!', address, 0);
  }
  if (npu_cache == 0 || address != npu_cache + 4u) {
    note('r', address, 0);
  }
  if (address == 0xE000ED9Cu) {
    return mpu_base[*reg(0xE000ED98u)];
  }
  if (address == 0xE000EDA0u) {
    return mpu_attributes[*reg(0xE000ED98u)];
  }
  return *reg(address);
}

void npu_memory_write(uint32_t address, uint32_t value) {
  memory_t *memory = memory_at(address);
  note(memory != NULL ? 'M' : 'w', address, value);
  if (memory != NULL) {
    memcpy(memory->cpu + (address - memory->base), &value, sizeof value);
    return;
  }
  if (!open_at(address)) {
    note('!', address, 1);
  }
  if (locked != 0 && address == locked) {
    return;
  }
  if (address == DCCIMVAC) {
    maintain(value);
  } else if (address == 0xE000ED9Cu) {
    mpu_base[*reg(0xE000ED98u)] = value;
  } else if (address == 0xE000EDA0u) {
    mpu_attributes[*reg(0xE000ED98u)] = value;
  } else if (npu_cache != 0 && address == npu_cache + 0x0Cu) {
    *reg(npu_cache + 4u) &= ~value;
  } else {
    *reg(address) = value;
    if (npu_cache != 0 && address == npu_cache + 0x100u && (value & 1u) != 0) {
      *reg(npu_cache + 4u) = npu_cache_obeys ? 1u << 4 : 1u << 3;
      *reg(address) &= ~1u;
    }
  }
}

uint8_t *npu_memory_at(uint32_t address, uint32_t size) {
  memory_t *memory = memory_at(address);
  note('a', address, size);
  if (memory == NULL || size > memory->size - (address - memory->base)) {
    note('!', address, 2);
    return memories[0].cpu;
  }
  if (!open_at(address)) {
    note('!', address, 3);
  }
  return memory->cpu + (address - memory->base);
}

void npu_memory_barrier(void) { note('b', 0, 0); }

#ifndef FAKE_WITHOUT_LOADER
void npu_memory_external_loader(void) {
  note('L', 0, 0);
  if (loader != NULL) {
    loader();
  }
}
#endif
