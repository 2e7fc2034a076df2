/* MAXIMUM and MINIMUM, with broadcasting. */
#include "broadcast.h"
#include "neuralart_kernels.h"

static inline int32_t larger(int32_t a, int32_t b, const na_extremum_t *p) {
  (void)p;
  return a > b ? a : b;
}

static inline int32_t smaller(int32_t a, int32_t b, const na_extremum_t *p) {
  (void)p;
  return a < b ? a : b;
}

NA_BROADCAST_KERNEL(na_maximum_s8, na_extremum_t, larger)
NA_BROADCAST_KERNEL(na_minimum_s8, na_extremum_t, smaller)
