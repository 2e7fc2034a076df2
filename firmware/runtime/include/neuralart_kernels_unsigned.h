/* Kernels for what uint8 models compute otherwise than int8 models do. They too work on int8: the compiler turns the
 * sign bit of every stored value over.
 */
#ifndef NEURALART_KERNELS_UNSIGNED_H
#define NEURALART_KERNELS_UNSIGNED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions whose filter has a zero point */

typedef struct {
  na_conv2d_t window;
  int32_t filter_offset; /* - zero point of the filter */
} na_conv2d_offset_t;

void na_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                         const int32_t *shift, int8_t *output, const na_conv2d_offset_t *p);
void na_depthwise_conv2d_offset_s8(const int8_t *input, const int8_t *filter, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *output,
                                   const na_conv2d_offset_t *p);

/* ---- average of a window, halves rounded up */

void na_average_pool_half_up_s8(const int8_t *input, int8_t *output, const na_pool_t *p);

/* ---- bilinear interpolation in float32, also of float32 */

typedef struct {
  int32_t batches;
  int32_t input_height, input_width, channels;
  int32_t output_height, output_width;
  float height_scale, width_scale; /* input steps per output step */
  int32_t half_pixel_centers;
} na_resize_float_t;

void na_resize_bilinear_float_s8(const int8_t *input, int8_t *output, const na_resize_float_t *p);
void na_resize_bilinear_f32(const float *input, float *output, const na_resize_float_t *p);

#ifdef __cplusplus
}
#endif

#endif
