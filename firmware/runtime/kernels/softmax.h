/* What both kinds of results of a SOFTMAX of int8 have in common.
 *
 * Qn.m is a number of n integer and m fraction bits. Differences to the row's maximum are Q5.26, exponentials and the
 * reciprocal of their sum Q0.31, the sum itself Q12.19 (hence at most 4095 columns).
 */
#ifndef NEURALART_SOFTMAX_H
#define NEURALART_SOFTMAX_H

#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "reciprocal.h"

enum { DIFFERENCE_FRACTION = 26, SUM_INTEGER = 12 };

/* exp(x) for a Q0.31 number -1/4 <= x < 0: the Taylor polynomial of degree 4 about -1/8. */
static inline int32_t exp_last_quarter(int32_t x) {
  const int32_t exp_minus_eighth = 1895147668, third = 715827883;
  const int32_t d = x + (1 << 28);
  const int32_t d2 = na_high_multiply(d, d);
  const int32_t d3 = na_high_multiply(d2, d);
  const int32_t d4_4 = na_round_shift(na_high_multiply(d2, d2), 2);
  const int32_t rest = na_round_shift(na_high_multiply(d4_4 + d3, third) + d2, 1); /* d^4/24 + d^3/6 + d^2/2 */
  return exp_minus_eighth + na_high_multiply(exp_minus_eighth, d + rest);
}

/* exp(x) in Q0.31 for a Q5.26 number x <= 0: a part within one quarter times powers exp(-2^k) by the bits of the
 * rest. One function: copies of it are 250 bytes each. */
static __attribute__((noinline)) int32_t exp_negative(int32_t x) {
  static const int32_t powers[] = {/* exp(-1/4) .. exp(-16) */
                                   1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32_t quarter = 1 << (DIFFERENCE_FRACTION - 2);
  if (x == 0) return INT32_MAX;
  const int32_t part = (int32_t)((uint32_t)x & (uint32_t)(quarter - 1)) - quarter; /* -1/4 <= part < 0 */
  const uint32_t rest = (uint32_t)part - (uint32_t)x;
  int32_t result = exp_last_quarter(part * (1 << (31 - DIFFERENCE_FRACTION)));
  for (int32_t k = 0; k < (int32_t)(sizeof powers / sizeof powers[0]); k++)
    if (rest & ((uint32_t)quarter << k)) result = na_high_multiply(result, powers[k]);
  return result;
}

static inline int32_t scaled_exp(int32_t difference, const na_softmax_t *p) {
  return exp_negative(na_high_multiply((int32_t)((uint32_t)difference << p->shift), p->multiplier));
}

typedef struct {
  int32_t largest, reciprocal, exponent; /* of a row: its largest value, 1 / sum, and the shift that belongs to it */
} na_softmax_row_t;

/* bits: of results. */
static inline na_softmax_row_t na_softmax_row(const int8_t *input, int32_t bits, const na_softmax_t *p) {
  na_softmax_row_t row = {INT8_MIN, 0, 0};
  for (int32_t i = 0; i < p->depth; i++)
    if (input[i] > row.largest) row.largest = input[i];

  uint32_t sum = 0;
  for (int32_t i = 0; i < p->depth; i++) {
    const int32_t difference = input[i] - row.largest;
    if (difference >= p->minimum_difference) sum += (uint32_t)na_round_shift(scaled_exp(difference, p), SUM_INTEGER);
  }
  /* sum = (1 + x) * 2^(integer bits); the largest input alone gives 1, so at least that bit is set. */
  const int32_t leading_zeros = __builtin_clz(sum);
  row.reciprocal = na_reciprocal_of_one_plus((int32_t)((sum << leading_zeros) - ((uint32_t)1 << 31)));
  row.exponent = SUM_INTEGER - leading_zeros + 31 - bits;
  return row;
}

/* In steps of the output, from 0 on. With 8 bits the sum's weight alone takes a value below one half from 512 on: no
 * shift of 32 or more. */
static inline int32_t na_softmax_value(int32_t input, na_softmax_row_t row, const na_softmax_t *p) {
  const int32_t difference = input - row.largest;
  if (difference < p->minimum_difference || row.exponent >= 32) return 0;
  return na_round_shift(na_high_multiply(row.reciprocal, scaled_exp(difference, p)), row.exponent);
}

#endif
