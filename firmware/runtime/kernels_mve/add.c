/* ADD, SUB and SQUARED_DIFFERENCE with MVE, with broadcasting. */
#include "../kernels/broadcast.h"
#include "mve.h"
#include "neuralart_kernels.h"

enum {
  SUM_SHIFT = 20,   /* head room of the sum: 9 bits of value, 20 of fraction */
  SQUARE_SHIFT = 7, /* of the square: twice 8 bits of value, twice 7 of fraction */
};

typedef enum { SUM, DIFFERENCE, SQUARE } kind_t;

/* Four stored values, or one of them in all lanes, brought to twice the larger scale. */
static inline int32x4_t operand(const int8_t *input, int32_t step, mve_pred16_t lanes, int32_t offset,
                                int32_t fraction_bits, int32_t multiplier, int32x4_t shift) {
  const int32x4_t stored = step ? vldrbq_z_s32(input, lanes) : vdupq_n_s32(*input);
  const int32x4_t value = vshlq_r_s32(vaddq_n_s32(stored, offset), fraction_bits);
  return na_scale_x4(value, vdupq_n_s32(multiplier), shift);
}

/* Whether an operand is divided by two and by nothing else, which is exact: that of the larger scale of a sum. */
static inline int32_t halved(int32_t multiplier, int32_t shift) { return multiplier == 1 << 30 && shift == 0; }

/* An operand like the above one, with a shift to the right. The first one may be `exact`: halved. */
static inline int32x4_t run_operand(const int8_t *input, int32_t offset, int32_t fraction_bits, int32_t multiplier,
                                    int32x4_t shift, int32_t exact) {
  const int32x4_t value = vaddq_n_s32(vldrbq_s32(input), offset);
  if (exact) return vshlq_n_s32(value, SUM_SHIFT - 1);
  const int32x4_t wide = fraction_bits == SUM_SHIFT ? vshlq_n_s32(value, SUM_SHIFT) : vshlq_n_s32(value, SQUARE_SHIFT);
  return na_round_shift_x4(vqrdmulhq_n_s32(wide, multiplier), shift);
}

/* As many whole groups of four as there are in two runs without repetition; all shifts are to the right. */
static inline __attribute__((always_inline)) void run(const int8_t *input1, const int8_t *input2, int8_t *output,
                                                      const na_add_t *p, kind_t kind, int32_t count, int32_t exact) {
  const int32_t fraction_bits = kind == SQUARE ? SQUARE_SHIFT : SUM_SHIFT;
  const int32x4_t shift1 = vdupq_n_s32(p->input1_shift), shift2 = vdupq_n_s32(p->input2_shift);
  const int32x4_t shift = vdupq_n_s32(p->output_shift);
  const int32x4_t low = vdupq_n_s32(p->activation_min), high = vdupq_n_s32(p->activation_max);
  const int32_t offset1 = p->input1_offset, multiplier1 = p->input1_multiplier;
  const int32_t offset2 = p->input2_offset, multiplier2 = p->input2_multiplier;
  const int32_t zero_point = p->output_offset, multiplier = p->output_multiplier;
  for (int32_t left = count / NA_LANES; left > 0; left--, input1 += NA_LANES, input2 += NA_LANES, output += NA_LANES) {
    const int32x4_t a = run_operand(input1, offset1, fraction_bits, multiplier1, shift1, exact);
    const int32x4_t b = run_operand(input2, offset2, fraction_bits, multiplier2, shift2, 0);
    const int32x4_t between = kind == SUM ? vaddq_s32(a, b) : vsubq_s32(a, b);
    const int32x4_t both = kind == SQUARE ? vmulq_s32(between, between) : between;
    const int32x4_t scaled = na_round_shift_x4(vqrdmulhq_n_s32(both, multiplier), shift);
    vstrbq_s32(output, vminq_s32(vmaxq_s32(vaddq_n_s32(scaled, zero_point), low), high));
  }
}

typedef void run_t(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p, int32_t count);

#define RUN(name, kind, exact)                                                                                         \
  static __attribute__((noinline)) void name(const int8_t *input1, const int8_t *input2, int8_t *output,               \
                                             const na_add_t *p, int32_t count) {                                       \
    run(input1, input2, output, p, kind, count, exact);                                                                \
  }

RUN(run_of_sums, SUM, 0)
RUN(run_of_exact_sums, SUM, 1)
RUN(run_of_differences, DIFFERENCE, 0)
RUN(run_of_squares, SQUARE, 0)

static void rows(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p, kind_t kind) {
  const int32_t fraction_bits = kind == SQUARE ? SQUARE_SHIFT : SUM_SHIFT;
  const int32_t step1 = p->broadcast.stride1[NA_BROADCAST_OUTER];
  const int32_t step2 = p->broadcast.stride2[NA_BROADCAST_OUTER];
  const int32x4_t shift1 = vdupq_n_s32(p->input1_shift), shift2 = vdupq_n_s32(p->input2_shift);
  const int32x4_t multiplier = vdupq_n_s32(p->output_multiplier), shift = vdupq_n_s32(p->output_shift);
  const int32_t count = p->broadcast.shape[NA_BROADCAST_OUTER];
  const int32_t runs = step1 && step2 && p->input1_shift <= 0 && p->input2_shift <= 0 && p->output_shift <= 0;
  run_t *const run_of[] = {halved(p->input1_multiplier, p->input1_shift) ? run_of_exact_sums : run_of_sums,
                           run_of_differences, run_of_squares};
  int32_t index[NA_BROADCAST_OUTER] = {0};
  do {
    int32_t i = 0;
    if (runs) {
      run_of[kind](input1, input2, output, p, count);
      i = count / NA_LANES * NA_LANES;
    }
    for (; i < count; i += NA_LANES) {
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
  if (halved(p->input2_multiplier, p->input2_shift) && !halved(p->input1_multiplier, p->input1_shift)) {
    /* The operand that is exact goes first. */
    na_add_t q = *p;
    q.input1_offset = p->input2_offset, q.input1_multiplier = p->input2_multiplier, q.input1_shift = p->input2_shift;
    q.input2_offset = p->input1_offset, q.input2_multiplier = p->input1_multiplier, q.input2_shift = p->input1_shift;
    for (int32_t axis = 0; axis < NA_BROADCAST_RANK; axis++) {
      q.broadcast.stride1[axis] = p->broadcast.stride2[axis];
      q.broadcast.stride2[axis] = p->broadcast.stride1[axis];
    }
    rows(input2, input1, output, &q, SUM);
    return;
  }
  rows(input1, input2, output, p, SUM);
}

void na_sub_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  rows(input1, input2, output, p, DIFFERENCE);
}

void na_squared_difference_s8(const int8_t *input1, const int8_t *input2, int8_t *output, const na_add_t *p) {
  rows(input1, input2, output, p, SQUARE);
}
