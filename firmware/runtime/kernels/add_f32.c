/* ADD, SUB and MUL of float32 with broadcasting. */
#include "single.h"

#include "broadcast.h"

static inline float sum(float a, float b, const na_numbers_f32_t *p) { return na_bounded_f32(a + b, p->low, p->high); }

static inline float difference(float a, float b, const na_numbers_f32_t *p) {
  return na_bounded_f32(a - b, p->low, p->high);
}

static inline float product(float a, float b, const na_numbers_f32_t *p) {
  return na_bounded_f32(a * b, p->low, p->high);
}

NA_BROADCAST_NUMBERS(na_add_f32, float, na_numbers_f32_t, sum)
NA_BROADCAST_NUMBERS(na_sub_f32, float, na_numbers_f32_t, difference)
NA_BROADCAST_NUMBERS(na_mul_f32, float, na_numbers_f32_t, product)
