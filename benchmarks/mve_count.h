/* Executed instructions: SysTick counts QEMU's virtual time, which -icount ties to them. */
#ifndef MVE_COUNT_H
#define MVE_COUNT_H

#include <stdint.h>

#include "console.h"

#define CALIBRATION 30000000u
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define SYST_COUNTFLAG (1u << 16)

static void put_hex(uint32_t value) {
  console_putc(' ');
  for (int shift = 28; shift >= 0; shift -= 4) console_putc((uint8_t)"0123456789abcdef"[value >> shift & 15u]);
}

static void put(const char *name, uint32_t value) {
  console_puts(name);
  put_hex(value);
  console_putc('\n');
}

static void start(void) {
  SYST_RVR = 0xFFFFFFu;
  SYST_CVR = 0;
  SYST_CSR = 5; /* on, clocked by the core, no interrupt */
}

/* 24 bits; what ran longer is reported as nothing. */
static uint32_t ticks(void) {
  const uint32_t left = SYST_CVR;
  return SYST_CSR & SYST_COUNTFLAG ? 0 : 0xFFFFFFu - left;
}

/* Prints the ticks of CALIBRATION instructions: two in each turn. */
static void calibrate(void) {
  uint32_t turns = CALIBRATION / 2;
  start();
  __asm__ volatile(".balign 4\n1: subs %0, #1\n bne 1b\n" : "+r"(turns) : : "cc");
  put("calibration", ticks());
}

#endif
