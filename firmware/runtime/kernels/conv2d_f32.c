/* CONV_2D and DEPTHWISE_CONV_2D in float32, also dilated; grouped, or with a depth multiplier. */
#include "single.h"

#include "window_f32.h"

enum { BLOCK = 4 }; /* output channels that share the loads of one input value */

static void sum_block(float *sums, const window_t *w, const float *input, const float *filter, int32_t channels,
                      int32_t filter_size) {
  float a0 = 0.0f, a1 = 0.0f, a2 = 0.0f, a3 = 0.0f;
  for (int32_t ky = 0; ky < w->rows; ky++) {
    const float *source = input + ky * w->input_row, *taps = filter + ky * w->filter_row;
    for (int32_t kx = 0; kx < w->columns; kx++, source += w->input_step, taps += w->filter_step) {
      for (int32_t c = 0; c < channels; c++) {
        const float value = source[c];
        a0 += value * taps[c];
        a1 += value * taps[filter_size + c];
        a2 += value * taps[2 * filter_size + c];
        a3 += value * taps[3 * filter_size + c];
      }
    }
  }
  sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = a3;
}

void na_conv2d_f32(const float *input, const float *filter, const float *bias, float *output,
                   const na_conv2d_f32_t *p) {
  const na_conv2d_t *w = &p->window;
  const int32_t filter_size = w->kernel_height * w->kernel_width * w->kernel_channels;
  const int32_t per_group = w->output_channels / (w->input_channels / w->kernel_channels);

  for (int32_t batch = 0; batch < w->batches; batch++) {
    for (int32_t y = 0; y < w->output_height; y++) {
      for (int32_t x = 0; x < w->output_width; x++) {
        const window_t taps = inside(input, filter, y, x, w->kernel_channels, w);
        for (int32_t channel = 0; channel < w->output_channels;) {
          const int32_t group = channel / per_group;
          const float *source = taps.input + group * w->kernel_channels, *own = taps.filter + channel * filter_size;
          float sums[BLOCK];
          int32_t outputs = 1;
          if ((group + 1) * per_group - channel >= BLOCK) {
            outputs = BLOCK;
            sum_block(sums, &taps, source, own, w->kernel_channels, filter_size);
          } else {
            sums[0] = sum_one(&taps, source, own, w->kernel_channels);
          }
          for (int32_t j = 0; j < outputs; j++, channel++)
            *output++ = na_bounded_f32(sums[j] + (bias ? bias[channel] : 0.0f), p->low, p->high);
        }
      }
    }
    input += w->input_height * w->input_width * w->input_channels;
  }
}

void na_depthwise_conv2d_f32(const float *input, const float *filter, const float *bias, float *output,
                             const na_conv2d_f32_t *p) {
  const na_conv2d_t *w = &p->window;
  const int32_t multiplier = w->output_channels / w->input_channels;

  for (int32_t batch = 0; batch < w->batches; batch++) {
    for (int32_t y = 0; y < w->output_height; y++) {
      for (int32_t x = 0; x < w->output_width; x++) {
        const window_t taps = inside(input, filter, y, x, w->output_channels, w);
        for (int32_t channel = 0; channel < w->output_channels; channel++) {
          const float sum = sum_one(&taps, taps.input + channel / multiplier, taps.filter + channel, 1);
          *output++ = na_bounded_f32(sum + (bias ? bias[channel] : 0.0f), p->low, p->high);
        }
      }
    }
    input += w->input_height * w->input_width * w->input_channels;
  }
}
