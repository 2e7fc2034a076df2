/* Start-up code of Armv8-M mainline and Armv8.1-M cores: vector table, reset, fault report. Needs no C library. */
#include <stdint.h>

#include "console.h"

extern uint32_t __stack_top, __stack_limit, __data_load, __data_start, __data_end, __bss_start, __bss_end;

int main(void);
void reset_handler(void);
void fault_handler(void);
_Noreturn void fault_report(const uint32_t *frame, uint32_t exc_return);

#define VECTORS 16 /* no interrupt is enabled anywhere, so the table ends with the system exceptions */

typedef union {
  const void *stack;
  void (*handler)(void);
  uintptr_t reserved;
} vector_t;

/* clang-format off */
__attribute__((section(".vectors"), used, aligned(128))) const vector_t vector_table[VECTORS] = {
    [0] = {.stack = &__stack_top},
    [1] = {.handler = reset_handler},
    [2] = {.handler = fault_handler},  /* NMI */
    [3] = {.handler = fault_handler},  /* HardFault */
    [4] = {.handler = fault_handler},  /* MemManage */
    [5] = {.handler = fault_handler},  /* BusFault */
    [6] = {.handler = fault_handler},  /* UsageFault */
    [7] = {.handler = fault_handler},  /* SecureFault */
    [11] = {.handler = fault_handler}, /* SVCall */
    [12] = {.handler = fault_handler}, /* DebugMonitor */
    [14] = {.handler = fault_handler}, /* PendSV */
    [15] = {.handler = fault_handler}, /* SysTick */
};
/* clang-format on */

/* In assembly, because no C may run before the FPU (which is MVE's register file too), the variables and the stack
 * limit are right: the compiler may use vector registers or call memcpy wherever it likes. */
__attribute__((naked, noreturn, used)) void reset_handler(void) {
  __asm__ volatile(
      "ldr r0, =__stack_limit\n"
      "msr msplim, r0\n"
      "ldr r0, =__stack_top\n"
      "msr msp, r0\n"
      "ldr r0, =0xE000ED08\n" /* VTOR */
      "ldr r1, =vector_table\n"
      "str r1, [r0]\n"
      "ldr r0, =0xE000ED88\n" /* CPACR: full access to CP10 and CP11 (FPU, MVE) */
      "ldr r1, [r0]\n"
      "orr r1, r1, #0x00F00000\n"
      "str r1, [r0]\n"
      "dsb\n"
      "isb\n"
      "ldr r0, =__data_load\n"
      "ldr r1, =__data_start\n"
      "ldr r2, =__data_end\n"
      "1: cmp r1, r2\n"
      "bhs 2f\n"
      "ldr r3, [r0], #4\n"
      "str r3, [r1], #4\n"
      "b 1b\n"
      "2: ldr r1, =__bss_start\n"
      "ldr r2, =__bss_end\n"
      "movs r3, #0\n"
      "3: cmp r1, r2\n"
      "bhs 4f\n"
      "str r3, [r1], #4\n"
      "b 3b\n"
      "4: bl main\n"
      "5: wfi\n"
      "b 5b\n"
      ".ltorg\n");
}

/* The stack may be what broke: the report runs on a fresh one. */
__attribute__((naked, used)) void fault_handler(void) {
  __asm__ volatile(
      "mov r1, lr\n"
      "tst lr, #4\n"
      "ite eq\n"
      "mrseq r0, msp\n"
      "mrsne r0, psp\n"
      "ldr r2, =__stack_top\n"
      "msr msp, r2\n"
      "b fault_report\n"
      ".ltorg\n");
}

static void put_hex(const char *name, uint32_t value) {
  console_puts(name);
  for (int shift = 28; shift >= 0; shift -= 4) {
    console_putc((uint8_t)"0123456789abcdef"[(value >> shift) & 15u]);
  }
}

static uint32_t system_register(uint32_t address) { return *(volatile uint32_t *)(uintptr_t)address; }

/* One line; the host recognizes its beginning. */
_Noreturn void fault_report(const uint32_t *frame, uint32_t exc_return) {
  uint32_t number;
  uintptr_t at = (uintptr_t)frame;
  __asm__ volatile("mrs %0, ipsr" : "=r"(number));
  console_init(); /* the fault may have come first */
  console_puts("\nfirmware fault:");
  put_hex(" exception 0x", number & 0x1ffu);
  put_hex(" CFSR 0x", system_register(0xE000ED28u));
  put_hex(" HFSR 0x", system_register(0xE000ED2Cu));
  put_hex(" BFAR 0x", system_register(0xE000ED38u));
  put_hex(" SFSR 0x", system_register(0xE000EDE4u));
  if (at >= (uintptr_t)&__stack_limit && at + 32u <= (uintptr_t)&__stack_top) {
    put_hex(" PC 0x", frame[6]);
    put_hex(" LR 0x", frame[5]);
  } else {
    put_hex(" PC unknown, stack pointer 0x", (uint32_t)at);
  }
  put_hex(" EXC_RETURN 0x", exc_return);
  console_puts("\n");
  for (;;) {
    __asm__ volatile("wfi");
  }
}
