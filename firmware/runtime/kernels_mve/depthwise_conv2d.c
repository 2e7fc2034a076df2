/* DEPTHWISE_CONV_2D with MVE, also dilated and with a depth multiplier.
 *
 * The usual layers are done sixteen channels at a time (see `block_t`), all others eight or four at a time.
 */
#include "../kernels/window.h"
#include "loops.h"
#include "mve.h"
#include "neuralart_kernels.h"

/* Neighboring channels that are summed together: the even ones and the odd ones in a register each. */
enum { PAIR = 8 };

typedef struct {
  const int8_t *input, *filter; /* of the first tap inside */
  int32_t rows, columns;        /* taps inside */
  int32_t input_row_step, input_step, filter_row_step, filter_step;
  int32_t offset;
} window_t;

/* Channels channel .. channel + 7 of a layer with a filter for each input channel. */
static void eight(const window_t *w, int32_t channel, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  int32x4_t even = vdupq_n_s32(0), odd = even;
  if (bias) {
    const int32x4x2_t both = vld2q_s32(bias + channel);
    even = both.val[0], odd = both.val[1];
  }
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step + channel;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int16x8_t x = vaddq_n_s16(vldrbq_s16(input), (int16_t)w->offset);
      const int16x8_t f = vldrbq_s16(filter);
      even = vaddq_s32(even, vmullbq_int_s16(x, f));
      odd = vaddq_s32(odd, vmulltq_int_s16(x, f));
    }
  }
  const int32x4x2_t m = vld2q_s32(multiplier + channel), s = vld2q_s32(shift + channel);
  even = na_scale_x4(even, m.val[0], s.val[0]);
  odd = na_scale_x4(odd, m.val[1], s.val[1]);
  even = na_output_x4(even, p->output_offset, p->activation_min, p->activation_max);
  odd = na_output_x4(odd, p->output_offset, p->activation_min, p->activation_max);
  /* The odd ones go into the upper halves of the even ones. */
  vstrbq_s16(output, vmovntq_s32(vreinterpretq_s16_s32(even), odd));
}

/* Up to four channels; each lane takes its input channel. */
static void four(const window_t *w, int32_t channel, int32_t outputs, int32_t depth_multiplier, const int32_t *bias,
                 const int32_t *multiplier, const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const mve_pred16_t lanes = vctp32q((uint32_t)outputs);
  uint32_t from[NA_LANES] = {0};
  for (int32_t j = 0; j < outputs; j++) from[j] = (uint32_t)((channel + j) / depth_multiplier);
  const uint32x4_t input_channels = vld1q_u32(from);
  int32x4_t sum = bias ? vldrwq_z_s32(bias + channel, lanes) : vdupq_n_s32(0);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const int8_t *input = w->input + ky * w->input_row_step;
    const int8_t *filter = w->filter + ky * w->filter_row_step + channel;
    for (int32_t kx = w->columns; kx > 0; kx--, input += w->input_step, filter += w->filter_step) {
      const int32x4_t x = vaddq_n_s32(vldrbq_gather_offset_z_s32(input, input_channels, lanes), w->offset);
      sum = vaddq_s32(sum, vmulq_s32(x, vldrbq_z_s32(filter, lanes)));
    }
  }
  sum = na_scale_x4(sum, vldrwq_z_s32(multiplier + channel, lanes), vldrwq_z_s32(shift + channel, lanes));
  vstrbq_p_s32(output, na_output_x4(sum, p->output_offset, p->activation_min, p->activation_max), lanes);
}

