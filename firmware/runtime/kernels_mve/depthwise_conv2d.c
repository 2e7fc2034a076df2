/* DEPTHWISE_CONV_2D with MVE, also dilated and with a depth multiplier. */
#include "mve.h"

#include "../kernels/window.h"
#include "neuralart_kernels.h"

/* Neighboring channels that are summed together: the even ones and the odd ones in a register each. */
enum { PAIR = 8 };

typedef struct {
  const int8_t *input, *filter; /* of the first tap inside */
  int32_t rows, columns;        /* taps inside */
  int32_t input_row_step, input_step, filter_row_step, filter_step;
  int32_t offset;
} window_t;

/* Channels channel .. channel + 7 of a layer with a filter for each input channel. */
static void eight(const window_t *w, int32_t channel, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  int32x4_t even = vdupq_n_s32(0), odd = even;
  if (bias) {
    const int32x4x2_t both = vld2q_s32(bias + channel);
    even = both.val[0], odd = both.val[1];
  }
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int16x8_t x = vaddq_n_s16(vldrbq_s16(input), (int16_t)w->offset);
      const int16x8_t f = vldrbq_s16(filter);
      even = vaddq_s32(even, vmullbq_int_s16(x, f));
      odd = vaddq_s32(odd, vmulltq_int_s16(x, f));
    }
  }
  const int32x4x2_t m = vld2q_s32(multiplier + channel), s = vld2q_s32(shift + channel);
  even = na_scale_x4(even, m.val[0], s.val[0]);
  odd = na_scale_x4(odd, m.val[1], s.val[1]);
  even = na_output_x4(even, p->output_offset, p->activation_min, p->activation_max);
  odd = na_output_x4(odd, p->output_offset, p->activation_min, p->activation_max);
  /* The odd ones go into the upper halves of the even ones. */
  vstrbq_s16(output, vmovntq_s32(vreinterpretq_s16_s32(even), odd));
}

/* Up to four channels; each lane takes its input channel. */
static void four(const window_t *w, int32_t channel, int32_t outputs, int32_t depth_multiplier, const int32_t *bias,
                 const int32_t *multiplier, const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const mve_pred16_t lanes = vctp32q((uint32_t)outputs);
  uint32_t from[NA_LANES] = {0};
  for (int32_t j = 0; j < outputs; j++) from[j] = (uint32_t)((channel + j) / depth_multiplier);
  const uint32x4_t input_channels = vld1q_u32(from);
  int32x4_t sum = bias ? vldrwq_z_s32(bias + channel, lanes) : vdupq_n_s32(0);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int32x4_t x = vaddq_n_s32(vldrbq_gather_offset_z_s32(input, input_channels, lanes), w->offset);
      sum = vaddq_s32(sum, vmulq_s32(x, vldrbq_z_s32(filter, lanes)));
    }
  }
  sum = na_scale_x4(sum, vldrwq_z_s32(multiplier + channel, lanes), vldrwq_z_s32(shift + channel, lanes));
  vstrbq_p_s32(output, na_output_x4(sum, p->output_offset, p->activation_min, p->activation_max), lanes);
}

void na_depthwise_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                            const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t input_row = p->input_width * p->input_channels;
  const int32_t filter_row = p->kernel_width * p->output_channels;
  const int32_t depth_multiplier = p->output_channels / p->input_channels;
  window_t w = {0};
  w.input_row_step = p->dilation_height * input_row;
  w.input_step = p->dilation_width * p->input_channels;
  w.filter_row_step = filter_row;
  w.filter_step = p->output_channels;
  w.offset = p->input_offset;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        const na_taps_t columns =
            na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
        w.rows = rows.end - rows.first;
        w.columns = columns.end - columns.first;
        if (w.columns <= 0) w.rows = 0;
        if (w.rows > 0) {
          w.input = input + (rows.origin + rows.first * p->dilation_height) * input_row +
                    (columns.origin + columns.first * p->dilation_width) * p->input_channels;
          w.filter = filter + rows.first * filter_row + columns.first * p->output_channels;
        }
        int32_t channel = 0;
        if (depth_multiplier == 1)
          for (; channel + PAIR <= p->output_channels; channel += PAIR)
            eight(&w, channel, bias, multiplier, shift, output + channel, p);
        for (; channel < p->output_channels; channel += NA_LANES) {
          const int32_t left = p->output_channels - channel;
          four(&w, channel, left < NA_LANES ? left : NA_LANES, depth_multiplier, bias, multiplier, shift,
               output + channel, p);
        }
      }
    }
  }
}
