/* SOFTMAX over the last dimension with MVE, in fixed point throughout; the formats are those of the plain C kernel. */
#include "mve.h"

#include "../kernels/reciprocal.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum { DIFFERENCE_FRACTION = 26, SUM_INTEGER = 12 };

static inline int32x4_t round_shift(int32x4_t x, int32_t exponent) {
  return na_round_shift_x4(x, vdupq_n_s32(-exponent));
}

/* exp(x) for Q0.31 numbers -1/4 <= x < 0: the Taylor polynomial of degree 4 about -1/8. */
static inline int32x4_t exp_last_quarter(int32x4_t x) {
  const int32_t exp_minus_eighth = 1895147668, third = 715827883;
  const int32x4_t d = vaddq_n_s32(x, 1 << 28);
  const int32x4_t d2 = vqrdmulhq_s32(d, d);
  const int32x4_t d3 = vqrdmulhq_s32(d2, d);
  const int32x4_t d4_4 = round_shift(vqrdmulhq_s32(d2, d2), 2);
  const int32x4_t rest = round_shift(vaddq_s32(vqrdmulhq_n_s32(vaddq_s32(d4_4, d3), third), d2), 1);
  return vaddq_n_s32(vqrdmulhq_n_s32(vaddq_s32(d, rest), exp_minus_eighth), exp_minus_eighth);
}

/* exp(x) in Q0.31 for Q5.26 numbers x <= 0: a part within one quarter times powers exp(-2^k) by the bits of the
 * rest. */
static inline int32x4_t exp_negative(int32x4_t x) {
  static const int32_t powers[] = {/* exp(-1/4) .. exp(-16) */
                                   1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32_t quarter = 1 << (DIFFERENCE_FRACTION - 2);
  const int32x4_t part = vsubq_n_s32(vandq_s32(x, vdupq_n_s32(quarter - 1)), quarter); /* -1/4 <= part < 0 */
  const int32x4_t rest = vsubq_s32(part, x);
  int32x4_t result = exp_last_quarter(vshlq_n_s32(part, 31 - DIFFERENCE_FRACTION));
#pragma GCC unroll 7
  for (int32_t k = 0; k < (int32_t)(sizeof powers / sizeof powers[0]); k++) {
    /* Compared with a vector: of a comparison with the number 0, gcc 12 makes an internal error here. */
    const mve_pred16_t has_bit = vcmpneq_s32(vandq_s32(rest, vdupq_n_s32(quarter << k)), vdupq_n_s32(0));
    result = vqrdmulhq_m_s32(result, result, vdupq_n_s32(powers[k]), has_bit);
  }
  return vdupq_m_n_s32(result, INT32_MAX, vcmpeqq_n_s32(x, 0));
}

static inline int32x4_t scaled_exp(int32x4_t difference, const na_softmax_t *p) {
  return exp_negative(vqrdmulhq_n_s32(vshlq_r_s32(difference, p->shift), p->multiplier));
}

static int32_t largest_of(const int8_t *input, int32_t count) {
  int8_t largest = INT8_MIN;
  for (; count > 0; count -= NA_BYTES, input += NA_BYTES) {
    const mve_pred16_t here = vctp8q((uint32_t)count);
    largest = vmaxvq_p_s8(largest, vldrbq_z_s8(input, here), here);
  }
  return largest;
}

void na_softmax_s8(const int8_t *input, int8_t *output, const na_softmax_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    const int32_t largest = largest_of(input, p->depth);
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->depth; i += NA_LANES) {
      const mve_pred16_t lanes = vctp32q((uint32_t)(p->depth - i));
      const int32x4_t difference = vsubq_n_s32(vldrbq_z_s32(input + i, lanes), largest);
      const mve_pred16_t counts = vcmpgeq_m_n_s32(difference, p->minimum_difference, lanes);
      sum = (uint32_t)vaddvaq_p_s32((int32_t)sum, round_shift(scaled_exp(difference, p), SUM_INTEGER), counts);
    }
    /* sum = (1 + x) * 2^(integer bits); the largest input alone gives 1, so at least that bit is set. */
    const int32_t leading_zeros = __builtin_clz(sum);
    const int32_t reciprocal = na_reciprocal_of_one_plus((int32_t)((sum << leading_zeros) - ((uint32_t)1 << 31)));
    const int32_t exponent = SUM_INTEGER - leading_zeros + 31 - 8;

    for (int32_t i = 0; i < p->depth; i += NA_LANES) {
      const mve_pred16_t lanes = vctp32q((uint32_t)(p->depth - i));
      const int32x4_t difference = vsubq_n_s32(vldrbq_z_s32(input + i, lanes), largest);
      int32x4_t value = vdupq_n_s32(0);
      /* From 512 on, the sum's weight alone takes the value below one half: no shift of 32 or more. */
      if (exponent < 32) {
        const mve_pred16_t counts = vcmpgeq_m_n_s32(difference, p->minimum_difference, lanes);
        const int32x4_t shifted = round_shift(vqrdmulhq_n_s32(scaled_exp(difference, p), reciprocal), exponent);
        value = vpselq_s32(shifted, value, counts);
      }
      vstrbq_p_s32(output + i, na_output_x4(value, INT8_MIN, INT8_MIN, INT8_MAX), lanes);
    }
  }
}
