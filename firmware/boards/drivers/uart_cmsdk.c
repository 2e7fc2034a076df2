/* APB UART of Arm's Cortex-M System Design Kit (MPS2 and MPS3 boards), polled. */
#include "board_config.h"
#include "console.h"

typedef struct {
  volatile uint32_t DATA, STATE, CTRL, INTSTATUS, BAUDDIV;
} uart_registers_t;

#define PORT ((uart_registers_t *)(uintptr_t)CONSOLE_BASE)

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define CTRL_TX_ENABLE (1u << 0)
#define CTRL_RX_ENABLE (1u << 1)

#ifndef CONSOLE_BAUD_DIVISOR
#define CONSOLE_BAUD_DIVISOR 16u /* the smallest that the port accepts */
#endif

void console_init(void) {
  console_board_init();
  PORT->BAUDDIV = CONSOLE_BAUD_DIVISOR;
  PORT->CTRL = CTRL_TX_ENABLE | CTRL_RX_ENABLE;
  /* A byte from before the start is none of ours. QEMU also needs this read to look for input at once: it learns of a
   * port that became ready only here, else about a second later. */
  (void)PORT->DATA;
}

void console_putc(uint8_t c) {
  while ((PORT->STATE & STATE_TX_FULL) != 0) {
  }
  PORT->DATA = c;
}

uint8_t console_getc(void) {
  while ((PORT->STATE & STATE_RX_FULL) == 0) {
  }
  return (uint8_t)PORT->DATA;
}

bool console_poll(uint8_t *byte) {
  if ((PORT->STATE & STATE_RX_FULL) == 0) {
    return false;
  }
  *byte = (uint8_t)PORT->DATA;
  return true;
}
