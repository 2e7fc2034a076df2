/* TRANSPOSE_CONV of int16 activations; as transpose_conv.c, one output value after the other. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "meetings.h"
#include "products64.h"

void na_transpose_conv_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const int32_t *multiplier,
                           const int32_t *shift, int16_t *output, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels, input_row = p->input_width * depth, filter_row = p->kernel_width * depth;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const meetings_t rows = meetings(y, p->stride_height, p->pad_top, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const meetings_t columns = meetings(x, p->stride_width, p->pad_left, p->kernel_width, p->input_width);
        for (int32_t c = 0; c < p->output_channels; c++) {
          uint64_t sum = bias ? (uint64_t)bias[c] : 0u;
          for (int32_t i = 0; i < rows.count; i++) {
            const int16_t *source = input + (rows.input - i) * input_row;
            const int8_t *taps = filter + (c * p->kernel_height + rows.tap + i * p->stride_height) * filter_row;
            for (int32_t j = 0; j < columns.count; j++)
              sum = na_add_products_64(sum, source + (columns.input - j) * depth,
                                       taps + (columns.tap + j * p->stride_width) * depth, depth);
          }
          *output++ =
              (int16_t)na_clamp(na_scaled_64(sum, multiplier[c], shift[c]), p->activation_min, p->activation_max);
        }
      }
    }
  }
}
