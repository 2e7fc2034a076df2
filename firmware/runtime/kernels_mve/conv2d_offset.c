/* CONV_2D and DEPTHWISE_CONV_2D with MVE and a filter that has a zero point, also dilated and grouped.
 *
 * sum((x + xo) * (f + fo)) = sum(x * f) + xo * sum(f) + fo * sum(x + xo), over a whole window whose outside reads as
 * -xo: the first sum is that of the stored bytes, the second is the same for all windows, the third for all output
 * channels of a group. A window that is one run and all inside is read where it is; others are gathered, in parts if
 * they are large.
 */
#include "mve.h"

#include "../kernels/window.h"
#include "neuralart_kernels.h"

enum {
  SLICE = 64,   /* output channels that are done for all positions before the next ones, at most */
  BUFFER = 1152 /* bytes of a window that are gathered at once, at most: 3 x 3 of 128 channels */
};

typedef struct {
  const int8_t *input; /* of the picture and the group */
  na_taps_t rows, columns;
} window_t;

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* Values first .. first + count - 1 of a window, in the order of a filter. */
static __attribute__((noinline)) void gather(int8_t *to, const window_t *w, int32_t first, int32_t count,
                                             const na_conv2d_t *c) {
  const int8_t outside = (int8_t)-c->input_offset;
  const int32_t depth = c->kernel_channels, row = c->kernel_width * depth;
  const int32_t joined = c->dilation_width == 1 && depth == c->input_channels;
  int32_t ky = first / row, at = first % row;
  while (count > 0) {
    const int32_t inside = ky >= w->rows.first && ky < w->rows.end && w->columns.first < w->columns.end;
    const int32_t left = w->columns.first * depth, right = w->columns.end * depth;
    const int32_t source = (w->rows.origin + ky * c->dilation_height) * c->input_width + w->columns.origin;
    int32_t n;
    if (!inside || at >= right) {
      n = smaller(row - at, count);
      na_fill(to, outside, n);
    } else if (at < left) {
      n = smaller(left - at, count);
      na_fill(to, outside, n);
    } else if (joined) {
      n = smaller(right - at, count);
      na_copy(to, w->input + source * depth + at, n);
    } else {
      const int32_t kx = at / depth, channel = at % depth;
      n = smaller(depth - channel, count);
      na_copy(to, w->input + (source + kx * c->dilation_width) * c->input_channels + channel, n);
    }
    to += n, count -= n, at += n;
    if (at == row) at = 0, ky++;
  }
}

/* A window's outputs of up to SLICE channels. `place`: where its values are side by side, or NULL. */
static __attribute__((noinline)) void do_window(const window_t *w, const int8_t *place, const int8_t *filter,
                                                const int32_t *multiplier, const int32_t *shift, const uint32_t *begin,
                                                int32_t channels, int8_t *output, const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const int32_t size = c->kernel_height * c->kernel_width * c->kernel_channels;
  int8_t gathered[BUFFER];
  uint32_t sums[SLICE];
  for (int32_t j = 0; j < channels; j += NA_LANES) vst1q_u32(sums + j, vld1q_u32(begin + j));
  uint32_t values = 0;
  for (int32_t first = 0; first < size; first += BUFFER) {
    const int32_t count = place ? size : smaller(size - first, BUFFER);
    const int8_t *run = place;
    if (!place) {
      gather(gathered, w, first, count, c);
      run = gathered;
    }
    values += na_sum(run, count);
    for (int32_t j = 0; j < channels; j += NA_LANES)
      na_dot_x4(sums + j, run, filter + j * size + first, size, smaller(channels - j, NA_LANES), count);
    if (place) break;
  }
  const int32_t common = (int32_t)((uint32_t)p->filter_offset * (values + (uint32_t)(size * c->input_offset)));
  for (int32_t j = 0; j < channels; j += NA_LANES) {
    const mve_pred16_t lanes = vctp32q((uint32_t)(channels - j));
    const int32x4_t sum = vaddq_n_s32(vreinterpretq_s32_u32(vldrwq_z_u32(sums + j, lanes)), common);
    const int32x4_t scaled =
        na_scale_x4(sum, vldrwq_z_s32(multiplier + j, lanes), vldrwq_z_s32(shift + j, lanes));
    vstrbq_p_s32(output + j, na_output_x4(scaled, c->output_offset, c->activation_min, c->activation_max), lanes);
  }
}

void na_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                         const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const int32_t depth = c->kernel_channels, size = c->kernel_height * c->kernel_width * depth;
  const int32_t per_group = c->output_channels / (c->input_channels / depth);
  const int32_t input_row = c->input_width * c->input_channels;
  const int32_t joined = c->dilation_width == 1 && depth == c->input_channels;
  const int32_t one_run = c->kernel_height == 1 && (c->kernel_width == 1 || joined);
  int32_t channels;
  for (int32_t first = 0; first < c->output_channels; first += channels) {
    const int32_t group = first / per_group;
    uint32_t begin[SLICE] = {0}; /* bias and what the input's offset adds */
    channels = smaller((group + 1) * per_group - first, SLICE);
    for (int32_t j = 0; j < channels; j++)
      begin[j] = (bias ? (uint32_t)bias[first + j] : 0u) +
                 (uint32_t)c->input_offset * na_sum(filter + (first + j) * size, size);
    window_t w;
    w.input = input + group * depth;
    int8_t *to = output + first;
    for (int32_t batch = 0; batch < c->batches; batch++, w.input += c->input_height * input_row) {
      for (int32_t y = 0; y < c->output_height; y++) {
        w.rows = na_taps(y, c->stride_height, c->pad_top, c->dilation_height, c->kernel_height, c->input_height);
        for (int32_t x = 0; x < c->output_width; x++, to += c->output_channels) {
          w.columns = na_taps(x, c->stride_width, c->pad_left, c->dilation_width, c->kernel_width, c->input_width);
          const int32_t whole = w.rows.end - w.rows.first == c->kernel_height &&
                                w.columns.end - w.columns.first == c->kernel_width;
          const int8_t *place = 0;
          if (one_run && whole) place = w.input + w.rows.origin * input_row + w.columns.origin * c->input_channels;
          do_window(&w, place, filter + first * size, multiplier + first, shift + first, begin, channels, to, p);
        }
      }
    }
  }
}

