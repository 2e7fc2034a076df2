/* FULLY_CONNECTED for cores with the DSP extension. The requantization in float64 is that of the plain C kernel. */
#include "dsp.h"

#include "../kernels/fully_connected_output.h"
#include "neuralart_kernels.h"

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * (x + xo)) + fo * sum(x + xo); the last part is the same for all units. */
    uint32_t common = 0;
    if (p->filter_offset != 0) common = (uint32_t)p->filter_offset * na_sum(input, depth, p->input_offset);
    for (int32_t unit = 0; unit < p->units;) {
      const int32_t outputs = p->units - unit < NA_FOUR ? p->units - unit : NA_FOUR;
      uint32_t sum[NA_FOUR] = {0};
      for (int32_t j = 0; j < outputs; j++) sum[j] = common + (bias ? (uint32_t)bias[unit + j] : 0u);
      na_dot_x4(sum, input, filter + unit * depth, depth, outputs, depth, p->input_offset);
      for (int32_t j = 0; j < outputs; j++, unit++)
        *output++ = na_fully_connected_output(sum[j], scale[p->per_channel ? unit : 0], p);
    }
  }
}
