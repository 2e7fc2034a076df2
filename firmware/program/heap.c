/* Memory for malloc. -DPROGRAM_HEAP_BYTES=N in the defines of the application gives another size. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PROGRAM_HEAP_BYTES
#define PROGRAM_HEAP_BYTES 16384
#endif

void *sbrk(ptrdiff_t bytes);
void *_sbrk(ptrdiff_t bytes);

static uint8_t heap[PROGRAM_HEAP_BYTES] __attribute__((section(".noinit.heap"), aligned(8)));
static size_t used;

void *sbrk(ptrdiff_t bytes) {
  if (bytes < 0 ? used < (size_t)-bytes : sizeof heap - used < (size_t)bytes) {
    errno = ENOMEM;
    return (void *)-1;
  }
  used += (size_t)bytes;
  return &heap[used - (size_t)bytes];
}

/* The name in newlib. */
void *_sbrk(ptrdiff_t bytes) { return sbrk(bytes); }
