#include "ai_interface.h"

static ai_handle network = AI_HANDLE_NULL;
static ai_buffer *inputs;
static ai_buffer *outputs;

const char *ai_init(ai_handle *activation_buffer, ai_handle *input, ai_handle *output) {
  ai_error error = ai_network_create_and_init(&network, activation_buffer, NULL);
  if (error.type != AI_ERROR_NONE) {
    return error.code == AI_ERROR_CODE_NETWORK_ACTIVATIONS ? "an activation buffer is missing or not aligned"
                                                           : "the network refuses to be initialized";
  }
  ai_u16 input_count = 0, output_count = 0;
  inputs = ai_network_inputs_get(network, &input_count);
  outputs = ai_network_outputs_get(network, &output_count);
  if (input_count != 1 || output_count != AI_NETWORK_OUT_NUM) {
    return "the network does not have one input";
  }
  *input = inputs[0].data;
  for (ai_u16 n = 0; n < output_count; n++) {
    output[n] = outputs[n].data;
  }
  return NULL;
}

void ai_deinit(void) { network = ai_network_destroy(network); }

bool ai_run(ai_handle input, ai_handle *output) {
  inputs[0].data = input;
  for (ai_u16 n = 0; n < AI_NETWORK_OUT_NUM; n++) {
    outputs[n].data = output[n];
  }
  return ai_network_run(network, inputs, outputs) == 1;
}

ai_buffer_format ai_get_input_format(void) { return AI_BUFFER_FORMAT(&inputs[0]); }

ai_buffer_format ai_get_output_format(void) { return AI_BUFFER_FORMAT(&outputs[0]); }

ai_float ai_get_input_scale(void) { return AI_BUFFER_META_INFO_INTQ_GET_SCALE(inputs[0].meta_info, 0); }

ai_i32 ai_get_input_zero_point(void) { return AI_BUFFER_META_INFO_INTQ_GET_ZEROPOINT(inputs[0].meta_info, 0); }

ai_size ai_get_output_elements(void) { return AI_BUFFER_SIZE(&outputs[0]); }

#ifdef NEURALART_VALIDATION_LINK
const ai_buffer *ai_get_inputs(void) { return inputs; }

const ai_buffer *ai_get_outputs(void) { return outputs; }
#endif
