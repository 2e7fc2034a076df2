/* Sums of many bytes, eight neighbors at a time; shared by pooling and MEAN. */
#ifndef NEURALART_MVE_SUMS_H
#define NEURALART_MVE_SUMS_H

#include "mve.h"

enum {
  NA_HALFWORDS = 8,
  NA_SHORT_RUN = 256 /* bytes whose sum fits 16 bits */
};

/* The sums of eight neighbors: of the even ones, of the odd ones. They wrap as 32-bit numbers. */
typedef struct {
  int32x4_t halves[2];
} na_sums_t;

/* Adds eight neighbors from each of `count` places that are `step` bytes apart; lanes that are not active add zero. */
static inline void na_add_eights(na_sums_t *sums, const int8_t *input, int32_t count, int32_t step,
                                 mve_pred16_t lanes) {
  while (count > 0) {
    int16x8_t run = vdupq_n_s16(0);
    for (int32_t left = count < NA_SHORT_RUN ? count : NA_SHORT_RUN; left > 0; left--, input += step)
      run = vaddq_s16(run, vldrbq_z_s16(input, lanes));
    count -= NA_SHORT_RUN;
    sums->halves[0] = vaddq_s32(sums->halves[0], vmovlbq_s16(run));
    sums->halves[1] = vaddq_s32(sums->halves[1], vmovltq_s16(run));
  }
}

#endif
