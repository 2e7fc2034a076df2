/* Memory for malloc. PROGRAM_HEAP_BYTES=N in the defines of the application gives another size. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PROGRAM_HEAP_BYTES
#define PROGRAM_HEAP_BYTES 16384
#endif

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

/* The names that picolibc's malloc looks for. */
__asm__(".section .bss.heap,\"aw\",%nobits\n"
        ".balign 8\n"
        ".global __heap_start, __heap_end\n"
        "__heap_start: .space " TEXT(PROGRAM_HEAP_BYTES) "\n"
        "__heap_end:\n"
        ".text\n");

#ifndef _PICOLIBC__

extern uint8_t __heap_start[], __heap_end[];
void *_sbrk(ptrdiff_t bytes);

void *_sbrk(ptrdiff_t bytes) {
  static uint8_t *end = __heap_start;
  if (bytes > __heap_end - end || bytes < __heap_start - end) {
    errno = ENOMEM;
    return (void *)-1;
  }
  end += bytes;
  return end - bytes;
}

#endif
