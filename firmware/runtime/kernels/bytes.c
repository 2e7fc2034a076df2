/* Copies, and the change between uint8 and int8 at the border of a network. */
#include <string.h>

#include "neuralart_kernels.h"

void na_copy_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) { memmove(output, input, (size_t)p->count); }

void na_flip_sign_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = input[i] ^ 0x80u;
}
