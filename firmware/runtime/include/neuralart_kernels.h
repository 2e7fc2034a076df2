/* The kernels: one function per operator and element types, exact to the numerics profile litert-2.20.
 *
 * Tensors are dense, row major, channels last. Addresses come first, then the parameters. An absent bias is NULL.
 * Parameters hold shapes and per-tensor quantization; whatever exists once per channel is passed as an array. No
 * kernel allocates, keeps state (it is an argument) or uses a stack buffer whose size depends on a shape.
 */
#ifndef NEURALART_KERNELS_H
#define NEURALART_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions: filter [output channels][height][width][kernel channels], depthwise
 * [height][width][output channels] */

typedef struct {
  int32_t batches;
  int32_t input_height, input_width, input_channels;
  int32_t output_height, output_width, output_channels;
  int32_t kernel_height, kernel_width;
  int32_t kernel_channels; /* input channels / groups; not used by the depthwise kernel */
  int32_t stride_height, stride_width;
  int32_t dilation_height, dilation_width;
  int32_t pad_top, pad_left;
  int32_t input_offset; /* - zero point of the input */
  int32_t output_offset; /* zero point of the output */
  int32_t activation_min, activation_max;
} na_conv2d_t;

void na_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                  const int32_t *shift, int8_t *output, const na_conv2d_t *p);
void na_depthwise_conv2d_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                            const int32_t *shift, int8_t *output, const na_conv2d_t *p);

/* ---- fully connected: filter [units][depth]; scale holds one factor, or one per unit */

typedef struct {
  int32_t batches, depth, units;
  int32_t input_offset; /* - zero point of the input */
  int32_t filter_offset; /* - zero point of the filter */
  int32_t output_offset; /* zero point of the output */
  int32_t activation_min, activation_max;
  int32_t per_channel; /* 1: scale has an element per unit */
} na_fully_connected_t;

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p);

/* ---- pooling: padding takes no part, neither in the maximum nor in the mean */

typedef struct {
  int32_t batches;
  int32_t input_height, input_width, channels;
  int32_t output_height, output_width;
  int32_t kernel_height, kernel_width;
  int32_t stride_height, stride_width;
  int32_t pad_top, pad_left;
  int32_t activation_min, activation_max;
} na_pool_t;

void na_max_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p);
void na_average_pool_s8(const int8_t *input, int8_t *output, const na_pool_t *p);

/* ---- elementwise with two inputs */

#define NA_BROADCAST_RANK 6

/* Output shape and the distance of neighbors in each input, 0 where the input repeats; unused leading dimensions are
 * 1. The innermost distances are 0 or 1. */
typedef struct {
  int32_t shape[NA_BROADCAST_RANK];
  int32_t stride1[NA_BROADCAST_RANK];
  int32_t stride2[NA_BROADCAST_RANK];
} na_broadcast_t;

typedef struct {
  na_broadcast_t broadcast;
  int32_t input1_offset, input1_multiplier, input1_shift;
  int32_t input2_offset, input2_multiplier, input2_shift;
  int32_t output_offset, output_multiplier, output_shift;
  int32_t activation_min, activation_max;
} na_add_t;

void na_add_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p);
void na_sub_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p);

/* ---- softmax over the last dimension */

typedef struct {
  int32_t rows, depth;
  int32_t multiplier, shift; /* beta * input scale, in steps of 2^-26 */
  int32_t minimum_difference; /* to the largest input; what is below counts as zero */
} na_softmax_t;

void na_softmax_s8(const int8_t *input, int8_t *output, const na_softmax_t *p);

/* ---- changes of representation */

typedef struct {
  int32_t count;
  int32_t input_offset; /* - zero point of the input */
  int32_t multiplier, shift;
  int32_t output_offset; /* zero point of the output */
  int32_t activation_min, activation_max;
} na_requantize_t;

void na_requantize_s8_s8(const int8_t *input, int8_t *output, const na_requantize_t *p);
void na_requantize_s8_u8(const int8_t *input, uint8_t *output, const na_requantize_t *p);
void na_requantize_u8_s8(const uint8_t *input, int8_t *output, const na_requantize_t *p);
void na_requantize_u8_u8(const uint8_t *input, uint8_t *output, const na_requantize_t *p);

typedef struct {
  int32_t count;
  float scale;
  int32_t zero_point;
} na_quantize_t;

void na_quantize_f32_s8(const float *input, int8_t *output, const na_quantize_t *p);
void na_quantize_f32_u8(const float *input, uint8_t *output, const na_quantize_t *p);
void na_dequantize_s8_f32(const int8_t *input, float *output, const na_quantize_t *p);
void na_dequantize_u8_f32(const uint8_t *input, float *output, const na_quantize_t *p);

/* ---- bytes */

typedef struct {
  int32_t count;
} na_bytes_t;

/* output = input; equal addresses are allowed. */
void na_copy_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p);
/* Between uint8 and int8 of equal scale whose zero points differ by 128; equal addresses are allowed. */
void na_flip_sign_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p);

/* ---- further families */

#include "neuralart_kernels_elementwise.h"
#include "neuralart_kernels_movement.h"
#include "neuralart_kernels_spatial.h"
#include "neuralart_kernels_numbers.h"
#include "neuralart_kernels_recurrent.h"
#include "neuralart_kernels_unsigned.h"
#include "neuralart_kernels_wide.h"
#include "neuralart_kernels_float.h"
#include "neuralart_kernels_custom.h"

#ifdef __cplusplus
}
#endif

#endif
