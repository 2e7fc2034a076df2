/* Every access to a register or a memory by its address, so that a test on the host can stand in for both. */
#ifndef NPU_MEMORY_ACCESS_H
#define NPU_MEMORY_ACCESS_H

#include <stdint.h>

#ifdef NPU_MEMORY_ACCESS_BY_TEST

uint32_t npu_memory_read(uint32_t address);
void npu_memory_write(uint32_t address, uint32_t value);
uint8_t *npu_memory_at(uint32_t address, uint32_t size);
void npu_memory_barrier(void);

#else

static inline uint32_t npu_memory_read(uint32_t address) { return *(volatile const uint32_t *)(uintptr_t)address; }

static inline void npu_memory_write(uint32_t address, uint32_t value) {
  *(volatile uint32_t *)(uintptr_t)address = value;
}

static inline uint8_t *npu_memory_at(uint32_t address, uint32_t size) {
  (void)size;
  uint8_t *at = (uint8_t *)(uintptr_t)address;
  /* The compiler must not reason about where this points to: a pool may begin at address 0. */
  __asm__("" : "+r"(at));
  return at;
}

/* All accesses before it are done before any behind it begins. */
static inline void npu_memory_barrier(void) {
#ifdef __arm__
  __asm__ volatile("dsb\n\tisb" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

#endif

/* A read behind each write: the clock runs before the next access is made. */
static inline void npu_memory_set(uint32_t address, uint32_t bits) {
  npu_memory_write(address, npu_memory_read(address) | bits);
  (void)npu_memory_read(address);
}

static inline void npu_memory_clear(uint32_t address, uint32_t bits) {
  npu_memory_write(address, npu_memory_read(address) & ~bits);
  (void)npu_memory_read(address);
}

/* True if a clock runs, or if nothing gates it. */
static inline int npu_memory_clocked(uint32_t clock_register, uint32_t bits) {
  return clock_register == 0 || (npu_memory_read(clock_register) & bits) == bits;
}

#endif