/* ---- depthwise */

typedef struct {
  const int8_t *input, *filter; /* of the first tap inside */
  int32_t rows, columns;        /* taps inside */
  int32_t input_row_step, input_step, filter_row_step, filter_step;
} inside_t;

enum { PAIR = 8 }; /* neighboring channels that are summed together: the even and the odd ones in a register each */

static int8x16_t output_of(int32x4_t even, int32x4_t odd, const int32_t *multiplier, const int32_t *shift,
                           const na_conv2d_t *c) {
  const int32x4x2_t m = vld2q_s32(multiplier), s = vld2q_s32(shift);
  even = na_scale_x4(even, m.val[0], s.val[0]);
  odd = na_scale_x4(odd, m.val[1], s.val[1]);
  even = na_output_x4(even, c->output_offset, c->activation_min, c->activation_max);
  odd = na_output_x4(odd, c->output_offset, c->activation_min, c->activation_max);
  return vreinterpretq_s8_s16(vmovntq_s32(vreinterpretq_s16_s32(even), odd));
}

/* Eight channels of a layer with a filter for each input channel. */
static void eight(const inside_t *w, int32_t channel, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  int32x4_t even = vdupq_n_s32(0), odd = even;
  if (bias) {
    const int32x4x2_t both = vld2q_s32(bias + channel);
    even = both.val[0], odd = both.val[1];
  }
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int16x8_t x = vaddq_n_s16(vldrbq_s16(input), (int16_t)p->window.input_offset);
      const int16x8_t f = vaddq_n_s16(vldrbq_s16(filter), (int16_t)p->filter_offset);
      even = vaddq_s32(even, vmullbq_int_s16(x, f));
      odd = vaddq_s32(odd, vmulltq_int_s16(x, f));
    }
  }
  const int8x16_t made = output_of(even, odd, multiplier + channel, shift + channel, &p->window);
  vstrbq_s16(output, vreinterpretq_s16_s8(made));
}

/* Up to four channels; each lane takes its input channel. */
static void four(const inside_t *w, int32_t channel, int32_t outputs, int32_t times, const int32_t *bias,
                 const int32_t *multiplier, const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const mve_pred16_t lanes = vctp32q((uint32_t)outputs);
  uint32_t from[NA_LANES] = {0};
  for (int32_t j = 0; j < outputs; j++) from[j] = (uint32_t)((channel + j) / times);
  const uint32x4_t input_channels = vld1q_u32(from);
  int32x4_t sum = bias ? vldrwq_z_s32(bias + channel, lanes) : vdupq_n_s32(0);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int32x4_t x = vaddq_n_s32(vldrbq_gather_offset_z_s32(input, input_channels, lanes), c->input_offset);
      sum = vaddq_s32(sum, vmulq_s32(x, vaddq_n_s32(vldrbq_z_s32(filter, lanes), p->filter_offset)));
    }
  }
  sum = na_scale_x4(sum, vldrwq_z_s32(multiplier + channel, lanes), vldrwq_z_s32(shift + channel, lanes));
  vstrbq_p_s32(output, na_output_x4(sum, c->output_offset, c->activation_min, c->activation_max), lanes);
}

void na_depthwise_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                   const na_conv2d_offset_t *p) {
  const na_conv2d_t *c = &p->window;
  const int32_t input_row = c->input_width * c->input_channels;
  const int32_t filter_row = c->kernel_width * c->output_channels;
  const int32_t times = c->output_channels / c->input_channels;
  inside_t w = {0};
  w.input_row_step = c->dilation_height * input_row;
  w.input_step = c->dilation_width * c->input_channels;
  w.filter_row_step = filter_row;
  w.filter_step = c->output_channels;

  for (int32_t batch = 0; batch < c->batches; batch++, input += c->input_height * input_row) {
    for (int32_t y = 0; y < c->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, c->stride_height, c->pad_top, c->dilation_height, c->kernel_height, c->input_height);
      for (int32_t x = 0; x < c->output_width; x++, output += c->output_channels) {
        const na_taps_t columns =
            na_taps(x, c->stride_width, c->pad_left, c->dilation_width, c->kernel_width, c->input_width);
        w.rows = rows.end - rows.first;
        w.columns = columns.end - columns.first;
        if (w.columns <= 0) w.rows = 0;
        if (w.rows > 0) {
          w.input = input + (rows.origin + rows.first * c->dilation_height) * input_row +
                    (columns.origin + columns.first * c->dilation_width) * c->input_channels;
          w.filter = filter + rows.first * filter_row + columns.first * c->output_channels;
        }
        int32_t channel = 0;
        if (times == 1)
          for (; channel + PAIR <= c->output_channels; channel += PAIR)
            eight(&w, channel, bias, multiplier, shift, output + channel, p);
        for (; channel < c->output_channels; channel += NA_LANES)
          four(&w, channel, smaller(c->output_channels - channel, NA_LANES), times, bias, multiplier, shift,
               output + channel, p);
      }
    }
  }
}
