/* SVDF: each filter remembers what it made of the last inputs, and weighs that over time. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* Sums wrap as 32-bit numbers, hence unsigned; so does an 8-bit state behind its zero point. */
#define SVDF(name, state_t, lowest, largest)                                                                           \
  void name(const int8_t *input, const int8_t *weights, const state_t *time_weights, const int32_t *bias,              \
              state_t *state, int8_t *output, const na_svdf_t *p) {                                                    \
    const int32_t newest = p->memory - 1;                                                                              \
    for (int32_t batch = 0; batch < p->batches; batch++, input += p->inputs) {                                         \
      const int8_t *w = weights;                                                                                       \
      const state_t *t = time_weights;                                                                                 \
      for (int32_t unit = 0; unit < p->units; unit++) {                                                                \
        uint32_t total = bias ? (uint32_t)bias[unit] : 0u;                                                             \
        for (int32_t filter = 0; filter < p->rank; filter++, w += p->inputs, t += p->memory, state += p->memory) {     \
          uint32_t sum = 0;                                                                                            \
          for (int32_t i = 0; i < p->inputs; i++) sum += (uint32_t)(w[i] * (input[i] + p->input_offset));              \
          for (int32_t i = 0; i < newest; i++) {                                                                       \
            state[i] = state[i + 1];                                                                                   \
            total += (uint32_t)(t[i] * (state[i] - p->state_offset));                                                  \
          }                                                                                                            \
          const int32_t made = na_scale((int32_t)sum, p->state_multiplier, p->state_shift);                            \
          state[newest] = (state_t)(na_clamp(made, lowest, largest) + p->state_offset);                                \
          total += (uint32_t)(t[newest] * (state[newest] - p->state_offset));                                          \
        }                                                                                                              \
        *output++ = (int8_t)na_requantize((int32_t)total, p->output_multiplier, p->output_shift, p->output_offset,     \
                                          INT8_MIN, INT8_MAX);                                                         \
      }                                                                                                                \
    }                                                                                                                  \
  }

SVDF(na_svdf_s8, int16_t, INT16_MIN, INT16_MAX)
SVDF(na_svdf_s8_s8, int8_t, INT8_MIN, INT8_MAX)