/* Eight or four channels at a time. */
static void any(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t input_row = p->input_width * p->input_channels;
  const int32_t filter_row = p->kernel_width * p->output_channels;
  const int32_t depth_multiplier = p->output_channels / p->input_channels;
  window_t w = {0};
  w.input_row_step = p->dilation_height * input_row;
  w.input_step = p->dilation_width * p->input_channels;
  w.filter_row_step = filter_row;
  w.filter_step = p->output_channels;
  w.offset = p->input_offset;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        const na_taps_t columns =
            na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
        w.rows = rows.end - rows.first;
        w.columns = columns.end - columns.first;
        if (w.columns <= 0) w.rows = 0;
        if (w.rows > 0) {
          w.input = input + (rows.origin + rows.first * p->dilation_height) * input_row +
                    (columns.origin + columns.first * p->dilation_width) * p->input_channels;
          w.filter = filter + rows.first * filter_row + columns.first * p->output_channels;
        }
        int32_t channel = 0;
        if (depth_multiplier == 1)
          for (; channel + PAIR <= p->output_channels; channel += PAIR)
            eight(&w, channel, bias, multiplier, shift, output + channel, p);
        for (; channel < p->output_channels; channel += NA_LANES) {
          const int32_t left = p->output_channels - channel;
          four(&w, channel, left < NA_LANES ? left : NA_LANES, depth_multiplier, bias, multiplier, shift,
               output + channel, p);
        }
      }
    }
  }
}

/* ---- sixteen channels at a time */

enum {
  SLICE = 128, /* channels that are done for all positions before the next ones; a multiple of NA_BYTES */
  TAPS = 64
};

/* Sixteen neighboring channels: lane i of part k is channel 4 * i + k. Products of bytes have 16 bits, the even channels
 * and the odd ones in a register each; two of them fit 16 bits as well, unless both filter values are -128. Widening the
 * even and the odd lanes of those makes four parts. */
typedef struct {
  int32_t begin[NA_LANES][NA_LANES]; /* bias and what the offset adds, if all taps count */
  int32_t multiplier[NA_LANES][NA_LANES], shift[NA_LANES][NA_LANES];
} block_t;

typedef struct {
  const int8_t *filter;
  int32_t channels, step; /* of the slice; all of them: from one tap to the next */
  int32_t pairs, single; /* of taps: those that are added in pairs, then the others */
  int32_t zero_point, low, high;
  block_t blocks[SLICE / NA_BYTES];
} slice_t;

/* clang-format off */
/* Adds the products of all pairs of taps. The input of the second is loaded twice: there are just eight registers, and
 * four of them hold sums. `begin` and `end` set the predicate and put it back, which gcc has no name for; `two` and `one`
 * are in front of that many loads that it is for. */
#define PAIRS_OF_TAPS(load, begin, end, two, one)                                                                      \
  do {                                                                                                                 \
    int32_t place0, place1, saved;                                                                                     \
    int8x16_t x, f, even, other;                                                                                       \
    __asm__ volatile(                                                                                                  \
        begin "wls lr, %[pairs], 2f\n"                                                                                 \
        "1:\n"                                                                                                         \
        "ldrd %[place0], %[place1], [%[places]], #8\n"                                                                 \
        "add %[place0], %[place0], %[input]\n"                                                                         \
        "add %[place1], %[place1], %[input]\n"                                                                         \
        two load "%q[x], [%[place0]]\n"                                                                                \
        load "%q[f], [%[filter]]\n"                                                                                    \
        "add %[filter], %[filter], %[step]\n"                                                                          \
        "vmullb.s8 %q[even], %q[x], %q[f]\n"                                                                           \
        "vmullt.s8 %q[x], %q[x], %q[f]\n"                                                                              \
        two load "%q[f], [%[filter]]\n"                                                                                \
        load "%q[other], [%[place1]]\n"                                                                                \
        "add %[filter], %[filter], %[step]\n"                                                                          \
        "vmullb.s8 %q[other], %q[other], %q[f]\n"                                                                      \
        "vadd.i16 %q[even], %q[even], %q[other]\n"                                                                     \
        one load "%q[other], [%[place1]]\n"                                                                            \
        "vmullt.s8 %q[other], %q[other], %q[f]\n"                                                                      \
        "vadd.i16 %q[x], %q[x], %q[other]\n"                                                                           \
        "vmovlb.s16 %q[other], %q[even]\n"                                                                             \
        "vadd.i32 %q[sum0], %q[sum0], %q[other]\n"                                                                     \
        "vmovlt.s16 %q[other], %q[even]\n"                                                                             \
        "vadd.i32 %q[sum2], %q[sum2], %q[other]\n"                                                                     \
        "vmovlb.s16 %q[other], %q[x]\n"                                                                                \
        "vadd.i32 %q[sum1], %q[sum1], %q[other]\n"                                                                     \
        "vmovlt.s16 %q[other], %q[x]\n"                                                                                \
        "vadd.i32 %q[sum3], %q[sum3], %q[other]\n"                                                                     \
        "le lr, 1b\n"                                                                                                  \
        "2:\n" end                                                                                                     \
        : [places] "+r"(places), [filter] "+r"(filter), [sum0] "+w"(sum0), [sum1] "+w"(sum1), [sum2] "+w"(sum2),       \
          [sum3] "+w"(sum3), [place0] "=&r"(place0), [place1] "=&r"(place1), [saved] "=&r"(saved), [x] "=&w"(x),       \
          [f] "=&w"(f), [even] "=&w"(even), [other] "=&w"(other)                                                       \
        : [input] "r"(input), [step] "r"(s->step), [pairs] "r"(s->pairs), [lanes] "r"(lanes)                           \
        : "lr", "memory");                                                                                             \
  } while (0)
