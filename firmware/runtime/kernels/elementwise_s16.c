/* ADD, SUB, MUL, MAXIMUM, MINIMUM, LOGISTIC and TANH of int16 activations. */
#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum { FRACTION = 1 << 15 }; /* of a term: 17 bits of value, 15 of fraction */

static inline int32_t scaled1(int32_t a, const na_add_t *p) {
  return na_scale(a * FRACTION, p->input1_multiplier, p->input1_shift);
}

static inline int32_t scaled2(int32_t b, const na_add_t *p) {
  return na_scale(b * FRACTION, p->input2_multiplier, p->input2_shift);
}

static inline int16_t stored(int32_t accumulator, const na_add_t *p) {
  return (int16_t)na_requantize(accumulator, p->output_multiplier, p->output_shift, 0, p->activation_min,
                                p->activation_max);
}

static inline int16_t sum(int32_t a, int32_t b, const na_add_t *p) { return stored(scaled1(a, p) + scaled2(b, p), p); }

static inline int16_t difference(int32_t a, int32_t b, const na_add_t *p) {
  return stored(scaled1(a, p) - scaled2(b, p), p);
}

static inline int16_t product(int32_t a, int32_t b, const na_mul_t *p) {
  return (int16_t)na_requantize(a * b, p->multiplier, p->shift, 0, p->activation_min, p->activation_max);
}

static inline int16_t larger(int16_t a, int16_t b, const na_extremum_t *p) {
  (void)p;
  return a > b ? a : b;
}

static inline int16_t smaller(int16_t a, int16_t b, const na_extremum_t *p) {
  (void)p;
  return a < b ? a : b;
}

NA_BROADCAST_NUMBERS(na_maximum_s16, int16_t, na_extremum_t, larger)
NA_BROADCAST_NUMBERS(na_minimum_s16, int16_t, na_extremum_t, smaller)
NA_BROADCAST_NUMBERS(na_add_s16, int16_t, na_add_t, sum)
NA_BROADCAST_NUMBERS(na_sub_s16, int16_t, na_add_t, difference)
NA_BROADCAST_NUMBERS(na_mul_s16, int16_t, na_mul_t, product)

void na_leaky_relu_s16(const int16_t *input, int16_t *output, const na_leaky_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const int32_t x = input[i];
    const int32_t multiplier = x < 0 ? p->slope_multiplier : p->multiplier, shift = x < 0 ? p->slope_shift : p->shift;
    output[i] = (int16_t)na_clamp(na_scale(x, multiplier, shift), INT16_MIN, INT16_MAX);
  }
}

static inline int32_t rescaled(int32_t x, const na_sigmoid_t *p) {
  return (x * p->multiplier + (p->shift > 0 ? 1 << (p->shift - 1) : 0)) >> p->shift;
}

/* Between two entries on a straight line; bits behind the point of a place in the table, and more of the result. */
static inline int32_t on_line(int32_t x, const uint16_t *table, int32_t bits, int32_t beyond) {
  const int32_t magnitude = x < 0 ? -x : x, index = magnitude >> bits;
  if (index >= 255) return beyond;
  return table[index] * (1 << bits) + (magnitude & ((1 << bits) - 1)) * (table[index + 1] - table[index]);
}

/* The curve is odd about its middle; both directions are rounded to nearest, halves away from it in one of them. */
void na_logistic_s16(const int16_t *input, const uint16_t *table, int16_t *output, const na_sigmoid_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const int32_t x = rescaled(input[i], p), value = on_line(x, table, 9, INT16_MAX << 10);
    output[i] = (int16_t)((x >= 0 ? value + (1 << 9) : (1 << 25) - value + (1 << 9) - 1) >> 10);
  }
}

/* tanh(x) = 2 / (1 + exp(-2x)) - 1 */
void na_tanh_s16(const int16_t *input, const uint16_t *table, int16_t *output, const na_sigmoid_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const int32_t x = rescaled(input[i], p), value = on_line(x, table, 8, UINT16_MAX << 8) - (1 << 23);
    output[i] = (int16_t)((x >= 0 ? value + (1 << 7) : -value + (1 << 7) - 1) >> 8);
  }
}
