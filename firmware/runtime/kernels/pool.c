/* MAX_POOL_2D and AVERAGE_POOL_2D. Every window contains at least one input value: the compiler sees to it. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "vectors.h"
#include "window.h"

typedef void (*reduce_t)(const int8_t *input, int8_t *output, int32_t rows, int32_t columns, const na_pool_t *p);

enum { BLOCK = 8 }; /* neighboring channels; a constant count lets the compiler use vectors */

static inline void take_larger(int8_t *restrict output, const int8_t *restrict input, int32_t count) {
  for (int32_t c = 0; c < count; c++) output[c] = input[c] > output[c] ? input[c] : output[c];
}

static void maximum(const int8_t *input, int8_t *output, int32_t rows, int32_t columns, const na_pool_t *p) {
  const int32_t channels = p->channels;
  const int32_t row = p->input_width * channels;
  for (int32_t c = 0; c < channels; c++) output[c] = input[c];
  for (int32_t ky = 0; ky < rows; ky++) {
    for (int32_t kx = 0; kx < columns; kx++) {
      const int8_t *source = input + ky * row + kx * channels;
      int32_t c = 0;
      for (; NA_VECTORS && c + BLOCK <= channels; c += BLOCK) take_larger(output + c, source + c, BLOCK);
      take_larger(output + c, source + c, channels - c);
    }
  }
  for (int32_t c = 0; c < channels; c++) output[c] = (int8_t)na_clamp(output[c], p->activation_min, p->activation_max);
}

/* The quotient of the sum is rounded to nearest; halves go away from zero, or up. */
static inline void mean(const int8_t *input, int8_t *output, int32_t rows, int32_t columns, const na_pool_t *p,
                        int32_t half_up) {
  const int32_t row = p->input_width * p->channels;
  const int32_t count = rows * columns;
  for (int32_t c = 0; c < p->channels; c++) {
    int32_t sum = 0;
    for (int32_t ky = 0; ky < rows; ky++) {
      const int8_t *source = input + ky * row + c;
      for (int32_t kx = 0; kx < columns; kx++, source += p->channels) sum += *source;
    }
    if (half_up) /* every summand made positive, as the stored values of a uint8 model are */
      sum = (sum + 128 * count + count / 2) / count - 128;
    else
      sum = sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
    output[c] = (int8_t)na_clamp(sum, p->activation_min, p->activation_max);
  }
}

static void mean_away(const int8_t *input, int8_t *output, int32_t rows, int32_t columns, const na_pool_t *p) {
  mean(input, output, rows, columns, p, 0);
}

static void mean_up(const int8_t *input, int8_t *output, int32_t rows, int32_t columns, const na_pool_t *p) {
  mean(input, output, rows, columns, p, 1);
}

static inline void pool(const int8_t *input, int8_t *output, const na_pool_t *p, reduce_t reduce) {
  const int32_t row = p->input_width * p->channels;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows = na_taps(y, p->stride_height, p->pad_top, 1, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->channels) {
        const na_taps_t columns = na_taps(x, p->stride_width, p->pad_left, 1, p->kernel_width, p->input_width);
        reduce(input + (rows.origin + rows.first) * row + (columns.origin + columns.first) * p->channels, output,
               rows.end - rows.first, columns.end - columns.first, p);
      }
    }
  }
}

void na_max_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p) { pool(input, output, p, maximum); }

void na_average_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p) { pool(input, output, p, mean_away); }

void na_average_pool_half_up_s8(const int8_t *input, int8_t *output, const na_pool_t *p) {
  pool(input, output, p, mean_up);
}
