/* FULLY_CONNECTED with MVE. The requantization in float64 is that of the plain C kernel. */
#include "../kernels/fully_connected_output.h"
#include "loops.h"
#include "mve.h"
#include "neuralart_kernels.h"

/* Sums of products and sums of filter values of three units, which share the loads of an input value; `count` > 0. A sum
 * is in an even register, of which there are seven. */
typedef struct {
  int32_t product0, product1, product2, filter0, filter1, filter2;
} sums_t;

static inline sums_t sum_three(const int8_t *x, const int8_t *f0, const int8_t *f1, const int8_t *f2, int32_t count) {
  sums_t s = {0, 0, 0, 0, 0, 0};
  __asm__ volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n"
      "vldrb.u8 q0, [%[x]], #16\n"
      "vldrb.u8 q1, [%[f0]], #16\n"
      "vmladava.s8 %[p0], q0, q1\n"
      "vaddva.s8 %[s0], q1\n"
      "vldrb.u8 q2, [%[f1]], #16\n"
      "vmladava.s8 %[p1], q0, q2\n"
      "vaddva.s8 %[s1], q2\n"
      "vldrb.u8 q3, [%[f2]], #16\n"
      "vmladava.s8 %[p2], q0, q3\n"
      "vaddva.s8 %[s2], q3\n"
      "letp lr, 1b\n"
      : [x] "+r"(x), [f0] "+r"(f0), [f1] "+r"(f1), [f2] "+r"(f2), [p0] "+Te"(s.product0), [p1] "+Te"(s.product1),
        [p2] "+Te"(s.product2), [s0] "+Te"(s.filter0), [s1] "+Te"(s.filter1), [s2] "+Te"(s.filter2)
      : [count] "r"(count)
      : "lr", "q0", "q1", "q2", "q3", "memory");
  return s;
}

enum { BLOCK = 48 }; /* units whose sums wait for their output; a multiple of three and of NA_LANES */

/* Stores sum(f * x) + xo * sum(f) of up to BLOCK units, and as many more as make it a multiple of three. */
static __attribute__((noinline)) void sum_block(int32_t *sums, const int8_t *input, const int8_t *filter, int32_t units,
                                                const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  const uint32_t offset = (uint32_t)p->input_offset;
  for (; units > 0; units -= 3, filter += 3 * depth, sums += 3) {
    const int8_t *const f1 = units > 1 ? filter + depth : filter, *const f2 = units > 2 ? f1 + depth : f1;
    const sums_t s = sum_three(input, filter, f1, f2, depth);
    sums[0] = (int32_t)((uint32_t)s.product0 + offset * (uint32_t)s.filter0);
    sums[1] = (int32_t)((uint32_t)s.product1 + offset * (uint32_t)s.filter1);
    sums[2] = (int32_t)((uint32_t)s.product2 + offset * (uint32_t)s.filter2);
  }
}

#if __ARM_FP & 8
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
  const int32x4_t low = vdupq_n_s32(p->activation_min - p->output_offset);
  const int32x4_t high = vdupq_n_s32(p->activation_max - p->output_offset);
  const int32_t step = p->per_channel;
  for (int32_t i = 0; i < units; i += NA_LANES) {
    int32x4_t sum = vaddq_n_s32(vld1q_s32(sums + i), common);
    if (bias) sum = vaddq_s32(sum, vldrwq_z_s32(bias + i, vctp32q((uint32_t)(units - i))));
    vst1q_s32(sums + i, sum);
  }
  for (int32_t i = 0; i < units; i++, scale += step) sums[i] = rounded((double)sums[i] * *scale);
  for (int32_t i = 0; i < units; i += NA_LANES) {
    const int32x4_t value = vminq_s32(vmaxq_s32(vld1q_s32(sums + i), low), high);
    vstrbq_p_s32(output + i, vaddq_n_s32(value, p->output_offset), vctp32q((uint32_t)(units - i)));
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
      common = (uint32_t)p->filter_offset *
               ((uint32_t)na_total(input, depth) + (uint32_t)depth * (uint32_t)p->input_offset);
    for (int32_t unit = 0; unit < p->units; unit += BLOCK) {
      const int32_t units = p->units - unit < BLOCK ? p->units - unit : BLOCK;
      sum_block(sums, input, filter + unit * depth, units, p);
      store_block(sums, (int32_t)common, bias ? bias + unit : bias, p->per_channel ? scale + unit : scale, output,
                  units, p);
      output += units;
    }
  }
}
