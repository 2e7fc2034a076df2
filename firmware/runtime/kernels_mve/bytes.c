/* Copies, and the change between uint8 and int8 at the border of a network, with MVE. */
#include <string.h>

#include "mve.h"
#include "neuralart_kernels.h"

void na_copy_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) { memmove(output, input, (size_t)p->count); }

void na_flip_sign_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) {
  for (int32_t i = 0; i < p->count; i += NA_BYTES) {
    const mve_pred16_t here = vctp8q((uint32_t)(p->count - i));
    vstrbq_p_u8(output + i, veorq_u8(vldrbq_z_u8(input + i, here), vdupq_n_u8(0x80)), here);
  }
}
