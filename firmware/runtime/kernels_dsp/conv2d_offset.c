/* CONV_2D and DEPTHWISE_CONV_2D with a filter that has a zero point, for cores with the DSP extension.
 *
 * sum((x + xo) * (f + fo)) = sum((x + xo) * f) + fo * sum(x + xo): the last sum is the same for all output channels of
 * a group. In a depthwise convolution the zero point is added to each tap.
 */
#include "convolution.h"
#include "depthwise.h"

void na_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                         const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p) {
  na_layer_t layer = {.c = &p->window, .filter = filter, .bias = bias, .multiplier = multiplier, .shift = shift};
  layer.filter_offset = p->filter_offset;
  na_convolve(input, output, &layer);
}

void na_depthwise_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                   const na_conv2d_offset_t *p) {
  na_depthwise(input, filter, bias, multiplier, shift, output, &p->window, p->filter_offset);
}
