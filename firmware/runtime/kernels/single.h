/* Included first by kernels of float32: the compiler makes no vectors of their numbers. MVE takes subnormal numbers for
 * zero, which gcc does not mind: results would not be those of other cores. */
#ifndef NEURALART_SINGLE_H
#define NEURALART_SINGLE_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__ARM_FEATURE_MVE)
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif

/* Of what float32 makes infinite, too: the bounds of no activation are its largest numbers. A NaN stays. */
static inline float na_bounded_f32(float value, float low, float high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

#endif
