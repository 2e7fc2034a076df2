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

static inline float na_tanh(float value) {
  const double x = (double)value, a = x < 0.0 ? -x : x;
  if (a < 0x1p-12) return (float)(x * (1.0 - x * x / 3.0));
  if (a > 20.0) return x < 0.0 ? -1.0f : 1.0f;
  const double e = na_exp(2.0 * a), t = (e - 1.0) / (e + 1.0);
  return (float)(x < 0.0 ? -t : t);
}

typedef union {
  float value;
  uint32_t bits;
} na_bits_t;

static inline float na_not_a_number(void) {
  const na_bits_t quiet = {.bits = 0x7fc00000u};
  return quiet.value;
}

/* The nearest float32, by digits: the mantissa as an integer of 49 or 50 bits has a root of 25, one of them to round by.
 * None is a tie. */
static inline float na_square_root(float x) {
  na_bits_t b = {x};
  if (!(x > 0.0f)) return x == 0.0f ? x : na_not_a_number();
  if (b.bits >= 0x7f800000u) return x;
  int32_t exponent = 0;
  if (b.bits < 0x00800000u) b.value *= 16777216.0f, exponent = -24; /* subnormal */
  exponent += (int32_t)(b.bits >> 23) - 127 - 23; /* x = mantissa * 2^exponent */
  uint64_t rest = (uint64_t)((b.bits & 0x007fffffu) | 0x00800000u);
  const int32_t shift = exponent & 1 ? 25 : 26;
  rest <<= shift;
  exponent -= shift;
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << (48); bit != 0; bit >>= 2) {
    const uint64_t next = root + bit;
    root >>= 1;
    if (rest >= next) rest -= next, root += bit;
  }
  return (float)((double)((root + 1) >> 1) * na_power_of_two(exponent / 2 + 1));
}

/* log(m * 2^k) for m about 1: the series of log((1 + s) / (1 - s)). */
static inline double na_log(float x) {
  if (!(x > 0.0f)) return x == 0.0f ? -1.0 / 0.0 : (double)na_not_a_number();
  na_bits_t b = {x};
  if (b.bits >= 0x7f800000u) return (double)x;
  int32_t exponent = 0;
  if (b.bits < 0x00800000u) b.value *= 16777216.0f, exponent = -24; /* subnormal */
  const int32_t k = (int32_t)(b.bits - 0x3f3504f3u) >> 23; /* the bits of the root of one half */
  b.bits -= (uint32_t)k << 23;
  exponent += k;
  const double m = (double)b.value, s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double sum = 0.0;
  for (int32_t n = 17; n > 0; n -= 2) sum = sum * s2 + 1.0 / (double)n;
  return 2.0 * s * sum + (double)exponent * 0x1.62e42fefa39efp-1;
}

/* The error function up to 2: exp(-x^2) times a series without a change of sign. */
static inline double na_erf_inner(double x) {
  double term = x, sum = x;
  for (int32_t n = 1; n < 40; n++) sum += term *= 2.0 * x * x / (double)(2 * n + 1);
  return sum * na_exp(-x * x) * 0x1.20dd750429b6dp0; /* 2 / the root of pi */
}

/* 1 - the error function, with all digits also where it is small: from 2 on a continued fraction. */
static inline double na_erfc(double x) {
  if (x < 0.0) return 2.0 - na_erfc(-x);
  if (x < 2.0) return 1.0 - na_erf_inner(x);
  if (!(x < 27.0)) return x < 0.0 || x >= 27.0 ? 0.0 : x;
  double rest = x;
  for (int32_t n = 30; n > 0; n--) rest = x + (double)n / 2.0 / rest;
  return na_exp(-x * x) / rest * 0x1.20dd750429b6dp-1;
}

static inline double na_erf(double x) {
  return x > -2.0 && x < 2.0 ? na_erf_inner(x) : x < 0.0 ? na_erfc(-x) - 1.0 : 1.0 - na_erfc(x);
}

#endif