/* clang-format on */

static inline int32x4_t scaled(int32x4_t sum, const block_t *b, int32_t part) {
  return na_scale_down_x4(sum, vld1q_s32(b->multiplier[part]), vld1q_s32(b->shift[part]));
}

/* The lower halves of all lanes, `odd` ones behind `even` ones. */
static inline int16x8_t narrowed(int32x4_t even, int32x4_t odd) {
  return vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(even), even), odd);
}

/* One block of a window. `places` says how far each tap is from `input`. Inactive lanes are zero. */
static inline __attribute__((always_inline)) void block(const int8_t *input, const int32_t *places,
                                                        const int8_t *filter, const block_t *b, const slice_t *s,
                                                        int8_t *output, mve_pred16_t lanes, int32_t all) {
#define LOAD(from) (all ? vld1q_s8(from) : vldrbq_z_s8(from, lanes))
  int32x4_t sum0 = vld1q_s32(b->begin[0]), sum1 = vld1q_s32(b->begin[1]);
  int32x4_t sum2 = vld1q_s32(b->begin[2]), sum3 = vld1q_s32(b->begin[3]);
  if (all)
    PAIRS_OF_TAPS("vldrb.u8 ", "", "", "", "");
  else
    PAIRS_OF_TAPS("vldrbt.u8 ", "vmrs %[saved], p0\nvmsr p0, %[lanes]\n", "vmsr p0, %[saved]\n", "vpstt\n", "vpst\n");
  int32_t single = s->single;
  if (single) {
    do {
      const int8x16_t x = LOAD(input + *places++), f = LOAD(filter);
      filter += s->step;
      const int16x8_t even = vmullbq_int_s8(x, f), odd = vmulltq_int_s8(x, f);
      sum0 = vaddq_s32(sum0, vmovlbq_s16(even));
      sum1 = vaddq_s32(sum1, vmovlbq_s16(odd));
      sum2 = vaddq_s32(sum2, vmovltq_s16(even));
      sum3 = vaddq_s32(sum3, vmovltq_s16(odd));
    } while (--single);
  }
  /* Narrowed with saturation, which no zero point of a byte undoes. */
  const int16x8_t even = vqaddq_n_s16(narrowed(scaled(sum0, b, 0), scaled(sum2, b, 2)), (int16_t)s->zero_point);
  const int16x8_t odd = vqaddq_n_s16(narrowed(scaled(sum1, b, 1), scaled(sum3, b, 3)), (int16_t)s->zero_point);
  int8x16_t value = vqmovntq_s16(vqmovnbq_s16(vreinterpretq_s8_s16(even), even), odd);
  value = vminq_s8(vmaxq_s8(value, vdupq_n_s8((int8_t)s->low)), vdupq_n_s8((int8_t)s->high));
  if (all)
    vst1q_s8(output, value);
  else
    vstrbq_p_s8(output, value, lanes);
#undef LOAD
}

