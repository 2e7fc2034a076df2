/* A window of a convolution in float32, and its sum for one output: shared by plain C and the kernels with MVE. */
#ifndef NEURALART_WINDOW_F32_H
#define NEURALART_WINDOW_F32_H

#include "neuralart_kernels_float.h"
#include "window.h"

typedef struct {
  const float *input, *filter; /* of the first tap inside */
  int32_t rows, columns; /* taps inside */
  int32_t input_row, input_step, filter_row, filter_step;
} window_t;

/* The taps of a window that lie inside; filter_row and filter_step: from one to the next. */
static inline window_t inside(const float *input, const float *filter, int32_t y, int32_t x, int32_t filter_step,
                       const na_conv2d_t *w) {
  const na_taps_t rows =
      na_taps(y, w->stride_height, w->pad_top, w->dilation_height, w->kernel_height, w->input_height);
  const na_taps_t columns =
      na_taps(x, w->stride_width, w->pad_left, w->dilation_width, w->kernel_width, w->input_width);
  const int32_t row = w->input_width * w->input_channels;
  window_t made = {input, filter, rows.end - rows.first, columns.end - columns.first, w->dilation_height * row,
                   w->dilation_width * w->input_channels, w->kernel_width * filter_step, filter_step};
  if (made.columns <= 0 || made.rows <= 0) {
    made.rows = 0;
    return made;
  }
  made.input += (rows.origin + rows.first * w->dilation_height) * row +
                (columns.origin + columns.first * w->dilation_width) * w->input_channels;
  made.filter += rows.first * made.filter_row + columns.first * filter_step;
  return made;
}

static inline float sum_one(const window_t *w, const float *input, const float *filter, int32_t channels) {
  float sum = 0.0f;
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = input + ky * w->input_row, *taps = filter + ky * w->filter_row;
    for (int32_t kx = 0; kx < w->columns; kx++, source += w->input_step, taps += w->filter_step)
      for (int32_t c = 0; c < channels; c++) sum += source[c] * taps[c];
  }
  return sum;
}

#endif
