#ifdef NEURALART_VALIDATION_LINK
#include "validation_run.h"

#include "user_io.h"
#include "validation_lines.h"
#include "validation_link.h"
#include "validation_wire.h"

enum { PER_LAYER = 2, WITH_DATA = 4, PERF = 8, CONSTANT = 512 };

/* The counter of the debug unit, which need not be there, or run: then it stands still. */
#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DWT_CTRL (*(volatile uint32_t *)0xE0001000u)
#define DWT_CYCCNT (*(volatile uint32_t *)0xE0001004u)
#define DWT_LAR (*(volatile uint32_t *)0xE0001FB0u)

__attribute__((weak)) uint32_t validation_link_cycles(void) {
  if ((DWT_CTRL & 1u) == 0) {
    DEMCR |= 1u << 24; /* TRCENA */
    DWT_LAR = 0xC5ACCE55u;
    DWT_CTRL |= 1u; /* CYCCNTENA */
  }
  return DWT_CYCCNT;
}

/* ---- tensors ---- */

static uint32_t bits_of(const LL_Buffer_InfoTypeDef *buffer) { return buffer->nbits != 0 ? buffer->nbits : 8u; }

static uint32_t format_of(const LL_Buffer_InfoTypeDef *buffer) {
  bool plain = buffer->type == DataType_UINT8 || buffer->type == DataType_UINT16;
  uint32_t kind = buffer->type == DataType_FLOAT ? 1u : 2u;
  return (plain ? 0u : 1u << 23) | kind << 17 | bits_of(buffer) << 7 | 64u;
}

static bool fits(const uint32_t *shape, uint32_t rank, uint32_t elements) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < rank && product <= elements; i++) {
    product *= shape[i];
  }
  return shape != NULL && rank > 1u && product == elements;
}

void validation_put_description(const void *of) {
  const validation_tensor_t *tensor = of;
  const LL_Buffer_InfoTypeDef *buffer = tensor->buffer;
  uint32_t elements = LL_Buffer_len(buffer) * 8u / bits_of(buffer);
  uint32_t flat[] = {1, elements}; /* clients take the first size for the batch */
  const uint32_t *shape = flat;
  uint32_t rank = 2;
  if (fits(buffer->mem_shape, buffer->mem_ndims, elements)) {
    shape = buffer->mem_shape;
    rank = buffer->mem_ndims;
  } else if (fits(buffer->shape, buffer->ndims, elements)) {
    shape = buffer->shape;
    rank = buffer->ndims;
  }
  wire_put_text(1, buffer->name);
  wire_put_u32(2, format_of(buffer));
  wire_put_u32(3, elements);
  wire_put_u32(4, rank);
  for (uint32_t i = 0; i < rank; i++) {
    wire_put_u32(5, shape[i]);
  }
  wire_put_float(6, buffer->scale != NULL ? *buffer->scale : 0.0f);
  wire_put_i32(7, buffer->offset != NULL ? *buffer->offset : 0);
  wire_put_u32(8, (uint32_t)(uintptr_t)tensor->data);
  wire_put_u32(9, tensor->flags);
}

static void data_fields(const void *of) {
  const validation_tensor_t *tensor = of;
  uint32_t bytes = (tensor->flags & NO_DATA) != 0 ? 0 : LL_Buffer_len(tensor->buffer);
  wire_put_u32(1, 0);
  wire_put_u32(2, bytes);
  wire_put_u32(3, (uint32_t)(uintptr_t)tensor->data);
  wire_put_data(4, tensor->data, bytes);
}

static void tensor_fields(const void *of) {
  wire_put_message(1, validation_put_description, of);
  wire_put_message(2, data_fields, of);
}

/* ---- inputs ---- */

/* One element, given for all of a tensor. */
static void spread(uint8_t *data, uint32_t bytes, uint32_t element) {
  for (uint32_t i = element; i < bytes; i++) {
    data[i] = data[i - element];
  }
}

static bool take_inputs(const NN_Instance_TypeDef *instance, uint32_t param) {
  const LL_Buffer_InfoTypeDef *table = user_io_inputs(instance);
  uint32_t count = user_io_count(table);
  wire_acknowledge(WAITING, count != 0 ? LL_Buffer_len(&table[0]) : 0, 0);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t bytes = LL_Buffer_len(&table[i]), element = (bits_of(&table[i]) + 7u) / 8u;
    uint32_t wanted = (param & CONSTANT) != 0 ? element : bytes;
    uint8_t *data = user_io_input(instance, i);
    if (!wire_expect(WIRE_DATA, data, wanted)) {
      return false;
    }
    if (wire_message.bytes != wanted) {
      wire_acknowledge(ERROR, wire_message.bytes, INVALID_SIZE);
      return false;
    }
    if (wanted != bytes) {
      spread(data, bytes, element);
    }
    wire_acknowledge(i + 1u == count ? PROCESSING : WAITING, wanted, 0);
    if (!wire_expect_ack()) {
      return false;
    }
  }
  return true;
}

/* ---- layers ---- */

typedef struct {
  const char *name;
  uint32_t type, id, cycles;
} operator_t;

static void operator_fields(const void *of) {
  const operator_t *one = of;
  bool whole = one->name[0] != '\0';
  wire_put_text(1, one->name);
  wire_put_u32(2, one->type);
  wire_put_u32(3, one->id);
  wire_put_float(4, NEURALART_CORE_HZ != 0u ? (float)one->cycles * 1000.0f / (float)NEURALART_CORE_HZ : 0.0f);
  /* pre, core, post of a layer; of the whole also everything and the NPU, each in two words. Where nothing counts there
   * are none: clients divide by their sum. */
  wire_put_u32(5, whole ? 0 : 1u << 16);
  for (unsigned i = 0; one->cycles != 0 && i < (whole ? 10u : 3u); i++) {
    wire_put_u32(6, (whole ? i == 2u || i == 6u : i == 1u) ? one->cycles : 0);
  }
  wire_put_i32(7, -1);
  wire_put_i32(8, -1);
}

