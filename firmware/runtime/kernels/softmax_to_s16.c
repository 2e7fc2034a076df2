/* SOFTMAX of int8 with results of 16 bits. */
#include "softmax.h"

void na_softmax_s8_s16(const int8_t *input, int16_t *output, const na_softmax_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    const na_softmax_row_t made = na_softmax_row(input, 16, p);
    for (int32_t i = 0; i < p->depth; i++)
      output[i] = (int16_t)na_clamp(INT16_MIN + na_softmax_value(input[i], made, p), INT16_MIN, INT16_MAX);
  }
}
