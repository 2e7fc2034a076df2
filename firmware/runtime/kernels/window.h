/* Which taps of a window lie inside the input: found once per window, so that inner loops need no test. */
#ifndef NEURALART_WINDOW_H
#define NEURALART_WINDOW_H

#include <stdint.h>

typedef struct {
  int32_t origin; /* input position of tap 0; may lie outside */
  int32_t first, end; /* taps first .. end - 1 are inside; first >= end: none is */
} na_taps_t;

static inline na_taps_t na_taps(int32_t position, int32_t stride, int32_t padding, int32_t dilation, int32_t taps,
                                int32_t size) {
  na_taps_t t;
  t.origin = position * stride - padding;
  t.first = t.origin < 0 ? (dilation - 1 - t.origin) / dilation : 0;
  t.end = t.origin < size ? (size - t.origin + dilation - 1) / dilation : 0;
  if (t.end > taps) t.end = taps;
  return t;
}

#endif
