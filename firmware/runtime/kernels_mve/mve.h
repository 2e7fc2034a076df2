/* What the MVE kernels share. They compute the numbers of the plain C kernels, bit by bit, in another order: sums wrap
 * as 32-bit numbers, so their order does not matter, and a requantization of four lanes is that of
 * neuralart_fixedpoint.h four times.
 *
 * A load of inactive lanes is no access: nothing behind the end of a tensor is touched.
 */
#ifndef NEURALART_MVE_H
#define NEURALART_MVE_H

#include <arm_mve.h>
#include <stdint.h>

enum { NA_LANES = 4, NA_BYTES = 16 };

/* ---- fixed point, four numbers at a time */

/* x / 2^-exponent, to nearest, halves away from zero; exponents 0 .. -31. VRSHL rounds halves up: a negative number is
 * one less before. */
static inline int32x4_t na_round_shift_x4(int32x4_t x, int32x4_t exponent) {
  const int32x4_t one_less = vshrq_n_s32(vandq_s32(x, exponent), 31);
  return vrshlq_s32(vqaddq_s32(x, one_less), exponent);
}

/* na_scale with a factor per lane. VQRDMULH is (2 * x * m + 2^31) / 2^32, rounded down: na_high_multiply. */
static inline int32x4_t na_scale_x4(int32x4_t x, int32x4_t multiplier, int32x4_t shift) {
  const int32x4_t zero = vdupq_n_s32(0);
  const int32x4_t high = vqrdmulhq_s32(vshlq_s32(x, vmaxq_s32(shift, zero)), multiplier);
  return na_round_shift_x4(high, vminq_s32(shift, zero));
}

/* The last part of na_requantize: zero point, which wraps, and limits. */
static inline int32x4_t na_output_x4(int32x4_t scaled, int32_t zero_point, int32_t low, int32_t high) {
  return vminq_s32(vmaxq_s32(vaddq_n_s32(scaled, zero_point), vdupq_n_s32(low)), vdupq_n_s32(high));
}

/* ---- sums of products */

/* Adds the products of a run of input values with the runs of up to four filters, which are `step` bytes apart; the last
 * one again where there are fewer. */
static inline void na_dot_x4(uint32_t sum[NA_LANES], const int8_t *input, const int8_t *filter, int32_t step,
                             int32_t filters, int32_t count) {
  const int8_t *f0 = filter;
  const int8_t *f1 = filters > 1 ? f0 + step : f0;
  const int8_t *f2 = filters > 2 ? f1 + step : f1;
  const int8_t *f3 = filters > 3 ? f2 + step : f2;
  int32_t a0 = (int32_t)sum[0], a1 = (int32_t)sum[1], a2 = (int32_t)sum[2], a3 = (int32_t)sum[3];
  for (uint32_t whole = (uint32_t)count / NA_BYTES; whole > 0; whole--) {
    const int8x16_t x = vld1q_s8(input);
    a0 = vmladavaq_s8(a0, x, vld1q_s8(f0));
    a1 = vmladavaq_s8(a1, x, vld1q_s8(f1));
    a2 = vmladavaq_s8(a2, x, vld1q_s8(f2));
    a3 = vmladavaq_s8(a3, x, vld1q_s8(f3));
    input += NA_BYTES, f0 += NA_BYTES, f1 += NA_BYTES, f2 += NA_BYTES, f3 += NA_BYTES;
  }
  const uint32_t left = (uint32_t)count % NA_BYTES;
  if (left) {
    /* Lanes without a value are zero. */
    const mve_pred16_t rest = vctp8q(left);
    const int8x16_t x = vldrbq_z_s8(input, rest);
    a0 = vmladavaq_s8(a0, x, vldrbq_z_s8(f0, rest));
    a1 = vmladavaq_s8(a1, x, vldrbq_z_s8(f1, rest));
    a2 = vmladavaq_s8(a2, x, vldrbq_z_s8(f2, rest));
    a3 = vmladavaq_s8(a3, x, vldrbq_z_s8(f3, rest));
  }
  sum[0] = (uint32_t)a0, sum[1] = (uint32_t)a1, sum[2] = (uint32_t)a2, sum[3] = (uint32_t)a3;
}

/* The sum of a run of values. */
static inline uint32_t na_sum(const int8_t *values, int32_t count) {
  int32_t sum = 0;
  for (uint32_t whole = (uint32_t)count / NA_BYTES; whole > 0; whole--, values += NA_BYTES)
    sum = vaddvaq_s8(sum, vld1q_s8(values));
  const uint32_t left = (uint32_t)count % NA_BYTES;
  if (left) sum = vaddvaq_s8(sum, vldrbq_z_s8(values, vctp8q(left)));
  return (uint32_t)sum;
}

/* ---- bytes */

static inline void na_copy(int8_t *to, const int8_t *from, int32_t count) {
  for (; count > 0; count -= NA_BYTES, to += NA_BYTES, from += NA_BYTES) {
    const mve_pred16_t here = vctp8q((uint32_t)count);
    vstrbq_p_s8(to, vldrbq_z_s8(from, here), here);
  }
}

static inline void na_fill(int8_t *to, int8_t value, int32_t count) {
  for (; count > 0; count -= NA_BYTES, to += NA_BYTES) vstrbq_p_s8(to, vdupq_n_s8(value), vctp8q((uint32_t)count));
}

/* to[i] = table[from[i] as uint8]; equal addresses of `from` and `to` are allowed. */
static inline void na_look_up(int8_t *to, const int8_t *from, const int8_t *table, int32_t count) {
  for (uint32_t whole = (uint32_t)count / NA_BYTES; whole > 0; whole--, to += NA_BYTES, from += NA_BYTES)
    vst1q_s8(to, vldrbq_gather_offset_s8(table, vld1q_u8((const uint8_t *)from)));
  const uint32_t left = (uint32_t)count % NA_BYTES;
  if (left) {
    const mve_pred16_t here = vctp8q(left);
    const uint8x16_t places = vldrbq_z_u8((const uint8_t *)from, here);
    vstrbq_p_s8(to, vldrbq_gather_offset_z_s8(table, places, here), here);
  }
}

/* As na_copy, with fewer instructions where there are many bytes. */
static inline void na_copy_many(int8_t *to, const int8_t *from, int32_t count) {
  for (uint32_t whole = (uint32_t)count / NA_BYTES; whole > 0; whole--, to += NA_BYTES, from += NA_BYTES)
    vst1q_s8(to, vld1q_s8(from));
  const uint32_t left = (uint32_t)count % NA_BYTES;
  if (left) {
    const mve_pred16_t here = vctp8q(left);
    vstrbq_p_s8(to, vldrbq_z_s8(from, here), here);
  }
}

#endif
