/* MEAN over any dimensions. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum { BLOCK = 16, LAST = NA_MEAN_RANK - 1 }; /* neighboring outputs that are summed together */

/* Sums wrap as 32-bit numbers, hence unsigned. */
static void add_run(uint32_t *sums, int32_t outputs, const int8_t *input, int32_t count, int32_t stride) {
  if (outputs == 1) {
    uint32_t sum = sums[0];
    for (int32_t i = 0; i < count; i++, input += stride) sum += (uint32_t)*input;
    sums[0] = sum;
    return;
  }
  for (int32_t i = 0; i < count; i++, input += stride)
    for (int32_t j = 0; j < outputs; j++) sums[j] += (uint32_t)input[j];
}

static void mean(const int8_t *input, int8_t *output, int32_t outputs, const na_mean_t *p) {
  uint32_t sums[BLOCK] = {0};
  for (int32_t a = 0; a < p->summed[0]; a++)
    for (int32_t b = 0; b < p->summed[1]; b++)
      add_run(sums, outputs, input + a * p->summed_stride[0] + b * p->summed_stride[1], p->summed[LAST],
              p->summed_stride[LAST]);
  for (int32_t j = 0; j < outputs; j++)
    output[j] = (int8_t)na_requantize((int32_t)(sums[j] + (uint32_t)p->sum_offset), p->multiplier, p->shift,
                                      p->output_offset, INT8_MIN, INT8_MAX);
}

void na_mean_s8(const int8_t *input, int8_t *output, const na_mean_t *p) {
  const int32_t step = p->kept_stride[LAST];
  const int32_t block = step == 1 ? BLOCK : 1; /* only outputs whose inputs lie side by side */
  for (int32_t a = 0; a < p->kept[0]; a++) {
    for (int32_t b = 0; b < p->kept[1]; b++) {
      const int8_t *row = input + a * p->kept_stride[0] + b * p->kept_stride[1];
      for (int32_t c = 0; c < p->kept[LAST]; c += block) {
        const int32_t left = p->kept[LAST] - c;
        const int32_t outputs = left < block ? left : block;
        mean(row + c * step, output, outputs, p);
        output += outputs;
      }
    }
  }
}
