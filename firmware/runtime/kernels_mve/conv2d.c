/* CONV_2D with MVE, also dilated and grouped.
 *
 * sum((x + offset) * f) is sum(x * f) + offset * sum(f): the products are those of the stored bytes, and what the offset
 * adds is the same for all windows, if what lies outside the input reads as -offset. So a window is gathered into a
 * buffer first, with its outside filled in, which also makes one run of many short ones. A window of one whole run is
 * read where it is; one that is too large for the buffer is read in runs, and where it reaches over an edge the filters
 * inside are summed again.
 */
#include "mve.h"

#include "../kernels/window.h"
#include "neuralart_kernels.h"

enum {
  /* Output channels that are done for all positions before the next ones, at most; a multiple of NA_LANES. */
  SLICE = 64,
  BUFFER = 2304 /* bytes of a gathered window, at most: 3 x 3 of 256 channels */
};

/* Output channels of one group. Addresses are those of its first input channel and of its first output channel. */
typedef struct {
  const int8_t *filter;
  const int32_t *bias, *multiplier, *shift;
  int32_t channels;
  int32_t filter_row, filter_size;
  int32_t input_row;
  int32_t joined; /* taps of a row are neighbors in the input */
} slice_t;

/* The taps inside the input, and where the first of them is. */
typedef struct {
  const int8_t *input;
  const int8_t *taps; /* in the slice's first filter */
  na_taps_t rows, columns;
  int32_t inside; /* 0: none */
  int32_t whole; /* all of them */
} window_t;

static window_t window_at(const slice_t *s, const na_conv2d_t *p, const int8_t *input, na_taps_t rows, int32_t x) {
  window_t w;
  w.rows = rows;
  w.columns = na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
  w.inside = rows.first < rows.end && w.columns.first < w.columns.end;
  w.whole = rows.end - rows.first == p->kernel_height && w.columns.end - w.columns.first == p->kernel_width;
  w.input = input;
  w.taps = s->filter;
  if (w.inside) {
    w.input += (rows.origin + rows.first * p->dilation_height) * s->input_row +
               (w.columns.origin + w.columns.first * p->dilation_width) * p->input_channels;
    w.taps += rows.first * s->filter_row + w.columns.first * p->kernel_channels;
  }
  return w;
}

static __attribute__((noinline)) void gather(int8_t *to, const window_t *w, const slice_t *s, const na_conv2d_t *p) {
  const int8_t outside = (int8_t)-p->input_offset;
  if (!w->inside) {
    na_fill(to, outside, s->filter_size);
    return;
  }
  const int32_t depth = p->kernel_channels;
  const int32_t columns = w->columns.end - w->columns.first;
  const int32_t left = w->columns.first * depth;
  const int32_t right = (p->kernel_width - w->columns.end) * depth;
  const int8_t *row = w->input;
  na_fill(to, outside, w->rows.first * s->filter_row);
  to += w->rows.first * s->filter_row;
  for (int32_t ky = w->rows.first; ky < w->rows.end; ky++, row += p->dilation_height * s->input_row) {
    na_fill(to, outside, left);
    to += left;
    if (s->joined) {
      na_copy(to, row, columns * depth);
      to += columns * depth;
    } else {
      const int8_t *tap = row;
      for (int32_t kx = 0; kx < columns; kx++, tap += p->dilation_width * p->input_channels, to += depth)
        na_copy(to, tap, depth);
    }
    na_fill(to, outside, right);
    to += right;
  }
  na_fill(to, outside, (p->kernel_height - w->rows.end) * s->filter_row);
}

/* sums += products of the window with four filters, run by run. With `from_bias` they begin at the bias, and what the
 * offset adds is added: it is not that of the whole filter. */
static void sum_runs(uint32_t sum[NA_LANES], const window_t *w, const slice_t *s, const na_conv2d_t *p, int32_t channel,
                     int32_t outputs, int32_t from_bias) {
  const int32_t depth = p->kernel_channels;
  const int32_t columns = w->columns.end - w->columns.first;
  const int32_t run = s->joined ? columns * depth : depth;
  const int32_t runs = s->joined ? 1 : columns;
  if (from_bias)
    for (int32_t j = 0; j < outputs; j++) sum[j] = s->bias ? (uint32_t)s->bias[channel + j] : 0u;
  if (!w->inside) return;
  for (int32_t ky = 0; ky < w->rows.end - w->rows.first; ky++) {
    const int8_t *input = w->input + ky * p->dilation_height * s->input_row;
    const int8_t *taps = w->taps + channel * s->filter_size + ky * s->filter_row;
    for (int32_t r = 0; r < runs; r++, input += p->dilation_width * p->input_channels, taps += depth) {
      na_dot_x4(sum, input, taps, s->filter_size, outputs, run);
      if (from_bias)
        for (int32_t j = 0; j < outputs; j++)
          sum[j] += (uint32_t)p->input_offset * na_sum(taps + j * s->filter_size, run);
    }
  }
}

