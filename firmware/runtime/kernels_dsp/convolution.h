/* CONV_2D for cores with the DSP extension, also dilated and grouped; the filter may have a zero point.
 *
 * Two neighboring positions are done together: their windows are widened to 16 bits in a buffer, then each pair of
 * output channels takes two instructions for four products of the loads that they share. A window that is too large
 * for the buffer, one of several groups, and the last one of an odd number are summed from where they lie.
 *
 * Outputs may lie over inputs, one position after the other, as in the plain C kernel: of two positions nothing is
 * written before both are in the buffer.
 */
#ifndef NEURALART_DSP_CONVOLUTION_H
#define NEURALART_DSP_CONVOLUTION_H

#include "dsp.h"

#include "../kernels/window.h"
enum {
  NA_WINDOW = 576, /* values of a window that is widened, at most: 3 x 3 of 64 channels */
  NA_PLACES = 2    /* positions that are done together */
};

/* What all positions share. */
typedef struct {
  const na_conv2d_t *c;
  const int8_t *filter;
  const int32_t *bias, *multiplier, *shift;
  int32_t filter_offset;
  int32_t filter_row, filter_size, input_row;
  int32_t joined; /* taps of a row are neighbors in the input */
} na_layer_t;

/* The taps of a window that are inside the input. */
typedef struct {
  const int8_t *input; /* of the first of them, and of the first channel */
  na_taps_t rows, columns;
  int32_t inside; /* 0: none */
} na_inside_t;

static inline int8_t na_stored(uint32_t sum, int32_t channel, const na_layer_t *l) {
  return na_output(sum, l->multiplier[channel], l->shift[channel], l->c);
}

static inline uint32_t na_begin(int32_t channel, const na_layer_t *l) {
  return l->bias ? (uint32_t)l->bias[channel] : 0u;
}

static inline na_inside_t na_window_at(const int8_t *input, na_taps_t rows, int32_t x, const na_layer_t *l) {
  const na_conv2d_t *c = l->c;
  na_inside_t w;
  w.rows = rows;
  w.columns = na_taps(x, c->stride_width, c->pad_left, c->dilation_width, c->kernel_width, c->input_width);
  w.inside = rows.first < rows.end && w.columns.first < w.columns.end;
  w.input = input;
  if (w.inside)
    w.input += (rows.origin + rows.first * c->dilation_height) * l->input_row +
               (w.columns.origin + w.columns.first * c->dilation_width) * c->input_channels;
  return w;
}

/* ---- one position, from where its values lie */

static __attribute__((noinline)) void na_one_place(const na_inside_t *w, int8_t *output, const na_layer_t *l) {
  const na_conv2d_t *c = l->c;
  const int32_t depth = c->kernel_channels, columns = w->columns.end - w->columns.first;
  const int32_t groups = c->input_channels / depth, per_group = c->output_channels / groups;
  const int32_t rows = w->inside ? w->rows.end - w->rows.first : 0;
  const int32_t run = l->joined ? columns * depth : depth, runs = l->joined ? 1 : columns;
  const int32_t tap_step = c->dilation_width * c->input_channels, row_step = c->dilation_height * l->input_row;
  const int32_t first_tap = w->inside ? w->rows.first * l->filter_row + w->columns.first * depth : 0;
  for (int32_t group = 0, channel = 0; group < groups; group++) {
    const int8_t *input = w->input + group * depth;
    uint32_t common = 0;
    if (l->filter_offset != 0)
      for (int32_t ky = 0; ky < rows; ky++)
        for (int32_t r = 0; r < runs; r++) common += na_sum(input + ky * row_step + r * tap_step, run, c->input_offset);
    common *= (uint32_t)l->filter_offset;
    for (const int32_t end = channel + per_group; channel < end;) {
      const int32_t outputs = end - channel < NA_FOUR ? end - channel : NA_FOUR;
      uint32_t sum[NA_FOUR] = {0};
      for (int32_t j = 0; j < outputs; j++) sum[j] = common + na_begin(channel + j, l);
      for (int32_t ky = 0; ky < rows; ky++) {
        const int8_t *values = input + ky * row_step;
        const int8_t *taps = l->filter + channel * l->filter_size + first_tap + ky * l->filter_row;
        for (int32_t r = 0; r < runs; r++, values += tap_step, taps += depth)
          na_dot_x4(sum, values, taps, l->filter_size, outputs, run, c->input_offset);
      }
      for (int32_t j = 0; j < outputs; j++, channel++) output[channel] = na_stored(sum[j], channel, l);
    }
  }
}

