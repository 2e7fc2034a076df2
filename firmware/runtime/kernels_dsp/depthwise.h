/* DEPTHWISE_CONV_2D for cores with the DSP extension, also dilated and with a depth multiplier; the filter may have a
 * zero point. One position after the other, as in the plain C kernel: outputs may lie over inputs. */
#ifndef NEURALART_DSP_DEPTHWISE_H
#define NEURALART_DSP_DEPTHWISE_H

#include "dsp.h"

#include "../kernels/window.h"

typedef struct {
  const int8_t *input, *filter; /* of the first tap inside */
  int32_t rows, columns; /* taps inside */
  int32_t input_row_step, input_step, filter_row_step, filter_step;
  int32_t offset;
} na_place_t;

/* Whether a filter has a zero point, where that is known while this is compiled; else it is taken to have one. */
#define na_with_offset(offset) (!__builtin_constant_p(offset) || (offset) != 0)

/* Four neighboring channels: of four neighbors in the input, or of one input channel. */
static inline __attribute__((always_inline)) void na_four_channels(uint32_t *sum, const na_place_t *w,
                                                                   int32_t input_channel, int32_t channel,
                                                                   int32_t one_input, int32_t filter_offset) {
  const int16x2_t offsets = na_pair(w->offset), filter_offsets = na_pair(filter_offset);
  int32_t a0 = (int32_t)sum[0], a1 = (int32_t)sum[1], a2 = (int32_t)sum[2], a3 = (int32_t)sum[3];
  const int8_t *row = w->input + input_channel, *filter_row = w->filter + channel;
  for (int32_t ky = w->rows; ky > 0; ky--, row += w->input_row_step, filter_row += w->filter_row_step) {
    const int8_t *input = row, *filter = filter_row;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const na_four_t f = na_with_offset(filter_offset) ? na_widen_add(na_load4(filter), filter_offsets)
                                                        : na_widen(na_load4(filter));
      if (one_input) {
        const int32_t x = *input + w->offset;
        a0 = __smlabb(x, f.even, a0);
        a1 = __smlabb(x, f.odd, a1);
        a2 = __smlabt(x, f.even, a2);
        a3 = __smlabt(x, f.odd, a3);
      } else {
        const na_four_t x = na_widen_add(na_load4(input), offsets);
        a0 = __smlabb(x.even, f.even, a0);
        a1 = __smlabb(x.odd, f.odd, a1);
        a2 = __smlatt(x.even, f.even, a2);
        a3 = __smlatt(x.odd, f.odd, a3);
      }
    }
  }
  sum[0] = (uint32_t)a0, sum[1] = (uint32_t)a1, sum[2] = (uint32_t)a2, sum[3] = (uint32_t)a3;
}

static inline uint32_t na_one_channel(uint32_t sum, const na_place_t *w, int32_t input_channel, int32_t channel,
                                      int32_t filter_offset) {
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + input_channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = 0; kx < w->columns; kx++, input += w->input_step, filter += w->filter_step)
      sum += (uint32_t)((*input + w->offset) * (*filter + filter_offset));
  }
  return sum;
}

static inline __attribute__((always_inline)) void na_depthwise(const int8_t *input, const int8_t *filter,
                                                               const int32_t *bias, const int32_t *multiplier,
                                                               const int32_t *shift, int8_t *output,
                                                               const na_conv2d_t *p, int32_t filter_offset) {
  const int32_t input_row = p->input_width * p->input_channels;
  const int32_t filter_row = p->kernel_width * p->output_channels;
  const int32_t times = p->output_channels / p->input_channels;
  const int32_t by_four = times == 1 || times % NA_FOUR == 0;
  na_place_t w = {0};
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
        int32_t channel = 0, input_channel = 0;
        for (; by_four && channel + NA_FOUR <= p->output_channels; channel += NA_FOUR, output += NA_FOUR) {
          uint32_t sum[NA_FOUR] = {0};
          if (bias)
            for (int32_t j = 0; j < NA_FOUR; j++) sum[j] = (uint32_t)bias[channel + j];
          if (times == 1)
            na_four_channels(sum, &w, channel, channel, 0, filter_offset);
          else
            na_four_channels(sum, &w, channel / times, channel, 1, filter_offset);
          for (int32_t j = 0; j < NA_FOUR; j++)
            output[j] = na_output(sum[j], multiplier[channel + j], shift[channel + j], p);
        }
        for (input_channel = channel / times; channel < p->output_channels; input_channel++)
          for (int32_t last = channel + times; channel < last; channel++) {
            const uint32_t sum =
                na_one_channel(bias ? (uint32_t)bias[channel] : 0u, &w, input_channel, channel, filter_offset);
            *output++ = na_output(sum, multiplier[channel], shift[channel], p);
          }
      }
    }
  }
}

#endif
