/* MAX_POOL_2D and AVERAGE_POOL_2D in float32 with MVE: four channels at once. Every window has an input value. */
#include "floats.h"

#include "../kernels/window.h"
#include "neuralart_kernels_float.h"
#include <float.h>

/* The taps of a window that lie inside. */
typedef struct {
  int32_t rows, columns, row, channels;
  float low, high;
} window_t;

static void plain(const float *first, float *output, const window_t *w, int32_t average, int32_t channels) {
  for (int32_t c = 0; c < channels; c++) {
    float result = average ? 0.0f : -FLT_MAX;
    for (int32_t ky = 0; ky < w->rows; ky++) {
      const float *source = first + ky * w->row + c;
      for (int32_t kx = 0; kx < w->columns; kx++, source += w->channels)
        result = average ? result + *source : *source > result ? *source : result;
    }
    if (average) result /= (float)(w->rows * w->columns);
    output[c] = na_bounded_f32(result, w->low, w->high);
  }
}

#if NA_MVE_FLOATS
static inline int32_t fours(const float *first, float *output, const window_t *w, int32_t average) {
  float32x4_t result = vdupq_n_f32(average ? 0.0f : -FLT_MAX);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = first + ky * w->row;
    for (int32_t kx = w->columns; kx > 0; kx--, source += w->channels) {
      const float32x4_t values = vld1q_f32(source);
      result = average ? vaddq_f32(result, values) : vpselq_f32(values, result, vcmpgtq_f32(values, result));
    }
  }
  if (average) { /* MVE cannot divide */
    const float count = (float)(w->rows * w->columns);
    for (int32_t j = 0; j < NA_LANES; j++) result[j] /= count;
  }
  result = na_bounded_x4(result, w->low, w->high);
  if (na_met_subnormals(&result)) return 0;
  vst1q_f32(output, result);
  return 1;
}
#endif

static inline void window(const float *first, float *output, const window_t *w, int32_t average) {
  int32_t c = 0;
#if NA_MVE_FLOATS
  for (; c + NA_LANES <= w->channels; c += NA_LANES) {
    if (fours(first + c, output + c, w, average)) continue;
    plain(first + c, output + c, w, average, NA_LANES);
    na_forget_subnormals();
  }
#endif
  plain(first + c, output + c, w, average, w->channels - c);
}

static inline void pool(const float *input, float *output, const na_pool_f32_t *p, int32_t average) {
  const na_pool_t *q = &p->window;
  window_t w = {0, 0, q->input_width * q->channels, q->channels, p->low, p->high};
  na_forget_subnormals();
  for (int32_t batch = 0; batch < q->batches; batch++, input += q->input_height * w.row) {
    for (int32_t y = 0; y < q->output_height; y++) {
      const na_taps_t rows = na_taps(y, q->stride_height, q->pad_top, 1, q->kernel_height, q->input_height);
      for (int32_t x = 0; x < q->output_width; x++, output += q->channels) {
        const na_taps_t columns = na_taps(x, q->stride_width, q->pad_left, 1, q->kernel_width, q->input_width);
        w.rows = rows.end - rows.first;
        w.columns = columns.end - columns.first;
        window(input + (rows.origin + rows.first) * w.row + (columns.origin + columns.first) * w.channels, output, &w,
               average);
      }
    }
  }
}

void na_max_pool_f32(const float *input, float *output, const na_pool_f32_t *p) { pool(input, output, p, 0); }

void na_average_pool_f32(const float *input, float *output, const na_pool_f32_t *p) { pool(input, output, p, 1); }
