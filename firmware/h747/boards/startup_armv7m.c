/* Start-up code of Armv7-M cores with an FPU: vector table, reset, fault report. Needs no C library. */
#include <stdint.h>

#include "console.h"

extern uint32_t _estack;

int main(void);
void board_memories_init(void);
void reset_handler(void);
void fault_handler(void);
_Noreturn void fault_report(uint32_t sp, uint32_t exc_return, uint32_t pc, uint32_t lr);

#define VECTORS 16 /* no interrupt is enabled anywhere, so the table ends with the system exceptions */

typedef union {
  const void *stack;
  void (*handler)(void);
  uintptr_t reserved;
} vector_t;

__attribute__((section(".isr_vector"), used, aligned(128))) const vector_t vector_table[VECTORS] = {
    [0] = {.stack = &_estack},
    [1] = {.handler = reset_handler},
    [2] = {.handler = fault_handler},  /* NMI */
    [3] = {.handler = fault_handler},  /* HardFault */
    [4] = {.handler = fault_handler},  /* MemManage */
    [5] = {.handler = fault_handler},  /* BusFault */
    [6] = {.handler = fault_handler},  /* UsageFault */
    [11] = {.handler = fault_handler}, /* SVCall */
    [12] = {.handler = fault_handler}, /* DebugMonitor */
    [14] = {.handler = fault_handler}, /* PendSV */
    [15] = {.handler = fault_handler}, /* SysTick */
};

/* Memories that do not answer after reset: a board that has some defines it. Variables are right when it is called. */
__attribute__((weak)) void board_memories_init(void) {}

/* In assembly, because no C may run before the FPU and the variables are right. */
__attribute__((naked, noreturn, used)) void reset_handler(void) {
  __asm__ volatile(
      "ldr r0, =_estack\n"
      "msr msp, r0\n"
      "ldr r0, =0xE000ED08\n" /* VTOR */
      "ldr r1, =vector_table\n"
      "str r1, [r0]\n"
      "ldr r0, =0xE000ED88\n" /* CPACR: full access to CP10 and CP11 */
      "ldr r1, [r0]\n"
      "orr r1, r1, #0x00F00000\n"
      "str r1, [r0]\n"
      "dsb\n"
      "isb\n"
      "ldr r0, =_sidata\n"
      "ldr r1, =_sdata\n"
      "ldr r2, =_edata\n"
      "1: cmp r1, r2\n"
      "bhs 2f\n"
      "ldr r3, [r0], #4\n"
      "str r3, [r1], #4\n"
      "b 1b\n"
      "2: ldr r1, =_sbss\n"
      "ldr r2, =_ebss\n"
      "movs r3, #0\n"
      "3: cmp r1, r2\n"
      "bhs 4f\n"
      "str r3, [r1], #4\n"
      "b 3b\n"
      "4: bl board_memories_init\n"
      "bl main\n"
      "5: wfi\n"
      "b 5b\n"
      ".ltorg\n");
}

/* The stack may be what broke: the report runs on a fresh one, and what the core pushed is read before that. */
__attribute__((naked, used)) void fault_handler(void) {
  __asm__ volatile(
      "mov r1, lr\n"
      "tst lr, #4\n"
      "ite eq\n"
      "mrseq r0, msp\n"
      "mrsne r0, psp\n"
      "movs r2, #0\n"
      "movs r3, #0\n"
      "ldr r12, =_stack_limit\n"
      "cmp r0, r12\n"
      "blo 1f\n"
      "ldr r12, =_estack\n"
      "sub r12, r12, #32\n"
      "cmp r0, r12\n"
      "bhi 1f\n"
      "ldr r2, [r0, #24]\n"
      "ldr r3, [r0, #20]\n"
      "1: ldr r12, =_estack\n"
      "msr msp, r12\n"
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

/* One line; the host recognizes its beginning. PC and LR are 0 where the stack pointer was none. */
_Noreturn void fault_report(uint32_t sp, uint32_t exc_return, uint32_t pc, uint32_t lr) {
  uint32_t number;
  __asm__ volatile("mrs %0, ipsr" : "=r"(number));
  console_init(); /* the fault may have come first */
  console_puts("\nfirmware fault:");
  put_hex(" exception 0x", number & 0x1ffu);
  put_hex(" CFSR 0x", system_register(0xE000ED28u));
  put_hex(" HFSR 0x", system_register(0xE000ED2Cu));
  put_hex(" BFAR 0x", system_register(0xE000ED38u));
  if (pc != 0 || lr != 0) {
    put_hex(" PC 0x", pc);
    put_hex(" LR 0x", lr);
  } else {
    put_hex(" PC unknown, stack pointer 0x", sp);
  }
  put_hex(" EXC_RETURN 0x", exc_return);
  console_puts("\n");
  for (;;) {
    __asm__ volatile("wfi");
  }
}
