/* Fixed-point arithmetic of the numerics profile litert-2.20, shared by the kernels.
 *
 * A real factor is multiplier * 2^(shift - 31) with a multiplier of 0 or 2^30 .. 2^31 - 1 and a shift of -31 .. 30.
 * Right shifts of negative numbers are arithmetic and conversions to signed types wrap, as gcc and clang define both.
 */
#ifndef NEURALART_FIXEDPOINT_H
#define NEURALART_FIXEDPOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int32_t na_clamp(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : value > high ? high : value;
}

/* x * multiplier / 2^31, to nearest, halves up. The profile asks for a nudge by sign and a division that truncates;
 * that is the same number: ceil((p + 1 - 2^30) / 2^31) == floor((p + 2^30) / 2^31). No multiplier reaches -2^31, so
 * the one product that would have to saturate cannot occur. */
static inline int32_t na_high_multiply(int32_t x, int32_t multiplier) {
  return (int32_t)(((int64_t)x * multiplier + ((int64_t)1 << 30)) >> 31);
}

/* x / 2^exponent, to nearest, halves away from zero; exponent 0 .. 31. */
static inline int32_t na_round_shift(int32_t x, int32_t exponent) {
  const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
  const int32_t threshold = (mask >> 1) + (x < 0);
  return (x >> exponent) + ((x & mask) > threshold);
}

/* x times the factor, rounded twice: once by the multiplication, once by the shift. A left shift drops what does not
 * fit 32 bits. */
static inline int32_t na_scale(int32_t x, int32_t multiplier, int32_t shift) {
  const int32_t left = shift > 0 ? shift : 0;
  const int32_t right = shift > 0 ? 0 : -shift;
  return na_round_shift(na_high_multiply((int32_t)((uint32_t)x << left), multiplier), right);
}

/* The stored output value of an accumulator. */
static inline int32_t na_requantize(int32_t accumulator, int32_t multiplier, int32_t shift, int32_t zero_point,
                                    int32_t low, int32_t high) {
  const uint32_t scaled = (uint32_t)na_scale(accumulator, multiplier, shift);
  return na_clamp((int32_t)(scaled + (uint32_t)zero_point), low, high);
}

#ifdef __cplusplus
}
#endif

#endif
