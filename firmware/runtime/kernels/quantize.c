/* QUANTIZE from and DEQUANTIZE to float32. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* The float32 quotient to the nearest integer, halves away from zero. It saturates beyond every 8-bit value; not-a-
 * number becomes the lowest. */
static int32_t round_quotient(float value, float scale) {
  const float limit = 65536.0f;
  const float quotient = value / scale;
  if (quotient >= limit) return (int32_t)limit;
  if (!(quotient > -limit)) return -(int32_t)limit;
  const int32_t whole = (int32_t)quotient;
  const float rest = quotient - (float)whole; /* exact */
  return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

void na_quantize_f32_s8(const float *input, int8_t *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++)
    output[i] = (int8_t)na_clamp(round_quotient(input[i], p->scale) + p->zero_point, INT8_MIN, INT8_MAX);
}

void na_quantize_f32_u8(const float *input, uint8_t *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++)
    output[i] = (uint8_t)na_clamp(round_quotient(input[i], p->scale) + p->zero_point, 0, UINT8_MAX);
}

/* The difference has 9 bits, so the product is rounded once, in float32 as in float64. */
void na_dequantize_s8_f32(const int8_t *input, float *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = p->scale * (float)(input[i] - p->zero_point);
}

void na_dequantize_u8_f32(const uint8_t *input, float *output, const na_quantize_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = p->scale * (float)(input[i] - p->zero_point);
}

void na_table_s8_f32(const int8_t *input, const float *table, float *output, const na_table_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = table[input[i] + 128];
}
