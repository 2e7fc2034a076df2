/* CONCATENATION with other scales, GATHER, GATHER_ND, ARG_MAX, ARG_MIN. */
#include <string.h>

#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

void na_map_rows_s8(const int8_t *input, const int8_t *table, int8_t *output, const na_map_rows_t *p) {
  for (int32_t row = 0; row < p->rows; row++) {
    int8_t *to = output + row * p->output_step;
    for (int32_t i = 0; i < p->count; i++) to[i] = table[*input++ + 128];
  }
}

void na_gather_8(const uint8_t *input, const int32_t *indices, uint8_t *output, const na_gather_t *p) {
  for (int32_t batch = 0; batch < p->batches; batch++, indices += p->count) {
    for (int32_t outer = 0; outer < p->outer; outer++, input += p->size * p->block) {
      for (int32_t i = 0; i < p->count; i++, output += p->block) {
        /* An index that the network computed may be anything. */
        const int32_t index = na_clamp(indices[i], 0, p->size - 1);
        memcpy(output, input + index * p->block, (size_t)p->block);
      }
    }
  }
}

void na_arg_max_s8(const int8_t *input, int32_t *output, const na_arg_max_t *p) {
  const int8_t turn = p->smallest ? -1 : 0; /* ~x is smaller where x is larger */
  for (int32_t outer = 0; outer < p->outer; outer++, input += p->count * p->inner) {
    for (int32_t inner = 0; inner < p->inner; inner++) {
      int32_t best = 0;
      for (int32_t i = 1; i < p->count; i++)
        if ((input[i * p->inner + inner] ^ turn) > (input[best * p->inner + inner] ^ turn)) best = i;
      *output++ = best;
    }
  }
}

#define ARG_MAX(kernel, from, to)                                                                                      \
  void kernel(const from *input, to *output, const na_arg_max_t *p) {                                                  \
    for (int32_t outer = 0; outer < p->outer; outer++, input += p->count * p->inner) {                                 \
      for (int32_t inner = 0; inner < p->inner; inner++) {                                                             \
        int32_t best = 0;                                                                                              \
        for (int32_t i = 1; i < p->count; i++) {                                                                       \
          const from value = input[i * p->inner + inner], so_far = input[best * p->inner + inner];                     \
          if (p->smallest ? value < so_far : value > so_far) best = i;                                                 \
        }                                                                                                              \
        *output++ = best;                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  }

ARG_MAX(na_arg_max_i32, int32_t, int32_t)
ARG_MAX(na_arg_max_f32, float, int32_t)
ARG_MAX(na_arg_max_s8_i64, int8_t, int64_t)
ARG_MAX(na_arg_max_i32_i64, int32_t, int64_t)
ARG_MAX(na_arg_max_f32_i64, float, int64_t)

void na_gather_nd_8(const uint8_t *input, const int32_t *indices, uint8_t *output, const na_gather_nd_t *p) {
  for (int32_t i = 0; i < p->count; i++, output += p->block) {
    const uint8_t *from = input;
    for (int32_t d = 0; d < p->depth; d++) from += na_clamp(*indices++, 0, p->size[d] - 1) * p->step[d];
    memcpy(output, from, (size_t)p->block);
  }
}
