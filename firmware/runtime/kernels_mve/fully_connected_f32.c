/* FULLY_CONNECTED in float32 with MVE: four units at once. */
#include "floats.h"

#include "neuralart_kernels_float.h"

static void plain(const float *input, const float *weights, const float *bias, float *output,
                  const na_fully_connected_f32_t *p, int32_t units) {
  for (int32_t unit = 0; unit < units; unit++, weights += p->depth) {
    float sum = 0.0f;
    for (int32_t i = 0; i < p->depth; i++) sum += input[i] * weights[i];
    if (bias) sum += bias[unit];
    output[unit] = na_bounded_f32(sum, p->low, p->high);
  }
}

#if NA_MVE_FLOATS
static inline int32_t fours(const float *input, const float *weights, const float *bias, float *output,
                            const na_fully_connected_f32_t *p, uint32x4_t units) {
  float32x4_t sum = vdupq_n_f32(0.0f);
  for (int32_t i = 0; i < p->depth; i++)
    sum = vaddq_f32(sum, vmulq_n_f32(vldrwq_gather_shifted_offset_f32(weights + i, units), input[i]));
  if (bias) sum = vaddq_f32(sum, vld1q_f32(bias));
  sum = na_bounded_x4(sum, p->low, p->high);
  if (na_met_subnormals(&sum)) return 0;
  vst1q_f32(output, sum);
  return 1;
}
#endif

void na_fully_connected_f32(const float *input, const float *filter, const float *bias, float *output,
                            const na_fully_connected_f32_t *p) {
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->depth, output += p->units) {
    int32_t unit = 0;
#if NA_MVE_FLOATS
    const uint32x4_t units = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->depth);
    na_forget_subnormals();
    for (; unit + NA_LANES <= p->units; unit += NA_LANES) {
      const float *weights = filter + unit * p->depth, *some = bias ? bias + unit : bias;
      if (fours(input, weights, some, output + unit, p, units)) continue;
      plain(input, weights, some, output + unit, p, NA_LANES);
      na_forget_subnormals();
    }
#endif
    plain(input, filter + unit * p->depth, bias ? bias + unit : bias, output + unit, p, p->units - unit);
  }
}
