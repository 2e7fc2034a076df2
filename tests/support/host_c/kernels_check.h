/* What the programs share that compare kernels with the plain C ones, on random layers, on the core itself: console,
 * random numbers, memory, comparison. The C kernels are compiled under names of their own (c_...). One line for each
 * kernel on the console: name, layers, layers whose output varies, layers that differ; a line for the first layers that
 * differ; and "done". */
#ifndef KERNELS_CHECK_H
#define KERNELS_CHECK_H

#include <stdint.h>
#include <string.h>

#include "console.h"
#include "neuralart_kernels.h"

#ifndef LAYERS
#define LAYERS 300
#endif

/* ---- console */

static void put_number(int32_t value) {
  char digits[12];
  int at = sizeof digits;
  const uint32_t size = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
  digits[--at] = 0;
  for (uint32_t rest = size; rest || at == sizeof digits - 1; rest /= 10) digits[--at] = (char)('0' + rest % 10);
  if (value < 0) console_putc('-');
  console_puts(&digits[at]);
}

static void put_numbers(const char *name, const int32_t *values, int count) {
  console_puts(name);
  for (int i = 0; i < count; i++) console_putc(' '), put_number(values[i]);
  console_putc('\n');
}

/* ---- random numbers: a counter, well mixed (the finalizer of MurmurHash3) */

static uint32_t drawn;

static uint32_t draw(void) {
  uint32_t x = drawn += 0x9E3779B9u;
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return x ^ x >> 16;
}

static int32_t between(int32_t low, int32_t high) { return low + (int32_t)(draw() % (uint32_t)(high - low + 1)); }

static int one_in(int32_t n) { return between(1, n) == 1; }

static inline int32_t zero_point(void) { return one_in(8) ? -128 : one_in(8) ? 127 : one_in(8) ? 0 : between(-128, 127); }

static inline int32_t factor(void) { return one_in(20) ? 0 : one_in(10) ? 1 << 30 : between(1 << 30, INT32_MAX); }

static inline void limits(int32_t *low, int32_t *high) {
  *low = one_in(3) ? between(-128, 0) : -128;
  *high = one_in(3) ? between(*low, 127) : 127;
}

/* ---- memory */

/* Behind this address is nothing: what lies against it must not be read beyond its end. */
#ifndef CLIFF
#define CLIFF 0x31400000u
#endif
#ifndef INPUTS /* below the cliff */
#define INPUTS 0x31000000u
#endif
#ifndef OUTPUTS
#define OUTPUTS 0x11000000u
#endif

enum { ARENA = 1 << 20, GUARD = 32 };

static uint8_t *arena; /* of what is left */
static int at_the_cliff;

/* Room for `bytes`, at any address that fits `size`. */
static void *room(int32_t bytes, int32_t size) {
  if (!at_the_cliff && one_in(4)) {
    at_the_cliff = 1;
    return (void *)(uintptr_t)(CLIFF - (uint32_t)bytes);
  }
  uint8_t *start = arena + between(0, 15) / size * size;
  arena += (bytes + GUARD + 31) / 16 * 16;
  return start;
}

static inline int8_t *bytes(int32_t count) {
  int8_t *made = room(count, 1);
  const int kind = between(0, 3);
  const int32_t middle = between(-128, 127);
  for (int32_t i = 0; i < count; i++) {
    if (kind == 0) made[i] = one_in(2) ? -128 : 127;
    else if (kind == 1) made[i] = (int8_t)(middle + between(-3, 3));
    else made[i] = (int8_t)between(-128, 127);
  }
  return made;
}

static inline int32_t *words(int32_t count, int32_t low, int32_t high) {
  int32_t *made = room(count * 4, 4);
  for (int32_t i = 0; i < count; i++) made[i] = (int32_t)((uint32_t)low + draw() % ((uint32_t)high - (uint32_t)low + 1u));
  return made;
}

/* Bias: absent, of the size of the sums, or anything. */
static inline int32_t *bias_of(int32_t count) {
  if (one_in(6)) return NULL;
  return one_in(4) ? words(count, INT32_MIN + 1, INT32_MAX) : words(count, -60000, 60000);
}

/* ---- comparison */

typedef struct {
  const char *name;
  int32_t layers, varied, different;
} result_t;

static int8_t *outputs[2]; /* of the C kernel and of the other one, with different garbage in them and around them */

static void new_layer(void) {
  arena = (uint8_t *)(uintptr_t)INPUTS;
  at_the_cliff = 0;
}

static void make_outputs(int32_t count) {
  for (int k = 0; k < 2; k++) {
    const int32_t odd = between(0, 15);
    outputs[k] = (int8_t *)(uintptr_t)(OUTPUTS + (uint32_t)(k * ARENA + 64 + odd));
    memset(outputs[k] - GUARD, k ? 0x5A : 0xC3, (size_t)(count + 2 * GUARD));
  }
}

static void compare(result_t *r, int32_t count, const int32_t *parameters, int number) {
  int wrong = 0, varies = 0;
  for (int32_t i = 0; i < count; i++) {
    wrong += outputs[0][i] != outputs[1][i];
    varies |= outputs[0][i] != outputs[0][0];
  }
  for (int32_t i = 1; i <= GUARD; i++) wrong += outputs[1][-i] != 0x5A || outputs[1][count + i - 1] != 0x5A;
  r->layers++;
  r->varied += varies;
  if (!wrong) return;
  if (r->different++ < 3) put_numbers("different:", parameters, number);
}

static void report(const result_t *r) {
  console_puts(r->name);
  const int32_t values[] = {r->layers, r->varied, r->different};
  put_numbers("", values, 3);
}

#endif
