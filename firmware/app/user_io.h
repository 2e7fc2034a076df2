/* Input and output buffers: where they are, and a place for those that the application has to provide (networks compiled
 * without I/O allocation). */
#ifndef USER_IO_H
#define USER_IO_H

#include "app_networks.h"

/* A network that was loaded is asked through its loader, which knows where its data is. */
#ifdef LL_ATON_RT_RELOC
#include "ll_aton_reloc_network.h"
#define USER_IO_ASK(instance, loaded, linked) ((instance)->exec_state.inst_reloc != 0 ? (loaded) : (linked))
#else
#define USER_IO_ASK(instance, loaded, linked) (linked)
#endif

/* Tables of the tensors. */
static inline const LL_Buffer_InfoTypeDef *user_io_inputs(const NN_Instance_TypeDef *instance) {
  return USER_IO_ASK(instance, ll_aton_reloc_get_input_buffers_info(instance), instance->network->input_buffers_info());
}
static inline const LL_Buffer_InfoTypeDef *user_io_outputs(const NN_Instance_TypeDef *instance) {
  return USER_IO_ASK(instance, ll_aton_reloc_get_output_buffers_info(instance),
                     instance->network->output_buffers_info());
}

/* Tensors of a buffer table. The weights, which a network lists behind its inputs, are not counted. */
uint32_t user_io_count(const LL_Buffer_InfoTypeDef *table);
/* NULL when every buffer of the network has a place, else what is wrong. */
const char *user_io_provide(NN_Instance_TypeDef *instance);
/* Where a tensor is, whoever provided it. */
uint8_t *user_io_input(const NN_Instance_TypeDef *instance, uint32_t number);
uint8_t *user_io_output(const NN_Instance_TypeDef *instance, uint32_t number);

#endif
