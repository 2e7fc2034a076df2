/* What the MVE kernels of float32 share. Each lane makes a sum of its own, in the order of the plain C kernels and
 * without fused products, so that results are theirs, bit by bit, with one exception: MVE takes subnormal numbers for
 * zero, whatever FPSCR says. It tells so there, and who finds that computes the same lanes again without it. A NaN that
 * comes from an input may have other bits.
 *
 * Without floats in MVE (+nofp, +mve without .fp) NA_MVE_FLOATS is 0, and all is done without it.
 */
#ifndef NEURALART_MVE_FLOATS_H
#define NEURALART_MVE_FLOATS_H

#include "../kernels/single.h"
#include "mve.h"

#define NA_MVE_FLOATS ((__ARM_FEATURE_MVE & 2) != 0)

#if NA_MVE_FLOATS
enum { NA_SUBNORMAL = 1 << 7 | 1 << 3 }; /* IDC: of an input; UFC: of a result */

/* Forget what was told. Loads, and what is computed of them, stay behind. */
static inline void na_forget_subnormals(void) {
  uint32_t status;
  __asm__ volatile("vmrs %0, fpscr\n\tbic %0, %0, %1\n\tvmsr fpscr, %0" : "=&r"(status) : "i"(NA_SUBNORMAL) : "memory");
}

/* Whether an operation that led to `result` met a subnormal number. */
static inline int32_t na_met_subnormals(float32x4_t *result) {
  uint32_t status;
  __asm__ volatile("vmrs %0, fpscr" : "=r"(status), "+w"(*result) : : "memory");
  return (status & NA_SUBNORMAL) != 0;
}

/* As the plain C kernels compare: a NaN stays. */
static inline float32x4_t na_bounded_x4(float32x4_t x, float low, float high) {
  const float32x4_t above = vpselq_f32(vdupq_n_f32(low), x, vcmpltq_n_f32(x, low));
  return vpselq_f32(vdupq_n_f32(high), above, vcmpgtq_n_f32(above, high));
}
#else
static inline void na_forget_subnormals(void) {}
#endif

#endif
