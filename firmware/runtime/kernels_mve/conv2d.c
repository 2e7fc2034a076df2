/* CONV_2D with MVE, also dilated and grouped.
 *
 * sum((x + offset) * f) is sum(x * f) + offset * sum(f): the products are those of the stored bytes, and what the offset
 * adds is the same for all windows, if what lies outside the input reads as -offset. So a window is gathered into a
 * buffer first, with its outside filled in, which also makes one run of many short ones. A window of one whole run is
 * read where it is; a large one is gathered and summed in parts.
 *
 * Two neighboring windows are done at once, with two filters at once.
 */
#include <stddef.h>

#include "../kernels/window.h"
#include "loops.h"
#include "mve.h"
#include "neuralart_kernels.h"

enum {
  /* Output channels that are done for all positions before the next ones, at most; a multiple of NA_LANES. */
  SLICE = 64,
  PART = 1152 /* bytes of a window that are gathered at once, at most: 3 x 3 of 128 channels */
};

/* What two neighboring output channels need. The factors stand twice: for two windows. */
typedef struct {
  int32_t begin[2]; /* bias and what the offset adds */
  int32_t multiplier[NA_LANES], shift[NA_LANES];
} pair_t;

/* Output channels of one group. Addresses are those of its first input channel and of its first output channel. */
typedef struct {
  const int8_t *filter;
  const int32_t *bias, *multiplier, *shift;
  int32_t channels;
  int32_t filter_row, filter_size;
  int32_t input_row;
  int32_t joined; /* taps of a row are neighbors in the input */
  int32_t paired; /* two windows at once */
  /* Positions whose windows are inside with all of their columns. */
  int32_t whole_first, whole_end;
  int32_t begin[SLICE + 2];
  pair_t pairs[SLICE / 2];
} slice_t;

/* The taps inside the input, and where the first of them is. */
typedef struct {
  const int8_t *input;
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
  if (w.inside)
    w.input += (rows.origin + rows.first * p->dilation_height) * s->input_row +
               (w.columns.origin + w.columns.first * p->dilation_width) * p->input_channels;
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
      na_take(to, row, columns * depth);
      to += columns * depth;
    } else {
      const int8_t *tap = row;
      for (int32_t kx = 0; kx < columns; kx++, tap += p->dilation_width * p->input_channels, to += depth)
        na_take(to, tap, depth);
    }
    na_fill(to, outside, right);
    to += right;
  }
  na_fill(to, outside, (p->kernel_height - w->rows.end) * s->filter_row);
}

/* The same of a window without edges whose taps are no neighbors. */
static __attribute__((noinline)) void take_taps(int8_t *to, const int8_t *row, const slice_t *s, const na_conv2d_t *p) {
  const int32_t depth = p->kernel_channels, step = p->dilation_width * p->input_channels;
  for (int32_t ky = p->kernel_height; ky > 0; ky--, row += p->dilation_height * s->input_row) {
    const int8_t *tap = row;
    for (int32_t kx = p->kernel_width; kx > 0; kx--, tap += step, to += depth) na_take(to, tap, depth);
  }
}

/* Bytes first .. first + count - 1 of a window, in the order of the filter. */
static __attribute__((noinline)) void gather_part(int8_t *to, const window_t *w, const slice_t *s, const na_conv2d_t *p,
                                                  int32_t first, int32_t count) {
  const int32_t depth = p->kernel_channels;
  int32_t ky = first / s->filter_row, kx = first % s->filter_row / depth, skip = first % depth;
  while (count > 0) {
    const int32_t run = depth - skip < count ? depth - skip : count;
    if (ky >= w->rows.first && ky < w->rows.end && kx >= w->columns.first && kx < w->columns.end)
      na_take(to,
              w->input + (ky - w->rows.first) * p->dilation_height * s->input_row +
                  (kx - w->columns.first) * p->dilation_width * p->input_channels + skip,
              run);
    else
      na_fill(to, (int8_t)-p->input_offset, run);
    to += run, count -= run, skip = 0;
    if (++kx == p->kernel_width) kx = 0, ky++;
  }
}

