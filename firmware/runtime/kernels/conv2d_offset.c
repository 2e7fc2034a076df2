/* CONV_2D and DEPTHWISE_CONV_2D with a filter that has a zero point, also dilated and grouped. One position after the
 * other, as in conv2d.c.
 *
 * sum((x + xo) * (f + fo)) = sum((x + xo) * f) + fo * sum(x + xo): the last sum is that of a window, the same for all
 * output channels of a group. In a depthwise convolution each channel has a window of its own, so that nothing is
 * shared: there the zero point is added to each tap.
 */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "products.h"
#include "window.h"

/* The taps of a window that are inside the input: rows of runs of neighboring values. */
typedef struct {
  const int8_t *input, *filter; /* of the first tap inside; in the first filter */
  int32_t rows, runs, run, whole;
  int32_t input_row_step, input_step, filter_row, filter_step;
} inside_t;

static uint32_t sum_of(const inside_t *w, int32_t offset) {
  uint32_t sum = 0;
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *values = w->input + ky * w->input_row_step;
    for (int32_t r = 0; r < w->runs; r++, values += w->input_step) {
      for (int32_t i = 0; i < w->whole; i++) sum += (uint32_t)(values[i] + offset);
      for (int32_t i = w->whole; i < w->run; i++) sum += (uint32_t)(values[i] + offset);
    }
  }
  return sum;
}

void na_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                         const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const int32_t depth = c->kernel_channels;
  const int32_t groups = c->input_channels / depth;
  const int32_t per_group = c->output_channels / groups;
  const int32_t filter_size = c->kernel_height * c->kernel_width * depth;
  const int32_t input_row = c->input_width * c->input_channels;
  const int32_t joined = c->dilation_width == 1 && groups == 1;
  const int32_t offset = na_products_offset(c->input_offset);
  inside_t w = {0};
  w.input_row_step = c->dilation_height * input_row;
  w.input_step = c->dilation_width * c->input_channels;
  w.filter_row = c->kernel_width * depth;
  w.filter_step = depth;

  for (int32_t batch = 0; batch < c->batches; batch++, input += c->input_height * input_row) {
    for (int32_t y = 0; y < c->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, c->stride_height, c->pad_top, c->dilation_height, c->kernel_height, c->input_height);
      for (int32_t x = 0; x < c->output_width; x++) {
        const na_taps_t columns =
            na_taps(x, c->stride_width, c->pad_left, c->dilation_width, c->kernel_width, c->input_width);
        const int32_t inside = columns.end - columns.first;
        const int32_t any = inside > 0 && rows.first < rows.end;
        w.rows = any ? rows.end - rows.first : 0;
        w.runs = joined ? 1 : inside;
        w.run = joined ? inside * depth : depth;
        w.whole = na_products_whole(w.run);
        w.input = input;
        w.filter = filter;
        if (any) {
          w.input += (rows.origin + rows.first * c->dilation_height) * input_row +
                     (columns.origin + columns.first * c->dilation_width) * c->input_channels;
          w.filter += rows.first * w.filter_row + columns.first * depth;
        }
        for (int32_t group = 0, channel = 0; group < groups; group++, w.input += depth) {
          const uint32_t common = (uint32_t)p->filter_offset * sum_of(&w, offset);
          for (const int32_t end = channel + per_group; channel < end;) {
            const int32_t outputs = end - channel < NA_PRODUCTS_BLOCK ? end - channel : NA_PRODUCTS_BLOCK;
            uint32_t accumulator[NA_PRODUCTS_BLOCK];
            for (int32_t j = 0; j < outputs; j++)
              accumulator[j] = common + (bias ? (uint32_t)bias[channel + j] : 0u);
            for (int32_t ky = 0; ky < w.rows; ky++) {
              const int8_t *values = w.input + ky * w.input_row_step;
              const int8_t *taps = w.filter + channel * filter_size + ky * w.filter_row;
              for (int32_t r = 0; r < w.runs; r++, values += w.input_step, taps += w.filter_step)
                na_add_products(accumulator, outputs, values, taps, filter_size, w.whole, w.run, offset);
            }
            for (int32_t j = 0; j < outputs; j++, channel++)
              *output++ = (int8_t)na_requantize((int32_t)accumulator[j], multiplier[channel], shift[channel],
                                                c->output_offset, c->activation_min, c->activation_max);
          }
        }
      }
    }
  }
}

