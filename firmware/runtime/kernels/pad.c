/* PAD and MIRROR_PAD. */
#include <string.h>

#include "neuralart_kernels.h"

enum { LAST = NA_MOVE_RANK - 1 };

static uint8_t *fill(uint8_t *output, int32_t elements, const uint8_t *value, const na_pad_t *p) {
  const size_t size = (size_t)p->element, bytes = (size_t)elements * size;
  if (value == NULL || size == 1)
    memset(output, value == NULL ? p->fill : *value, bytes);
  else
    for (size_t at = 0; at < bytes; at += size) memcpy(output + at, value, size);
  return output + bytes;
}

void na_pad_8(const uint8_t *input, const uint8_t *value, uint8_t *output, const na_pad_t *p) {
  const int32_t count = p->shape[LAST], all = p->before[LAST] + count + p->after[LAST];
  int32_t index[LAST]; /* of the output, relative to the input: negative in front of it */
  for (int32_t axis = 0; axis < LAST; axis++) index[axis] = -p->before[axis];
  for (int32_t axis = 0; axis >= 0;) {
    int32_t inside = 1;
    for (int32_t i = 0; i < LAST; i++) inside &= index[i] >= 0 && index[i] < p->shape[i];
    if (inside) {
      const size_t bytes = (size_t)count * (size_t)p->element;
      output = fill(output, p->before[LAST], value, p);
      memcpy(output, input, bytes);
      input += bytes;
      output = fill(output + bytes, p->after[LAST], value, p);
    } else {
      output = fill(output, all, value, p);
    }
    for (axis = LAST - 1; axis >= 0; axis--) {
      if (++index[axis] < p->shape[axis] + p->after[axis]) break;
      index[axis] = -p->before[axis];
    }
  }
}

/* Which block of the input an output position shows along a dimension. */
static int32_t mirrored(int32_t position, int32_t size, int32_t reflect) {
  if (position < 0) return -position - 1 + reflect;
  if (position >= size) return 2 * size - 1 - reflect - position;
  return position;
}

void na_mirror_pad_8(const uint8_t *input, uint8_t *output, const na_mirror_pad_t *p) {
  int32_t index[NA_MOVE_RANK] = {0};
  for (int32_t axis = 0; axis >= 0;) {
    int32_t from = 0;
    for (int32_t i = 0; i < NA_MOVE_RANK; i++)
      from += mirrored(index[i] - p->before[i], p->input_shape[i], p->reflect) * p->input_step[i];
    memcpy(output, input + from, (size_t)p->block);
    output += p->block;
    for (axis = LAST; axis >= 0; axis--) {
      if (++index[axis] < p->output_shape[axis]) break;
      index[axis] = 0;
    }
  }
}
