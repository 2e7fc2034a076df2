/* MAX_POOL_2D, AVERAGE_POOL_2D and MEAN of int16 activations. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "window.h"

enum { LAST = NA_MEAN_RANK - 1 };

static inline int32_t maximum(const int16_t *input, int32_t rows, int32_t columns, int32_t row, int32_t step) {
  int32_t largest = INT16_MIN;
  for (int32_t ky = 0; ky < rows; ky++)
    for (int32_t kx = 0; kx < columns; kx++)
      if (input[ky * row + kx * step] > largest) largest = input[ky * row + kx * step];
  return largest;
}

/* The quotient of the sum is rounded to nearest, halves away from zero. */
static inline int32_t average(const int16_t *input, int32_t rows, int32_t columns, int32_t row, int32_t step) {
  const int32_t count = rows * columns;
  int32_t sum = 0;
  for (int32_t ky = 0; ky < rows; ky++)
    for (int32_t kx = 0; kx < columns; kx++) sum += input[ky * row + kx * step];
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

#define POOL(kernel, reduced)                                                                                          \
  void kernel(const int16_t *input, int16_t *output, const na_pool_t *p) {                                             \
    const int32_t row = p->input_width * p->channels;                                                                  \
    for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * row) {                             \
      for (int32_t y = 0; y < p->output_height; y++) {                                                                 \
        const na_taps_t rows = na_taps(y, p->stride_height, p->pad_top, 1, p->kernel_height, p->input_height);         \
        for (int32_t x = 0; x < p->output_width; x++) {                                                                \
          const na_taps_t columns = na_taps(x, p->stride_width, p->pad_left, 1, p->kernel_width, p->input_width);      \
          const int16_t *source = input + (rows.origin + rows.first) * row;                                            \
          source += (columns.origin + columns.first) * p->channels;                                                    \
          for (int32_t c = 0; c < p->channels; c++) {                                                                  \
            const int32_t value =                                                                                      \
                reduced(source + c, rows.end - rows.first, columns.end - columns.first, row, p->channels);             \
            *output++ = (int16_t)na_clamp(value, p->activation_min, p->activation_max);                                \
          }                                                                                                            \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

POOL(na_max_pool_s16, maximum)
POOL(na_average_pool_s16, average)

void na_mean_s16(const int16_t *input, int16_t *output, const na_mean_t *p) {
  for (int32_t a = 0; a < p->kept[0]; a++) {
    for (int32_t b = 0; b < p->kept[1]; b++) {
      for (int32_t c = 0; c < p->kept[LAST]; c++) {
        const int16_t *source = input + a * p->kept_stride[0] + b * p->kept_stride[1] + c * p->kept_stride[LAST];
        uint32_t sum = 0; /* wraps as a 32-bit number */
        for (int32_t d = 0; d < p->summed[0]; d++)
          for (int32_t e = 0; e < p->summed[1]; e++)
            for (int32_t f = 0; f < p->summed[LAST]; f++)
              sum += (uint32_t)source[d * p->summed_stride[0] + e * p->summed_stride[1] + f * p->summed_stride[LAST]];
        *output++ = (int16_t)na_requantize((int32_t)sum, p->multiplier, p->shift, 0, INT16_MIN, INT16_MAX);
      }
    }
  }
}
