/* What an application may define itself. In a file of their own: callers must not know the defaults. */
#include "access.h"
#include "npu_memory.h"

/* STM32N6: after reset the firewalls (RISAF) let secure, privileged masters of compartment 1 through, and only those.
 * The CPU is one; the NPU becomes one here. An application that opens the memories otherwise says so in its own hook. */
__attribute__((weak)) int npu_memory_rif_hook(const npu_memory_registers_t *registers) {
  if (registers->rimc != 0) {
    if (registers->rimc_clock_register != 0) {
      npu_memory_set(registers->rimc_clock_register, registers->rimc_clock);
    }
    npu_memory_write(registers->rimc, registers->rimc_value);
    /* Locked by an earlier stage, or without its clock: the NPU would read nothing and nobody would say why. */
    return npu_memory_read(registers->rimc) == registers->rimc_value ? 0 : -1;
  }
  return 0;
}

__attribute__((weak, noinline)) void npu_memory_external_loader(void) { __asm__ volatile("" ::: "memory"); }
