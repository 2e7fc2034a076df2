/* Maintenance of the core's data cache by address (Armv7-M); right whether or not the cache is on. */
#ifndef DCACHE_H
#define DCACHE_H

#include <stdint.h>

#define DCACHE_LINE 32u

static inline void dcache_clean_invalidate(const void *address, uint32_t bytes) {
  uintptr_t at = (uintptr_t)address & ~(uintptr_t)(DCACHE_LINE - 1u);
  uintptr_t end = (uintptr_t)address + bytes;
  __asm__ volatile("dsb" ::: "memory");
  for (; at < end; at += DCACHE_LINE) {
    *(volatile uint32_t *)(uintptr_t)0xE000EF70u = (uint32_t)at; /* DCCIMVAC */
  }
  __asm__ volatile("dsb\n isb" ::: "memory");
}

#endif
