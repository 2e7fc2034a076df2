/* TRANSPOSE_CONV with MVE: each output value gathers the input values whose windows cover it.
 *
 * sum((x + xo) * (f + fo)) = sum(x * f) + xo * sum(f) + fo * sum(x + xo), for each pair of runs that meet. The sums
 * of a filter's runs are the same wherever they meet: some output channels are done for all positions, with a table.
 */
#include "mve.h"
#include "neuralart_kernels.h"

/* The taps that meet an output position along one axis: every further one is a stride on in the kernel and one back in
 * the input. */
typedef struct {
  int32_t tap, input; /* of the first one */
  int32_t count;
} meetings_t;

static meetings_t meetings(int32_t position, int32_t stride, int32_t padding, int32_t taps, int32_t size) {
  const int32_t shifted = position + padding;
  const int32_t nearest = shifted / stride; /* the last input position whose window has begun */
  const int32_t rest = shifted % stride;
  const int32_t beyond = nearest < size ? 0 : nearest - size + 1; /* of these the input has none */
  const int32_t in_kernel = rest < taps ? (taps - 1 - rest) / stride + 1 : 0;
  const int32_t end = nearest < in_kernel ? nearest + 1 : in_kernel;
  meetings_t m;
  m.tap = rest + beyond * stride;
  m.input = nearest - beyond;
  m.count = end > beyond ? end - beyond : 0;
  return m;
}

enum {
  TABLE = 512, /* sums of runs, of all taps of the channels that are done together */
  SLICE = 64   /* of these channels, at most; a multiple of NA_LANES */
};

/* Output channels that are done together. */
typedef struct {
  const int8_t *filter;
  const int32_t *bias, *multiplier, *shift;
  int32_t channels, step; /* step: of the table from one tap to the next */
  int32_t filter_size, input_row;
  const uint32_t *table; /* xo * sum(f); NULL: so many taps that it has no room */
} slice_t;

/* Where the runs of a position are. */
typedef struct {
  meetings_t rows, columns;
  const int8_t *input; /* of the picture */
} place_t;

/* What a zero point of the filter adds to all channels: it multiplies the sum of the input. */
static uint32_t common_to_all(const place_t *at, const slice_t *s, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels;
  uint32_t sum = 0;
  if (p->filter_offset == 0) return 0;
  for (int32_t i = 0; i < at->rows.count; i++)
    for (int32_t j = 0; j < at->columns.count; j++)
      sum += na_sum(at->input + (at->rows.input - i) * s->input_row + (at->columns.input - j) * depth, depth) +
             (uint32_t)(depth * p->input_offset);
  return sum * (uint32_t)p->filter_offset;
}

/* Up to four channels from `channel` on. */
static __attribute__((noinline)) void four(const place_t *at, const slice_t *s, int32_t channel, uint32_t common,
                                           int8_t *output, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels;
  const int32_t left = s->channels - channel, outputs = left < NA_LANES ? left : NA_LANES;
  const mve_pred16_t lanes = vctp32q((uint32_t)outputs);
  const int8_t *filter = s->filter + channel * s->filter_size;
  uint32_t sums[NA_LANES] = {common, common, common, common};
  int32x4_t more = s->bias ? vldrwq_z_s32(s->bias + channel, lanes) : vdupq_n_s32(0);
  for (int32_t i = 0; i < at->rows.count; i++) {
    const int8_t *values = at->input + (at->rows.input - i) * s->input_row + at->columns.input * depth;
    int32_t tap = (at->rows.tap + i * p->stride_height) * p->kernel_width + at->columns.tap;
    for (int32_t j = at->columns.count; j > 0; j--, values -= depth, tap += p->stride_width) {
      const int8_t *taps = filter + tap * depth;
      na_dot_x4(sums, values, taps, s->filter_size, outputs, depth);
      if (s->table)
        more = vaddq_s32(more, vreinterpretq_s32_u32(vld1q_u32(s->table + tap * s->step + channel)));
      else
        for (int32_t k = 0; k < outputs; k++)
          sums[k] += (uint32_t)p->input_offset * na_sum(taps + k * s->filter_size, depth);
    }
  }
  const int32x4_t sum = vaddq_s32(more, vreinterpretq_s32_u32(vld1q_u32(sums)));
  const int32x4_t scaled =
      na_scale_x4(sum, vldrwq_z_s32(s->multiplier + channel, lanes), vldrwq_z_s32(s->shift + channel, lanes));
  vstrbq_p_s32(output, na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max), lanes);
}

static void do_slice(const slice_t *s, const int8_t *input, int8_t *output, const na_transpose_conv_t *p) {
  place_t at;
  at.input = input;
  for (int32_t batch = 0; batch < p->batches; batch++, at.input += p->input_height * s->input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      at.rows = meetings(y, p->stride_height, p->pad_top, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++, output += p->output_channels) {
        at.columns = meetings(x, p->stride_width, p->pad_left, p->kernel_width, p->input_width);
        const uint32_t common = common_to_all(&at, s, p);
        for (int32_t channel = 0; channel < s->channels; channel += NA_LANES)
          four(&at, s, channel, common, output + channel, p);
      }
    }
  }
}

void na_transpose_conv_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                          const int32_t *shift, int8_t *output, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels, taps = p->kernel_height * p->kernel_width;
  const int32_t fits = TABLE / taps & -NA_LANES; /* channels whose sums the table holds */
  const int32_t most = fits == 0 || fits > SLICE ? SLICE : fits;
  uint32_t table[TABLE];
  slice_t s;
  s.filter_size = taps * depth;
  s.input_row = p->input_width * depth;
  s.table = fits ? table : 0;
  s.step = most;
  for (int32_t first = 0; first < p->output_channels; first += s.channels) {
    const int32_t left = p->output_channels - first;
    s.channels = left < most ? left : most;
    s.filter = filter + first * s.filter_size;
    s.bias = bias ? bias + first : bias;
    s.multiplier = multiplier + first;
    s.shift = shift + first;
    for (int32_t tap = 0; s.table && tap < taps; tap++)
      for (int32_t channel = 0; channel < s.step; channel++)
        table[tap * s.step + channel] =
            channel < s.channels
                ? (uint32_t)p->input_offset * na_sum(s.filter + channel * s.filter_size + tap * depth, depth)
                : 0u;
    do_slice(&s, input, output + first, p);
  }
}