static __attribute__((noinline)) void all_blocks(const int8_t *input, const int32_t *places, const slice_t *s,
                                                 int8_t *output) {
  const int8_t *filter = s->filter;
  const block_t *b = s->blocks;
  int32_t left = s->channels;
  for (; left >= NA_BYTES; left -= NA_BYTES, input += NA_BYTES, filter += NA_BYTES, output += NA_BYTES, b++)
    block(input, places, filter, b, s, output, 0, 1);
  if (left > 0) block(input, places, filter, b, s, output, vctp8q((uint32_t)left), 0);
}

/* Sums of the filters of up to eight channels. */
static inline int16x8_t filter_sums(const int8_t *filter, int32_t step, int32_t taps, uint32_t channels) {
  int16x8_t sum = vdupq_n_s16(0);
  const mve_pred16_t lanes = vctp16q(channels);
  if (channels >= PAIR)
    for (; taps > 0; taps--, filter += step) sum = vaddq_s16(sum, vldrbq_s16(filter));
  else
    for (; taps > 0; taps--, filter += step) sum = vaddq_s16(sum, vldrbq_z_s16(filter, lanes));
  return sum;
}

static void prepare(slice_t *s, const int32_t *bias, const int32_t *multiplier, const int32_t *shift, int32_t offset) {
  const int32_t taps = 2 * s->pairs + s->single;
  static const uint32_t apart[NA_LANES] = {0, 16, 32, 48};
  const uint32x4_t parts = vld1q_u32(apart);
  int16_t sums[PAIR];
  for (int32_t channel = 0; channel < s->channels; channel += NA_LANES) {
    block_t *b = &s->blocks[channel / NA_BYTES];
    const int32_t lane = channel / NA_LANES % NA_LANES, half = channel % PAIR;
    const uint32_t left = (uint32_t)(s->channels - channel);
    const mve_pred16_t lanes = vctp32q(left);
    if (!half) vst1q_s16(sums, filter_sums(s->filter + channel, s->step, taps, left));
    int32x4_t begin = vmulq_n_s32(vldrhq_s32(sums + half), offset);
    if (bias) begin = vaddq_s32(begin, vldrwq_z_s32(bias + channel, lanes));
    vstrwq_scatter_offset_s32(&b->begin[0][lane], parts, begin);
    vstrwq_scatter_offset_s32(&b->multiplier[0][lane], parts, vldrwq_z_s32(multiplier + channel, lanes));
    vstrwq_scatter_offset_s32(&b->shift[0][lane], parts, vldrwq_z_s32(shift + channel, lanes));
  }
}

/* Whether sums of the products of two neighboring taps fit 16 bits: unless both filter values of a channel are -128. */
static int32_t fits(const int8_t *filter, int32_t step, int32_t pairs) {
  int8_t least = INT8_MAX;
  for (; pairs > 0; pairs--, filter += 2 * step)
    for (int32_t i = 0; i < step; i += NA_BYTES) {
      const mve_pred16_t lanes = vctp8q((uint32_t)(step - i));
      const int8x16_t larger = vmaxq_s8(vldrbq_z_s8(filter + i, lanes), vldrbq_z_s8(filter + step + i, lanes));
      least = vminvq_p_s8(least, larger, lanes);
    }
  return least > INT8_MIN;
}

/* How far the taps of a window are from its first one, which may be outside. A tap outside is one of `outside`. */
static void places_at_edge(int32_t *places, const int8_t *first, const int8_t *outside, const na_conv2d_t *p,
                           na_taps_t rows, na_taps_t columns) {
  const int32_t far = (int32_t)((uintptr_t)outside - (uintptr_t)first);
  const int32_t step = p->dilation_width * p->input_channels;
  int32_t row = 0;
  for (int32_t ky = 0; ky < p->kernel_height; ky++, row += p->dilation_height * p->input_width * p->input_channels) {
    const int32_t end = ky >= rows.first && ky < rows.end ? columns.end : 0;
    int32_t here = row;
    for (int32_t kx = 0; kx < p->kernel_width; kx++, here += step)
      *places++ = kx >= columns.first && kx < end ? here : far;
  }
}