enum { BLOCK = 4 }; /* neighboring channels that are summed together */

/* Accumulators wrap as 32-bit numbers, hence unsigned. */
static void sum_block(uint32_t *accumulator, const inside_t *w, int32_t channel, int32_t offset,
                      int32_t filter_offset) {
  uint32_t a0 = accumulator[0], a1 = accumulator[1], a2 = accumulator[2], a3 = accumulator[3];
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *x = w->input + ky * w->input_row_step + channel;
    const int8_t *f = w->filter + ky * w->filter_row + channel;
    for (int32_t kx = 0; kx < w->runs; kx++, x += w->input_step, f += w->filter_step) {
      a0 += (uint32_t)((x[0] + offset) * (f[0] + filter_offset));
      a1 += (uint32_t)((x[1] + offset) * (f[1] + filter_offset));
      a2 += (uint32_t)((x[2] + offset) * (f[2] + filter_offset));
      a3 += (uint32_t)((x[3] + offset) * (f[3] + filter_offset));
    }
  }
  accumulator[0] = a0, accumulator[1] = a1, accumulator[2] = a2, accumulator[3] = a3;
}

static uint32_t sum_one(uint32_t accumulator, const inside_t *w, int32_t input_channel, int32_t channel, int32_t offset,
                        int32_t filter_offset) {
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *x = w->input + ky * w->input_row_step + input_channel;
    const int8_t *f = w->filter + ky * w->filter_row + channel;
    for (int32_t kx = 0; kx < w->runs; kx++, x += w->input_step, f += w->filter_step)
      accumulator += (uint32_t)((*x + offset) * (*f + filter_offset));
  }
  return accumulator;
}

void na_depthwise_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                   const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const int32_t input_row = c->input_width * c->input_channels;
  const int32_t times = c->output_channels / c->input_channels;
  const int32_t input_offset = na_products_offset(c->input_offset);
  const int32_t filter_offset = na_products_offset(p->filter_offset);
  inside_t w = {0};
  w.input_row_step = c->dilation_height * input_row;
  w.input_step = c->dilation_width * c->input_channels;
  w.filter_row = c->kernel_width * c->output_channels;
  w.filter_step = c->output_channels;

  for (int32_t batch = 0; batch < c->batches; batch++, input += c->input_height * input_row) {
    for (int32_t y = 0; y < c->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, c->stride_height, c->pad_top, c->dilation_height, c->kernel_height, c->input_height);
      for (int32_t x = 0; x < c->output_width; x++) {
        const na_taps_t columns =
            na_taps(x, c->stride_width, c->pad_left, c->dilation_width, c->kernel_width, c->input_width);
        w.runs = columns.end - columns.first;
        w.rows = w.runs > 0 ? rows.end - rows.first : 0;
        if (w.rows > 0) {
          w.input = input + (rows.origin + rows.first * c->dilation_height) * input_row +
                    (columns.origin + columns.first * c->dilation_width) * c->input_channels;
          w.filter = filter + rows.first * w.filter_row + columns.first * c->output_channels;
        }
        for (int32_t channel = 0; channel < c->output_channels;) {
          const int32_t outputs = times == 1 && c->output_channels - channel >= BLOCK ? BLOCK : 1;
          uint32_t accumulator[BLOCK];
          for (int32_t j = 0; j < outputs; j++) accumulator[j] = bias ? (uint32_t)bias[channel + j] : 0u;
          if (outputs == BLOCK)
            sum_block(accumulator, &w, channel, input_offset, filter_offset);
          else
            accumulator[0] = sum_one(accumulator[0], &w, channel / times, channel, input_offset, filter_offset);
          for (int32_t j = 0; j < outputs; j++, channel++)
            *output++ = (int8_t)na_requantize((int32_t)accumulator[j], multiplier[channel], shift[channel],
                                              c->output_offset, c->activation_min, c->activation_max);
        }
      }
    }
  }
}
