/* Functions of one stored value, by table. */
#include "neuralart_kernels.h"

void na_table_s8(const int8_t *input, const int8_t *table, int8_t *output, const na_table_t *p) {
  for (int32_t i = 0; i < p->count; i++) output[i] = table[(uint8_t)input[i]];
}
