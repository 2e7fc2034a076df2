/* Kernels: plain numbers (float32, int32, int64), products of matrices, and reductions.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too. Suffixes name the element type: s8, u8, i32, i64,
 * f32. Integers that leave their type wrap around; a division by zero gives zero, or what float32 gives. No kernel
 * calls a library: square roots are exact, other functions are computed in float64 and rounded once.
 */
#ifndef NEURALART_KERNELS_NUMBERS_H
#define NEURALART_KERNELS_NUMBERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- two inputs, with broadcasting: the output may be an input that has the output's shape */

typedef struct {
  na_broadcast_t broadcast;
  float low, high; /* bounds of the result, where the operator has an activation */
} na_numbers_f32_t;

typedef struct {
  na_broadcast_t broadcast;
  int32_t low, high; /* likewise */
} na_numbers_i32_t;

#define NA_NUMBERS(name)                                                                                               \
  void na_##name##_f32(const float *input1, const float *input2, float *output, const na_numbers_f32_t *p);            \
  void na_##name##_i32(const int32_t *input1, const int32_t *input2, int32_t *output, const na_numbers_i32_t *p);

NA_NUMBERS(add)
NA_NUMBERS(sub)
NA_NUMBERS(mul)
NA_NUMBERS(div)
NA_NUMBERS(maximum)
NA_NUMBERS(minimum)
NA_NUMBERS(squared_difference)
NA_NUMBERS(floor_div)
NA_NUMBERS(floor_mod)
void na_pow_f32(const float *input1, const float *input2, float *output, const na_numbers_f32_t *p);
void na_prelu_f32(const float *input, const float *slope, float *output, const na_numbers_f32_t *p);

/* Of stored values, whatever they mean. */
void na_floor_div_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_extremum_t *p);
/* Parameters as those of the product; a quotient by the zero point is the largest or smallest value. */
void na_div_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_mul_t *p);

/* ---- comparisons, with broadcasting: 0 or 1 */

typedef struct {
  na_broadcast_t broadcast;
  int32_t holds; /* 1: where less, 2: where equal, 4: where greater, 8: where one is no number; or a sum of these */
  int32_t input1_offset, input1_multiplier, input1_shift; /* of s8 alone: the scales are the factors */
  int32_t input2_offset, input2_multiplier, input2_shift;
} na_compare_t;

void na_compare_f32(const float *input1, const float *input2, uint8_t *output, const na_compare_t *p);
void na_compare_i32(const int32_t *input1, const int32_t *input2, uint8_t *output, const na_compare_t *p);
void na_compare_i64(const int64_t *input1, const int64_t *input2, uint8_t *output, const na_compare_t *p);
void na_compare_u8(const uint8_t *input1, const uint8_t *input2, uint8_t *output, const na_compare_t *p);

void na_compare_s8(const int8_t *input1, const int8_t *input2, uint8_t *output, const na_compare_t *p);

/* ---- choice: elements of the first or second input, where the condition is not or is 0 */

typedef struct {
  int32_t element; /* bytes */
  int32_t shape[NA_BROADCAST_RANK];
  int32_t condition_step[NA_BROADCAST_RANK]; /* in elements; 0 where it repeats */
  int32_t step1[NA_BROADCAST_RANK], step2[NA_BROADCAST_RANK];
} na_select_t;

void na_select_8(const uint8_t *condition, const uint8_t *input1, const uint8_t *input2, uint8_t *output,
                 const na_select_t *p);

/* ---- one input: equal addresses of input and output are allowed */

typedef struct {
  int32_t count;
  float low, high; /* bounds of clip; low: slope of leaky_relu */
} na_function_f32_t;

#define NA_FUNCTION(name) void na_##name##_f32(const float *input, float *output, const na_function_f32_t *p);

