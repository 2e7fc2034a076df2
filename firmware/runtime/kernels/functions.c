/* Functions of one float32 value, and SOFTMAX in float32. */
#include "neuralart_kernels.h"
#include "numbers.h"

enum { ROOT_BITS = 25 }; /* of the result, and one to round by */

typedef union {
  float value;
  uint32_t bits;
} bits_t;

static float not_a_number(void) {
  const bits_t quiet = {.bits = 0x7fc00000u};
  return quiet.value;
}

/* The nearest float32, by digits: the mantissa as an integer of 49 or 50 bits has a root of 25. None is a tie. */
static float square_root(float x) {
  bits_t b = {x};
  if (!(x > 0.0f)) return x == 0.0f ? x : not_a_number();
  if (b.bits >= 0x7f800000u) return x;
  int32_t exponent = 0;
  if (b.bits < 0x00800000u) b.value *= 16777216.0f, exponent = -24; /* subnormal */
  exponent += (int32_t)(b.bits >> 23) - 127 - 23; /* x = mantissa * 2^exponent */
  uint64_t rest = (uint64_t)((b.bits & 0x007fffffu) | 0x00800000u);
  const int32_t shift = exponent & 1 ? 25 : 26;
  rest <<= shift;
  exponent -= shift;
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << (2 * (ROOT_BITS - 1)); bit != 0; bit >>= 2) {
    const uint64_t next = root + bit;
    root >>= 1;
    if (rest >= next) rest -= next, root += bit;
  }
  return (float)((double)((root + 1) >> 1) * na_power_of_two(exponent / 2 + 1));
}

/* log(m * 2^k) for m about 1: the series of log((1 + s) / (1 - s)). */
static float logarithm(float x) {
  if (!(x > 0.0f)) return x == 0.0f ? -1.0f / 0.0f : not_a_number();
  bits_t b = {x};
  if (b.bits >= 0x7f800000u) return x;
  int32_t exponent = 0;
  if (b.bits < 0x00800000u) b.value *= 16777216.0f, exponent = -24;
  const int32_t k = (int32_t)(b.bits - 0x3f3504f3u) >> 23; /* the bits of the root of one half */
  b.bits -= (uint32_t)k << 23;
  exponent += k;
  const double m = (double)b.value, s = (m - 1.0) / (m + 1.0), s2 = s * s;
  double sum = 0.0;
  for (int32_t n = 17; n > 0; n -= 2) sum = sum * s2 + 1.0 / (double)n;
  return (float)(2.0 * s * sum + (double)exponent * 0x1.62e42fefa39efp-1);
}

static float hyperbolic_tangent(float value) {
  const double x = (double)value, a = x < 0.0 ? -x : x;
  if (a < 0x1p-12) return (float)(x * (1.0 - x * x / 3.0));
  if (a > 20.0) return x < 0.0 ? -1.0f : 1.0f;
  const double e = na_exp(2.0 * a), t = (e - 1.0) / (e + 1.0);
  return (float)(x < 0.0 ? -t : t);
}

static float exponential(float x) { return (float)na_exp((double)x); }

/* The profile leaves out what float32 would lose: the one far below zero, and all but the one far above. */
static float logistic(float x) {
  if (x > 16.619047164916992f) return 1.0f;
  return x < -9.0f ? exponential(x) : 1.0f / (1.0f + exponential(-x));
}

static float hard_swish(float x) {
  const float gate = x + 3.0f, opened = gate < 0.0f ? 0.0f : gate;
  return x * (opened > 6.0f ? 6.0f : opened) / 6.0f;
}

#define FUNCTION(name, expression)                                                                                     \
  void na_##name##_f32(const float *input, float *output, const na_function_f32_t *p) {                                \
    for (int32_t i = 0; i < p->count; i++) {                                                                           \
      const float x = input[i];                                                                                        \
      output[i] = expression;                                                                                          \
    }                                                                                                                  \
  }

FUNCTION(abs, x < 0.0f ? -x : x + 0.0f)
FUNCTION(neg, -x)
FUNCTION(square, x * x)
FUNCTION(floor, (float)na_floor((double)x))
FUNCTION(sqrt, square_root(x))
FUNCTION(rsqrt, 1.0f / square_root(x))
FUNCTION(exp, exponential(x))
FUNCTION(log, logarithm(x))
FUNCTION(tanh, hyperbolic_tangent(x))
FUNCTION(logistic, logistic(x))
FUNCTION(relu, x < 0.0f ? 0.0f : x)
FUNCTION(clip, x > p->high ? p->high : x < p->low ? p->low : x)
FUNCTION(leaky_relu, x > 0.0f ? x : x * p->low)
FUNCTION(hard_swish, hard_swish(x))

void na_softmax_f32(const float *input, float *output, const na_softmax_f32_t *p) {
  for (int32_t row = 0; row < p->rows; row++, input += p->depth, output += p->depth) {
    float largest = input[0], sum = 0.0f;
    for (int32_t i = 1; i < p->depth; i++)
      if (input[i] > largest) largest = input[i];
    for (int32_t i = 0; i < p->depth; i++) {
      output[i] = exponential((input[i] - largest) * p->beta);
      sum += output[i];
    }
    for (int32_t i = 0; i < p->depth; i++) output[i] /= sum;
  }
}