/* ---- two positions, widened */

/* Four values of one window, four of the other, and so on. */
typedef struct {
  na_four_t values[(NA_WINDOW / NA_FOUR) * NA_PLACES];
} na_widened_t;

static inline void na_widen_run(na_four_t *to, const int8_t *from, int32_t count, int32_t offset) {
  const int16x2_t offsets = na_pair(offset);
  for (const int8_t *end = from + (count & -NA_FOUR); from != end; from += NA_FOUR, to += NA_PLACES)
    *to = na_widen_add(na_load4(from), offsets);
  if (count % NA_FOUR) *to = na_widen_rest(from, count % NA_FOUR, offset);
}

/* Fours of values that are outside, which add nothing; behind the last one. */
static inline na_four_t *na_widen_outside(na_four_t *to, int32_t count) {
  for (; count > 0; count -= NA_FOUR, to += NA_PLACES) *to = (na_four_t){0, 0};
  return to;
}

/* A window whose taps are whole fours. */
static inline void na_gather_fours(na_four_t *to, const na_inside_t *w, const na_layer_t *l) {
  const na_conv2d_t *c = l->c;
  const int32_t depth = c->kernel_channels, columns = w->columns.end - w->columns.first;
  const int32_t run = l->joined ? columns * depth : depth, runs = l->joined ? 1 : columns;
  if (!w->inside) {
    na_widen_outside(to, l->filter_size);
    return;
  }
  const int8_t *row = w->input;
  to = na_widen_outside(to, w->rows.first * l->filter_row);
  for (int32_t ky = w->rows.first; ky < w->rows.end; ky++, row += c->dilation_height * l->input_row) {
    const int8_t *values = row;
    to = na_widen_outside(to, w->columns.first * depth);
    for (int32_t r = 0; r < runs; r++, values += c->dilation_width * c->input_channels) {
      na_widen_run(to, values, run, c->input_offset);
      to += run / NA_FOUR * NA_PLACES;
    }
    to = na_widen_outside(to, (c->kernel_width - w->columns.end) * depth);
  }
  na_widen_outside(to, (c->kernel_height - w->rows.end) * l->filter_row);
}

static __attribute__((noinline)) void na_gather(na_four_t *to, const na_inside_t *w, const na_layer_t *l) {
  const na_conv2d_t *c = l->c;
  const int32_t depth = c->kernel_channels, columns = w->columns.end - w->columns.first;
  if (w->inside && l->filter_size == depth) {
    na_widen_run(to, w->input, depth, c->input_offset);
    return;
  }
  if (depth % NA_FOUR == 0) {
    na_gather_fours(to, w, l);
    return;
  }
  int8_t bytes[NA_WINDOW];
  if (!w->inside || w->rows.end - w->rows.first < c->kernel_height || columns < c->kernel_width)
    memset(bytes, -c->input_offset, (size_t)l->filter_size); /* what is outside adds nothing */
  for (int32_t ky = w->rows.first; w->inside && ky < w->rows.end; ky++) {
    const int8_t *row = w->input + (ky - w->rows.first) * c->dilation_height * l->input_row;
    int8_t *taps = bytes + ky * l->filter_row + w->columns.first * depth;
    if (l->joined)
      memcpy(taps, row, (size_t)(columns * depth));
    else
      for (int32_t kx = 0; kx < columns; kx++, taps += depth, row += c->dilation_width * c->input_channels)
        memcpy(taps, row, (size_t)depth);
  }
  na_widen_run(to, bytes, l->filter_size, c->input_offset);
}

static uint32_t na_sum_widened(const na_four_t *x, int32_t size) {
  const na_four_t ones = {na_pair(1), na_pair(1)};
  int32_t sum = 0;
  for (int32_t i = 0; i < size; i += NA_FOUR, x += NA_PLACES) sum = na_products(*x, ones, sum);
  return (uint32_t)sum;
}