static void next_layer(validation_layer_t *layer, const LL_ATON_RT_EpochBlockItem_t *block) {
  layer->index++;
#ifdef LL_ATON_EB_DBG_INFO
  layer->epoch = block->epoch_num;
  layer->last = block->last_epoch_num;
#else
  layer->epoch = layer->last = (int)layer->index;
#endif
  layer->current = layer->epoch >= 0 ? layer->epoch : layer->current;
  layer->flags = block->flags;
  layer->kind = (block->flags & EpochBlock_Flags_blob) != 0      ? 4u
                : (block->flags & EpochBlock_Flags_pure_sw) != 0 ? 2u
                : (block->flags & EpochBlock_Flags_hybrid) != 0  ? 3u
                : layer->epoch < 0                               ? (0u - (uint32_t)layer->epoch) << 4 | 1u
                                                                 : 0u;
}

static const LL_Buffer_InfoTypeDef *internals(const NN_Instance_TypeDef *instance) {
  const NN_Interface_TypeDef *network = instance->network;
  (void)network;
  return USER_IO_ASK(instance, ll_aton_reloc_get_internal_buffers_info(instance),
                     network->internal_buffers_info != NULL ? network->internal_buffers_info() : NULL);
}

/* What a layer wrote: sends it, or only counts it. The runtime's own epochs belong to the one before them. */
static uint32_t written(const NN_Instance_TypeDef *instance, const validation_layer_t *layer, uint32_t send, uint32_t flags) {
  const LL_Buffer_InfoTypeDef *tables[] = {internals(instance), user_io_outputs(instance)};
  uint32_t found = 0;
  for (unsigned t = 0; layer->epoch >= 0 && t < 2u; t++) {
    for (uint32_t i = 0; i < user_io_count(tables[t]); i++) {
      const LL_Buffer_InfoTypeDef *buffer = &tables[t][i];
      if (buffer->epoch != layer->current || LL_Buffer_len(buffer) == 0) {
        continue;
      }
      if (++found <= send) {
        const uint8_t *data = t == 0 ? LL_Buffer_addr_start(buffer) : user_io_output(instance, i);
        validation_tensor_t tensor = {buffer, data, INTERNAL | flags | (found == send ? LAST : 0u)};
        wire_respond(PROCESSING, 17, tensor_fields, &tensor);
      }
    }
  }
  return found;
}

/* ---- inference ---- */

/* One epoch block, in as many steps as the runtime wants. False: it was the last one. */
static bool run_block(NN_Instance_TypeDef *instance) {
  const LL_ATON_RT_EpochBlockItem_t *block = instance->exec_state.current_epoch_block;
  bool more = true;
  while (more && instance->exec_state.current_epoch_block == block) {
    more = LL_ATON_RT_RunEpochBlock(instance) != LL_ATON_RT_DONE;
  }
  return more;
}

/* The layers, one after the other. False: the host is gone. */
static bool run_layers(NN_Instance_TypeDef *instance, uint32_t param, uint32_t *total) {
  bool layers = (param & (PER_LAYER | WITH_DATA)) != 0;
  validation_layer_t layer = {.index = UINT32_MAX};
  LL_ATON_RT_Reset_Network(instance);
  for (bool more = true; more;) {
    next_layer(&layer, instance->exec_state.current_epoch_block);
    if (layers && !validation_say_begin(&layer)) {
      return false;
    }
    uint32_t start = validation_link_cycles();
    more = run_block(instance);
    uint32_t cycles = validation_link_cycles() - start;
    *total += cycles;
    if (!layers) {
      continue;
    }
    uint32_t tensors = written(instance, &layer, 0, 0);
    if (!validation_say_end(&layer, tensors, cycles)) {
      return false;
    }
    uint32_t flags = FLAG_INTERNAL | (tensors == 0 ? FLAG_WITHOUT_TENSOR : 0u);
    uint32_t id = (uint32_t)layer.last << 16 | ((uint32_t)layer.current & 0xffffu);
    operator_t epoch = {"", flags << 24 | layer.kind, id, cycles};
    wire_respond(PROCESSING, 16, operator_fields, &epoch);
    (void)written(instance, &layer, tensors, IN_POOL | ((param & WITH_DATA) != 0 ? 0u : NO_DATA));
  }
  return true;
}

void validation_run(const app_network_t *network, uint32_t param, uint32_t option) {
  NN_Instance_TypeDef *instance = network->instance;
  if (!take_inputs(instance, param)) {
    return;
  }
  uint32_t total = 0;
  validation_lines_begin((param & (PER_LAYER | WITH_DATA)) != 0, option >> 8);
  bool done = run_layers(instance, param, &total);
  validation_lines_end();
  if (!done) {
    return;
  }
  operator_t whole = {network->name, 0, 0, total};
  wire_respond(PROCESSING, 16, operator_fields, &whole);
  const LL_Buffer_InfoTypeDef *table = user_io_outputs(instance);
  uint32_t count = user_io_count(table), silent = (param & PERF) != 0 ? NO_DATA : 0;
  for (uint32_t i = 0; i < count; i++) {
    bool last = i + 1u == count;
    validation_tensor_t tensor = {&table[i], user_io_output(instance, i),
                                  OUTPUT | IN_POOL | silent | (last ? LAST : 0u)};
    wire_respond(last ? DONE : PROCESSING, 17, tensor_fields, &tensor);
  }
}
#endif