/* Stores the outputs of neighboring channels: four, or what is left. */
static inline void store(int8_t *output, int32x4_t sum, const slice_t *s, const na_conv2d_t *p, int32_t channel,
                         int32_t left) {
  const mve_pred16_t lanes = vctp32q((uint32_t)left);
  const int32x4_t scaled =
      na_scale_x4(sum, vldrwq_z_s32(s->multiplier + channel, lanes), vldrwq_z_s32(s->shift + channel, lanes));
  vstrbq_p_s32(output + channel, na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max), lanes);
}

/* A window that is one run: in place, or gathered. Not inlined into the loop over positions: both want all registers.
 */
static __attribute__((noinline)) void do_run(const int8_t *window, const slice_t *s, int8_t *output,
                                             const na_conv2d_t *p) {
  for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
    const int32_t left = s->channels - channel, size = s->filter_size;
    const int8_t *const f0 = s->filter + channel * size, *const f1 = left > 1 ? f0 + size : f0;
    const int8_t *const f2 = left > 2 ? f1 + size : f1, *const f3 = left > 3 ? f2 + size : f2;
    store(output, na_dot_four(window, f0, f1, f2, f3, s->begin + channel, size), s, p, channel, left);
  }
}

/* The only window of a layer: sums of filters are not worth a loop of their own. */
static void do_one(const int8_t *window, slice_t *s, int8_t *output, const na_conv2d_t *p) {
  const int32_t size = s->filter_size;
  for (int32_t channel = 0; channel < s->channels; channel += 3) {
    const int32_t left = s->channels - channel;
    const int8_t *const f0 = s->filter + channel * size, *const f1 = left > 1 ? f0 + size : f0;
    const na_sums_t sums = na_sum_three(window, f0, f1, left > 2 ? f1 + size : f1, size);
    int32_t *const to = s->begin + channel;
    to[0] = (int32_t)((uint32_t)sums.product0 + (uint32_t)p->input_offset * (uint32_t)sums.filter0);
    to[1] = (int32_t)((uint32_t)sums.product1 + (uint32_t)p->input_offset * (uint32_t)sums.filter1);
    to[2] = (int32_t)((uint32_t)sums.product2 + (uint32_t)p->input_offset * (uint32_t)sums.filter2);
  }
  for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
    int32x4_t sum = vld1q_s32(s->begin + channel);
    const int32_t left = s->channels - channel;
    if (s->bias) sum = vaddq_s32(sum, vldrwq_z_s32(s->bias + channel, vctp32q((uint32_t)left)));
    store(output, sum, s, p, channel, left);
  }
}

/* A loop over two windows and two filters: four loads are for four products, whose sums go into `sums`. */
/* clang-format off */
#define FOUR_PRODUCTS \
  "1:\n" \
  "vldrb.u8 %q[sums], [%[x0]], #16\n" \
  "vldrb.u8 q1, [%[f0]], #16\n" \
  "vmladava.s8 %[s00], %q[sums], q1\n" \
  "vldrb.u8 q2, [%[f1]], #16\n" \
  "vmladava.s8 %[s01], %q[sums], q2\n" \
  "vldrb.u8 q3, [%[x1]], #16\n" \
  "vmladava.s8 %[s10], q3, q1\n" \
  "vmladava.s8 %[s11], q3, q2\n" \
  "letp lr, 1b\n" \
  "vmov %e[sums], %[s00], %[s01]\n" \
  "vmov %f[sums], %[s10], %[s11]\n"
/* clang-format on */

/* Two windows that are runs, of neighboring positions. */
typedef struct {
  const int8_t *first, *second;
} two_t;

/* {first * f0, first * f1, second * f0, second * f1}: f1 is behind f0. Filter and pair
 * move on to the next two. What the loop needs is set up here, too, where gcc would keep copies of all of it. */
