/* The CPU's data cache, by address. Without a data cache, and while it is off, the register takes writes and does
 * nothing. */
#include "access.h"
#include "npu_memory.h"

#define LINE 32u                  /* Cortex-M55 and Cortex-M7 */
#define SCB_DCCIMVAC 0xE000EF70u  /* clean and invalidate by address to the point of coherency (Armv7-M, Armv8-M) */

void npu_memory_clean_invalidate(uint32_t address, uint32_t size) {
  if (size == 0) {
    return;
  }
  uint32_t line = address & ~(LINE - 1u);
  uint32_t last = (address + (size - 1u)) & ~(LINE - 1u);
  npu_memory_barrier();
  for (;; line += LINE) {
    npu_memory_write(SCB_DCCIMVAC, line);
    if (line == last) {
      break;
    }
  }
  npu_memory_barrier();
}