static void by_sixteen(const slice_t *s, const int8_t *input, int8_t *output, const na_conv2d_t *p) {
  const int32_t input_row = p->input_width * p->input_channels;
  int8_t outside[SLICE];
  int32_t inner[TAPS], edge[TAPS];
  na_fill(outside, (int8_t)-p->input_offset, s->channels);
  places_at_edge(inner, input, input, p, (na_taps_t){0, 0, p->kernel_height}, (na_taps_t){0, 0, p->kernel_width});
  const int32_t reach = p->input_width - 1 - (p->kernel_width - 1) * p->dilation_width + p->pad_left;
  const int32_t whole_first = (p->pad_left + p->stride_width - 1) / p->stride_width;
  const int32_t whole_end = reach < 0 ? 0 : reach / p->stride_width + 1;

  for (int32_t batch = 0; batch < p->batches; batch++, input += p->input_height * input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      const na_taps_t rows =
          na_taps(y, p->stride_height, p->pad_top, p->dilation_height, p->kernel_height, p->input_height);
      const int32_t all_rows = rows.end - rows.first == p->kernel_height;
      const int8_t *first = input + rows.origin * input_row - p->pad_left * p->input_channels;
      for (int32_t x = 0; x < p->output_width;
           x++, output += p->output_channels, first += p->stride_width * p->input_channels) {
        const int32_t *places = inner;
        if (!all_rows || x < whole_first || x >= whole_end) {
          const na_taps_t columns =
              na_taps(x, p->stride_width, p->pad_left, p->dilation_width, p->kernel_width, p->input_width);
          places_at_edge(edge, first, outside, p, rows, columns);
          places = edge;
        }
        all_blocks(first, places, s, output);
      }
    }
  }
}

static __attribute__((noinline)) void by_channels(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                                  const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                                  const na_conv2d_t *p) {
  const int32_t taps = p->kernel_height * p->kernel_width;
  slice_t s;
  s.step = p->output_channels;
  s.pairs = fits(filter, s.step, taps / 2) ? taps / 2 : 0, s.single = taps - 2 * s.pairs;
  s.zero_point = p->output_offset, s.low = p->activation_min, s.high = p->activation_max;
  if (p->input_channels != p->output_channels || taps > TAPS || !na_all_negative(shift, p->output_channels)) {
    any(input, filter, bias, multiplier, shift, output, p);
    return;
  }
  for (int32_t first = 0; first < p->output_channels; first += SLICE) {
    const int32_t left = p->output_channels - first;
    s.filter = filter + first;
    s.channels = left < SLICE ? left : SLICE;
    prepare(&s, bias ? bias + first : bias, multiplier + first, shift + first, p->input_offset);
    by_sixteen(&s, input + first, output + first, p);
  }
}

/* ---- one input channel */

enum { FILTERS = 1024 }; /* bytes of filters that are turned around, at most */

/* A convolution: what differs is the order of the filter values. */
static __attribute__((noinline)) void as_convolution(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                                     const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                                     const na_conv2d_t *p) {
  const int32_t taps = p->kernel_height * p->kernel_width;
  na_conv2d_t q = *p;
  int8_t turned[FILTERS];
  for (int32_t tap = 0; tap < taps; tap++)
    for (int32_t channel = 0; channel < p->output_channels; channel++) turned[channel * taps + tap] = *filter++;
  q.kernel_channels = 1;
  na_conv2d_s8(input, turned, bias, multiplier, shift, output, &q);
}

void na_depthwise_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                            const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  const int32_t taps = p->kernel_height * p->kernel_width;
  if (p->input_channels == 1 && p->output_channels > 1 && taps * p->output_channels <= FILTERS) {
    as_convolution(input, filter, bias, multiplier, shift, output, p);
    return;
  }
  by_channels(input, filter, bias, multiplier, shift, output, p);
}
