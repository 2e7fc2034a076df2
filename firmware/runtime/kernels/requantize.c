/* QUANTIZE from integers, RELU and its relatives. */
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

#define REQUANTIZE(name, from, to)                                                                                     \
  void name(const from *input, to *output, const na_requantize_t *p) {                                                 \
    for (int32_t i = 0; i < p->count; i++)                                                                             \
      output[i] = (to)na_requantize(input[i] + p->input_offset, p->multiplier, p->shift, p->output_offset,             \
                                    p->activation_min, p->activation_max);                                             \
  }

REQUANTIZE(na_requantize_s8_s8, int8_t, int8_t)
REQUANTIZE(na_requantize_s8_u8, int8_t, uint8_t)
REQUANTIZE(na_requantize_u8_s8, uint8_t, int8_t)
REQUANTIZE(na_requantize_u8_u8, uint8_t, uint8_t)
