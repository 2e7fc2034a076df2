/* MAX_POOL_2D and AVERAGE_POOL_2D in float32. Every window contains at least one input value. */
#include "single.h"

#include <float.h>

#include "neuralart_kernels_float.h"
#include "window.h"

static inline void pool(const float *input, float *output, const na_pool_f32_t *p, int32_t average) {
  const na_pool_t *w = &p->window;
  const int32_t row = w->input_width * w->channels;
  for (int32_t batch = 0; batch < w->batches; batch++, input += w->input_height * row) {
    for (int32_t y = 0; y < w->output_height; y++) {
      const na_taps_t rows = na_taps(y, w->stride_height, w->pad_top, 1, w->kernel_height, w->input_height);
      for (int32_t x = 0; x < w->output_width; x++) {
        const na_taps_t columns = na_taps(x, w->stride_width, w->pad_left, 1, w->kernel_width, w->input_width);
        const float *first = input + (rows.origin + rows.first) * row + (columns.origin + columns.first) * w->channels;
        for (int32_t c = 0; c < w->channels; c++) {
          float result = average ? 0.0f : -FLT_MAX;
          for (int32_t ky = 0; ky < rows.end - rows.first; ky++) {
            const float *source = first + ky * row + c;
            for (int32_t kx = 0; kx < columns.end - columns.first; kx++, source += w->channels)
              result = average ? result + *source : *source > result ? *source : result;
          }
          if (average) result /= (float)((rows.end - rows.first) * (columns.end - columns.first));
          result = result < p->low ? p->low : result;
          *output++ = result > p->high ? p->high : result;
        }
      }
    }
  }
}

void na_max_pool_f32(const float *input, float *output, const na_pool_f32_t *p) { pool(input, output, p, 0); }

void na_average_pool_f32(const float *input, float *output, const na_pool_f32_t *p) { pool(input, output, p, 1); }
