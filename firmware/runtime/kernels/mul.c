/* MUL, with broadcasting. */
#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

static inline int32_t product(int32_t a, int32_t b, const na_mul_t *p) {
  return na_requantize((a + p->input1_offset) * (b + p->input2_offset), p->multiplier, p->shift, p->output_offset,
                       p->activation_min, p->activation_max);
}

NA_BROADCAST_KERNEL(na_mul_s8, na_mul_t, product)
