/* One inference of a network, counted: SysTick counts QEMU's virtual time, which -icount ties to executed instructions.
 * Prints the ticks of CALIBRATION instructions, the ticks of the inference, a hash of every output, and "done". */
#include "console.h"
#include "ll_aton.h"

LL_ATON_DECLARE_NAMED_NN_INSTANCE_AND_INTERFACE(network);

#define CALIBRATION 30000000u
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)
#define SYST_COUNTFLAG (1u << 16)

int main(void);

static void put(const char *name, uint32_t value) {
  console_puts(name);
  console_putc(' ');
  for (int shift = 28; shift >= 0; shift -= 4) console_putc((uint8_t)"0123456789abcdef"[value >> shift & 15u]);
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

/* Two instructions a turn. */
static void turn(uint32_t instructions) {
  uint32_t turns = instructions / 2;
  __asm__ volatile(".balign 4\n1: subs %0, #1\n bne 1b\n" : "+r"(turns) : : "cc");
}

int main(void) {
  console_init();
  start();
  turn(CALIBRATION);
  put("calibration", ticks());
  LL_ATON_RT_RuntimeInit();
  if (!LL_ATON_RT_Init_Network(&NN_Instance_network)) {
    console_puts("refused\ndone\n");
    return 1;
  }
  start();
  LL_ATON_RT_Main(&NN_Instance_network);
  put("inference", ticks());
  for (const LL_Buffer_InfoTypeDef *b = NN_Interface_network.output_buffers_info(); b->name != NULL; b++) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const uint8_t *at = LL_Buffer_addr_start(b); at < (const uint8_t *)LL_Buffer_addr_end(b); at++)
      hash = (hash ^ *at) * 16777619u;
    put("output", hash);
  }
  console_puts("done\n");
  for (;;) __asm__ volatile("wfi");
}