static inline int32x4_t sum_two(const two_t *two, const int8_t **filter, const pair_t **pair, int32_t size) {
  const int8_t *x0, *x1, *f0, *f1;
  int32_t s00, s01, s10, s11;
  int32x4_t sums;
  __asm__ volatile(
      "ldrd %[x0], %[x1], %[two]\n"
      "ldrd %[s00], %[s01], [%[pair]], %[next]\n"
      "mov %[f0], %[f]\n"
      "add %[f1], %[f], %[size]\n"
      "add %[f], %[f1], %[size]\n"
      "mov %[s10], %[s00]\n"
      "mov %[s11], %[s01]\n"
      "dlstp.8 lr, %[size]\n" FOUR_PRODUCTS
      : [x0] "=&r"(x0), [x1] "=&r"(x1), [f0] "=&r"(f0), [f1] "=&r"(f1), [s00] "=&Te"(s00), [s01] "=&Te"(s01),
        [s10] "=&Te"(s10), [s11] "=&Te"(s11), [sums] "=&w"(sums), [f] "+r"(*filter), [pair] "+r"(*pair)
      : [size] "r"(size), [two] "m"(*two), [next] "i"(sizeof(pair_t))
      : "lr", "q1", "q2", "q3", "memory");
  return sums;
}

/* Limits and zero point of the output in all lanes, and where four outputs go. */
typedef struct {
  int32x4_t zero_point, low, high;
  uint32x4_t places;
} output_t;

static inline void store_two(int8_t *output, int32x4_t sum, const pair_t *pair, output_t o) {
  const int32x4_t scaled = na_scale_down_x4(sum, vld1q_s32(pair->multiplier), vld1q_s32(pair->shift));
  const int32x4_t value = vminq_s32(vmaxq_s32(vaddq_s32(scaled, o.zero_point), o.low), o.high);
  vstrbq_scatter_offset_s32(output, o.places, value);
}

static __attribute__((noinline)) void do_two(const int8_t *first, const int8_t *second, const slice_t *s,
                                             int8_t *output, const na_conv2d_t *p) {
  const two_t two = {first, second};
  const uint32_t next = (uint32_t)p->output_channels, places[NA_LANES] = {0, 1, next, next + 1};
  const output_t o = {vdupq_n_s32(p->output_offset), vdupq_n_s32(p->activation_min), vdupq_n_s32(p->activation_max),
                      vld1q_u32(places)};
  const int32_t size = s->filter_size;
  const int8_t *f = s->filter;
  const pair_t *pair = s->pairs, *const end = pair + s->channels / 2;
  for (; pair != end; output += 2) {
    const int32x4_t sum = sum_two(&two, &f, &pair, size);
    store_two(output, sum, pair - 1, o);
  }
  if (s->channels % 2) {
    /* The last channel, and the one before again. */
    f -= size;
    const int32x4_t sum = sum_two(&two, &f, &pair, size);
    store_two(output - 1, sum, pair - 1, o);
  }
}

/* `several`: there is more than one window. */
static void prepare(slice_t *s, const na_conv2d_t *p, int32_t several) {
  const uint32_t offset = (uint32_t)p->input_offset;
  for (int32_t c = 0; c < s->channels; c++)
    s->begin[c] = (int32_t)((s->bias ? (uint32_t)s->bias[c] : 0u) +
                            offset * (uint32_t)na_total(s->filter + c * s->filter_size, s->filter_size));
  for (int32_t c = s->channels; c % NA_LANES; c++) s->begin[c] = 0;
  s->paired = several && s->channels > 1 && na_all_negative(s->shift, s->channels);
  if (!s->paired) return;
  for (int32_t c = 0; c < s->channels; c += 2) {
    pair_t *pair = &s->pairs[c / 2];
    for (int32_t j = 0; j < 2; j++) {
      const int32_t channel = c + 1 < s->channels ? c + j : c - 1 + j;
      pair->begin[j] = s->begin[channel];
      pair->multiplier[j] = pair->multiplier[j + 2] = s->multiplier[channel];
      pair->shift[j] = pair->shift[j + 2] = s->shift[channel];
    }
  }
}

