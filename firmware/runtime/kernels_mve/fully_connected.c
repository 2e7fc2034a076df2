/* FULLY_CONNECTED with MVE. The requantization in float64 is that of the plain C kernel. */
#include "../kernels/fully_connected_output.h"
#include "loops.h"
#include "mve.h"
#include "neuralart_kernels.h"

enum { BLOCK = 96 }; /* units whose sums wait for their output; a multiple of three and of NA_LANES */

/* Stores sum(f * x) + xo * sum(f) of three units. */
static inline void sum_units(int32_t *sums, const int8_t *x, const int8_t *f0, const int8_t *f1, const int8_t *f2,
                             int32_t depth, uint32_t offset) {
  const na_sums_t s = na_sum_three(x, f0, f1, f2, depth);
  sums[0] = (int32_t)((uint32_t)s.product0 + offset * (uint32_t)s.filter0);
  sums[1] = (int32_t)((uint32_t)s.product1 + offset * (uint32_t)s.filter1);
  sums[2] = (int32_t)((uint32_t)s.product2 + offset * (uint32_t)s.filter2);
}

/* The same of up to BLOCK units; behind the last one are others, or it stands there again. */
static __attribute__((noinline)) void sum_block(int32_t *sums, const int8_t *input, const int8_t *filter, int32_t units,
                                                int32_t depth, uint32_t offset) {
  if (depth <= NA_BYTES) {
    const mve_pred16_t lanes = vctp8q((uint32_t)depth);
    const int8x16_t x = vldrbq_z_s8(input, lanes);
    for (; units > 0; units--, filter += depth) {
      const int8x16_t f = vldrbq_z_s8(filter, lanes);
      *sums++ = (int32_t)((uint32_t)vmladavq_s8(x, f) + offset * (uint32_t)vaddvq_s8(f));
    }
    return;
  }
  for (; units > 2; units -= 3, filter += 3 * depth, sums += 3)
    sum_units(sums, input, filter, filter + depth, filter + 2 * depth, depth, offset);
  if (units > 0) {
    const int8_t *const last = filter + (units - 1) * depth;
    sum_units(sums, input, filter, last, last, depth, offset);
  }
}

#if defined(__ARM_FP) && (__ARM_FP & 8)
/* VCVTA rounds as na_round_away, halves away from zero, and saturates. */
static inline int32_t rounded(double value) {
  float stored;
  int32_t result;
  __asm__("vcvta.s32.f64 %0, %P1" : "=t"(stored) : "w"(value));
  __builtin_memcpy(&result, &stored, sizeof result);
  return result;
}
#else
static inline int32_t rounded(double value) { return na_round_away(value); }
#endif

/* What na_fully_connected_output makes of the sums. Limits come before the zero point, so that nothing wraps. */
static __attribute__((noinline)) void store_block(int32_t *sums, int32_t common, const int32_t *bias,
                                                  const double *scale, int8_t *output, int32_t units,
                                                  const na_fully_connected_t *p) {
  const int32_t zero_point = p->output_offset, rest = units % NA_LANES, whole = units - rest;
  const int32x4_t low = vdupq_n_s32(p->activation_min - zero_point);
  const int32x4_t high = vdupq_n_s32(p->activation_max - zero_point);
  const mve_pred16_t lanes = vctp32q((uint32_t)rest);
  if (bias) {
    for (int32_t i = 0; i < whole; i += NA_LANES)
      vst1q_s32(sums + i, vaddq_s32(vaddq_n_s32(vld1q_s32(sums + i), common), vld1q_s32(bias + i)));
    if (rest) {
      const int32x4_t some = vldrwq_z_s32(bias + whole, lanes);
      vst1q_s32(sums + whole, vaddq_s32(vaddq_n_s32(vld1q_s32(sums + whole), common), some));
    }
  } else if (common) {
    for (int32_t i = 0; i < units; i += NA_LANES) vst1q_s32(sums + i, vaddq_n_s32(vld1q_s32(sums + i), common));
  }
  if (p->per_channel) {
    for (int32_t i = 0; i < units; i++) sums[i] = rounded((double)sums[i] * scale[i]);
  } else {
    const double all = *scale;
    for (int32_t i = 0; i < units; i++) sums[i] = rounded((double)sums[i] * all);
  }
  for (int32_t i = 0; i < whole; i += NA_LANES)
    vstrbq_s32(output + i, vaddq_n_s32(vminq_s32(vmaxq_s32(vld1q_s32(sums + i), low), high), zero_point));
  if (rest) {
    const int32x4_t value = vminq_s32(vmaxq_s32(vld1q_s32(sums + whole), low), high);
    vstrbq_p_s32(output + whole, vaddq_n_s32(value, zero_point), lanes);
  }
}

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  int32_t sums[BLOCK];
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * x) + xo * sum(f) + fo * sum(x + xo); the last part is the same for all units.
     */
    uint32_t common = 0;
    if (p->filter_offset != 0)
      common =
          (uint32_t)p->filter_offset * ((uint32_t)na_total(input, depth) + (uint32_t)depth * (uint32_t)p->input_offset);
    for (int32_t unit = 0; unit < p->units; unit += BLOCK) {
      const int32_t units = p->units - unit < BLOCK ? p->units - unit : BLOCK;
      sum_block(sums, input, filter + unit * depth, units, depth, (uint32_t)p->input_offset);
      store_block(sums, (int32_t)common, bias ? bias + unit : bias, p->per_channel ? scale + unit : scale, output,
                  units, p);
      output += units;
    }
  }
}
