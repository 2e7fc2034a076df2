#include "program.h"

#include "console.h"

void _exit(int status);

static void put_decimal(unsigned value) {
  if (value >= 10u) {
    put_decimal(value / 10u);
  }
  console_putc((uint8_t)('0' + value % 10u));
}

_Noreturn void program_end(int status) {
  console_puts("\nprogram ended with status ");
  if (status < 0) {
    console_putc('-');
  }
  put_decimal(status < 0 ? 0u - (unsigned)status : (unsigned)status);
  console_puts("\n");
  for (;;) {
    __asm__ volatile("wfi");
  }
}

/* What exit() and abort() of the C library end with. */
void _exit(int status) { program_end(status); }
