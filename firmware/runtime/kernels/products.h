/* Sums of products for several output channels at once. Accumulators wrap as 32-bit numbers, hence unsigned; a single
 * product always fits. */
#ifndef NEURALART_PRODUCTS_H
#define NEURALART_PRODUCTS_H

#include "neuralart_fixedpoint.h"
#include "vectors.h"

enum { NA_PRODUCTS_BLOCK = 4 }; /* output channels that share the loads of one input value */

/* Callers find the next two where their values first come into being, not in a loop: there the compiler forgets what it
 * knows of them. */

/* As much of a run as whole vectors cover, so that their loop needs nothing behind it. */
static inline int32_t na_products_whole(int32_t run) { return NA_VECTORS ? run & -16 : 0; }

/* The offset itself: no zero point is beyond this. It tells the compiler that its sum with an input value fits 16 bits,
 * so that instructions will do that multiply those and add to 32. */
static inline int32_t na_products_offset(int32_t offset) { return na_clamp(offset, -256, 256); }

static inline void na_add_products_block(uint32_t *accumulator, const int8_t *input, const int8_t *filter,
                                         int32_t filter_size, int32_t whole, int32_t run, int32_t offset) {
  const int8_t *f0 = filter, *f1 = f0 + filter_size, *f2 = f1 + filter_size, *f3 = f2 + filter_size;
  uint32_t a0 = accumulator[0], a1 = accumulator[1], a2 = accumulator[2], a3 = accumulator[3];
  for (int32_t i = 0; i < whole; i++) {
    const int32_t value = input[i] + offset;
    a0 += (uint32_t)(value * f0[i]);
    a1 += (uint32_t)(value * f1[i]);
    a2 += (uint32_t)(value * f2[i]);
    a3 += (uint32_t)(value * f3[i]);
  }
  for (int32_t i = whole; i < run; i++) {
    const int32_t value = input[i] + offset;
    a0 += (uint32_t)(value * f0[i]);
    a1 += (uint32_t)(value * f1[i]);
    a2 += (uint32_t)(value * f2[i]);
    a3 += (uint32_t)(value * f3[i]);
  }
  accumulator[0] = a0, accumulator[1] = a1, accumulator[2] = a2, accumulator[3] = a3;
}

/* Adds the products of a run of input values to the accumulators of `outputs` channels, at most the block. */
static inline void na_add_products(uint32_t *accumulator, int32_t outputs, const int8_t *input, const int8_t *filter,
                                   int32_t filter_size, int32_t whole, int32_t run, int32_t offset) {
  if (outputs == NA_PRODUCTS_BLOCK) {
    na_add_products_block(accumulator, input, filter, filter_size, whole, run, offset);
    return;
  }
  for (int32_t j = 0; j < outputs; j++, filter += filter_size) {
    uint32_t a = accumulator[j];
    for (int32_t i = 0; i < whole; i++) a += (uint32_t)((input[i] + offset) * filter[i]);
    for (int32_t i = whole; i < run; i++) a += (uint32_t)((input[i] + offset) * filter[i]);
    accumulator[j] = a;
  }
}

#endif
