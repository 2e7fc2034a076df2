/* The taps of a transposed convolution that meet an output position. */
#ifndef NEURALART_MEETINGS_H
#define NEURALART_MEETINGS_H

#include <stdint.h>

/* The taps that meet an output position along one axis: every further one is a stride on in the kernel and one back in
 * the input. */
typedef struct {
  int32_t tap, input; /* of the first one */
  int32_t count;
} meetings_t;

static inline meetings_t meetings(int32_t position, int32_t stride, int32_t padding, int32_t taps, int32_t size) {
  const int32_t shifted = position + padding;
  const int32_t nearest = shifted / stride; /* the last input position whose window has begun */
  const int32_t rest = shifted % stride;
  const int32_t beyond = nearest < size ? 0 : nearest - size + 1; /* of these the input has none */
  const int32_t in_kernel = rest < taps ? (taps - 1 - rest) / stride + 1 : 0;
  const int32_t end = nearest < in_kernel ? nearest + 1 : in_kernel;
  meetings_t m;
  m.tap = rest + beyond * stride;
  m.input = nearest - beyond;
  m.count = end > beyond ? end - beyond : 0;
  return m;
}

#endif
