/* BATCH_MATMUL: products of matrices that were both computed, in any order of rows and columns. */
#include "single.h"

#include "broadcast.h"
#include "neuralart_fixedpoint.h"
#include "neuralart_kernels.h"

/* Sums wrap as 32-bit numbers, hence unsigned. */
static void product_s8(const int8_t *a, const int8_t *b, int8_t *output, const na_batch_matmul_t *p) {
  for (int32_t row = 0; row < p->rows; row++, a += p->row1) {
    for (int32_t column = 0; column < p->columns; column++) {
      const int8_t *x = a, *y = b + column * p->column2;
      uint32_t sum = 0;
      for (int32_t k = 0; k < p->depth; k++, x += p->depth1, y += p->depth2)
        sum += (uint32_t)((*x + p->input1_offset) * (*y + p->input2_offset));
      *output++ =
          (int8_t)na_requantize((int32_t)sum, p->multiplier, p->shift, p->output_offset, INT8_MIN, INT8_MAX);
    }
  }
}

static void product_f32(const float *a, const float *b, float *output, const na_batch_matmul_t *p) {
  for (int32_t row = 0; row < p->rows; row++, a += p->row1) {
    for (int32_t column = 0; column < p->columns; column++) {
      const float *x = a, *y = b + column * p->column2;
      float sum = 0.0f;
      for (int32_t k = 0; k < p->depth; k++, x += p->depth1, y += p->depth2) sum += *x * *y;
      *output++ = sum;
    }
  }
}

#define BATCHES(kernel, type, product)                                                                                 \
  void kernel(const type *input1, const type *input2, type *output, const na_batch_matmul_t *p) {                      \
    const na_broadcast_t *b = &p->batches;                                                                             \
    const int32_t step1 = b->stride1[NA_BROADCAST_OUTER], step2 = b->stride2[NA_BROADCAST_OUTER];                      \
    int32_t index[NA_BROADCAST_OUTER] = {0}, place1 = 0, place2 = 0;                                                   \
    do {                                                                                                               \
      for (int32_t i = 0; i < b->shape[NA_BROADCAST_OUTER]; i++, output += p->rows * p->columns)                       \
        product(input1 + (place1 + i * step1) * p->size1, input2 + (place2 + i * step2) * p->size2, output, p);        \
    } while (na_next_place(b, index, &place1, &place2));                                                               \
  }

BATCHES(na_batch_matmul_s8, int8_t, product_s8)
BATCHES(na_batch_matmul_f32, float, product_f32)
