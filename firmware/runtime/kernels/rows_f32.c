/* SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION of rows of float32. */
#include "single.h"

#include "neuralart_kernels.h"
#include "numbers.h"

static float largest(const float *row, int32_t depth) {
  float value = row[0];
  for (int32_t i = 1; i < depth; i++)
    if (row[i] > value) value = row[i];
  return value;
}

void na_softmax_f32(const float *input, float *output, const na_softmax_f32_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    const float most = largest(input, p->depth);
    float sum = 0.0f;
    for (int32_t i = 0; i < p->depth; i++) {
      output[i] = (float)na_exp((double)((input[i] - most) * p->beta));
      sum += output[i];
    }
    for (int32_t i = 0; i < p->depth; i++) output[i] /= sum;
  }
}

void na_log_softmax_f32(const float *input, float *output, const na_softmax_f32_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    const float most = largest(input, p->depth);
    float sum = 0.0f;
    for (int32_t i = 0; i < p->depth; i++) sum += (float)na_exp((double)(input[i] - most));
    const float logarithm = (float)na_log(sum);
    for (int32_t i = 0; i < p->depth; i++) output[i] = input[i] - most - logarithm;
  }
}

void na_l2_normalization_f32(const float *input, float *output, const na_softmax_f32_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    float sum = 0.0f;
    for (int32_t i = 0; i < p->depth; i++) sum += input[i] * input[i];
    float length = na_square_root(sum);
    if (length < 1e-6f) length = 1e-6f;
    for (int32_t i = 0; i < p->depth; i++) output[i] = input[i] / length;
  }
}
