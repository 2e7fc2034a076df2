/* FULLY_CONNECTED of int16 activations. */
#include "fully_connected_output.h"
#include "neuralart_kernels.h"

/* Sums wrap, hence unsigned; the lower half of a sum of 64 bits is the sum of 32 bits. */
#define FULLY_CONNECTED(kernel, sum_t)                                                                                 \
  void kernel(const int16_t *input, const int8_t *filter, const sum_t *bias, const double *scale, int16_t *output,     \
              const na_fully_connected_t *p) {                                                                         \
    for (int32_t batch = 0; batch < p->batches; batch++, input += p->depth) {                                          \
      const int8_t *taps = filter;                                                                                     \
      for (int32_t unit = 0; unit < p->units; unit++, taps += p->depth) {                                              \
        uint64_t sum = bias ? (uint64_t)(int64_t)bias[unit] : 0u;                                                      \
        for (int32_t i = 0; i < p->depth; i++) sum += (uint64_t)(int64_t)(input[i] * (taps[i] + p->filter_offset));    \
        const double value = (double)(sum_t)sum * scale[p->per_channel ? unit : 0];                                    \
        *output++ = (int16_t)na_clamp(na_round_away(value), p->activation_min, p->activation_max);                     \
      }                                                                                                                \
    }                                                                                                                  \
  }

FULLY_CONNECTED(na_fully_connected_s16, int64_t)
FULLY_CONNECTED(na_fully_connected_s16_b32, int32_t)
