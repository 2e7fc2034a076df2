/* Kernels: one value after another: arithmetic with broadcasting, activations, tables.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_ELEMENTWISE_H
#define NEURALART_KERNELS_ELEMENTWISE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- two inputs, with broadcasting: the output may be an input that has the output's shape */

/* (a - b)^2 */
void na_squared_difference_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p);

typedef struct {
  na_broadcast_t broadcast;
  int32_t input1_offset, input2_offset; /* - zero points of the inputs */
  int32_t output_offset; /* zero point of the output */
  int32_t multiplier, shift;
  int32_t activation_min, activation_max;
} na_mul_t;

void na_mul_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_mul_t *p);

/* All three tensors have one quantization. */
typedef struct {
  na_broadcast_t broadcast;
} na_extremum_t;

void na_maximum_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_extremum_t *p);
void na_minimum_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_extremum_t *p);

typedef struct {
  na_broadcast_t broadcast; /* of the input and the slopes */
  int32_t input_offset, slope_offset; /* - zero points */
  int32_t output_offset; /* zero point of the output */
  int32_t multiplier, shift; /* of values from zero up */
  int32_t slope_multiplier, slope_shift; /* of values below zero, times their slopes */
} na_prelu_t;

void na_prelu_s8(const int8_t *input, const int8_t *slope, int8_t *output, const na_prelu_t *p);

/* ---- one input */

typedef struct {
  int32_t count;
} na_table_t;

/* output = table[input as uint8]; 256 entries, those of 0 .. 127 before those of -128 .. -1. Equal addresses of input
 * and output are allowed. */
void na_table_s8(const int8_t *input, const int8_t *table, int8_t *output, const na_table_t *p);
/* Likewise, with the entries of -128 .. -1 before those of 0 .. 127. */
void na_table_s8_f32(const int8_t *input, const float *table, float *output, const na_table_t *p);

#ifdef __cplusplus
}
#endif

#endif
