/* What every application does first, and what it does when it cannot go on. */
#ifndef START_H
#define START_H

#include <stdint.h>

/* Console, greeting, memories, runtime. Does not return if a memory is not what it should be. */
void start_application(const char *title);

/* The error goes to the host; nothing happens any more. */
_Noreturn void give_up(uint16_t code, const char *subject, const char *text);
_Noreturn void idle(void);

#endif
