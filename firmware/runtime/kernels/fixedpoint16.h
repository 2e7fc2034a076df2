/* Functions of 16-bit fixed-point numbers as the numerics profile computes them: exp by a polynomial and a product of
 * powers, quotients and roots by Newton's method. Values are held in 32 bits; where no comment says otherwise they
 * have 15 fractional bits. */
#ifndef NEURALART_FIXEDPOINT16_H
#define NEURALART_FIXEDPOINT16_H

#include "neuralart_fixedpoint.h"

static inline int32_t na_clamp16(int32_t value) { return na_clamp(value, INT16_MIN, INT16_MAX); }

/* a * b / 2^15, to nearest, halves up. */
static inline int32_t na_multiply16(int32_t a, int32_t b) { return (a * b + (1 << 14)) >> 15; }

/* exp(x) for -1/4 <= x < 0: the polynomial of degree 4 around -1/8. */
static inline int32_t na_exp16_near_zero(int32_t x) {
  const int32_t middle = 28918, third = 10923; /* exp(-1/8), 1/3 */
  const int32_t d = x + (1 << 12), d2 = na_multiply16(d, d), d3 = na_multiply16(d2, d), d4 = na_multiply16(d2, d2);
  const int32_t high = na_multiply16(na_round_shift(d4, 2) + d3, third);
  return na_clamp16(middle + na_multiply16(middle, d + na_round_shift(high + d2, 1)));
}

/* exp(x) for x <= 0 with some integer bits, 1 .. 7. */
static inline int32_t na_exp16(int32_t x, int32_t bits) {
  static const int16_t powers[] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* exp(-1/4), exp(-1/2), .. exp(-16) */
  if (x == 0) return INT16_MAX;
  if (bits > 5 && x < -(1 << (20 - bits))) return 0; /* below -32 */
  const int32_t quarter = 1 << (13 - bits);
  const int32_t low = (x & (quarter - 1)) - quarter;
  const int32_t quarters = (low - x) >> (13 - bits);
  int32_t result = na_exp16_near_zero(low * (1 << bits));
  for (int32_t k = 0; k < 7; k++)
    if (quarters >> k & 1) result = na_multiply16(result, powers[k]);
  return result;
}

/* 2 / (1 + a) for 0 <= a <= 1, with 2 integer bits: three steps from 48/17 - 32/17 * (1 + a) / 2. */
static inline int32_t na_two_over_one_plus16(int32_t a) {
  const int32_t half = (a + INT16_MAX + 1) >> 1;
  int32_t x = 23130 + na_multiply16(half, -15420);
  for (int32_t step = 0; step < 3; step++)
    x += na_clamp16(4 * na_multiply16(x, (1 << 13) - na_multiply16(half, x)));
  return x;
}

/* 1 / (1 + exp(-x)) of a number with 3 integer bits. */
static inline int32_t na_logistic16(int32_t x) {
  if (x == 0) return 1 << 14;
  const int32_t above = na_clamp16(2 * na_two_over_one_plus16(na_exp16(x > 0 ? -x : x, 3)));
  return x > 0 ? above : INT16_MAX - above;
}

/* tanh of a number with some integer bits, 0 .. 6: (1 - exp(-2x)) / (1 + exp(-2x)). */
static inline int32_t na_tanh16(int32_t x, int32_t bits) {
  if (x == 0) return 0;
  const int32_t t = na_clamp16(4 * (na_two_over_one_plus16(na_exp16(x > 0 ? -x : x, bits + 1)) - (1 << 13)));
  return x > 0 ? t : -t;
}

/* value * 2^exponent, or the nearest number of 32 bits. */
static inline int32_t na_saturating_shift(int32_t value, int32_t exponent) {
  const int64_t shifted = (int64_t)value * ((int64_t)1 << exponent);
  return shifted > INT32_MAX ? INT32_MAX : shifted < INT32_MIN ? INT32_MIN : (int32_t)shifted;
}

/* 1 / sqrt(value) as multiplier and shift; what is below 2 counts as 1. */
static inline int32_t na_inverse_root(int32_t value, int32_t *shift) {
  *shift = 0;
  if (value < 2) return INT32_MAX;
  int32_t right = 11;
  for (; value >= 1 << 29; right++) value /= 4;
  for (; value < 1 << 27; right--) value *= 4;
  /* Five steps for a number of 3 integer bits, from 1. */
  const int32_t half = na_round_shift(value >> 1, 1);
  int32_t x = 1 << 28;
  for (int32_t step = 0; step < 5; step++) {
    const int32_t cube = na_saturating_shift(na_high_multiply(na_high_multiply(x, x), x), 6);
    x = na_saturating_shift(na_high_multiply(3 << 27, x) - na_high_multiply(half, cube), 3);
  }
  x = na_high_multiply(x, 1518500250); /* sqrt(1/2) */
  if (right < 0) return (int32_t)((uint32_t)x << -right);
  *shift = -right;
  return x;
}

#endif
