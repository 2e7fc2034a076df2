/* FULLY_CONNECTED. */
#include "fully_connected_output.h"
#include "neuralart_kernels.h"

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  const int32_t offset = p->input_offset;
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * (x + xo)) + fo * sum(x + xo); the last part is the same for all units. */
    uint32_t common = 0;
    if (p->filter_offset != 0) {
      for (int32_t i = 0; i < depth; i++) common += (uint32_t)(input[i] + offset);
      common *= (uint32_t)p->filter_offset;
    }
    const int8_t *f = filter;
    int32_t unit = 0;
    for (; unit + 2 <= p->units; unit += 2, f += 2 * depth) {
      uint32_t a0 = common, a1 = common;
      for (int32_t i = 0; i < depth; i++) {
        const int32_t value = input[i] + offset;
        a0 += (uint32_t)(value * f[i]);
        a1 += (uint32_t)(value * f[depth + i]);
      }
      if (bias) a0 += (uint32_t)bias[unit], a1 += (uint32_t)bias[unit + 1];
      *output++ = na_fully_connected_output(a0, scale[p->per_channel ? unit : 0], p);
      *output++ = na_fully_connected_output(a1, scale[p->per_channel ? unit + 1 : 0], p);
    }
    if (unit < p->units) {
      uint32_t a = common;
      for (int32_t i = 0; i < depth; i++) a += (uint32_t)((input[i] + offset) * f[i]);
      if (bias) a += (uint32_t)bias[unit];
      *output++ = na_fully_connected_output(a, scale[p->per_channel ? unit : 0], p);
    }
  }
}
