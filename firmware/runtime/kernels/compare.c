/* EQUAL, LESS and the like, and SELECT. */
#include <string.h>

#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

enum { FRACTION = 8 }; /* bits of stored values before they are scaled */

#define RELATION(a, b) ((a) < (b) ? 0 : (a) == (b) ? 1 : (a) > (b) ? 2 : 3)

#define COMPARE(kernel, type, value1, value2)                                                                          \
  void kernel(const type *input1, const type *input2, uint8_t *output, const na_compare_t *p) {                        \
    const na_broadcast_t *b = &p->broadcast;                                                                           \
    const int32_t step1 = b->stride1[NA_BROADCAST_OUTER], step2 = b->stride2[NA_BROADCAST_OUTER];                      \
    int32_t index[NA_BROADCAST_OUTER] = {0}, place1 = 0, place2 = 0;                                                   \
    do {                                                                                                               \
      for (int32_t i = 0; i < b->shape[NA_BROADCAST_OUTER]; i++) {                                                     \
        const type x = input1[place1 + i * step1], y = input2[place2 + i * step2];                                     \
        *output++ = (uint8_t)(p->holds >> RELATION(value1, value2) & 1);                                               \
      }                                                                                                                \
    } while (na_next_place(b, index, &place1, &place2));                                                               \
  }

static inline int32_t scaled(int8_t value, int32_t offset, int32_t multiplier, int32_t shift) {
  return na_scale((value + offset) * (1 << FRACTION), multiplier, shift);
}

COMPARE(na_compare_f32, float, x, y)
COMPARE(na_compare_i32, int32_t, x, y)
COMPARE(na_compare_i64, int64_t, x, y)
COMPARE(na_compare_u8, uint8_t, x, y)
COMPARE(na_compare_s8, int8_t, scaled(x, p->input1_offset, p->input1_multiplier, p->input1_shift),
        scaled(y, p->input2_offset, p->input2_multiplier, p->input2_shift))

void na_select_8(const uint8_t *condition, const uint8_t *input1, const uint8_t *input2, uint8_t *output,
                 const na_select_t *p) {
  int32_t index[NA_BROADCAST_RANK] = {0}, at = 0, at1 = 0, at2 = 0, axis;
  do {
    const uint8_t *from = condition[at] ? input1 + at1 * p->element : input2 + at2 * p->element;
    memcpy(output, from, (size_t)p->element);
    output += p->element;
    for (axis = NA_BROADCAST_RANK - 1; axis >= 0; axis--) {
      at += p->condition_step[axis], at1 += p->step1[axis], at2 += p->step2[axis];
      if (++index[axis] < p->shape[axis]) break;
      at -= p->condition_step[axis] * index[axis], at1 -= p->step1[axis] * index[axis],
          at2 -= p->step2[axis] * index[axis];
      index[axis] = 0;
    }
  } while (axis >= 0);
}
