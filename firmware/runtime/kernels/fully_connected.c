/* FULLY_CONNECTED. The profile requantises in float64, unlike every other operator: accumulator * scale, to nearest,
 * halves away from zero. IEEE arithmetic gives the same bits in hardware and in libgcc. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* Saturates at a value that any zero point leaves outside the output's range. */
static int32_t round_away(double value) {
  const double limit = 1073741824.0;
  if (value >= limit) return (int32_t)limit;
  if (value <= -limit) return -(int32_t)limit;
  const int32_t whole = (int32_t)value;
  const double rest = value - whole; /* exact */
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

static int8_t finish(uint32_t accumulator, double scale, const na_fully_connected_t *p) {
  const int32_t value = round_away((double)(int32_t)accumulator * scale) + p->output_offset;
  return (int8_t)na_clamp(value, p->activation_min, p->activation_max);
}

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  const int32_t offset = p->input_offset;
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * (x + xo)) + fo * sum(x + xo); the last part is the same for all units. */
    uint32_t common = 0;
    if (p->filter_offset != 0) {
      for (int32_t i = 0; i < depth; i++) common += (uint32_t)(input[i] + offset);
      common *= (uint32_t)p->filter_offset;
    }
    const int8_t *f = filter;
    int32_t unit = 0;
    for (; unit + 2 <= p->units; unit += 2, f += 2 * depth) {
      uint32_t a0 = common, a1 = common;
      for (int32_t i = 0; i < depth; i++) {
        const int32_t value = input[i] + offset;
        a0 += (uint32_t)(value * f[i]);
        a1 += (uint32_t)(value * f[depth + i]);
      }
      if (bias) a0 += (uint32_t)bias[unit], a1 += (uint32_t)bias[unit + 1];
      *output++ = finish(a0, scale[p->per_channel ? unit : 0], p);
      *output++ = finish(a1, scale[p->per_channel ? unit + 1 : 0], p);
    }
    if (unit < p->units) {
      uint32_t a = common;
      for (int32_t i = 0; i < depth; i++) a += (uint32_t)((input[i] + offset) * f[i]);
      if (bias) a += (uint32_t)bias[unit];
      *output++ = finish(a, scale[p->per_channel ? unit : 0], p);
    }
  }
}
