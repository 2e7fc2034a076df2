/* Functions of one float32 value. */
#include "single.h"

#include "neuralart_kernels.h"
#include "numbers.h"

static float logarithm(float x) { return (float)na_log(x); }

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

/* Halves to the even neighbor. */
static float to_nearest(float x) {
  const double below = na_floor((double)x), rest = (double)x - below;
  const int32_t up = rest > 0.5 || (rest == 0.5 && na_floor(below * 0.5) * 2.0 != below);
  return (float)(up ? below + 1.0 : below);
}

/* e^x - 1; near zero, where the difference would lose digits, its series. */
static float exponential_less_one(float value) {
  const double x = (double)value;
  if (x > -0.01 && x < 0.01) return (float)(x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0)))));
  return (float)(na_exp(x) - 1.0);
}

/* sin(x + quarters * pi / 2): the series for what is left of x beside the nearest multiple of pi / 2, whose three parts
 * multiply exactly. Beyond 2^27 such multiples the result means nothing. */
static float sine(float value, int32_t quarters) {
  const double x = (double)value;
  if (!(x > -2.0e8 && x < 2.0e8)) return na_not_a_number();
  const double k = na_floor(x * 0x1.45f306dc9c883p-1 + 0.5);
  const double r = ((x - k * 0x1.921fb5p0) - k * 0x1.110b46p-26) - k * 0x1.1a62633145c07p-54;
  const int32_t turn = (int32_t)((uint32_t)(int32_t)k + (uint32_t)quarters) & 3, odd = turn & 1;
  double term = odd ? 1.0 : r, sum = term;
  for (int32_t n = odd ? 1 : 2; n < 17; n += 2) sum += term *= -r * r / (double)(n * (n + 1));
  return (float)(turn & 2 ? -sum : sum);
}

static float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }

static float gelu(float x) { return 0.5f * x * (float)na_erfc(-(double)(x * 0.70710678118654752440f)); }

static float gelu_by_tanh(float x) {
  return 0.5f * x * (1.0f + na_tanh(0.79788456080286535588f * (x + 0.044715f * x * x * x)));
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
FUNCTION(square, x *x)
FUNCTION(floor, (float)na_floor((double)x))
FUNCTION(sqrt, na_square_root(x))
FUNCTION(rsqrt, 1.0f / na_square_root(x))
FUNCTION(exp, exponential(x))
FUNCTION(log, logarithm(x))
FUNCTION(tanh, na_tanh(x))
FUNCTION(logistic, logistic(x))
FUNCTION(relu, x < 0.0f ? 0.0f : x)
FUNCTION(clip, x > p->high ? p->high : x < p->low ? p->low : x)
FUNCTION(leaky_relu, x > 0.0f ? x : x * p->low)
FUNCTION(hard_swish, hard_swish(x))
FUNCTION(ceil, -(float)na_floor(-(double)x))
FUNCTION(round, to_nearest(x))
FUNCTION(sign, sign(x))
FUNCTION(sin, sine(x, 0))
FUNCTION(cos, sine(x, 1))
FUNCTION(elu, x < 0.0f ? exponential_less_one(x) : x)
FUNCTION(gelu, gelu(x))
FUNCTION(gelu_by_tanh, gelu_by_tanh(x))
FUNCTION(erf, (float)na_erf((double)x))
