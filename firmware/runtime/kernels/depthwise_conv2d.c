/* DEPTHWISE_CONV_2D, also dilated and with a depth multiplier. One position after the other, as in conv2d.c. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "window.h"

enum { BLOCK = 4 }; /* neighboring channels that are summed together */

/* Accumulators wrap as 32-bit numbers, hence unsigned. */
typedef struct {
  const int8_t *input, *filter; /* of the first tap inside */
  int32_t rows, columns; /* taps inside */
  int32_t input_row_step, input_step, filter_row_step, filter_step;
  int32_t offset;
} window_t;

static void sum_block(uint32_t *accumulator, const window_t *w, int32_t input_channel, int32_t channel) {
  uint32_t a0 = accumulator[0], a1 = accumulator[1], a2 = accumulator[2], a3 = accumulator[3];
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + input_channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = 0; kx < w->columns; kx++, input += w->input_step, filter += w->filter_step) {
      a0 += (uint32_t)((input[0] + w->offset) * filter[0]);
      a1 += (uint32_t)((input[1] + w->offset) * filter[1]);
      a2 += (uint32_t)((input[2] + w->offset) * filter[2]);
      a3 += (uint32_t)((input[3] + w->offset) * filter[3]);
    }
  }
  accumulator[0] = a0, accumulator[1] = a1, accumulator[2] = a2, accumulator[3] = a3;
}

static uint32_t sum_one(uint32_t accumulator, const window_t *w, int32_t input_channel, int32_t channel) {
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + input_channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = 0; kx < w->columns; kx++, input += w->input_step, filter += w->filter_step)
      accumulator += (uint32_t)((input[0] + w->offset) * filter[0]);
  }
  return accumulator;
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
      for (int32_t x = 0; x < p->output_width; x++) {
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
        for (int32_t channel = 0; channel < p->output_channels;) {
          uint32_t accumulator[BLOCK];
          const int32_t outputs = depth_multiplier == 1 && p->output_channels - channel >= BLOCK ? BLOCK : 1;
          for (int32_t j = 0; j < outputs; j++) accumulator[j] = bias ? (uint32_t)bias[channel + j] : 0u;
          if (outputs == BLOCK)
            sum_block(accumulator, &w, channel, channel);
          else
            accumulator[0] = sum_one(accumulator[0], &w, channel / depth_multiplier, channel);
          for (int32_t j = 0; j < outputs; j++, channel++)
            *output++ = (int8_t)na_requantize((int32_t)accumulator[j], multiplier[channel], shift[channel],
                                              p->output_offset, p->activation_min, p->activation_max);
        }
      }
    }
  }
}
