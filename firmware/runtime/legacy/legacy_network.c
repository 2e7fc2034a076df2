/* The legacy C API, as far as all networks do the same. A network's own functions (ai_<name>_...) call these. */
#include "legacy_network.h"

#include <string.h>

#define ALIGNMENT 4u /* what the kernels need; caches want more, which is the application's choice */

static ai_error error_of(ai_error_type type, ai_error_code code) {
  ai_error error = {.type = (ai_u32)type, .code = (ai_u32)code};
  return error;
}

/* The first error stays until it is asked for: what follows is a consequence. */
static void failed(na_instance_t *instance, ai_error_type type, ai_error_code code) {
  if (instance->error.type == AI_ERROR_NONE) {
    instance->error = error_of(type, code);
  }
}

static bool is_handle(na_instance_t *instance, ai_handle handle) {
  if (handle != (ai_handle)instance || !instance->created) {
    failed(instance, AI_ERROR_INVALID_HANDLE, AI_ERROR_CODE_NETWORK);
    return false;
  }
  return true;
}

static bool aligned(const void *address) { return address != NULL && (uintptr_t)address % ALIGNMENT == 0; }

ai_error na_network_get_error(na_instance_t *instance, ai_handle handle) {
  if (handle != (ai_handle)instance) {
    return error_of(AI_ERROR_INVALID_HANDLE, AI_ERROR_CODE_NETWORK);
  }
  ai_error error = instance->error;
  instance->error = error_of(AI_ERROR_NONE, AI_ERROR_CODE_NONE);
  return error;
}

ai_error na_network_create(na_instance_t *instance, ai_handle *handle) {
  if (handle == NULL) {
    return error_of(AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_INVALID_PTR);
  }
  instance->error = error_of(AI_ERROR_NONE, AI_ERROR_CODE_NONE);
  instance->created = true;
  instance->ready = false;
  *handle = instance;
  return instance->error;
}

static void show_ports(const na_port_t *ports, ai_buffer *buffers, ai_u16 count) {
  for (ai_u16 n = 0; n < count; n++) {
    buffers[n].data = ports[n].provided ? AI_HANDLE_NULL : (ai_handle)(ports[n].array->data + ports[n].offset);
  }
}

/* Every buffer that holds something must be there; nothing is changed if one is not. */
static bool complete(const ai_handle *given, const ai_u32 *sizes, ai_u32 count) {
  for (ai_u32 n = 0; n < count; n++) {
    if (sizes[n] != 0 && !aligned(given[n])) {
      return false;
    }
  }
  return true;
}

static void take(ai_ptr *map, const ai_handle *given, ai_u32 count) {
  for (ai_u32 n = 0; n < count; n++) {
    map[n] = AI_PTR(given[n]);
  }
}

static bool init(na_instance_t *instance, const ai_handle *activations, const ai_handle *weights) {
  const na_network_t *network = instance->network;
  instance->ready = false;
  if (weights == NULL) {
    weights = &network->weights_table[1];
  }
  if (!complete(weights, network->weight_sizes, network->weight_count)) {
    failed(instance, AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_WEIGHTS);
    return false;
  }
  if (network->activation_count != 0 &&
      (activations == NULL || !complete(activations, network->activation_sizes, network->activation_count))) {
    failed(instance, AI_ERROR_INIT_FAILED, AI_ERROR_CODE_NETWORK_ACTIVATIONS);
    return false;
  }
  take(network->weights, weights, network->weight_count);
  take(network->activations, activations, network->activation_count);
  network->configure_weights();
  network->configure_activations();
  show_ports(network->inputs, network->input_buffers, network->input_count);
  show_ports(network->outputs, network->output_buffers, network->output_count);
  instance->ready = true;
  return true;
}

ai_error na_network_create_and_init(na_instance_t *instance, ai_handle *handle, const ai_handle activations[],
                                    const ai_handle weights[]) {
  ai_error error = na_network_create(instance, handle);
  if (error.type == AI_ERROR_NONE && !init(instance, activations, weights)) {
    error = na_network_get_error(instance, instance);
  }
  return error;
}

/* One buffer is given itself, several by a table of handles. */
static const ai_handle *handles_of(const ai_buffer *buffer, ai_u32 count) {
  if (buffer->data == AI_HANDLE_NULL) {
    return NULL;
  }
  return count > 1 ? (const ai_handle *)buffer->data : &buffer->data;
}

