/* Copies, and the change between uint8 and int8 at the border of a network, with MVE. */
#include <string.h>

#include "mve.h"
#include "neuralart_kernels.h"

void na_copy_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) { memmove(output, input, (size_t)p->count); }

void na_flip_sign_8(const uint8_t *input, uint8_t *output, const na_bytes_t *p) {
  const uint8x16_t sign = vdupq_n_u8(0x80);
  for (uint32_t whole = (uint32_t)p->count / NA_BYTES; whole > 0; whole--, input += NA_BYTES, output += NA_BYTES)
    vst1q_u8(output, veorq_u8(vld1q_u8(input), sign));
  const uint32_t left = (uint32_t)p->count % NA_BYTES;
  if (left) {
    const mve_pred16_t here = vctp8q(left);
    vstrbq_p_u8(output, veorq_u8(vldrbq_z_u8(input, here), sign), here);
  }
}
