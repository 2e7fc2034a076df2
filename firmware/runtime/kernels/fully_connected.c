/* FULLY_CONNECTED. */
#include "fully_connected_output.h"
#include "neuralart_kernels.h"
#include "products.h"

void na_fully_connected_s8(const int8_t *input, const int8_t *filter, const int32_t *bias, const double *scale,
                           int8_t *output, const na_fully_connected_t *p) {
  const int32_t depth = p->depth;
  const int32_t whole = na_products_whole(depth);
  const int32_t offset = na_products_offset(p->input_offset);
  for (int32_t batch = 0; batch < p->batches; batch++, input += depth) {
    /* sum((f + fo) * (x + xo)) = sum(f * (x + xo)) + fo * sum(x + xo); the last part is the same for all units. */
    uint32_t common = 0;
    if (p->filter_offset != 0) {
      for (int32_t i = 0; i < depth; i++) common += (uint32_t)(input[i] + offset);
      common *= (uint32_t)p->filter_offset;
    }
    for (int32_t unit = 0; unit < p->units;) {
      const int32_t left = p->units - unit;
      const int32_t outputs = left < NA_PRODUCTS_BLOCK ? left : NA_PRODUCTS_BLOCK;
      uint32_t accumulator[NA_PRODUCTS_BLOCK];
      for (int32_t j = 0; j < outputs; j++) accumulator[j] = common + (bias ? (uint32_t)bias[unit + j] : 0u);
      na_add_products(accumulator, outputs, input, filter + unit * depth, depth, whole, depth, offset);
      for (int32_t j = 0; j < outputs; j++, unit++)
        *output++ = na_fully_connected_output(accumulator[j], scale[p->per_channel ? unit : 0], p);
    }
  }
}
