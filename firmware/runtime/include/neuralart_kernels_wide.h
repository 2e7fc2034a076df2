/* Kernels of int16 activations (zero point 0) with int8 weights.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too. Parameters are those of the int8 kernels; zero
 * points in them are 0 and not looked at. Suffix s16: sums and biases have 64 bits. Suffix s16_b32: they have 32 bits and
 * wrap around.
 */
#ifndef NEURALART_KERNELS_WIDE_H
#define NEURALART_KERNELS_WIDE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions, fully connected; shifts of s16: at most 7 to the left */

void na_conv2d_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const int32_t *multiplier,
                   const int32_t *shift, int16_t *output, const na_conv2d_t *p);
void na_conv2d_s16_b32(const int16_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                       const int32_t *shift, int16_t *output, const na_conv2d_t *p);
void na_depthwise_conv2d_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const int32_t *multiplier,
                             const int32_t *shift, int16_t *output, const na_conv2d_t *p);
void na_transpose_conv_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const int32_t *multiplier,
                           const int32_t *shift, int16_t *output, const na_transpose_conv_t *p);
void na_fully_connected_s16(const int16_t *input, const int8_t *filter, const int64_t *bias, const double *scale,
                            int16_t *output, const na_fully_connected_t *p);
void na_fully_connected_s16_b32(const int16_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                                int16_t *output, const na_fully_connected_t *p);

/* ---- pooling, mean */

void na_max_pool_s16(const int16_t *input, int16_t *output, const na_pool_t *p);
void na_average_pool_s16(const int16_t *input, int16_t *output, const na_pool_t *p);
void na_mean_s16(const int16_t *input, int16_t *output, const na_mean_t *p);

/* ---- elementwise: the output may be an input that has the output's shape */

void na_add_s16(const int16_t *input1, const int16_t *input2, int16_t *output, const na_add_t *p);
void na_sub_s16(const int16_t *input1, const int16_t *input2, int16_t *output, const na_add_t *p);
void na_mul_s16(const int16_t *input1, const int16_t *input2, int16_t *output, const na_mul_t *p);
void na_maximum_s16(const int16_t *input1, const int16_t *input2, int16_t *output, const na_extremum_t *p);
void na_minimum_s16(const int16_t *input1, const int16_t *input2, int16_t *output, const na_extremum_t *p);

typedef struct {
  int32_t count;
  int32_t multiplier, shift; /* x * multiplier / 2^shift is the input in steps of 1 / (3 * 2^12) */
} na_sigmoid_t;

typedef struct {
  int32_t count;
  int32_t multiplier, shift, slope_multiplier, slope_shift; /* of values from zero on, and below */
} na_leaky_t;

void na_leaky_relu_s16(const int16_t *input, int16_t *output, const na_leaky_t *p);

/* table: 1 / (1 + exp(-x)) in steps of 2^-16 at x = 0, 1/24, 2/24 .. 255/24. */
void na_logistic_s16(const int16_t *input, const uint16_t *table, int16_t *output, const na_sigmoid_t *p);
void na_tanh_s16(const int16_t *input, const uint16_t *table, int16_t *output, const na_sigmoid_t *p);

/* ---- softmax over the last dimension: 513 values each of exp(x), x = -10 .. 0, and 1 / (1 + x), x = 0 .. 1 */

typedef struct {
  int32_t rows, depth;
  int32_t multiplier, shift; /* beta * input scale, in steps of 10 / 65535 */
} na_softmax_s16_t;

void na_softmax_s16(const int16_t *input, const int16_t *exponentials, const int16_t *reciprocals, int16_t *output,
                    const na_softmax_s16_t *p);

/* Parameters as those of int8; results in steps of 2^-16, zero point -32768. */
void na_softmax_s8_s16(const int8_t *input, int16_t *output, const na_softmax_t *p);

/* ---- changes of representation; between int32 and 16 or 8 bits with any zero points */

void na_requantize_s16_s16(const int16_t *input, int16_t *output, const na_requantize_t *p);
void na_requantize_s16_s8(const int16_t *input, int8_t *output, const na_requantize_t *p);
void na_requantize_s16_i32(const int16_t *input, int32_t *output, const na_requantize_t *p);
void na_requantize_i32_s16(const int32_t *input, int16_t *output, const na_requantize_t *p);
void na_requantize_i32_s8(const int32_t *input, int8_t *output, const na_requantize_t *p);
void na_quantize_f32_s16(const float *input, int16_t *output, const na_quantize_t *p);
void na_dequantize_s16_f32(const int16_t *input, float *output, const na_quantize_t *p);

#ifdef __cplusplus
}
#endif

#endif
