/* Arithmetic of two inputs with broadcasting: plain numbers, and quotients of stored values. */
#include "single.h"

#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"
#include "numbers.h"
#include "reciprocal.h"

static inline int32_t bounded_i32(uint32_t value, const na_numbers_i32_t *p) {
  return na_clamp((int32_t)value, p->low, p->high);
}

static inline int32_t quotient_i32(int32_t a, int32_t b) {
  return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

static inline int32_t floor_quotient(int32_t a, int32_t b) {
  const int32_t whole = quotient_i32(a, b);
  /* In 32 bits the product may wrap, but not onto a. */
  return whole - (b != 0 && (a < 0) != (b < 0) && (uint32_t)whole * (uint32_t)b != (uint32_t)a);
}

#define NUMBERS(name, type, short_name, result)                                                                        \
  static inline type name##_##short_name(type a, type b, const na_numbers_##short_name##_t *p) {                       \
    (void)p;                                                                                                           \
    return result;                                                                                                     \
  }                                                                                                                    \
  NA_BROADCAST_NUMBERS(na_##name##_##short_name, type, na_numbers_##short_name##_t, name##_##short_name)

#define BOTH(name, in_f32, in_i32)                                                                                     \
  NUMBERS(name, float, f32, in_f32)                                                                                    \
  NUMBERS(name, int32_t, i32, in_i32)

/* Those of float32 are in add_f32.c. */
NUMBERS(add, int32_t, i32, bounded_i32((uint32_t)a + (uint32_t)b, p))
NUMBERS(sub, int32_t, i32, bounded_i32((uint32_t)a - (uint32_t)b, p))
NUMBERS(mul, int32_t, i32, bounded_i32((uint32_t)a *(uint32_t)b, p))
BOTH(div, na_bounded_f32(a / b, p->low, p->high), bounded_i32((uint32_t)quotient_i32(a, b), p))
BOTH(maximum, a > b ? a : b, a > b ? a : b)
BOTH(minimum, a < b ? a : b, a < b ? a : b)
BOTH(squared_difference, (a - b) * (a - b), (int32_t)(((uint32_t)a - (uint32_t)b) * ((uint32_t)a - (uint32_t)b)))
BOTH(floor_div, (float)na_floor((double)a / (double)b), floor_quotient(a, b))

static inline float prelu(float a, float b, const na_numbers_f32_t *p) {
  (void)p;
  return a >= 0.0f ? a : a * b;
}

NA_BROADCAST_NUMBERS(na_prelu_f32, float, na_numbers_f32_t, prelu)

/* x^y: exp(y log |x|), negative for an odd y of a negative x. */
static float power(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  const double exponent = (double)y, half = exponent * 0.5;
  const float magnitude = (float)na_exp(exponent * na_log(x < 0.0f ? -x : x));
  if (!(x < 0.0f) && !(x == 0.0f && 1.0f / x < 0.0f)) return magnitude;
  if (na_floor(exponent) != exponent) return x == 0.0f ? magnitude : na_not_a_number();
  return na_floor(half) != half ? -magnitude : magnitude;
}

static int32_t place_of(uint32_t bits) { return bits >> 23 ? (int32_t)(bits >> 23) : 1; }

static uint64_t digits_of(uint32_t bits) { return bits >> 23 ? (bits & 0x7fffffu) | 0x800000u : bits; }

/* The rest of a division of whole multiples of the last place of b: exact, as fmod. */
static float remainder_f32(float a, float b) {
  na_bits_t x = {a}, y = {b};
  x.bits &= 0x7fffffffu, y.bits &= 0x7fffffffu;
  if (y.bits == 0 || x.bits >= 0x7f800000u || y.bits > 0x7f800000u) return na_not_a_number();
  if (x.bits < y.bits) return a;
  const uint64_t by = digits_of(y.bits);
  uint64_t rest = digits_of(x.bits) % by;
  for (int32_t more = place_of(x.bits) - place_of(y.bits); more > 0; more -= 40)
    rest = (rest << (more < 40 ? more : 40)) % by;
  const float result = (float)((double)rest * na_power_of_two(place_of(y.bits) - 150));
  return a < 0.0f ? -result : result;
}

static float modulo_f32(float a, float b) {
  const float rest = remainder_f32(a, b);
  return rest != 0.0f && (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
}

static int32_t modulo_i32(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a - (uint32_t)floor_quotient(a, b) * (uint32_t)b);
}

BOTH(floor_mod, modulo_f32(a, b), modulo_i32(a, b))

static inline float power_f32(float a, float b, const na_numbers_f32_t *p) {
  (void)p;
  return power(a, b);
}

NA_BROADCAST_NUMBERS(na_pow_f32, float, na_numbers_f32_t, power_f32)

static inline int32_t floor_stored(int32_t a, int32_t b, const na_extremum_t *p) {
  (void)p;
  return floor_quotient(a, b);
}

/* x / y as x, shifted up to 31 bits, times the reciprocal of y, which is above one half once it is shifted so. */
static inline int32_t quotient(int32_t a, int32_t b, const na_mul_t *p) {
  int32_t x = a + p->input1_offset, y = b + p->input2_offset;
  if (y == 0) return x < 0 ? p->activation_min : p->activation_max;
  if (y < 0) x = -x, y = -y;
  const int32_t zeros = __builtin_clz((uint32_t)y);
  const int32_t reciprocal = na_reciprocal_of_one_plus((int32_t)(((uint32_t)y << zeros) - ((uint32_t)1 << 31)));
  const uint32_t magnitude = (uint32_t)(x < 0 ? ~x : x);
  const int32_t headroom = magnitude == 0 ? 31 : __builtin_clz(magnitude) - 1;
  const int32_t scaled = na_high_multiply((int32_t)((uint32_t)x << headroom), reciprocal);
  const int32_t right = headroom + 31 - zeros - p->shift;
  const int32_t result = right > 31 ? 0 : na_round_shift(na_high_multiply(scaled, p->multiplier), right);
  return na_clamp(result + p->output_offset, p->activation_min, p->activation_max);
}

NA_BROADCAST_KERNEL(na_floor_div_s8, na_extremum_t, floor_stored)
NA_BROADCAST_KERNEL(na_div_s8, na_mul_t, quotient)
