/* What a compiler calls without being asked. A relocatable model brings its own: it may not depend on the firmware's
 * addresses, and its bytes may not depend on the C library of the machine that builds it.
 * GCC knows these loops and would call the very function that they are in: -fno-tree-loop-distribute-patterns. */
#include <stddef.h>
#include <stdint.h>

#define WORD sizeof(uint32_t)
#define ALIGNED(p) (((uintptr_t)(p) & (WORD - 1)) == 0)

typedef uint32_t __attribute__((may_alias)) word_t;

void *memcpy(void *restrict target, const void *restrict source, size_t count);
void *memmove(void *target, const void *source, size_t count);
void *memset(void *target, int value, size_t count);
int memcmp(const void *one, const void *other, size_t count);

void *memcpy(void *restrict target, const void *restrict source, size_t count) {
  unsigned char *to = target;
  const unsigned char *from = source;
  if (ALIGNED(to) && ALIGNED(from)) {
    for (; count >= WORD; count -= WORD, to += WORD, from += WORD) {
      *(word_t *)to = *(const word_t *)from;
    }
  }
  for (; count != 0; count--) {
    *to++ = *from++;
  }
  return target;
}

void *memmove(void *target, const void *source, size_t count) {
  unsigned char *to = target;
  const unsigned char *from = source;
  /* Where the target does not begin inside the source, going forward overwrites nothing that is still needed. */
  if ((uintptr_t)to - (uintptr_t)from >= count) {
    return memcpy(target, source, count);
  }
  while (count != 0) {
    count--;
    to[count] = from[count];
  }
  return target;
}

void *memset(void *target, int value, size_t count) {
  unsigned char *to = target;
  const unsigned char byte = (unsigned char)value;
  if (ALIGNED(to)) {
    const word_t word = 0x01010101u * byte;
    for (; count >= WORD; count -= WORD, to += WORD) {
      *(word_t *)to = word;
    }
  }
  for (; count != 0; count--) {
    *to++ = byte;
  }
  return target;
}

int memcmp(const void *one, const void *other, size_t count) {
  const unsigned char *a = one, *b = other;
  for (; count != 0; count--, a++, b++) {
    if (*a != *b) {
      return *a - *b;
    }
  }
  return 0;
}
