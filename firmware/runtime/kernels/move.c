/* TRANSPOSE, slices, splits, concatenations: blocks of bytes go elsewhere. */
#include <string.h>

#include "neuralart_kernels.h"

enum { LAST = NA_MOVE_RANK - 1 };

static void row(const uint8_t *input, uint8_t *output, const na_move_t *p) {
  const int32_t count = p->shape[LAST], from = p->input_step[LAST], to = p->output_step[LAST];
  if (p->block == 1)
    for (int32_t i = 0; i < count; i++) output[i * to] = input[i * from];
  else
    for (int32_t i = 0; i < count; i++) memcpy(output + i * to, input + i * from, (size_t)p->block);
}

void na_move_8(const uint8_t *input, uint8_t *output, const na_move_t *p) {
  int32_t index[LAST] = {0};
  int32_t from = 0, to = 0, axis;
  do {
    row(input + from, output + to, p);
    /* Count up, the innermost outer dimension first; a dimension that is through goes back to its start. */
    for (axis = LAST - 1; axis >= 0; axis--) {
      if (++index[axis] < p->shape[axis]) {
        from += p->input_step[axis];
        to += p->output_step[axis];
        break;
      }
      from -= p->input_step[axis] * (p->shape[axis] - 1);
      to -= p->output_step[axis] * (p->shape[axis] - 1);
      index[axis] = 0;
    }
  } while (axis >= 0);
}
