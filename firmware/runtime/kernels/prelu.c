/* PRELU: the slopes are the second input. */
#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

static inline int32_t rectified(int32_t a, int32_t b, const na_prelu_t *p) {
  const int32_t value = a + p->input_offset;
  if (value >= 0) return na_requantize(value, p->multiplier, p->shift, p->output_offset, INT8_MIN, INT8_MAX);
  return na_requantize(value * (b + p->slope_offset), p->slope_multiplier, p->slope_shift, p->output_offset, INT8_MIN,
                       INT8_MAX);
}

NA_BROADCAST_KERNEL(na_prelu_s8, na_prelu_t, rectified)
