/* What does not depend on the kind of port. */
#include "console.h"

#include "board_config.h"

const char *const board_name = BOARD_NAME;

__attribute__((weak)) void console_board_init(void) {}

void console_puts(const char *text) {
  while (*text != '\0') {
    console_putc((uint8_t)*text++);
  }
}
