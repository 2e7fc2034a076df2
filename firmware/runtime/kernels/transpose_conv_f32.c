/* TRANSPOSE_CONV in float32: each output value gathers the input values whose windows cover it. */
#include "single.h"

#include "meetings.h"
#include "neuralart_kernels_float.h"

/* The sum is made in the order of the input, as LiteRT scatters it: from the last tap to the first. */
void na_transpose_conv_f32(const float *input, const float *filter, const float *bias, float *output,
                           const na_transpose_conv_f32_t *parameters) {
  const na_transpose_conv_t *p = &parameters->window;
  const int32_t depth = p->input_channels, input_row = p->input_width * depth, filter_row = p->kernel_width * depth;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const meetings_t rows = meetings(y, p->stride_height, p->pad_top, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const meetings_t columns = meetings(x, p->stride_width, p->pad_left, p->kernel_width, p->input_width);
        for (int32_t channel = 0; channel < p->output_channels; channel++) {
          const float *own = filter + channel * p->kernel_height * filter_row;
          float sum = 0.0f;
          for (int32_t i = rows.count - 1; i >= 0; i--) {
            const float *source = input + (rows.input - i) * input_row;
            const float *taps = own + (rows.tap + i * p->stride_height) * filter_row;
            for (int32_t j = columns.count - 1; j >= 0; j--)
              for (int32_t c = 0; c < depth; c++)
                sum += source[(columns.input - j) * depth + c] * taps[(columns.tap + j * p->stride_width) * depth + c];
          }
          if (bias) sum += bias[channel];
          sum = sum < parameters->low ? parameters->low : sum;
          *output++ = sum > parameters->high ? parameters->high : sum;
        }
      }
    }
  }
}