/* Both outputs of two channels; where there is one more only, it is done twice. */
static inline void na_two_by_two(uint32_t sum[NA_PLACES][2], const na_four_t *x, const int8_t *f0, const int8_t *f1,
                                 int32_t size) {
  int32_t a0 = (int32_t)sum[0][0], a1 = (int32_t)sum[0][1], b0 = (int32_t)sum[1][0], b1 = (int32_t)sum[1][1];
  for (const int8_t *end = f0 + (size & -NA_FOUR); f0 != end; f0 += NA_FOUR, f1 += NA_FOUR, x += NA_PLACES) {
    const na_four_t a = x[0], b = x[1];
    na_in_order(); /* one load for each of them */
    na_four_t f = na_widen(na_load4(f0));
    a0 = na_products(a, f, a0);
    b0 = na_products(b, f, b0);
    na_in_order();
    f = na_widen(na_load4(f1));
    a1 = na_products(a, f, a1);
    b1 = na_products(b, f, b1);
  }
  const int32_t left = size % NA_FOUR;
  if (left) {
    na_four_t f = na_widen(na_load_rest(f0, left));
    a0 = na_products(x[0], f, a0);
    b0 = na_products(x[1], f, b0);
    f = na_widen(na_load_rest(f1, left));
    a1 = na_products(x[0], f, a1);
    b1 = na_products(x[1], f, b1);
  }
  sum[0][0] = (uint32_t)a0, sum[0][1] = (uint32_t)a1, sum[1][0] = (uint32_t)b0, sum[1][1] = (uint32_t)b1;
}

static __attribute__((noinline)) void na_two_places(const na_four_t *x, int8_t *output, const na_layer_t *l) {
  const int32_t channels = l->c->output_channels;
  uint32_t common[NA_PLACES] = {0};
  if (l->filter_offset != 0)
    for (int32_t i = 0; i < NA_PLACES; i++)
      common[i] = (uint32_t)l->filter_offset * na_sum_widened(x + i, l->filter_size);
  for (int32_t channel = 0; channel < channels; channel += 2) {
    const int32_t next = channel + 1 < channels ? channel + 1 : channel;
    uint32_t sum[NA_PLACES][2];
    for (int32_t i = 0; i < NA_PLACES; i++)
      sum[i][0] = common[i] + na_begin(channel, l), sum[i][1] = common[i] + na_begin(next, l);
    na_two_by_two(sum, x, l->filter + channel * l->filter_size, l->filter + next * l->filter_size, l->filter_size);
    for (int32_t i = 0; i < NA_PLACES; i++) {
      output[i * channels + channel] = na_stored(sum[i][0], channel, l);
      output[i * channels + next] = na_stored(sum[i][1], next, l);
    }
  }
}

static inline void na_convolve(const int8_t *input, int8_t *output, na_layer_t *l) {
  const na_conv2d_t *c = l->c;
  const int32_t in_one_group = c->kernel_channels == c->input_channels;
  l->filter_row = c->kernel_width * c->kernel_channels;
  l->filter_size = c->kernel_height * l->filter_row;
  l->input_row = c->input_width * c->input_channels;
  l->joined = c->dilation_width == 1 && in_one_group;
  const int32_t widened = in_one_group && l->filter_size <= NA_WINDOW;
  na_widened_t buffer;
  na_inside_t waiting = {0}; /* the first one of two */
  int32_t waits = 0;
  for (int32_t batch = 0; batch < c->batches; batch++, input += c->input_height * l->input_row) {
    for (int32_t y = 0; y < c->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, c->stride_height, c->pad_top, c->dilation_height, c->kernel_height, c->input_height);
      for (int32_t x = 0; x < c->output_width; x++) {
        const na_inside_t w = na_window_at(input, rows, x, l);
        if (!widened) {
          na_one_place(&w, output, l);
          output += c->output_channels;
        } else if (waits) {
          na_gather(buffer.values, &waiting, l);
          na_gather(buffer.values + 1, &w, l);
          na_two_places(buffer.values, output, l);
          output += NA_PLACES * c->output_channels;
          waits = 0;
        } else {
          waiting = w;
          waits = 1;
        }
      }
    }
  }
  if (waits) na_one_place(&waiting, output, l);
}

#endif
