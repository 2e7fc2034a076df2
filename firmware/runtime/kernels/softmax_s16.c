/* SOFTMAX of int16 activations, over the last dimension, by two tables. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* Between two of 513 entries on a straight line; x over all of 16 bits. */
static inline int32_t looked_up(int32_t x, const int16_t *table) {
  const int16_t *entry = table + 256 + (x >> 7);
  return (int16_t)(entry[0] + (((entry[1] - entry[0]) * (x & 0x7f) + 64) >> 7));
}

void na_softmax_s16(const int16_t *input, const int16_t *exponentials, const int16_t *reciprocals, int16_t *output,
                    const na_softmax_s16_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    int32_t largest = INT16_MIN;
    for (int32_t i = 0; i < p->depth; i++)
      if (input[i] > largest) largest = input[i];

    uint32_t sum = 0; /* steps of 2^-15; the largest input alone gives 1 */
    for (int32_t i = 0; i < p->depth; i++) {
      const int32_t difference = na_scale(input[i] - largest, p->multiplier, p->shift) + INT16_MAX;
      output[i] = (int16_t)looked_up(na_clamp(difference, INT16_MIN, INT16_MAX), exponentials);
      sum += (uint32_t)output[i];
    }
    /* sum = (1 + x) * 2^exponent, x in 16 bits */
    const int32_t zeros = __builtin_clz(sum);
    const int32_t rest = (int32_t)((((uint64_t)sum << (zeros - 1)) + (1 << 13)) >> 14) - (1 << 16) - (1 << 15);
    const int32_t reciprocal = looked_up(na_clamp(rest, INT16_MIN, INT16_MAX), reciprocals);
    const int32_t right = 31 - zeros;
    for (int32_t i = 0; i < p->depth; i++)
      output[i] = (int16_t)na_clamp((output[i] * reciprocal + (1 << (right - 1))) >> right, 0, INT16_MAX);
  }
}