/* Windows of one tap, and as many as there are places: one run after the other. */
static void do_points(const slice_t *s, const int8_t *input, int8_t *output, const na_conv2d_t *p) {
  int32_t left = p->batches * p->output_height * p->output_width;
  const int32_t in = p->input_channels, out = p->output_channels;
  if (s->paired)
    for (; left > 1; left -= 2, input += 2 * in, output += 2 * out) do_two(input, input + in, s, output, p);
  for (; left > 0; left--, input += in, output += out) do_run(input, s, output, p);
}

/* Windows of at most PART bytes. */
static void do_windows(const slice_t *s, const int8_t *input, int8_t *output, const na_conv2d_t *p) {
  int8_t gathered[2 * PART];
  const int32_t in_place = s->joined && p->kernel_height == 1;
  const int8_t *waiting = NULL; /* the window of the last position, if it is not done */

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * s->input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      const int32_t all_rows = rows.end - rows.first == p->kernel_height;
      const int8_t *row = input + rows.origin * s->input_row - p->pad_left * p->input_channels;
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        int8_t *free = waiting ? gathered + s->filter_size : gathered;
        const int8_t *here = free;
        if (all_rows && x >= s->whole_first && x < s->whole_end) {
          const int8_t *from = row + x * p->stride_width * p->input_channels;
          if (in_place)
            here = from;
          else if (!s->joined)
            take_taps(free, from, s, p);
          else
            for (int32_t ky = p->kernel_height; ky > 0;
                 ky--, from += p->dilation_height * s->input_row, free += s->filter_row)
              na_take(free, from, s->filter_row);
        } else {
          const window_t w = window_at(s, p, input, rows, x);
          if (in_place && w.whole)
            here = w.input;
          else
            gather(free, &w, s, p);
        }
        if (!s->paired) {
          do_run(here, s, output, p);
        } else if (waiting) {
          do_two(waiting, here, s, output - p->output_channels, p);
          waiting = NULL;
        } else {
          waiting = here;
        }
      }
    }
  }
  if (waiting) do_run(waiting, s, output - p->output_channels, p);
}

/* ---- larger windows */

/* Adds the products of a part of two windows with two filters to {first * f0, first * f1, second * f0, second * f1}. */
static inline int32x4_t add_two(int32x4_t sums, const int8_t *x0, const int8_t *x1, const int8_t *f0, const int8_t *f1,
                                int32_t count) {
  int32_t s00, s01, s10, s11;
  __asm__ volatile(
      "vmov %[s00], %[s01], %e[sums]\n"
      "vmov %[s10], %[s11], %f[sums]\n"
      "dlstp.8 lr, %[count]\n" FOUR_PRODUCTS
      : [x0] "+r"(x0), [x1] "+r"(x1), [f0] "+r"(f0), [f1] "+r"(f1), [s00] "=&Te"(s00), [s01] "=&Te"(s01),
        [s10] "=&Te"(s10), [s11] "=&Te"(s11), [sums] "+w"(sums)
      : [count] "r"(count)
      : "lr", "q1", "q2", "q3", "memory");
  return sums;
}

/* Two windows, part by part. The sums of all channels wait while a part is done. */
static void two_in_parts(const window_t windows[2], const slice_t *s, int8_t *output, const na_conv2d_t *p) {
  int8_t first[PART], second[PART];
  int32x4_t sums[SLICE / 2];
  const uint32_t next = (uint32_t)p->output_channels, places[NA_LANES] = {0, 1, next, next + 1};
  const output_t o = {vdupq_n_s32(p->output_offset), vdupq_n_s32(p->activation_min), vdupq_n_s32(p->activation_max),
                      vld1q_u32(places)};
  for (int32_t done = 0; done < s->filter_size; done += PART) {
    const int32_t left = s->filter_size - done, count = left < PART ? left : PART;
    gather_part(first, &windows[0], s, p, done, count);
    gather_part(second, &windows[1], s, p, done, count);
    for (int32_t c = 0; c < s->channels; c += 2) {
      /* The last channel of an odd number, and the one before again. */
      const int32_t channel = c + 1 < s->channels ? c : c - 1;
      const int8_t *const filter = s->filter + channel * s->filter_size + done;
      const pair_t *const pair = &s->pairs[c / 2];
      const int32_t begin[NA_LANES] = {pair->begin[0], pair->begin[1], pair->begin[0], pair->begin[1]};
      const int32x4_t sum =
          add_two(done ? sums[c / 2] : vld1q_s32(begin), first, second, filter, filter + s->filter_size, count);
      if (count == left)
        store_two(output + channel, sum, pair, o);
      else
        sums[c / 2] = sum;
    }
  }
}

