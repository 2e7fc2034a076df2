/* Loops whose last turn has inactive lanes: gcc makes none of them of intrinsics. A low-overhead loop counts the lanes
 * that are left (DLSTP, WLSTP and LETP), so a turn needs no predicate, and each load moves its address.
 */
#ifndef NEURALART_LOOPS_H
#define NEURALART_LOOPS_H

#include "mve.h"

/* The loops want eleven of the core's registers, which are not there without optimization or with a frame pointer. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O2", "omit-frame-pointer")
#endif

/* A run of input values times four filters, all of `count` > 0 bytes. The sums begin at those of `begin`. */
static inline int32x4_t na_dot_four(const int8_t *x, const int8_t *f0, const int8_t *f1, const int8_t *f2,
                                    const int8_t *f3, const int32_t begin[NA_LANES], int32_t count) {
  int32_t s0 = begin[0], s1 = begin[1], s2 = begin[2], s3 = begin[3];
  int32x4_t sums;
  __asm__ volatile(
      "dlstp.8 lr, %[count]\n"
      "1:\n"
      "vldrb.u8 %q[sums], [%[x]], #16\n"
      "vldrb.u8 q1, [%[f0]], #16\n"
      "vmladava.s8 %[s0], %q[sums], q1\n"
      "vldrb.u8 q2, [%[f1]], #16\n"
      "vmladava.s8 %[s1], %q[sums], q2\n"
      "vldrb.u8 q3, [%[f2]], #16\n"
      "vmladava.s8 %[s2], %q[sums], q3\n"
      "vldrb.u8 q1, [%[f3]], #16\n"
      "vmladava.s8 %[s3], %q[sums], q1\n"
      "letp lr, 1b\n"
      "vmov %e[sums], %[s0], %[s1]\n"
      "vmov %f[sums], %[s2], %[s3]\n"
      : [x] "+r"(x), [f0] "+r"(f0), [f1] "+r"(f1), [f2] "+r"(f2), [f3] "+r"(f3), [s0] "+Te"(s0), [s1] "+Te"(s1),
        [s2] "+Te"(s2), [s3] "+Te"(s3), [sums] "=&w"(sums)
      : [count] "r"(count)
      : "lr", "q1", "q2", "q3", "memory");
  return sums;
}

/* Sums of products and sums of filter values of three filters, which share the loads of an input value; `count` > 0. A
 * sum is in an even register, of which there are seven. */
typedef struct {
  int32_t product0, product1, product2, filter0, filter1, filter2;
} na_sums_t;

static inline na_sums_t na_sum_three(const int8_t *x, const int8_t *f0, const int8_t *f1, const int8_t *f2,
                                     int32_t count) {
  na_sums_t s = {0, 0, 0, 0, 0, 0};
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

/* The sum of `count` values. */
static inline int32_t na_total(const int8_t *values, int32_t count) {
  int32_t sum = 0;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.u8 q0, [%[values]], #16\n"
      "vaddva.s8 %[sum], q0\n"
      "letp lr, 1b\n"
      "2:\n"
      : [values] "+r"(values), [sum] "+Te"(sum)
      : [count] "r"(count)
      : "lr", "q0", "memory");
  return sum;
}

/* Copies `count` bytes. */
static inline void na_take(int8_t *to, const int8_t *from, int32_t count) {
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1:\n"
      "vldrb.u8 q0, [%[from]], #16\n"
      "vstrb.8 q0, [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:\n"
      : [to] "+r"(to), [from] "+r"(from)
      : [count] "r"(count)
      : "lr", "q0", "memory");
}

/* na_scale_x4 where all shifts are negative, as those of nearly all layers: no left shift can be, and each negative
 * number is one less before it is rounded. */
static inline int32x4_t na_scale_down_x4(int32x4_t x, int32x4_t multiplier, int32x4_t shift) {
  const int32x4_t high = vqrdmulhq_s32(x, multiplier);
  return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), shift);
}

/* Whether that holds. */
static inline int32_t na_all_negative(const int32_t *shift, int32_t count) {
  int32_t largest = INT32_MIN;
  for (; count >= NA_LANES; count -= NA_LANES, shift += NA_LANES) largest = vmaxvq_s32(largest, vld1q_s32(shift));
  for (; count > 0; count--, shift++) largest = largest < *shift ? *shift : largest;
  return largest < 0;
}

#endif
