/* Kernels: values go elsewhere: pads, concatenations, transpositions, slices.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too. Tensors of any element type are addressed as bytes.
 */
#ifndef NEURALART_KERNELS_MOVEMENT_H
#define NEURALART_KERNELS_MOVEMENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Dimensions of a shape, slowest first; unused ones stand in front and are 1. */
#define NA_MOVE_RANK 6

/* Blocks of bytes on a grid that is walked in both tensors; a step back has a negative number of bytes. */
typedef struct {
  int32_t block; /* bytes that stay together */
  int32_t shape[NA_MOVE_RANK];
  int32_t input_step[NA_MOVE_RANK], output_step[NA_MOVE_RANK]; /* bytes */
} na_move_t;

void na_move_8(const uint8_t *input, uint8_t *output, const na_move_t *p);

/* Elements of one value around the input; dimensions that are not padded are a part of the one before. */
typedef struct {
  int32_t element; /* bytes */
  int32_t fill; /* every byte of the value, if it is not given as an element */
  int32_t shape[NA_MOVE_RANK]; /* of the input, in elements */
  int32_t before[NA_MOVE_RANK], after[NA_MOVE_RANK]; /* elements */
} na_pad_t;

void na_pad_8(const uint8_t *input, const uint8_t *value, uint8_t *output, const na_pad_t *p);

/* What lies on the other side of the border is repeated in front of it and behind it. */
typedef struct {
  int32_t block; /* bytes that stay together */
  int32_t reflect; /* 1: the border itself is not repeated */
  int32_t input_shape[NA_MOVE_RANK], before[NA_MOVE_RANK], output_shape[NA_MOVE_RANK]; /* blocks */
  int32_t input_step[NA_MOVE_RANK]; /* bytes */
} na_mirror_pad_t;

void na_mirror_pad_8(const uint8_t *input, uint8_t *output, const na_mirror_pad_t *p);

/* Rows that lie apart in the output; table holds what becomes of -128 .. 127. */
typedef struct {
  int32_t rows, count;
  int32_t output_step;
} na_map_rows_t;

void na_map_rows_s8(const int8_t *input, const int8_t *table, int8_t *output, const na_map_rows_t *p);

/* input [batches][outer][size][block], indices [batches][count], output [batches][outer][count][block] */
typedef struct {
  int32_t batches, outer, size, count;
  int32_t block; /* bytes */
} na_gather_t;

void na_gather_8(const uint8_t *input, const int32_t *indices, uint8_t *output, const na_gather_t *p);

/* input [outer][count][inner], output [outer][inner]: the first place of the largest value, or of the smallest */
typedef struct {
  int32_t outer, count, inner;
  int32_t smallest; /* 1: of the smallest */
} na_arg_max_t;

void na_arg_max_s8(const int8_t *input, int32_t *output, const na_arg_max_t *p);
/* Of other types, and with wide indices. */
void na_arg_max_i32(const int32_t *input, int32_t *output, const na_arg_max_t *p);
void na_arg_max_f32(const float *input, int32_t *output, const na_arg_max_t *p);
void na_arg_max_s8_i64(const int8_t *input, int64_t *output, const na_arg_max_t *p);
void na_arg_max_i32_i64(const int32_t *input, int64_t *output, const na_arg_max_t *p);
void na_arg_max_f32_i64(const float *input, int64_t *output, const na_arg_max_t *p);

/* indices [count][depth], output [count][block]: the block of the input at each index */
typedef struct {
  int32_t count, depth;
  int32_t block; /* bytes */
  int32_t size[NA_MOVE_RANK], step[NA_MOVE_RANK]; /* of the dimensions that are indexed: elements, bytes */
} na_gather_nd_t;

void na_gather_nd_8(const uint8_t *input, const int32_t *indices, uint8_t *output, const na_gather_nd_t *p);

#ifdef __cplusplus
}
#endif

#endif
