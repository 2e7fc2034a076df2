/* Walking two inputs that are broadcast to one output, row by row; shared by the kernels with two inputs. */
#ifndef NEURALART_BROADCAST_H
#define NEURALART_BROADCAST_H

#include "neuralart_kernels.h"

enum { NA_BROADCAST_OUTER = NA_BROADCAST_RANK - 1 };

/* Set both inputs to the next row, counting up the innermost outer dimension first; a dimension that is through goes
 * back to its start. index holds NA_BROADCAST_OUTER zeros before the first call. Returns 0 behind the last row. */
static inline int na_next_row(const na_broadcast_t *b, int32_t *index, const int8_t **input1, const int8_t **input2) {
  for (int32_t axis = NA_BROADCAST_OUTER - 1; axis >= 0; axis--) {
    *input1 += b->stride1[axis];
    *input2 += b->stride2[axis];
    if (++index[axis] < b->shape[axis]) return 1;
    *input1 -= b->stride1[axis] * index[axis];
    *input2 -= b->stride2[axis] * index[axis];
    index[axis] = 0;
  }
  return 0;
}

/* Defines kernel(input1, input2, output, parameters), whose element value(a, b, p) is computed from one stored value
 * of each input. */
#define NA_BROADCAST_KERNEL(kernel, parameters_t, value)                                                               \
  void kernel(const int8_t *input1, const int8_t *input2, int8_t *output, const parameters_t *p) {                     \
    const int32_t count = p->broadcast.shape[NA_BROADCAST_OUTER];                                                      \
    const int32_t step1 = p->broadcast.stride1[NA_BROADCAST_OUTER];                                                    \
    const int32_t step2 = p->broadcast.stride2[NA_BROADCAST_OUTER];                                                    \
    int32_t index[NA_BROADCAST_OUTER] = {0};                                                                           \
    do {                                                                                                               \
      for (int32_t i = 0; i < count; i++) output[i] = (int8_t)value(input1[i * step1], input2[i * step2], p);          \
      output += count;                                                                                                 \
    } while (na_next_row(&p->broadcast, index, &input1, &input2));                                                     \
  }

/* The same with places in the inputs, in elements, for numbers of other types. */
static inline int na_next_place(const na_broadcast_t *b, int32_t *index, int32_t *place1, int32_t *place2) {
  for (int32_t axis = NA_BROADCAST_OUTER - 1; axis >= 0; axis--) {
    *place1 += b->stride1[axis];
    *place2 += b->stride2[axis];
    if (++index[axis] < b->shape[axis]) return 1;
    *place1 -= b->stride1[axis] * index[axis];
    *place2 -= b->stride2[axis] * index[axis];
    index[axis] = 0;
  }
  return 0;
}

#define NA_BROADCAST_NUMBERS(kernel, type, parameters_t, value)                                                        \
  void kernel(const type *input1, const type *input2, type *output, const parameters_t *p) {                           \
    const na_broadcast_t *b = &p->broadcast;                                                                           \
    const int32_t step1 = b->stride1[NA_BROADCAST_OUTER], step2 = b->stride2[NA_BROADCAST_OUTER];                      \
    int32_t index[NA_BROADCAST_OUTER] = {0}, place1 = 0, place2 = 0;                                                   \
    do {                                                                                                               \
      for (int32_t i = 0; i < b->shape[NA_BROADCAST_OUTER]; i++)                                                       \
        *output++ = value(input1[place1 + i * step1], input2[place2 + i * step2], p);                                  \
    } while (na_next_place(b, index, &place1, &place2));                                                               \
  }

#endif