/* Stores the outputs of up to four neighboring channels. */
static inline void store(int8_t *output, const uint32_t sum[NA_LANES], const slice_t *s, const na_conv2d_t *p,
                         int32_t channel, int32_t outputs) {
  const mve_pred16_t lanes = vctp32q((uint32_t)outputs);
  const int32x4_t scaled =
      na_scale_x4(vreinterpretq_s32_u32(vld1q_u32(sum)), vldrwq_z_s32(s->multiplier + channel, lanes),
                  vldrwq_z_s32(s->shift + channel, lanes));
  vstrbq_p_s32(output + channel, na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max), lanes);
}

/* A window that is one run: in place, or gathered. Not inlined into the loop over positions: both want all registers.
 */
static __attribute__((noinline)) void do_run(const int8_t *window, const slice_t *s, const uint32_t *begin,
                                             int8_t *output, const na_conv2d_t *p) {
  for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
    const int32_t left = s->channels - channel;
    const int32_t outputs = left < NA_LANES ? left : NA_LANES;
    uint32_t sum[NA_LANES];
    for (int32_t j = 0; j < NA_LANES; j++) sum[j] = begin[channel + j];
    na_dot_x4(sum, window, s->filter + channel * s->filter_size, s->filter_size, outputs, s->filter_size);
    store(output, sum, s, p, channel, outputs);
  }
}

/* A window of several runs, too large to be gathered. */
static __attribute__((noinline)) void do_runs(const window_t *w, const slice_t *s, const uint32_t *begin,
                                              int8_t *output, const na_conv2d_t *p) {
  for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
    const int32_t left = s->channels - channel;
    const int32_t outputs = left < NA_LANES ? left : NA_LANES;
    uint32_t sum[NA_LANES];
    for (int32_t j = 0; j < NA_LANES; j++) sum[j] = begin[channel + j];
    sum_runs(sum, w, s, p, channel, outputs, !w->whole);
    store(output, sum, s, p, channel, outputs);
  }
}

static void do_slice(const slice_t *s, const int8_t *input, int8_t *output, const na_conv2d_t *p) {
  int8_t gathered[BUFFER];
  uint32_t begin[SLICE]; /* bias and what the offset adds */
  const int32_t in_place = s->joined && p->kernel_height == 1;

  for (int32_t c = 0; c < s->channels; c++)
    begin[c] = (s->bias ? (uint32_t)s->bias[c] : 0u) +
               (uint32_t)p->input_offset * na_sum(s->filter + c * s->filter_size, s->filter_size);
  for (int32_t c = s->channels; c % NA_LANES; c++) begin[c] = 0u;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * s->input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        const window_t w = window_at(s, p, input, rows, x);
        if (in_place && w.whole) {
          do_run(w.input, s, begin, output, p);
        } else if (s->filter_size <= BUFFER) {
          gather(gathered, &w, s, p);
          do_run(gathered, s, begin, output, p);
        } else {
          do_runs(&w, s, begin, output, p);
        }
      }
    }
  }
}

void na_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t per_group = p->output_channels / (p->input_channels / p->kernel_channels);
  slice_t s;
  s.filter_row = p->kernel_width * p->kernel_channels;
  s.filter_size = p->kernel_height * s.filter_row;
  s.input_row = p->input_width * p->input_channels;
  s.joined = p->dilation_width == 1 && p->kernel_channels == p->input_channels;

  for (int32_t first = 0; first < p->output_channels; first += s.channels) {
    const int32_t group = first / per_group;
    const int32_t left = (group + 1) * per_group - first;
    s.channels = left < SLICE ? left : SLICE;
    s.filter = filter + first * s.filter_size;
    s.bias = bias ? bias + first : bias;
    s.multiplier = multiplier + first;
    s.shift = shift + first;
    do_slice(&s, input + group * p->kernel_channels, output + first, p);
  }
}
