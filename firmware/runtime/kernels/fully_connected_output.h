/* How FULLY_CONNECTED makes an output value of an accumulator. The profile requantizes in float64, unlike every other
 * operator: accumulator * scale, to nearest, halves away from zero. IEEE arithmetic gives the same bits in hardware and
 * in libgcc. */
#ifndef NEURALART_FULLY_CONNECTED_OUTPUT_H
#define NEURALART_FULLY_CONNECTED_OUTPUT_H

#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* Saturates at a value that any zero point leaves outside the output's range. */
static inline int32_t na_round_away(double value) {
  const double limit = 1073741824.0;
  if (value >= limit) return (int32_t)limit;
  if (value <= -limit) return -(int32_t)limit;
  const int32_t whole = (int32_t)value;
  const double rest = value - whole; /* exact */
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

static inline int8_t na_fully_connected_output(uint32_t accumulator, double scale, const na_fully_connected_t *p) {
  const int32_t value = na_round_away((double)(int32_t)accumulator * scale) + p->output_offset;
  return (int8_t)na_clamp(value, p->activation_min, p->activation_max);
}

#endif
