/* TRANSPOSE_CONV: each output value gathers the input values whose windows cover it, so no buffer of sums is needed. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "meetings.h"
#include "products.h"

/* What a zero point of the filter adds: it multiplies the sum of the run. */
static void add_offset(uint32_t *accumulator, int32_t outputs, const int8_t *input, int32_t run, int32_t input_offset,
                       int32_t filter_offset) {
  uint32_t sum = 0;
  for (int32_t i = 0; i < run; i++) sum += (uint32_t)(input[i] + input_offset);
  for (int32_t j = 0; j < outputs; j++) accumulator[j] += sum * (uint32_t)filter_offset;
}

void na_transpose_conv_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                          const int32_t *shift, int8_t *output, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels;
  const int32_t whole = na_products_whole(depth);
  const int32_t offset = na_products_offset(p->input_offset);
  const int32_t input_row = p->input_width * depth;
  const int32_t filter_row = p->kernel_width * depth;
  const int32_t filter_size = p->kernel_height * filter_row;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const meetings_t rows = meetings(y, p->stride_height, p->pad_top, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const meetings_t columns = meetings(x, p->stride_width, p->pad_left, p->kernel_width, p->input_width);
        for (int32_t channel = 0; channel < p->output_channels;) {
          const int32_t left = p->output_channels - channel;
          const int32_t outputs = left < NA_PRODUCTS_BLOCK ? left : NA_PRODUCTS_BLOCK;
          uint32_t accumulator[NA_PRODUCTS_BLOCK];
          for (int32_t j = 0; j < outputs; j++) accumulator[j] = bias ? (uint32_t)bias[channel + j] : 0u;

          for (int32_t i = 0; i < rows.count; i++) {
            const int8_t *source = input + (rows.input - i) * input_row;
            const int8_t *taps = filter + channel * filter_size + (rows.tap + i * p->stride_height) * filter_row;
            for (int32_t j = 0; j < columns.count; j++) {
              const int8_t *values = source + (columns.input - j) * depth;
              na_add_products(accumulator, outputs, values, taps + (columns.tap + j * p->stride_width) * depth,
                              filter_size, whole, depth, offset);
              if (p->filter_offset != 0)
                add_offset(accumulator, outputs, values, depth, p->input_offset, p->filter_offset);
            }
          }
          for (int32_t j = 0; j < outputs; j++, channel++)
            *output++ = (int8_t)na_requantize((int32_t)accumulator[j], multiplier[channel], shift[channel],
                                              p->output_offset, p->activation_min, p->activation_max);
        }
      }
    }
  }
}
