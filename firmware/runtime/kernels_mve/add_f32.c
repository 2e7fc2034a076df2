/* ADD, SUB and MUL of float32 with broadcasting, with MVE: four numbers at once. */
#include "floats.h"

#include "../kernels/broadcast.h"

typedef enum { SUM, DIFFERENCE, PRODUCT } kind_t;

/* An input of a row: its first number, and 1, or 0 if the number is repeated. */
typedef struct {
  const float *numbers;
  int32_t step;
} input_t;

static inline void plain(input_t a, input_t b, float *output, const na_numbers_f32_t *p, kind_t kind, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    const float x = a.numbers[i * a.step], y = b.numbers[i * b.step];
    output[i] = na_bounded_f32(kind == SUM ? x + y : kind == DIFFERENCE ? x - y : x * y, p->low, p->high);
  }
}

#if NA_MVE_FLOATS
static inline float32x4_t four(input_t a) { return a.step ? vld1q_f32(a.numbers) : vdupq_n_f32(*a.numbers); }

/* As many whole groups of four as there are. */
static inline __attribute__((always_inline)) void fours(input_t a, input_t b, float *output, const na_numbers_f32_t *p,
                                                        kind_t kind, int32_t count) {
  for (int32_t left = count / NA_LANES; left > 0; left--, output += NA_LANES) {
    const float32x4_t x = four(a), y = four(b);
    float32x4_t z = kind == SUM ? vaddq_f32(x, y) : kind == DIFFERENCE ? vsubq_f32(x, y) : vmulq_f32(x, y);
    z = na_bounded_x4(z, p->low, p->high);
    if (!na_met_subnormals(&z)) {
      vst1q_f32(output, z);
    } else {
      plain(a, b, output, p, kind, NA_LANES);
      na_forget_subnormals();
    }
    a.numbers += NA_LANES * a.step, b.numbers += NA_LANES * b.step;
  }
}
#endif

static inline __attribute__((always_inline)) void rows(const float *input1, const float *input2, float *output,
                                                       const na_numbers_f32_t *p, kind_t kind) {
  const na_broadcast_t *w = &p->broadcast;
  const int32_t count = w->shape[NA_BROADCAST_OUTER];
  int32_t index[NA_BROADCAST_OUTER] = {0}, place1 = 0, place2 = 0;
  na_forget_subnormals();
  do {
    input_t a = {input1 + place1, w->stride1[NA_BROADCAST_OUTER]};
    input_t b = {input2 + place2, w->stride2[NA_BROADCAST_OUTER]};
    int32_t done = 0;
#if NA_MVE_FLOATS
    if (a.step && b.step) fours((input_t){a.numbers, 1}, (input_t){b.numbers, 1}, output, p, kind, count);
    else fours(a, b, output, p, kind, count);
    done = count / NA_LANES * NA_LANES;
#endif
    a.numbers += done * a.step, b.numbers += done * b.step;
    plain(a, b, output + done, p, kind, count - done);
    output += count;
  } while (na_next_place(w, index, &place1, &place2));
}

void na_add_f32(const float *input1, const float *input2, float *output, const na_numbers_f32_t *p) {
  rows(input1, input2, output, p, SUM);
}

void na_sub_f32(const float *input1, const float *input2, float *output, const na_numbers_f32_t *p) {
  rows(input1, input2, output, p, DIFFERENCE);
}

void na_mul_f32(const float *input1, const float *input2, float *output, const na_numbers_f32_t *p) {
  rows(input1, input2, output, p, PRODUCT);
}
