/* TRANSPOSE, slices, splits, concatenations with MVE: blocks of bytes go elsewhere. */
#include "mve.h"
#include "neuralart_kernels.h"

enum {
  LAST = NA_MOVE_RANK - 1,
  GATHERED = 8,             /* single bytes that are moved at once */
  FAR = 65535 / (GATHERED - 1) /* their largest distance */
};

/* Single bytes at even distances. Distances that do not fit 16 bits, or are negative, are walked one by one. */
static void scattered(const uint8_t *input, uint8_t *output, int32_t count, int32_t from, int32_t to) {
  if (from < 0 || from > FAR || to < 0 || to > FAR) {
    for (int32_t i = 0; i < count; i++) output[i * to] = input[i * from];
    return;
  }
  const uint16x8_t number = vidupq_n_u16(0, 1);
  const uint16x8_t sources = vmulq_n_u16(number, (uint16_t)from), targets = vmulq_n_u16(number, (uint16_t)to);
  for (; count > 0; count -= GATHERED, input += GATHERED * from, output += GATHERED * to) {
    const mve_pred16_t here = vctp16q((uint32_t)count);
    vstrbq_scatter_offset_p_u16(output, targets, vldrbq_gather_offset_z_u16(input, sources, here), here);
  }
}

static void row(const uint8_t *input, uint8_t *output, const na_move_t *p) {
  const int32_t count = p->shape[LAST], from = p->input_step[LAST], to = p->output_step[LAST];
  if (from == p->block && to == p->block)
    na_copy_many((int8_t *)output, (const int8_t *)input, count * p->block);
  else if (p->block == 1)
    scattered(input, output, count, from, to);
  else
    for (int32_t i = 0; i < count; i++)
      na_copy_many((int8_t *)output + i * to, (const int8_t *)input + i * from, p->block);
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