/* The same of one window, four channels at once. */
static void one_in_parts(const window_t *w, const slice_t *s, int8_t *output, const na_conv2d_t *p) {
  int8_t gathered[PART];
  int32_t sums[SLICE];
  for (int32_t done = 0; done < s->filter_size; done += PART) {
    const int32_t rest = s->filter_size - done, count = rest < PART ? rest : PART;
    gather_part(gathered, w, s, p, done, count);
    for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
      const int32_t left = s->channels - channel, size = s->filter_size;
      const int8_t *const f0 = s->filter + channel * size + done, *const f1 = left > 1 ? f0 + size : f0;
      const int8_t *const f2 = left > 2 ? f1 + size : f1, *const f3 = left > 3 ? f2 + size : f2;
      const int32x4_t sum = na_dot_four(gathered, f0, f1, f2, f3, (done ? sums : s->begin) + channel, count);
      if (count == rest)
        store(output, sum, s, p, channel, left);
      else
        vst1q_s32(sums + channel, sum);
    }
  }
}

static void do_large(const slice_t *s, const int8_t *input, int8_t *output, const na_conv2d_t *p) {
  window_t windows[2];
  int32_t waiting = 0; /* the window of the last position is not done */

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * s->input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        windows[waiting] = window_at(s, p, input, rows, x);
        if (!s->paired) {
          one_in_parts(windows, s, output, p);
        } else if (waiting) {
          two_in_parts(windows, s, output - p->output_channels, p);
          waiting = 0;
        } else {
          waiting = 1;
        }
      }
    }
  }
  if (waiting) one_in_parts(windows, s, output - p->output_channels, p);
}

void na_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t per_group = p->output_channels / (p->input_channels / p->kernel_channels);
  const int32_t reach = p->input_width - 1 - (p->kernel_width - 1) * p->dilation_width + p->pad_left;
  const int32_t points = p->kernel_height == 1 && p->kernel_width == 1 && p->stride_height == 1 &&
                         p->stride_width == 1 && p->pad_top == 0 && p->pad_left == 0 &&
                         p->output_height == p->input_height && p->output_width == p->input_width &&
                         p->kernel_channels == p->input_channels;
  const int32_t windows = p->batches * p->output_height * p->output_width;
  slice_t s;
  s.filter_row = p->kernel_width * p->kernel_channels;
  s.filter_size = p->kernel_height * s.filter_row;
  s.input_row = p->input_width * p->input_channels;
  s.joined = p->dilation_width == 1 && p->kernel_channels == p->input_channels;
  s.whole_first = (p->pad_left + p->stride_width - 1) / p->stride_width;
  s.whole_end = reach < 0 ? 0 : reach / p->stride_width + 1;

  for (int32_t first = 0; first < p->output_channels; first += s.channels) {
    const int32_t group = first / per_group;
    const int32_t left = (group + 1) * per_group - first;
    s.channels = left < SLICE ? left : SLICE;
    s.filter = filter + first * s.filter_size;
    s.bias = bias ? bias + first : bias;
    s.multiplier = multiplier + first;
    s.shift = shift + first;
    if (points && windows == 1) {
      do_one(input, &s, output + first, p);
    } else {
      prepare(&s, p, windows > 1);
      (points                  ? do_points
       : s.filter_size <= PART ? do_windows
                               : do_large)(&s, input + group * p->kernel_channels, output + first, p);
    }
  }
}
