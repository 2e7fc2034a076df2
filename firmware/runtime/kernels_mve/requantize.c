/* QUANTIZE from integers, RELU and its relatives with MVE. There are no more than 256 inputs: where many values are
 * requantized, what becomes of each is computed first. */
#include "mve.h"
#include "neuralart_kernels.h"

enum {
  ALL = 256,
  MANY = 1024 /* values for which a table pays */
};

/* What becomes of four values without their zero point. */
static inline int32x4_t four(int32x4_t x, const na_requantize_t *p) {
  const int32x4_t scaled = na_scale_x4(x, vdupq_n_s32(p->multiplier), vdupq_n_s32(p->shift));
  return na_output_x4(scaled, p->output_offset, p->activation_min, p->activation_max);
}

/* Of every byte; those of a signed type are 0 .. 127, -128 .. -1. */
static void fill(int8_t *table, int32_t is_signed, const na_requantize_t *p) {
  int32x4_t x = vreinterpretq_s32_u32(vidupq_n_u32(0, 1));
  for (int32_t i = 0; i < ALL; i += NA_LANES, x = vaddq_n_s32(x, NA_LANES)) {
    const int32x4_t value = is_signed ? vmovlbq_s16(vmovlbq_s8(vreinterpretq_s8_s32(x))) : x;
    vstrbq_s32(table + i, four(vaddq_n_s32(value, p->input_offset), p));
  }
}

static inline void all(const int8_t *input, int8_t *output, int32_t is_signed, const na_requantize_t *p) {
  if (p->count >= MANY) {
    int8_t table[ALL];
    fill(table, is_signed, p);
    na_look_up(output, input, table, p->count);
    return;
  }
  for (int32_t i = 0; i < p->count; i += NA_LANES) {
    const mve_pred16_t lanes = vctp32q((uint32_t)(p->count - i));
    const int32x4_t x = is_signed ? vldrbq_z_s32(input + i, lanes)
                                  : vreinterpretq_s32_u32(vldrbq_z_u32((const uint8_t *)input + i, lanes));
    vstrbq_p_s32(output + i, four(vaddq_n_s32(x, p->input_offset), p), lanes);
  }
}

void na_requantize_s8_s8(const int8_t *input, int8_t *output, const na_requantize_t *p) { all(input, output, 1, p); }

void na_requantize_s8_u8(const int8_t *input, uint8_t *output, const na_requantize_t *p) {
  all(input, (int8_t *)output, 1, p);
}

void na_requantize_u8_s8(const uint8_t *input, int8_t *output, const na_requantize_t *p) {
  all((const int8_t *)input, output, 0, p);
}

void na_requantize_u8_u8(const uint8_t *input, uint8_t *output, const na_requantize_t *p) {
  all((const int8_t *)input, (int8_t *)output, 0, p);
}
