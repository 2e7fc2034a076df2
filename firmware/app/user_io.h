/* Input and output buffers that the application has to provide (networks compiled without I/O allocation). */
#ifndef USER_IO_H
#define USER_IO_H

#include "app_networks.h"

/* Tensors of a buffer table. The weights, which a network lists behind its inputs, are not counted. */
uint32_t user_io_count(const LL_Buffer_InfoTypeDef *table);
/* NULL when every buffer of the network has a place, else what is wrong. */
const char *user_io_provide(NN_Instance_TypeDef *instance);
/* Where a tensor is, whoever provided it. */
uint8_t *user_io_input(const NN_Instance_TypeDef *instance, uint32_t number);
uint8_t *user_io_output(const NN_Instance_TypeDef *instance, uint32_t number);

#endif
