/* Layers of float32. Each sum is made in the order of LiteRT's reference kernels: rows, columns, channels of the window,
 * then the bias. Without fused products (-ffp-contract=off) results are theirs, to the bit. */
#ifndef NEURALART_KERNELS_FLOAT_H
#define NEURALART_KERNELS_FLOAT_H

#include <stdint.h>

#include "neuralart_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Offsets and bounds of the integer kernels mean nothing here. */
typedef struct {
  na_conv2d_t window;
  float low, high; /* of the fused activation */
} na_conv2d_f32_t;

void na_conv2d_f32(const float *input, const float *filter, const float *bias, float *output, const na_conv2d_f32_t *p);
void na_depthwise_conv2d_f32(const float *input, const float *filter, const float *bias, float *output,
                             const na_conv2d_f32_t *p);

typedef struct {
  na_transpose_conv_t window;
  float low, high;
} na_transpose_conv_f32_t;

void na_transpose_conv_f32(const float *input, const float *filter, const float *bias, float *output,
                           const na_transpose_conv_f32_t *p);

typedef struct {
  int32_t batches, depth, units;
  float low, high;
} na_fully_connected_f32_t;

/* filter [units][depth] */
void na_fully_connected_f32(const float *input, const float *filter, const float *bias, float *output,
                            const na_fully_connected_f32_t *p);

typedef struct {
  na_pool_t window;
  float low, high;
} na_pool_f32_t;

void na_max_pool_f32(const float *input, float *output, const na_pool_f32_t *p);
void na_average_pool_f32(const float *input, float *output, const na_pool_f32_t *p);

#ifdef __cplusplus
}
#endif

#endif
