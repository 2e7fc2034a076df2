/* CONV_2D and DEPTHWISE_CONV_2D of int16 activations. One position after the other, as in conv2d.c. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "products64.h"
#include "window.h"

static inline int32_t scaled_32(uint64_t accumulator, int32_t multiplier, int32_t shift) {
  return na_scale((int32_t)(uint32_t)accumulator, multiplier, shift);
}

#define CONV2D(kernel, bias_t, scaled)                                                                                 \
  void kernel(const int16_t *input, const int8_t *filter, const bias_t *bias, const int32_t *multiplier,               \
              const int32_t *shift, int16_t *output, const na_conv2d_t *p) {                                           \
    const int32_t filter_row = p->kernel_width * p->kernel_channels;                                                   \
    const int32_t input_row = p->input_width * p->input_channels;                                                      \
    const int32_t outputs_per_group = p->output_channels / (p->input_channels / p->kernel_channels);                   \
    /* Without dilation and groups the taps of a row are neighbors: one run. */                                        \
    const int32_t joined = p->dilation_width == 1 && p->kernel_channels == p->input_channels;                          \
    for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {                       \
      for (int32_t y = 0; y < p->output_height; y++) {                                                                 \
        const na_taps_t rows =                                                                                         \
            na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);           \
        for (int32_t x = 0; x < p->output_width; x++) {                                                                \
          const na_taps_t columns =                                                                                    \
              na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);            \
          const int32_t inside = columns.end > columns.first ? columns.end - columns.first : 0;                        \
          const int32_t runs = joined && inside ? 1 : inside;                                                          \
          const int32_t run = joined ? inside * p->kernel_channels : p->kernel_channels;                               \
          const int32_t first = columns.origin + columns.first * p->dilation_width;                                    \
          for (int32_t c = 0; c < p->output_channels; c++) {                                                           \
            uint64_t sum = bias ? (uint64_t)(int64_t)bias[c] : 0u;                                                     \
            for (int32_t ky = rows.first; runs && ky < rows.end; ky++) {                                               \
              const int16_t *source = input + (rows.origin + ky * p->dilation_height) * input_row +                    \
                                      first * p->input_channels + c / outputs_per_group * p->kernel_channels;          \
              const int8_t *taps =                                                                                     \
                  filter + (c * p->kernel_height + ky) * filter_row + columns.first * p->kernel_channels;              \
              for (int32_t r = 0; r < runs; r++, taps += run)                                                          \
                sum = na_add_products_64(sum, source + r * p->dilation_width * p->input_channels, taps, run);          \
            }                                                                                                          \
            *output++ = (int16_t)na_clamp(scaled(sum, multiplier[c], shift[c]), p->activation_min, p->activation_max); \
          }                                                                                                            \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

CONV2D(na_conv2d_s16, int64_t, na_scaled_64)
CONV2D(na_conv2d_s16_b32, int32_t, scaled_32)

void na_depthwise_conv2d_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const int32_t *multiplier,
                             const int32_t *shift, int16_t *output, const na_conv2d_t *p) {
  const int32_t input_row = p->input_width * p->input_channels;
  const int32_t depth_multiplier = p->output_channels / p->input_channels;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        const na_taps_t columns =
            na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
        for (int32_t c = 0; c < p->output_channels; c++) {
          uint64_t sum = bias ? (uint64_t)bias[c] : 0u;
          for (int32_t ky = rows.first; ky < rows.end; ky++) {
            const int16_t *source = input + (rows.origin + ky * p->dilation_height) * input_row + c / depth_multiplier;
            const int8_t *taps = filter + ky * p->kernel_width * p->output_channels + c;
            for (int32_t kx = columns.first; kx < columns.end; kx++) {
              const int32_t value = source[(columns.origin + kx * p->dilation_width) * p->input_channels];
              sum += (uint64_t)(int64_t)(value * taps[kx * p->output_channels]);
            }
          }
          *output++ =
              (int16_t)na_clamp(na_scaled_64(sum, multiplier[c], shift[c]), p->activation_min, p->activation_max);
        }
      }
    }
  }
}
