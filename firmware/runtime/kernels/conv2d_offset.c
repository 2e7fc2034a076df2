/* CONV_2D and DEPTHWISE_CONV_2D with a filter that has a zero point, also dilated and grouped. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "window.h"

/* Where the taps of a window that are inside the input lie. */
typedef struct {
  na_taps_t rows, columns;
} taps_t;

static taps_t taps_at(const na_conv2d_t *w, int32_t y, int32_t x) {
  taps_t t;
  t.rows = na_taps(y, w->stride_height, w->pad_top, w->dilation_height, w->kernel_height, w->input_height);
  t.columns = na_taps(x, w->stride_width, w->pad_left, w->dilation_width, w->kernel_width, w->input_width);
  return t;
}

/* The accumulator of one output value over `depth` neighboring input channels. It wraps as a 32-bit number, hence
 * unsigned; a single product always fits. */
static uint32_t sum(uint32_t accumulator, const int8_t *input, const int8_t *filter, int32_t filter_step, int32_t depth,
                    const taps_t *t, const na_conv2d_offset_t *p) {
  const na_conv2d_t *w = &p->window;
  for (int32_t ky = t->rows.first; ky < t->rows.end; ky++) {
    for (int32_t kx = t->columns.first; kx < t->columns.end; kx++) {
      const int32_t row = t->rows.origin + ky * w->dilation_height;
      const int32_t column = t->columns.origin + kx * w->dilation_width;
      const int8_t *values = input + (row * w->input_width + column) * w->input_channels;
      const int8_t *factors = filter + (ky * w->kernel_width + kx) * filter_step;
      for (int32_t i = 0; i < depth; i++)
        accumulator += (uint32_t)((values[i] + w->input_offset) * (factors[i] + p->filter_offset));
    }
  }
  return accumulator;
}

static inline void convolve(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                            const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p, int32_t depthwise) {
  const na_conv2d_t *w = &p->window;
  const int32_t depth = depthwise ? 1 : w->kernel_channels;
  const int32_t groups = depthwise ? w->input_channels : w->input_channels / depth;
  const int32_t per_group = w->output_channels / groups;
  const int32_t filter_step = depthwise ? w->output_channels : depth;
  const int32_t filter_size = depthwise ? 1 : w->kernel_height * w->kernel_width * depth;
  for (int32_t batch = 0; batch < w->batches; batch++) {
    for (int32_t y = 0; y < w->output_height; y++) {
      for (int32_t x = 0; x < w->output_width; x++) {
        const taps_t t = taps_at(w, y, x);
        for (int32_t channel = 0; channel < w->output_channels; channel++) {
          const uint32_t accumulator = sum(bias ? (uint32_t)bias[channel] : 0u, input + channel / per_group * depth,
                                           filter + channel * filter_size, filter_step, depth, &t, p);
          *output++ = (int8_t)na_requantize((int32_t)accumulator, multiplier[channel], shift[channel], w->output_offset,
                                            w->activation_min, w->activation_max);
        }
      }
    }
    input += w->input_height * w->input_width * w->input_channels;
  }
}

void na_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                         const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  convolve(input, filter, bias, multiplier, shift, output, p, 0);
}

void na_depthwise_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                   const na_conv2d_offset_t *p) {
  convolve(input, filter, bias, multiplier, shift, output, p, 1);
}
