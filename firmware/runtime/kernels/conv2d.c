/* CONV_2D, also dilated and grouped. One position after the other: outputs may lie over inputs. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "products.h"
#include "window.h"

void na_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t filter_row = p->kernel_width * p->kernel_channels;
  const int32_t filter_size = p->kernel_height * filter_row;
  const int32_t input_row = p->input_width * p->input_channels;
  const int32_t outputs_per_group = p->output_channels / (p->input_channels / p->kernel_channels);
  /* Without dilation and groups the taps of a row are neighbors, in the input and in the filter: one run. */
  const int32_t joined = p->dilation_width == 1 && p->kernel_channels == p->input_channels;
  const int32_t offset = na_products_offset(p->input_offset);
  const int32_t tap_step = p->dilation_width * p->input_channels;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const na_taps_t columns =
            na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
        const int32_t inside = columns.end - columns.first;
        const int32_t run = joined ? inside * p->kernel_channels : p->kernel_channels;
        const int32_t whole = na_products_whole(run);
        const int32_t runs = inside <= 0 ? 0 : joined ? 1 : inside;
        const int32_t last_row = runs ? rows.end : rows.first;
        const int32_t first_column = columns.origin + columns.first * p->dilation_width;

        for (int32_t channel = 0; channel < p->output_channels;) {
          const int32_t group = channel / outputs_per_group;
          const int32_t left = (group + 1) * outputs_per_group - channel;
          const int32_t outputs = left < NA_PRODUCTS_BLOCK ? left : NA_PRODUCTS_BLOCK;
          uint32_t accumulator[NA_PRODUCTS_BLOCK];
          for (int32_t j = 0; j < outputs; j++) accumulator[j] = bias ? (uint32_t)bias[channel + j] : 0u;

          for (int32_t ky = rows.first; ky < last_row; ky++) {
            const int8_t *source = input + (rows.origin + ky * p->dilation_height) * input_row +
                                   first_column * p->input_channels + group * p->kernel_channels;
            const int8_t *taps = filter + channel * filter_size + ky * filter_row + columns.first * p->kernel_channels;
            for (int32_t r = 0; r < runs; r++, source += tap_step, taps += p->kernel_channels)
              na_add_products(accumulator, outputs, source, taps, filter_size, whole, run, offset);
          }
          for (int32_t j = 0; j < outputs; j++, channel++)
            *output++ = (int8_t)na_requantize((int32_t)accumulator[j], multiplier[channel], shift[channel],
                                              p->output_offset, p->activation_min, p->activation_max);
        }
      }
    }
  }
}
