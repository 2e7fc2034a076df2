#include "user_io.h"

#define LINE 32u /* a buffer shares no cache line with anything else */

static uint32_t taken;

uint32_t user_io_count(const LL_Buffer_InfoTypeDef *table) {
  uint32_t rows = 0;
  while (table != NULL && table[rows].name != NULL && !table[rows].is_param) {
    rows++;
  }
  return rows;
}

static uint8_t *take(uint32_t bytes) {
  uint32_t rounded = (bytes + LINE - 1u) & ~(LINE - 1u);
  if (rounded < bytes || rounded > app_user_io_bytes - taken) {
    return NULL;
  }
  taken += rounded;
  return &app_user_io[taken - rounded];
}

typedef LL_ATON_User_IO_Result_t (*setter_t)(uint32_t num, void *buffer, uint32_t size);

static const char *provide(const LL_Buffer_InfoTypeDef *table, setter_t set) {
  for (uint32_t i = 0; i < user_io_count(table); i++) {
    if (!table[i].is_user_allocated) {
      continue;
    }
    uint32_t bytes = LL_Buffer_len(&table[i]);
    uint8_t *buffer = take(bytes);
    if (buffer == NULL) {
      return "app_user_io of the application is too small for the buffers";
    }
    if (set(i, buffer, bytes) != LL_ATON_User_IO_NOERROR) {
      return "the network refuses a buffer of the application";
    }
  }
  return NULL;
}

const char *user_io_provide(NN_Instance_TypeDef *instance) {
  const NN_Interface_TypeDef *network = instance->network;
  const char *wrong = provide(network->input_buffers_info(), network->input_setter);
  return wrong != NULL ? wrong : provide(network->output_buffers_info(), network->output_setter);
}

uint8_t *user_io_input(const NN_Instance_TypeDef *instance, uint32_t number) {
  const LL_Buffer_InfoTypeDef *buffer = &instance->network->input_buffers_info()[number];
  return buffer->is_user_allocated ? instance->network->input_getter(number) : LL_Buffer_addr_start(buffer);
}

uint8_t *user_io_output(const NN_Instance_TypeDef *instance, uint32_t number) {
  const LL_Buffer_InfoTypeDef *buffer = &instance->network->output_buffers_info()[number];
  return buffer->is_user_allocated ? instance->network->output_getter(number) : LL_Buffer_addr_start(buffer);
}
