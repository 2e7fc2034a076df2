/* The serial port: text for people, and the frames of the host link. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

void console_init(void);
/* Both wait until the port is ready. */
void console_putc(uint8_t c);
uint8_t console_getc(void);
/* A byte if there is one; does not wait. */
bool console_poll(uint8_t *byte);
void console_puts(const char *text);
/* Called by console_init before the port is switched on: pins, baud rate, level shifters. Weak and empty in the
 * drivers; an application for a real board defines it. */
void console_board_init(void);
/* Name of the board, for greetings. */
extern const char *const board_name;

#endif
