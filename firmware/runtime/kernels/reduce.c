/* REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, SUM and MEAN of plain numbers, over any dimensions. */
#include "single.h"

#include "neuralart_kernels.h"

/* Defines kernel(input, output, parameters): next(so far, value, p) over the values of a result, from first(value, p)
 * on, then done(all, p). */
#define REDUCTION(kernel, type, sum_t, first, next, done)                                                              \
  void kernel(const type *input, type *output, const na_reduce_t *p) {                                                 \
    const int32_t *k = p->kept_stride, *s = p->summed_stride;                                                          \
    for (int32_t a = 0; a < p->kept[0]; a++)                                                                           \
      for (int32_t b = 0; b < p->kept[1]; b++)                                                                         \
        for (int32_t c = 0; c < p->kept[2]; c++) {                                                                     \
          const type *from = input + a * k[0] + b * k[1] + c * k[2];                                                   \
          sum_t all = first(*from, p);                                                                                 \
          int32_t skip = 1;                                                                                            \
          for (int32_t d = 0; d < p->summed[0]; d++)                                                                   \
            for (int32_t e = 0; e < p->summed[1]; e++, skip = 0)                                                       \
              for (int32_t f = skip; f < p->summed[2]; f++)                                                            \
                all = next(all, from[d * s[0] + e * s[1] + f * s[2]], p);                                              \
          *output++ = (type)done(all, p);                                                                              \
        }                                                                                                              \
  }

#define SAME(value, p) (value)
#define LARGER(all, value, p) ((value) > (all) ? (value) : (all))
#define SMALLER(all, value, p) ((value) < (all) ? (value) : (all))
#define SUM(all, value, p) ((all) + (value))
#define PRODUCT(all, value, p) ((value) * (all))
#define WRAPPED_SUM(all, value, p) ((int32_t)((uint32_t)(all) + (uint32_t)(value)))
#define WRAPPED_PRODUCT(all, value, p) ((int32_t)((uint32_t)(all) * (uint32_t)(value)))
#define PER_VALUE(all, p) ((all) / (float)(p)->count)

REDUCTION(na_reduce_max_s8, int8_t, int8_t, SAME, LARGER, SAME)
REDUCTION(na_reduce_min_s8, int8_t, int8_t, SAME, SMALLER, SAME)
REDUCTION(na_reduce_max_i32, int32_t, int32_t, SAME, LARGER, SAME)
REDUCTION(na_reduce_min_i32, int32_t, int32_t, SAME, SMALLER, SAME)
REDUCTION(na_reduce_sum_i32, int32_t, int32_t, SAME, WRAPPED_SUM, SAME)
REDUCTION(na_reduce_prod_i32, int32_t, int32_t, SAME, WRAPPED_PRODUCT, SAME)
REDUCTION(na_reduce_max_f32, float, float, SAME, LARGER, SAME)
REDUCTION(na_reduce_min_f32, float, float, SAME, SMALLER, SAME)
REDUCTION(na_reduce_sum_f32, float, float, SAME, SUM, SAME)
REDUCTION(na_reduce_prod_f32, float, float, SAME, PRODUCT, SAME)
REDUCTION(na_reduce_mean_f32, float, float, SAME, SUM, PER_VALUE)

/* A 64-bit product times the factor in 16 bits, to nearest, halves up: scaled at each step, so that it stays small. */
static int32_t scaled(int64_t x, const na_reduce_t *p) {
  const int32_t factor = p->multiplier < 0x7fff0000 ? (p->multiplier + (1 << 15)) >> 16 : 0x7fff;
  const int32_t right = 15 - p->shift;
  return (int32_t)((x * factor + ((int64_t)1 << (right - 1))) >> right);
}

static int32_t first_factor(int8_t value, const na_reduce_t *p) { return value + p->input_offset; }

static int32_t next_factor(int32_t all, int8_t value, const na_reduce_t *p) {
  return scaled((int64_t)all * (value + p->input_offset), p);
}

static int32_t stored(int32_t all, const na_reduce_t *p) {
  const int64_t result = (int64_t)scaled(all, p) + p->output_offset;
  return result < INT8_MIN ? INT8_MIN : result > INT8_MAX ? INT8_MAX : (int32_t)result;
}

REDUCTION(na_reduce_prod_s8, int8_t, int32_t, first_factor, next_factor, stored)
