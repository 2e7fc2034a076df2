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

#ifdef LL_ATON_RT_RELOC
static const NN_Instance_TypeDef *loaded; /* the one whose buffers are provided right now */

static LL_ATON_User_IO_Result_t set_loaded_input(uint32_t num, void *buffer, uint32_t size) {
  return ll_aton_reloc_set_input(loaded, num, buffer, size);
}

static LL_ATON_User_IO_Result_t set_loaded_output(uint32_t num, void *buffer, uint32_t size) {
  return ll_aton_reloc_set_output(loaded, num, buffer, size);
}
#endif

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
#ifdef LL_ATON_RT_RELOC
  loaded = instance;
#endif
  setter_t set_input = USER_IO_ASK(instance, set_loaded_input, network->input_setter);
  setter_t set_output = USER_IO_ASK(instance, set_loaded_output, network->output_setter);
  const char *wrong = provide(user_io_inputs(instance), set_input);
  return wrong != NULL ? wrong : provide(user_io_outputs(instance), set_output);
}

uint8_t *user_io_input(const NN_Instance_TypeDef *instance, uint32_t number) {
  const LL_Buffer_InfoTypeDef *buffer = &user_io_inputs(instance)[number];
  if (!buffer->is_user_allocated) {
    return LL_Buffer_addr_start(buffer);
  }
  return USER_IO_ASK(instance, ll_aton_reloc_get_input(instance, number), instance->network->input_getter(number));
}

uint8_t *user_io_output(const NN_Instance_TypeDef *instance, uint32_t number) {
  const LL_Buffer_InfoTypeDef *buffer = &user_io_outputs(instance)[number];
  if (!buffer->is_user_allocated) {
    return LL_Buffer_addr_start(buffer);
  }
  return USER_IO_ASK(instance, ll_aton_reloc_get_output(instance, number), instance->network->output_getter(number));
}
