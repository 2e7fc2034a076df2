/* The memory that loaded models get. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include <stdint.h>

/* Free memory: its begin, at a multiple of MODEL_MEMORY_LINE, and its bytes. No bytes: there is none, and it begins
 * at 0. */
typedef struct {
  uint32_t begin, size;
} model_memory_t;

#define MODEL_MEMORY_LINE 64u /* programs of the NPU, and lines of its cache */

model_memory_t model_memory_executive(void);
model_memory_t model_memory_external(void);

/* The first bytes are used, in whole lines. */
void model_memory_take(model_memory_t *memory, uint32_t bytes);

#endif
