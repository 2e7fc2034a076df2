/* CONV_2D and DEPTHWISE_CONV_2D in float32 with MVE: four output channels at once. Also dilated; grouped, or with a
 * depth multiplier. */
#include "floats.h"

#include "../kernels/window_f32.h"

#if NA_MVE_FLOATS
/* Offsets of four lanes; those behind the last one read what it reads. */
static inline uint32x4_t offsets(int32_t step, int32_t lanes) {
  return vmulq_n_u32(vminq_u32(vidupq_n_u32(0, 1), vdupq_n_u32((uint32_t)(lanes - 1))), (uint32_t)step);
}

/* All lanes take the same input values, and filters that are a whole filter apart. */
static float32x4_t sum_filters(const window_t *w, const float *input, const float *filter, int32_t channels,
                               uint32x4_t filters) {
  float32x4_t sum = vdupq_n_f32(0.0f);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = input + ky * w->input_row, *taps = filter + ky * w->filter_row;
    for (int32_t kx = w->columns; kx > 0; kx--, source += w->input_step, taps += w->filter_step)
      for (int32_t c = 0; c < channels; c++)
        sum = vaddq_f32(sum, vmulq_n_f32(vldrwq_gather_shifted_offset_f32(taps + c, filters), source[c]));
  }
  return sum;
}

/* Each lane takes an input value and a filter value of its own, which are neighbors. */
static float32x4_t sum_channels(const window_t *w, const float *input, const float *filter) {
  float32x4_t sum = vdupq_n_f32(0.0f);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = input + ky * w->input_row, *taps = filter + ky * w->filter_row;
    for (int32_t kx = w->columns; kx > 0; kx--, source += w->input_step, taps += w->filter_step)
      sum = vaddq_f32(sum, vmulq_f32(vld1q_f32(source), vld1q_f32(taps)));
  }
  return sum;
}

/* The same, somewhere. */
static float32x4_t sum_places(const window_t *w, const float *input, const float *filter, uint32x4_t inputs,
                              uint32x4_t filters) {
  float32x4_t sum = vdupq_n_f32(0.0f);
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = input + ky * w->input_row, *taps = filter + ky * w->filter_row;
    for (int32_t kx = w->columns; kx > 0; kx--, source += w->input_step, taps += w->filter_step)
      sum = vaddq_f32(sum, vmulq_f32(vldrwq_gather_shifted_offset_f32(source, inputs),
                                     vldrwq_gather_shifted_offset_f32(taps, filters)));
  }
  return sum;
}

/* Bias and bounds; 0: a number was subnormal, and nothing is written. */
static inline int32_t finish(float32x4_t sum, const float *bias, float *output, const na_conv2d_f32_t *p,
                             int32_t count) {
  const mve_pred16_t lanes = vctp32q((uint32_t)count);
  if (bias) sum = vaddq_f32(sum, vld1q_z_f32(bias, lanes));
  sum = na_bounded_x4(sum, p->low, p->high);
  if (na_met_subnormals(&sum)) return 0;
  vst1q_p_f32(output, sum, lanes);
  return 1;
}
#endif

static inline float finished(float sum, const float *bias, const na_conv2d_f32_t *p) {
  return na_bounded_f32(sum + (bias ? *bias : 0.0f), p->low, p->high);
}

/* Up to four output channels of a group. */
static inline void block(const window_t *w, const float *input, const float *filter, const float *bias, float *output,
                         const na_conv2d_f32_t *p, int32_t count) {
  const int32_t channels = p->window.kernel_channels;
  const int32_t filter_size = p->window.kernel_height * p->window.kernel_width * channels;
#if NA_MVE_FLOATS
  if (finish(sum_filters(w, input, filter, channels, offsets(filter_size, count)), bias, output, p, count)) return;
#endif
  for (int32_t j = 0; j < count; j++)
    output[j] = finished(sum_one(w, input, filter + j * filter_size, channels), bias ? bias + j : bias, p);
  na_forget_subnormals();
}

void na_conv2d_f32(const float *input, const float *filter, const float *bias, float *output,
                   const na_conv2d_f32_t *p) {
  const na_conv2d_t *w = &p->window;
  const int32_t filter_size = w->kernel_height * w->kernel_width * w->kernel_channels;
  const int32_t groups = w->input_channels / w->kernel_channels, per_group = w->output_channels / groups;
  na_forget_subnormals();
  for (int32_t batch = 0; batch < w->batches; batch++, input += w->input_height * w->input_width * w->input_channels) {
    for (int32_t y = 0; y < w->output_height; y++) {
      for (int32_t x = 0; x < w->output_width; x++) {
        const window_t taps = inside(input, filter, y, x, w->kernel_channels, w);
        for (int32_t channel = 0; channel < w->output_channels;) {
          const int32_t group = channel / per_group, left = (group + 1) * per_group - channel;
          const int32_t count = left < NA_LANES ? left : NA_LANES;
          block(&taps, taps.input + group * w->kernel_channels, taps.filter + channel * filter_size,
                bias ? bias + channel : bias, output, p, count);
          channel += count, output += count;
        }
      }
    }
  }
}

/* Up to four output channels from `channel` on. */
static inline void depthwise_block(const window_t *w, int32_t channel, int32_t multiplier, const float *bias,
                                   float *output, const na_conv2d_f32_t *p, int32_t count) {
#if NA_MVE_FLOATS
  float32x4_t sum;
  if (multiplier == 1 && count == NA_LANES) {
    sum = sum_channels(w, w->input + channel, w->filter + channel);
  } else {
    uint32_t places[NA_LANES];
    for (int32_t j = 0; j < NA_LANES; j++)
      places[j] = (uint32_t)((channel + (j < count ? j : count - 1)) / multiplier);
    sum = sum_places(w, w->input, w->filter + channel, vld1q_u32(places), offsets(1, count));
  }
  if (finish(sum, bias ? bias + channel : bias, output, p, count)) return;
#endif
  for (int32_t c = channel; c < channel + count; c++)
    *output++ = finished(sum_one(w, w->input + c / multiplier, w->filter + c, 1), bias ? bias + c : bias, p);
  na_forget_subnormals();
}

void na_depthwise_conv2d_f32(const float *input, const float *filter, const float *bias, float *output,
                             const na_conv2d_f32_t *p) {
  const na_conv2d_t *w = &p->window;
  const int32_t multiplier = w->output_channels / w->input_channels;
  na_forget_subnormals();
  for (int32_t batch = 0; batch < w->batches; batch++, input += w->input_height * w->input_width * w->input_channels) {
    for (int32_t y = 0; y < w->output_height; y++) {
      for (int32_t x = 0; x < w->output_width; x++) {
        const window_t taps = inside(input, filter, y, x, w->output_channels, w);
        for (int32_t channel = 0; channel < w->output_channels; channel += NA_LANES) {
          const int32_t left = w->output_channels - channel, count = left < NA_LANES ? left : NA_LANES;
          depthwise_block(&taps, channel, multiplier, bias, output, p, count);
          output += count;
        }
      }
    }
  }
}
