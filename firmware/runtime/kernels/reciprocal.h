/* 1 / x in fixed point, shared by SOFTMAX and DIV. */
#ifndef NEURALART_RECIPROCAL_H
#define NEURALART_RECIPROCAL_H

#include "neuralart_fixedpoint.h"

static inline int32_t na_saturating_shift_left(int32_t x, int32_t exponent) {
  if (x > INT32_MAX >> exponent) return INT32_MAX;
  if (x < INT32_MIN >> exponent) return INT32_MIN;
  return (int32_t)((uint32_t)x << exponent);
}

/* 1 / (1 + x) in Q0.31 for a Q0.31 number 0 <= x < 1: three Newton steps on the half denominator, in Q2.29. */
static inline int32_t na_reciprocal_of_one_plus(int32_t x) {
  const int32_t one = 1 << 29, c48_17 = 1515870810, c32_17 = 1010580540;
  const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) >> 1);
  int32_t y = c48_17 + na_high_multiply(half, -c32_17);
  for (int32_t step = 0; step < 3; step++)
    y += na_saturating_shift_left(na_high_multiply(y, one - na_high_multiply(half, y)), 2);
  return na_saturating_shift_left(y, 1);
}

#endif
