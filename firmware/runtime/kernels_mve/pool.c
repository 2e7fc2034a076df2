/* MAX_POOL_2D and AVERAGE_POOL_2D with MVE. */
#include "mve.h"

#include "../kernels/window.h"
#include "neuralart_kernels.h"
#include "sums.h"

enum {
  EXACT = 4096 /* values of a window below which a quotient by multiplication is exact */
};

/* A window: taps inside the input, and how to divide by their number. */
typedef struct {
  int32_t rows, columns, row, channels;
  int32_t count;
  uint32_t reciprocal; /* 2^32 / count, rounded up; 0: not used */
} window_t;

static void maximum(const int8_t *input, int8_t *output, const window_t *w, const na_pool_t *p) {
  const int8x16_t low = vdupq_n_s8((int8_t)p->activation_min), high = vdupq_n_s8((int8_t)p->activation_max);
  for (int32_t c = 0; c < w->channels; c += NA_BYTES) {
    const mve_pred16_t lanes = vctp8q((uint32_t)(w->channels - c));
    int8x16_t largest = vdupq_n_s8(INT8_MIN);
    for (int32_t ky = 0; ky < w->rows; ky++) {
      const int8_t *source = input + ky * w->row + c;
      for (int32_t kx = w->columns; kx > 0; kx--, source += w->channels)
        largest = vmaxq_s8(largest, vldrbq_z_s8(source, lanes)); /* the other lanes are not stored */
    }
    vstrbq_p_s8(output + c, vminq_s8(vmaxq_s8(largest, low), high), lanes);
  }
}

/* x / count for 0 <= x < 256 * count, rounded down. With count < 4096 what the reciprocal is too large adds less than
 * 1 / count. */
static inline uint32x4_t divide(uint32x4_t x, const window_t *w) {
  if (w->reciprocal) return vmulhq_u32(x, vdupq_n_u32(w->reciprocal));
  if (w->count == 1) return x;
  uint32_t values[NA_LANES];
  vst1q_u32(values, x);
  for (int32_t j = 0; j < NA_LANES; j++) values[j] /= (uint32_t)w->count;
  return vld1q_u32(values);
}

/* The quotient of the sum is rounded to nearest; halves go away from zero, or up. */
static inline int32x4_t quotient(int32x4_t sum, const window_t *w, int32_t half_up) {
  const int32_t half = w->count / 2;
  if (half_up) { /* every summand made positive, as the stored values of a uint8 model are */
    const int32x4_t positive = vaddq_n_s32(sum, 128 * w->count + half);
    return vsubq_n_s32(vreinterpretq_s32_u32(divide(vreinterpretq_u32_s32(positive), w)), 128);
  }
  const int32x4_t size = vaddq_n_s32(vabsq_s32(sum), half);
  const int32x4_t found = vreinterpretq_s32_u32(divide(vreinterpretq_u32_s32(size), w));
  return vnegq_m_s32(found, found, vcmpltq_n_s32(sum, 0));
}

static inline void mean(const int8_t *input, int8_t *output, const window_t *w, const na_pool_t *p, int32_t half_up) {
  const int16x8_t low = vdupq_n_s16((int16_t)p->activation_min), high = vdupq_n_s16((int16_t)p->activation_max);
  for (int32_t c = 0; c < w->channels; c += NA_HALFWORDS) {
    const mve_pred16_t lanes = vctp16q((uint32_t)(w->channels - c));
    na_sums_t sums = {{vdupq_n_s32(0), vdupq_n_s32(0)}};
    for (int32_t ky = 0; ky < w->rows; ky++)
      na_add_eights(&sums, input + ky * w->row + c, w->columns, w->channels, lanes);
    const int32x4_t even = quotient(sums.halves[0], w, half_up), odd = quotient(sums.halves[1], w, half_up);
    const int16x8_t means = vmovntq_s32(vreinterpretq_s16_s32(even), odd);
    vstrbq_p_s16(output + c, vminq_s16(vmaxq_s16(means, low), high), lanes);
  }
}

static void mean_away(const int8_t *input, int8_t *output, const window_t *w, const na_pool_t *p) {
  mean(input, output, w, p, 0);
}

static void mean_up(const int8_t *input, int8_t *output, const window_t *w, const na_pool_t *p) {
  mean(input, output, w, p, 1);
}

typedef void (*reduce_t)(const int8_t *input, int8_t *output, const window_t *w, const na_pool_t *p);

static inline void pool(const int8_t *input, int8_t *output, const na_pool_t *p, reduce_t reduce) {
  window_t w = {0};
  w.channels = p->channels;
  w.row = p->input_width * p->channels;
  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * w.row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows = na_taps(y, p->stride_height, p->pad_top, 1, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->channels) {
        const na_taps_t columns = na_taps(x, p->stride_width, p->pad_left, 1, p->kernel_width, p->input_width);
        w.rows = rows.end - rows.first;
        w.columns = columns.end - columns.first;
        const int32_t count = w.rows * w.columns;
        if (count != w.count) { /* most windows are as large as the one before */
          w.count = count;
          w.reciprocal = count > 1 && count < EXACT ? UINT32_MAX / (uint32_t)count + 1u : 0u;
        }
        reduce(input + (rows.origin + rows.first) * w.row + (columns.origin + columns.first) * p->channels, output, &w,
               p);
      }
    }
  }
}

void na_max_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p) { pool(input, output, p, maximum); }

void na_average_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p) { pool(input, output, p, mean_away); }

void na_average_pool_half_up_s8(const int8_t *input, int8_t *output, const na_pool_t *p) {
  pool(input, output, p, mean_up);
}
