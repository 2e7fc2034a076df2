/* Sums of products of int16 activations and int8 weights. */
#ifndef NEURALART_PRODUCTS64_H
#define NEURALART_PRODUCTS64_H

#include <stdint.h>

/* The profile keeps 15 bits of a multiplier for sums of 64 bits and rounds once: to nearest, halves up. */
static inline int32_t na_scaled_64(uint64_t accumulator, int32_t multiplier, int32_t shift) {
  const int32_t bits = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
  const int32_t right = 15 - shift;
  return (int32_t)((int64_t)(accumulator * (uint64_t)bits + ((uint64_t)1 << (right - 1))) >> right);
}

/* Sums of 64 bits wrap, hence unsigned; their lower halves are the sums of 32 bits. */
static inline uint64_t na_add_products_64(uint64_t sum, const int16_t *input, const int8_t *filter, int32_t count) {
  for (int32_t i = 0; i < count; i++) sum += (uint64_t)(int64_t)(input[i] * filter[i]);
  return sum;
}

#endif
