/* FULLY_CONNECTED with MVE. The requantization in float64 is that of the plain C kernel. */
#include "../kernels/fully_connected_output.h"
#include "mve.h"
#include "neuralart_kernels.h"

enum { UNITS = 2 }; /* neighboring units that share the loads of an input value */

/* Sums of products and sums of filter values, of two units. */
typedef struct {
  uint32_t products[UNITS], filters[UNITS];
} sums_t;

static sums_t sum_two(const int8_t *input, const int8_t *f0, const int8_t *f1, int32_t depth) {
  int32_t a0 = 0, a1 = 0, s0 = 0, s1 = 0;
  for (uint32_t whole = (uint32_t)depth / NA_BYTES; whole > 0;
       whole--, input += NA_BYTES, f0 += NA_BYTES, f1 += NA_BYTES) {
    const int8x16_t x = vld1q_s8(input), v0 = vld1q_s8(f0), v1 = vld1q_s8(f1);
    a0 = vmladavaq_s8(a0, x, v0);
    a1 = vmladavaq_s8(a1, x, v1);
    s0 = vaddvaq_s8(s0, v0);
    s1 = vaddvaq_s8(s1, v1);
  }
  const uint32_t left = (uint32_t)depth % NA_BYTES;
  if (left) {
    const mve_pred16_t rest = vctp8q(left);
    const int8x16_t x = vldrbq_z_s8(input, rest), v0 = vldrbq_z_s8(f0, rest), v1 = vldrbq_z_s8(f1, rest);
    a0 = vmladavaq_s8(a0, x, v0);
    a1 = vmladavaq_s8(a1, x, v1);
    s0 = vaddvaq_s8(s0, v0);
    s1 = vaddvaq_s8(s1, v1);
  }
  return (sums_t){{(uint32_t)a0, (uint32_t)a1}, {(uint32_t)s0, (uint32_t)s1}};
}

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  const uint32_t offset = (uint32_t)p->input_offset;
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * x) + xo * sum(f) + fo * sum(x + xo); the last part is the same for all units.
     */
    uint32_t common = 0;
    if (p->filter_offset != 0) common = (uint32_t)p->filter_offset * (na_sum(input, depth) + (uint32_t)depth * offset);
    for (int32_t unit = 0; unit < p->units; unit += UNITS) {
      const int32_t units = p->units - unit < UNITS ? 1 : UNITS;
      const int8_t *f = filter + unit * depth;
      const sums_t sums = sum_two(input, f, units == UNITS ? f + depth : f, depth);
      for (int32_t j = 0; j < units; j++) {
        uint32_t a = common + sums.products[j] + offset * sums.filters[j];
        if (bias) a += (uint32_t)bias[unit + j];
        *output++ = na_fully_connected_output(a, scale[p->per_channel ? unit + j : 0], p);
      }
    }
  }
}
