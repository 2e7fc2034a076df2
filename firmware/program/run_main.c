/* The start-up code calls this instead of main (linker option --wrap=main). */
#include <stddef.h>
#include <stdio.h>

#include "console.h"
#include "program.h"

int __wrap_main(void);
int __real_main(void);
/* There in a program that prints. */
extern int fflush(FILE *stream) __attribute__((weak));

int __wrap_main(void) {
  console_init();
  int status = __real_main();
  if (fflush != NULL) {
    fflush(stdout);
  }
  program_end(status);
}
