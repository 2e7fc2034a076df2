/* Loops whose last turn has inactive lanes: gcc makes none of them of intrinsics. A low-overhead loop counts the lanes
 * that are left (DLSTP, WLSTP and LETP), so a turn needs no predicate, and each load moves its address.
 */
#ifndef NEURALART_LOOPS_H
#define NEURALART_LOOPS_H

#include "mve.h"

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
