/* FULLY_CONNECTED in float32. */
#include "single.h"

#include "neuralart_kernels_float.h"

void na_fully_connected_f32(const float *input, const float *filter, const float *bias, float *output,
                            const na_fully_connected_f32_t *p) {
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->depth) {
    const float *weights = filter;
    for (int32_t unit = 0; unit < p->units; unit++, weights += p->depth) {
      float sum = 0.0f;
      for (int32_t i = 0; i < p->depth; i++) sum += input[i] * weights[i];
      if (bias) sum += bias[unit];
      sum = sum < p->low ? p->low : sum;
      *output++ = sum > p->high ? p->high : sum;
    }
  }
}