ai_bool na_network_init(na_instance_t *instance, ai_handle handle, const ai_network_params *params) {
  if (!is_handle(instance, handle)) {
    return false;
  }
  if (params == NULL) {
    failed(instance, AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_NETWORK_PARAMS);
    return false;
  }
  const na_network_t *network = instance->network;
  return init(instance, handles_of(&params->activations, network->activation_count),
              handles_of(&params->params, network->weight_count));
}

ai_handle na_network_destroy(na_instance_t *instance, ai_handle handle) {
  if (!is_handle(instance, handle)) {
    return handle;
  }
  instance->created = false;
  instance->ready = false;
  return AI_HANDLE_NULL;
}

static ai_u32 sum(const ai_u32 *sizes, ai_u32 count) {
  ai_u32 total = 0;
  for (ai_u32 n = 0; n < count; n++) {
    total += sizes[n];
  }
  return total;
}

ai_bool na_network_get_report(na_instance_t *instance, ai_handle handle, ai_network_report *report) {
  if (!is_handle(instance, handle)) {
    return false;
  }
  if (report == NULL) {
    failed(instance, AI_ERROR_INVALID_PARAM, AI_ERROR_CODE_INVALID_PTR);
    return false;
  }
  const na_network_t *network = instance->network;
  *report = (ai_network_report){
      .model_name = network->name,
      .model_signature = network->signature,
      .n_macc = network->macc,
      .n_nodes = network->layer_count,
      .n_inputs = network->input_count,
      .n_outputs = network->output_count,
      .inputs = network->input_buffers,
      .outputs = network->output_buffers,
      .activations_size = sum(network->activation_sizes, network->activation_count),
      .weights_size = sum(network->weight_sizes, network->weight_count),
  };
  return true;
}

static ai_buffer *ports_get(na_instance_t *instance, ai_handle handle, ai_buffer *buffers, ai_u16 number,
                            ai_u16 *count) {
  if (!is_handle(instance, handle)) {
    return NULL;
  }
  if (count != NULL) {
    *count = number;
  }
  return buffers;
}

ai_buffer *na_network_inputs_get(na_instance_t *instance, ai_handle handle, ai_u16 *count) {
  return ports_get(instance, handle, instance->network->input_buffers, instance->network->input_count, count);
}

ai_buffer *na_network_outputs_get(na_instance_t *instance, ai_handle handle, ai_u16 *count) {
  return ports_get(instance, handle, instance->network->output_buffers, instance->network->output_count, count);
}

/* The buffer that is given for a port; without one, the network's own. */
static ai_u8 *given_for(const ai_buffer *buffers, ai_u16 number) {
  return buffers == NULL ? NULL : (ai_u8 *)buffers[number].data;
}

static bool take_ports(const na_port_t *ports, const ai_buffer *buffers, ai_u16 count) {
  for (ai_u16 n = 0; n < count; n++) {
    ai_u8 *given = given_for(buffers, n);
    if (ports[n].provided ? !aligned(given) : ports[n].array->data == NULL) {
      return false;
    }
    if (ports[n].provided) {
      ports[n].array->data = given;
    }
  }
  return true;
}

ai_i32 na_network_run(na_instance_t *instance, ai_handle handle, const ai_buffer *input, ai_buffer *output) {
  if (!is_handle(instance, handle)) {
    return 0;
  }
  const na_network_t *network = instance->network;
  if (!instance->ready) {
    failed(instance, AI_ERROR_INVALID_STATE, AI_ERROR_CODE_NETWORK);
    return 0;
  }
  if (!take_ports(network->inputs, input, network->input_count)) {
    failed(instance, AI_ERROR_INVALID_INPUT, AI_ERROR_CODE_INVALID_PTR);
    return 0;
  }
  if (!take_ports(network->outputs, output, network->output_count)) {
    failed(instance, AI_ERROR_INVALID_OUTPUT, AI_ERROR_CODE_INVALID_PTR);
    return 0;
  }
  /* A port in the activations shares its memory with other tensors: data of another place is copied there and back. */
  for (ai_u16 n = 0; n < network->input_count; n++) {
    const na_port_t *port = &network->inputs[n];
    const ai_u8 *given = given_for(input, n);
    if (!port->provided && given != NULL && given != port->array->data + port->offset) {
      memmove(port->array->data + port->offset, given, port->bytes);
    }
  }
  for (ai_u32 n = 0; n < network->layer_count; n++) {
    network->layers[n]();
  }
  for (ai_u16 n = 0; n < network->output_count; n++) {
    const na_port_t *port = &network->outputs[n];
    ai_u8 *given = given_for(output, n);
    if (!port->provided && given != NULL && given != port->array->data + port->offset) {
      memmove(given, port->array->data + port->offset, port->bytes);
    }
  }
  return 1;
}
