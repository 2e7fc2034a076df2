/* ADD, with broadcasting. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum { LEFT_SHIFT = 20 }; /* head room of the sum: 9 bits of value, 20 of fraction */

/* Both inputs are brought to twice the larger scale before they are added. */
static void row(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  const int32_t count = p->broadcast.shape[NA_BROADCAST_RANK - 1];
  const int32_t step1 = p->broadcast.stride1[NA_BROADCAST_RANK - 1];
  const int32_t step2 = p->broadcast.stride2[NA_BROADCAST_RANK - 1];
  for (int32_t i = 0; i < count; i++, input1 += step1, input2 += step2) {
    const int32_t a = (*input1 + p->input1_offset) * (1 << LEFT_SHIFT);
    const int32_t b = (*input2 + p->input2_offset) * (1 << LEFT_SHIFT);
    const int32_t sum =
        na_scale(a, p->input1_multiplier, p->input1_shift) + na_scale(b, p->input2_multiplier, p->input2_shift);
    output[i] = (int8_t)na_requantize(sum, p->output_multiplier, p->output_shift, p->output_offset, p->activation_min,
                                      p->activation_max);
  }
}

void na_add_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  const na_broadcast_t *b = &p->broadcast;
  int32_t index[NA_BROADCAST_RANK - 1] = {0};
  for (;;) {
    row(input1, input2, output, p);
    output += b->shape[NA_BROADCAST_RANK - 1];
    int32_t axis = NA_BROADCAST_RANK - 2;
    /* Count up, the innermost outer dimension first; a dimension that is through goes back to its start. */
    for (; axis >= 0; axis--) {
      input1 += b->stride1[axis];
      input2 += b->stride2[axis];
      if (++index[axis] < b->shape[axis]) break;
      input1 -= b->stride1[axis] * index[axis];
      input2 -= b->stride2[axis] * index[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}
