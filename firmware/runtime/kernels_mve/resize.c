/* RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR with MVE. */
#include "mve.h"
#include "neuralart_kernels.h"

void na_resize_nearest_s8(const int8_t *input, const int32_t *rows, const int32_t *columns, int8_t *output,
                          const na_resize_nearest_t *p) {
  const int32_t input_row = p->input_width * p->channels;
  const int32_t output_row = p->output_width * p->channels;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++, output += output_row) {
      if (y > 0 && rows[y] == rows[y - 1]) {
        na_copy_many(output, output - output_row, output_row);
        continue;
      }
      const int8_t *source = input + rows[y] * input_row;
      for (int32_t x = 0; x < p->output_width; x++)
        na_copy_many(output + x * p->channels, source + columns[x] * p->channels, p->channels);
    }
  }
}

enum { FRACTION = 10, ONE = 1 << FRACTION };

/* Two neighbors in the input and the weight of the second, in steps of 2^-10. */
typedef struct {
  int32_t lower, upper, fraction;
} between_t;

static between_t between(int32_t position, int32_t scale, int32_t offset, int32_t size) {
  const int32_t scaled = position * scale + offset;
  between_t t = {0, 0, 0}; /* before the first one: that one alone */
  if (scaled > 0) {
    t.lower = scaled >> FRACTION;
    t.upper = t.lower + 1 < size ? t.lower + 1 : t.lower;
    t.fraction = scaled & (ONE - 1);
  }
  return t;
}

/* The four weights add up to 2^20, so the sum fits 32 bits and the result 8. */
void na_resize_bilinear_s8(const int8_t *input, int8_t *output, const na_resize_bilinear_t *p) {
  const int32_t row = p->input_width * p->channels;
  const int32x4_t back = vdupq_n_s32(-2 * FRACTION);
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const between_t v = between(y, p->row_scale, p->row_offset, p->input_height);
      const int8_t *upper_row = input + v.lower * row, *lower_row = input + v.upper * row;
      for (int32_t x = 0; x < p->output_width; x++, output += p->channels) {
        const between_t h = between(x, p->column_scale, p->column_offset, p->input_width);
        const int8_t *a = upper_row + h.lower * p->channels, *b = upper_row + h.upper * p->channels;
        const int8_t *c = lower_row + h.lower * p->channels, *d = lower_row + h.upper * p->channels;
        const int32_t wa = (ONE - v.fraction) * (ONE - h.fraction), wb = (ONE - v.fraction) * h.fraction;
        const int32_t wc = v.fraction * (ONE - h.fraction), wd = v.fraction * h.fraction;
        int32_t i = 0;
        for (; i + NA_LANES <= p->channels; i += NA_LANES) {
          int32x4_t sum = vmulq_n_s32(vldrbq_s32(a + i), wa);
          sum = vmlaq_n_s32(sum, vldrbq_s32(b + i), wb);
          sum = vmlaq_n_s32(sum, vldrbq_s32(c + i), wc);
          sum = vmlaq_n_s32(sum, vldrbq_s32(d + i), wd);
          vstrbq_s32(output + i, na_round_shift_x4(sum, back));
        }
        if (i < p->channels) {
          const mve_pred16_t lanes = vctp32q((uint32_t)(p->channels - i));
          int32x4_t sum = vmulq_n_s32(vldrbq_z_s32(a + i, lanes), wa);
          sum = vmlaq_n_s32(sum, vldrbq_z_s32(b + i, lanes), wb);
          sum = vmlaq_n_s32(sum, vldrbq_z_s32(c + i, lanes), wc);
          sum = vmlaq_n_s32(sum, vldrbq_z_s32(d + i, lanes), wd);
          vstrbq_p_s32(output + i, na_round_shift_x4(sum, back), lanes);
        }
      }
    }
  }
}
