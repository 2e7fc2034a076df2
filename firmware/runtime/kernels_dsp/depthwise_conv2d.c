/* DEPTHWISE_CONV_2D for cores with the DSP extension. */
#include "depthwise.h"

void na_depthwise_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                            const int32_t *shift, int8_t *output, const na_conv2d_t *p) {
  na_depthwise(input, filter, bias, multiplier, shift, output, p, 0);
}
