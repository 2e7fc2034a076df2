/* Kernels: windows and sums over height and width: transposed convolution, mean, resizing.
 *
 * Included by neuralart_kernels.h, whose conventions hold here too.
 */
#ifndef NEURALART_KERNELS_SPATIAL_H
#define NEURALART_KERNELS_SPATIAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- transposed convolution: filter [output channels][height][width][input channels]. The padding is cut off the
 * output: input (0, 0) meets tap (0, 0) at output (-pad_top, -pad_left). */

typedef struct {
  int32_t batches;
  int32_t input_height, input_width, input_channels;
  int32_t output_height, output_width, output_channels;
  int32_t kernel_height, kernel_width;
  int32_t stride_height, stride_width;
  int32_t pad_top, pad_left;
  int32_t input_offset; /* - zero point of the input */
  int32_t filter_offset; /* - zero point of the filter; uint8 models only */
  int32_t output_offset; /* zero point of the output */
  int32_t activation_min, activation_max;
} na_transpose_conv_t;

void na_transpose_conv_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const int32_t *multiplier,
                          const int32_t *shift, int8_t *output, const na_transpose_conv_t *p);

/* ---- mean over some dimensions */

#define NA_MEAN_RANK 3

/* Dimensions that stay and dimensions that are summed, each outermost first, neighbors of the same kind joined; unused
 * leading ones are 1. A stride is the distance of neighbors in the input. */
typedef struct {
  int32_t kept[NA_MEAN_RANK], kept_stride[NA_MEAN_RANK];
  int32_t summed[NA_MEAN_RANK], summed_stride[NA_MEAN_RANK];
  int32_t sum_offset; /* - zero point of the input x values per sum, in 32 bits */
  int32_t multiplier, shift; /* they contain 1 / values per sum */
  int32_t output_offset; /* zero point of the output */
} na_mean_t;

void na_mean_s8(const int8_t *input, int8_t *output, const na_mean_t *p);

/* ---- resizing */

typedef struct {
  int32_t batches;
  int32_t input_height, input_width, channels;
  int32_t output_height, output_width;
} na_resize_nearest_t;

/* rows and columns: which one of the input each one of the output is. */
void na_resize_nearest_s8(const int8_t *input, const int32_t *rows, const int32_t *columns, int8_t *output,
                          const na_resize_nearest_t *p);

/* Output position i lies at i * scale + offset in the input, in steps of 2^-10, never beyond its last row or column. */
typedef struct {
  int32_t batches;
  int32_t input_height, input_width, channels;
  int32_t output_height, output_width;
  int32_t row_scale, row_offset;
  int32_t column_scale, column_offset;
} na_resize_bilinear_t;

void na_resize_bilinear_s8(const int8_t *input, int8_t *output, const na_resize_bilinear_t *p);

#ifdef __cplusplus
}
#endif

#endif
