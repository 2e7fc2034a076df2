/* QUANTIZE to and DEQUANTIZE from int16, RELU and RELU6 of int16 activations. */
#include "fully_connected_output.h"
#include "neuralart_kernels.h"

#define REQUANTIZE(name, to)                                                                                           \
  void name(const int16_t *input, to *output, const na_requantize_t *p) {                                              \
    for (int32_t i = 0; i < p->count; i++)                                                                             \
      output[i] = (to)na_requantize(input[i], p->multiplier, p->shift, p->output_offset, p->activation_min,            \
                                    p->activation_max);                                                                \
  }

REQUANTIZE(na_requantize_s16_s16, int16_t)
REQUANTIZE(na_requantize_s16_s8, int8_t)

#define WITH_OFFSET(name, from, to)                                                                                    \
  void name(const from *input, to *output, const na_requantize_t *p) {                                                 \
    for (int32_t i = 0; i < p->count; i++)                                                                             \
      output[i] = (to)na_requantize((int32_t)((uint32_t)input[i] + (uint32_t)p->input_offset), p->multiplier,          \
                                    p->shift, p->output_offset, p->activation_min, p->activation_max);                 \
  }

WITH_OFFSET(na_requantize_s16_i32, int16_t, int32_t)
WITH_OFFSET(na_requantize_i32_s16, int32_t, int16_t)
WITH_OFFSET(na_requantize_i32_s8, int32_t, int8_t)

/* What is not a number becomes the lowest. */
void na_quantize_f32_s16(const float *input, int16_t *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++) {
    const float quotient = input[i] / p->scale;
    const int32_t value = quotient == quotient ? na_round_away((double)quotient) : INT16_MIN;
    output[i] = (int16_t)na_clamp(value, INT16_MIN, INT16_MAX);
  }
}

/* The product is rounded once, in float32 as in float64. */
void na_dequantize_s16_f32(const int16_t *input, float *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = p->scale * (float)input[i];
}
