/* MEAN over any dimensions with MVE: eight neighboring outputs at a time, or one of a run. */
#include "mve.h"

#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "sums.h"

enum { LAST = NA_MEAN_RANK - 1 };

/* Up to eight outputs whose inputs lie side by side. */
static void eight(const int8_t *input, int8_t *output, mve_pred16_t lanes, const na_mean_t *p) {
  na_sums_t sums = {{vdupq_n_s32(0), vdupq_n_s32(0)}};
  for (int32_t a = 0; a < p->summed[0]; a++)
    for (int32_t b = 0; b < p->summed[1]; b++)
      na_add_eights(&sums, input + a * p->summed_stride[0] + b * p->summed_stride[1], p->summed[LAST],
                    p->summed_stride[LAST], lanes);
  int32x4_t made[2];
  for (int32_t half = 0; half < 2; half++) {
    const int32x4_t sum = vaddq_n_s32(sums.halves[half], p->sum_offset);
    const int32x4_t scaled = na_scale_x4(sum, vdupq_n_s32(p->multiplier), vdupq_n_s32(p->shift));
    made[half] = na_output_x4(scaled, p->output_offset, INT8_MIN, INT8_MAX);
  }
  vstrbq_p_s16(output, vmovntq_s32(vreinterpretq_s16_s32(made[0]), made[1]), lanes);
}

/* Sums wrap as 32-bit numbers, hence unsigned. */
static int8_t one(const int8_t *input, const na_mean_t *p) {
  const int32_t count = p->summed[LAST], stride = p->summed_stride[LAST];
  uint32_t sum = (uint32_t)p->sum_offset;
  for (int32_t a = 0; a < p->summed[0]; a++) {
    for (int32_t b = 0; b < p->summed[1]; b++) {
      const int8_t *values = input + a * p->summed_stride[0] + b * p->summed_stride[1];
      if (stride == 1)
        sum += na_sum(values, count);
      else
        for (int32_t i = 0; i < count; i++) sum += (uint32_t)values[i * stride];
    }
  }
  return (int8_t)na_requantize((int32_t)sum, p->multiplier, p->shift, p->output_offset, INT8_MIN, INT8_MAX);
}

void na_mean_s8(const int8_t *input, int8_t *output, const na_mean_t *p) {
  const int32_t step = p->kept_stride[LAST], count = p->kept[LAST];
  for (int32_t a = 0; a < p->kept[0]; a++) {
    for (int32_t b = 0; b < p->kept[1]; b++, output += count) {
      const int8_t *row = input + a * p->kept_stride[0] + b * p->kept_stride[1];
      if (step == 1 && count > 1)
        for (int32_t c = 0; c < count; c += NA_HALFWORDS)
          eight(row + c, output + c, vctp16q((uint32_t)(count - c)), p);
      else
        for (int32_t c = 0; c < count; c++) output[c] = one(row + c * step, p);
    }
  }
}
