/* What the kernels for cores with the DSP extension share (Cortex-M4, M7, M33 and later): two products of 16 bits, and
 * their sum, by one instruction. They compute the numbers of the plain C kernels, bit by bit, in another order: sums
 * wrap as 32-bit numbers, so their order does not matter.
 *
 * Four neighboring bytes are one load, at any address: memory must be of type Normal. Nothing behind the end of a
 * tensor is touched.
 */
#ifndef NEURALART_DSP_H
#define NEURALART_DSP_H

#include <arm_acle.h>
#include <stdint.h>
#include <string.h>

#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

#if !defined(__ARM_FEATURE_DSP) || !defined(__ARM_FEATURE_SIMD32)
#error "kernels: dsp needs a core with the DSP extension (-mcpu=cortex-m4, -m7, -m33)"
#endif

enum { NA_FOUR = 4 };

/* Bytes 0 and 2, or 1 and 3, of four that were loaded, with their signs. */
typedef struct {
  int16x2_t even, odd;
} na_four_t;

static inline uint32_t na_load4(const int8_t *from) {
  uint32_t word;
  __builtin_memcpy(&word, from, sizeof word); /* also where -ffreestanding makes memcpy a call */
  return word;
}

/* The first one to three bytes; the others are zero. */
static inline uint32_t na_load_rest(const int8_t *from, int32_t count) {
  uint32_t word = (uint8_t)from[0];
  if (count > 1) word |= (uint32_t)(uint8_t)from[1] << 8;
  if (count > 2) word |= (uint32_t)(uint8_t)from[2] << 16;
  return word;
}

static inline int16x2_t na_pair(int32_t value) {
  return (int16x2_t)((uint32_t)value << 16 | ((uint32_t)value & 0xFFFFu));
}

/* Each byte with its sign in 16 bits. ACLE has no word for the rotation that these instructions do on the way. */
static inline na_four_t na_widen(uint32_t word) {
  na_four_t wide;
  wide.even = __sxtb16((int8x4_t)word);
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(wide.odd) : "r"(word));
  return wide;
}

/* Keeps gcc from loading what comes behind before what stands in front is done: it would run out of registers. */
static inline void na_in_order(void) { __asm__ volatile("" : : : "memory"); }

/* The same, with a number added to each. */
static inline na_four_t na_widen_add(uint32_t word, int16x2_t offsets) {
  na_four_t wide;
  wide.even = __sxtab16(offsets, (int8x4_t)word);
  __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(wide.odd) : "r"(offsets), "r"(word));
  return wide;
}

static inline int32_t na_products(na_four_t x, na_four_t f, int32_t sum) {
  return __smlad(x.odd, f.odd, __smlad(x.even, f.even, sum));
}

/* The same of one to three bytes: what is missing stays zero. */
static inline na_four_t na_widen_rest(const int8_t *from, int32_t count, int32_t offset) {
  const uint32_t word = na_load_rest(from, count);
  const uint32_t low = (uint32_t)offset & 0xFFFFu;
  na_four_t wide = na_widen_add(word, (int16x2_t)(count > 1 ? low : 0u));
  wide.even = __sxtab16(count > 2 ? na_pair(offset) : (int16x2_t)low, (int8x4_t)word);
  return wide;
}

static inline int32_t na_dot(int32_t sum, const int8_t *input, const int8_t *filter, int32_t count, int32_t offset) {
  const int16x2_t offsets = na_pair(offset);
  for (const int8_t *end = input + (count & -NA_FOUR); input != end; input += NA_FOUR, filter += NA_FOUR)
    sum = na_products(na_widen_add(na_load4(input), offsets), na_widen(na_load4(filter)), sum);
  const int32_t left = count % NA_FOUR;
  if (left) sum = na_products(na_widen_rest(input, left, offset), na_widen(na_load_rest(filter, left)), sum);
  return sum;
}

/* Adds the products of a run of input values, the offset added to each, with the runs of up to four filters, which are
 * `step` bytes apart. */
static inline void na_dot_x4(uint32_t sum[NA_FOUR], const int8_t *input, const int8_t *filter, int32_t step,
                             int32_t filters, int32_t count, int32_t offset) {
  if (filters < NA_FOUR) {
    for (int32_t j = 0; j < filters; j++, filter += step)
      sum[j] = (uint32_t)na_dot((int32_t)sum[j], input, filter, count, offset);
    return;
  }
  /* Two addresses and a distance: four would not fit the registers. */
  const int16x2_t offsets = na_pair(offset);
  const int8_t *f0 = filter, *f2 = filter + 2 * step;
  int32_t a0 = (int32_t)sum[0], a1 = (int32_t)sum[1], a2 = (int32_t)sum[2], a3 = (int32_t)sum[3];
  for (const int8_t *end = input + (count & -NA_FOUR); input != end; input += NA_FOUR, f0 += NA_FOUR, f2 += NA_FOUR) {
    const na_four_t x = na_widen_add(na_load4(input), offsets);
    a0 = na_products(x, na_widen(na_load4(f0)), a0);
    na_in_order();
    a1 = na_products(x, na_widen(na_load4(f0 + step)), a1);
    na_in_order();
    a2 = na_products(x, na_widen(na_load4(f2)), a2);
    na_in_order();
    a3 = na_products(x, na_widen(na_load4(f2 + step)), a3);
  }
  const int32_t left = count % NA_FOUR;
  if (left) {
    const na_four_t x = na_widen_rest(input, left, offset);
    a0 = na_products(x, na_widen(na_load_rest(f0, left)), a0);
    a1 = na_products(x, na_widen(na_load_rest(f0 + step, left)), a1);
    a2 = na_products(x, na_widen(na_load_rest(f2, left)), a2);
    a3 = na_products(x, na_widen(na_load_rest(f2 + step, left)), a3);
  }
  sum[0] = (uint32_t)a0, sum[1] = (uint32_t)a1, sum[2] = (uint32_t)a2, sum[3] = (uint32_t)a3;
}

/* na_requantize, with fewer instructions: floor((x + 2^(e - 1)) / 2^e) is floor((floor(x / 2^(e - 1)) + 1) / 2), and
 * for halves away from zero a negative x is one less. */
static inline int8_t na_output(uint32_t sum, int32_t multiplier, int32_t shift, const na_conv2d_t *p) {
  const int32_t left = shift > 0 ? shift : 0;
  int32_t x = na_high_multiply((int32_t)(sum << left), multiplier);
  if (shift < 0) x = (((x + (x >> 31)) >> (-shift - 1)) + 1) >> 1;
  return (int8_t)na_clamp((int32_t)((uint32_t)x + (uint32_t)p->output_offset), p->activation_min, p->activation_max);
}

/* The sum of a run of values, the offset added to each. */
static inline uint32_t na_sum(const int8_t *values, int32_t count, int32_t offset) {
  const na_four_t ones = {na_pair(1), na_pair(1)};
  int32_t sum = count * offset;
  for (const int8_t *end = values + (count & -NA_FOUR); values != end; values += NA_FOUR)
    sum = na_products(na_widen(na_load4(values)), ones, sum);
  const int32_t left = count % NA_FOUR;
  if (left) sum = na_products(na_widen(na_load_rest(values, left)), ones, sum);
  return (uint32_t)sum;
}

#endif