NA_FUNCTION(abs)
NA_FUNCTION(neg)
NA_FUNCTION(square)
NA_FUNCTION(floor)
NA_FUNCTION(sqrt)
NA_FUNCTION(rsqrt)
NA_FUNCTION(exp)
NA_FUNCTION(log)
NA_FUNCTION(tanh)
NA_FUNCTION(logistic)
NA_FUNCTION(relu)
NA_FUNCTION(clip)
NA_FUNCTION(leaky_relu)
NA_FUNCTION(hard_swish)
NA_FUNCTION(ceil)
NA_FUNCTION(round)
NA_FUNCTION(sign)
NA_FUNCTION(sin)
NA_FUNCTION(cos)
NA_FUNCTION(elu)
NA_FUNCTION(gelu)
NA_FUNCTION(gelu_by_tanh)
NA_FUNCTION(erf)

typedef struct {
  int32_t rows, depth;
  float beta;
} na_softmax_f32_t;

void na_softmax_f32(const float *input, float *output, const na_softmax_f32_t *p);
/* Without beta: log(softmax), and rows of length 1. */
void na_log_softmax_f32(const float *input, float *output, const na_softmax_f32_t *p);
void na_l2_normalization_f32(const float *input, float *output, const na_softmax_f32_t *p);

/* From float32 towards zero, and to the nearest value of the type; a value that is no number becomes the largest. */
#define NA_CAST(from, from_t)                                                                                          \
  void na_cast_##from##_s8(const from_t *input, int8_t *output, const na_bytes_t *p);                                  \
  void na_cast_##from##_u8(const from_t *input, uint8_t *output, const na_bytes_t *p);                                 \
  void na_cast_##from##_s16(const from_t *input, int16_t *output, const na_bytes_t *p);                                \
  void na_cast_##from##_i32(const from_t *input, int32_t *output, const na_bytes_t *p);                                \
  void na_cast_##from##_i64(const from_t *input, int64_t *output, const na_bytes_t *p);                                \
  void na_cast_##from##_f32(const from_t *input, float *output, const na_bytes_t *p);

NA_CAST(s8, int8_t)
NA_CAST(u8, uint8_t)
NA_CAST(s16, int16_t)
NA_CAST(i32, int32_t)
NA_CAST(i64, int64_t)
NA_CAST(f32, float)

/* ---- reductions over some dimensions, in the order of the input */

typedef struct {
  int32_t kept[NA_MEAN_RANK], kept_stride[NA_MEAN_RANK]; /* as those of the mean */
  int32_t summed[NA_MEAN_RANK], summed_stride[NA_MEAN_RANK];
  int32_t count; /* values per result */
  int32_t input_offset, multiplier, shift, output_offset; /* of the product of stored values alone */
} na_reduce_t;

#define NA_REDUCTION(name)                                                                                             \
  void na_reduce_##name##_s8(const int8_t *input, int8_t *output, const na_reduce_t *p);                               \
  void na_reduce_##name##_i32(const int32_t *input, int32_t *output, const na_reduce_t *p);                            \
  void na_reduce_##name##_f32(const float *input, float *output, const na_reduce_t *p);

NA_REDUCTION(max)
NA_REDUCTION(min)
NA_REDUCTION(prod)
void na_reduce_sum_i32(const int32_t *input, int32_t *output, const na_reduce_t *p);
void na_reduce_sum_f32(const float *input, float *output, const na_reduce_t *p);
void na_reduce_mean_f32(const float *input, float *output, const na_reduce_t *p);

/* ---- products of matrices: output [batches][rows][columns]; distances are elements from one to the next */

typedef struct {
  na_broadcast_t batches; /* whole matrices */
  int32_t rows, columns, depth;
  int32_t row1, depth1, size1; /* in the first input: of rows, of terms, of matrices */
  int32_t column2, depth2, size2; /* in the second input: of columns, of terms, of matrices */
  int32_t input1_offset, input2_offset; /* - zero points of the inputs; these and what follows: int8 only */
  int32_t output_offset; /* zero point of the output */
  int32_t multiplier, shift;
} na_batch_matmul_t;

void na_batch_matmul_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_batch_matmul_t *p);
void na_batch_matmul_f32(const float *input1, const float *input2, float *output, const na_batch_matmul_t *p);

#ifdef __cplusplus
}
#endif

#endif
