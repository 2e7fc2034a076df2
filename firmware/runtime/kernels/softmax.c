/* SOFTMAX over the last dimension, in fixed point throughout: no library function, the same bytes on every machine. */
#include "softmax.h"

void na_softmax_s8(const int8_t *input, int8_t *output, const na_softmax_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    const na_softmax_row_t made = na_softmax_row(input, 8, p);
    for (int32_t i = 0; i < p->depth; i++)
      output[i] = (int8_t)na_clamp(INT8_MIN + na_softmax_value(input[i], made, p), INT8_MIN, INT8_MAX);
  }
}
