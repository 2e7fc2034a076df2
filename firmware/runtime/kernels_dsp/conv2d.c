/* CONV_2D for cores with the DSP extension. */
#include "convolution.h"

void na_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  na_layer_t layer = {.c = p, .filter = filter, .bias = bias, .multiplier = multiplier, .shift = shift};
  na_convolve(input, output, &layer);
}
