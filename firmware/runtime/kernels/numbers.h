/* Functions of single numbers that several kernels need. */
#ifndef NEURALART_NUMBERS_H
#define NEURALART_NUMBERS_H

#include <stdint.h>

/* The largest whole number that is not above x. Beyond 2^52 every float64 is whole. */
static inline double na_floor(double x) {
  if (!(x > -4503599627370496.0 && x < 4503599627370496.0)) return x;
  const double whole = (double)(int64_t)x;
  return whole > x ? whole - 1.0 : whole == x ? x : whole;
}

/* 2^exponent; exponent -1022 .. 1023. */
static inline double na_power_of_two(int32_t exponent) {
  const union {
    uint64_t bits;
    double value;
  } power = {(uint64_t)(exponent + 1023) << 52};
  return power.value;
}

/* exp(x) to 37 bits: 2^k times the Taylor polynomial of degree 9 for the rest, which is at most log(2) / 2. */
static inline double na_exp(double x) {
  const double log2 = 0x1.62e42fefa39efp-1;
  if (!(x > -700.0)) return x < 0.0 ? 0.0 : x; /* what is not a number stays so */
  if (x > 700.0) x = 700.0; /* infinite in float32 */
  const double k = na_floor(x * 0x1.71547652b82fep0 + 0.5);
  const double r = x - k * log2;
  double sum = 1.0;
  for (int32_t n = 9; n > 0; n--) sum = 1.0 + sum * r / (double)n;
  return sum * na_power_of_two((int32_t)k);
}

#endif
