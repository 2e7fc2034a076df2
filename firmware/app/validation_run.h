/* Networks as the validation protocol sees them: tensors, and inferences layer by layer. For validation_*.c alone. */
#ifndef VALIDATION_RUN_H
#define VALIDATION_RUN_H

#include "app_networks.h"

/* Flags of tensors. */
enum { INPUT = 1, OUTPUT = 2, INTERNAL = 4, LAST = 256, NO_DATA = 512, IN_POOL = 1024 };

typedef struct {
  const LL_Buffer_InfoTypeDef *buffer;
  const uint8_t *data;
  uint32_t flags;
} validation_tensor_t;

/* Puts the fields of a description; of: a validation_tensor_t. */
void validation_put_description(const void *of);
/* Answers NETWORK_RUN; param and option are those of the request. */
void validation_run(const app_network_t *network, uint32_t param, uint32_t option);

#endif
