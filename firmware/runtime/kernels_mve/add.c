/* ADD, SUB and SQUARED_DIFFERENCE with MVE, with broadcasting. */
#include "../kernels/broadcast.h"
#include "mve.h"
#include "neuralart_kernels.h"

enum {
  SUM_SHIFT = 20,   /* head room of the sum: 9 bits of value, 20 of fraction */
  SQUARE_SHIFT = 7, /* of the square: twice 8 bits of value, twice 7 of fraction */
};

/* Four stored values, or one of them in all lanes, brought to twice the larger scale. */
static inline int32x4_t operand(const int8_t *input, int32_t step, mve_pred16_t lanes, int32_t offset,
                                int32_t fraction_bits, int32_t multiplier, int32x4_t shift) {
  const int32x4_t stored = step ? vldrbq_z_s32(input, lanes) : vdupq_n_s32(*input);
  const int32x4_t value = vshlq_r_s32(vaddq_n_s32(stored, offset), fraction_bits);
  return na_scale_x4(value, vdupq_n_s32(multiplier), shift);
}

typedef enum { SUM, DIFFERENCE, SQUARE } kind_t;

/* The kernels differ in what they do with two operands: `kind` is a constant in each. */
static inline void rows(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p, kind_t kind) {
  const int32_t fraction_bits = kind == SQUARE ? SQUARE_SHIFT : SUM_SHIFT;
  const int32_t step1 = p->broadcast.stride1[NA_BROADCAST_OUTER];
  const int32_t step2 = p->broadcast.stride2[NA_BROADCAST_OUTER];
  const int32x4_t shift1 = vdupq_n_s32(p->input1_shift), shift2 = vdupq_n_s32(p->input2_shift);
  const int32x4_t multiplier = vdupq_n_s32(p->output_multiplier), shift = vdupq_n_s32(p->output_shift);
  const int32_t count = p->broadcast.shape[NA_BROADCAST_OUTER];
  int32_t index[NA_BROADCAST_OUTER] = {0};
  do {
    for (int32_t i = 0; i < count; i += NA_LANES) {
      const mve_pred16_t lanes = vctp32q((uint32_t)(count - i));
      const int32x4_t a =
          operand(input1 + i * step1, step1, lanes, p->input1_offset, fraction_bits, p->input1_multiplier, shift1);
      const int32x4_t b =
          operand(input2 + i * step2, step2, lanes, p->input2_offset, fraction_bits, p->input2_multiplier, shift2);
      const int32x4_t between = kind == SUM ? vaddq_s32(a, b) : vsubq_s32(a, b);
      const int32x4_t both = kind == SQUARE ? vmulq_s32(between, between) : between;
      const int32x4_t scaled = na_scale_x4(both, multiplier, shift);
      vstrbq_p_s32(output + i, na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max), lanes);
    }
    output += count;
  } while (na_next_row(&p->broadcast, index, &input1, &input2));
}

void na_add_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  rows(input1, input2, output, p, SUM);
}

void na_sub_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  rows(input1, input2, output, p, DIFFERENCE);
}

void na_squared_difference_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  rows(input1, input2, output, p, SQUARE);
}
