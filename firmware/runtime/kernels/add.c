/* ADD, SUB and SQUARED_DIFFERENCE, with broadcasting: both inputs are brought to twice the larger scale first. */
#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum {
  SUM_SHIFT = 20,   /* head room of the sum: 9 bits of value, 20 of fraction */
  SQUARE_SHIFT = 7, /* of the square: twice 8 bits of value, twice 7 of fraction */
};

static inline int32_t scaled1(int32_t a, int32_t fraction_bits, const na_add_t *p) {
  return na_scale((a + p->input1_offset) * (1 << fraction_bits), p->input1_multiplier, p->input1_shift);
}

static inline int32_t scaled2(int32_t b, int32_t fraction_bits, const na_add_t *p) {
  return na_scale((b + p->input2_offset) * (1 << fraction_bits), p->input2_multiplier, p->input2_shift);
}

static inline int32_t stored(int32_t accumulator, const na_add_t *p) {
  return na_requantize(accumulator, p->output_multiplier, p->output_shift, p->output_offset, p->activation_min,
                       p->activation_max);
}

static inline int32_t sum(int32_t a, int32_t b, const na_add_t *p) {
  return stored(scaled1(a, SUM_SHIFT, p) + scaled2(b, SUM_SHIFT, p), p);
}

/* Not a sum with a negative factor: halves are rounded up before the sign changes. */
static inline int32_t difference(int32_t a, int32_t b, const na_add_t *p) {
  return stored(scaled1(a, SUM_SHIFT, p) - scaled2(b, SUM_SHIFT, p), p);
}

static inline int32_t squared_difference(int32_t a, int32_t b, const na_add_t *p) {
  const int32_t difference = scaled1(a, SQUARE_SHIFT, p) - scaled2(b, SQUARE_SHIFT, p);
  return stored(difference * difference, p);
}

NA_BROADCAST_KERNEL(na_add_s8, na_add_t, sum)
NA_BROADCAST_KERNEL(na_sub_s8, na_add_t, difference)
NA_BROADCAST_KERNEL(na_squared_difference_s8, na_add_t, squared_difference)
