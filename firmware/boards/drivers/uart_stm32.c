/* USART of the newer STM32 families (register layout with ISR, RDR and TDR; STM32N6 and others), polled.
 *
 * The clock of the port is switched on here. Pin multiplexing and baud rate are NOT: they depend on the board's wiring
 * and clock tree and have not been tried on silicon. A real board's application defines console_board_init(), which
 * must set the pins and the BRR register; it is called while the port is clocked and still off.
 */
#include "board_config.h"
#include "console.h"

typedef struct {
  volatile uint32_t CR1, CR2, CR3, BRR, GTPR, RTOR, RQR, ISR, ICR, RDR, TDR, PRESC;
} usart_registers_t;

#define PORT ((usart_registers_t *)(uintptr_t)CONSOLE_BASE)

#define CR1_UE (1u << 0)
#define CR1_RE (1u << 2)
#define CR1_TE (1u << 3)
#define ISR_ORE (1u << 3)
#define ISR_RXNE (1u << 5)
#define ISR_TXE (1u << 7)

void console_init(void) {
#ifdef CONSOLE_CLOCK_REGISTER
  volatile uint32_t *clock = (volatile uint32_t *)(uintptr_t)CONSOLE_CLOCK_REGISTER;
  *clock |= 1u << CONSOLE_CLOCK_BIT;
  (void)*clock; /* the clock runs when this read has come back */
#endif
  console_board_init();
  PORT->CR1 = CR1_UE | CR1_TE | CR1_RE;
}

void console_putc(uint8_t c) {
  while ((PORT->ISR & ISR_TXE) == 0) {
  }
  PORT->TDR = c;
}

uint8_t console_getc(void) {
  for (;;) {
    uint32_t state = PORT->ISR;
    if ((state & ISR_ORE) != 0) {
      PORT->ICR = ISR_ORE; /* a lost byte shows as a wrong CRC; an overrun that stays set would block the port */
    }
    if ((state & ISR_RXNE) != 0) {
      return (uint8_t)PORT->RDR;
    }
  }
}

bool console_poll(uint8_t *byte) {
  uint32_t state = PORT->ISR;
  if ((state & ISR_ORE) != 0) {
    PORT->ICR = ISR_ORE;
  }
  if ((state & ISR_RXNE) != 0) {
    *byte = (uint8_t)PORT->RDR;
    return true;
  }
  return false;
}
