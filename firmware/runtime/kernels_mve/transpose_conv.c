/* TRANSPOSE_CONV with MVE: each output value gathers the input values whose windows cover it.
 *
 * sum((x + xo) * (f + fo)) = sum(x * f) + xo * sum(f) + fo * sum(x + xo), for each pair of runs that meet.
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

enum { CHANNELS = 2 }; /* that share the loads of an input value */

/* Sums of products, and sums of filter values, of two channels. */
typedef struct {
  int32_t products[CHANNELS], filters[CHANNELS];
} sums_t;

static inline void add_run(sums_t *sums, const int8_t *input, const int8_t *f0, const int8_t *f1, int32_t depth) {
  int32_t a0 = sums->products[0], a1 = sums->products[1], s0 = sums->filters[0], s1 = sums->filters[1];
  for (uint32_t whole = (uint32_t)depth / NA_BYTES; whole > 0;
       whole--, input += NA_BYTES, f0 += NA_BYTES, f1 += NA_BYTES) {
    const int8x16_t x = vld1q_s8(input), v0 = vld1q_s8(f0), v1 = vld1q_s8(f1);
    a0 = vmladavaq_s8(a0, x, v0);
    a1 = vmladavaq_s8(a1, x, v1);
    s0 = vaddvaq_s8(s0, v0);
    s1 = vaddvaq_s8(s1, v1);
  }
  const uint32_t left = (uint32_t)depth % NA_BYTES;
  if (left) {
    const mve_pred16_t rest = vctp8q(left);
    const int8x16_t x = vldrbq_z_s8(input, rest), v0 = vldrbq_z_s8(f0, rest), v1 = vldrbq_z_s8(f1, rest);
    a0 = vmladavaq_s8(a0, x, v0);
    a1 = vmladavaq_s8(a1, x, v1);
    s0 = vaddvaq_s8(s0, v0);
    s1 = vaddvaq_s8(s1, v1);
  }
  *sums = (sums_t){{a0, a1}, {s0, s1}};
}

/* Where the runs of a position are. */
typedef struct {
  meetings_t rows, columns;
  const int8_t *input;
  int32_t input_row, filter_row, filter_size;
} place_t;

/* What a zero point of the filter adds to all channels: it multiplies the sum of the input. */
static uint32_t common_to_all(const place_t *at, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels;
  uint32_t sum = 0;
  if (p->filter_offset == 0) return 0;
  for (int32_t i = 0; i < at->rows.count; i++)
    for (int32_t j = 0; j < at->columns.count; j++)
      sum += na_sum(at->input + (at->rows.input - i) * at->input_row + (at->columns.input - j) * depth, depth) +
             (uint32_t)(depth * p->input_offset);
  return sum * (uint32_t)p->filter_offset;
}

/* The sums of two channels; the second filter may be the first one. */
static __attribute__((noinline)) void two(uint32_t made[CHANNELS], const place_t *at, const int8_t *filter,
                                          int32_t second, const na_transpose_conv_t *p) {
  const int32_t depth = p->input_channels, next = p->stride_width * depth;
  sums_t sums = {{0}, {0}};
  for (int32_t i = 0; i < at->rows.count; i++) {
    const int8_t *values = at->input + (at->rows.input - i) * at->input_row + at->columns.input * depth;
    const int8_t *taps = filter + (at->rows.tap + i * p->stride_height) * at->filter_row + at->columns.tap * depth;
    for (int32_t j = at->columns.count; j > 0; j--, values -= depth, taps += next)
      add_run(&sums, values, taps, taps + second, depth);
  }
  for (int32_t j = 0; j < CHANNELS; j++)
    made[j] += (uint32_t)sums.products[j] + (uint32_t)p->input_offset * (uint32_t)sums.filters[j];
}

void na_transpose_conv_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                          const int32_t *shift, int8_t *output, const na_transpose_conv_t *p) {
  place_t at;
  at.input_row = p->input_width * p->input_channels;
  at.filter_row = p->kernel_width * p->input_channels;
  at.filter_size = p->kernel_height * at.filter_row;
  at.input = input;

  for (int32_t batch = 0; batch < p->batches; batch++, at.input += p->input_height * at.input_row) {
    for (int32_t y = 0; y < p->output_height; y++) {
      at.rows = meetings(y, p->stride_height, p->pad_top, p->kernel_height, p->input_height);
      for (int32_t x = 0; x < p->output_width; x++) {
        at.columns = meetings(x, p->stride_width, p->pad_left, p->kernel_width, p->input_width);
        const uint32_t common = common_to_all(&at, p);
        for (int32_t channel = 0; channel < p->output_channels; channel += NA_LANES) {
          const int32_t left = p->output_channels - channel;
          const mve_pred16_t lanes = vctp32q((uint32_t)left);
          const int8_t *first = filter + channel * at.filter_size;
          uint32_t sums[NA_LANES] = {common, common, common, common};
          two(sums, &at, first, left > 1 ? at.filter_size : 0, p);
          if (left > CHANNELS)
            two(sums + CHANNELS, &at, first + CHANNELS * at.filter_size, left > CHANNELS + 1 ? at.filter_size : 0, p);
          int32x4_t sum = vreinterpretq_s32_u32(vld1q_u32(sums));
          if (bias) sum = vaddq_s32(sum, vldrwq_z_s32(bias + channel, lanes));
          const int32x4_t scaled = na_scale_x4(sum, vldrwq_z_s32(multiplier + channel, lanes),
                                               vldrwq_z_s32(shift + channel, lanes));
          vstrbq_p_s32(output + channel,
                       na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max), lanes);
        }
        output += p->output_channels;
      }
    }
  }
}
